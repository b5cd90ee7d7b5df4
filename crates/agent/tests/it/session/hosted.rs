//! A session that runs as a task of its own, as the terminal UI uses it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use punchlist_agent::session::{Event, Hosted, Input, Report};
use punchlist_agent::turn::Ending;
use punchlist_model::ConversationId;
use punchlist_testkit::model::{Message, Script};
use serde_json::json;
use tokio::task::LocalSet;

use super::{LIMIT, Stage, one, supervisor};

/// Waits for the first report for which the function returns something.
async fn until<T>(hosted: &mut Hosted, find: impl Fn(&Report) -> Option<T>) -> T {
    let search = async {
        loop {
            let report = hosted.next().await.unwrap();
            if let Some(found) = find(&report) {
                return found;
            }
        }
    };
    tokio::time::timeout(LIMIT, search).await.unwrap()
}

async fn answer(hosted: &mut Hosted) -> String {
    until(hosted, |it| match it {
        Report::Event(Event::Ended(ended)) => {
            assert_eq!(ended.ending, Ending::Answered);
            Some(ended.answer.clone())
        }
        Report::Event(_) | Report::Opened { .. } | Report::Idle | Report::Failed(..) => None,
    })
    .await
}

async fn text(hosted: &mut Hosted) {
    until(hosted, |it| matches!(it, Report::Event(Event::Text(_))).then_some(())).await;
}

fn queue(text: &str) -> Input {
    Input::Queue(text.to_owned())
}

async fn stored(stage: &Stage) -> usize {
    let store = stage.world.place.engine.store();
    store.conversations(Default::default()).await.unwrap().len()
}

#[test]
fn the_first_message_begins_the_session_and_the_next_ones_wait_for_their_turn() {
    let slow = Message::new().says("One, two, three.").paced(Duration::from_millis(5));
    let script = Script::new().turn(slow).stops("Second.").stops("Third.");
    one(script, |stage| async move {
        let set = LocalSet::new();
        set.run_until(async {
            let mut hosted =
                Box::pin(Hosted::start(stage.world.clone(), supervisor(), None)).await.unwrap();
            until(&mut hosted, |it| matches!(it, Report::Idle).then_some(())).await;
            assert_eq!(stored(&stage).await, 0, "nothing is stored before the first message");
            hosted.send(queue("first")).unwrap();
            hosted.send(queue("second")).unwrap();
            text(&mut hosted).await;
            hosted.send(queue("third")).unwrap();
            for expected in ["One, two, three.", "Second.", "Third."] {
                assert_eq!(answer(&mut hosted).await, expected);
            }
            hosted.close().await;
            assert_eq!(stored(&stage).await, 1);
        })
        .await;
    });
}

#[test]
fn a_blank_message_comes_back_and_begins_nothing() {
    one(Script::new(), |stage| async move {
        let set = LocalSet::new();
        set.run_until(async {
            let mut hosted =
                Box::pin(Hosted::start(stage.world.clone(), supervisor(), None)).await.unwrap();
            hosted.send(queue("  ")).unwrap();
            let back = until(&mut hosted, |it| match it {
                Report::Failed(why, text) => Some((why.message.clone(), text.clone())),
                Report::Opened { .. } | Report::Event(_) | Report::Idle => None,
            });
            assert_eq!(back.await, ("the message is empty".to_owned(), Some("  ".to_owned())));
            hosted.close().await;
            assert_eq!(stored(&stage).await, 0);
        })
        .await;
    });
}

/// The id of the session, and how many entries are recorded, when it is open.
async fn opened(hosted: &mut Hosted) -> (ConversationId, usize) {
    until(hosted, |it| match it {
        Report::Opened { id, entries, .. } => Some((*id, entries.len())),
        Report::Event(_) | Report::Idle | Report::Failed(..) => None,
    })
    .await
}

#[test]
fn closing_ends_the_turn_and_another_process_can_go_on_with_the_session() {
    let slow = Message::new().says("One, two, three, four.").paced(Duration::from_millis(500));
    let script = Script::new().turn(slow).stops("Back.");
    one(script, |stage| async move {
        let set = LocalSet::new();
        set.run_until(async {
            let mut hosted =
                Box::pin(Hosted::start(stage.world.clone(), supervisor(), None)).await.unwrap();
            hosted.send(queue("first")).unwrap();
            let (id, _) = opened(&mut hosted).await;
            text(&mut hosted).await;
            tokio::time::timeout(LIMIT, hosted.close()).await.unwrap();
            let mut hosted =
                Hosted::start(stage.world.clone(), supervisor(), Some(id)).await.unwrap();
            let (_, entries) = opened(&mut hosted).await;
            assert!(entries > 0, "what happened before is there");
            hosted.send(queue("again")).unwrap();
            assert_eq!(answer(&mut hosted).await, "Back.");
            hosted.close().await;
            assert_eq!(stored(&stage).await, 1, "it is the same session");
        })
        .await;
    });
}

