//! Erasing texts for a person.

use punchlist_model::call::{
    Answer, Answered, Asked, CallRecord, CallState, NewMessage, QuestionFilter, RunFilter,
    RunRecord,
};
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::{Error, Kind, NewPlan};
use punchlist_model::{Actor, Number, Op, Patch};
use serde_json::json;

use super::World;
use crate::support::{
    Desk, add, asked, at, call, ctx, done, key, message_id, new_plan, plan_id, question_id, run,
    run_id, wait,
};

fn desk(world: &World) -> Desk {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("secret one"), add("plain")]);
    let patch = Patch {
        context: Some("secret two".to_owned()),
        owner: Some(Some("secret three".to_owned())),
        ..Patch::default()
    };
    desk.must(vec![Op::Edit { item: Number(1).into(), patch: Box::new(patch) }]);
    desk.must(vec![done(1)]);
    desk
}

pub(crate) fn one_items_texts_go_from_rows_and_journal(world: &World) {
    let desk = desk(world);
    let applied = wait(desk.store.forget(desk.plan, Some(Number(1).into()), desk.ctx())).unwrap();
    assert_eq!(applied.items()[0].title, "[forgotten]");
    let plan = desk.whole();
    assert_eq!(desk.list(), "1:[forgotten] completed, 2:plain pending");
    assert_eq!(plan.get(Number(1)).unwrap().context, "");
    let journal = desk.journal();
    assert_eq!(journal.last().unwrap().kind, Kind::Forget);
    let text = serde_json::to_string(&journal).unwrap();
    assert!(!text.contains("secret") && text.contains("plain"), "{text}");
}

pub(crate) fn the_whole_plans_texts_go_and_its_skeleton_stays(world: &World) {
    let desk = desk(world);
    wait(desk.store.forget(desk.plan, None, desk.ctx())).unwrap();
    let plan = desk.whole();
    assert_eq!(plan.title, "[forgotten]");
    assert_eq!(desk.list(), "1:[forgotten] completed, 2:[forgotten] cancelled");
    let text = serde_json::to_string(&desk.journal()).unwrap();
    assert!(!text.contains("secret") && !text.contains("plain"), "{text}");
    assert_eq!((plan.placed, plan.open), plan.recount());
}

pub(crate) fn an_unknown_item_is_refused(world: &World) {
    let desk = desk(world);
    let before = desk.whole();
    let unknown = wait(desk.store.forget(desk.plan, Some(Number(9).into()), desk.ctx()));
    assert!(matches!(unknown, Err(Error::Refused(refusal)) if refusal.is_not_found()));
    assert_eq!(desk.whole(), before);
}

pub(crate) fn a_forgotten_name_is_free_again(world: &World) {
    let store = world.handle();
    let named = |n| NewPlan { name: Some("secret".to_owned()), ..new_plan(n) };
    wait(store.create(named(1))).unwrap();
    wait(store.forget(plan_id(1), None, ctx("ann", 1))).unwrap();
    assert_eq!(wait(store.read(plan_id(1), Needs::header())).unwrap().name, None);
    wait(store.create(named(2))).unwrap();
}

