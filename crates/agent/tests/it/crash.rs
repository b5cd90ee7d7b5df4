//! A turn that is cut off at any moment goes on: no call that has begun runs again, and the plan ends
//! as it does without a crash.
//!
//! The end of a process is the end of its tokio runtime: nothing of it runs on. The store is in memory
//! and survives. The future of the turn is polled after each poll of any other task, so it can be cut
//! off between any two steps of the session, the scheduler and the tools.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, pending, poll_fn};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use futures_core::future::BoxFuture;
use jiff::tz::TimeZone;
use punchlist_agent::context::ContextOptions;
use punchlist_agent::mcp;
use punchlist_agent::provider::{
    Failure, ModelAnswer, ModelName, ModelOptions, ModelRequest, OnDelta, Provider, Scenario,
    Scripted,
};
use punchlist_agent::session::{
    Entry, Event, Facts, FrontEnd, Input, ModelLoop, Recorded, Session, SessionModel, SessionPlace,
    SessionSettings, SessionTools, SessionUser, World,
};
use punchlist_agent::turn::{self, Strategy};
use punchlist_agent::workers::acp::RefuseAll;
use punchlist_agent::workers::delegate::Delegate;
use punchlist_agent::workers::{ProgramEnvironment, WorkerConfig, WorkerOptions, Workers};
use punchlist_engine::fail::Fail;
use punchlist_engine::{Around, Engine, System};
use punchlist_model::call::Answer;
use punchlist_model::session::Store;
use punchlist_model::store::memory::Memory;
use punchlist_model::store::turns::{ConversationFilter, EntryFilter, Turn, Used};
use punchlist_model::{Actor, ConversationId, IdSource, Limits, Process, Timestamp};
use punchlist_sched::{Decision, Policy, Processes, Rule, Tool, Work, tool_fn};
use serde_json::{Value, json};

/// How often a tool lets others run before it ends.
const STEPS: u32 = 3;

/// The process that lives. All earlier ones have ended.
#[derive(Clone, Default)]
struct Machine(Arc<AtomicU32>);

impl Machine {
    fn process(&self) -> Process {
        Process {
            host: "host".to_owned(),
            boot_id: "boot".to_owned(),
            pid_namespace: 1,
            pid: self.0.load(Ordering::Relaxed),
            start_time: 1,
        }
    }
}

impl Around for Machine {
    fn now(&self) -> Timestamp {
        System.now()
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, punchlist_model::store::Error> {
        System.ids(at)
    }

    fn has_ended(&self, process: &Process) -> bool {
        *process != self.process()
    }
}

/// How often a piece of work began and ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Runs {
    begun: u32,
    ended: u32,
}

/// Answers each question with "once".
#[derive(Default)]
struct Person {
    inputs: VecDeque<Input>,
}

impl FrontEnd for Person {
    fn event(&mut self, event: Event) {
        if let Event::Asked { asked, .. } = event {
            self.inputs.push_back(Input::Answer(asked.id, Answer::Once));
        }
    }

    fn input(&mut self) -> BoxFuture<'_, Input> {
        // Nothing is taken before the future is polled: it may be dropped without that.
        Box::pin(async {
            match self.inputs.pop_front() {
                Some(input) => input,
                None => pending().await,
            }
        })
    }
}

/// A store, and everything that happened outside of it.
struct Place {
    store: Arc<Memory>,
    machine: Machine,
    runs: Arc<Mutex<BTreeMap<String, Runs>>>,
    scenario: Scenario,
    settings: SessionSettings,
    worker: Option<Counting>,
}

/// A model that counts its calls.
#[derive(Clone)]
struct Counting {
    inner: Arc<Scripted>,
    scenario: Scenario,
    begun: Arc<AtomicU64>,
}

impl Counting {
    fn new(answers: &Value) -> Self {
        let scenario: Scenario = serde_json::from_value(json!({ "answers": answers })).unwrap();
        let inner = Scripted::new("scripted:worker".parse().unwrap(), scenario.clone());
        Self { inner: Arc::new(inner), scenario, begun: Arc::default() }
    }

