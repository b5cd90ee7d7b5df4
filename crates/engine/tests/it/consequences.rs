//! What a program with its own agent can rely on: one test for each of the ten promises of the API.

use std::sync::Arc;

use punchlist_engine::view::{self, Line, list};
use punchlist_engine::{
    Answer, Api, Dialect, Engine, Options, SessionKey, Stop, System, Which, item,
};
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::memory::Memory;
use punchlist_model::{
    Check, Ctx, IdSource, Level, NewItem, Number, Op, Origin, Plan, Slice, Timestamp, decide,
};
use punchlist_sched::call::Ended;
use punchlist_sched::process::{self, Processes};
use punchlist_sched::{
    Batch, CancelReason, Decision, Outcome, Output, Policy, Rule, Run, Tools, Work, tool_fn,
};
use serde_json::{Value, json};

fn engine() -> Engine {
    Engine::open(Arc::new(Memory::default()), System)
}

fn key(id: &str) -> SessionKey {
    SessionKey { agent: "example".to_owned(), id: id.to_owned() }
}

#[tokio::test]
async fn promise_1_a_conversation_attaches_reminds_and_governs() {
    let engine = engine();
    let talk = engine.conversation(key("a"), Dialect::Turn);
    talk.prompted().await.unwrap();
    let made = talk.call("create_todo", &json!({"items": [{"title": "Dig"}]})).await.unwrap();
    assert!(made.changed && !made.is_error, "{}", made.text);
    assert!(matches!(talk.may_end(None).await.unwrap(), Stop::Refused(why) if why.contains("Dig")));
    // The same key continues with the same plan.
    let again = engine.conversation(key("a"), Dialect::Tasks);
    let listed = again.call("TaskList", &json!({})).await.unwrap();
    assert_eq!(listed.text, "#1 [pending] Dig");
}

#[tokio::test]
async fn promise_2_a_slice_is_no_plan_and_views_take_plans() {
    let engine = engine();
    let plan = engine.create("Ship it").await.unwrap();
    plan.by("ann").add([item("Dig"), item("Pour")]).await.unwrap();
    let (store, id) = (engine.store(), plan.id());
    let slice: Slice = store.read(id, Needs::header()).await.unwrap();
    assert_eq!((slice.open, slice.items.len(), slice.is_whole()), (2, 0, false));
    assert_eq!(slice.clone().whole(), None);
    // A decision can be made on either.
    let whole: Plan = store.whole(id).await.unwrap();
    let ops = [Op::Next];
    let ctx = ctx("ann");
    let needed = store.read(id, Needs::of(&ops)).await.unwrap();
    assert_eq!(decide(&needed, &ops, &ctx), decide(&whole, &ops, &ctx));
    // This would not compile with a slice.
    let draw: fn(&Plan, &view::Options) -> Vec<Line> = list::list;
    assert!(draw(&whole, &view::Options::plain(whole.updated_at)).len() > 2);
}

fn ctx(worker: &str) -> Ctx {
    let now = Timestamp::UNIX_EPOCH;
    Ctx::new(worker, now, IdSource::fixed(now, 1))
}

#[tokio::test]
async fn promise_3_questions_are_listed_also_for_whoever_comes_late() {
    let engine = engine();
    let deploy = tool_fn("deploy", json!({}), |_, work: Work| async move {
        Ok::<_, String>(work.approved_by().map(|it| it.name.clone()).unwrap_or_default())
    });
    let ledger = engine.call_ledger("nightly", None).await.unwrap();
    let tools = Tools::new().with(deploy).unwrap();
    let run = Run::builder(tools).ledger(ledger.clone()).attended().start();
    let mut batch = Batch::new();
    batch.call("deploy", json!({}));
    let going = run.schedule(batch).await.unwrap();
    run.question().await.unwrap();
    // The question was asked long before anybody read it.
    let asked = engine.questions().await.unwrap().remove(0).asked;
    assert_eq!((asked.title.as_str(), asked.tool.as_str()), ("nightly", "deploy"));
    let late = engine.follow_questions().await.unwrap().next().await.unwrap().unwrap();
    assert_eq!(late.asked, asked);
    // The answer was given before it was passed on.
    engine.answer(asked.id, Answer::Once, "ann").await.unwrap();
    assert_eq!(engine.questions().await.unwrap(), []);
    let (answers, asks) = (ledger.clone(), run.clone());
    tokio::spawn(async move { answers.pass_answers(&asks).await });
    let outcomes = going.outcomes().await.unwrap();
    assert_eq!(outcomes[0].for_model(), "ann");
    ledger.end().await.unwrap();
    let story = engine.store().story(ledger.run()).await.unwrap();
    assert_eq!(story.last().map(|it| it.state.as_str()), Some("success"));
}

