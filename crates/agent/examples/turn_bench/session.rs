//! A session with one turn, and the time of each of its model calls.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use punchlist_agent::context::ContextOptions;
use punchlist_agent::mcp::{self, Lookup};
use punchlist_agent::provider::{
    ClientOptions, Failure, Genai, KeySource, Kind, ModelAnswer, ModelName, ModelOptions,
    ModelRequest, OnDelta, Provider, ProviderConfig, Surroundings,
};
use punchlist_agent::session::{
    Event, Facts, FrontEnd, Input, Session, SessionModel, SessionPlace, SessionSettings,
    SessionTools, SessionUser, World,
};
use punchlist_agent::turn::{self, CallLimits, Ending};
use punchlist_engine::fail::Fail;
use punchlist_engine::{Around as _, Engine, System};
use punchlist_model::session::Store;
use punchlist_model::{Actor, Limits};
use punchlist_sched::policy::Policy;
use punchlist_sched::{Output, Processes, Tool, tool_fn};
use serde_json::json;

use super::Outcome;
use super::server::Server;

/// The model's context window in tokens. It is full within the first tenth of a thousand calls, so that
/// all later calls send about as much.
const CONTEXT: u64 = 24_000;

/// What came of a session.
pub(super) struct Ran {
    /// From the beginning of each model call to the beginning of the next.
    pub(super) times: Vec<Duration>,
    /// What was sent, if that was asked for.
    pub(super) requests: Vec<ModelRequest>,
}

/// Runs a session with one turn.
pub(super) async fn run(
    server: &Server,
    store: Arc<dyn Store>,
    directory: &Path,
    calls: usize,
    is_recorded: bool,
) -> Outcome<Ran> {
    server.rewind();
    let inner = provider(server)?;
    let noted = Arc::new(Noted { inner, is_recorded, notes: Mutex::default() });
    let most = u32::try_from(calls)?.saturating_add(10);
    let settings = SessionSettings {
        model: noted.model().to_string(),
        turn: turn::Options {
            calls: CallLimits { first: most, more: 10, most },
            ..turn::Options::default()
        },
        ..SessionSettings::default()
    };
    let world = world(store, Arc::clone(&noted) as Arc<dyn Provider>, directory);
    let mut session = Session::create(world, settings, "Look after it").await.map_err(text)?;
    let ended = session.request("Look after every part.", &mut Nobody).await.map_err(text)?;
    let end = Instant::now();
    session.close().await.map_err(text)?;
    if ended.ending != Ending::Answered {
        return Err(format!("the turn ended as {:?}: {}", ended.ending, ended.answer).into());
    }
    let notes = std::mem::take(&mut *noted.notes.lock().unwrap_or_else(PoisonError::into_inner));
    let ends = notes.begins.iter().skip(1).chain([&end]);
    let times = notes.begins.iter().zip(ends).map(|(begin, end)| end.duration_since(*begin));
    Ok(Ran { times: times.collect(), requests: notes.requests })
}

/// The provider client.
pub(super) fn provider(server: &Server) -> Result<Genai, Failure> {
    let config =
        ProviderConfig::new("bench", Kind::OpenAiChat, Some(&server.url()), KeySource::None)?;
    let model = ModelName { provider: "bench".to_owned(), name: "model".to_owned() };
    let surroundings = Surroundings { clock: Arc::new(|| System.now()), jitter: Arc::new(|| 0.5) };
    Genai::new(config, model, None, ClientOptions::default(), surroundings)
}

/// A session's surroundings, with one tool besides those of the plan.
fn world(store: Arc<dyn Store>, provider: Arc<dyn Provider>, directory: &Path) -> World {
    let lookup = Lookup {
        variable: Arc::new(|_| None),
        command: Arc::new(|_| Err("there are no commands".to_owned())),
    };
    let options = mcp::Options::new(directory.to_owned(), Processes::none(), lookup);
    World {
        model: SessionModel {
            provider,
            connect: Arc::new(|_| Err(Fail::usage("there are no other models"))),
            price: None,
            options: ModelOptions::default(),
            reminders: punchlist_model::remind::Policy::default(),
            context: ContextOptions { context_tokens: CONTEXT, ..ContextOptions::default() },
            facts: Facts {
                directory: "/project".to_owned(),
                operating_system: "linux".to_owned(),
                date: "2026-03-01".to_owned(),
                ..Facts::default()
            },
        },
        tools: SessionTools {
            all: vec![look()],
            servers: Arc::new(mcp::connect(Vec::new(), options)),
            turn_tools: Arc::new(|_, _| Vec::new()),
            policy: Policy::new(Vec::new(), Vec::new()),
            processes: Processes::none(),
            outputs: directory.join("outputs"),
            rules_file: directory.join("config.toml"),
        },
        place: SessionPlace {
            engine: Engine::open(store, System),
            around: Arc::new(System),
            project: "bench".to_owned(),
            directory: directory.to_owned(),
            process: None,
            limits: Limits::default(),
        },
        user: SessionUser { person: Actor::person("nobody"), asks_as: None, is_attended: false },
    }
}

/// A tool that returns a text at once.
fn look() -> Arc<dyn Tool> {
    let schema = json!({"type": "object", "properties": {"at": {"type": "integer"}}});
    let text = "A line of a file, as long as such lines are.\n".repeat(15);
    let run = move |_, _| {
        let text = text.clone();
        async move { Ok::<Output, String>(Output::text(text)) }
    };
    Arc::new(tool_fn("look", schema, run).describe("Looks at something.").harmless())
}

fn text(fail: Fail) -> String {
    fail.message
}

/// Notes when each call begins, and what it sends.
struct Noted {
    inner: Genai,
    is_recorded: bool,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    begins: Vec<Instant>,
    requests: Vec<ModelRequest>,
}

impl Provider for Noted {
    fn model(&self) -> &ModelName {
        self.inner.model()
    }

    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut OnDelta<'_>,
    ) -> BoxFuture<'a, Result<ModelAnswer, Failure>> {
        {
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.begins.push(Instant::now());
            if self.is_recorded {
                notes.requests.push(request.clone());
            }
        }
        self.inner.call(request, on_delta)
    }
}

/// A front end without anybody before it.
struct Nobody;

impl FrontEnd for Nobody {
    fn event(&mut self, _event: Event) {}

    fn input(&mut self) -> BoxFuture<'_, Input> {
        Box::pin(std::future::pending())
    }
}
