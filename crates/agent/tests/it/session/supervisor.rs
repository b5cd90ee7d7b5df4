//! The supervisor's limits, its drain guard, and the person who reads along.

use std::time::{Duration, Instant};

use punchlist_agent::session::{Event, Input, SessionSettings};
use punchlist_agent::turn::{Abort, CallLimits, Ending, Options};
use punchlist_model::call::Answer;
use punchlist_sched::Policy;
use punchlist_testkit::model::{Message, Script};
use serde_json::json;

use super::front_end::Front;
use super::{complete, each, next, one, read, shell, supervisor, todos};

pub(super) fn attended() -> SessionSettings {
    let turn = Options { is_attended: true, ..Options::default() };
    SessionSettings { turn, ..SessionSettings::default() }
}

#[test]
fn an_answer_with_open_items_is_refused_three_times_without_progress() {
    let script =
        || Script::new().calls_all([todos(&["A", "B"])]).always(|_| Message::new().says("Done."));
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::LetGo, 7), "{}", stage.kind);
        assert_eq!(ran.ended.answer, "Done.\n\nStill open:\n- A\n- B", "{}", stage.kind);
        let refusals: Vec<u32> = ran
            .events
            .iter()
            .filter_map(|it| {
                let Event::Refused { open: 2, refusal } = it else { return None };
                Some(*refusal)
            })
            .collect();
        assert_eq!(refusals, [1, 2, 3], "{}", stage.kind);
        let sent = stage.sent();
        assert_eq!(sent.len(), 5, "{}", stage.kind);
        for it in &sent[2..] {
            let news = it.news();
            for wanted in [
                "Not finished: 2 of 2 items are open.",
                "A (pending, ready)",
                "complete_todo",
                "Then stop.",
            ] {
                assert!(news.contains(wanted), "{}: no {wanted} in {news}", stage.kind);
            }
        }
    });
}

#[test]
fn progress_begins_the_count_again_but_eight_refusals_are_all() {
    let items = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"];
    let mut script = Script::new().calls_all([todos(&items)]);
    for item in 1..=8 {
        script = script.stops("Done.").calls_all([complete(item)]);
    }
    one(script.stops("Done."), |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.ending, Ending::LetGo);
        let refused = ran.events.iter().filter(|it| matches!(it, Event::Refused { .. })).count();
        assert_eq!((refused, stage.server.left()), (8, 0));
        assert!(ran.ended.answer.ends_with("Still open:\n- 9\n- 10\n- 11"), "{}", ran.ended.answer);
    });
}

#[test]
fn a_question_is_told_that_nobody_is_there() {
    let script = Script::new()
        .calls_all([todos(&["A"])])
        .stops("Shall I go on?")
        .calls_all([complete(1)])
        .stops("Is that all?");
    one(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!((ran.ended.answer.as_str(), ran.ended.exit()), ("Is that all?", 0));
        let refused = stage.sent()[2].news();
        let words: Vec<&str> = refused.split_whitespace().collect();
        let words = words.join(" ");
        assert!(words.contains("Nobody is here to answer a question."), "{refused}");
    });
}

#[test]
fn the_limit_is_extended_while_items_are_open_and_the_last_call_has_no_tools() {
    let script = || {
        Script::new().calls_all([todos(&["A", "B"])]).always(|request| {
            match request.tools().as_slice() {
                [] => Message::new().says("I got this far."),
                _ => Message::new().calls("read", json!({"path": "note.txt"})),
            }
        })
    };
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::Limit, 7), "{}", stage.kind);
        assert_eq!(ran.ended.answer, "I got this far.\n\nStill open:\n- A\n- B", "{}", stage.kind);
        let sent = stage.sent();
        assert_eq!(sent.len(), 51, "{}", stage.kind);
        assert!(sent[..50].iter().all(|it| !it.tools().is_empty()), "{}", stage.kind);
        let last = sent[50].text();
        assert!(sent[50].tools().is_empty() && last.contains("no more tool calls"), "{last}");
        assert!(last.contains("TODO list (as of now):"), "{}", stage.kind);
    });
}