#[tokio::test]
async fn promise_4_a_person_approves_and_an_agent_does_not() {
    let engine = engine();
    let plan = engine.create("Ship it").await.unwrap();
    plan.by("worker").add([item("Dig"), item("Pour").check("true")]).await.unwrap();
    let refused = plan.by("worker").approve(Number(1)).await.unwrap_err().to_string();
    assert!(refused.contains("cannot be approved by an agent"), "{refused}");
    engine.approve(plan.id(), Number(1), "ann").await.unwrap();
    let level = plan.whole().await.unwrap().get(Number(1)).unwrap().evidence_level();
    assert_eq!(level, Some(Level::Approved));
    // Checks only run in directories; `examples/plan.rs` has one that runs.
    let refused = engine.verify(plan.id(), Number(2)).await.unwrap_err();
    assert!(refused.message.contains("is not on this machine"), "{refused}");
    let refused = engine.verify(plan.id(), Number(1)).await.unwrap_err();
    assert!(refused.message.contains("has no check"), "{refused}");
}

#[tokio::test]
async fn promise_4_a_check_of_an_agent_needs_a_rule_and_consent() {
    let allowed = Policy::new(vec![Rule::tool(Decision::Allow, "verify")], Vec::new());
    for (policy, why) in
        [(Policy::default(), "no rule of yours allows"), (allowed, "no person has consented")]
    {
        let options = Options { policy, ..Options::default() };
        let engine = Engine::with(Arc::new(Memory::default()), System, options);
        let plan = engine.create("Ship it").await.unwrap();
        let (command, covers) = ("true".to_owned(), Vec::new());
        let check = Some(Check { command, covers, origin: Origin::Agent });
        let dig = NewItem { check, ..NewItem::titled("Dig") };
        plan.by("worker").change(vec![Op::Add(Box::new(dig))]).await.unwrap();
        let refused = engine.verify(plan.id(), Number(1)).await.unwrap_err();
        assert!(refused.message.contains(why), "{refused}");
    }
}

#[tokio::test]
async fn promise_5_a_program_without_the_guardians_line_is_told_so() {
    let command = || process::Command::new("/bin/true", "/");
    let error = Processes::guarded().unwrap().spawn(command()).await.err().unwrap();
    assert!(error.to_string().contains("`guardian::enter_if_called()`"), "{error}");
    assert_eq!(Processes::none().spawn(command()).await.err(), Some(process::Error::NotHere));
}

#[test]
fn promise_6_everything_is_made_from_few_words() {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let _engine = Engine::with(store, System, Options::default());
    let options = punchlist_store::Options::new("plans.db");
    assert_eq!(options.durability, punchlist_store::Durability::Full);
    let ctx = ctx("worker-1");
    assert_eq!((ctx.actor.name.as_str(), ctx.holder.name.as_str()), ("worker-1", "worker-1"));
    let _run = punchlist_sched::Options::default();
}

