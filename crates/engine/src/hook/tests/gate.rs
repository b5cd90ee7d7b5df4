//! Whether a turn may end: the agent's events and the answers.

use punchlist_model::guard::Gate;
use punchlist_model::session::{Kept, SessionStore};
use punchlist_model::{
    Budget, Check, End, Goal, Item, ItemRef, Level, Mark, NewItem, Number, Op, Origin, PlanPatch,
    Rules,
};
use serde_json::{Value, json};

use super::{Desk, lines, settle};

/// A session with two open tasks and a completed one.
fn busy() -> Desk {
    let desk = Desk::new();
    desk.prompt();
    for (id, subject) in [("1", "Design"), ("2", "Build"), ("3", "Test")] {
        desk.create(id, subject);
    }
    desk.update("1", json!({"status": "completed"}));
    desk.update("2", json!({"status": "in_progress"}));
    desk
}

#[test]
fn a_stop_with_open_items_is_refused_in_the_agents_own_words() {
    insta::assert_snapshot!(busy().stop("Done.").unwrap());
}

#[test]
fn once_everything_is_settled_the_turn_may_end() {
    let desk = busy();
    assert!(desk.stop("Done.").is_some());
    desk.update("2", json!({"status": "completed"}));
    let deleted = json!({"success": true, "taskId": "3", "statusChange": {"to": "deleted"}});
    desk.used("TaskUpdate", json!({"taskId": "3", "status": "deleted"}), deleted);
    assert_eq!(desk.stop("Now really."), None);
    assert_eq!(desk.plan().end, End::Drained);
}

/// Stops until the turn is let go, at most 30 times, and calls `between` before each stop.
fn refusals(desk: &Desk, mut between: impl FnMut(usize)) -> usize {
    (0..30)
        .take_while(|n| {
            between(*n);
            desk.stop("Done.").is_some()
        })
        .count()
}

#[test]
fn an_agent_that_resolves_nothing_is_let_go_and_the_plan_says_so() {
    let desk = busy();
    assert_eq!(refusals(&desk, |_| {}), 3);
    let plan = desk.plan();
    assert_eq!(plan.end, End::Stopped);
    let parked = |n: u32| plan.get(Number(n)).unwrap().marks.contains(&Mark::Parked);
    assert_eq!([1, 2, 3].map(parked), [false, true, true]);
    // Parked items hold no further stop, even after the next prompt, until somebody changes them.
    desk.prompt();
    assert_eq!(desk.stop("Done."), None);
    desk.update("3", json!({"description": "more"}));
    assert!(desk.stop("Done.").unwrap().contains("1 of 3 items is open"));
}

#[test]
fn an_agent_that_adds_and_completes_trivia_is_let_go() {
    let desk = busy();
    let count = refusals(&desk, |n| {
        let id = (100 + n).to_string();
        desk.create(&id, "Trivia");
        desk.update(&id, json!({"status": "completed"}));
    });
    assert_eq!(count, 3);
}

#[test]
fn an_agent_that_cancels_its_way_out_is_let_go() {
    let desk = Desk::new();
    for id in 1..=20 {
        desk.create(&id.to_string(), "Work");
    }
    let count = refusals(&desk, |n| {
        let deleted = json!({"success": true, "taskId": (n + 1).to_string(), "statusChange": {"to": "deleted"}});
        desk.used("TaskUpdate", json!({"taskId": (n + 1).to_string()}), deleted);
    });
    assert_eq!(count, 8);
    assert_eq!(desk.plan().end, End::Stopped);
}

#[test]
fn the_count_begins_anew_with_each_prompt_and_not_with_what_the_agent_says() {
    let desk = busy();
    assert!(desk.stop_with(json!({"stop_hook_active": false})).is_some());
    assert!(desk.stop_with(json!({"stop_hook_active": false})).is_some());
    assert!(desk.stop_with(json!({"stop_hook_active": true})).is_some());
    desk.prompt();
    assert_eq!(refusals(&desk, |_| {}), 3);
}

