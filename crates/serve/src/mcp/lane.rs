//! The short way for a tool call that needs nothing of the protocol but its envelope.
//!
//! Most of what a client sends is such a call: a name, arguments, an answer. It is read from its line
//! and answered by the same functions as any other, and the answer is written once, as the library
//! would write it. Whatever else a request may carry, and whatever is not written as everybody writes
//! it, is not ours to understand: it goes the long way, through the library. A call that turns out to
//! need a person's word goes there too; it was refused, so nothing has happened.

use punchlist_formats::dialect::{Call, Dialect, Reply};
use punchlist_model::json::Object;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Server;
use super::call::{AFTER_CHANGE, unusable};
use super::pipe::escaped;

/// What begins the names of fields that say how a request is to be understood.
const PROTOCOL: &str = "io.modelcontextprotocol/";

/// A call that can be answered the short way.
pub(super) struct Plain {
    /// As it was written.
    id: String,
    /// What is asked for, or what is wrong with that.
    call: Result<Call, Reply>,
    meta: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: Object<Params<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    name: &'a str,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta", default)]
    meta: Option<Map<String, Value>>,
}

impl Plain {
    /// Understands a line, if it is a call of one of these tools.
    fn parse(line: &[u8], dialect: Dialect, has_tool: impl Fn(&str) -> bool) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let Object(request) = serde_json::from_str(line).ok()?;
        let Request { jsonrpc, id, method, params: Object(params) } = request;
        if jsonrpc != "2.0" || method != "tools/call" || !is_usual(id.get()) {
            return None;
        }
        let meta = params.meta.unwrap_or_default();
        if meta.keys().any(|key| key.starts_with(PROTOCOL)) || !has_tool(params.name) {
            return None;
        }
        let arguments = params.arguments.map_or("{}", RawValue::get);
        let call = match dialect.plain_call(params.name, arguments) {
            Some(call) => Ok(call),
            None => dialect.call_with(params.name, serde_json::from_str(arguments).ok()?),
        };
        Some(Self { id: id.get().to_owned(), call, meta })
    }
}

/// Whether an id is written in the one way in which it would be written back.
fn is_usual(id: &str) -> bool {
    match id.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(text) => text.bytes().all(|it| matches!(it, b' '..=b'~') && it != b'\\'),
        None => {
            let is_number =
                (1..=15).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_digit());
            is_number && (id == "0" || !id.starts_with('0'))
        }
    }
}

impl Server {
    /// The call that a line is, if it can be answered the short way.
    pub(super) fn plain(&self, line: &[u8]) -> Option<Plain> {
        Plain::parse(line, self.inner.options.dialect, |tool| self.has_tool(tool))
    }

    /// A call has been answered.
    pub(super) fn settle(&self) {
        self.inner.settled.call_once(|| self.inner.around.settled());
    }

    /// Runs a call and gives the line that answers it; `None` if a person has to be asked, for which
    /// the library is needed.
    pub(super) async fn answer(&self, plain: Plain) -> Option<Vec<u8>> {
        let Plain { id, call, meta } = plain;
        let call = match call {
            Ok(call) => call,
            Err(reply) => return Some(written(&id, &reply, None)),
        };
        let done = match self.run(&call, &meta, None).await {
            Ok(done) => done,
            Err(error) => return Some(written(&id, &unusable(&call, &error), None)),
        };
        if !done.told.unapproved.is_empty() {
            return None;
        }
        Some(written(&id, &done.told.reply, done.after.as_deref()))
    }
}

