//! What is built from a record reaches every kind of provider in its own format.

use punchlist_agent::context::{Context, ContextOptions, SystemFacts, build};
use punchlist_agent::provider::{
    Assistant, CallResult, Message, ModelAnswer, ModelRequest, Provider,
};
use punchlist_agent::session::{self, Entry, Recorded};
use punchlist_agent::turn::{Ask, Offered, Purpose, Strategy};
use punchlist_testkit::model::Script;
use serde_json::json;

use super::{Case, asking, each, now};

fn script() -> Script {
    let calls = [("read", json!({"path": "a"})), ("write", json!({"path": "b"}))];
    Script::new().calls_all(calls).stops("Done.")
}

fn recorded(entries: Vec<Entry>) -> Vec<Recorded> {
    let numbered = entries.into_iter().zip(1..);
    numbered.map(|(entry, number)| Recorded { number, turn: 1, at: now(), entry }).collect()
}

/// The call that a record leads to.
fn request(turn: &[Recorded], purpose: Purpose, tools: Offered) -> ModelRequest {
    let context = Context {
        ask: &Ask { purpose, tools },
        strategy: Strategy::Steps,
        system: &SystemFacts { plan_tool: "todo_manager", ..SystemFacts::default() },
        earlier: &[],
        turn,
        request: "Copy a to b.",
        list: Some(r#"<todos><todo id="1" status="doing">Copy</todo></todos>"#),
        list_changed: true,
        in_progress: None,
        options: &ContextOptions::default(),
    };
    let built = build(&context);
    let asked = asking("");
    let tools = if tools == Offered::Nothing { Vec::new() } else { asked.tools.clone() };
    let (system, messages, uncached) = (built.system, built.messages, built.uncached);
    ModelRequest { system, messages, uncached, tools, ..asked }
}

fn answer(case: &Case, answer: ModelAnswer) -> Entry {
    let ModelAnswer { stop, citations, usage, .. } = answer.clone();
    let Message::Assistant(message) = answer.into_message(case.provider.model().clone()) else {
        panic!("an answer is the model's")
    };
    let purpose = Purpose::Item(punchlist_model::Number(1));
    Entry::Answer(session::Answer { purpose, message, stop, citations, usage })
}

fn result(said: &Assistant, call: usize) -> Entry {
    let call = said.calls[call].id.clone();
    let result = CallResult { text: format!("result of {call}"), call, is_error: false };
    Entry::Result(session::CallEnd { result, whole: None })
}

#[test]
fn request_list_calls_and_results_reach_every_provider() {
    each(script, |case| async move {
        let purpose = Purpose::Item(punchlist_model::Number(1));
        let mut entries = vec![Entry::User { text: "Copy a to b.".to_owned() }];
        let turn = recorded(entries.clone());
        let first = case.answer(&request(&turn, purpose, Offered::Everything)).await;
        let called = answer(&case, first);
        let Entry::Answer(session::Answer { message: said, .. }) = &called else { panic!() };
        // The second call was cut off by a crash, and the user said something meanwhile.
        let steering = Entry::Steering { text: "Keep a.".to_owned() };
        entries.extend([called.clone(), steering, result(said, 0)]);
        let turn = recorded(entries.clone());
        let second = case.answer(&request(&turn, purpose, Offered::Everything)).await;
        let sent = &case.server.requests()[1];
        let texts: String = sent.results().into_iter().map(|it| it.text).collect();
        assert!(texts.contains("result of a1-1"), "{}: {texts}", case.kind);
        assert!(texts.contains("may have happened; check first"), "{}: {texts}", case.kind);
        let news = sent.news();
        for wanted in
            ["Keep a.", "The request of this turn:\nCopy a to b.", "TODO list (as of now):"]
        {
            assert!(news.contains(wanted), "{}: {news}", case.kind);
        }
        entries.push(answer(&case, second));
        let turn = recorded(entries);
        case.answer(&request(&turn, Purpose::Validate, Offered::Nothing)).await;
        // The server takes a request without tools for an aside.
        let sent = &case.server.asides()[0];
        assert!(sent.tools().is_empty() && sent.results().is_empty(), "{}", case.kind);
        let text = sent.text();
        for wanted in
            ["(Called read with", "result of a1-1", "Done.", "\"isComplete\"", "TODO list"]
        {
            assert!(text.contains(wanted), "{}: {text}", case.kind);
        }
    });
}
