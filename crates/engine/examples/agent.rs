//! An agent's calls: tools of the plan and of the program, scheduled together, with one question
//! that a person answers from another place.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;

use punchlist_engine::{Answer, Dialect, Engine, Error, SessionKey, System};
use punchlist_model::store::memory::Memory;
use punchlist_sched::{Batch, Run, Tools, tool_fn};
use serde_json::json;

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::open(Arc::new(Memory::default()), System);
    let key = SessionKey { agent: "example".to_owned(), id: "talk-1".to_owned() };
    let talk = engine.conversation(key, Dialect::Turn);
    let deploy = tool_fn("deploy", json!({}), |_, _| async { Ok::<_, String>("deployed") });
    let mut tools = Tools::new().with(deploy)?;
    for tool in talk.as_tools() {
        tools.add(tool)?;
    }
    let ledger = engine.call_ledger("example", None).await?;
    let run = Run::builder(tools).ledger(ledger.clone()).attended().start();
    let (answers, asks) = (ledger.clone(), run.clone());
    tokio::spawn(async move { answers.pass_answers(&asks).await });
    let person = tokio::spawn(says_yes(engine));

    let mut batch = Batch::new();
    let plan = batch.call("create_todo", json!({"items": [{"title": "Deploy"}]}));
    let deploy = batch.call("deploy", json!({})).after([plan]);
    batch.call("complete_todo", json!({"todoId": "1", "outcome": "deployed"})).after([deploy]);
    for outcome in run.schedule(batch).await?.outcomes().await? {
        println!("{}", outcome.for_model());
    }
    person.await??;
    ledger.end().await?;
    Ok(())
}

/// Answers the question. This could be another process: the question is in the store.
async fn says_yes(engine: Engine) -> Result<(), Error> {
    let mut questions = engine.follow_questions().await?;
    if let Some(question) = questions.next().await {
        let asked = question?.asked;
        println!("{} wants to {}: {}", asked.title, asked.what, asked.why);
        engine.answer(asked.id, Answer::Once, "ann").await?;
    }
    Ok(())
}
