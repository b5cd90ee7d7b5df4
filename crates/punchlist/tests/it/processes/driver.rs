//! The driver with real processes: however a call ends, none of its processes is left when its end
//! is reported.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use punchlist_model::Timestamp;
use punchlist_sched::call::{CallError, Checked, Ended};
use punchlist_sched::machine::Target;
use punchlist_sched::output;
use punchlist_sched::run::{Error, LedgerError, Page};
use punchlist_sched::{
    CallId, CancelReason, Event, Ledger, Limits, NoLedger, Options, Outcome, Output, Preview,
    Request, Run, Subject, Tool, Tools, Work,
};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use super::{FAMILY, Family, parent_of, script, shell};

type Ending = std::pin::Pin<Box<dyn Future<Output = Ended> + Send>>;

/// Runs a shell command, and then does what `then` says.
struct Shell(Value);

impl Tool for Shell {
    fn name(&self) -> &str {
        "shell"
    }

    fn description(&self) -> &str {
        "runs a line of shell"
    }

    fn schema(&self) -> &Value {
        &self.0
    }

    fn check(&self, _arguments: &Value) -> Result<Checked, String> {
        let subject = Subject { harmless: true, ..Subject::default() };
        Ok(Checked { subject, ..Checked::default() })
    }

    fn preview(&self, _arguments: &Value) -> Preview {
        Preview::default()
    }

    fn run(&self, arguments: Value, work: Work) -> Ending {
        Box::pin(async move {
            let command = shell(arguments["line"].as_str().unwrap());
            match arguments["then"].as_str() {
                None => match work.run(command).await {
                    Ok(finished) => finished.ended(),
                    Err(why) => Ended::Badly { what: why.to_string(), output: Output::default() },
                },
                // Drops the process when it prints something.
                Some(then) => {
                    let running = work.spawn(command).await.unwrap();
                    let (heard, hear) = tokio::sync::oneshot::channel();
                    let mut heard = Some(heard);
                    let say = |_, _: &[u8]| {
                        if let Some(heard) = heard.take() {
                            heard.send(()).unwrap();
                        }
                    };
                    tokio::select! {
                        _ = running.finish(say) => {}
                        _ = hear => {}
                    }
                    assert_ne!(then, "panic", "broke with a process running");
                    Ended::Well(Output::default())
                }
            }
        })
    }
}

pub(super) struct Stage {
    pub(super) run: Run,
    _dir: tempfile::TempDir,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with(NoLedger)
    }

    fn with(ledger: impl Ledger + 'static) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut tools = Tools::new();
        tools.add(Arc::new(Shell(json!({})))).unwrap();
        let directory = Some(dir.path().join("output"));
        let options = Options {
            output: output::Options { most: 1_000, directory, ..output::Options::default() },
            clock: Arc::new(|| Timestamp::UNIX_EPOCH),
            ..Options::default()
        };
        let run = Run::builder(tools)
            .options(options)
            .limits(Limits { all: 100, ..Limits::default() })
            .processes(super::processes())
            .ledger(ledger)
            .start();
        Self { run, _dir: dir }
    }

    async fn outcome(&self, request: Request) -> Outcome {
        let batch = self.run.schedule(vec![request]).await.unwrap();
        batch.outcomes().await.unwrap().remove(0)
    }
}

pub(super) fn line(line: &str) -> Request {
    Request { tool: "shell".into(), arguments: json!({"line": line}), ..Request::default() }
}

/// A family of processes as a call.
fn call(family: &Family, birth: &str) -> Request {
    line(&script(&family.pipe, birth, "wait; sleep 60"))
}

const REASON: CancelReason = CancelReason::Asked(None);

