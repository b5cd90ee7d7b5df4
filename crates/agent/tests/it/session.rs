//! Sessions over the wire: a scripted model server on loopback, real files and commands, a store in
//! memory. What counts is what the server was sent.

mod both_loops;
mod budgets;
mod context;
mod delegating;
mod ending;
mod example;
mod faults;
mod front_end;
mod hosted;
mod json;
mod led;
mod queue;
mod resuming;
mod security;
mod steps;
mod supervisor;
mod turns;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use punchlist_agent::context::ContextOptions;
use punchlist_agent::mcp::Servers;
use punchlist_agent::provider::{
    ClientOptions, Genai, KeySource, Kind, ModelName, ModelOptions, ProviderConfig, Secret,
    Surroundings,
};
use punchlist_agent::session::{
    Ended, Entry, Event, Facts, Recorded, Session, SessionModel, SessionPlace, SessionSettings,
    SessionTools, SessionUser, World,
};
use punchlist_agent::{tools, turn};
use punchlist_engine::fail::Fail;
use punchlist_engine::{Around, Engine, System};
use punchlist_model::session::Store;
use punchlist_model::store::turns::EntryFilter;
use punchlist_model::store::{Error, memory::Memory};
use punchlist_model::{Actor, ConversationId, IdSource, Limits, Process, Timestamp, remind};
use punchlist_sched::process::sandbox::InForce;
use punchlist_sched::{Decision, Policy, Processes, Rule, process};
use punchlist_testkit::model::{Api, Model, Request, Script, Server};
use serde_json::{Value, json};

use crate::provider::{CANARY, KINDS, address, options, run};
use front_end::Front;

/// The request of most tests.
const REQUEST: &str = "Copy the note and check the copy.";

/// No session takes so long, unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// A clock that tests can advance.
#[derive(Clone, Default)]
struct Clock {
    ahead: Arc<AtomicI64>,
    /// Whether it has no ids, so that nothing can be created.
    has_no_ids: Arc<AtomicBool>,
}

impl Clock {
    fn advance(&self, minutes: i64) {
        self.ahead.fetch_add(minutes * 60_000, Ordering::Relaxed);
    }
}

impl Around for Clock {
    fn now(&self) -> Timestamp {
        let now = System.now().as_millisecond() + self.ahead.load(Ordering::Relaxed);
        Timestamp::from_millisecond(now).unwrap()
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, Error> {
        if self.has_no_ids.load(Ordering::Relaxed) {
            return Err(Error::NameTaken("everything".to_owned()));
        }
        System.ids(at)
    }

    fn has_ended(&self, process: &Process) -> bool {
        System.has_ended(process)
    }
}

/// A project, a model server, and everything that a session needs.
struct Stage {
    kind: Kind,
    directory: tempfile::TempDir,
    server: Server,
    clock: Clock,
    world: World,
}

/// A turn that is over.
struct Ran {
    ended: Ended,
    events: Vec<Event>,
    session: ConversationId,
}

/// Plays one script for each kind of provider, all at the same time.
fn each<F: Future<Output = ()>>(script: impl Fn() -> Script, case: impl Fn(Stage) -> F) {
    each_with(&options(), script, case);
}

fn each_with<F: Future<Output = ()>>(
    options: &ClientOptions,
    script: impl Fn() -> Script,
    case: impl Fn(Stage) -> F,
) {
    run(async {
        let cases = KINDS.map(|kind| case(Stage::with(kind, script(), options.clone())));
        join_all(cases).await;
    });
}

/// Plays a script for one kind of provider, where the format makes no difference.
fn one<F: Future<Output = ()>>(script: Script, case: impl FnOnce(Stage) -> F) {
    run(case(Stage::with(Kind::OpenAiChat, script, options())));
}

impl Stage {
    fn with(kind: Kind, script: Script, options: ClientOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("project");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("note.txt"), "Remember the milk.\n").unwrap();
        let server = Model::new(script).without_asides().serve().unwrap();
        let clock = Clock::default();
        let provider = connect(kind, &server.url(), &clock, options);
        let allow = |tool: &str| Rule::tool(Decision::Allow, tool);
        let policy = Policy::new(["write", "edit", "shell"].map(allow).to_vec(), Vec::new());
        let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let store: Arc<dyn Store> = Arc::new(Memory::answering_later());
        let project = root.display().to_string();
        let engine = punchlist_engine::Options {
            project: project.clone(),
            ..punchlist_engine::Options::default()
        };
        let world = World {
            model: SessionModel {
                provider: Arc::new(provider),
                price: None,
                options: ModelOptions::default(),
                connect: Arc::new(|name| Err(Fail::usage(format!("there is no model {name}")))),
                reminders: remind::Policy::default(),
                context: ContextOptions::default(),
                facts: Facts::default(),
            },
            tools: SessionTools {
                all: tools::all(tools::Options {
                    root: root.clone(),
                    environment,
                    guarded: Vec::new(),
                    sandbox: InForce::Off("not needed here".to_owned()),
                    shell_timeout: tools::ShellTimeout::default(),
                })
                .unwrap(),
                turn_tools: Arc::new(|_, _| Vec::new()),
                servers: Arc::new(Servers::none()),
                policy,
                processes: Processes::new(process::Options::new(guardian(), ["guardian".into()])),
                outputs: directory.path().join("outputs"),
                rules_file: directory.path().join("config.toml"),
            },
            place: SessionPlace {
                engine: Engine::with(store, clock.clone(), engine),
                around: Arc::new(clock.clone()),
                project,
                directory: root,
                process: None,
                limits: Limits::default(),
            },
            user: SessionUser { person: Actor::person("ann"), asks_as: None, is_attended: false },
        };
        Self { kind, directory, server, clock, world }
    }

