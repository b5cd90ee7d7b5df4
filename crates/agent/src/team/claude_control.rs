//! How Claude Code is talked to while it works: its prompt, the permissions that it asks for and our
//! answers, one JSON object per line. Pure.

use serde::Deserialize;
use serde_json::{Value, json};

/// What a line of its output means for whoever talks to it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ClaudeLine {
    /// It asks whether it may use a tool.
    Ask(ClaudeRequest),
    /// It no longer asks this.
    TakeBack(String),
    /// It wants something that we do not offer: this is the answer.
    Refuse(Value),
    /// Its turn has ended.
    Result,
    /// An event of its stream.
    Event,
}

/// A request for permission.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ClaudeRequest {
    /// Its id of the request.
    pub(super) id: String,
    /// Its id of the call.
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) input: Value,
}

/// The message with the user's prompt.
pub(super) fn prompt(text: &str) -> Value {
    let message = json!({"role": "user", "content": text});
    json!({"type": "user", "message": message, "parent_tool_use_id": null, "session_id": ""})
}

/// The part of a line that says what it is. Other fields are skipped.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    request_id: String,
    #[serde(default)]
    request: Value,
}

/// Reads one line of its output. The order of a line's fields differs between its versions.
pub(super) fn read(line: &[u8]) -> ClaudeLine {
    let Ok(Head { kind, request_id: id, request }) = serde_json::from_slice(line) else {
        return ClaudeLine::Event;
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match (kind.as_str(), request["subtype"].as_str()) {
        ("control_request", Some("can_use_tool")) => ClaudeLine::Ask(ClaudeRequest {
            id,
            call: text(&request["tool_use_id"]),
            tool: text(&request["tool_name"]),
            input: request["input"].clone(),
        }),
        ("control_request", _) => ClaudeLine::Refuse(json!({
            "type": "control_response",
            "response": {"subtype": "error", "request_id": id, "error": "this is not offered"},
        })),
        ("control_cancel_request", _) => ClaudeLine::TakeBack(id),
        // The answers to our own requests; there are none.
        ("control_response", _) => ClaudeLine::TakeBack(String::new()),
        ("result", _) => ClaudeLine::Result,
        (_, _) => ClaudeLine::Event,
    }
}

impl ClaudeRequest {
    /// The answer that allows the call, with other arguments if a person changed them.
    pub(super) fn allow(&self, changed: Option<&Value>) -> Value {
        let mut input = self.input.clone();
        if let (Some(fields), Some(changed)) =
            (input.as_object_mut(), changed.and_then(Value::as_object))
        {
            fields.extend(changed.clone());
        }
        self.answer(&json!({"behavior": "allow", "updatedInput": input}))
    }

    /// The answer that refuses the call, for this reason. `stops`: the turn ends too.
    pub(super) fn deny(&self, why: &str, stops: bool) -> Value {
        self.answer(&json!({"behavior": "deny", "message": why, "interrupt": stops}))
    }

    fn answer(&self, response: &Value) -> Value {
        let response = json!({"subtype": "success", "request_id": self.id, "response": response});
        json!({"type": "control_response", "response": response})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKS: &str = r#"{"type":"control_request","request_id":"r-1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"make","timeout":5},"tool_use_id":"t-1"}}"#;

    #[test]
    fn requests_for_permission_are_told_from_the_stream() {
        let ClaudeLine::Ask(request) = read(ASKS.as_bytes()) else { panic!("no request") };
        assert_eq!((&*request.id, &*request.call, &*request.tool), ("r-1", "t-1", "Bash"));
        for (line, expected) in [
            (r#"{"type":"assistant","message":{}}"#, ClaudeLine::Event),
            (r#"{"type":"user","x":"control_request"}"#, ClaudeLine::Event),
            ("not JSON, but \"control_request\"", ClaudeLine::Event),
            (r#"{"type":"result","subtype":"success"}"#, ClaudeLine::Result),
            (
                r#"{"type":"control_cancel_request","request_id":"r-1"}"#,
                ClaudeLine::TakeBack("r-1".to_owned()),
            ),
        ] {
            assert_eq!(read(line.as_bytes()), expected, "{line}");
        }
        let other = r#"{"type":"control_request","request_id":"r-2","request":{"subtype":"hook_callback"}}"#;
        let ClaudeLine::Refuse(answer) = read(other.as_bytes()) else { panic!("not refused") };
        assert_eq!(answer["response"]["request_id"], "r-2");
    }

    #[test]
    fn the_end_of_a_turn_is_found_wherever_its_type_stands() {
        let usage = "x".repeat(5_000);
        let line =
            format!(r#"{{"duration_ms":1,"usage":"{usage}","type":"result","result":"ok"}}"#);
        assert_eq!(read(line.as_bytes()), ClaudeLine::Result);
        let told =
            format!(r#"{{"note":"\"type\":\"result\"","usage":"{usage}","type":"assistant"}}"#);
        assert_eq!(read(told.as_bytes()), ClaudeLine::Event);
    }

    #[test]
    fn a_person_may_change_the_command_and_nothing_else_is_lost() {
        let ClaudeLine::Ask(request) = read(ASKS.as_bytes()) else { panic!("no request") };
        let response = |answer: Value| answer["response"]["response"].clone();
        let input = json!({"command": "make", "timeout": 5});
        assert_eq!(
            response(request.allow(None)),
            json!({"behavior": "allow", "updatedInput": input})
        );
        let changed = json!({"command": "make -n"});
        let input = json!({"command": "make -n", "timeout": 5});
        assert_eq!(response(request.allow(Some(&changed)))["updatedInput"], input);
        let denied = json!({"behavior": "deny", "message": "no", "interrupt": true});
        assert_eq!(response(request.deny("no", true)), denied);
    }
}
