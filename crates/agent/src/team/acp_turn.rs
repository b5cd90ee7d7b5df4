//! The turns of a member that speaks ACP, which is our own runtime too. Its program runs on between turns.

use std::sync::Arc;

use punchlist_engine::workers::WorkerStream;
use punchlist_formats::text::{mask, one_line};
use punchlist_streams::Source;
use punchlist_streams::lines::{Lines, Piece};
use tokio::time::{Instant, sleep_until};

use super::asking::Asking;
use super::config::MemberKind;
use super::member::{GRACE, LONGEST, Member, Stop, not_started};
use super::permissions::{Decided, Decision};
use super::process::Process;
use crate::workers::WorkerEnd;
use crate::workers::acp::PermissionRequest;
use crate::workers::acp::client::{self, Client, Effect, Resumed};
use crate::workers::acp::wanted::Wanted;

/// An agent that speaks ACP.
pub(super) struct Link {
    process: Process,
    client: Client,
    lines: Lines,
    /// Whole messages that were not handled yet.
    waiting: Vec<Vec<u8>>,
}

impl Member {
    /// One turn of an agent that speaks ACP. Its program runs on between turns.
    pub(super) async fn acp_turn(
        &mut self,
        command: &[String],
        message: &str,
    ) -> (WorkerEnd, String) {
        let (mut link, is_new) = match self.linked(command, message).await {
            Ok(linked) => linked,
            Err(end) => return (end, String::new()),
        };
        let mut has_spoken = is_new;
        self.heard.stream_begins();
        let mut stream = WorkerStream::of(Source::Acp, &self.directory.to_string_lossy());
        let mut deadline = Instant::now() + self.config.timeout;
        let mut stop = None;
        let mut asking = Asking::default();
        let turn = loop {
            if let Some(turn) = self.handle(&mut link, &mut stream, &mut asking) {
                break Some(turn);
            }
            // The time in which a person is asked does not count.
            let is_counted = stop.is_some() || !asking.is_open();
            tokio::select! {
                biased;
                () = self.cancel.notified(), if stop.is_none() => {
                    stop = Some(Stop::Cancelled);
                    asking.take_back_all();
                    deadline = link.cancel();
                }
                (request, decided) = asking.next() => {
                    if stop.is_none() {
                        deadline += asking.waited();
                    }
                    if self.decided(&link, &request, &decided) && stop.is_none() {
                        stop = Some(Stop::Cancelled);
                        deadline = link.cancel();
                    }
                }
                () = sleep_until(deadline), if is_counted => {
                    if stop.is_some() {
                        link.process.stop();
                        deadline = Instant::now() + GRACE;
                    } else {
                        stop = Some(Stop::TimedOut);
                        deadline = link.cancel();
                    }
                }
                bytes = link.process.next() => match bytes {
                    Some(bytes) => {
                        has_spoken = true;
                        link.push(&bytes);
                    }
                    None => break None,
                },
            }
        };
        for (request, decided) in asking.end().await {
            self.decided(&link, &request, &decided);
        }
        self.session = link.client.session().map(str::to_owned).or(self.session.take());
        if turn.is_none() && stop.is_none() && !has_spoken {
            // Its program ended between two turns, and never read the message.
            return Box::pin(self.acp_turn(command, message)).await;
        }
        let ended = self.hear_end(stream, Some(0));
        let end = match (stop, turn) {
            // It may have finished before it heard that it should not.
            (_, Some(Ok(reason))) if reason == "end_turn" => {
                self.link = Some(link);
                WorkerEnd::Well
            }
            (Some(stop), turn) => {
                self.link = turn.is_some().then_some(link);
                self.stopped(stop)
            }
            (None, Some(Ok(reason))) => {
                self.link = Some(link);
                WorkerEnd::Failed(format!("it stopped: {}", one_line(&reason)))
            }
            (None, Some(Err(why))) => {
                self.link = link.client.session().is_some().then_some(link);
                self.failed(&why, &ended, "")
            }
            (None, None) => {
                let (exit, stderr) = link.process.ended().await;
                let how = exit.map_or_else(|why| why, |exit| exit.to_string());
                self.failed(&format!("it ended before it answered ({how})"), &ended, &stderr)
            }
        };
        (end, ended.answer)
    }