/// The line of an answer. `call::result` makes the same for the library to write.
fn written(id: &str, reply: &Reply, after: Option<&str>) -> Vec<u8> {
    let mut line = Vec::with_capacity(256 + reply.text.len() * 5 / 2);
    line.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    line.extend_from_slice(id.as_bytes());
    line.extend_from_slice(br#","result":{"content":["#);
    let quote = if reply.json_text().is_some() { quoted_json } else { quoted };
    block(&reply.text, quote, &mut line);
    if let Some(after) = after {
        line.push(b',');
        block(after, quoted, &mut line);
    }
    line.push(b']');
    if let Some(json) = reply.json_text() {
        line.extend_from_slice(br#","structuredContent":"#);
        match (after, json.strip_suffix('}')) {
            (Some(after), Some(open)) => {
                line.extend_from_slice(open.as_bytes());
                line.push(b',');
                quoted(AFTER_CHANGE, &mut line);
                line.push(b':');
                quoted(after, &mut line);
                line.push(b'}');
            }
            (Some(_) | None, _) => line.extend_from_slice(json.as_bytes()),
        }
    }
    if reply.is_error {
        line.extend_from_slice(br#","isError":true"#);
    }
    line.extend_from_slice(b"}}\n");
    match String::from_utf8(line) {
        Ok(line) => escaped(line).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

/// A block of text.
fn block(text: &str, quote: fn(&str, &mut Vec<u8>), line: &mut Vec<u8>) {
    line.extend_from_slice(br#"{"type":"text","text":"#);
    quote(text, line);
    line.push(b'}');
}

/// JSON as a text in JSON: nothing in it needs an escape but quotes and backslashes, of which it is
/// full.
///
/// They are so near each other that a copy of what is between them costs more than it copies. So eight
/// bytes are copied at a time, and again from the first of them on that needs a backslash before it.
fn quoted_json(json: &str, line: &mut Vec<u8>) {
    const WORD: usize = size_of::<u64>();
    line.push(b'"');
    let mut rest = json.as_bytes();
    let mut at = line.len();
    // Room for as many escapes as there may be, and for a word that is copied too far.
    line.resize(at + 2 * rest.len() + WORD, 0);
    while let (Some(word), Some(room)) = (
        rest.first_chunk::<WORD>(),
        line.get_mut(at..).and_then(|it| it.first_chunk_mut::<{ WORD + 2 }>()),
    ) {
        let number = u64::from_le_bytes(*word);
        let marks = marked(number, b'"') | marked(number, b'\\');
        room[..WORD].copy_from_slice(word);
        if marks == 0 {
            (rest, at) = (&rest[WORD..], at + WORD);
            continue;
        }
        let before = (marks.trailing_zeros() / u8::BITS) as usize % WORD;
        (room[before], room[before + 1]) = (b'\\', word[before]);
        (rest, at) = (&rest[before + 1..], at + before + 2);
    }
    line.truncate(at);
    for byte in rest {
        if matches!(byte, b'"' | b'\\') {
            line.push(b'\\');
        }
        line.push(*byte);
    }
    line.push(b'"');
}

/// The highest bit of each byte of a word that is this ASCII character.
fn marked(word: u64, character: u8) -> u64 {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const LOW: u64 = EACH * 0x7f;
    let other = word ^ (EACH * u64::from(character));
    // Of what differs, either a lower bit carries into the highest one, or that one differs itself.
    !(((other & LOW) + LOW) | other | LOW)
}

/// A text as JSON has it.
fn quoted(text: &str, line: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    drop(serde_json::to_writer(line, text));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_quoted_as_any_text_is() {
        let hostile = "\"\\\u{0}\u{1b}[31m\u{7f}\u{202e}ü\u{10ffff}\n";
        for value in [json!({}), json!(""), json!([hostile, {hostile: "a\"b"}]), json!("\\")] {
            let (json, mut one, mut other) = (value.to_string(), Vec::new(), Vec::new());
            quoted_json(&json, &mut one);
            quoted(&json, &mut other);
            assert_eq!(String::from_utf8(one), String::from_utf8(other));
        }
    }

    proptest::proptest! {
        #[test]
        fn json_is_quoted_wherever_its_quotes_stand(text in "[\"\\\\aü\u{7f}\u{a2}\u{dc}]{0,40}") {
            let (mut one, mut other) = (b"before".to_vec(), b"before".to_vec());
            quoted_json(&text, &mut one);
            quoted(&text, &mut other);
            proptest::prop_assert_eq!(String::from_utf8(one), String::from_utf8(other));
        }
    }

    #[track_caller]
    fn check(line: &str, plain: bool) {
        let parsed = Plain::parse(line.as_bytes(), Dialect::Turn, |tool| tool == "x");
        assert_eq!(parsed.is_some(), plain, "{line}");
    }

    #[test]
    fn only_a_call_that_carries_nothing_else_goes_the_short_way() {
        let with = |rest: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x"{rest}}}}}"#
            )
        };
        for (rest, plain) in [
            ("", true),
            (r#","arguments":{}"#, true),
            (r#","arguments":null,"_meta":null"#, true),
            (r#","arguments":{"a":[1,"ü\n"]},"_meta":{"progressToken":7,"sessionId":"s"}"#, true),
            (r#","arguments":[]"#, false),
            (r#","arguments":{},"arguments":{}"#, false),
            (r#","requestState":"s""#, false),
            (r#","inputResponses":{}"#, false),
            (r#","task":{}"#, false),
            (r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#, false),
        ] {
            check(&with(rest), plain);
        }
    }

    #[test]
    fn a_line_that_is_not_written_as_usual_goes_the_long_way() {
        let call = |id: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"x"}}}}"#
            )
        };
        for (id, plain) in [
            ("0", true),
            ("17", true),
            ("\"a b-1\"", true),
            ("\"\"", true),
            ("01", false),
            ("-1", false),
            ("1.0", false),
            ("1e3", false),
            ("12345678901234567890", false),
            ("null", false),
            ("\"\\u0041\"", false),
            ("\"ü\"", false),
            ("[1]", false),
        ] {
            check(&call(id), plain);
        }
        let usual = call("1");
        check(&format!("{usual}\r\n"), true);
        check(&usual.replace("2.0", "1.0"), false);
        check(&usual.replace("tools/call", "tools\\/call"), false);
        check(&usual.replace("tools/call", "tools/list"), false);
        check(&usual.replace("\"id\":1,", ""), false);
        check(&usual.replace("\"id\"", "\"x\":1,\"id\""), false);
        check(&usual.replace("\"name\":\"x\"", "\"name\":\"\\u0078\""), false);
        check(&format!("[{usual}]"), false);
        check(r#"["2.0",1,"tools/call",{"name":"x"}]"#, false);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["x"]}"#, false);
        check(&format!("\u{feff}{usual}"), false);
        check(&format!("{usual}{usual}"), false);
        check("", false);
    }
}
