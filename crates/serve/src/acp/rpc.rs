//! Messages of JSON-RPC 2.0: what a line is, and how errors are answered. Pure.

use std::borrow::Cow;

use punchlist_engine::fail::{Code, Fail};
use punchlist_model::json_text::replace_lone_surrogates;
use serde_json::{Map, Value, json};

/// May precede the first character; ignored.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A message of the client.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Message {
    /// A request, which is answered.
    Request {
        /// Its id: a string, a whole number or null.
        id: Value,
        method: String,
        params: Value,
    },
    /// A notification, which is not answered.
    Notification { method: String, params: Value },
    /// The answer to a request of ours: its result or its error.
    Response { id: Value, result: Result<Value, Value> },
}

/// An error of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Error {
    code: i32,
    /// What is wrong and what to do next.
    message: String,
}

/// A line that is not a message: whom to answer, and with what.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bad {
    pub(super) id: Value,
    pub(super) error: Error,
}

impl Error {
    /// The line is not JSON.
    pub(super) fn parse(message: impl Into<String>) -> Self {
        Self { code: -32700, message: message.into() }
    }

    /// The message is not valid, or not valid now.
    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self { code: -32600, message: message.into() }
    }

    /// There is no such method.
    pub(super) fn no_method(method: &str) -> Self {
        let method: String = method.chars().take(100).collect();
        Self { code: -32601, message: format!("there is no method {method:?}") }
    }

    /// The parameters are wrong.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self { code: -32602, message: message.into() }
    }

    /// Punchlist failed.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { code: -32603, message: message.into() }
    }

    /// There is no such session.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self { code: -32002, message: message.into() }
    }

    /// The answer to a request that failed.
    pub(super) fn answer(&self, id: &Value) -> Value {
        let error = json!({"code": self.code, "message": self.message});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

impl From<Fail> for Error {
    /// Clients show only the message, so it contains everything.
    fn from(fail: Fail) -> Self {
        let mut message = fail.message;
        for line in fail.details.iter().chain(&fail.hint) {
            message.push('\n');
            message.push_str(line);
        }
        match fail.code {
            Code::Usage => Self::invalid_params(message),
            Code::NotFound => Self::not_found(message),
            Code::Failure
            | Code::Refused
            | Code::Conflict
            | Code::ItemFailed
            | Code::ItemsLeft
            | Code::Unusable
            | Code::Interrupted => Self::internal(message),
        }
    }
}

/// The answer to a request.
pub(super) fn answer(id: &Value, result: Result<Value, Error>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => error.answer(id),
    }
}

/// The message that a line is; `None` for a blank line.
pub(super) fn parse(line: &[u8]) -> Result<Option<Message>, Bad> {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let line: Cow<'_, [u8]> = replace_lone_surrogates(line);
    let value: Value = serde_json::from_slice(&line).map_err(|why| Bad {
        id: Value::Null,
        error: Error::parse(format!("the line is not JSON: {why}")),
    })?;
    match value {
        Value::Object(fields) => message(fields).map(Some),
        Value::Array(_) => Err(Bad {
            id: Value::Null,
            error: Error::invalid_request("a line is one message; there are no batches"),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(Bad { id: Value::Null, error: not_a_message() })
        }
    }
}

fn message(mut fields: Map<String, Value>) -> Result<Message, Bad> {
    let id = fields.remove("id");
    let known_id = id.clone().filter(is_id);
    let bad = || Bad { id: known_id.clone().unwrap_or_default(), error: not_a_message() };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(bad());
    }
    let params = fields.remove("params").unwrap_or_default();
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), None) => Ok(Message::Notification { method, params }),
        (Some(Value::String(method)), Some(_)) => match known_id {
            Some(id) => Ok(Message::Request { id, method, params }),
            None => Err(bad()),
        },
        (Some(_), _) => Err(bad()),
        (None, id) => {
            let result = match (fields.remove("result"), fields.remove("error")) {
                (_, Some(error)) => Err(error),
                (Some(result), None) => Ok(result),
                (None, None) => return Err(bad()),
            };
            Ok(Message::Response { id: id.unwrap_or_default(), result })
        }
    }
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(_) | Value::Null => true,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn not_a_message() -> Error {
    Error::invalid_request(
        "a message is a JSON object with \"jsonrpc\": \"2.0\", a \"method\" that is a string and, if it is \
         to be answered, an \"id\" that is a string or a whole number",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, id: Value, code: i32) {
        let bad = parse(line.as_bytes()).unwrap_err();
        assert_eq!((bad.id, bad.error.code), (id, code), "{line}");
    }

    #[test]
    fn a_line_that_is_no_message_is_answered_by_the_rules() {
        check("{", Value::Null, -32700);
        check("\u{1}\u{2}", Value::Null, -32700);
        check("[]", Value::Null, -32600);
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#, Value::Null, -32600);
        check("null", Value::Null, -32600);
        check(r#"{"id":1,"method":"initialize"}"#, json!(1), -32600);
        check(r#"{"jsonrpc":"1.0","id":"a","method":"initialize"}"#, json!("a"), -32600);
        check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, json!(1), -32600);
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"initialize"}"#, Value::Null, -32600);
        check(r#"{"jsonrpc":"2.0","id":{},"method":"initialize"}"#, Value::Null, -32600);
        check(r#"{"jsonrpc":"2.0","id":1}"#, json!(1), -32600);
        check(&"[".repeat(100_000), Value::Null, -32700);
    }

    #[test]
    fn requests_notifications_and_responses_are_told_apart() {
        let message = |line: &str| parse(line.as_bytes()).unwrap().unwrap();
        assert_eq!(
            message("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}"),
            Message::Request { id: json!(1), method: "m".to_owned(), params: Value::Null }
        );
        assert_eq!(
            message(r#"{"jsonrpc":"2.0","method":"m","params":{"a":"\ud800"}}"#),
            Message::Notification { method: "m".to_owned(), params: json!({"a": "\u{fffd}"}) }
        );
        assert_eq!(
            message(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#),
            Message::Response { id: Value::Null, result: Err(json!({})) }
        );
        assert_eq!(parse(b"  \r\n").unwrap(), None);
    }
}
