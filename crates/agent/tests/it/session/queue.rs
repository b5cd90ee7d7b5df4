//! The queue of a session: what waits, when it is taken, when it pauses, and what steering does.

use std::sync::Arc;
use std::time::Duration;

use punchlist_agent::session::{Event, Idle, Input, JsonEvents, Queue, QueueChange};
use punchlist_agent::turn::Ending;
use punchlist_model::ConversationId;
use punchlist_testkit::model::{Message, Script};
use serde_json::{Value, json};

use super::front_end::Front;
use super::{Stage, complete, one, results, shell, supervisor, todos};

fn is_text(event: &Event) -> bool {
    matches!(event, Event::Text(_))
}

fn queue(text: &str) -> Input {
    Input::Queue(text.to_owned())
}

impl Stage {
    fn queue(&self, id: ConversationId) -> Queue {
        let store = Arc::clone(self.world.place.engine.store());
        Queue::new(store, Arc::new(self.clock.clone()), id)
    }

    pub(super) async fn waiting(&self, id: ConversationId) -> Vec<String> {
        let waiting = self.queue(id).waiting().await.unwrap();
        waiting.into_iter().map(|it| it.text).collect()
    }
}

/// A slow answer, so that there is time to say something.
fn slow(text: &str) -> Message {
    Message::new().says(text).paced(Duration::from_millis(5))
}

/// What changed in the queue, in a word each.
fn changes(events: &[Event]) -> Vec<String> {
    let words = events.iter().filter_map(|it| {
        let Event::Queued(it) = it else { return None };
        Some(match &it.change {
            QueueChange::Added(it) => format!("added {}", it.text),
            QueueChange::Edited(it) => format!("edited {}", it.text),
            QueueChange::Removed(it) => format!("removed {}", it.text),
            QueueChange::Taken(it) => format!("taken {}", it.text),
            QueueChange::Reordered => "reordered".to_owned(),
            QueueChange::Paused(true) => "paused".to_owned(),
            QueueChange::Paused(false) => "goes on".to_owned(),
        })
    });
    words.collect()
}

#[test]
fn messages_wait_until_the_turn_has_ended_and_are_taken_one_by_one() {
    let script =
        Script::new().turn(slow("One, two, three, four.")).stops("Second.").stops("Third.");
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let front = Front::default().when(is_text, queue("second")).when(is_text, queue("third"));
        let ran = stage.turn(&mut session, "first", front).await;
        assert_eq!(stage.sent().len(), 1, "the messages wait");
        assert_eq!(changes(&ran.events), ["added second", "added third"]);
        assert_eq!(stage.waiting(session.id()).await, ["second", "third"]);

        let mut front = Front::default();
        let ended = session.next(&mut front).await.unwrap().unwrap();
        assert_eq!((ended.ending, ended.answer.as_str()), (Ending::Answered, "Second."));
        assert_eq!(stage.waiting(session.id()).await, ["third"]);
        assert_eq!(changes(&front.events), ["taken second"]);
        assert!(stage.sent()[1].news().contains("second"));
        let ended = session.work_off(&mut Front::default()).await.unwrap().unwrap();
        assert_eq!(ended.answer, "Third.");
        assert!(session.next(&mut Front::default()).await.unwrap().is_none());
        let turns = stage.world.place.engine.store().turns(session.id()).await.unwrap();
        assert_eq!(turns.len(), 3);
    });
}

