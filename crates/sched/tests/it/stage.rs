//! A test setup for the driver: a tool that does what its arguments say, a ledger in memory, and a
//! log of what happened in which order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_model::Timestamp;
use punchlist_sched::call::{Checked, Ended, Kind};
use punchlist_sched::output::{Line, Stream};
use punchlist_sched::policy::{Policy, Subject};
use punchlist_sched::run::{LedgerError, Page};
use punchlist_sched::{
    Access, CallId, Decision, Ledger, Limits, Options, Output, Preview, Request, Rule, Run, Tool,
    Tools, Work, machine,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// The log.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn position(&self, what: &str) -> usize {
        let all = self.all();
        all.iter().position(|it| it == what).unwrap_or_else(|| panic!("no {what:?} in {all:?}"))
    }
}

/// Doors at which calls wait.
#[derive(Clone, Default)]
pub(crate) struct Doors(Arc<Mutex<BTreeMap<String, Arc<Notify>>>>);

impl Doors {
    fn door(&self, name: &str) -> Arc<Notify> {
        Arc::clone(self.0.lock().unwrap().entry(name.to_owned()).or_default())
    }

    /// Lets one call through.
    pub(crate) fn open(&self, name: &str) {
        self.door(name).notify_one();
    }
}

/// The tool: `{"do": …}` says what it does.
struct Actor {
    name: &'static str,
    schema: Value,
    log: Log,
    doors: Doors,
}

/// Panics when it is dropped.
struct Brittle;

impl Drop for Brittle {
    fn drop(&mut self) {
        panic!("broke when it was dropped");
    }
}

impl Tool for Actor {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "does what it is told"
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, arguments: &Value) -> Result<Checked, String> {
        let access = match arguments["writes"].as_str() {
            Some(path) => Access::writes([path]),
            None => Access::none(),
        };
        let subject = Subject { tool: self.name.to_owned(), ..Subject::default() };
        Ok(Checked { access, kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        Preview { what: format!("do {}", arguments["do"]), ..Preview::default() }
    }

    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        let (log, doors) = (self.log.clone(), self.doors.clone());
        log.add(format!("{} runs", work.call()));
        let text = |text: &str| Output::text(text);
        let badly = move |what: &str, said: &str| Ended::Badly {
            what: what.to_owned(),
            output: text(said),
        };
        match arguments["do"].as_str().unwrap_or("well") {
            "panic" => panic!("broke at once"),
            act => {
                let act = act.to_owned();
                Box::pin(async move {
                    match act.as_str() {
                        "well" => Ended::Well(text("well")),
                        "badly" => badly("it went wrong", "so far"),
                        "badly first" if work.attempt().0 == 1 => badly("not yet", ""),
                        "badly first" => Ended::Well(text("at last")),
                        "panic later" => {
                            tokio::task::yield_now().await;
                            panic!("broke {}", "later")
                        }
                        "panic dropped" => {
                            let _brittle = Brittle;
                            Ended::Well(Output::default())
                        }
                        "stop" => {
                            log.add(format!("{} waits", work.call()));
                            work.stopping().await;
                            assert!(work.is_stopping());
                            badly("stopped", "partial")
                        }
                        "says, never stops" => {
                            let mut capture = work.capture();
                            capture.take(b"half of it");
                            log.add(format!("{} waits", work.call()));
                            std::future::pending::<()>().await;
                            Ended::Well(capture.finish())
                        }
                        "never" => {
                            log.add(format!("{} waits", work.call()));
                            std::future::pending().await
                        }
                        "say" => {
                            for n in 0..10_000 {
                                let text = n.to_string();
                                work.say(Line { stream: Stream::Out, text });
                            }
                            Ended::Well(Output::default())
                        }
                        "who" => {
                            Ended::Well(text(work.approved_by().map_or("nobody", |it| &it.name)))
                        }
                        door => {
                            log.add(format!("{} waits", work.call()));
                            doors.door(door).notified().await;
                            Ended::Well(text(door))
                        }
                    }
                })
            }
        }
    }
}

/// A ledger in memory, which fails on demand.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    pub(crate) log: Log,
    /// Fails when it would record this.
    pub(crate) fails_at: Option<&'static str>,
    /// Declines this call.
    pub(crate) declines: Option<CallId>,
}

impl Ledger for Memory {
    fn record<'a>(&'a mut self, mut page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move {
            let mut lines: Vec<String> =
                page.moved().map(|(call, state)| format!("{call} is {}", state.name())).collect();
            lines.extend(page.asked.iter().map(|it| format!("{} asks", CallId(it.call))));
            // A disk takes its time, and others get theirs meanwhile.
            tokio::task::yield_now().await;
            if lines.iter().any(|it| Some(it.as_str()) == self.fails_at) {
                return Err(LedgerError::new("the disk is full"));
            }
            lines.into_iter().for_each(|it| self.log.add(it));
            if let Some(call) = self.declines {
                page.decline(call, "somebody else has done it".to_owned());
            }
            Ok(())
        })
    }
}

pub(crate) struct Stage {
    pub(crate) run: Run,
    pub(crate) log: Log,
    pub(crate) doors: Doors,
}

pub(crate) fn options() -> Options {
    let limits = Limits { all: 100, of_kind: BTreeMap::new() };
    let policy = Policy::new(vec![Rule::tool(Decision::Allow, "act")], Vec::new());
    let attended = machine::Attended::Yes;
    Options {
        machine: machine::Options { limits, policy, attended, ..machine::Options::default() },
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
        ..Options::default()
    }
}

/// Tools that do what they are told: `act` is allowed, `ask` is asked about.
pub(crate) fn tools(log: &Log, doors: &Doors) -> Tools {
    let mut tools = Tools::new();
    for name in ["act", "ask"] {
        let schema = json!({"type": "object", "properties": {"do": {"type": "string"}}});
        let (log, doors) = (log.clone(), doors.clone());
        tools.add(Arc::new(Actor { name, schema, log, doors })).unwrap();
    }
    tools
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(options())
    }

    pub(crate) fn patient(patience: Duration) -> Self {
        Self::with(Options { patience, ..options() })
    }

    pub(crate) fn failing(fails_at: &'static str) -> Self {
        Self::with_ledger(options(), Memory { fails_at: Some(fails_at), ..Memory::default() })
    }

    pub(crate) fn declining(call: CallId) -> Self {
        Self::with_ledger(options(), Memory { declines: Some(call), ..Memory::default() })
    }

    pub(crate) fn with(options: Options) -> Self {
        Self::with_ledger(options, Memory::default())
    }

    fn with_ledger(options: Options, ledger: Memory) -> Self {
        let (log, doors) = (ledger.log.clone(), Doors::default());
        let run = Run::builder(tools(&log, &doors)).options(options).ledger(ledger).start();
        Self { run, log, doors }
    }

    /// Waits until something is in the log.
    pub(crate) async fn until(&self, what: &str) {
        while !self.log.all().iter().any(|it| it == what) {
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) fn act(what: &str) -> Request {
    Request { tool: "act".to_owned(), arguments: json!({"do": what}), ..Request::default() }
}

pub(crate) fn ask(what: &str) -> Request {
    Request { tool: "ask".to_owned(), ..act(what) }
}
