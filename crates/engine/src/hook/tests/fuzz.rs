//! Arbitrary bytes and mutated events: the answer is one that the agent understands or none, and
//! never an unjustified refusal.

use proptest::prelude::*;
use punchlist_formats::hook::Agent;
use serde_json::{Value, json};

use super::Desk;

/// Checks that an answer has only keys that the agent understands.
fn check(answer: Option<&Value>, may_refuse: bool) -> Result<(), TestCaseError> {
    let Some(answer) = answer else { return Ok(()) };
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    let is_refusal = keys == ["decision", "reason"];
    let is_context = keys == ["hookSpecificOutput"];
    prop_assert!(is_refusal || is_context || keys == ["systemMessage"], "{answer}");
    if is_refusal {
        prop_assert!(may_refuse, "refused by accident: {answer}");
        prop_assert!(answer["decision"] == "block" || answer["decision"] == "deny");
    }
    if is_context {
        let inner = answer["hookSpecificOutput"].as_object().unwrap();
        let keys: Vec<&String> = inner.keys().collect();
        prop_assert_eq!(keys, ["hookEventName", "additionalContext"]);
    }
    Ok(())
}

fn any_agent() -> impl Strategy<Value = Agent> {
    prop::sample::select(Agent::ALL.to_vec())
}

fn events(agent: Agent) -> Vec<Value> {
    let texts: &[&str] = match agent {
        Agent::Claude => &[
            include_str!("../../../../../fixtures/claude/hook-subagent.json"),
            include_str!("../../../../../fixtures/claude/hook-task-block.json"),
            include_str!("../../../../../fixtures/claude/hook-todowrite.json"),
        ],
        Agent::Codex => &[include_str!("../../../../../fixtures/codex/hook-events.json")],
        Agent::Gemini => &[
            include_str!("../../../../../fixtures/gemini/hook-events.json"),
            include_str!("../../../../../fixtures/gemini/hook-mcp.json"),
        ],
    };
    texts.iter().flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap()).collect()
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "1",
            "2",
            "deleted",
            "completed",
            "in_progress",
            "plan",
            "Stop",
            "TaskUpdate",
            "TodoWrite",
            "update_plan",
            "write_todos",
            "tracker_update_task",
            "Updated task 1. Status: closed",
            "Linked 1 -> 1.",
            "AfterAgent",
            "\u{0}",
            "\u{1b}[2J",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map("[a-zA-Z_]{1,9}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Replaces the n-th value of an event, counted through all levels.
fn bend(event: &mut Value, at: &mut usize, value: &Value) {
    if *at == 0 {
        *event = value.clone();
        *at = usize::MAX;
        return;
    }
    *at = at.saturating_sub(usize::from(*at != usize::MAX));
    let inner: Vec<&mut Value> = match event {
        Value::Array(all) => all.iter_mut().collect(),
        Value::Object(all) => all.values_mut().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for one in inner {
        if *at != usize::MAX {
            bend(one, at, value);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered_with_nothing(
        agent in any_agent(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        prop_assert_eq!(Desk::with(agent).bytes(&bytes), None);
    }

    #[test]
    fn bent_events_are_answered_in_form_and_refused_only_where_something_is_open(
        agent in any_agent(),
        bends in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..40, any_value()), 1..25),
    ) {
        let desk = Desk::with(agent);
        let events = events(agent);
        for (index, at, value) in bends {
            let mut event = index.get(&events).clone();
            // All events belong to one session, so that they meet a list.
            event["session_id"] = json!("s1");
            event["cwd"] = json!("/project");
            bend(&mut event, &mut at.clone(), &value);
            let held = desk.has_open("s1");
            let answer = desk.hook(&event);
            let name = event["hook_event_name"].as_str().unwrap_or_default().to_ascii_lowercase();
            let refusing: &[&str] = match agent {
                Agent::Claude => &["stop", "subagentstop", "taskcompleted"],
                Agent::Codex => &["stop", "subagentstop"],
                Agent::Gemini => &["afteragent"],
            };
            let may = refusing.contains(&name.as_str()) && held;
            check(answer.as_ref(), may)?;
        }
    }

    #[test]
    fn any_event_name_with_any_fields_is_answered_in_form(
        agent in any_agent(),
        name in prop::sample::select(vec![
            "SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure",
            "PostToolBatch", "TaskCreated", "TaskCompleted", "Stop", "SubagentStart",
            "SubagentStop", "SessionEnd", "StopFailure", "Notification", "PostCompact",
            "BeforeAgent", "AfterAgent", "AfterTool", "PreCompress", "",
        ]),
        fields in prop::collection::hash_map(
            prop::sample::select(vec![
                "source", "tool_name", "tool_input", "tool_response", "agent_id", "task_id",
                "task_subject", "stop_hook_active", "last_assistant_message",
                "background_tasks", "permission_mode", "tool_calls", "error", "prompt",
                "prompt_response",
            ]),
            any_value(),
            0..8,
        ),
    ) {
        let desk = Desk::with(agent);
        let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let answer = desk.event(name, Value::Object(fields));
        check(answer.as_ref(), false)?;
    }
}

impl Desk {
    /// Whether any list of the session has open items or lacks evidence.
    fn has_open(&self, session: &str) -> bool {
        use punchlist_model::session::{SessionKey, SessionStore};
        use punchlist_model::store::{Filter, PlanStore};
        let key = SessionKey { agent: self.agent.as_str().to_owned(), id: session.to_owned() };
        super::settle(self.store.session(key)).unwrap().is_some()
            && super::settle(self.store.plans(Filter::default()))
                .unwrap()
                .iter()
                .any(|it| it.open > 0)
    }
}