    /// The agent with the message sent: the one that runs, or a new one (`true`).
    async fn linked(
        &mut self,
        command: &[String],
        message: &str,
    ) -> Result<(Link, bool), WorkerEnd> {
        if let Some(mut link) = self.link.take().filter(|it| !it.process.is_over())
            && let Some(prompt) = link.client.prompt(message)
            && link.process.send(&prompt)
        {
            return Ok((link, false));
        }
        let mut started = self.command(command.to_vec());
        started.stdin = Some(Vec::new());
        let program = command.first().map_or("", String::as_str);
        let process = Process::start(&self.options.processes, started).await;
        let process = process.map_err(|why| not_started(program, &why.to_string()))?;
        let (client, hello) = Client::new(&self.directory, message.to_owned());
        let is_own = self.config.kind == MemberKind::Own;
        let name = is_own.then(|| self.config.shown_name().to_owned());
        let client = client.resuming(self.session.take()).named(name);
        process.send(&hello);
        let link = Link { process, client, lines: Lines::new(LONGEST), waiting: Vec::new() };
        Ok((link, true))
    }

    /// Handles the messages that have arrived. Returns how the turn ended, if it has.
    fn handle(
        &mut self,
        link: &mut Link,
        stream: &mut WorkerStream,
        asking: &mut Asking<Box<PermissionRequest>>,
    ) -> Option<Result<String, String>> {
        let mut waiting = std::mem::take(&mut link.waiting).into_iter();
        while let Some(mut line) = waiting.next() {
            let was_loading = link.client.is_loading();
            let effect = link.client.line(&line);
            line.push(b'\n');
            if !was_loading {
                self.hear(stream, &line);
            }
            if let Some(resumed) = link.client.take_resumed() {
                self.tell_resumed(&resumed);
            }
            let is_taken = match effect {
                Some(Effect::Send(message)) => link.process.send(&message),
                Some(Effect::Ask(request)) => {
                    let permissions = Arc::clone(&self.permissions);
                    let take_back = asking.open(request.id.clone());
                    match request.question.clone().filter(|_| self.is_own()) {
                        Some(question) => {
                            asking.ask(request, permissions.show(question, take_back));
                        }
                        None => {
                            let wanted = Wanted::of_acp(&request);
                            asking.ask(request, permissions.decide(wanted, take_back));
                        }
                    }
                    true
                }
                Some(Effect::TakeBack(id)) => {
                    asking.take_back(&id);
                    true
                }
                Some(Effect::Over(turn)) => {
                    // The rest is for the next turn.
                    link.waiting = waiting.collect();
                    return Some(turn);
                }
                None => true,
            };
            if !is_taken {
                link.process.stop();
            }
        }
        None
    }

    fn is_own(&self) -> bool {
        self.config.kind == MemberKind::Own
    }

    fn tell_resumed(&mut self, resumed: &Resumed) {
        match resumed {
            Resumed::Loaded => {
                self.note("its program had ended: it was started again and goes on");
            }
            Resumed::NotOffered => self.note(
                "its program had ended and cannot load conversations: this is a new conversation",
            ),
            Resumed::Failed(why) => {
                let why = one_line(&mask(why)).into_owned();
                self.note(&format!("its program had ended: this is a new conversation ({why})"));
            }
        }
    }

    /// Sends the agent what was decided. Returns whether its turn is to end.
    fn decided(&mut self, link: &Link, request: &PermissionRequest, decided: &Decided) -> bool {
        let what = request.command.as_ref().unwrap_or(&request.title);
        self.tell_decided(&request.call, what, decided);
        let answer = match &decided.decision {
            Decision::Known => return false,
            Decision::Allow(_) => request.answer(true),
            Decision::Deny(_) | Decision::Stop(_) => request.answer(false),
            Decision::Cancelled => request.cancelled(),
        };
        if !link.process.send(&answer) {
            link.process.stop();
        }
        matches!(decided.decision, Decision::Stop(_))
    }
}

impl Link {
    /// Keeps the whole messages of these bytes.
    fn push(&mut self, bytes: &[u8]) {
        let waiting = &mut self.waiting;
        self.lines.push(bytes, |piece| {
            // A message that is too long is dropped.
            let Piece::Lines(lines) = piece else { return };
            let lines = lines.split(|it| *it == b'\n').filter(|it| !it.is_empty());
            waiting.extend(lines.map(<[u8]>::to_vec));
        });
    }

    /// Ends the agent.
    pub(super) async fn close(self) {
        self.process.close(GRACE).await;
    }

    /// Tells the agent to end its turn. Returns until when it may take.
    fn cancel(&self) -> Instant {
        match self.client.session() {
            Some(session) if self.process.send(&client::cancel(session)) => {}
            Some(_) | None => self.process.stop(),
        }
        Instant::now() + GRACE
    }
}
