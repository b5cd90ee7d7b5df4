//! Scenarios in files: the example that we ship, and those that do not fit.

use std::path::Path;

use punchlist_agent::provider::{
    Arguments, CallResult, Delta, Failure, Message, ModelAnswer, ModelName, ModelRequest, Provider,
    Scenario, Scripted, ToolSpec,
};
use serde_json::{Value, json};

use super::run;

fn example() -> Scripted {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripted.json");
    let model: ModelName = format!("scripted:{}", path.display()).parse().unwrap();
    Scripted::open(model).unwrap()
}

fn scripted(scenario: Value) -> Scripted {
    let scenario: Scenario = serde_json::from_value(scenario).unwrap();
    Scripted::new("scripted:test.json".parse().unwrap(), scenario)
}

fn request(text: &str) -> ModelRequest {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        schema: json!({"type": "object"}),
    };
    ModelRequest {
        answer_id: "a".to_owned(),
        messages: vec![Message::User(text.to_owned())],
        tools: ["create_todo", "list_todo", "complete_todo"].map(tool).to_vec(),
        ..ModelRequest::default()
    }
}

async fn ask(model: &Scripted, request: &ModelRequest) -> Result<ModelAnswer, Failure> {
    model.call(request, &mut |_| {}).await
}

#[test]
fn the_example_plans_works_and_answers() {
    run(async {
        let model = example();
        assert!(model.is_scripted());
        let mut request = request("Write a release note");
        let mut tools = Vec::new();
        loop {
            let answer = ask(&model, &request).await.unwrap();
            if answer.calls.is_empty() {
                assert!(!answer.text.is_empty());
                break;
            }
            let results = answer.calls.iter().map(|call| {
                assert!(matches!(call.arguments, Arguments::Object(_)), "{call:?}");
                CallResult { call: call.id.clone(), text: "ok".to_owned(), is_error: false }
            });
            let results = results.collect();
            tools.extend(answer.calls.iter().map(|it| it.tool.clone()));
            request.messages.push(answer.into_message(model.model().clone()));
            request.messages.push(Message::Results(results));
        }
        assert_eq!(tools[0], "list_todo");
        assert_eq!(tools.iter().filter(|it| *it == "create_todo").count(), 1);
        assert_eq!(tools.iter().filter(|it| *it == "complete_todo").count(), 3);
    });
}

#[test]
fn a_model_that_pauses_says_its_words_one_by_one() {
    run(async {
        let model = scripted(json!({"answers": [{"text": "one two three", "pause_ms": 1}]}));
        let mut heard = Vec::new();
        let answer = model.call(&request("Count"), &mut |delta| heard.push(delta)).await.unwrap();
        let words = ["one ", "two ", "three"].map(|it| Delta::Text(it.to_owned()));
        assert_eq!((heard.as_slice(), answer.text.as_str()), (&words[..], "one two three"));
    });
}

#[test]
fn what_was_sent_is_compared_with_what_is_expected() {
    run(async {
        let expects = json!({"contains": ["release"], "tools": ["create_todo"]});
        let model = scripted(json!({"answers": [{"expect": expects, "text": "ok"}]}));
        let failure = ask(&model, &request("something else")).await.unwrap_err();
        assert!(failure.message().contains("expects \"release\""), "{failure}");
        let expects = json!({"tools": ["delete_everything"]});
        let model = scripted(json!({"answers": [{"expect": expects}]}));
        let failure = ask(&model, &request("hello")).await.unwrap_err();
        assert!(failure.message().contains("the tool delete_everything"), "{failure}");
    });
}

#[test]
fn a_scenario_fails_as_it_says_and_ends() {
    run(async {
        let until = "2026-03-01T13:00:00Z";
        let model = scripted(json!({"answers": [
            {"text": "half an answer", "failure": "truncated"},
            {"failure": {"usage_limit": until}},
            {"calls": [{"tool": "create_todo", "arguments": "{\"items\": ["}]},
        ]}));
        let mut said = String::new();
        let request = request("hello");
        let mut hear = |it| {
            if let Delta::Text(text) = it {
                said.push_str(&text);
            }
        };
        let truncated = model.call(&request, &mut hear).await;
        assert!(matches!(truncated, Err(Failure::Truncated { .. })));
        assert_eq!(said, "half an answer");
        let limit = ask(&model, &request).await.unwrap_err();
        assert!(
            matches!(limit, Failure::UsageLimit { until: it, .. } if it == until.parse().unwrap())
        );
        let answer = ask(&model, &request).await.unwrap();
        assert_eq!(answer.calls[0].arguments, Arguments::Invalid("{\"items\": [".to_owned()));
        let over = ask(&model, &request).await.unwrap_err();
        assert!(over.message().contains("only 3 answers"), "{over}");
        assert!(!over.is_retryable());
    });
}

#[test]
fn a_resumed_scenario_goes_on_where_it_was() {
    run(async {
        let model = scripted(json!({"answers": [{"text": "one"}, {"text": "two"}]})).skipping(1);
        assert_eq!(ask(&model, &request("hello")).await.unwrap().text, "two");
    });
}

#[test]
fn a_file_that_is_no_scenario() {
    let model: ModelName = "scripted:/nowhere/scenario.json".parse().unwrap();
    let Err(failure) = Scripted::open(model) else { panic!("it was read") };
    assert!(failure.message().starts_with("the scenario /nowhere/scenario.json"), "{failure}");
}
