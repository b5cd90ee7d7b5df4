//! Codex CLI: its lists, its stops, its sub-agents, and its limits.

use punchlist_formats::hook::Agent;
use punchlist_model::End;
use serde_json::{Value, json};

use super::{Desk, lines};

fn desk() -> Desk {
    Desk::with(Agent::Codex)
}

impl Desk {
    /// `update_plan` with `"status title"` lines.
    fn plans(&self, agent: Option<&str>, steps: &[&str]) -> Option<String> {
        let step = |line: &&str| {
            let (status, step) = line.split_once(' ').unwrap();
            json!({"step": step, "status": status})
        };
        let steps: Vec<Value> = steps.iter().map(step).collect();
        self.used_by(agent, "update_plan", json!({"plan": steps}), json!("Plan updated"))
    }

    fn sub_stop(&self, agent: &str) -> Option<String> {
        let fields = json!({"agent_id": agent, "agent_type": "default",
            "last_assistant_message": "Done."});
        Some(self.event("SubagentStop", fields)?["reason"].as_str().unwrap().to_owned())
    }
}

#[test]
fn a_recorded_run_gives_its_list_and_one_refusal() {
    let events = include_str!("../../../../../fixtures/codex/hook-events.json");
    let events: Vec<Value> = serde_json::from_str(events).unwrap();
    let desk = desk();
    let mut answers = Vec::new();
    for event in &events[..6] {
        if let Some(answer) = desk.hook(event) {
            let name = event["hook_event_name"].as_str().unwrap();
            let said = answer["reason"]
                .as_str()
                .or_else(|| answer["hookSpecificOutput"]["additionalContext"].as_str());
            answers.push(format!("{name}: {}", said.unwrap().lines().next().unwrap()));
        }
    }
    let session = events[0]["session_id"].as_str().unwrap();
    let plan = desk.plan_of(session, "").unwrap();
    assert_eq!(
        lines(&plan),
        ["[x] 1 Inspect the project", "[>] 2 Write greeting.py", "[ ] 3 Run it"]
    );
    assert_eq!(
        answers,
        [
            "SessionStart: <reminder>Use mcp__punchlist__create_todo for multi-step tasks.</reminder>",
            "Stop: Not finished: 2 of 3 items are open.",
            "Stop: Not finished: 2 of 3 items are open.",
        ]
    );
    // Code that the model wrote calls the same tool, in another session.
    desk.hook(&events[6]);
    let session = events[6]["session_id"].as_str().unwrap();
    let list = lines(&desk.plan_of(session, "").unwrap());
    assert_eq!(list, ["[>] 1 Read the code", "[ ] 2 Fix the greeting", "[ ] 3 Run the tests"]);
}

#[test]
fn a_stop_is_refused_in_the_words_of_update_plan_and_only_so_often() {
    let desk = desk();
    desk.prompt();
    desk.plans(None, &["completed Read", "in_progress Write", "pending Test"]);
    let refusal = desk.stop("Done.").unwrap();
    insta::assert_snapshot!(refusal);
    // Codex itself sets no limit on refusals, so ours counts.
    let more = (0..30).take_while(|_| desk.stop("Done.").is_some()).count();
    assert_eq!(more, 2);
    assert_eq!(desk.plan().end, End::Stopped);
}

#[test]
fn a_plan_mode_and_a_question_are_let_through() {
    let desk = Desk { interactive: Some(true), ..desk() };
    desk.plans(None, &["pending Write"]);
    assert_eq!(desk.stop_with(json!({"permission_mode": "plan"})), None);
    assert_eq!(desk.stop("Shall I go on?"), None);
    assert!(desk.stop_with(json!({"permission_mode": "bypassPermissions"})).is_some());
}

#[test]
fn a_list_that_was_refused_or_never_answered_changes_nothing() {
    let desk = desk();
    desk.plans(None, &["pending Write"]);
    let call = json!({"plan": [{"step": "Other", "status": "pending"}]});
    for result in [
        json!("unsupported call: update_plan"),
        json!("failed to parse function arguments: unknown variant `odd`"),
        json!(null),
        json!(7),
        json!({"error": "no"}),
    ] {
        let fields =
            json!({"tool_name": "update_plan", "tool_input": call, "tool_response": result});
        assert_eq!(desk.event("PostToolUse", fields), None);
        assert_eq!(
            desk.event("PreToolUse", json!({"tool_name": "update_plan", "tool_input": call})),
            None
        );
    }
    desk.check(&["[ ] 1 Write"]);
    // In code mode the call returns an empty object.
    let fields = json!({"tool_name": "update_plan", "tool_input": call, "tool_response": {}});
    assert!(desk.event("PostToolUse", fields).is_some(), "what is dropped while open is told");
    assert_eq!(lines(&desk.plan()).last().unwrap(), "[ ] 2 Other");
}