#[test]
fn the_queue_pauses_after_an_abort_and_goes_on_after_a_turn_that_ends_well() {
    let script = Script::new()
        .turn(Message::new().says("I am still ").hangs())
        .stops("Well.")
        .stops("And the rest.");
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let id = session.id();
        let added = |it: &Event| matches!(it, Event::Queued(_));
        let front = Front::default().when(is_text, queue("the rest")).when(added, Input::Abort);
        let ran = stage.turn(&mut session, "first", front).await;
        assert_eq!(changes(&ran.events), ["added the rest", "paused"]);
        assert!(session.next(&mut Front::default()).await.unwrap().is_none());
        // It stays paused over a restart.
        session.close().await.unwrap();
        assert!(stage.queue(id).is_paused().await.unwrap());
        let world = stage.world.clone();
        let mut session = punchlist_agent::session::Session::open(world, id).await.unwrap();
        assert!(session.next(&mut Front::default()).await.unwrap().is_none());
        // The next turn that ends well takes it up again; so does the user.
        let ran = stage.turn(&mut session, "again", Front::default()).await;
        assert_eq!(ran.ended.answer, "Well.");
        assert_eq!(changes(&ran.events), ["added the rest", "paused", "goes on"]);
        stage.queue(id).pause(true).await.unwrap();
        assert!(session.next(&mut Front::default()).await.unwrap().is_none());
        stage.queue(id).pause(false).await.unwrap();
        let ended = session.next(&mut Front::default()).await.unwrap().unwrap();
        assert_eq!(ended.answer, "And the rest.");
    });
}

#[test]
fn steering_that_meets_no_further_call_becomes_the_first_queued_message() {
    let script = Script::new().turn(Message::new().says("I am still ").hangs());
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let steered = |it: &Event| matches!(it, Event::Queued(it) if it.waiting.len() == 2);
        let front = Front::default()
            .when(is_text, queue("later"))
            .when(is_text, Input::Steer("at once".to_owned()))
            .when(steered, Input::Abort);
        stage.turn(&mut session, "first", front).await;
        let waiting = stage.queue(session.id()).waiting().await.unwrap();
        let waiting: Vec<(&str, bool)> =
            waiting.iter().map(|it| (it.text.as_str(), it.steer)).collect();
        assert_eq!(waiting, [("at once", false), ("later", false)]);
    });
}

#[test]
fn what_cannot_be_queued_is_told_and_comes_back() {
    let script = Script::new().turn(slow("One, two, three, four."));
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let front = Front::default().when(is_text, queue(" \n ")).when(is_text, queue("kept"));
        let ran = stage.turn(&mut session, "first", front).await;
        let not_queued = ran.events.iter().find_map(|it| {
            let Event::NotQueued { text, why } = it else { return None };
            Some((text.as_str(), why.as_str()))
        });
        assert_eq!(not_queued, Some((" \n ", "the message is empty")));
        assert_eq!(stage.waiting(session.id()).await, ["kept"]);
    });
}

#[test]
fn a_message_from_elsewhere_wakes_an_idle_session() {
    one(Script::new().stops("Woken."), |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let queue = stage.queue(session.id());
        let mut front = Front::default();
        let elsewhere = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            queue.add("wake up".to_owned(), false).await.unwrap();
        };
        let (idle, ()) = tokio::join!(session.idle(&mut front), elsewhere);
        assert_eq!(idle.unwrap(), Idle::Message);
        assert_eq!(changes(&front.events), ["added wake up"]);
        let ended = session.next(&mut front).await.unwrap().unwrap();
        assert_eq!(ended.answer, "Woken.");
        // What the user says in an idle session is a request, and leaving ends the wait.
        let mut front = Front::default().when(|_| true, Input::Queue("now this".to_owned()));
        front.act();
        assert_eq!(session.idle(&mut front).await.unwrap(), Idle::Request("now this".to_owned()));
        let mut front = Front::default().when(|_| true, Input::Abort);
        front.act();
        assert_eq!(session.idle(&mut front).await.unwrap(), Idle::Left);
    });
}