/// Items that the governor parked are no progress of the agent. Otherwise each wake-up would allow
/// three more refusals.
#[test]
fn an_agent_that_is_woken_and_adds_items_is_not_held_anew_within_a_prompt() {
    let desk = Desk::new();
    desk.prompt();
    desk.create("1", "A");
    let mut refused = 0;
    for id in 100..114 {
        if desk.stop("Done.").is_some() {
            refused += 1;
        } else {
            let woken = json!({"prompt": "<task-notification>\n<task-id>x</task-id>"});
            assert_eq!(desk.event("UserPromptSubmit", woken), None);
            desk.create(&id.to_string(), "One more");
        }
    }
    assert_eq!(refused, 3);
    desk.prompt();
    assert!(
        desk.stop("Done.").unwrap().contains("One more"),
        "the user's prompt is another matter"
    );
}

#[test]
fn interactive_sessions_are_refused_once() {
    for (interactive, expected) in [(Some(true), 1), (None, 1), (Some(false), 3)] {
        let mut desk = busy();
        desk.interactive = interactive;
        if interactive.is_none() {
            // A session keeps what was known before, so this needs a new one.
            desk = Desk { interactive: None, ..Desk::new() };
            desk.create("1", "A");
        }
        assert_eq!(refusals(&desk, |_| {}), expected, "{interactive:?}");
    }
}

#[test]
fn the_users_setting_stands_above_the_default_and_the_sessions_above_that() {
    for (setting, override_, expected) in [
        (Some(Gate::Off), None, 0),
        (Some(Gate::Once), None, 1),
        (Some(Gate::Full), None, 3),
        (Some(Gate::Full), Some(Gate::Off), 0),
        (Some(Gate::Off), Some(Gate::Once), 1),
    ] {
        let mut desk = busy();
        desk.gate = setting;
        let mut session = desk.session("s1");
        session.memory.gate = override_;
        assert!(matches!(settle(desk.store.keep(session)).unwrap(), Kept::Stored(_)));
        assert_eq!(refusals(&desk, |_| {}), expected, "{setting:?} {override_:?}");
    }
}

#[test]
fn plan_mode_questions_and_background_agents_pass() {
    let task = |kind: &str, status: &str| json!({"background_tasks": [{"id": "a", "type": kind, "status": status, "description": "x"}]});
    for (fields, passes) in [
        (json!({"permission_mode": "plan"}), true),
        (json!({"permission_mode": "acceptEdits"}), false),
        (json!({"last_assistant_message": "Which database do you want?"}), true),
        (json!({"last_assistant_message": "どちらにしますか？"}), true),
        (json!({"last_assistant_message": "هل أتابع؟"}), true),
        (json!({"last_assistant_message": "Να συνεχίσω;"}), true),
        (json!({"last_assistant_message": "Should I go on? (y/n)"}), true),
        (json!({"last_assistant_message": "All clear.\n\nProceed? [y/N]"}), true),
        (json!({"last_assistant_message": "Should I continue? (yes/no)"}), true),
        (json!({"last_assistant_message": "Why? Because. Done."}), false),
        (json!({"last_assistant_message": "Is it safe? (yes/no) It is: done."}), false),
        (task("subagent", "running"), true),
        (task("subagent", "completed"), false),
        // A development server runs for ever and would otherwise switch the gate off.
        (task("shell", "running"), false),
        (json!({"background_tasks": []}), false),
        (json!({"background_tasks": "none"}), false),
    ] {
        let desk = Desk { interactive: Some(true), ..busy() };
        assert_eq!(desk.stop_with(fields.clone()).is_none(), passes, "{fields}");
    }
}

#[test]
fn where_nobody_sits_a_question_is_an_answer_like_any_other() {
    let desk = busy();
    let asks = "Would you like me to commit?";
    let refused = desk.stop(asks).unwrap();
    insta::assert_snapshot!("a_question_that_nobody_hears", refused);
    // The stop is refused as often as any other and then let go.
    assert_eq!((0..30).take_while(|_| desk.stop(asks).is_some()).count(), 2);
    assert_eq!(desk.plan().end, End::Stopped);
    // If it is not known whether the session is interactive, it counts as interactive.
    let unknown = Desk { interactive: None, ..Desk::new() };
    unknown.create("1", "Design");
    assert_eq!(unknown.stop(asks), None);
}

