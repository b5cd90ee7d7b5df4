//! Workers that are the program of an agent that the user has: Claude Code, Codex or Gemini CLI.
//!
//! The program runs headless, with the user's own settings and account. Its stream is read as it
//! comes; what it does and its own list are passed on.

use std::ffi::OsString;
use std::sync::Mutex;

use futures_core::future::BoxFuture;
use jiff::Zoned;
use punchlist_engine::workers::program::{self, Heard, Ran};
use punchlist_engine::workers::{Agent, Job, News, WorkerStream};
use punchlist_formats::text::{mask, one_line};
use punchlist_model::ListEntry;
use punchlist_sched::Work;

use super::{
    Listener, Outcome, Task, Worker, WorkerConfig, WorkerEnd, WorkerEvent, WorkerKind,
    WorkerOptions, used,
};

/// Most bytes of an answer or of an output that are kept.
const MOST_TEXT: usize = 60_000;

/// A worker of the kinds `claude`, `codex` and `gemini`.
pub struct ProgramWorker {
    config: WorkerConfig,
    options: WorkerOptions,
}

impl ProgramWorker {
    /// The worker of this configuration.
    pub fn new(config: WorkerConfig, options: WorkerOptions) -> Self {
        Self { config, options }
    }

    async fn work(
        &self,
        (agent, command): (Agent, &[String]),
        task: &Task,
        work: &Work,
        listener: &Listener<'_>,
    ) -> Outcome {
        let (program, arguments) = command.split_first().map_or(("", &[][..]), |it| (it.0, it.1));
        let mut arguments = arguments.to_vec();
        if let Some(calls) = self.config.limits.calls {
            arguments.extend(["--max-turns".to_owned(), calls.to_string()]);
        }
        let details = task.details();
        let job = Job {
            agent,
            program,
            model: self.config.model.as_deref(),
            arguments: &arguments,
            instructions: &self.config.prompt,
            title: task.title(),
            context: &details,
            criteria: &task.criteria,
        };
        let environment = self.options.environment_of(&self.config);
        let mut command = program::command(&job, &task.directory, &environment);
        if let Some(item) = task.item {
            command = command.env("PUNCHLIST_ITEM", item.to_string());
        }
        let stream = WorkerStream::new(agent, &task.directory.to_string_lossy());
        let list = Mutex::new(Vec::new());
        let mut hear = |heard| hear(heard, &list, listener);
        let limit = Some(self.config.timeout);
        let ran = match program::run(command, stream, work, limit, &mut hear).await {
            Ok(ran) => ran,
            Err(why) => {
                return Outcome::failed(format!(
                    "{program} did not start: {why}; is it installed?"
                ));
            }
        };
        let list: Vec<ListEntry> = list.into_inner().unwrap_or_default();
        let end = end(&ran, work.is_stopping(), self.config.timeout, &self.options.now());
        Outcome {
            list: list.iter().map(Into::into).collect(),
            session: ran.ended.session.clone(),
            ..Outcome::new(text(&ran, &end), end).used(ran.ended.usage)
        }
    }
}

impl Worker for ProgramWorker {
    fn run<'a>(
        &'a self,
        task: &'a Task,
        work: &'a Work,
        listener: &'a Listener<'a>,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match &self.config.kind {
                WorkerKind::Program { agent, command } => {
                    self.work((*agent, command), task, work, listener).await
                }
                WorkerKind::Model | WorkerKind::Acp { .. } | WorkerKind::Shell { .. } => {
                    Outcome::failed("it is not the program of an agent")
                }
            }
        })
    }
}

/// Passes on what was heard, and keeps the last list.
pub(super) fn hear(heard: Heard, list: &Mutex<Vec<ListEntry>>, listener: &Listener<'_>) {
    listener(match heard {
        Heard::Session(session) => WorkerEvent::Session(session),
        Heard::Used(usage) => WorkerEvent::Used(used(usage)),
        Heard::News(News::Doing(text)) => WorkerEvent::Doing(text),
        Heard::News(News::List(entries)) => {
            if let Ok(mut list) = list.lock() {
                list.clone_from(&entries);
            }
            WorkerEvent::List(entries)
        }
    });
}

/// The environment without the variable that names the plan: a Punchlist that is installed for the
/// worker would write to it.
pub(crate) fn without_plan(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    environment.iter().filter(|(name, _)| name != program::PLAN).cloned().collect()
}