#[test]
fn a_message_from_before_a_question_is_not_its_answer() {
    let script =
        Script::new().turn(slow("Which colour do you want?")).stops("Blue it is.").stops("Tea.");
    one(script, |stage| async move {
        let stage = stage.attended();
        let mut session = stage.session(super::supervisor::attended()).await;
        let front = Front::default().when(is_text, queue("make tea"));
        let ran = stage.turn(&mut session, "paint it", front).await;
        assert_eq!(ran.ended.ending, Ending::Asked);
        assert!(session.next(&mut Front::default()).await.unwrap().is_none());
        stage.queue(session.id()).add("blue".to_owned(), false).await.unwrap();
        let ended = session.next(&mut Front::default()).await.unwrap().unwrap();
        assert_eq!(ended.answer, "Blue it is.");
        assert_eq!(stage.world.place.engine.store().turns(session.id()).await.unwrap().len(), 1);
        assert_eq!(stage.waiting(session.id()).await, ["make tea"]);
        let ended = session.next(&mut Front::default()).await.unwrap().unwrap();
        assert_eq!(ended.answer, "Tea.");
    });
}

#[test]
fn programs_are_told_of_each_change_of_the_queue() {
    let script = Script::new().turn(slow("One, two, three, four.")).stops("Second.");
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let front = Front::default().when(is_text, queue("second"));
        let ran = stage.turn(&mut session, "first", front).await;
        let mut front = Front::default();
        front.events = ran.events;
        session.next(&mut front).await.unwrap().unwrap();
        let mut events = JsonEvents::new(session.id());
        let mut lines = Vec::new();
        for event in &front.events {
            lines.extend(events.event(event, punchlist_model::Timestamp::UNIX_EPOCH));
        }
        let lines = String::from_utf8(lines).unwrap();
        let told = lines.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
        let told: Vec<Value> = told
            .filter(|it| ["message.queued", "turn.started"].contains(&it["type"].as_str().unwrap()))
            .map(|mut it| {
                assert_eq!(it["messageId"].is_string(), it["type"] == "message.queued");
                json!([
                    it["type"].take(),
                    it["change"].take(),
                    it["text"].take(),
                    it["prompt"].take()
                ])
            })
            .collect();
        let expected = [
            json!(["turn.started", null, null, "first"]),
            json!(["message.queued", null, "second", null]),
            json!(["turn.started", null, null, "second"]),
            json!(["message.queued", "taken", "second", null]),
        ];
        assert_eq!(told, expected);
    });
}

/// A worker that waits until there is a file `go`, and answers with its text.
fn with_worker(stage: Stage) -> Stage {
    let command = "echo > begun; while [ ! -e go ]; do sleep 0.05; done; cat go";
    super::delegating::with_worker(stage, json!({"kind": "shell", "command": command}))
}

fn delegate(task: &str) -> (&'static str, Value) {
    ("delegate", json!({"todoId": "1", "agentType": "w", "task": task}))
}

#[test]
fn steering_ends_the_waiting_for_a_worker_and_not_the_worker() {
    let script = Script::new()
        .calls_all([todos(&["A"])])
        // The other call of the answer runs to its end.
        .calls_all([
            delegate("Do it."),
            shell("while [ ! -e begun ]; do sleep 0.05; done; echo ok"),
        ])
        .calls_all([delegate("How far is it?")])
        .calls_all([complete(1)])
        .stops("Done.");
    one(script, |stage| async move {
        let stage = with_worker(stage);
        let mut session = stage.session(supervisor()).await;
        let begins = |it: &Event| matches!(it, Event::CallStarted(call) if call.tool == "delegate");
        let go = stage.path("go");
        let front =
            Front::default().when(begins, Input::Steer("Be quick.".to_owned())).at(move |it| {
                let is_second =
                    matches!(it, Event::CallStarted(call) if call.id.0.starts_with("t1a3"));
                if is_second {
                    std::fs::write(&go, "All is well.").unwrap();
                }
                None
            });
        let ran = stage.turn(&mut session, super::REQUEST, front).await;
        let sent = stage.sent();
        assert_eq!(sent.len(), 5);
        let told = results(&sent[2]);
        assert!(told[0].starts_with("still running"), "{told:?}");
        assert!(told[1].contains("ok"), "{told:?}");
        assert!(sent[2].news().contains("Be quick."));
        let told = results(&sent[3]);
        assert!(told[0].contains("All is well.") && told[0].contains("Item 1 is open"), "{told:?}");
        assert_eq!(ran.list(), ["completed A"]);
        assert_eq!(ran.ended.ending, Ending::Answered);
    });
}

