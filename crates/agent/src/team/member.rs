//! One member at work: turn after turn of one conversation. However a turn ends, the end is told, and the
//! member takes the next message.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use punchlist_engine::workers::{Ended, WorkerStream};
use punchlist_formats::text::{mask, one_line};
use punchlist_sched::Command;
use punchlist_streams::event::Event;
use punchlist_streams::event::owned::AgentEvent;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::acp_turn::Link;
use super::config::{MemberConfig, MemberKind};
use super::heard::Heard;
use super::permissions::{Decided, Decision, Permissions};
use super::{Report, TeamOptions};
use crate::workers::WorkerEnd;
use crate::workers::program::without_plan;

/// How long an agent may take to end its turn when it is told to, and to end when its input is closed.
pub(super) const GRACE: Duration = Duration::from_secs(3);
/// The longest message of an agent that is read. Longer ones are dropped.
pub(super) const LONGEST: usize = 8 << 20;

/// A member.
pub(super) struct Member {
    pub(super) number: usize,
    pub(super) config: MemberConfig,
    pub(super) directory: PathBuf,
    pub(super) options: Arc<TeamOptions>,
    pub(super) reports: UnboundedSender<Report>,
    /// Notified to end the turn.
    pub(super) cancel: Arc<Notify>,
    pub(super) heard: Heard,
    /// The program's id of the conversation.
    pub(super) session: Option<String>,
    /// The agent that speaks ACP, while it runs.
    pub(super) link: Option<Link>,
    /// What it may do.
    pub(super) permissions: Arc<Permissions>,
}

/// Why a turn is being ended from outside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Cancelled,
    TimedOut,
}

impl Member {
    /// Takes messages until there are no more.
    pub(super) async fn work(mut self, mut messages: UnboundedReceiver<String>) {
        while let Some(message) = messages.recv().await {
            // Whoever cancelled the turn before does not mean this one.
            self.cancel.notified().now_or_never();
            let begins = self.heard.begins(&message, (self.options.clock)());
            begins.into_iter().for_each(|it| self.tell(it));
            let (end, answer) = match self.config.kind.clone() {
                MemberKind::Program { agent, command } => {
                    self.program_turn(agent, &command, &message).await
                }
                MemberKind::Acp { command } => self.acp_turn(&command, &message).await,
                MemberKind::Own => {
                    let mut command = self.options.own_command.clone();
                    let model = self.config.model.clone();
                    command.extend(model.into_iter().flat_map(|it| ["--model".to_owned(), it]));
                    self.acp_turn(&command, &message).await
                }
            };
            let ends = self.heard.ends(&end, (self.options.clock)());
            ends.into_iter().for_each(|it| self.tell(it));
            let session = self.session.clone();
            self.reports.send(Report::Ended { member: self.number, end, answer, session }).ok();
        }
        if let Some(link) = self.link.take() {
            link.close().await;
        }
        self.permissions.close().await;
    }

    pub(super) fn tell(&self, event: AgentEvent) {
        let (member, event) = (self.number, Box::new(event));
        // A front end that is gone hears nothing more.
        self.reports.send(Report::Event { member, event }).ok();
    }

    /// Tells a note about the member.
    pub(super) fn note(&mut self, text: &str) {
        let note = self.heard.note(text, (self.options.clock)());
        note.into_iter().for_each(|it| self.tell(it));
    }

    /// Tells what was decided about a call, and why it was refused without asking anybody.
    pub(super) fn tell_decided(&mut self, call: &str, what: &str, decided: &Decided) {
        let Decided { decision, answer, by } = decided;
        let now = (self.options.clock)();
        let event = self.heard.answered(call, answer, by.as_deref(), now);
        event.into_iter().for_each(|it| self.tell(it));
        if let (Decision::Deny(why), None) = (decision, by) {
            // The person is told the first line; the hint about rules is for whoever reads the record.
            let why = why.lines().next().unwrap_or_default();
            self.note(&format!("not allowed: {}: {}", one_line(what), one_line(why)));
        }
    }

    pub(super) fn command(&self, words: Vec<String>) -> Command {
        let mut words = words.into_iter();
        let program = words.next().unwrap_or_default();
        let environment = self.options.environment_of(&self.config);
        let mut command = Command::new(program, &self.directory).envs(without_plan(&environment));
        command.arguments = words.map(OsString::from).collect();
        command.apart = true;
        command
    }

    /// Tells the events of these bytes.
    pub(super) fn hear(&mut self, stream: &mut WorkerStream, bytes: &[u8]) {
        let now = (self.options.clock)();
        let mut events = Vec::new();
        let heard = &mut self.heard;
        stream.push_telling(bytes, &mut |event: &Event<'_>| {
            events.extend(heard.renamed(event, now));
        });
        if let Some(session) = stream.session() {
            self.session = Some(session.to_owned());
        }
        events.into_iter().for_each(|it| self.tell(it));
    }

    pub(super) fn hear_end(&mut self, stream: WorkerStream, code: Option<i32>) -> Ended {
        let now = (self.options.clock)();
        let mut events = Vec::new();
        let heard = &mut self.heard;
        let ended = stream.end_telling(code, &mut |event: &Event<'_>| {
            events.extend(heard.renamed(event, now));
        });
        events.into_iter().for_each(|it| self.tell(it));
        ended
    }

    pub(super) fn stopped(&self, stop: Stop) -> WorkerEnd {
        match stop {
            Stop::Cancelled => WorkerEnd::Cancelled,
            Stop::TimedOut => WorkerEnd::timed_out(self.config.timeout),
        }
    }

    pub(super) fn failed(&self, why: &str, ended: &Ended, stderr: &str) -> WorkerEnd {
        let said = ended.errors.iter().map(String::as_str);
        // Programs that fail before they print a line say why on standard error.
        let printed = Some(stderr).filter(|_| ended.errors.is_empty());
        let now = (self.options.clock)().to_zoned(self.options.time_zone.clone());
        WorkerEnd::of_failure(&one_line(&mask(why)), said.chain(printed), &now)
    }
}

/// A program did not start.
pub(super) fn not_started(program: &str, why: &str) -> WorkerEnd {
    WorkerEnd::Failed(format!("{program} did not start: {why}; is it installed?"))
}
