//! Which program a stream comes from, by what its first lines say.
//!
//! Only shapes are looked at that no other program writes; a line that could be anybody's is passed over.

use memchr::memmem;

use super::Source;
use super::json::{Tape, Value};

/// How many bytes of a stream are looked at, at most.
pub const LOOK_AHEAD: usize = 256 << 10;

/// The program that the first lines of a stream come from, if they tell. What follows the first
/// [`LOOK_AHEAD`] bytes is not looked at.
pub fn recognise(head: &[u8]) -> Option<Source> {
    let head = head.get(..LOOK_AHEAD).unwrap_or(head);
    let mut tape = Tape::default();
    let mut lines = head.split(|it| *it == b'\n');
    lines.find_map(|line| match tape.read(line.trim_ascii()) {
        Ok(value) => by_shape(value),
        // One line may be longer than what is looked at.
        Err(_) => by_words(line),
    })
}

fn by_shape(line: Value<'_>) -> Option<Source> {
    // Whoever records both directions of a pipe puts each message into a wrapper.
    let message = line.get("msg").filter(|it| it.is_object() && line.get("dir").is_some());
    let line = message.unwrap_or(line);
    if let Some(source) = by_method(line) {
        return Some(source);
    }
    let has = |name: &str| line.get(name).is_some();
    if has("projectHash") || has("$set") || has("$rewindTo") {
        return Some(Source::Gemini);
    }
    let kind = line.text("type")?.cow();
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
        "init" | "message" | "tool_use" | "tool_result" if has("timestamp") => Some(Source::Gemini),
        "result" if has("stats") => Some(Source::Gemini),
        "error" if has("severity") => Some(Source::Gemini),
        "gemini" if has("content") => Some(Source::Gemini),
        // A chat file that is read from the middle on.
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
        "queue-operation" | "last-prompt" | "mode" | "permission-mode" if has("sessionId") => {
            Some(Source::ClaudeCode)
        }
        "file-history-snapshot" if has("snapshot") => Some(Source::ClaudeCode),
        _ => None,
    }
}

/// Messages of JSON-RPC. Codex's app server leaves out the field that says so.
fn by_method(line: Value<'_>) -> Option<Source> {
    let is_rpc = line.get("jsonrpc").is_some();
    if let Some(method) = line.text("method") {
        let method = method.cow();
        let (area, _) = method.split_once('/').unwrap_or((&method, ""));
        return match (area, is_rpc) {
            ("session", true) => Some(Source::Acp),
            // Other protocols begin so too, but count their versions otherwise.
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
    let result = line.get("result")?;
    if !is_rpc {
        return result.get("codexHome").map(|_| Source::Codex);
    }
    let is_acp = result.get("protocolVersion").is_some_and(|it| it.u64().is_some())
        || result.text("stopReason").is_some_and(|_| line.get("id").is_some())
        || (result.text("sessionId").is_some() && result.get("modes").is_some());
    is_acp.then_some(Source::Acp)
}

/// By words that only one program writes, where the line cannot be read.
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
    // A line of text that quotes one of them is none of theirs.
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
