//! The turns of a member that is the program of an agent. The program ends with its turn, and goes on with
//! its session at the next.

use std::sync::Arc;

use punchlist_engine::workers::lead::{self, Lead};
use punchlist_engine::workers::{Agent, WorkerStream};
use punchlist_formats::text::{mask, one_line};
use punchlist_streams::lines::{Lines, Piece};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::asking::Asking;
use super::claude_control::{self, ClaudeLine, ClaudeRequest};
use super::member::{LONGEST, Member, Stop, not_started};
use super::permissions::{Decided, Decision};
use super::process::Process;
use crate::workers::WorkerEnd;
use crate::workers::acp::wanted::Wanted;

impl Member {
    /// One turn of a program that ends with its turn, and goes on with its session at the next.
    pub(super) async fn program_turn(
        &mut self,
        agent: Agent,
        command: &[String],
        message: &str,
    ) -> (WorkerEnd, String) {
        let (program, arguments) = command.split_first().map_or(("", &[][..]), |it| (it.0, it.1));
        let prompt = prompt(message);
        let is_talked_to = can_talk(agent, arguments);
        let words = lead::command(&Lead {
            agent,
            program,
            model: self.config.model.as_deref(),
            session: self.session.as_deref(),
            prompt: &prompt,
            arguments,
            is_talked_to,
        });
        let mut command = self.command(words);
        command.stdin = is_talked_to.then(Vec::new);
        let started = Process::start(&self.options.processes, command).await;
        let mut process = match started {
            Ok(process) => process,
            Err(why) => return (not_started(program, &why.to_string()), String::new()),
        };
        if is_talked_to {
            process.send(&claude_control::prompt(message));
        }
        self.heard.stream_begins();
        let mut stream = WorkerStream::new(agent, &self.directory.to_string_lossy());
        let mut deadline = Instant::now() + self.config.timeout;
        let mut stop = None;
        let mut asking: Asking<ClaudeRequest> = Asking::default();
        let mut lines = Lines::new(LONGEST);
        loop {
            tokio::select! {
                biased;
                () = self.cancel.notified(), if stop.is_none() => {
                    stop = Some(Stop::Cancelled);
                    process.stop();
                }
                (request, decided) = asking.next() => {
                    deadline += asking.waited();
                    if self.claude_decided(&process, &request, &decided) && stop.is_none() {
                        stop = Some(Stop::Cancelled);
                        process.stop();
                    }
                }
                () = sleep_until(deadline), if stop.is_none() && !asking.is_open() => {
                    stop = Some(Stop::TimedOut);
                    process.stop();
                }
                bytes = process.next() => match bytes {
                    Some(bytes) if is_talked_to => {
                        let whole = whole_lines(&mut lines, &bytes);
                        for line in whole {
                            self.claude_line(&mut process, &mut stream, &mut asking, line);
                        }
                    }
                    Some(bytes) => self.hear(&mut stream, &bytes),
                    None => break,
                },
            }
        }
        for (request, decided) in asking.end().await {
            self.claude_decided(&process, &request, &decided);
        }
        let (exit, stderr) = process.ended().await;
        let ended = self.hear_end(stream, exit.as_ref().ok().and_then(|it| it.code));
        let end = match (stop, &exit, &ended.failure) {
            (Some(stop), ..) => self.stopped(stop),
            (None, Err(why), _) => WorkerEnd::Failed(why.clone()),
            (None, Ok(_), None) => WorkerEnd::Well,
            (None, Ok(exit), Some(why)) => {
                // A signal says more than that it was ended.
                let why = if exit.signal.is_some() { exit.to_string() } else { why.clone() };
                self.failed(&why, &ended, &stderr)
            }
        };
        if let WorkerEnd::Failed(why) = end {
            return (WorkerEnd::Failed(with_remedy(agent, why, &stderr)), ended.answer);
        }
        (end, ended.answer)
    }

    /// Handles one line of Claude Code.
    fn claude_line(
        &mut self,
        process: &mut Process,
        stream: &mut WorkerStream,
        asking: &mut Asking<ClaudeRequest>,
        mut line: Vec<u8>,
    ) {
        let read = claude_control::read(&line);
        match read {
            ClaudeLine::Ask(request) => {
                let now = (self.options.clock)();
                let question = format!("use {}", one_line(&request.tool));
                let event = self.heard.waits(&request.call, &question, now);
                event.into_iter().for_each(|it| self.tell(it));
                let wanted = Wanted::of_claude(&request.tool, &request.input, &self.directory);
                let take_back = asking.open(Value::from(request.id.as_str()));
                let permissions = Arc::clone(&self.permissions);
                asking.ask(request, permissions.decide(wanted, take_back));
            }
            ClaudeLine::TakeBack(id) => asking.take_back(&Value::from(id)),
            ClaudeLine::Refuse(answer) => {
                process.send(&answer);
            }
            ClaudeLine::Result | ClaudeLine::Event => {
                line.push(b'\n');
                self.hear(stream, &line);
                if read == ClaudeLine::Result {
                    // It would wait for the next message.
                    process.close_input();
                }
            }
        }
    }

    /// Tells Claude Code what was decided. Returns whether its turn is to end.
    fn claude_decided(
        &mut self,
        process: &Process,
        request: &ClaudeRequest,
        decided: &Decided,
    ) -> bool {
        let what = request.input["command"].as_str().unwrap_or(&request.tool);
        self.tell_decided(&request.call, what, decided);
        let (answer, stops) = match &decided.decision {
            Decision::Allow(changed) => (request.allow(changed.as_ref()), false),
            Decision::Deny(why) => (request.deny(why, false), false),
            Decision::Stop(why) => (request.deny(why, true), true),
            Decision::Cancelled | Decision::Known => return false,
        };
        process.send(&answer);
        stops
    }
}

/// Whether the program gets its prompt on its input, and asks there what it may do. The user may have
/// arranged that otherwise.
fn can_talk(agent: Agent, arguments: &[String]) -> bool {
    let is_arranged = |it: &String| {
        it.starts_with("--permission-prompt-tool") || it.starts_with("--input-format")
    };
    match agent {
        Agent::Claude => !arguments.iter().any(is_arranged),
        Agent::Codex | Agent::Gemini => false,
    }
}

/// The whole lines that these bytes complete.
fn whole_lines(lines: &mut Lines, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut whole = Vec::new();
    lines.push(bytes, |piece| {
        // A line that is too long is dropped.
        let Piece::Lines(lines) = piece else { return };
        let lines = lines.split(|it| *it == b'\n').filter(|it| !it.is_empty());
        whole.extend(lines.map(<[u8]>::to_vec));
    });
    whole
}

/// The message as an argument. It never begins with a dash, so that no program takes it for an option.
fn prompt(message: &str) -> String {
    let message = message.trim();
    let message = &message[..message.floor_char_boundary(lead::MOST_BYTES)];
    if message.starts_with('-') { format!("Message: {message}") } else { message.to_owned() }
}

/// A failure with the last line of what the program said about it, and what the user can do.
fn with_remedy(agent: Agent, why: String, stderr: &str) -> String {
    let stderr = mask(stderr);
    let last = stderr.trim().lines().next_back().map(|it| one_line(it.trim()).into_owned());
    let remedy = lead::remedy(agent, &format!("{why}\n{stderr}"));
    let parts = [Some(why), last.filter(|it| !it.is_empty()), remedy];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