    /// The model from its first answer.
    fn anew(&self) -> Self {
        let inner = Scripted::new("scripted:worker".parse().unwrap(), self.scenario.clone());
        Self { inner: Arc::new(inner), ..self.clone() }
    }
}

impl Provider for Counting {
    fn model(&self) -> &ModelName {
        self.inner.model()
    }

    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut OnDelta<'_>,
    ) -> BoxFuture<'a, Result<ModelAnswer, Failure>> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.inner.call(request, on_delta)
    }
}

impl Place {
    fn new(strategy: Strategy, answers: &Value) -> Self {
        let turn = turn::Options { strategy, ..turn::Options::default() };
        Self {
            store: Arc::new(Memory::answering_later()),
            machine: Machine::default(),
            runs: Arc::default(),
            scenario: serde_json::from_value(json!({ "answers": answers })).unwrap(),
            settings: SessionSettings {
                model: "scripted:test".to_owned(),
                turn,
                ..SessionSettings::default()
            },
            worker: None,
        }
    }

    /// The tool `name`, which counts its runs by the argument `what`.
    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let runs = Arc::clone(&self.runs);
        let schema = json!({"type": "object", "properties": {"what": {"type": "string"}}});
        Arc::new(tool_fn(name, schema, move |arguments: Value, _: Work| {
            let runs = Arc::clone(&runs);
            let what = arguments["what"].as_str().unwrap_or_default().to_owned();
            async move {
                runs.lock().unwrap().entry(what.clone()).or_default().begun += 1;
                for _ in 0..STEPS {
                    tokio::task::yield_now().await;
                }
                runs.lock().unwrap().entry(what.clone()).or_default().ended += 1;
                Ok::<_, String>(format!("{what} is done"))
            }
        }))
    }

    /// The world of a new process, with a worker `w` of our own loop whose model says this.
    async fn world(&self) -> World {
        let mut world = self.plain_world().await;
        let Some(worker) = self.worker.clone() else { return world };
        world.model.connect = Arc::new(move |_| Ok((Arc::new(worker.anew()), None)));
        let for_worker = world.clone();
        world.tools.turn_tools = Arc::new(move |plan, sender| {
            let models = ModelLoop::new(for_worker.clone(), plan.clone(), sender.clone());
            let options = WorkerOptions {
                root: PathBuf::from("/project"),
                environment: ProgramEnvironment::default(),
                worktrees: None,
                models: Arc::new(models),
                approver: Arc::new(RefuseAll),
                clock: Arc::new(|| System.now()),
                time_zone: TimeZone::UTC,
            };
            let config = json!({"kind": "model", "model": "scripted:worker"});
            let workers = Workers::new([WorkerConfig::read("w", &config).unwrap()], options);
            let (agent, plan) = (plan.agent().to_owned(), Arc::new(plan.clone()));
            vec![Arc::new(Delegate::new(workers, plan, agent, PathBuf::from("/project")))]
        });
        world
    }

    /// The world without a worker. The model goes on after the answers that are recorded.
    async fn plain_world(&self) -> World {
        self.machine.0.fetch_add(1, Ordering::Relaxed);
        let store: Arc<dyn Store> = Arc::<Memory>::clone(&self.store);
        let mut answers = 0;
        if let Some(id) = self.session().await {
            let entries = self.entries(id).await;
            answers = entries.iter().filter(|it| matches!(it.entry, Entry::Answer(_))).count();
        }
        let model = "scripted:test".parse().unwrap();
        let lookup = mcp::Lookup {
            variable: Arc::new(|_: &str| None),
            command: Arc::new(|_: &str| Err("there are no commands".to_owned())),
        };
        let servers = mcp::Options::new(PathBuf::from("/project"), Processes::none(), lookup);
        let policy = Policy::new(vec![Rule::tool(Decision::Allow, "work")], Vec::new());
        World {
            model: SessionModel {
                provider: Arc::new(Scripted::new(model, self.scenario.clone()).skipping(answers)),
                price: None,
                options: ModelOptions::default(),
                connect: Arc::new(|_| Err(Fail::ours("there is no other model"))),
                reminders: punchlist_model::remind::Policy::default(),
                context: ContextOptions::default(),
                facts: Facts::default(),
            },
            tools: SessionTools {
                all: vec![self.tool("work"), self.tool("deploy")],
                servers: Arc::new(mcp::connect(Vec::new(), servers)),
                turn_tools: Arc::new(|_, _| Vec::new()),
                policy,
                processes: Processes::none(),
                outputs: PathBuf::from("/nowhere"),
                rules_file: PathBuf::from("/nowhere/rules"),
            },
            place: SessionPlace {
                engine: Engine::open(store, self.machine.clone()),
                around: Arc::new(self.machine.clone()),
                project: "/project".to_owned(),
                directory: PathBuf::from("/project"),
                process: Some(self.machine.process()),
                limits: Limits::default(),
            },
            user: SessionUser { person: Actor::person("ann"), asks_as: None, is_attended: true },
        }
    }

    async fn session(&self) -> Option<ConversationId> {
        let store: &dyn Store = &*self.store;
        let all = store.conversations(ConversationFilter::default()).await.unwrap();
        all.first().map(|it| it.id)
    }

    async fn turns(&self) -> Vec<Turn> {
        let store: &dyn Store = &*self.store;
        match self.session().await {
            Some(id) => store.turns(id).await.unwrap(),
            None => Vec::new(),
        }
    }

    async fn entries(&self, id: ConversationId) -> Vec<Recorded> {
        let store: &dyn Store = &*self.store;
        let entries = store.entries(id, EntryFilter::default()).await.unwrap();
        entries.iter().map(|it| Recorded::read(it).unwrap()).collect()
    }

    /// What one process does: it goes on with the session, or begins it.
    async fn work(&self) {
        let (found, world) = (self.session().await, self.world().await);
        let mut person = Person::default();
        let mut session = match found {
            Some(id) => Session::open(world, id).await.unwrap(),
            None => Session::create(world, self.settings.clone(), "Dig").await.unwrap(),
        };
        let turns = self.turns().await;
        if turns.is_empty() {
            session.request("Dig", &mut person).await.unwrap();
        } else {
            session.resume(&mut person).await.unwrap();
        }
    }

    /// One process, which ends after so many polls. Returns whether it was done before.
    fn process(&self, polls: usize) -> bool {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // The future of the turn is polled after each poll of another task.
            .event_interval(1)
            .build()
            .unwrap();
        runtime.block_on(cut_off(polls, self.work())).is_some()
    }

    /// What must be the same with and without a crash.
    fn result(&self) -> (Vec<String>, Vec<&'static str>) {
        let turn = block_on(self.turns()).pop().unwrap();
        let store: &dyn Store = &*self.store;
        let plan = block_on(store.whole(turn.plan.unwrap())).unwrap();
        let mut lines = vec![format!("{:?}, revision {}", turn.ending, plan.revision.0)];
        lines.extend(plan.listed().iter().map(|it| {
            format!("{} {} {:?} {:?}", it.number, it.status.as_str(), it.title, it.outcome)
        }));
        let entries = block_on(async { self.entries(self.session().await.unwrap()).await });
        (lines, entries.iter().map(|it| it.entry.kind()).collect())
    }

    /// Whether the model was told of a call that it may have happened.
    fn is_interrupted(&self) -> bool {
        let entries = block_on(async { self.entries(self.session().await.unwrap()).await });
        entries.iter().any(|it| {
            matches!(&it.entry, Entry::Result(end) if end.result.text.contains("may have happened"))
        })
    }

    /// Checks what is recorded: every call has one result, which tells what really happened.
    #[track_caller]
    fn check(&self) {
        let entries = block_on(async { self.entries(self.session().await.unwrap()).await });
        let numbers: Vec<u64> = entries.iter().map(|it| it.number).collect();
        assert_eq!(numbers, (1..=entries.len() as u64).collect::<Vec<_>>());
        let mut results = BTreeMap::new();
        let mut calls = Vec::new();
        for it in &entries {
            if let Entry::Answer(answer) = &it.entry {
                assert_eq!(calls.len(), results.len(), "an answer before all results");
                calls.extend(answer.message.calls.clone());
            }
            if let Entry::Result(end) = &it.entry {
                let text = end.result.text.clone();
                let earlier = results.insert(end.result.call.clone(), text);
                assert_eq!(earlier, None, "a second result");
            }
        }
        assert_eq!(calls.len(), results.len());
        let runs = self.runs.lock().unwrap();
        for call in &calls {
            let text = results.get(&call.id).unwrap();
            let punchlist_agent::provider::Arguments::Object(arguments) = &call.arguments else {
                continue;
            };
            let Some(what) = arguments["what"].as_str() else { continue };
            let runs = runs.get(what).copied().unwrap_or_default();
            if text.contains("may have happened") {
                assert!(runs.begun <= 1, "{what} was interrupted and ran again: {runs:?}");
            } else {
                assert!(text.contains(&format!("{what} is done")), "{what}: {text}");
                assert_eq!(runs, Runs { begun: 1, ended: 1 }, "{what}");
            }
        }
    }
}