#[test]
fn every_refusal_after_the_first_says_how_what_needs_a_person_is_parked() {
    let parks = "What needs a person can wait without holding you:";
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (has_server, way) in [
        (true, "mcp__punchlist__update_todo with its todoId and waitingOn"),
        (false, "`punchlist wait NUMBER WHAT`"),
    ] {
        let desk = Desk { has_server, ..busy() };
        let first = words(desk.stop("Done.").unwrap());
        assert!(!first.contains(parks), "{first}");
        for _ in 0..2 {
            let later = words(desk.stop("Done.").unwrap());
            assert!(later.contains(&format!("{parks} {way}")), "{later}");
        }
    }
}

#[test]
fn a_tool_that_asks_the_user_asks_until_the_agent_does_something_else() {
    let desk = Desk { interactive: Some(true), gate: Some(Gate::Full), ..busy() };
    let calls = |tool: &str| {
        let calls = json!([{"tool_name": tool, "tool_input": {}, "tool_response": "x"}]);
        assert_eq!(desk.event("PostToolBatch", json!({"tool_calls": calls})), None);
    };
    calls("AskUserQuestion");
    assert_eq!(desk.stop("I have asked you."), None);
    calls("Bash");
    assert!(desk.stop("Done.").is_some());
    calls("AskUserQuestion");
    desk.prompt();
    assert!(desk.stop("Done.").is_some());
    // In an unattended session the question does not count.
    let alone = busy();
    let calls = json!([{"tool_name": "AskUserQuestion", "tool_input": {}, "tool_response": "x"}]);
    alone.event("PostToolBatch", json!({"tool_calls": calls}));
    assert!(alone.stop("I have asked you.").is_some());
}

#[test]
fn a_refusal_names_our_tools_where_they_wrote_the_list() {
    let desk = busy();
    let mut session = desk.session("s1");
    session.memory.written_with = Some("turn".to_owned());
    settle(desk.store.keep(session)).unwrap();
    let reason = desk.stop("Done.").unwrap();
    assert!(reason.contains("mcp__punchlist__complete_todo with an outcome"), "{reason}");
    assert!(!reason.contains("TaskUpdate"), "{reason}");
}

/// This happens after a change of the model, or if a newer version resumes the session.
#[test]
fn a_refusal_names_our_tools_once_the_agent_has_lost_its_own() {
    let desk = busy();
    let call = |agent: Option<&str>, tool: &str, answer: &str| {
        let calls = json!([{"tool_name": tool, "tool_input": {}, "tool_response": answer}]);
        let fields = json!({"agent_id": agent, "tool_calls": calls});
        assert_eq!(desk.event("PostToolBatch", fields), None);
    };
    let none = |tool: &str| {
        format!(
            "<tool_use_error>Error: No such tool available: {tool}. {tool} is not among the tools \
             available here. Continue with the tools you have.</tool_use_error>"
        )
    };
    let words = || {
        let refused = desk.stop("Done.").unwrap();
        if refused.contains("mcp__punchlist__complete_todo") { "ours" } else { "own" }
    };
    // None of these count: a missing tool of another family, a sub-agent's missing tool, a text
    // that only looks like the error.
    call(None, "TodoWrite", &none("TodoWrite"));
    call(Some("sub1"), "TaskUpdate", &none("TaskUpdate"));
    call(None, "Bash", &none("TaskUpdate"));
    call(None, "TaskUpdate", "Updated task #1 status");
    assert_eq!(words(), "own");
    call(None, "TaskUpdate", &none("TaskUpdate"));
    assert_eq!(words(), "ours");
    desk.create("9", "It has them again");
    assert_eq!(words(), "own");
}

#[test]
fn a_whole_list_is_named_by_positions_and_its_tool() {
    let desk = Desk::new();
    desk.todos(None, &["completed Read", "in_progress Fix", "pending Run"]);
    insta::assert_snapshot!(desk.stop("Done.").unwrap());
}

#[test]
fn what_the_agents_tools_cannot_reach_is_named_with_ours() {
    let desk = busy();
    desk.person(vec![Op::Add(Box::new(NewItem::titled("Ask <legal>")))]);
    insta::assert_snapshot!(desk.stop("Done.").unwrap());
}