#[test]
fn odd_lists_are_kept_as_they_are() {
    let desk = desk();
    desk.plans(None, &["in_progress One", "in_progress Two", "pending Two", "pending  "]);
    insta::assert_snapshot!(lines(&desk.plan()).join("\n"));
    let said = desk.plans(None, &[]).unwrap();
    assert!(said.contains("Dropped while open") && said.contains("update_plan"), "{said}");
    assert_eq!(desk.stop("Done."), None, "an empty list holds nothing");
}

#[test]
fn a_sub_agent_has_a_list_of_its_own_and_answers_for_it_alone() {
    let desk = desk();
    desk.plans(None, &["in_progress Delegate"]);
    assert_eq!(desk.event("SubagentStart", json!({"agent_id": "sub", "agent_type": "x"})), None);
    desk.plans(Some("sub"), &["completed Look", "pending Report"]);
    let own = lines(&desk.plan_of("s1", "sub").unwrap());
    assert_eq!(own, ["[x] 1 Look", "[ ] 2 Report"]);
    desk.check(&["[>] 1 Delegate"]);
    let refusal = desk.sub_stop("sub").unwrap();
    assert!(refusal.contains("Report") && !refusal.contains("Delegate"), "{refusal}");
    desk.plans(Some("sub"), &["completed Look", "completed Report"]);
    assert_eq!(desk.sub_stop("sub"), None);
    assert_eq!(desk.sub_stop("another"), None, "one that has nothing answers for nothing");
    assert!(desk.stop("Done.").unwrap().contains("Delegate"));
}

#[test]
fn after_a_compaction_the_list_comes_with_the_next_event_that_takes_it() {
    let desk = desk();
    desk.plans(None, &["in_progress Write"]);
    assert_eq!(desk.event("PreCompact", json!({"trigger": "auto"})), None);
    assert_eq!(desk.event("PostCompact", json!({"trigger": "auto"})), None);
    let bash = || desk.used_by(None, "Bash", json!({"command": "ls"}), json!("x"));
    let said = bash().unwrap();
    assert!(said.contains("Write") && said.contains("quoted"), "{said}");
    assert_eq!(bash(), None, "once is enough");
    desk.event("PostCompact", json!({}));
    assert!(desk.prompt().unwrap().contains("Write"));
    assert_eq!(desk.prompt(), None);
}

#[test]
fn a_resumed_session_is_shown_its_list() {
    let desk = desk();
    assert!(desk.starts("s1", "startup").unwrap().contains("mcp__punchlist__create_todo"));
    desk.plans(None, &["completed Read", "in_progress Write"]);
    desk.event("SessionEnd", json!({"reason": "other"}));
    let said = desk.starts("s1", "resume").unwrap();
    assert!(said.contains("Write") && !said.contains("Read"), "{said}");
}

#[test]
fn ten_tool_calls_without_a_word_to_the_list_are_enough() {
    let desk = desk();
    desk.plans(None, &["in_progress Write"]);
    let bash = || desk.used_by(None, "Bash", json!({"command": "ls"}), json!("x"));
    let said: Vec<Option<String>> = (0..10).map(|_| bash()).collect();
    assert!(said[..9].iter().all(Option::is_none), "{said:?}");
    let nag = said[9].clone().unwrap();
    assert!(nag.contains("update_plan"), "{nag}");
    desk.plans(None, &["completed Write"]);
    assert!((0..20).all(|_| bash().is_none()), "nothing is open");
}

#[test]
fn an_agent_without_our_server_is_not_told_of_its_tools() {
    let desk = Desk { has_server: false, ..desk() };
    assert_eq!(desk.starts("s1", "startup"), None);
    desk.plans(None, &["in_progress Write"]);
    assert!(!desk.stop("Done.").unwrap().contains("mcp__"));
}
