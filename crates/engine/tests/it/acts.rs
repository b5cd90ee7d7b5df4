//! What a person does to a plan at a front end: each act, what it says, and what is refused.

use std::sync::Arc;

use punchlist_engine::engine::{ItemText, PlanAct};
use punchlist_engine::{Engine, PlanHandle, System, item};
use punchlist_model::store::memory::Memory;
use punchlist_model::{ItemRef, Number, Place, Status};

/// A plan of an agent, with three items.
async fn plan() -> PlanHandle {
    let engine = Engine::open(Arc::new(Memory::default()), System);
    let plan = engine.create("Ship it").await.unwrap();
    plan.by("claude").add([item("Dig"), item("Pour"), item("Dry")]).await.unwrap();
    plan
}

fn by(number: u32) -> ItemRef {
    Number(number).into()
}

/// The words of an act of Ann's: what it did, or why it was refused.
async fn ann(plan: &PlanHandle, act: PlanAct) -> String {
    match plan.perform("ann", act).await {
        Ok(told) => told,
        Err(fail) => format!("refused: {fail}"),
    }
}

#[tokio::test]
async fn a_person_edits_a_plan_and_hears_what_changed() {
    let plan = plan().await;
    let text = |text_of, text: &str| PlanAct::Edit { item: by(1), text_of, text: text.to_owned() };
    let done = |item, outcome: &str, with_children| PlanAct::Done {
        item: by(item),
        outcome: outcome.to_owned(),
        with_children,
    };
    for (act, told) in [
        (PlanAct::Add { title: "Mix".into(), place: Place::After(by(1)), parent: None }, "Mix"),
        (text(ItemText::Title, "Dig deep"), "Dig deep"),
        (text(ItemText::Context, "behind the house"), "Dig deep"),
        (text(ItemText::Criteria, "two metres"), "Dig deep"),
        (PlanAct::Move { item: by(3), to: Place::Front }, "Dry"),
        (PlanAct::Nest { item: by(4), parent: Some(by(2)) }, "Mix"),
        (PlanAct::Start(by(1)), "Dig deep"),
        (PlanAct::Release(by(1)), "Dig deep"),
        (PlanAct::Wait { item: by(1), on: "rain".into() }, "Dig deep"),
        (PlanAct::Wait { item: by(1), on: " ".into() }, "Dig deep"),
        (PlanAct::Skip { item: by(3), reason: "it is dry".into() }, "Dry"),
        (PlanAct::Reopen(by(3)), "Dry"),
        (done(1, "a hole", false), "Dig deep"),
        (done(2, "", true), "Pour"),
        (PlanAct::Approve(Number(1)), "Dig deep"),
    ] {
        let words = ann(&plan, act.clone()).await;
        assert!(words.contains(told) && !words.contains("refused"), "{act:?}: {words}");
    }
    let now = plan.whole().await.unwrap();
    let dig = now.get(Number(1)).unwrap();
    assert_eq!(dig.context, "behind the house");
    assert_eq!(dig.completion_criteria, "two metres");
    assert_eq!((dig.status, dig.outcome.as_deref()), (Status::Completed, Some("a hole")));
    let mix = now.get(Number(4)).unwrap();
    assert_eq!((mix.parent, mix.status), (Some(Number(2)), Status::Completed));
    assert_eq!(now.listed()[0].number, Number(3), "it was moved to the front");
}

#[tokio::test]
async fn a_persons_last_change_is_undone_and_no_agents() {
    let plan = plan().await;
    ann(&plan, PlanAct::Skip { item: by(2), reason: String::new() }).await;
    let undid = ann(&plan, PlanAct::Undo).await;
    assert_eq!(undid, "undid: cancelled 2 \"Pour\" (pending again)");
    assert_eq!(plan.whole().await.unwrap().get(Number(2)).unwrap().status, Status::Pending);
    let refused = ann(&plan, PlanAct::Undo).await;
    assert!(refused.starts_with("refused: "), "{refused}");
    assert_eq!(plan.whole().await.unwrap().listed().len(), 3, "the agent's items stay");
}

#[tokio::test]
async fn a_refused_act_says_why_and_changes_nothing() {
    let plan = plan().await;
    ann(&plan, PlanAct::Nest { item: by(3), parent: Some(by(2)) }).await;
    let before = plan.whole().await.unwrap();
    let done = PlanAct::Done { item: by(2), outcome: String::new(), with_children: false };
    let blank = PlanAct::Edit { item: by(1), text_of: ItemText::Title, text: " ".to_owned() };
    for (act, why) in [
        (done, "item 3 \"Dry\" under it is open"),
        (blank, "empty"),
        (PlanAct::Reopen(by(1)), "item 1 \"Dig\""),
        (PlanAct::Verify(Number(1)), "has no check"),
        (PlanAct::Start(by(9)), "9"),
        (PlanAct::Nest { item: by(2), parent: Some(by(3)) }, "2"),
    ] {
        let words = ann(&plan, act.clone()).await;
        assert!(words.starts_with("refused: ") && words.contains(why), "{act:?}: {words}");
    }
    assert_eq!(plan.whole().await.unwrap(), before);
}
