//! Turns as stories: what the model does, and what the machine wants.

use punchlist_model::guard::Standing;

use super::*;

/// Items by number: `h` holds and is pending, `p` is in progress.
fn status(items: &[(u32, char)], next: Option<u32>, completed: u32) -> PlanStatus {
    PlanStatus {
        outlook: items.iter().map(|(n, _)| (Number(*n), Standing::Holds)).collect(),
        open: items.iter().map(|(n, _)| Number(*n)).collect(),
        in_progress: items.iter().filter(|(_, s)| *s == 'p').map(|(n, _)| Number(*n)).collect(),
        next: next.map(Number),
        completed,
        is_goal_unmet: false,
    }
}

fn says(text: &str) -> Input {
    Input::Answered(Answer { text: text.to_owned(), ..Answer::default() })
}

fn calls(calls: u32) -> Input {
    Input::Answered(Answer { calls, ..Answer::default() })
}

/// How many model calls a supervisor makes whose model only ever uses tools, with these items open.
fn calls_of_a_busy_model(options: Options, plan: &PlanStatus) -> u32 {
    let mut turn = Turn::new(options);
    let mut count = 0;
    let mut effects = turn.step(Input::Begin, plan);
    while let Some(effect) = effects.pop() {
        let input = match effect {
            Effect::CallModel(ask) => {
                count += 1;
                if ask.purpose == Purpose::FinalAnswer { says("What there is.") } else { calls(1) }
            }
            Effect::RunCalls { .. } => Input::CallsEnded,
            Effect::Change(_)
            | Effect::RefuseAnswer { .. }
            | Effect::Tell(_)
            | Effect::Inform(_)
            | Effect::Cancel
            | Effect::End(_) => continue,
        };
        effects = turn.step(input, plan);
    }
    assert_eq!(turn.ending(), Some(&Ending::Limit));
    count
}

#[test]
fn ten_calls_without_a_plan_fifty_with_one_and_one_more_that_writes_the_answer() {
    assert_eq!(calls_of_a_busy_model(Options::default(), &status(&[], None, 0)), 11);
    assert_eq!(calls_of_a_busy_model(Options::default(), &status(&[(1, 'h')], Some(1), 0)), 51);
}

#[test]
fn a_first_limit_above_the_cap_is_kept() {
    let calls = CallLimits { first: 60, ..CallLimits::default() };
    let options = Options { calls, ..Options::default() };
    assert_eq!(calls_of_a_busy_model(options, &status(&[(1, 'h')], Some(1), 0)), 61);
}

#[test]
fn an_answer_is_refused_three_times_without_progress_then_let_go() {
    let plan = status(&[(1, 'h'), (2, 'p')], Some(1), 0);
    let mut turn = Turn::new(Options::default());
    turn.step(Input::Begin, &plan);
    for refusal in 1..=3 {
        let effects = turn.step(says("Done."), &plan);
        let open = vec![Number(1), Number(2)];
        assert_eq!(effects[0], Effect::RefuseAnswer { open, refusal });
    }
    let park = Effect::Change(PlanChange::Park(vec![Number(1), Number(2)]));
    assert_eq!(turn.step(says("Done."), &plan), [park, Effect::End(Ending::LetGo)]);
}

#[test]
fn an_abort_cancels_and_releases_and_a_late_answer_changes_nothing() {
    let plan = status(&[(1, 'h'), (2, 'p')], Some(1), 0);
    let mut turn = Turn::new(Options::default());
    turn.step(Input::Begin, &plan);
    turn.step(calls(2), &plan);
    let effects = turn.step(Input::Abort(Abort::User), &plan);
    let release = Effect::Change(PlanChange::Release(vec![Number(2)]));
    assert_eq!(effects, [Effect::Cancel, release, Effect::End(Ending::Aborted(Abort::User))]);
    assert_eq!(turn.step(Input::CallsEnded, &plan), []);
    assert_eq!(turn.step(says("Late."), &plan), []);
}

#[test]
fn a_question_suspends_the_turn_and_the_reply_goes_on_with_fresh_limits() {
    let plan = status(&[(1, 'p')], None, 0);
    let mut turn = Turn::new(Options { is_attended: true, ..Options::default() });
    turn.step(Input::Begin, &plan);
    let asks = Answer { asks_user: true, text: "Which?".to_owned(), ..Answer::default() };
    assert_eq!(turn.step(Input::Answered(asks), &plan), [Effect::End(Ending::Asked)]);
    let ask = Ask::new(Purpose::Work, Offered::Everything);
    assert_eq!(turn.step(Input::Reply, &plan), [Effect::CallModel(ask)]);
}

