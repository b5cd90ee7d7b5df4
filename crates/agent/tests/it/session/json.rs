//! A session as unified events: what programs are told of calls, questions and lists.

use punchlist_agent::provider::Kind;
use punchlist_agent::session::{Event, Input, JsonEvents};
use punchlist_engine::Around as _;
use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_model::call::Answer;
use punchlist_sched::Policy;
use punchlist_testkit::model::{Message, Script};
use serde_json::{Value, json};

use super::front_end::Front;
use super::{Ran, Stage, complete, each, one, read, shell, supervisor, todos};

/// The events of a turn as programs read them.
fn lines(stage: &Stage, ran: &Ran) -> Vec<Value> {
    let tools = Dialect::Turn.tools(Surface::Full);
    let tools = tools.iter().map(|it| it.name.to_owned()).collect();
    let mut events = JsonEvents::new(ran.session).with_plan_tools(tools);
    let lines = ran.events.iter().map(|it| events.event(it, stage.clock.now()));
    let text = String::from_utf8(lines.flatten().collect()).unwrap();
    text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|it| it["type"] == kind).collect()
}

#[test]
fn a_plan_tool_gives_only_the_list_and_times_never_go_back() {
    let script = Script::new()
        .calls_all([todos(&["A"]), shell("echo hi")])
        .calls_all([complete(1)])
        .stops("Done.");
    one(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        let lines = lines(&stage, &ran);
        for kind in ["tool.scheduled", "tool.started", "tool.completed"] {
            let names: Vec<&Value> = of_kind(&lines, kind).iter().map(|it| &it["name"]).collect();
            assert_eq!(names, ["shell"], "{kind}");
        }
        assert_eq!(of_kind(&lines, "todo_list").len(), 2);
        let times: Vec<i64> = lines.iter().map(|it| it["timestamp"].as_i64().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
        let began = of_kind(&lines, "turn.started");
        let row = stage.world.place.engine.store().turns(ran.session).await.unwrap().remove(0);
        assert_eq!(began[0]["turnId"], json!(row.id));
    });
}

#[test]
fn an_answer_is_told_with_whoever_gave_it() {
    for (answer, word) in [
        (Answer::Once, "yes, once"),
        (Answer::Refuse(Some("too loud".to_owned())), "refused: too loud"),
    ] {
        let script = Script::new().calls_all([shell("echo hi")]).stops("Done.");
        one(script, |stage| async move {
            let mut stage = stage.attended();
            stage.world.tools.policy = Policy::default();
            let front = Front::default().at(move |it| {
                let Event::Asked { asked, .. } = it else { return None };
                Some(Input::Answer(asked.id, answer.clone()))
            });
            let ran = stage.run_with(supervisor(), front).await;
            let lines = lines(&stage, &ran);
            let [answered] = of_kind(&lines, "tool.answered")[..] else { panic!("{lines:?}") };
            assert_eq!((&answered["answer"], &answered["by"]), (&json!(word), &json!("ann")));
        });
    }
}

#[test]
fn a_call_that_the_user_ended_is_cancelled() {
    let script = Script::new().calls_all([shell("sleep 600")]);
    one(script, |stage| async move {
        let begins = |it: &Event| matches!(it, Event::CallStarted(_));
        let front = Front::default().when(begins, Input::Abort);
        let ran = stage.run_with(supervisor(), front).await;
        let lines = lines(&stage, &ran);
        let [completed] = of_kind(&lines, "tool.completed")[..] else { panic!("{lines:?}") };
        assert_eq!(completed["status"], "cancelled");
    });
}

/// The citations of the texts that have any, with whether the text continues another.
fn cited(lines: &[Value]) -> Vec<(bool, &Value)> {
    let texts = of_kind(lines, "text").into_iter();
    let texts = texts.filter(|it| it.get("citations").is_some());
    texts.map(|it| (it["delta"] == true, &it["citations"])).collect()
}

/// A source as each provider sends it.
fn source(kind: Kind, title: &str, url: &str) -> Value {
    let mut source = json!({"title": title, "url": url});
    if kind == Kind::Anthropic {
        source["quote"] = json!("as the script says");
    }
    source
}

#[test]
fn sources_are_told_with_the_text_that_refers_to_them() {
    let script = || {
        let (tool, path) = read("note.txt");
        let first = Message::new().says("I looked.").cites("A", "https://a.example/");
        let last = Message::new().says("It is so.").cites("B", "https://b.example/").cites("C", "");
        Script::new().turn(first.calls(tool, path)).turn(last)
    };
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        let lines = lines(&stage, &ran);
        let told = cited(&lines);
        if stage.kind == Kind::Ollama {
            return assert_eq!(told, []);
        }
        let first = json!([source(stage.kind, "A", "https://a.example/")]);
        let mut second = source(stage.kind, "C", "");
        second.as_object_mut().unwrap().remove("url");
        let last = json!([source(stage.kind, "B", "https://b.example/"), second]);
        // With each answer as it ends, and with the whole text of the last one.
        assert_eq!(told, [(true, &first), (true, &last), (false, &last)], "{}", stage.kind);
        let whole = of_kind(&lines, "text").into_iter().rfind(|it| it.get("delta").is_none());
        assert_eq!(whole.unwrap()["text"], "It is so.", "{}", stage.kind);
    });
}

#[test]
fn sources_of_a_cut_stream_are_not_told() {
    let script = || {
        let cut = Message::new().says("half").cites("Wrong", "https://wrong.example/").cut();
        let whole = Message::new().says("It is so.").cites("Right", "https://right.example/");
        Script::new().turn(cut).turn(whole)
    };
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.answer, "It is so.", "{}", stage.kind);
        let lines = lines(&stage, &ran);
        assert_eq!(of_kind(&lines, "error").len(), 1, "{}", stage.kind);
        let told = cited(&lines);
        if stage.kind == Kind::Ollama {
            return assert_eq!(told, []);
        }
        let right = json!([source(stage.kind, "Right", "https://right.example/")]);
        assert_eq!(told, [(true, &right), (false, &right)], "{}", stage.kind);
    });
}

#[test]
fn sources_without_end_are_kept_to_a_limit() {
    let script = || {
        let long = "x".repeat(1000);
        let message = (0..500).fold(Message::new().says("So."), |it, _| it.cites(&long, &long));
        Script::new().turn(message)
    };
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.answer, "So.", "{}", stage.kind);
        let size: usize = ran.ended.citations.iter().map(|it| it.title.len() + it.url.len()).sum();
        assert!(size < 256 << 10, "{}: {size}", stage.kind);
        assert_eq!(size > 200 << 10, stage.kind != Kind::Ollama, "{}: {size}", stage.kind);
    });
}
