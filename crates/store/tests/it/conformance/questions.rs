//! Questions to a person: asked once, answered once.

use punchlist_model::Actor;
use punchlist_model::call::{
    Answer, AnswerOutcome, Answered, Asked, CallRecord, CallState, Offer, Question, QuestionFilter,
    RunRecord, Standing,
};
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use serde_json::json;

use super::World;
use crate::support::{asked, at, call, question_id, run, run_id, wait};

/// Only questions that wait.
pub(crate) fn waiting() -> QuestionFilter {
    QuestionFilter { waiting: true, ..QuestionFilter::default() }
}

fn answered(answer: Answer, by: &str) -> Answered {
    Answered { answer, by: Actor::person(by), at: at(20) }
}

fn ids(questions: &[Question]) -> Vec<u8> {
    let all = (1..=9).filter(|n| questions.iter().any(|it| it.asked.id == question_id(*n)));
    all.collect()
}

/// A run whose first two calls ask a question.
fn two_that_ask(store: &dyn Store) {
    wait(store.begin_run(run(1, None))).unwrap();
    let waits = |n| call(n, CallState::AwaitingApproval, 1);
    let questions = vec![asked(1, 1), asked(2, 2)];
    wait(store.record(run_id(1), vec![waits(1), waits(2)], questions, None)).unwrap();
}

fn record(store: &dyn Store, calls: Vec<CallRecord>) {
    wait(store.record(run_id(1), calls, vec![], None)).unwrap();
}

pub(crate) fn a_question_is_there_for_everybody_with_all_that_it_says(world: &World) {
    let store = world.handle();
    let here = RunRecord { project: "/shop".to_owned(), ..run(1, None) };
    wait(store.begin_run(here)).unwrap();
    let question = Asked {
        item: Some(punchlist_model::Number(4)),
        server: Some("files".to_owned()),
        diff: Some("-a\n+b\u{1b}[2J\n".to_owned()),
        ..asked(1, 3)
    };
    let calls = vec![call(3, CallState::AwaitingApproval, 1)];
    wait(store.record(run_id(1), calls, vec![question.clone()], None)).unwrap();
    let found = wait(world.handle().questions(waiting())).unwrap();
    let expected = Question {
        run: run_id(1),
        project: "/shop".to_owned(),
        plan: None,
        asked: question,
        standing: Standing::Waiting,
    };
    assert_eq!(found, [expected]);
}

pub(crate) fn questions_are_found_by_project_run_and_either_end_of_the_id(world: &World) {
    let store = world.handle();
    for (n, project) in [(1, "/a"), (2, "/b"), (3, "/a")] {
        let record = RunRecord { project: project.to_owned(), ..run(n, None) };
        wait(store.begin_run(record)).unwrap();
        let calls = vec![call(1, CallState::AwaitingApproval, 1)];
        wait(store.record(run_id(n), calls, vec![asked(n, 1)], None)).unwrap();
    }
    let find = |filter| ids(&wait(store.questions(filter)).unwrap());
    assert_eq!(find(QuestionFilter::default()), [1, 2, 3]);
    assert_eq!(find(QuestionFilter { project: Some("/a".to_owned()), ..waiting() }), [1, 3]);
    assert_eq!(find(QuestionFilter { run: Some(run_id(2)), ..waiting() }), [2]);
    assert_eq!(find(QuestionFilter { most: Some(2), ..waiting() }), [2, 3], "the newest");
    let tail = question_id(2).short();
    assert_eq!(find(QuestionFilter { id: Some(tail), ..waiting() }), [2]);
    let whole = question_id(3).to_string();
    assert_eq!(find(QuestionFilter { id: Some(whole), ..waiting() }), [3]);
    assert!(find(QuestionFilter { id: Some("xyz".to_owned()), ..waiting() }).is_empty());
}

pub(crate) fn a_question_is_answered_once(world: &World) {
    let store = world.handle();
    two_that_ask(&*store);
    let first = answered(Answer::Refuse(Some("not today".to_owned())), "ann");
    let outcome = wait(store.answer(question_id(1), first.clone())).unwrap();
    let AnswerOutcome::Taken(question) = outcome else { panic!("{outcome:?}") };
    assert_eq!(question.standing, Standing::Answered(first.clone()));
    let other = world.handle();
    let outcome = wait(other.answer(question_id(1), answered(Answer::Once, "bob"))).unwrap();
    let AnswerOutcome::Late(question) = outcome else { panic!("{outcome:?}") };
    assert_eq!(question.standing, Standing::Answered(first.clone()), "told who was first");
    assert_eq!(ids(&wait(other.questions(waiting())).unwrap()), [2]);
    let all = wait(other.questions(QuestionFilter::default())).unwrap();
    assert_eq!(all[0].standing, Standing::Answered(first));
    let unknown = wait(store.answer(question_id(7), answered(Answer::Once, "ann")));
    assert!(matches!(unknown, Err(Error::NoQuestion(id)) if id == question_id(7)));
}

pub(crate) fn what_is_not_offered_is_no_answer(world: &World) {
    let store = world.handle();
    two_that_ask(&*store);
    let odd = wait(store.answer(question_id(1), answered(Answer::AlwaysServer, "ann"))).unwrap();
    assert!(matches!(odd, AnswerOutcome::NotOffered(_)), "{odd:?}");
    assert_eq!(ids(&wait(store.questions(waiting())).unwrap()), [1, 2], "it waits still");
    let modified = Answer::Modify(json!({"command": "ls"}));
    let taken = wait(store.answer(question_id(1), answered(modified, "ann"))).unwrap();
    assert!(matches!(taken, AnswerOutcome::Taken(_)), "{taken:?}");
    let prefix = Answer::AlwaysPrefix(vec!["./publish.sh".to_owned()]);
    let taken = wait(store.answer(question_id(2), answered(prefix, "ann"))).unwrap();
    assert!(matches!(taken, AnswerOutcome::Taken(_)), "{taken:?}");
}