/// Polls a future at most so often, and without waiting for anything. `None` if it did not finish.
async fn cut_off<T>(polls: usize, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut left = polls;
    poll_fn(|context| {
        let Some(fewer) = left.checked_sub(1) else { return Poll::Ready(None) };
        left = fewer;
        context.waker().wake_by_ref();
        work.as_mut().poll(context).map(Some)
    })
    .await
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

/// More polls than any turn needs.
const FOR_EVER: usize = 1_000_000;

/// Cuts off a turn after each number of polls, then a second time while it is resumed.
fn crash_everywhere(strategy: Strategy, answers: &Value) {
    let whole = Place::new(strategy, answers);
    assert!(whole.process(FOR_EVER), "the turn does not end");
    whole.check();
    let expected = whole.result();
    assert!(expected.0[0].contains("answered"), "{expected:?}");
    let (mut interrupted, mut polls) = (0, 0);
    loop {
        polls += 1;
        assert!(polls < 20_000, "the turn does not end");
        let place = Place::new(strategy, answers);
        if place.process(polls) {
            break;
        }
        // Every other time the second process is cut off too, each time elsewhere.
        let is_done = polls % 2 == 1 && place.process(polls * 31 % 257);
        assert!(is_done || place.process(FOR_EVER), "cut off after {polls} polls, it does not end");
        place.check();
        assert_eq!(place.result(), expected, "cut off after {polls} polls");
        interrupted += usize::from(place.is_interrupted());
    }
    assert!(polls > 100, "only {polls} polls");
    assert!(interrupted > 0, "no call was ever interrupted");
}

#[test]
fn a_turn_that_the_model_leads_goes_on_after_a_crash_anywhere() {
    let work = |what: &str| json!({"tool": "work", "arguments": {"what": what}});
    let deploy = |what: &str| json!({"tool": "deploy", "arguments": {"what": what}});
    let complete = |id: &str| {
        let arguments = json!({"todoId": id, "outcome": format!("outcome of {id}")});
        json!({"tool": "complete_todo", "arguments": arguments})
    };
    let items = json!({"items": [{"title": "One"}, {"title": "Two"}, {"title": "Three"}]});
    crash_everywhere(
        Strategy::Supervisor,
        &json!([
            {"calls": [{"tool": "create_todo", "arguments": items}, work("a")]},
            {"calls": [work("b"), work("c"), complete("1")]},
            {"calls": [{"tool": "work", "arguments": "not an object"}, complete("2")]},
            {"text": "It is done."},
            {"calls": [deploy("d"), work("e"), complete("3")]},
            {"text": "Now it is done."},
        ]),
    );
}

#[test]
fn a_turn_in_steps_goes_on_after_a_crash_anywhere() {
    let work = |what: &str| json!({"tool": "work", "arguments": {"what": what}});
    let add = json!({"action": "add_multiple", "todos": [{"content": "One"}, {"content": "Two"}]});
    crash_everywhere(
        Strategy::Steps,
        &json!([
            {"text": "{\"isSimple\": false, \"reasoning\": \"two steps\"}"},
            {"calls": [{"tool": "todo_manager", "arguments": add}]},
            {"text": "That is the plan."},
            {"calls": [work("a"), work("b")]},
            {"text": "One is done."},
            {"calls": [work("c")]},
            {"text": "Two is done."},
            {"text": "{\"isComplete\": true, \"reasoning\": \"all is there\"}"},
        ]),
    );
}

#[test]
fn what_a_worker_had_used_when_the_process_ended_is_counted_once() {
    let work = |what: &str| json!({"tool": "work", "arguments": {"what": what}});
    let says = |call: Value| json!({"calls": [call], "usage": {"input": 100, "output": 10}});
    let answers = json!([
        {"calls": [{"tool": "create_todo", "arguments": {"items": [{"title": "One"}]}}]},
        {"calls": [{"tool": "delegate",
                    "arguments": {"todoId": "1", "agentType": "w", "task": "Do it."}}]},
        {"calls": [{"tool": "complete_todo", "arguments": {"todoId": "1", "outcome": "done"}}]},
        {"text": "It is done."},
    ]);
    let worker = json!([
        says(work("a")),
        says(work("b")),
        {"text": "Both are done.", "usage": {"input": 100, "output": 10}},
    ]);
    let new = || {
        let worker = Some(Counting::new(&worker));
        Place { worker, ..Place::new(Strategy::Supervisor, &answers) }
    };
    let used = |place: &Place| block_on(place.turns()).pop().map(|it| it.used).unwrap_or_default();
    let whole = new();
    assert!(whole.process(FOR_EVER), "the turn does not end");
    // Four calls of the session, three of the worker.
    let expected = Used { calls: 7, input: 300, output: 30, cost_micros: 0 };
    assert_eq!(used(&whole), expected);
    let (mut polls, mut cut_off_after) = (0, BTreeMap::<u64, u32>::new());
    loop {
        polls += 1;
        assert!(polls < 20_000, "the turn does not end");
        let place = new();
        if place.process(polls) {
            break;
        }
        let begun = place.worker.as_ref().unwrap().begun.load(Ordering::Relaxed);
        // Whatever came before the worker's last call is recorded.
        let before = used(&place);
        let by_worker = before.input / 100;
        assert!((begun.saturating_sub(1)..=begun).contains(&by_worker), "{polls}: {before:?}");
        let is_done = polls % 2 == 1 && place.process(polls * 31 % 257);
        assert!(is_done || place.process(FOR_EVER), "cut off after {polls} polls, it does not end");
        place.check();
        let after = used(&place);
        let begun_in_all = place.worker.as_ref().unwrap().begun.load(Ordering::Relaxed);
        assert_eq!(after.output, after.input / 10, "{polls}: {after:?}");
        assert!(after.input / 100 <= begun_in_all, "{polls}: counted twice: {after:?}");
        // Each process may lose the answer that arrived when it ended.
        assert!(after.input / 100 + 2 >= begun_in_all, "{polls}: {after:?} of {begun_in_all}");
        assert!(after.input >= before.input, "{polls}: {before:?}, then {after:?}");
        *cut_off_after.entry(by_worker).or_default() += 1;
    }
    for counted in 0..=3 {
        assert!(cut_off_after.contains_key(&counted), "{cut_off_after:?}");
    }
}