#[test]
fn an_answer_that_does_not_fit_the_schema_is_handed_back_three_times() {
    let plan = status(&[], None, 0);
    let mut turn = Turn::new(Options { has_schema: true, ..Options::default() });
    turn.step(Input::Begin, &plan);
    let misfit = Answer { misfit: Some("\"a\" is missing".to_owned()), ..Answer::default() };
    for _ in 0..3 {
        let effects = turn.step(Input::Answered(misfit.clone()), &plan);
        assert!(matches!(&effects[0], Effect::Tell(text) if text.contains("\"a\" is missing")));
    }
    assert_eq!(turn.step(Input::Answered(misfit), &plan), [Effect::End(Ending::Unfit)]);
}

/// A task of two items by steps, told as the runtime sees it.
#[test]
fn steps_classify_plan_execute_and_validate() {
    let mut turn = Turn::new(Options { strategy: Strategy::Steps, ..Options::default() });
    let mut told = Vec::new();
    let story = [
        (Input::Begin, status(&[], None, 0)),
        (
            says(
                r#"```json
{"isSimple": false}
```"#,
            ),
            status(&[], None, 0),
        ),
        (calls(1), status(&[(1, 'h'), (2, 'h')], Some(1), 0)),
        (Input::CallsEnded, status(&[(1, 'h'), (2, 'h')], Some(1), 0)),
        (says("Two steps."), status(&[(1, 'h'), (2, 'h')], Some(1), 0)),
        (Input::Changed, status(&[(1, 'p'), (2, 'h')], Some(2), 0)),
        (says("Did the first."), status(&[(1, 'p'), (2, 'h')], Some(2), 0)),
        (Input::Changed, status(&[(2, 'h')], Some(2), 1)),
        (Input::Changed, status(&[(2, 'p')], None, 1)),
        (calls(9), status(&[(2, 'p')], None, 1)),
        (Input::CallsEnded, status(&[], None, 2)),
        (says(r#"{"isComplete": true, "reasoning": "Both work."}"#), status(&[], None, 2)),
    ];
    for (input, plan) in story {
        told.push(format!("{input:?}"));
        for effect in turn.step(input, &plan) {
            told.push(format!("  {effect:?}"));
        }
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn an_item_that_uses_up_its_calls_is_planned_again_and_then_skipped() {
    let mut turn = Turn::new(Options { strategy: Strategy::Steps, ..Options::default() });
    let busy = status(&[(1, 'p')], None, 0);
    let pending = status(&[(1, 'h')], Some(1), 0);
    turn.step(Input::Begin, &pending);
    turn.step(Input::Changed, &busy);
    assert_eq!(turn.step(calls(7), &busy), [Effect::RunCalls { most: 5 }]);
    let reason = "The limit of 5 tool calls for this item was used up.".to_owned();
    let back = Effect::Change(PlanChange::GiveBack(Number(1), reason.clone()));
    assert_eq!(turn.step(Input::CallsEnded, &busy), [back]);
    let ask = Ask::new(Purpose::Plan, Offered::Planning);
    assert_eq!(turn.step(Input::Changed, &pending), [Effect::CallModel(ask)]);
    turn.step(says("The same again."), &pending);
    turn.step(Input::Changed, &busy);
    turn.step(calls(5), &busy);
    let skip = Effect::Change(PlanChange::Skip(Number(1), reason));
    assert_eq!(turn.step(Input::CallsEnded, &busy), [skip]);
}

#[test]
fn a_second_incomplete_validation_without_progress_ends_the_task() {
    let mut turn = Turn::new(Options { strategy: Strategy::Steps, ..Options::default() });
    let (none, open) = (status(&[], None, 1), status(&[(2, 'h')], Some(2), 1));
    turn.step(Input::Begin, &status(&[(1, 'p')], None, 0));
    turn.step(says("Done."), &status(&[(1, 'p')], None, 0));
    turn.step(Input::Changed, &none);
    let incomplete = r#"{"isComplete": false, "reasoning": "No tests.", "suggestions": ["Add tests", "Run them"]}"#;
    let effects = turn.step(says(incomplete), &none);
    let told = "Validation result: No tests.\nSuggestions: Add tests, Run them";
    assert_eq!(effects[0], Effect::Tell(told.to_owned()));
    turn.step(says("A new item."), &open);
    turn.step(Input::Changed, &status(&[(2, 'p')], None, 1));
    // The item is cancelled by a call, so nothing was completed.
    turn.step(calls(1), &status(&[(2, 'p')], None, 1));
    turn.step(Input::CallsEnded, &none);
    assert_eq!(turn.step(says(incomplete), &none), [Effect::End(Ending::NotValidated)]);
}