/// What could not be done, and the text that came back.
async fn failed(hosted: &mut Hosted) -> (String, Option<String>) {
    until(hosted, |it| match it {
        Report::Failed(why, text) => Some((why.message.clone(), text.clone())),
        Report::Opened { .. } | Report::Event(_) | Report::Idle => None,
    })
    .await
}

#[test]
fn a_session_that_another_process_runs_is_refused_before_anything_is_closed() {
    one(Script::new().stops("One.").stops("Two."), |stage| async move {
        let set = LocalSet::new();
        set.run_until(async {
            let mut hosted =
                Box::pin(Hosted::start(stage.world.clone(), supervisor(), None)).await.unwrap();
            hosted.send(queue("first")).unwrap();
            let (id, _) = opened(&mut hosted).await;
            let Err(why) =
                Box::pin(Hosted::start(stage.world.clone(), supervisor(), Some(id))).await
            else {
                panic!("two processes would run it");
            };
            assert!(why.message.contains("is run by another process"), "{}", why.message);
            assert_eq!(answer(&mut hosted).await, "One.");
            hosted.send(queue("second")).unwrap();
            assert_eq!(answer(&mut hosted).await, "Two.", "the other one goes on");
            hosted.close().await;
            assert_eq!(stored(&stage).await, 1);
        })
        .await;
    });
}

#[test]
fn a_message_for_which_no_session_can_be_created_comes_back_and_the_next_one_begins_it() {
    one(Script::new().stops("Now."), |stage| async move {
        let set = LocalSet::new();
        set.run_until(async {
            let mut hosted =
                Box::pin(Hosted::start(stage.world.clone(), supervisor(), None)).await.unwrap();
            stage.clock.has_no_ids.store(true, Ordering::Relaxed);
            hosted.send(queue("first")).unwrap();
            let (_, text) = failed(&mut hosted).await;
            assert_eq!(text.as_deref(), Some("first"));
            stage.clock.has_no_ids.store(false, Ordering::Relaxed);
            hosted.send(queue("first")).unwrap();
            assert_eq!(answer(&mut hosted).await, "Now.");
            hosted.close().await;
            assert_eq!(stored(&stage).await, 1);
        })
        .await;
    });
}

#[test]
fn a_goal_is_the_goal_of_the_turns_plan_and_not_of_later_ones() {
    let items = json!({"items": [{"title": "Paint the door"}]});
    let script = Script::new()
        .calls("create_todo", items.clone())
        .calls("complete_todo", json!({"todoId": "1", "outcome": "blue"}))
        .calls("goal_met", json!({"reason": "the door is blue"}))
        .stops("It is blue.")
        .calls("create_todo", items)
        .calls("complete_todo", json!({"todoId": "1", "outcome": "red"}))
        .stops("It is red.");
    one(script, |stage| async move {
        let set = LocalSet::new();
        set.run_until(async {
            let mut hosted =
                Box::pin(Hosted::start(stage.world.clone(), supervisor(), None)).await.unwrap();
            let goal = async |hosted: &mut Hosted| {
                until(hosted, |it| match it {
                    Report::Event(Event::Ended(ended)) => {
                        let plan = ended.plan.clone().unwrap();
                        Some(plan.goal.as_ref().map(|it| (it.statement.clone(), it.met.is_some())))
                    }
                    Report::Event(_)
                    | Report::Opened { .. }
                    | Report::Idle
                    | Report::Failed(..) => None,
                })
                .await
            };
            hosted.send(Input::Goal("the door is blue".to_owned())).unwrap();
            assert_eq!(goal(&mut hosted).await, Some(("the door is blue".to_owned(), true)));
            hosted.send(queue("Paint it red")).unwrap();
            assert_eq!(goal(&mut hosted).await, None);
            hosted.close().await;
            assert_eq!(stored(&stage).await, 1);
        })
        .await;
    });
}
