//! Checks the published schema, and that every line matches it.

use std::sync::LazyLock;

use super::parse;
use crate::event::owned;
use crate::event::{
    AgentId, AgentType, Citation, Event, Item, Kind, KindName, Outcome, QueueChange, Role, Status,
    Text, Usage,
};

static SCHEMA: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&owned::schema()).expect("a valid schema"));

/// Checks that every line matches the schema, and equals what its owned form would write.
#[track_caller]
pub(crate) fn check(lines: &str) {
    for line in lines.lines() {
        let value: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Err(error) = SCHEMA.validate(&value) {
            panic!("{error}: {line}");
        }
        let owned = serde_json::to_value(parse(line)).expect("it can be written");
        assert_eq!(owned, value, "the owned form is another: {line}");
    }
}

/// One event of each kind, with every possible field.
fn samples() -> Vec<Kind<'static>> {
    const ITEMS: &[Item<'static>] = &[];
    let text = || Text::from("a \"text\"\n\u{1b}");
    vec![
        Kind::SessionStarted { model: Some(text()), cwd: Some(text()), version: Some(text()) },
        Kind::TurnStarted { prompt: Some(text()), turn_id: Some(text()) },
        Kind::Text { role: Role::System, text: text(), delta: true, citations: &[] },
        Kind::Thinking { text: text(), delta: true },
        Kind::Info { text: text() },
        Kind::ToolScheduled { call_id: text(), name: text(), input: None },
        Kind::ToolWaiting { call_id: text(), question: text() },
        Kind::ToolAnswered { call_id: text(), answer: text(), by: Some(text()) },
        Kind::ToolStarted { call_id: text(), name: Some(text()), input: None },
        Kind::ToolCompleted {
            call_id: text(),
            name: Some(text()),
            status: Outcome::Cancelled,
            output: Some(text()),
        },
        Kind::MessageQueued {
            text: text(),
            change: QueueChange::Taken,
            message_id: Some(text()),
            steers: true,
        },
        Kind::TodoList { todo_id: "x#1".into(), items: ITEMS, unconfirmed: true },
        Kind::Usage(Usage {
            input_tokens: Some(1),
            output_tokens: Some(u64::MAX),
            cached_tokens: Some(0),
            reasoning_tokens: Some(4),
            context_tokens: Some(5),
            context_window: Some(200_000),
            cost_usd: Some(0.125),
            cumulative: true,
        }),
        Kind::TurnCompleted { status: Outcome::Error, reason: Some(text()) },
        Kind::Error { message: text(), code: Some(text()), recoverable: true },
        Kind::Warning { line: 7, why: "because".into() },
    ]
}

fn line(kind: Kind<'_>) -> String {
    let agent = AgentId::new("max/écrivain".to_owned());
    let agent_type = AgentType::Punchlist;
    let mut out = Vec::new();
    Event { agent: &agent, agent_type, timestamp: Some(-5), line: 12, index: 3, kind }
        .write_json(&mut out);
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn every_kind_is_written_as_its_owned_form_and_fits_the_schema() {
    let kinds = samples();
    let names: Vec<KindName> = kinds.iter().map(Kind::name).collect();
    assert_eq!(names, KindName::ALL, "there is a sample of each");
    for kind in kinds {
        check(&line(kind));
    }
    let item = Item {
        id: Some("4".into()),
        active_form: Some("doing".into()),
        blocked: true,
        waiting_on: Some("legal".into()),
        parent: Some("2".into()),
        assumed: true,
        unconfirmed: true,
        source_status: Some("paused".into()),
        ..Item::new("do".into(), Status::Pending)
    };
    let todo_id = "x#1".into();
    check(&line(Kind::TodoList { todo_id, items: &[item], unconfirmed: false }));
    let nothing = Citation { title: None, url: None, quote: None };
    let whole = Citation {
        title: Some("The manual".into()),
        url: Some("https://example.org/manual".into()),
        quote: Some("Turn it\u{1b}[31m off.".into()),
    };
    let (role, text) = (Role::Assistant, Text::from("Turn it off."));
    check(&line(Kind::Text { role, text, delta: false, citations: &[whole, nothing] }));
}

#[test]
fn names_of_kinds_are_read_as_they_are_written() {
    for kind in KindName::ALL {
        assert_eq!(KindName::parse(kind.name()), Some(kind));
    }
    assert_eq!(KindName::parse("todo"), None);
}

#[test]
fn a_line_that_is_no_event_does_not_fit_the_schema() {
    let good = line(Kind::Warning { line: 7, why: "because".into() });
    for (from, to) in [
        ("\"type\":\"warning\"", "\"type\":\"moon\""),
        ("\"line\":7,", ""),
        ("\"timestamp\":-5,", ""),
        ("\"agentType\":\"punchlist\"", "\"agentType\":\"hal\""),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good, "{from}");
        let value = serde_json::from_str(&bad).expect("JSON");
        assert!(SCHEMA.validate(&value).is_err(), "{bad}");
    }
}

#[test]
fn an_events_id_is_that_of_its_agent_line_and_index() {
    let id = |agent: &str, line, index| {
        let agent = AgentId::new(agent.to_owned());
        let kind = Kind::TurnStarted { prompt: None, turn_id: None };
        let agent_type = AgentType::Acp;
        Event { agent: &agent, agent_type, timestamp: None, line, index, kind }.id().to_string()
    };
    assert_eq!(id("max", 1, 0), id("max", 1, 0));
    let others = [id("max", 1, 0), id("max", 1, 1), id("max", 11, 0), id("moritz", 1, 0)];
    let all: std::collections::BTreeSet<_> = others.iter().collect();
    assert_eq!(all.len(), others.len());
    // Users store these ids: this one must never change.
    assert_eq!(id("max", 1, 0), "1f354729-3a7e-590f-b120-ec7f1fc2a9d2");
}