    /// Somebody sits at the front end.
    fn attended(mut self) -> Self {
        self.world.user.is_attended = true;
        self
    }

    /// A path in the project.
    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("project").join(path)
    }

    /// A new session.
    async fn session(&self, settings: SessionSettings) -> Session {
        Session::create(self.world.clone(), settings, REQUEST).await.unwrap()
    }

    /// A session of one turn.
    async fn run(&self, settings: SessionSettings) -> Ran {
        self.run_with(settings, Front::default()).await
    }

    async fn run_with(&self, settings: SessionSettings, front: Front) -> Ran {
        let mut session = self.session(settings).await;
        let ran = self.turn(&mut session, REQUEST, front).await;
        session.close().await.unwrap();
        ran
    }

    /// A turn of a session. Its record must be valid, however the turn ends.
    async fn turn(&self, session: &mut Session, request: &str, mut front: Front) -> Ran {
        let work = session.request(request, &mut front);
        let ended: Result<Ended, Fail> = tokio::time::timeout(LIMIT, work).await.unwrap();
        let ended = ended.unwrap_or_else(|why| panic!("{}: {}", self.kind, why.message));
        let ran = Ran { ended, events: front.events, session: session.id() };
        check_record(&self.entries(&ran).await);
        ran
    }

    async fn entries(&self, ran: &Ran) -> Vec<Recorded> {
        let store = self.world.place.engine.store();
        let entries = store.entries(ran.session, EntryFilter::default()).await.unwrap();
        entries.iter().map(|it| Recorded::read(it).unwrap()).collect()
    }

    /// What the model was sent, call after call.
    fn sent(&self) -> Vec<Request> {
        self.server.requests()
    }
}

impl Ran {
    /// The lines for the user.
    fn infos(&self) -> Vec<&str> {
        let infos = self.events.iter().filter_map(|it| {
            let Event::Info(text) = it else { return None };
            Some(text.as_str())
        });
        infos.collect()
    }

    /// Titles and states of the plan.
    fn list(&self) -> Vec<String> {
        let plan = self.ended.plan.as_ref().unwrap();
        let line = |it: &&punchlist_model::Item| format!("{} {}", it.status.as_str(), it.title);
        plan.listed().iter().map(line).collect()
    }
}

fn connect(kind: Kind, url: &str, clock: &Clock, options: ClientOptions) -> Genai {
    let key = KeySource::Variable("TEST_KEY".to_owned());
    let config = ProviderConfig::new("test", kind, Some(&address(kind, url)), key).unwrap();
    let model = ModelName { provider: "test".to_owned(), name: "model-1".to_owned() };
    let clock = clock.clone();
    let surroundings =
        Surroundings { clock: Arc::new(move || clock.now()), jitter: Arc::new(|| 0.5) };
    Genai::new(config, model, Some(Secret::new(CANARY)), options, surroundings).unwrap()
}

/// The program that starts commands. Cargo puts it beside this test's program.
fn guardian() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples/session");
    assert!(program.exists(), "run `cargo build -p punchlist-agent --examples`");
    program
}

fn supervisor() -> SessionSettings {
    SessionSettings::default()
}

fn steps() -> SessionSettings {
    let turn = turn::Options { strategy: turn::Strategy::Steps, ..turn::Options::default() };
    SessionSettings { turn, ..SessionSettings::default() }
}

/// Puts items on the list (supervisor).
fn todos(titles: &[&str]) -> (&'static str, Value) {
    let items: Vec<Value> = titles.iter().map(|it| json!({"title": it})).collect();
    ("create_todo", json!({"items": items}))
}

/// Completes an item (supervisor).
fn complete(item: u32) -> (&'static str, Value) {
    ("complete_todo", json!({"todoId": item.to_string(), "outcome": "done"}))
}

/// Starts the next item (supervisor).
fn next() -> (&'static str, Value) {
    ("next_todo", json!({}))
}

fn shell(command: &str) -> (&'static str, Value) {
    ("shell", json!({"command": command}))
}

fn read(path: &str) -> (&'static str, Value) {
    ("read", json!({"path": path}))
}

/// The texts of the last results, in the order of the calls. Gemini's API wraps them in an object.
fn results(sent: &Request) -> Vec<String> {
    let text = |text: String| match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(fields)) if sent.api == Api::Gemini => {
            fields["content"].as_str().unwrap().to_owned()
        }
        Ok(_) | Err(_) => text,
    };
    sent.results().into_iter().map(|it| text(it.text)).collect()
}

/// Every call has exactly one result, after its answer and before the next answer; every result belongs to
/// a call; the turn's end is recorded last.
fn check_record(entries: &[Recorded]) {
    let mut waiting: Vec<String> = Vec::new();
    let mut all: Vec<String> = Vec::new();
    for it in entries {
        match &it.entry {
            Entry::Answer(answer) => {
                assert_eq!(waiting, Vec::<String>::new(), "calls without a result");
                for call in &answer.message.calls {
                    assert!(!all.contains(&call.id.0), "{} is there twice", call.id);
                    all.push(call.id.0.clone());
                    waiting.push(call.id.0.clone());
                }
            }
            Entry::Result(end) => {
                let at = waiting.iter().position(|id| *id == end.result.call.0);
                let at = at.unwrap_or_else(|| panic!("{} waits for no result", end.result.call));
                waiting.remove(at);
            }
            Entry::Ended { .. } => {
                assert_eq!(waiting, Vec::<String>::new(), "calls without a result");
            }
            Entry::User { .. }
            | Entry::Steering { .. }
            | Entry::Told { .. }
            | Entry::Info { .. }
            | Entry::Summary { .. }
            | Entry::Used { .. } => {}
        }
    }
    assert!(matches!(entries.last().unwrap().entry, Entry::Ended { .. }));
}
