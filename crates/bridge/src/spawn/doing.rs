//! A tool call in a few words: a verb and its most important argument.

use punchlist_formats::text::{mask, one_line, truncate};
use serde_json::Value;

/// The maximal width of such a text.
const MOST: usize = 60;

/// The tools of all agents by what they do, and the arguments that say on what.
const TOOLS: &[(&str, &[&str], &[&str])] = &[
    ("Reading", &["Read", "NotebookRead", "read_file", "read_many_files"], FILE),
    ("Writing", &["Write", "write_file"], FILE),
    (
        "Editing",
        &["Edit", "MultiEdit", "NotebookEdit", "replace", "file_change", "apply_patch"],
        FILE,
    ),
    (
        "Running",
        &["Bash", "command_execution", "run_shell_command", "exec_command", "shell"],
        COMMAND,
    ),
    ("Searching for", &["Grep", "Glob", "grep_search", "glob", "search_file_content"], PATTERN),
    ("Listing", &["LS", "list_directory"], FILE),
    ("Fetching", &["WebFetch", "web_fetch"], &["url", "prompt"]),
    ("Searching the web for", &["WebSearch", "web_search", "google_web_search"], &["query"]),
    (
        "Delegating",
        &["Agent", "Task", "invoke_agent", "spawn_agent"],
        &["description", "agent_name", "prompt"],
    ),
];

const FILE: &[&str] = &["file_path", "absolute_path", "notebook_path", "path", "dir_path"];
const COMMAND: &[&str] = &["command", "cmd"];
const PATTERN: &[&str] = &["pattern", "query"];

/// The call in a few words, on one line.
pub(super) fn words(tool: &str, input: Option<&str>, directory: &str) -> String {
    let known = TOOLS.iter().find(|(_, tools, _)| tools.contains(&tool));
    let Some((verb, _, arguments)) = known else { return short(&format!("Calling {tool}")) };
    let input: Value = input.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
    // Codex lists the changed files.
    let change = input["changes"].as_array().and_then(|it| it.first());
    let of =
        |value: &Value| arguments.iter().find_map(|name| value[*name].as_str().map(str::to_owned));
    let Some(what) = of(&input).or_else(|| of(change?)) else {
        return short(&format!("Calling {tool}"));
    };
    let what = if *arguments == FILE {
        relative(&what, directory)
    } else if *arguments == COMMAND {
        plain(&what)
    } else {
        &what
    };
    short(&format!("{verb} {what}"))
}

/// A text on one line, without secrets, cut to the maximal width.
pub(super) fn short(text: &str) -> String {
    let line = one_line(text).split_whitespace().collect::<Vec<_>>().join(" ");
    truncate(mask(&line).trim(), MOST).into_owned()
}

/// A path relative to the directory.
fn relative<'a>(path: &'a str, directory: &str) -> &'a str {
    let inside = path.strip_prefix(directory).and_then(|it| it.strip_prefix('/'));
    inside.filter(|it| !it.is_empty() && !directory.is_empty()).unwrap_or(path)
}

/// A command without the shell that Codex wraps around it.
fn plain(command: &str) -> &str {
    let shells = ["/bin/bash -lc ", "bash -lc ", "/bin/sh -c ", "/bin/zsh -lc "];
    let inner = shells.iter().find_map(|it| command.strip_prefix(it)).unwrap_or(command);
    let quoted = |mark: char| inner.strip_prefix(mark).and_then(|it| it.strip_suffix(mark));
    quoted('\'').or_else(|| quoted('"')).unwrap_or(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_by_what_it_does_and_to_what() {
        for (tool, input, expected) in [
            ("Read", r#"{"file_path":"/w/app/CHANGELOG.md"}"#, "Reading CHANGELOG.md"),
            ("read_file", r#"{"file_path":"src/main.rs"}"#, "Reading src/main.rs"),
            ("Read", r#"{"file_path":"/etc/hosts"}"#, "Reading /etc/hosts"),
            ("Read", r#"{"file_path":"/w/apple/x"}"#, "Reading /w/apple/x"),
            ("Edit", r#"{"file_path":"/w/app/a.rs","old_string":"x"}"#, "Editing a.rs"),
            (
                "file_change",
                r#"{"changes":[{"path":"/w/app/b.rs","kind":"update"}]}"#,
                "Editing b.rs",
            ),
            ("Bash", r#"{"command":"cargo test\n --all"}"#, "Running cargo test --all"),
            ("command_execution", r#"{"command":"/bin/bash -lc 'cat x'"}"#, "Running cat x"),
            ("command_execution", r#"{"command":"/bin/bash -lc ls"}"#, "Running ls"),
            ("Grep", r#"{"pattern":"fn main"}"#, "Searching for fn main"),
            ("Agent", r#"{"description":"Look around","prompt":"…"}"#, "Delegating Look around"),
            ("mcp__plan__add", r#"{}"#, "Calling mcp__plan__add"),
            ("Read", r#"{}"#, "Calling Read"),
            ("Read", r#"not json"#, "Calling Read"),
            ("Bash", r#"{"command":"TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz x"}"#, ""),
            ("Bash", "{\"command\":\"\\u001b[31mred\\u202e\"}", ""),
        ] {
            let words = words(tool, Some(input), "/w/app");
            if expected.is_empty() {
                let is_harmless = |it: char| !it.is_control() && it != '\u{202e}';
                assert!(
                    words.starts_with("Running ") && words.chars().all(is_harmless),
                    "{words:?}"
                );
                assert!(!words.contains("ghp_0123"), "{words}");
            } else {
                assert_eq!(words, expected);
            }
        }
        assert_eq!(words("Bash", None, ""), "Calling Bash");
    }

    #[test]
    fn long_words_are_cut() {
        let input = format!(r#"{{"command":"{}"}}"#, "x".repeat(5000));
        assert_eq!(punchlist_formats::text::width(&words("Bash", Some(&input), "/")), MOST);
    }
}
