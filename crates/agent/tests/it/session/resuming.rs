//! A turn that was cut off goes on where it was, in another process.

use std::sync::Arc;

use punchlist_agent::session::{Event, Session};
use punchlist_agent::turn::Ending;
use punchlist_sched::call::Ended;
use punchlist_sched::{Tool, tool_fn};
use punchlist_testkit::model::{Message, Script};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::front_end::Front;
use super::{LIMIT, REQUEST, Ran, check_record, one, steps};

/// A tool `read` that never ends.
fn stuck() -> Arc<dyn Tool> {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let stuck = tool_fn("read", schema, |_: Value, _| std::future::pending::<Ended>());
    Arc::new(stuck.harmless())
}

#[test]
fn a_tool_that_was_not_offered_is_not_run_after_a_crash_either() {
    let add = json!({"action": "add_multiple", "todos": [{"content": "A"}]});
    let write = json!({"path": "early.txt", "content": "x"});
    let calls = Message::new()
        .calls("todo_manager", add)
        .calls("read", json!({"path": "note.txt"}))
        .calls("write", write);
    let script = Script::new()
        .stops(r#"{"isSimple": false}"#)
        .turn(calls)
        .stops("That is the plan.")
        .stops("A is done.")
        .stops(r#"{"isComplete": true, "reasoning": "done"}"#);
    one(script, |stage| async move {
        let mut world = stage.world.clone();
        world.tools.all.retain(|it| it.name() != "read");
        world.tools.all.push(stuck());
        let mut session = Session::create(world, steps(), REQUEST).await.unwrap();
        let id = session.id();
        let begun = Arc::new(Notify::new());
        let tells = Arc::clone(&begun);
        let mut front = Front::default().at(move |it| {
            if matches!(it, Event::CallStarted(call) if call.tool == "read") {
                tells.notify_one();
            }
            None
        });
        tokio::select! {
            ended = session.request(REQUEST, &mut front) => panic!("{:?}", ended.is_ok()),
            () = begun.notified() => {}
            () = tokio::time::sleep(LIMIT) => panic!("the tool did not begin"),
        }
        drop(session);
        // Nobody has heard of the other process for a while.
        stage.clock.advance(2);
        let mut session = Session::open(stage.world.clone(), id).await.unwrap();
        let mut front = Front::default();
        let ended = tokio::time::timeout(LIMIT, session.resume(&mut front)).await.unwrap();
        let ended = ended.unwrap().unwrap();
        let ran = Ran { ended, events: front.events, session: id };
        let knows_plan = ran.events.iter().any(
            |it| matches!(it, Event::Began { plan: Some(plan), .. } if plan.listed().len() == 1),
        );
        assert!(knows_plan, "the front end is told the plan so far");
        check_record(&stage.entries(&ran).await);
        assert_eq!(
            (&ran.ended.ending, ran.list()),
            (&Ending::Answered, vec!["completed A".to_owned()])
        );
        assert!(!stage.path("early.txt").exists());
        let results = super::results(&stage.sent()[2]);
        assert!(results[0].contains("\"ok\":true"), "{results:?}");
        assert!(results[1].contains("It may have happened; check first."), "{results:?}");
        assert!(results[2].contains("write is not offered now"), "{results:?}");
    });
}