#[test]
fn the_limit_grows_from_ten_only_with_open_items() {
    let busy = || {
        Script::new().always(|request| match request.tools().as_slice() {
            [] => Message::new().says("So far."),
            _ => Message::new().calls("read", json!({"path": "note.txt"})),
        })
    };
    one(busy(), |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::Limit, 0));
        assert_eq!(stage.sent().len(), 11);
    });
    // The plan is finished by the twelfth call: the limit stays where it was.
    let mut script = Script::new().calls_all([todos(&["A"])]);
    for _ in 0..9 {
        script = script.calls_all([read("note.txt")]);
    }
    script = script.calls_all([complete(1)]);
    let script = script.always(|request| match request.tools().as_slice() {
        [] => Message::new().says("So far."),
        _ => Message::new().calls("read", json!({"path": "note.txt"})),
    });
    one(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::Limit, 0));
        // The last round with an open item is the tenth: twenty calls, and the one that answers.
        assert_eq!(stage.sent().len(), 21);
    });
}

#[test]
fn the_limits_are_settings() {
    let script = Script::new().calls_all([todos(&["A"])]).always(|request| {
        match request.tools().as_slice() {
            [] => Message::new().says("So far.").calls("read", json!({"path": "note.txt"})),
            _ => Message::new().calls("read", json!({"path": "note.txt"})),
        }
    });
    one(script, |stage| async move {
        let calls = CallLimits { first: 2, more: 1, most: 4 };
        let turn = Options { calls, ..Options::default() };
        let ran = stage.run(SessionSettings { turn, ..supervisor() }).await;
        // The calls of the last answer were not offered, and are not run.
        assert_eq!(ran.ended.answer, "So far.\n\nStill open:\n- A");
        assert_eq!(stage.sent().len(), 5);
    });
}

#[test]
fn an_abort_while_the_model_streams_closes_the_connection_and_puts_the_item_back() {
    let script = || {
        let stream = Message::new().says("I am still ").hangs();
        Script::new().calls_all([todos(&["A", "B"]), next()]).turn(stream)
    };
    each(script, |stage| async move {
        let front = Front::default().when(|it| matches!(it, Event::Text(_)), Input::Abort);
        let ran = stage.run_with(supervisor(), front).await;
        assert_eq!(ran.ended.ending, Ending::Aborted(Abort::User), "{}", stage.kind);
        assert_eq!((ran.ended.exit(), ran.ended.answer.as_str()), (130, ""), "{}", stage.kind);
        assert_eq!(ran.list(), ["pending A", "pending B"], "{}", stage.kind);
        let mut is_closed = false;
        for _ in 0..1000 {
            is_closed = is_closed || stage.server.wait_abandoned(1, Duration::ZERO);
            if is_closed {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(is_closed, "{}", stage.kind);
    });
}

#[test]
fn an_abort_while_a_command_runs_really_ends_it() {
    let command = "echo $$ > pid; echo begun; sleep 100; echo over > over";
    let script = Script::new()
        .calls_all([todos(&["A"]), next()])
        .calls_all([shell(command), read("note.txt")]);
    one(script, |stage| async move {
        let begun =
            |it: &Event| matches!(it, Event::CallOutput { line, .. } if line.text == "begun");
        let since = Instant::now();
        let ran = stage.run_with(supervisor(), Front::default().when(begun, Input::Abort)).await;
        assert!(since.elapsed() < Duration::from_secs(30));
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::Aborted(Abort::User), 130));
        assert_eq!(ran.list(), ["pending A"]);
        let pid = std::fs::read_to_string(stage.path("pid")).unwrap();
        let process = std::path::Path::new("/proc").join(pid.trim());
        assert!(!process.exists(), "{} still runs", process.display());
        assert!(!stage.path("over").exists());
        let ends = ran.events.iter().filter(|it| matches!(it, Event::CallEnded { .. })).count();
        assert_eq!(ends, 4, "each call has its end");
    });
}

#[test]
fn somebody_else_can_stop_the_session() {
    let script = Script::new().calls_all([todos(&["A"]), next()]).turn(Message::new().hangs());
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let (store, id) = (stage.world.place.engine.store().clone(), session.id());
        let stops = async {
            for _ in 0..3000 {
                if stage.sent().len() == 2 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            store.ask_to_stop(id, stage.world.place.around.now()).await.unwrap();
        };
        let turn = stage.turn(&mut session, super::REQUEST, Front::default());
        let (ran, ()) = futures_util::join!(turn, stops);
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::Aborted(Abort::User), 130));
        assert_eq!(ran.list(), ["pending A"]);
    });
}

