//! Delegation: an agent gives an item of its plan to a worker, here a command line.
//!
//! Run it with `cargo run -p punchlist-agent --example delegate -- 'echo done'`. Tests run it too, and
//! use it as the guardian of their processes.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::sync::Arc;

use jiff::tz::TimeZone;
use punchlist_agent::workers::acp::RefuseAll;
use punchlist_agent::workers::delegate::Delegate;
use punchlist_agent::workers::model::NoModels;
use punchlist_agent::workers::{ProgramEnvironment, WorkerConfig, WorkerOptions, Workers};
use punchlist_engine::{Around as _, Engine, System, item};
use punchlist_model::store::memory::Memory;
use punchlist_sched::{Batch, Decision, Policy, Processes, Rule, Run, Tools, guardian};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    // Workers run under a guardian, a second process of this program. If this process is the
    // guardian, the call runs it and does not return.
    guardian::enter_if_called();
    work()
}

#[tokio::main(flavor = "current_thread")]
async fn work() -> Result<(), Box<dyn Error>> {
    let line = std::env::args().nth(1).unwrap_or_else(|| "echo done".to_owned());
    let config = WorkerConfig::read("builder", &json!({"kind": "shell", "command": line}))?;
    let directory = std::env::current_dir()?;
    let options = WorkerOptions {
        root: directory.clone(),
        environment: ProgramEnvironment {
            variables: vec![("PATH".into(), "/usr/bin:/bin".into())],
            ..ProgramEnvironment::default()
        },
        worktrees: None,
        models: Arc::new(NoModels),
        approver: Arc::new(RefuseAll),
        clock: Arc::new(|| System.now()),
        time_zone: TimeZone::UTC,
    };
    let engine = Engine::open(Arc::new(Memory::default()), System);
    let plan = engine.create("Ship it").await?;
    plan.by("supervisor").add([item("Build it")]).await?;
    let workers = Workers::new([config], options);
    let delegate = Delegate::new(workers, Arc::new(plan.clone()), "supervisor", directory);
    let mut tools = Tools::new();
    tools.add(Arc::new(delegate))?;
    // A worker is started only if a rule or a person allows it.
    let policy = Policy::new(vec![Rule::tool(Decision::Allow, "delegate")], Vec::new());
    let run = Run::builder(tools).policy(policy).processes(Processes::guarded()?).start();
    let mut batch = Batch::new();
    let arguments = json!({"todoId": 1, "agentType": "builder", "task": "Build it."});
    batch.call("delegate", arguments);
    for outcome in run.schedule(batch).await?.outcomes().await? {
        println!("{}", outcome.for_model().trim_end());
    }
    let whole = plan.whole().await?;
    for item in whole.listed() {
        println!("{} {}", item.status.as_str(), item.title);
    }
    Ok(())
}