/// How a program ended, from its process and its stream.
fn end(ran: &Ran, is_stopping: bool, timeout: std::time::Duration, now: &Zoned) -> WorkerEnd {
    if ran.is_timed_out {
        return WorkerEnd::timed_out(timeout);
    }
    if is_stopping {
        return WorkerEnd::Cancelled;
    }
    if let Err(why) = &ran.exit {
        return WorkerEnd::Failed(why.to_string());
    }
    let Some(why) = &ran.ended.failure else { return WorkerEnd::Well };
    let said = ran.ended.errors.iter().map(String::as_str);
    // Programs that fail before they print a line say why on standard error.
    let printed = Some(ran.stderr.as_str()).filter(|_| ran.ended.errors.is_empty());
    WorkerEnd::of_failure(&one_line(why), said.chain(printed), now)
}

/// What the program said: its answer, or after a failure what shows the reason.
fn text(ran: &Ran, end: &WorkerEnd) -> String {
    let parts = match end {
        WorkerEnd::Well => vec![ran.ended.answer.as_str()],
        WorkerEnd::TimedOut(_) | WorkerEnd::Cancelled => {
            vec![ran.doing.text.as_str(), &ran.ended.answer]
        }
        WorkerEnd::Failed(_) | WorkerEnd::UsageLimit { .. } => {
            vec![ran.ended.answer.as_str(), &ran.stderr]
        }
    };
    let parts = parts.into_iter().map(str::trim).filter(|it| !it.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    let text = mask(&text);
    text[..text.floor_char_boundary(MOST_TEXT)].to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use punchlist_engine::workers::{Ended, WorkerUsage};
    use punchlist_sched::call::Output;
    use punchlist_sched::process::{Error, Exit};

    use super::*;

    const EXIT: Exit = Exit { code: Some(1), signal: None, left_behind: 0, undead: 0 };

    fn ran() -> Ran {
        let ended = Ended {
            session: None,
            answer: "Half done.".to_owned(),
            failure: Some("it ended with 1".to_owned()),
            errors: Vec::new(),
            usage: WorkerUsage::default(),
        };
        let doing = Output::text("Reading a.md\n");
        Ran { exit: Ok(EXIT), ended, stderr: "no key\n".to_owned(), doing, is_timed_out: false }
    }

    fn ended(change: impl Fn(&mut Ran), is_stopping: bool) -> (WorkerEnd, String) {
        let mut ran = ran();
        change(&mut ran);
        let now = "2026-11-17T18:00:00Z".parse::<jiff::Timestamp>().unwrap();
        let now = now.to_zoned(jiff::tz::TimeZone::UTC);
        let end = end(&ran, is_stopping, Duration::from_secs(60), &now);
        let text = text(&ran, &end);
        (end, text)
    }

    #[test]
    fn a_program_may_end_in_many_ways_and_each_is_an_outcome() {
        let failed = |why: &str| WorkerEnd::Failed(why.to_owned());
        let (end, text) = ended(|_| {}, false);
        assert_eq!((end, text.as_str()), (failed("it ended with 1"), "Half done.\n\nno key"));
        let (end, text) = ended(|it| it.ended.failure = None, false);
        assert_eq!((end, text.as_str()), (WorkerEnd::Well, "Half done."));
        let (end, text) = ended(|it| it.is_timed_out = true, true);
        assert_eq!((end, text.as_str()), (WorkerEnd::TimedOut(60), "Reading a.md\n\nHalf done."));
        assert_eq!(ended(|_| {}, true).0, WorkerEnd::Cancelled);
        let (end, _) = ended(|it| it.exit = Err(Error::GuardianGone), false);
        assert_eq!(end, failed("the guardian ended, so this process was killed"));
        let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
        let (_, text) = ended(|it| it.stderr = format!("token {secret}"), false);
        assert!(!text.contains(secret), "{text}");
    }

    #[test]
    fn a_usage_limit_is_told_from_other_failures_with_its_end() {
        let until = |it: &str| WorkerEnd::UsageLimit { until: Some(it.parse().unwrap()) };
        let limit = "usage limit reached; try again at 2026-11-17T20:00:00Z".to_owned();
        // The exact time counts, also if the last message has none.
        let errors = vec![limit, "You've hit your limit".to_owned()];
        let (end, _) = ended(|it| it.ended.errors.clone_from(&errors), false);
        assert_eq!(end, until("2026-11-17T20:00:00Z"));
        let (end, _) = ended(|it| it.stderr = "usage limit, resets 9pm".to_owned(), false);
        assert_eq!(end, until("2026-11-17T21:01:00Z"));
        // A program that succeeded after a retry is done.
        let well = |it: &mut Ran| {
            (it.ended.failure, it.ended.errors) = (None, errors.clone());
        };
        assert_eq!(ended(well, false).0, WorkerEnd::Well);
    }
}
