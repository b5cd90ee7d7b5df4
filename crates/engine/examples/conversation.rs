//! A conversation: tools, results, reminders and the stop governor, for any model loop.
//!
//! The model here is a script, so that the example needs neither a key nor a network.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::collections::VecDeque;
use std::sync::Arc;

use punchlist_engine::{Api, Dialect, Engine, Error, SessionKey, Stop, System};
use punchlist_model::store::memory::Memory;
use serde_json::{Value, json};

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Error> {
    let engine = Engine::open(Arc::new(Memory::default()), System);
    let key = SessionKey { agent: "example".to_owned(), id: "talk-1".to_owned() };
    let talk = engine.conversation(key, Dialect::Turn);
    let mut model = Scripted::new();
    let tools = talk.tools().iter().map(|it| it.for_api(Api::Anthropic)).collect();
    model.is_offered(tools, talk.system());
    model.reads(talk.prompted().await?);
    loop {
        let answer = model.next();
        for (name, arguments) in &answer.calls {
            model.reads([talk.call(name, arguments).await?.text]);
        }
        model.reads(talk.turn_ended(answer.worked).await?);
        if answer.calls.is_empty() {
            match talk.may_end(Some(answer.text)).await? {
                Stop::Refused(why) => model.reads([why]),
                Stop::Allowed => break,
            }
        }
    }
    Ok(())
}

/// A model that answers from a script and prints what it reads.
struct Scripted {
    answers: VecDeque<Answer>,
}

struct Answer {
    text: &'static str,
    calls: Vec<(&'static str, Value)>,
    /// Whether the model called tools other than the plan's.
    worked: bool,
}

impl Scripted {
    fn new() -> Self {
        let says = |text| Answer { text, calls: Vec::new(), worked: false };
        let calls =
            |name, arguments| Answer { text: "", calls: vec![(name, arguments)], worked: false };
        let items = json!({"items": [{"title": "Parse"}, {"title": "Test"}]});
        let done = |id, outcome| json!({"todoId": id, "outcome": outcome});
        let answers = [
            calls("create_todo", items),
            calls("complete_todo", done("1", "it parses")),
            // Too early: one item is open.
            says("All done."),
            calls("complete_todo", done("2", "all tests pass")),
            says("All done."),
        ];
        Self { answers: answers.into() }
    }

    fn is_offered(&self, tools: Vec<Value>, system: &str) {
        let names: Vec<&str> = tools.iter().filter_map(|it| it["name"].as_str()).collect();
        println!("tools: {}; system prompt: {} characters", names.join(", "), system.len());
    }

    fn reads(&self, texts: impl IntoIterator<Item = String>) {
        for text in texts {
            println!("model reads: {text}");
        }
    }

    fn next(&mut self) -> Answer {
        let answer = self.answers.pop_front();
        let answer = answer.unwrap_or(Answer { text: "", calls: Vec::new(), worked: false });
        match answer.calls.first() {
            Some((name, _)) => println!("model calls: {name}"),
            None => println!("model says: {}", answer.text),
        }
        answer
    }
}
