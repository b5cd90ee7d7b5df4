//! A call of a tool as the client shows it: title, kind, files and changes.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_agent::provider::{Arguments, ModelCall};
use punchlist_formats::prompt::fence;
use punchlist_formats::text::secret::mask;
use punchlist_formats::text::{one_line, truncate};
use serde_json::{Value, json};

/// The longest title, in columns.
const LONGEST: usize = 120;

/// The largest file whose old text is sent with a change.
const LARGEST: u64 = 1024 * 1024;

/// A call as the client first hears of it, before it runs.
pub(super) fn announced(call: &ModelCall, root: &Path) -> Value {
    let mut shown = replayed(call, root);
    if let ("write", Some(path)) = (call.tool.as_str(), path(call, &shown["rawInput"], root))
        && let Some(new) = shown["rawInput"]["content"].as_str()
    {
        shown["content"] = json!([diff(&path, old_text(&path, root).as_deref(), new)]);
    }
    shown
}

/// A call of an earlier turn. The text that a `write` replaced is not known any more.
pub(super) fn replayed(call: &ModelCall, root: &Path) -> Value {
    let arguments = arguments(call);
    let mut shown = json!({
        "toolCallId": call.id.0,
        "title": title(&call.tool, &arguments),
        "kind": kind(&call.tool),
        "status": "pending",
        "rawInput": arguments,
    });
    let path = path(call, &arguments, root);
    if let Some(path) = &path {
        let mut location = json!({"path": path.display().to_string()});
        if let Some(line) = arguments["offset"].as_u64() {
            location["line"] = line.into();
        }
        shown["locations"] = json!([location]);
    }
    if let ("edit", Some(path)) = (call.tool.as_str(), &path)
        && let (Some(old), Some(new)) = (arguments["old"].as_str(), arguments["new"].as_str())
    {
        shown["content"] = json!([diff(path, Some(old), new)]);
    }
    shown
}

/// Whether the content of a call stays when it has ended: the diff of a change that was made.
pub(super) fn keeps_content(tool: &str, is_error: bool) -> bool {
    !is_error && kind(tool) == "edit"
}

/// The end of a call, with its output.
pub(super) fn ended(call: &ModelCall, is_error: bool, text: &str) -> Value {
    let text = mask(text);
    let mut shown = json!({
        "toolCallId": call.id.0,
        "status": if is_error { "failed" } else { "completed" },
        "rawOutput": text,
    });
    if !keeps_content(&call.tool, is_error) {
        shown["content"] = json!([content(&fence("text", text.trim_end()))]);
    }
    shown
}

/// Text as the content of a call.
pub(super) fn content(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

fn arguments(call: &ModelCall) -> Value {
    match &call.arguments {
        Arguments::Object(arguments) => arguments.clone(),
        Arguments::Invalid(text) => Value::from(text.as_str()),
    }
}

fn kind(tool: &str) -> &'static str {
    match tool {
        "shell" => "execute",
        "read" | "list" => "read",
        "search" => "search",
        "write" | "edit" => "edit",
        _ => "other",
    }
}

fn title(tool: &str, arguments: &Value) -> String {
    let argument = |name: &str| arguments[name].as_str();
    let title = match tool {
        "shell" => argument("command").map(str::to_owned),
        "read" => argument("path").map(|it| format!("Read {it}")),
        "list" => Some(format!("List {}", argument("path").unwrap_or("."))),
        "search" => argument("pattern").map(|it| format!("Search for {it}")),
        "write" => argument("path").map(|it| format!("Write {it}")),
        "edit" => argument("path").map(|it| format!("Edit {it}")),
        _ => None,
    };
    let title = title.unwrap_or_else(|| tool.to_owned());
    truncate(&one_line(&title), LONGEST).into_owned()
}

/// The file or directory that a call of a built-in tool is about.
fn path(call: &ModelCall, arguments: &Value, root: &Path) -> Option<PathBuf> {
    let is_known = matches!(call.tool.as_str(), "read" | "list" | "search" | "write" | "edit");
    let path = arguments["path"].as_str().filter(|_| is_known)?;
    Some(root.join(path))
}

/// A change of a file.
fn diff(path: &Path, old: Option<&str>, new: &str) -> Value {
    json!({"type": "diff", "path": path.display().to_string(), "oldText": old, "newText": new})
}

/// The text of a file of the project that a call replaces. A file that is missing, large or not text
/// is shown as new.
fn old_text(path: &Path, root: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok().filter(|it| it.starts_with(root))?;
    let found = fs::metadata(&path).ok()?;
    if !found.is_file() || found.len() > LARGEST {
        return None;
    }
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use punchlist_agent::provider::ModelCallId;

    use super::*;

    fn call(tool: &str, arguments: Value) -> ModelCall {
        ModelCall {
            id: ModelCallId("a-1".to_owned()),
            provider_id: String::new(),
            tool: tool.to_owned(),
            arguments: Arguments::Object(arguments),
            signatures: Vec::new(),
        }
    }

    #[test]
    fn a_call_has_a_title_a_kind_and_its_files() {
        let root = Path::new("/no/such/project");
        let shown = announced(&call("read", json!({"path": "src/a.rs", "offset": 7})), root);
        assert_eq!(shown["title"], "Read src/a.rs");
        assert_eq!(shown["kind"], "read");
        assert_eq!(shown["locations"], json!([{"path": "/no/such/project/src/a.rs", "line": 7}]));
        let shown = announced(&call("shell", json!({"command": "a\nb"})), root);
        assert_eq!((&shown["kind"], shown.get("locations")), (&json!("execute"), None));
        assert!(!shown["title"].as_str().unwrap().contains('\n'), "{shown}");
        let shown = announced(&call("mcp__x__y", json!({"path": "z"})), root);
        assert_eq!((&shown["kind"], &shown["title"]), (&json!("other"), &json!("mcp__x__y")));
        assert_eq!(shown.get("locations"), None);
    }

    #[test]
    fn a_change_is_a_diff_that_stays_if_it_was_made() {
        let root = Path::new("/no/such/project");
        let edit = call("edit", json!({"path": "a", "old": "x", "new": "y"}));
        let diff = json!({
            "type": "diff", "path": "/no/such/project/a", "oldText": "x", "newText": "y",
        });
        assert_eq!(announced(&edit, root)["content"], json!([diff]));
        assert_eq!(ended(&edit, false, "done").get("content"), None);
        assert_eq!(ended(&edit, true, "no")["content"][0]["content"]["text"], "```text\nno\n```");
        let write = call("write", json!({"path": "a", "content": "y"}));
        assert_eq!(announced(&write, root)["content"][0]["oldText"], Value::Null);
    }
}