#[test]
fn a_sub_agent_answers_for_its_own_items_only() {
    let desk = busy();
    let sub = json!({"agent_id": "sub1", "last_assistant_message": "Done."});
    assert_eq!(desk.event("SubagentStart", json!({"agent_id": "sub1"})), None);
    assert_eq!(desk.event("SubagentStop", sub.clone()), None, "it made and claimed nothing");
    desk.create_by(Some("sub1"), "4", "Its own");
    let answer = desk.event("SubagentStop", sub.clone()).unwrap();
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("4. Its own") && !reason.contains("Build"), "{reason}");
    desk.update_by(Some("sub1"), "4", json!({"status": "completed"}));
    assert_eq!(desk.event("SubagentStop", sub.clone()), None);
    // An item that the sub-agent claimed counts as its own.
    desk.update_by(Some("sub1"), "3", json!({"status": "in_progress"}));
    for _ in 0..3 {
        assert!(desk.event("SubagentStop", sub.clone()).is_some());
    }
    assert_eq!(desk.event("SubagentStop", sub.clone()), None, "let go");
    assert_eq!(desk.event("SubagentStop", sub), None, "for good");
    // Neither the sub-agent's claim nor its end excuses the items: the agent answers for what the
    // sub-agent left open.
    assert_eq!((desk.plan().end, desk.plan().get(Number(3)).unwrap().marks.len()), (End::Open, 0));
    assert!(desk.stop("Done.").unwrap().contains("3. Test"));
    assert_eq!(desk.event("SubagentStop", json!({"last_assistant_message": "x"})), None);
}

#[test]
fn a_sub_agent_with_a_list_of_its_own_answers_for_that() {
    let desk = Desk::new();
    desk.todos(None, &["pending Main"]);
    desk.todos(Some("sub1"), &["pending One"]);
    let stop = |sub: &str| desk.event("SubagentStop", json!({"agent_id": sub}));
    let reason = stop("sub1").unwrap()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("1. One") && !reason.contains("Main"), "{reason}");
    desk.todos(Some("sub1"), &["completed One"]);
    assert_eq!(stop("sub1"), None);
    assert_eq!(stop("sub2"), None);
    // Nobody else answers for such a list, so its open items are parked.
    desk.todos(Some("sub1"), &["completed One", "pending Two"]);
    assert_eq!((0..9).filter(|_| stop("sub1").is_some()).count(), 3);
    let own = desk.plan_of("s1", "sub1").unwrap();
    assert_eq!(
        (own.end, lines(&own)),
        (End::Stopped, vec!["[x] 1 One".into(), "[ ] 2 Two Parked".into()])
    );
    assert!(desk.stop("Done.").unwrap().contains("Main"));
}