/// Work on a plan, with a text in every place that can have one. The first call is for item 1, the
/// second for item 2.
pub(crate) fn work(store: &dyn Store) {
    let what = "secret run".to_owned();
    wait(store.begin_run(RunRecord { what, ..run(1, Some(plan_id(1))) })).unwrap();
    wait(store.begin_run(RunRecord { what: "plain run".to_owned(), ..run(2, None) })).unwrap();
    let of = |n: u32, word: &str, state| CallRecord {
        item: Some(Number(n)),
        request: json!({"command": format!("{word} request")}),
        detail: Some(json!(format!("{word} detail"))),
        ..call(n, state, 1)
    };
    let asks = |n: u8, word: &str| Asked {
        item: Some(Number(u32::from(n))),
        title: format!("{word} title"),
        place: vec![format!("{word} place")],
        context: format!("{word} context"),
        diff: Some(format!("{word} diff")),
        arguments: json!({"command": format!("{word} arguments")}),
        ..asked(n, u32::from(n))
    };
    let waits = CallState::AwaitingApproval;
    let calls = vec![of(1, "secret", waits), of(2, "plain", waits)];
    let questions = vec![asks(1, "secret"), asks(2, "plain")];
    wait(store.record(run_id(1), calls, questions, None)).unwrap();
    let foreign = Asked { id: question_id(3), ..asks(1, "plain") };
    wait(store.record(run_id(2), vec![of(1, "plain", waits)], vec![foreign], None)).unwrap();
    let answer = Answer::Refuse(Some("secret reason".to_owned()));
    let answered = Answered { answer, by: Actor::person("ann"), at: at(3) };
    wait(store.answer(question_id(1), answered)).unwrap();
    let modified = of(1, "secret second", CallState::Validating);
    wait(store.record(run_id(1), vec![modified], vec![], None)).unwrap();
    wait(store.attach(key("c", ""), plan_id(1), at(0))).unwrap();
    for (n, conversation, text) in [(1, "c", "secret message"), (2, "d", "plain message")] {
        let (id, conversation, text) = (message_id(n), conversation.to_owned(), text.to_owned());
        let new = NewMessage { id, conversation, text, steer: false, at: at(1) };
        wait(store.queue(new)).unwrap();
    }
}

/// Everything that the store keeps of it, as text.
pub(crate) fn kept(store: &dyn Store) -> String {
    let mut text = format!("{:?}", wait(store.runs(RunFilter::default())).unwrap());
    for n in [1, 2] {
        text += &format!("{:?}", wait(store.calls(run_id(n))).unwrap());
        text += &format!("{:?}", wait(store.story(run_id(n))).unwrap());
    }
    text += &format!("{:?}", wait(store.questions(QuestionFilter::default())).unwrap());
    for conversation in ["c", "d"] {
        text += &format!("{:?}", wait(store.messages(conversation.to_owned())).unwrap());
    }
    text
}

pub(crate) fn what_was_done_and_asked_for_an_item_goes_with_it(world: &World) {
    let desk = desk(world);
    work(&*desk.store);
    let before = kept(&*desk.store);
    assert_eq!(before.matches("secret").count(), 14, "{before}");
    wait(desk.store.forget(desk.plan, Some(Number(1).into()), desk.ctx())).unwrap();
    let after = kept(&*world.handle());
    // The run and the conversation belong to the plan, not to the item.
    let left = after.replace("secret run", "").replace("secret message", "");
    assert!(!left.contains("secret"), "{left}");
    let plain = |text: &str| text.matches("plain").count();
    assert_eq!(plain(&after), plain(&before), "nothing else is touched");
    let calls = wait(desk.store.calls(run_id(1))).unwrap();
    assert_eq!((calls[0].state, calls[0].tool.as_str()), (CallState::Validating, "shell"));
    // Work that is still in progress does not bring the texts back.
    let next = CallRecord { request: json!("secret"), ..calls[0].clone() };
    let next = CallRecord { state: CallState::Scheduled, ..next };
    wait(desk.store.record(run_id(1), vec![next], vec![], None)).unwrap();
    let call = wait(desk.store.calls(run_id(1))).unwrap().remove(0);
    assert_eq!((call.state, call.request), (CallState::Scheduled, json!(null)));
}

pub(crate) fn all_that_was_done_and_said_goes_with_a_plan(world: &World) {
    let desk = desk(world);
    work(&*desk.store);
    wait(desk.store.forget(desk.plan, None, desk.ctx())).unwrap();
    let after = kept(&*world.handle());
    assert!(!after.contains("secret"), "{after}");
    assert_eq!(after.matches("plain run").count(), 1, "another run");
    assert_eq!(after.matches("plain message").count(), 1, "another conversation");
    assert_eq!(after.matches("plain request").count(), 2, "the other run's call, twice told");
}
