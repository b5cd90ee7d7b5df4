//! Recognises the program of a stream from its first lines.
//!
//! Only lines that no other program writes decide; ambiguous lines are skipped.

use std::fmt;

use memchr::memmem;

use crate::json::{self, Object, Objects, Value};
use crate::source::Source;

/// How many bytes of a stream are examined.
pub const LOOK_AHEAD: usize = 256 << 10;

/// A program that is recognised but not supported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Foreign {
    /// The program's name.
    pub name: &'static str,
    /// The version of the program or of its format, if the stream has it.
    pub version: Option<String>,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{} ({version})", self.name),
            None => f.write_str(self.name),
        }
    }
}

/// What the first clear line says.
enum Recognised {
    Ours(Source),
    Foreign(Foreign),
}

/// The program of a stream, from its first lines, if it is supported. Only the first [`LOOK_AHEAD`]
/// bytes are examined.
pub fn recognise(head: &[u8]) -> Option<Source> {
    match first_clear_line(head)? {
        Recognised::Ours(source) => Some(source),
        Recognised::Foreign(_) => None,
    }
}

/// The program of a stream, from its first lines, if it is recognised but not supported.
pub fn foreign(head: &[u8]) -> Option<Foreign> {
    match first_clear_line(head)? {
        Recognised::Ours(_) => None,
        Recognised::Foreign(foreign) => Some(foreign),
    }
}

fn first_clear_line(head: &[u8]) -> Option<Recognised> {
    let head = head.get(..LOOK_AHEAD).unwrap_or(head);
    let lines = head.split(|it| *it == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.skip_while(|it| it.is_empty());
    let first = lines.clone().next()?;
    if first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first) == b"{" {
        return by_document(head).map(Recognised::Ours);
    }
    lines.find_map(|line| {
        let text = json::text(line).ok();
        match text.as_deref().and_then(|it| Objects::of(it, &[]).next()) {
            Some(Ok(Some(object))) => {
                let foreign = by_another(&object).map(Recognised::Foreign);
                foreign.or_else(|| by_shape(&object).map(Recognised::Ours))
            }
            Some(Ok(None)) => None,
            // A line may be longer than the examined part.
            Some(Err(_)) | None => by_words(line).map(Recognised::Ours),
        }
    })
}

/// Recognises an object over many lines: by its fields if it is complete, else by words at the
/// beginning of lines.
fn by_document(head: &[u8]) -> Option<Source> {
    let text = json::text(head.trim_ascii()).ok();
    if let Some(Ok(Some(object))) = text.as_deref().and_then(|it| Objects::of(it, &[]).next()) {
        return by_shape(&object);
    }
    let has = |name: &str| {
        let mut lines = head.split(|it| *it == b'\n');
        lines.any(|it| it.trim_ascii_start().starts_with(name.as_bytes()))
    };
    if has("\"projectHash\":") && has("\"sessionId\":") {
        return Some(Source::Gemini);
    }
    (has("\"session\": {") && has("\"instructions\":")).then_some(Source::Codex)
}

/// Programs with similar lines that are not supported.
fn by_another(line: &Object<'_>) -> Option<Foreign> {
    let word = |name: &str| line.text(name).map(|it| it.cow().chars().take(40).collect());
    let kind = line.text("type").map_or("", |it| it.literal());
    let is_qwen = line.get("qwen_code_version").is_some()
        || (line.get("parentUuid").is_some() && line.path(&["message", "parts"]).is_some());
    if is_qwen {
        let version = word("qwen_code_version").or_else(|| word("version"));
        return Some(Foreign { name: "Qwen Code", version });
    }
    if line.text("sessionID").is_some() && line.get("part").is_some() {
        return Some(Foreign { name: "OpenCode", version: word("version") });
    }
    let format = line.get("version").and_then(|it| it.u64());
    let is_pi = kind == "\"session\"" && line.text("cwd").is_some() && line.text("id").is_some();
    let version = format.map(|it| format!("session format {it}"));
    is_pi.then_some(Foreign { name: "Pi", version })
}