#[test]
fn steering_reaches_the_next_call_and_never_cuts_the_stream() {
    let script = || {
        let slow = Message::new().says("One, two, three, four.").paced(Duration::from_millis(5));
        Script::new()
            .turn(slow.calls("read", json!({"path": "note.txt"})))
            .turn(Message::new().says("Done, and ".repeat(20)).paced(Duration::from_millis(5)))
            .stops("In French, too.")
    };
    each(script, |stage| async move {
        let is_text = |it: &Event| matches!(it, Event::Text(_));
        let is_second = {
            let mut answers = 0;
            move |it: &Event| {
                answers += u32::from(matches!(it, Event::Calling(_)));
                (answers == 2 && matches!(it, Event::Text(_)))
                    .then(|| Input::Steer("Say it in French.".to_owned()))
            }
        };
        let steer = Input::Steer("Keep the note.".to_owned());
        let front = Front::default().when(is_text, steer).at(is_second);
        let ran = stage.run_with(supervisor(), front).await;
        let sent = stage.sent();
        assert_eq!(sent.len(), 3, "{}", stage.kind);
        // The stream was read to its end, with its call.
        assert!(sent[1].news().contains("Remember the milk."), "{}", stage.kind);
        assert!(sent[1].news().contains("Keep the note."), "{}", stage.kind);
        assert!(!sent[0].text().contains("Keep the note."), "{}", stage.kind);
        // A message that arrives with the last answer makes it no last answer.
        assert!(sent[2].news().contains("Say it in French."), "{}", stage.kind);
        assert_eq!(ran.ended.answer, "In French, too.", "{}", stage.kind);
    });
}

#[test]
fn a_question_suspends_the_turn_and_the_reply_goes_on_with_the_same_plan() {
    let script = || {
        Script::new()
            .calls_all([todos(&["A"]), next()])
            .stops("Which colour do you want?")
            .calls_all([complete(1)])
            .stops("It is blue.")
    };
    each(script, |stage| async move {
        let stage = stage.attended();
        let mut session = stage.session(attended()).await;
        let asked = stage.turn(&mut session, super::REQUEST, Front::default()).await;
        assert_eq!((&asked.ended.ending, asked.ended.exit()), (&Ending::Asked, 7));
        assert_eq!(asked.ended.answer, "Which colour do you want?");
        let store = stage.world.place.engine.store();
        let state = store.conversation(session.id()).await.unwrap().state;
        assert_eq!(state, punchlist_model::store::turns::ConversationState::Asked);
        let ran = stage.turn(&mut session, "Blue.", Front::default()).await;
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::Answered, 0));
        let plans = [asked, ran].map(|it| it.ended.plan.unwrap().id);
        assert_eq!(plans[0], plans[1], "{}", stage.kind);
        assert_eq!(store.turns(session.id()).await.unwrap().len(), 1, "{}", stage.kind);
        let reply = stage.sent()[2].news();
        assert!(reply.contains("Blue.") && reply.contains("[in_progress]"), "{reply}");
        assert!(reply.contains(super::REQUEST), "{}: {reply}", stage.kind);
    });
}

#[test]
fn a_person_is_asked_before_a_call_that_no_rule_allows() {
    let script = Script::new().calls_all([shell("touch made")]).stops("Made.");
    one(script, |stage| async move {
        let mut stage = stage.attended();
        stage.world.tools.policy = Policy::default();
        let front = Front::default().at(|it| {
            let Event::Asked { asked, .. } = it else { return None };
            Some(Input::Answer(asked.id, Answer::Once))
        });
        let ran = stage.run_with(attended(), front).await;
        assert_eq!(ran.ended.answer, "Made.");
        assert!(stage.path("made").exists());
    });
}

#[test]
fn where_nobody_can_be_asked_the_call_is_refused_and_the_model_is_told() {
    let script = Script::new().calls_all([shell("touch made")]).stops("It was refused.");
    one(script, |mut stage| async move {
        stage.world.tools.policy = Policy::default();
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.answer, "It was refused.");
        assert!(!stage.path("made").exists());
        let news = stage.sent()[1].news();
        assert!(news.contains("nobody") || news.contains("not allowed"), "{news}");
    });
}
