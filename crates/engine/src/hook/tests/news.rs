//! Storing that a session was seen: once, in the same write as the event's result.

use punchlist_model::Process;
use punchlist_model::guard::Turn;
use serde_json::json;

use super::Desk;

/// A desk whose session has two tasks and was last seen some time ago.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.create("2", "B");
    desk.clock.set(desk.clock.get() + 400);
    desk
}

#[track_caller]
fn check(what: &str, event: impl Fn(&Desk)) {
    let desk = desk();
    let before = desk.session("s1").version;
    event(&desk);
    let after = desk.session("s1");
    assert_eq!(after.version, before + 1, "{what}: it is written once");
    assert_eq!(after.seen_at, desk.now(), "{what}");
}

#[test]
fn it_is_written_once_whatever_the_event_comes_to() {
    let batch = json!({"tool_calls": [{"tool_name": "Bash", "tool_response": "x"}]});
    check("nothing", |desk| assert_eq!(desk.event("PostToolBatch", batch.clone()), None));
    check("a prompt", |desk| assert_eq!(desk.prompt(), None));
    check("a change", |desk| desk.update("1", json!({"status": "completed"})));
    check("a new task", |desk| desk.create("3", "C"));
    check("a task that is gone", |desk| desk.update("2", json!({"status": "deleted"})));
    check("stop", |desk| assert!(desk.stop("Done.").is_some()));
    check("a list", |desk| assert_eq!(desk.todos(None, &["pending A", "completed B"]), None));
    check("a look", |desk| desk.used("TaskList", json!({}), json!({"tasks": []})));
}

#[test]
fn what_is_remembered_and_what_is_new_both_stay() {
    let desk = desk();
    assert!(desk.stop("Done.").is_some());
    let session = desk.session("s1");
    assert_ne!(session.memory.turn, Turn::Fresh);
    assert_eq!(session.memory.mirrored.len(), 2);
    desk.clock.set(desk.clock.get() + 400);
    desk.create("3", "C");
    let session = desk.session("s1");
    assert_eq!((session.memory.mirrored.len(), session.seen_at), (3, desk.now()));
    desk.check(&["[ ] 1 A", "[ ] 2 B", "[ ] 3 C"]);
}

#[test]
fn a_session_that_begins_is_written_before_others_are_looked_at() {
    let (host, boot_id) = ("elsewhere".to_owned(), "boot".to_owned());
    let process = Process { host, boot_id, pid_namespace: 1, pid: 10, start_time: 1 };
    let desk = Desk { process: Some(process), ..Desk::new() };
    let create = |session: &str| {
        let fields = json!({"tool_name": "TaskCreate", "tool_input": {"subject": "A"},
            "tool_response": {"task": {"id": "1", "subject": "A"}}});
        desk.of(session, "PostToolUse", fields);
    };
    create("s1");
    // The process switches to another session and back. The other session never reported its end;
    // that it is over follows from the stored record of the first.
    create("s2");
    let said = desk.starts("s1", "resume").unwrap();
    assert!(said.contains("still open from an earlier session"), "{said}");
}