fn by_shape(line: &Object<'_>) -> Option<Source> {
    // A recording of both directions has each message in a wrapper.
    let message = line.object("msg").filter(|_| line.has("dir"));
    let line = message.as_ref().unwrap_or(line);
    if let Some(source) = by_method(line) {
        return Some(source);
    }
    let has = |name: &str| line.get(name).is_some();
    if has("projectHash") || has("$set") || has("$rewindTo") {
        return Some(Source::Gemini);
    }
    if is_bare(line) {
        return Some(Source::Codex);
    }
    let kind = line.text("type")?.cow();
    let is_text = |name: &str| line.text(name).is_some();
    match &*kind {
        "session_meta"
        | "turn_context"
        | "world_state"
        | "response_item"
        | "event_msg"
        | "token_usage_record"
        | "inter_agent_communication_metadata"
        | "compacted"
            if has("payload") =>
        {
            Some(Source::Codex)
        }
        "thread.started" | "turn.started" | "turn.completed" | "turn.failed" | "item.started"
        | "item.updated" | "item.completed" => Some(Source::Codex),
        // Other programs have lines of these types, with a time too, but with other fields.
        "init" if is_text("session_id") && is_text("model") && is_text("timestamp") => {
            Some(Source::Gemini)
        }
        "message" if is_text("role") && is_text("content") && is_text("timestamp") => {
            Some(Source::Gemini)
        }
        "tool_use" if is_text("tool_name") && is_text("tool_id") => Some(Source::Gemini),
        "tool_result" if is_text("tool_id") && is_text("status") => Some(Source::Gemini),
        "result" if has("stats") && is_text("status") => Some(Source::Gemini),
        "error" if has("severity") => Some(Source::Gemini),
        "gemini" if has("content") => Some(Source::Gemini),
        // A chat file that is read from its middle.
        "user" | "info" | "warning" | "error"
            if has("id") && has("content") && has("timestamp") && !has("sessionId") =>
        {
            Some(Source::Gemini)
        }
        "assistant" | "user" | "system" | "attachment" | "result" | "stream_event" | "summary"
            if has("session_id") || has("sessionId") || has("parentUuid") || has("leafUuid") =>
        {
            Some(Source::ClaudeCode)
        }
        // Without a session, by the blocks of the message.
        "assistant" | "user" if has_blocks(line) => Some(Source::ClaudeCode),
        "progress" if has("data") && has("sessionId") => Some(Source::ClaudeCode),
        "queue-operation" | "last-prompt" | "mode" | "permission-mode" if has("sessionId") => {
            Some(Source::ClaudeCode)
        }
        "file-history-snapshot" if has("snapshot") => Some(Source::ClaudeCode),
        _ => None,
    }
}

/// Rollouts of older versions: a unique first line, and items of types that only they have without
/// a wrapper.
fn is_bare(line: &Object<'_>) -> bool {
    let has = |name: &str| line.get(name).is_some();
    let session = line.get("session").map(|it| it.object().unwrap_or_default());
    let header = session.as_ref().unwrap_or(line);
    let is_header =
        ["id", "timestamp", "instructions"].into_iter().all(|it| header.get(it).is_some());
    let kind = line.text("type").map_or("", |it| it.literal());
    match kind {
        "" => is_header || line.text("record_type").is_some_and(|it| it.is("state")),
        "\"function_call\"" => line.text("call_id").is_some() && line.text("arguments").is_some(),
        "\"function_call_output\"" => line.text("call_id").is_some() && has("output"),
        _ => false,
    }
}

/// Whether a message has a tool call, a tool result or reasoning in the format of Anthropic's API.
fn has_blocks(line: &Object<'_>) -> bool {
    let content = line.path(&["message", "content"]).map(Value::items).unwrap_or_default();
    content.into_iter().filter_map(Value::object).any(|block| {
        match block.text("type").map_or("", |it| it.literal()) {
            "\"tool_use\"" => block.text("name").is_some() && block.get("input").is_some(),
            "\"tool_result\"" => block.text("tool_use_id").is_some(),
            "\"thinking\"" => block.text("thinking").is_some(),
            _ => false,
        }
    })
}