#[test]
fn a_worker_that_was_left_running_ends_with_the_turn() {
    let script = Script::new()
        .calls_all([todos(&["A"])])
        .calls_all([delegate("Do it.")])
        .turn(Message::new().says("I wonder ").hangs());
    one(script, |stage| async move {
        let stage = with_worker(stage);
        let mut session = stage.session(supervisor()).await;
        let begins = |it: &Event| matches!(it, Event::CallStarted(call) if call.tool == "delegate");
        let front = Front::default()
            .when(begins, Input::Steer("Stop that.".to_owned()))
            .when(is_text, Input::Abort);
        let ran = stage.turn(&mut session, super::REQUEST, front).await;
        assert_eq!(ran.list(), ["pending A"]);
        let entries = stage.entries(&ran).await;
        let said = serde_json::to_string(&entries.iter().map(|it| &it.entry).collect::<Vec<_>>());
        assert!(said.unwrap().contains("w was stopped: the turn has ended"));
    });
}

#[test]
fn steering_never_cuts_the_stream_and_the_calls_of_that_response_still_run() {
    let (tool, arguments) = shell("touch made");
    let script = Script::new()
        .turn(slow("One, two, three, four, five, six.").calls(tool, arguments))
        .stops("As you say.");
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let front = Front::default().when(is_text, Input::Steer("rather red".to_owned()));
        let ran = stage.turn(&mut session, "first", front).await;
        let answered = ran.events.iter().find_map(|it| {
            let Event::Answered { text, .. } = it else { return None };
            Some(text.clone())
        });
        assert_eq!(answered.as_deref(), Some("One, two, three, four, five, six."));
        assert!(stage.path("made").exists(), "its call has run");
        let sent = stage.sent();
        assert_eq!(sent.len(), 2);
        assert!(!sent[0].text().contains("rather red"));
        assert!(sent[1].text().contains("rather red"), "{}", sent[1].text());
        assert_eq!(results(&sent[1]).len(), 1, "the call has its result");
    });
}

#[test]
fn an_edit_or_removal_that_crosses_the_taking_is_told() {
    let script = Script::new().stops("First.").turn(slow("One, two, three, four, five."));
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        stage.turn(&mut session, "first", Front::default()).await;
        let queue = stage.queue(session.id());
        let id = queue.add("second".to_owned(), false).await.unwrap();
        session.next(&mut Front::default()).await.unwrap().unwrap();
        let turns = stage.world.place.engine.store().turns(session.id()).await.unwrap();
        assert_eq!(turns[1].id, id.to_string(), "the turn is named after its message");
        for refused in [queue.edit(id, "too late".to_owned()).await, queue.remove(id).await] {
            let why = refused.unwrap_err().message;
            assert!(why.contains("was taken meanwhile: the agent works on it"), "{why}");
        }
    });
}

#[test]
fn a_message_is_not_taken_while_the_conversation_is_being_summarised() {
    let script = Script::new().stops("First.").turn(slow("SUMMARY of it all.")).stops("Second.");
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        stage.turn(&mut session, "first", Front::default()).await;
        let begins = |it: &Event| matches!(it, Event::Compacting);
        let mut front = Front::default().when(begins, queue("second"));
        session.compact(None, &mut front).await.unwrap();
        assert_eq!(stage.waiting(session.id()).await, ["second"]);
        assert!(!front.events.iter().any(|it| matches!(it, Event::Began { .. })));
        let ended = session.next(&mut Front::default()).await.unwrap().unwrap();
        assert_eq!(ended.answer, "Second.");
        assert!(stage.sent()[2].text().contains("SUMMARY of it all."));
    });
}
