//! A session of our own agent in another program. The model is a script, so that the example needs
//! neither a key nor a network.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::future::pending;
use std::path::Path;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_agent::context::ContextOptions;
use punchlist_agent::mcp::Servers;
use punchlist_agent::provider::{ModelName, ModelOptions, Scenario, Scripted};
use punchlist_agent::session::{
    Event, Facts, FrontEnd, Input, Session, SessionModel, SessionPlace, SessionSettings,
    SessionTools, SessionUser, World,
};
use punchlist_agent::tools;
use punchlist_engine::fail::Fail;
use punchlist_engine::{Engine, System};
use punchlist_model::store::memory::Memory;
use punchlist_model::{Actor, Limits, remind};
use punchlist_sched::process::sandbox::InForce;
use punchlist_sched::{Decision, Policy, Processes, Rule, guardian, process};

const REQUEST: &str = "Say how many lines the list has.";

const SCENARIO: &str = r#"{"answers": [
    {"calls": [{"tool": "create_todo", "arguments": {"items": [{"title": "Count the lines"}]}}]},
    {"calls": [{"tool": "shell", "arguments": {"command": "wc -l list.txt"}}]},
    {"calls": [{"tool": "complete_todo", "arguments": {"todoId": "1", "outcome": "two"}}]},
    {"text": "The list has two lines."}
]}"#;

/// Runs the example.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // The commands of the model run under a guardian, which is this program again.
    guardian::enter_if_called();
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("list.txt"), "one\ntwo\n")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let world = world(directory.path())?;
        let mut session = Session::create(world, SessionSettings::default(), REQUEST).await?;
        session.request(REQUEST, &mut Screen).await?;
        Ok(session.close().await?)
    })
}

fn world(directory: &Path) -> Result<World, Box<dyn Error>> {
    let model = ModelName { provider: "scripted".to_owned(), name: "example".to_owned() };
    let scenario: Scenario = serde_json::from_str(SCENARIO)?;
    let environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
    let root = directory.to_owned();
    Ok(World {
        model: SessionModel {
            provider: Arc::new(Scripted::new(model, scenario)),
            price: None,
            options: ModelOptions::default(),
            connect: Arc::new(|name| Err(Fail::usage(format!("there is no model {name}")))),
            reminders: remind::Policy::default(),
            context: ContextOptions::default(),
            facts: Facts::default(),
        },
        tools: SessionTools {
            all: tools::all(tools::Options {
                root,
                environment,
                guarded: Vec::new(),
                sandbox: InForce::Off("not needed here".to_owned()),
                shell_timeout: tools::ShellTimeout::default(),
            })?,
            turn_tools: Arc::new(|_, _| Vec::new()),
            servers: Arc::new(Servers::none()),
            policy: Policy::new(vec![Rule::tool(Decision::Allow, "shell")], Vec::new()),
            processes: Processes::new(process::Options::this_program()?),
            outputs: directory.join("outputs"),
            rules_file: directory.join("rules.toml"),
        },
        place: SessionPlace {
            engine: Engine::open(Arc::new(Memory::default()), System),
            around: Arc::new(System),
            project: directory.display().to_string(),
            directory: directory.to_owned(),
            process: None,
            limits: Limits::default(),
        },
        user: SessionUser { person: Actor::person("somebody"), asks_as: None, is_attended: false },
    })
}

/// Prints what happens, and wants nothing.
struct Screen;

impl FrontEnd for Screen {
    fn event(&mut self, event: Event) {
        if let Event::CallEnded { call, text, .. } = &event {
            println!("{}: {text}", call.tool);
        }
        if let Event::Ended(ended) = &event {
            println!("{}", ended.answer);
        }
    }

    fn input(&mut self) -> BoxFuture<'_, Input> {
        Box::pin(pending())
    }
}
