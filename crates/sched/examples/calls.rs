//! Scheduled calls: dependencies, an approval that comes from elsewhere, live output, cancellation.
//!
//! Run it with `cargo run -p punchlist-sched --example calls`. A test runs it too.

use std::error::Error;
use std::io::{Write as _, stdout};

use punchlist_sched::call::Ended;
use punchlist_sched::output::{Line, Stream};
use punchlist_sched::{
    Answer, Batch, Command, Decision, Output, Policy, Processes, Rule, Run, Tools, Work, guardian,
    tool_fn,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    // Commands run under a guardian: this program, started a second time, which becomes the
    // guardian here.
    guardian::enter_if_called();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work())
}

async fn work() -> Result<(), Box<dyn Error>> {
    let policy = Policy::new(vec![Rule::tool(Decision::Allow, "serve")], Vec::new());
    let run =
        Run::builder(tools()?).policy(policy).attended().processes(Processes::guarded()?).start();

    // Anybody who has the run can answer questions. Here, a task says yes to everything.
    let asks = run.clone();
    tokio::spawn(async move {
        while let Some(question) = asks.question().await {
            drop(writeln!(stdout(), "asked: {}: {}", question.what, question.why));
            question.answer(Answer::Once).await.ok();
        }
    });

    let mut batch = Batch::new();
    let fetch = batch.call("fetch", json!({}));
    let build = batch.call("shell", json!({"command": "echo building; echo built"})).after([fetch]);
    let serve = batch.call("serve", json!({})).after([build]);
    let going = run.schedule(batch).await?;
    let (ready, mut is_ready) = tokio::sync::mpsc::unbounded_channel();
    going.on_output(move |call, line| {
        drop(writeln!(stdout(), "{call}: {line}"));
        if line.text == "serving" {
            ready.send(()).ok();
        }
    });
    tokio::select! {
        _ = is_ready.recv() => going.cancel(serve, "enough").await?,
        _ = going.outcomes() => {}
    }
    for outcome in going.outcomes().await? {
        writeln!(stdout(), "{}", outcome.for_model().trim_end())?;
    }
    Ok(())
}

/// Three tools, each a function.
fn tools() -> Result<Tools, Box<dyn Error>> {
    let command = json!({
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    });
    let fetch = tool_fn("fetch", json!({}), |_, _| async {
        Ok(Output::text("3 files").with_data(json!({"files": 3})))
    });
    Ok(Tools::new()
        .with(fetch.describe("Fetches what is to be built.").harmless())?
        .with(tool_fn("shell", command, shell).describe("Runs a command."))?
        .with(tool_fn("serve", json!({}), serve).describe("Serves until it is stopped."))?)
}

async fn shell(arguments: Value, work: Work) -> Ended {
    let line = arguments["command"].as_str().unwrap_or_default();
    match work.run(Command::shell(line, "/")).await {
        Ok(finished) => finished.ended(),
        Err(why) => Err::<Output, _>(why.to_string()).into(),
    }
}

/// A call that is stopped returns the output it has.
async fn serve(_arguments: Value, work: Work) -> Ended {
    work.say(Line { stream: Stream::Out, text: "serving".to_owned() });
    work.stopping().await;
    Ended::Badly { what: "stopped".to_owned(), output: Output::text("served 1 request") }
}