/// JSON-RPC messages. Codex's app server omits the version field.
fn by_method(line: &Object<'_>) -> Option<Source> {
    let is_rpc = line.get("jsonrpc").is_some();
    if let Some(method) = line.text("method") {
        let method = method.cow();
        let (area, _) = method.split_once('/').unwrap_or((&method, ""));
        return match (area, is_rpc) {
            ("session", true) => Some(Source::Acp),
            // Other protocols have this method too, but another format of versions.
            ("initialize", true) => {
                let version = line.path(&["params", "protocolVersion"])?;
                version.u64().map(|_| Source::Acp)
            }
            (
                "thread" | "turn" | "item" | "rawResponseItem" | "hooks" | "account"
                | "remoteControl",
                false,
            ) => Some(Source::Codex),
            _ => None,
        };
    }
    let result = line.get("result")?.object().unwrap_or_default();
    if !is_rpc {
        return result.get("codexHome").map(|_| Source::Codex);
    }
    let is_acp = result.get("protocolVersion").is_some_and(|it| it.u64().is_some())
        || result.text("stopReason").is_some_and(|_| line.get("id").is_some())
        || (result.text("sessionId").is_some() && result.get("modes").is_some());
    is_acp.then_some(Source::Acp)
}

/// By words that only one program writes, if the line cannot be parsed.
fn by_words(line: &[u8]) -> Option<Source> {
    const WORDS: [(&str, Source); 7] = [
        ("\"parentUuid\"", Source::ClaudeCode),
        ("\"claude_code_version\"", Source::ClaudeCode),
        ("\"base_instructions\"", Source::Codex),
        ("\"thread_id\"", Source::Codex),
        ("\"projectHash\"", Source::Gemini),
        ("\"$set\"", Source::Gemini),
        ("\"sessionUpdate\"", Source::Acp),
    ];
    // A line of text that quotes such a word does not count.
    if !line.starts_with(b"{\"") {
        return None;
    }
    WORDS.into_iter().find(|(word, _)| memmem::find(line, word.as_bytes()).is_some()).map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &str, expected: Option<Source>) {
        assert_eq!(recognise(head.as_bytes()), expected, "{head}");
    }

    #[test]
    fn each_form_of_each_agent_is_recognised() {
        let claude = Some(Source::ClaudeCode);
        check(r#"{"type":"system","subtype":"init","session_id":"s"}"#, claude);
        check(r#"{"type":"system","subtype":"hook_started","session_id":"s"}"#, claude);
        check(r#"{"type":"result","subtype":"success","session_id":"s"}"#, claude);
        check(r#"{"type":"queue-operation","operation":"enqueue","sessionId":"s"}"#, claude);
        check(r#"{"type":"mode","mode":"normal","sessionId":"s"}"#, claude);
        check(r#"{"parentUuid":null,"type":"user","message":{},"sessionId":"s"}"#, claude);
        check(r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#, claude);
        let codex = Some(Source::Codex);
        check(r#"{"type":"thread.started","thread_id":"t"}"#, codex);
        check(r#"{"type":"item.completed","item":{"id":"i","type":"error"}}"#, codex);
        check(r#"{"timestamp":"t","ordinal":0,"type":"session_meta","payload":{}}"#, codex);
        check(r#"{"method":"turn/plan/updated","params":{"threadId":"t"}}"#, codex);
        check(r#"{"dir":"recv","msg":{"method":"thread/started","params":{}}}"#, codex);
        check(r#"{"id":0,"result":{"userAgent":"x","codexHome":"/h"}}"#, codex);
        check(r#"{"method":"account/rateLimits/updated","params":{}}"#, codex);
        check(r#"{"timestamp":"t","type":"compacted","payload":{}}"#, codex);
        let gemini = Some(Source::Gemini);
        check(r#"{"type":"init","timestamp":"t","session_id":"s","model":"m"}"#, gemini);
        check(r#"{"type":"message","timestamp":"t","role":"user","content":"x"}"#, gemini);
        check(r#"{"type":"result","timestamp":"t","status":"success","stats":{}}"#, gemini);
        check(r#"{"sessionId":"s","projectHash":"h","kind":"main"}"#, gemini);
        check(r#"{"$set":{"lastUpdated":"t"}}"#, gemini);
        check(r#"{"$rewindTo":"m"}"#, gemini);
        check(r#"{"id":"m","timestamp":"t","type":"user","content":[{"text":"x"}]}"#, gemini);
        check(r#"{"id":"m","timestamp":"t","type":"gemini","content":""}"#, gemini);
        let acp = Some(Source::Acp);
        check(r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#, acp);
        check(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#,
            acp,
        );
        check(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#, acp);
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","modes":{}}}"#, acp);
        check(r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#, acp);
        check(r#"{"t":0.1,"dir":"a2c","msg":{"jsonrpc":"2.0","method":"session/update"}}"#, acp);
    }

    #[test]
    fn what_could_be_anybodys_is_not_guessed() {
        check("", None);
        check("plain text\n[1,2]\n{}\n{\"type\":\"user\"}\n", None);
        check(r#"{"type":"error","message":"x"}"#, None);
        check(r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#, None);
        check(r#"{"jsonrpc":"2.0","id":0,"result":{"tools":[]}}"#, None);
        check(r#"{"id":0,"result":{}}"#, None);
        let mcp = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        check(mcp, None);
    }

    #[test]
    fn older_forms_are_recognised() {
        let codex = Some(Source::Codex);
        check(r#"{"id":"t","timestamp":"2025-06-01T00:00:00Z","instructions":null}"#, codex);
        check(r#"{"record_type":"state"}"#, codex);
        check(r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}"#, codex);
        check(r#"{"session":{"id":"t","timestamp":"t","instructions":""},"items":[]}"#, codex);
        let gemini = Some(Source::Gemini);
        check(r#"{"sessionId":"s","projectHash":"h","messages":[]}"#, gemini);
        check("{\n  \"sessionId\": \"s\",\n  \"projectHash\": \"h\",\n  \"messages\": [\n", gemini);
        check(
            "{\r\n  \"session\": {\r\n    \"id\": \"t\",\r\n    \"instructions\": \"\"\r\n",
            codex,
        );
        check("{\n  \"name\": \"x\",\n  \"version\": \"1\"\n}\n", None);
    }

    #[test]
    fn a_message_without_a_session_is_told_by_its_blocks() {
        let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_01ABC","name":"TodoWrite","input":{"todos":[]}}]}}"#;
        check(call, Some(Source::ClaudeCode));
        check(r#"{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}"#, None);
        check(r#"{"type":"assistant","message":{"content":"x"}}"#, None);
    }

    #[test]
    fn a_time_makes_no_line_gemini_s_and_other_programs_are_named() {
        #[track_caller]
        fn is(head: &str, name: &'static str, version: Option<&str>) {
            check(head, None);
            let version = version.map(str::to_owned);
            assert_eq!(foreign(head.as_bytes()), Some(Foreign { name, version }), "{head}");
        }
        let pi = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}"#;
        is(pi, "Pi", Some("session format 3"));
        let message = r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":[]}}"#;
        is(&format!("{pi}\n{message}"), "Pi", Some("session format 3"));
        check(message, None);
        let opencode =
            r#"{"type":"tool_use","timestamp":1,"sessionID":"ses_1","part":{"tool":"todowrite"}}"#;
        is(opencode, "OpenCode", None);
        is(
            r#"{"type":"system","subtype":"init","session_id":"s","qwen_code_version":"0.5.0"}"#,
            "Qwen Code",
            Some("0.5.0"),
        );
        is(
            r#"{"uuid":"u","parentUuid":null,"sessionId":"s","timestamp":"t","type":"user","version":"0.4.1","message":{"role":"user","parts":[{"text":"x"}]}}"#,
            "Qwen Code",
            Some("0.4.1"),
        );
        for kind in ["init", "message", "tool_use", "tool_result"] {
            check(&format!(r#"{{"type":"{kind}","timestamp":"t"}}"#), None);
        }
        assert_eq!(foreign(br#"{"type":"thread.started","thread_id":"t"}"#), None);
    }

    #[test]
    fn the_first_line_that_tells_decides() {
        check(
            "Reading additional input from stdin...\n\n{\"type\":\"error\",\"message\":\"x\"}\n\
             {\"type\":\"thread.started\",\"thread_id\":\"t\"}\n\
             {\"type\":\"init\",\"timestamp\":\"t\"}\n",
            Some(Source::Codex),
        );
    }

    #[test]
    fn a_first_line_that_is_longer_than_what_is_looked_at_is_told_by_its_words() {
        let long = "x".repeat(LOOK_AHEAD);
        check(&format!("{{\"parentUuid\":null,\"message\":\"{long}"), Some(Source::ClaudeCode));
        check(
            &format!("{{\"type\":\"session_meta\",\"base_instructions\":\"{long}"),
            Some(Source::Codex),
        );
        check(&format!("see \"parentUuid\" {long}"), None);
    }
}
