//! Tests: transitions of calls, possible answers, and what `forget` leaves.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::actor::Actor;
use crate::id::IdSource;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn asked(offers: Vec<Offer>) -> Asked {
    Asked {
        id: QuestionId(IdSource::fixed(at(0), 1).nth(0)),
        call: 1,
        item: Some(Number(3)),
        title: "Publish".to_owned(),
        place: vec!["item 4 of Release 1.2".to_owned(), "release.md:12".to_owned()],
        context: "Only from a clean checkout.".to_owned(),
        tool: "shell".to_owned(),
        server: None,
        what: "run".to_owned(),
        command: Some("./publish.sh --prod".to_owned()),
        diff: Some("+ secret".to_owned()),
        printed: Vec::new(),
        touches: vec!["writes dist/**".to_owned()],
        why: "no rule allows it".to_owned(),
        arguments: json!({"command": "./publish.sh --prod"}),
        offers,
        at: at(1),
    }
}

fn question(offers: Vec<Offer>, standing: Standing) -> Question {
    let run = RunId(IdSource::fixed(at(0), 2).nth(0));
    Question { run, project: "/p".to_owned(), plan: None, asked: asked(offers), standing }
}

fn answered(answer: Answer) -> Answered {
    Answered { answer, by: Actor::person("ann"), at: at(2) }
}

#[test]
fn what_may_follow_what() {
    let mut table = String::new();
    for from in CallState::ALL {
        let next = CallState::ALL.into_iter().filter(|to| from.may_become(*to));
        let names: Vec<&str> = next.map(CallState::as_str).collect();
        table.push_str(&format!("{:<18}→ {}\n", from.as_str(), names.join(", ")));
    }
    insta::assert_snapshot!(table, @r"
    validating        → scheduled, error, cancelled
    scheduled         → scheduled, awaiting_approval, executing, cancelled
    awaiting_approval → validating, scheduled, cancelled
    executing         → scheduled, executing, success, error, cancelled
    success           → 
    error             → 
    cancelled         → 
    ");
    for state in CallState::ALL {
        assert_eq!(CallState::parse(state.as_str()), Some(state));
        assert_eq!(state.has_ended(), !CallState::ALL.iter().any(|it| state.may_become(*it)));
        assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
    }
}

#[test]
fn only_what_is_offered_can_be_answered_and_a_refusal_always() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let prefix = |text: &str| Answer::AlwaysPrefix(words(text));
    let rules = |text: &str| vec![Permit { command: Some(words(text)), ..Permit::default() }];
    let (make, check) = (|| rules("make test"), || rules("./check.sh"));
    let always = |rules, reach| Answer::Always { rules, reach };
    for (answer, offers, expected) in [
        (Answer::Once, vec![Offer::Once, Offer::Modify], true),
        (Answer::Once, vec![Offer::Modify], false),
        (Answer::AlwaysTool, vec![Offer::Once, Offer::AlwaysTool], true),
        (Answer::AlwaysTool, vec![Offer::Once, Offer::AlwaysServer], false),
        (Answer::AlwaysServer, vec![Offer::AlwaysServer], true),
        (prefix("cargo test"), vec![Offer::AlwaysPrefix(words("cargo test"))], true),
        (prefix("cargo test -p a"), vec![Offer::AlwaysPrefix(words("cargo test"))], true),
        (prefix("cargo"), vec![Offer::AlwaysPrefix(words("cargo test"))], false),
        (prefix("cargo testing"), vec![Offer::AlwaysPrefix(words("cargo test"))], false),
        (Answer::Modify(Value::Null), vec![Offer::Once], false),
        (Answer::Modify(Value::Null), vec![Offer::Modify], true),
        (Answer::Refuse(None), vec![], true),
        (Answer::RefuseAndStop(None), vec![], true),
        (Answer::Session(make()), vec![Offer::Always(make())], true),
        (Answer::Session(make()), vec![Offer::Once], false),
        (Answer::Session(check()), vec![Offer::Always(make())], false),
        (always(make(), Reach::Project), vec![Offer::Always(check()), Offer::Always(make())], true),
        (always(make(), Reach::Everywhere), vec![Offer::Always(make())], true),
        (always(check(), Reach::Project), vec![Offer::Always(check())], true),
        // A relative path is another file in each project.
        (always(check(), Reach::Everywhere), vec![Offer::Always(check())], false),
    ] {
        assert_eq!(answer.is_among(&offers), expected, "{answer:?} of {offers:?}");
        let question = question(offers, Standing::Waiting);
        let taken = matches!(question.answered(answered(answer)), AnswerOutcome::Taken(_));
        assert_eq!(taken, expected);
    }
}

#[test]
fn the_second_answer_is_told_who_was_first() {
    let AnswerOutcome::Taken(question) =
        question(vec![Offer::Once], Standing::Waiting).answered(answered(Answer::Once))
    else {
        panic!("the first counts");
    };
    let AnswerOutcome::Late(late) = question.answered(answered(Answer::Refuse(None))) else {
        panic!("the second does not");
    };
    assert_eq!(late.standing, Standing::Answered(answered(Answer::Once)));
}

#[test]
fn a_question_waits_as_long_as_its_call_does() {
    for state in CallState::ALL {
        let waits = state == CallState::AwaitingApproval;
        let standing = Standing::of(None, state);
        assert_eq!(standing, if waits { Standing::Waiting } else { Standing::Settled });
        let late = question(vec![Offer::Once], standing).answered(answered(Answer::Once));
        assert_eq!(matches!(late, AnswerOutcome::Late(_)), !waits);
        let answered = answered(Answer::Once);
        assert_eq!(Standing::of(Some(answered.clone()), state), Standing::Answered(answered));
    }
}

#[test]
fn a_value_that_is_too_deep_to_be_read_again_is_kept_as_its_text() {
    let deep = |levels: usize| -> Value {
        serde_json::from_str(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels))).unwrap()
    };
    assert_eq!(shallow(deep(90)), deep(90));
    let text = shallow(deep(120));
    assert_eq!(text, Value::from(deep(120).to_string()));
    let kept = Asked { arguments: deep(120), ..asked(Vec::new()) }.kept();
    let written = serde_json::to_string(&kept).unwrap();
    assert_eq!(serde_json::from_str::<Asked>(&written).unwrap(), kept);
}

#[test]
fn nothing_that_was_written_is_left_after_forgetting() {
    let offers = vec![Offer::Once, Offer::AlwaysPrefix(vec!["./publish.sh".to_owned()])];
    let mut asked = asked(offers);
    asked.forget();
    let left = serde_json::to_string(&asked).unwrap();
    for word in ["ublish", "secret", "dist", "rule"] {
        assert!(!left.contains(word), "{word}: {left}");
    }
    assert!(!Answer::Once.is_among(&asked.offers), "what nobody sees, nobody allows");
    for answer in [
        Answer::AlwaysPrefix(vec!["secret".to_owned()]),
        Answer::Modify(json!({"a": "secret"})),
        Answer::Refuse(Some("secret".to_owned())),
    ] {
        let mut answered = answered(answer);
        let yes = answered.answer.is_yes();
        answered.forget();
        assert!(!serde_json::to_string(&answered).unwrap().contains("secret"), "{answered:?}");
        assert_eq!(answered.answer.is_yes(), yes);
    }
}