#[tokio::test]
async fn a_cancelled_call_is_told_of_when_its_whole_family_gone() {
    for (who, birth) in FAMILY {
        let (stage, family) = (Stage::new(), Family::new());
        let schedule = stage.run.schedule(vec![call(&family, birth)]);
        let (scheduled, alive) = tokio::join!(schedule, family.alive());
        let batch = scheduled.unwrap();
        stage.run.cancel(Target::Batch(batch.id()), REASON).await.unwrap();
        let outcomes = batch.outcomes().await.unwrap();
        let cancelled =
            Outcome::cancelled(REASON, outcomes[0].output().cloned().unwrap_or_default());
        assert_eq!(outcomes, [cancelled], "{who}");
        alive.gone().await;
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_told_of_when_its_whole_family_gone() {
    for (who, birth) in FAMILY {
        let (stage, family) = (Stage::new(), Family::new());
        // Opened without blocking, it shows at any time whether somebody has the pipe open, however
        // far the family has got.
        let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        let mut pipe =
            OpenOptions::new().read(true).custom_flags(no_wait).open(&family.pipe).unwrap();
        let request = Request { timeout_ms: Some(300), ..call(&family, birth) };
        let outcome = stage.outcome(request).await;
        let is_late = matches!(outcome, Outcome::Error(CallError::TimedOut { after_ms: 300, .. }));
        assert!(is_late, "{who}: {outcome:?}");
        let mut said = String::new();
        match pipe.read_to_string(&mut said) {
            Err(why) if why.kind() == ErrorKind::WouldBlock => panic!("{who} is still there"),
            Err(why) => panic!("{why}"),
            Ok(_) => assert!(!said.contains("survived"), "{who}"),
        }
    }
}

#[tokio::test]
async fn a_tool_that_forgets_its_process_or_breaks_is_over_when_that_gone() {
    for (then, is_well) in [("forget", true), ("panic", false)] {
        let (stage, family) = (Stage::new(), Family::new());
        // It prints once the family has started, and only then is it dropped.
        let birth = "stay & read ready < \"$GO\"; echo go; hold";
        let go = family.pipe.with_extension("go");
        assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
        let mut request = call(&family, &format!("GO='{}'; {birth}", go.display()));
        request.arguments["then"] = json!(then);
        let (scheduled, alive) = tokio::join!(stage.run.schedule(vec![request]), family.alive());
        tokio::task::spawn_blocking(move || std::fs::write(go, "go\n")).await.unwrap().unwrap();
        let outcomes = scheduled.unwrap().outcomes().await.unwrap();
        assert_eq!(matches!(outcomes[..], [Outcome::Success(_)]), is_well, "{outcomes:?}");
        alive.gone().await;
    }
}

#[tokio::test]
async fn a_driver_that_is_shut_down_leaves_nobody() {
    let (stage, family) = (Stage::new(), Family::new());
    let schedule = stage.run.schedule(vec![call(&family, FAMILY[3].1)]);
    let (scheduled, alive) = tokio::join!(schedule, family.alive());
    scheduled.unwrap();
    stage.run.shut_down(REASON);
    stage.run.ended().await.unwrap();
    alive.gone().await;
}

/// A ledger that fails at the first end of a call.
struct Failing;

impl Ledger for Failing {
    fn record<'a>(
        &'a mut self,
        page: Page<'a>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<(), LedgerError>> + Send + 'a>> {
        let fails = page.moved().any(|(_, state)| state.outcome().is_some());
        let answer = if fails { Err(LedgerError::new("the disk is full")) } else { Ok(()) };
        Box::pin(std::future::ready(answer))
    }
}

#[tokio::test]
async fn a_ledger_that_fails_leaves_nobody() {
    let (stage, family) = (Stage::with(Failing), Family::new());
    let schedule = stage.run.schedule(vec![call(&family, FAMILY[3].1)]);
    let (scheduled, alive) = tokio::join!(schedule, family.alive());
    scheduled.unwrap();
    stage.run.schedule(vec![line("true")]).await.unwrap();
    assert!(matches!(stage.run.ended().await, Err(Error::Ledger(_))));
    alive.gone().await;
}

#[tokio::test]
async fn a_guardian_that_is_killed_is_told_in_words() {
    let (stage, family) = (Stage::new(), Family::new());
    let mut events = stage.run.subscribe();
    let request = call(&family, "echo $$; stay & hold");
    let (scheduled, alive) = tokio::join!(stage.run.schedule(vec![request]), family.alive());
    let pid = loop {
        if let Event::Output { line, .. } = events.next().await.unwrap() {
            break line.text.parse().unwrap();
        }
    };
    rustix::process::kill_process(parent_of(pid), rustix::process::Signal::KILL).unwrap();
    let outcome = scheduled.unwrap().outcomes().await.unwrap().remove(0);
    let Outcome::Error(CallError::Failed { what, output }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(what, "the guardian ended, so this process was killed");
    assert_eq!(output.text, format!("{pid}\n"));
    alive.gone().await;
}

#[tokio::test]
async fn output_is_live_by_lines_and_a_long_one_is_cut_with_the_whole_in_a_file() {
    let stage = Stage::new();
    let mut events = stage.run.subscribe();
    let outcome = stage.outcome(line("seq 1 5000; printf last; exit 3")).await;
    let Outcome::Error(CallError::Failed { what, output }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(what, "exit code 3");
    assert!(output.text.starts_with("1\n2\n") && output.text.ends_with("5000\nlast"), "{output:?}");
    assert!(output.text.len() < 1_500, "{output:?}");
    let whole = std::fs::read_to_string(output.whole.unwrap()).unwrap();
    let expected: Vec<String> = (1..=5000).map(|n| n.to_string()).collect();
    assert_eq!(whole, format!("{}\nlast", expected.join("\n")));
    let mut lines = 0;
    while let Some(event) = events.next().await {
        match event {
            Event::Output { call, line, .. } => {
                let text = expected.get(lines).map_or("last", String::as_str);
                assert_eq!((call, line.text.as_str()), (CallId(0), text));
                lines += 1;
            }
            // The test may have been too slow for some lines.
            Event::Lost { lines: lost } => lines += usize::try_from(lost).unwrap(),
            Event::BatchDone(_) => break,
            Event::Moved { .. } | Event::Asked(_) => {}
        }
    }
    assert_eq!(lines, 5001);
}

#[tokio::test]
async fn what_cannot_be_started_is_a_failed_call() {
    let stage = Stage::new();
    let outcome = stage.outcome(line("no-such-program-at-all")).await;
    let Outcome::Error(CallError::Failed { what, output }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(what, "exit code 127");
    assert!(output.text.contains("no-such-program-at-all"), "{output:?}");
}
