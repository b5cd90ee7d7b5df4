//! What forms ask for, as tables.

use punchlist_model::call::{Offer, Permit};
use punchlist_model::{ItemId, PlanId, Position, Timestamp};
use serde_json::json;
use uuid::Uuid;

use super::*;

fn plan() -> Plan {
    let at = Timestamp::UNIX_EPOCH;
    let mut plan = Plan::new(PlanId(Uuid::nil()), "/p", at);
    for n in 1..=3u32 {
        let mut item =
            Item::new(ItemId(Uuid::from_u128(n.into())), Number(n), format!("Item {n}"), at);
        item.position = Some(Position(n));
        item.context = "one\ntwo".to_owned();
        plan.items.insert(Number(n), item);
        plan.placed = n;
    }
    plan
}

fn form(query: &str) -> Pairs {
    Pairs::parse(query.as_bytes())
}

fn by(n: u32) -> ItemRef {
    ItemRef::Both(Number(n), ItemId(Uuid::from_u128(n.into())))
}

#[test]
fn a_form_of_a_plan_becomes_one_act() {
    let plan = plan();
    for (query, act) in [
        ("act=undo", PlanAct::Undo),
        (
            "act=add&text=New&where=end",
            PlanAct::Add { title: "New".to_owned(), place: Place::Back, parent: None },
        ),
        (
            "act=add&text=New&where=under&item=2",
            PlanAct::Add { title: "New".to_owned(), place: Place::Back, parent: Some(by(2)) },
        ),
        (
            "act=add&text=New&where=after&item=2",
            PlanAct::Add { title: "New".to_owned(), place: Place::After(by(2)), parent: None },
        ),
        ("act=start&item=1", PlanAct::Start(by(1))),
        (
            "act=done&item=1&text=fine&with_children=yes",
            PlanAct::Done { item: by(1), outcome: "fine".to_owned(), with_children: true },
        ),
        ("act=skip&item=1&text=", PlanAct::Skip { item: by(1), reason: String::new() }),
        ("act=wait&item=1&text=legal", PlanAct::Wait { item: by(1), on: "legal".to_owned() }),
        ("act=resume&item=1&text=ignored", PlanAct::Wait { item: by(1), on: String::new() }),
        ("act=up&item=2", PlanAct::Move { item: by(2), to: Place::Before(by(1)) }),
        ("act=down&item=2", PlanAct::Move { item: by(2), to: Place::After(by(3)) }),
        ("act=verify&item=3", PlanAct::Verify(Number(3))),
    ] {
        assert_eq!(wanted(&plan, &form(query)).unwrap(), Wanted::Act(act), "{query}");
    }
}

#[test]
fn an_edit_changes_only_the_texts_that_differ_from_what_the_form_showed() {
    let query = "act=edit&item=1&title=Item+1&context=one%0D%0Athree&criteria=";
    let text = "one\nthree".to_owned();
    let edit = PlanAct::Edit { item: by(1), text_of: ItemText::Context, text };
    assert_eq!(wanted(&plan(), &form(query)).unwrap(), Wanted::Edit(vec![edit]));
}

#[test]
fn a_form_that_makes_no_sense_is_refused_with_a_reason() {
    for (query, why) in [
        ("", "the form names no item"),
        ("act=fly&item=1", "no act"),
        ("act=start&item=9", "no item 9"),
        ("act=start&item=1&item_id=another", "another one now"),
        ("act=up&item=1", "already the first"),
        ("act=down&item=3", "already the last"),
    ] {
        let fail = wanted(&plan(), &form(query)).unwrap_err();
        assert!(fail.message.contains(why), "{query}: {}", fail.message);
    }
}

fn asked(offers: Vec<Offer>) -> Asked {
    Asked {
        id: "01a3185c-5000-7000-8000-000000000001".parse().unwrap(),
        call: 1,
        item: None,
        title: "Publish".to_owned(),
        place: Vec::new(),
        context: String::new(),
        tool: "shell".to_owned(),
        server: None,
        what: "run".to_owned(),
        command: None,
        diff: None,
        printed: Vec::new(),
        touches: Vec::new(),
        why: String::new(),
        arguments: json!({"command": "make"}),
        offers,
        at: Timestamp::UNIX_EPOCH,
    }
}

fn rules(word: &str) -> Vec<Permit> {
    vec![Permit { command: Some(vec![word.to_owned()]), ..Permit::default() }]
}

#[test]
fn every_answer_of_a_question_can_be_sent_by_its_form() {
    let offers =
        vec![Offer::Once, Offer::Always(rules("make")), Offer::Always(rules("cc")), Offer::Modify];
    let asked = asked(offers);
    for (query, expected) in [
        ("answer=yes", Answer::Once),
        ("answer=session", Answer::Session(rules("make"))),
        ("answer=always+0", Answer::Always { rules: rules("make"), reach: Reach::Project }),
        ("answer=everywhere+1", Answer::Always { rules: rules("cc"), reach: Reach::Everywhere }),
        (
            "answer=edit&arguments=%7B%22command%22%3A%22ls%22%7D",
            Answer::Modify(json!({"command": "ls"})),
        ),
        ("answer=no&reason=typed", Answer::Refuse(None)),
        ("answer=reason&reason=not+now", Answer::Refuse(Some("not now".to_owned()))),
        ("answer=stop", Answer::RefuseAndStop(None)),
    ] {
        assert_eq!(answer(&asked, &form(query)).unwrap(), expected, "{query}");
    }
}

#[test]
fn an_answer_that_is_not_offered_or_incomplete_is_refused() {
    let asked = asked(vec![Offer::Once, Offer::Modify]);
    for (query, why) in [
        ("", "no answer"),
        ("answer=always+0", "does not offer"),
        ("answer=session", "does not offer"),
        ("answer=reason&reason=+", "empty"),
        ("answer=edit&arguments=%7B", "not JSON"),
        ("answer=edit&arguments=%7B%22command%22%3A%22make%22%7D", "nothing was changed"),
    ] {
        let fail = answer(&asked, &form(query)).unwrap_err();
        assert!(fail.message.contains(why), "{query}: {}", fail.message);
    }
}