pub(crate) fn of_many_that_answer_at_once_one_wins_and_the_others_know_whom(world: &World) {
    let store = world.handle();
    two_that_ask(&*store);
    let outcomes: Vec<AnswerOutcome> = std::thread::scope(|scope| {
        let people: Vec<_> = (0..6)
            .map(|n| {
                scope.spawn(move || {
                    let answer = if n % 2 == 0 { Answer::Once } else { Answer::Refuse(None) };
                    let answered = answered(answer, &format!("person {n}"));
                    wait(world.handle().answer(question_id(1), answered)).unwrap()
                })
            })
            .collect();
        people.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let mut first = None;
    let mut standings = Vec::new();
    for outcome in outcomes {
        let question = match outcome {
            AnswerOutcome::Taken(question) => {
                assert!(first.replace(question.standing.clone()).is_none(), "two were first");
                question
            }
            AnswerOutcome::Late(question) => question,
            AnswerOutcome::NotOffered(_) => panic!("all of that was offered"),
        };
        standings.push(question.standing);
    }
    let first = first.expect("somebody was first");
    assert!(standings.iter().all(|it| *it == first), "{standings:?}");
}

pub(crate) fn a_question_whose_call_went_on_waits_no_longer(world: &World) {
    let store = world.handle();
    two_that_ask(&*store);
    // The first call was cancelled; the second was allowed by a rule that came meanwhile.
    record(&*store, vec![call(1, CallState::Cancelled, 2), call(2, CallState::Scheduled, 2)]);
    assert_eq!(wait(store.questions(waiting())).unwrap(), []);
    let all = wait(store.questions(QuestionFilter::default())).unwrap();
    assert!(all.iter().all(|it| it.standing == Standing::Settled), "{all:?}");
    let late = wait(store.answer(question_id(1), answered(Answer::Once, "ann"))).unwrap();
    let AnswerOutcome::Late(question) = late else { panic!("{late:?}") };
    assert_eq!(question.standing, Standing::Settled);
}

pub(crate) fn what_was_asked_stays_as_it_was_whatever_becomes_of_the_call(world: &World) {
    let store = world.handle();
    two_that_ask(&*store);
    let before = wait(store.questions(waiting())).unwrap().remove(0).asked;
    let modified = json!({"command": "rm -rf /"});
    let modify = answered(Answer::Modify(modified.clone()), "ann");
    wait(store.answer(question_id(1), modify)).unwrap();
    let later = |state| CallRecord { request: modified.clone(), ..call(1, state, 3) };
    record(&*store, vec![later(CallState::Validating), later(CallState::Scheduled)]);
    let again = Asked { arguments: modified.clone(), ..asked(3, 1) };
    let waits = vec![later(CallState::AwaitingApproval)];
    wait(store.record(run_id(1), waits, vec![again.clone()], None)).unwrap();
    let all = wait(world.handle().questions(QuestionFilter::default())).unwrap();
    assert_eq!(all[0].asked, before);
    assert_eq!(all[2].asked, again, "asked again, it is another question");
    assert_eq!(ids(&wait(store.questions(waiting())).unwrap()), [2, 3]);
}

pub(crate) fn an_answer_of_any_kind_is_kept(world: &World) {
    let store = world.handle();
    wait(store.begin_run(run(1, None))).unwrap();
    let words = vec!["a b".to_owned(), "\"c\"".to_owned()];
    let answers = [
        Answer::Once,
        Answer::AlwaysTool,
        Answer::AlwaysPrefix(words.clone()),
        Answer::AlwaysServer,
        Answer::Modify(json!({"a": ["\u{202e}", 1e300]})),
        Answer::Refuse(None),
        Answer::Refuse(Some(String::new())),
    ];
    let offers = vec![
        Offer::Once,
        Offer::AlwaysTool,
        Offer::AlwaysPrefix(words),
        Offer::AlwaysServer,
        Offer::Modify,
    ];
    for (answer, n) in answers.into_iter().zip(1..) {
        let question = Asked { offers: offers.clone(), ..asked(n, u32::from(n)) };
        let waits = vec![call(u32::from(n), CallState::AwaitingApproval, 1)];
        wait(store.record(run_id(1), waits, vec![question], None)).unwrap();
        let answered = answered(answer, "ann");
        wait(store.answer(question_id(n), answered.clone())).unwrap();
        let all = wait(world.handle().questions(QuestionFilter::default())).unwrap();
        assert_eq!(all.last().unwrap().standing, Standing::Answered(answered));
    }
}

pub(crate) fn an_answer_of_another_process_is_news(world: &World) {
    let store = world.handle();
    two_that_ask(&*store);
    let mut news = wait(store.news()).unwrap();
    let other = world.handle();
    wait(other.answer(question_id(1), answered(Answer::Once, "ann"))).unwrap();
    crate::support::heard(&mut news);
    assert_eq!(ids(&wait(store.questions(waiting())).unwrap()), [2]);
    let mut second = wait(other.news()).unwrap();
    record(&*store, vec![call(1, CallState::Scheduled, 2)]);
    crate::support::heard(&mut second);
}