/// A sub-agent that has only our tools, as in newer versions: the batch event names its items.
#[test]
fn a_sub_agent_answers_for_what_it_made_or_began_with_our_tools() {
    let desk = busy();
    let id = |number: u32| desk.plan().get(Number(number)).unwrap().id.to_string();
    let batch = |calls: &[(&str, Value)]| {
        let calls: Vec<Value> = calls
            .iter()
            .map(|(tool, answer)| {
                let tool = format!("mcp__punchlist__{tool}");
                json!({"tool_name": tool, "tool_input": {}, "tool_response": answer.to_string()})
            })
            .collect();
        let fields = json!({"agent_id": "sub1", "tool_calls": calls});
        assert_eq!(desk.event("PostToolBatch", fields), None);
    };
    let stop = || {
        let answer = desk.event("SubagentStop", json!({"agent_id": "sub1"}));
        answer.map(|it| it["reason"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    batch(&[
        ("list_todo", json!({"items": [{"id": id(1)}]})),
        ("update_todo", json!({"id": id(1), "status": "pending"})),
        ("next_todo", json!({"item": null, "remaining": 0})),
        ("create_todo", json!({"error": "items is required"})),
        ("create_todo", json!({"created": [{"id": "nonsense"}, 7]})),
    ]);
    assert_eq!(stop(), "", "it made and began nothing");
    desk.person(vec![
        Op::Add(Box::new(NewItem::titled("Made"))),
        Op::Add(Box::new(NewItem::titled("Taken"))),
    ]);
    batch(&[
        ("create_todo", json!({"created": [{"id": id(4), "title": "Made"}], "totalPending": 5})),
        ("next_todo", json!({"item": {"id": id(5)}, "remaining": 5})),
    ]);
    let reason = stop();
    assert!(reason.contains("Made") && reason.contains("Taken"), "{reason}");
    assert!(!reason.contains("Build") && !reason.contains("Test"), "{reason}");
    assert!(desk.stop("Done.").unwrap().contains("Test"), "the agent answers for all");
}

#[test]
fn missing_evidence_holds_the_turn_and_the_completion_and_names_the_verb() {
    let desk = busy();
    let check = Check { command: "cargo test".to_owned(), covers: vec![], origin: Origin::Person };
    let patch = punchlist_model::Patch { check: Some(Some(check)), ..Default::default() };
    desk.person(vec![Op::Edit { item: ItemRef::Number(Number(3)), patch: Box::new(patch) }]);
    let task = json!({"task_id": "3", "task_subject": "Test"});
    let answer = desk.event("TaskCompleted", task.clone()).unwrap();
    assert_eq!(answer["decision"], "block");
    assert!(answer["reason"].as_str().unwrap().contains("`punchlist verify 3`"), "{answer}");
    assert_eq!(desk.event("TaskCompleted", json!({"task_id": "2"})), None);
    assert_eq!(desk.event("TaskCompleted", json!({"task_id": "99"})), None);
    // The item was completed without a hook call before it, so the stop is refused.
    desk.update("2", json!({"status": "completed"}));
    desk.update("3", json!({"status": "completed"}));
    let reason = desk.stop("Done.").unwrap();
    assert!(reason.contains("run `punchlist verify 3`"), "{reason}");
    let off = Desk { gate: Some(Gate::Off), ..desk };
    assert_eq!(off.event("TaskCompleted", task), None);
}

/// A person demands checks, but only one item has a check.
#[test]
fn items_without_a_check_are_not_named_to_the_verb_that_runs_checks() {
    let desk = busy();
    let rules = Some(Rules { demand: Some(Level::Checked), ..Rules::default() });
    let check = Check { command: "cargo test".to_owned(), covers: vec![], origin: Origin::Person };
    let patch = punchlist_model::Patch { check: Some(Some(check)), ..Default::default() };
    desk.person(vec![
        Op::Plan(Box::new(PlanPatch { rules, ..PlanPatch::default() })),
        Op::Edit { item: ItemRef::Number(Number(3)), patch: Box::new(patch) },
    ]);
    let answer = desk.event("TaskCompleted", json!({"task_id": "2"})).unwrap();
    let completing = answer["reason"].as_str().unwrap().to_owned();
    settle_all(&desk);
    insta::assert_snapshot!(format!("{completing}\n\n{}", desk.stop("Done.").unwrap()));
}

/// A list that is written with our tools, which refuse a completion without evidence.
fn ours(demand: Level) -> Desk {
    let desk = busy();
    let mut session = desk.session("s1");
    session.memory.written_with = Some("turn".to_owned());
    settle(desk.store.keep(session)).unwrap();
    let rules = Some(Rules { demand: Some(demand), ..Rules::default() });
    let check = Check { command: "cargo test".to_owned(), covers: vec![], origin: Origin::Person };
    let patch = punchlist_model::Patch { check: Some(Some(check)), ..Default::default() };
    desk.person(vec![
        Op::Supersede(ItemRef::Number(Number(1))),
        Op::Edit { item: ItemRef::Number(Number(3)), patch: Box::new(patch) },
        Op::Plan(Box::new(PlanPatch { rules, ..PlanPatch::default() })),
    ]);
    desk
}

#[test]
fn open_items_that_our_tools_would_not_complete_name_the_verb_that_checks_them() {
    insta::assert_snapshot!(ours(Level::Checked).stop("Done.").unwrap());
}

/// The agent can do the work, ask, and record that the item waits. After that nothing holds the
/// turn.
#[test]
fn what_only_a_person_can_settle_is_said_to_be_that_and_holds_no_longer_than_it_takes_to_say_so() {
    let desk = ours(Level::Approved);
    insta::assert_snapshot!(desk.stop("Done.").unwrap());
    let waits = |n| Op::Wait { item: ItemRef::Number(Number(n)), on: Item::APPROVAL.to_owned() };
    desk.person(vec![waits(2), waits(3)]);
    assert_eq!(desk.stop("Please run `punchlist approve 2 3`."), None);
    desk.prompt();
    assert_eq!(desk.stop("Done."), None);
}

/// A person sets a goal for the plan.
fn aim(desk: &Desk, acceptance: &[u32], minutes: Option<u32>) {
    let goal = Goal {
        statement: "1.2 is on the server".to_owned(),
        acceptance: acceptance.iter().map(|it| Number(*it)).collect(),
        budget: Budget { minutes, ..Budget::default() },
        ..Goal::default()
    };
    let patch = PlanPatch { goal: Some(Some(goal)), ..PlanPatch::default() };
    desk.person(vec![Op::Plan(Box::new(patch))]);
}

fn settle_all(desk: &Desk) {
    desk.update("2", json!({"status": "completed"}));
    desk.update("3", json!({"status": "completed"}));
}

#[test]
fn a_settled_list_is_held_against_its_goal_once() {
    let desk = busy();
    aim(&desk, &[], None);
    assert!(desk.stop("Done.").unwrap().contains("2 of 3 items are open"));
    settle_all(&desk);
    insta::assert_snapshot!("a_goal_that_nobody_said_is_met", desk.stop("Done.").unwrap());
    assert_eq!(desk.stop("It is met."), None);
    assert_eq!(desk.plan().end, End::Drained);
    // The same after the next prompt, as long as nothing has changed.
    desk.prompt();
    assert_eq!(desk.stop("Done."), None);
    desk.create("4", "One more thing");
    desk.update("4", json!({"status": "completed"}));
    assert!(desk.stop("Done.").unwrap().contains("the goal is not met yet"));
    assert_eq!(desk.stop("Done."), None);
}

/// `punchlist goal --met` refuses an agent if the plan demands more than a report.
#[test]
fn where_a_person_must_say_that_the_goal_is_met_the_agent_is_not_sent_to_do_it() {
    let desk = busy();
    aim(&desk, &[], None);
    let rules = Some(Rules { demand: Some(Level::Approved), ..Rules::default() });
    desk.person(vec![Op::Plan(Box::new(PlanPatch { rules, ..PlanPatch::default() }))]);
    settle_all(&desk);
    insta::assert_snapshot!("a_goal_that_a_person_says_is_met", desk.stop("Done.").unwrap());
    assert_eq!(desk.stop("It is for you to say."), None);
    desk.prompt();
    assert_eq!(desk.stop("Done."), None);
}

#[test]
fn an_item_that_the_goal_is_accepted_by_is_not_given_up_in_silence() {
    let desk = busy();
    aim(&desk, &[3], None);
    desk.update("2", json!({"status": "completed"}));
    let deleted = json!({"success": true, "taskId": "3", "statusChange": {"to": "deleted"}});
    desk.used("TaskUpdate", json!({"taskId": "3", "status": "deleted"}), deleted);
    insta::assert_snapshot!("a_goal_whose_item_was_given_up", desk.stop("Done.").unwrap());
    assert_eq!(desk.stop("It is not needed."), None);
    let settled = busy();
    aim(&settled, &[2, 3], None);
    settle_all(&settled);
    assert_eq!(settled.stop("Done."), None);
}

#[test]
fn a_goal_holds_nobody_where_the_gate_is_off_or_its_budget_is_spent() {
    let off = Desk { gate: Some(Gate::Off), ..busy() };
    aim(&off, &[], None);
    settle_all(&off);
    assert_eq!(off.stop("Done."), None);
    for (minutes, holds) in [(Some(1), false), (Some(5), true), (None, true)] {
        let desk = busy();
        aim(&desk, &[], minutes);
        desk.clock.set(desk.clock.get() + 180);
        settle_all(&desk);
        assert_eq!(desk.stop("Done.").is_some(), holds, "{minutes:?}");
    }
}

#[test]
fn an_approval_is_a_persons_to_give_and_holds_nobody() {
    let desk = busy();
    let rules = Some(Rules { demand: Some(Level::Approved), ..Rules::default() });
    desk.person(vec![Op::Plan(Box::new(PlanPatch { rules, ..PlanPatch::default() }))]);
    assert_eq!(desk.event("TaskCompleted", json!({"task_id": "3"})), None);
}

#[test]
fn a_session_that_ended_and_goes_on_is_no_longer_ended() {
    let desk = busy();
    assert_eq!(desk.event("SessionEnd", json!({"reason": "other"})), None);
    assert!(desk.session("s1").ended_at.is_some());
    assert_eq!(desk.event("StopFailure", json!({"error": "overloaded"})), None);
    desk.prompt();
    assert_eq!(desk.session("s1").ended_at, None);
}