#[tokio::test]
async fn promise_7_a_cancelled_call_keeps_what_it_printed() {
    let said = Arc::new(tokio::sync::Notify::new());
    let begun = Arc::clone(&said);
    let serve = tool_fn("serve", json!({}), move |_, work: Work| {
        begun.notify_one();
        async move {
            work.stopping().await;
            Ended::Badly { what: "stopped".to_owned(), output: Output::text("served 1 request") }
        }
    });
    let run = Run::builder(Tools::new().with(serve.harmless()).unwrap()).start();
    let mut batch = Batch::new();
    let serve = batch.call("serve", json!({}));
    let going = run.schedule(batch).await.unwrap();
    said.notified().await;
    going.cancel(serve, "enough").await.unwrap();
    let outcome = going.outcomes().await.unwrap().remove(0);
    assert!(
        matches!(&outcome, Outcome::Cancelled { reason: CancelReason::Asked(_), .. }),
        "{outcome:?}"
    );
    assert_eq!(outcome.for_model(), "Cancelled: enough\nserved 1 request");
}

#[tokio::test]
async fn promise_8_the_plans_tools_run_beside_a_programs_own() {
    let engine = engine();
    let talk = engine.conversation(key("a"), Dialect::Turn);
    let greet = tool_fn("greet", json!({"type": "object"}), |arguments: Value, _| async move {
        Ok::<_, String>(format!("hello {}", arguments["name"].as_str().unwrap_or_default()))
    });
    let mut tools = Tools::new().with(greet.harmless()).unwrap();
    for tool in talk.as_tools() {
        tools.add(tool).unwrap();
    }
    let run = Run::builder(tools).start();
    let mut batch = Batch::new();
    batch.call("create_todo", json!({"items": [{"title": "Dig"}]}));
    // It waits for the call before it, because both are about the same plan.
    batch.call("complete_todo", json!({"todoId": "1", "outcome": "dug"}));
    batch.call("complete_todo", json!({"todoId": "7", "outcome": "dug"}));
    batch.call("greet", json!({"name": "ann"}));
    let outcomes = run.schedule(batch).await.unwrap().outcomes().await.unwrap();
    let said: Vec<String> = outcomes.iter().map(Outcome::for_model).collect();
    assert!(said[1].contains(r#""status":"completed""#), "{said:?}");
    assert!(said[2].starts_with("Error: "), "{said:?}");
    assert_eq!(said[3], "hello ann");
    for spec in talk.tools() {
        assert_eq!(spec.for_api(Api::Anthropic)["input_schema"], spec.input_schema);
        assert_eq!(spec.for_api(Api::OpenAi)["parameters"], spec.input_schema);
        assert_eq!(spec.for_api(Api::OpenAiChat)["function"]["name"], spec.name);
        assert_eq!(spec.for_api(Api::Gemini)["parametersJsonSchema"], spec.input_schema);
    }
}

#[tokio::test]
async fn promise_9_a_plan_is_chosen_by_name_conversation_or_project() {
    let engine = engine();
    let named = engine.create_named("Ship it", "release").await.unwrap();
    let found = engine.plan(Which::Named("release".to_owned())).await.unwrap().unwrap();
    assert_eq!(found.id(), named.id());
    assert!(engine.plan(Which::Project).await.unwrap().is_none());
    let talk = engine.conversation(key("a"), Dialect::Turn);
    talk.call("create_todo", &json!({"items": [{"title": "Dig"}]})).await.unwrap();
    let session = engine.store().session(key("a")).await.unwrap().unwrap();
    let own = engine.plan(Which::Attached(session.attachment())).await.unwrap().unwrap();
    assert_ne!(own.id(), named.id());
    let same = engine.plan(Which::Id(own.id())).await.unwrap().unwrap();
    assert_eq!(same.whole().await.unwrap().title, "Dig");
}

#[test]
fn promise_10_the_readmes_say_what_a_builder_must_know() {
    let engine = include_str!("../../README.md");
    for what in
        ["dropped", "A blocked item", "## Defaults", "The order of calls", "Who may approve"]
    {
        assert!(engine.contains(what), "the engine's README does not say {what:?}");
    }
    for (name, readme) in [
        ("model", include_str!("../../../model/README.md")),
        ("store", include_str!("../../../store/README.md")),
        ("sched", include_str!("../../../sched/README.md")),
    ] {
        for what in ["efault", "Who may approve"] {
            assert!(readme.contains(what), "the README of {name} does not say {what:?}");
        }
    }
    assert!(include_str!("../../../store/README.md").contains("dropped"));
}
