//! What another agent asks permission for, as calls of our own tools, so that the policy's rules about
//! those tools decide, and a person can be asked about what no rule decides.
//!
//! The tools here do nothing: a call that "runs" is a permission that was given. The agent's program then
//! does the work itself.

use std::fs;
use std::path::Path;

use futures_core::future::BoxFuture;
use punchlist_engine::policy::shell;
use punchlist_formats::text::one_line;
use punchlist_sched::call::{Checked, Ended, Kind};
use punchlist_sched::policy::{Policy, Subject, Verdict};
use punchlist_sched::tool::Preview;
use punchlist_sched::{Access, Output, Tool, Work};
use serde_json::{Value, json};

use super::PermissionRequest;
use crate::tools::{Place, Root, diff, subject};

/// Most paths of one request. A request with more is refused.
const MOST_PATHS: usize = 100;
/// The largest file that a diff is made of, in bytes.
const LARGEST: u64 = 2 << 20;
/// Most characters of arguments that are shown of a tool that we do not know.
const MOST_SHOWN: usize = 400;
/// How Gemini CLI's ids of calls to its list begin. Over ACP it asks even about those.
const LISTS: [&str; 2] = ["write_todos__", "tracker_"];

/// What an agent wants to do.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wanted {
    /// The calls, each of which must be allowed. None: it may be done.
    pub(crate) calls: Vec<WantedCall>,
}

/// One call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WantedCall {
    pub(crate) tool: Permitted,
    pub(crate) arguments: Value,
}

/// The tool that a permission is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Permitted {
    Shell,
    Read,
    Search,
    Edit,
    Other,
}

impl Permitted {
    pub(crate) const ALL: [Self; 5] =
        [Self::Shell, Self::Read, Self::Search, Self::Edit, Self::Other];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Read => "read",
            Self::Search => "search",
            Self::Edit => "edit",
            Self::Other => "other",
        }
    }
}

impl Wanted {
    fn one(tool: Permitted, arguments: Value) -> Self {
        Self { calls: vec![WantedCall { tool, arguments }] }
    }

    /// Whether the policy allows all of it.
    pub(crate) fn is_allowed(&self, policy: &Policy, root: &Root) -> bool {
        self.calls.iter().all(|it| {
            let tool = PermissionTool::new(it.tool, root.clone(), false);
            tool.subject(&it.arguments).is_ok_and(|it| policy.verdict(&it) == Verdict::Allow)
        })
    }

    /// What an agent asks for over ACP; an error if it may not be done whoever is asked.
    pub(crate) fn of_acp(request: &PermissionRequest) -> Result<Self, String> {
        if LISTS.iter().any(|it| request.call.starts_with(it)) {
            return Ok(Self { calls: Vec::new() });
        }
        let mut paths = request.paths.clone();
        paths.dedup();
        let (tool, verb) = match (request.kind.as_str(), &request.command) {
            ("execute", Some(command)) => {
                return Ok(Self::one(Permitted::Shell, json!({"command": command})));
            }
            ("read", _) => (Permitted::Read, "read"),
            ("search", _) => (Permitted::Search, "search"),
            ("edit", _) => (Permitted::Edit, "edit"),
            ("delete", _) => (Permitted::Edit, "delete"),
            ("move", _) => (Permitted::Edit, "move"),
            (_, _) => (Permitted::Other, ""),
        };
        if tool == Permitted::Search && paths.is_empty() {
            paths.push(".".to_owned());
        }
        if tool == Permitted::Other || paths.is_empty() {
            let name = if request.kind.is_empty() { "a tool" } else { &request.kind };
            let arguments = json!({"name": name, "does": request.title});
            return Ok(Self::one(Permitted::Other, arguments));
        }
        let change = request.change.as_ref();
        Self::of_paths(tool, verb, &paths, change.and_then(|(old, new)| diff(old, new)))
    }

    fn of_paths(
        tool: Permitted,
        verb: &str,
        paths: &[String],
        diff: Option<String>,
    ) -> Result<Self, String> {
        if paths.len() > MOST_PATHS {
            return Err(format!("it would touch more than {MOST_PATHS} files at once"));
        }
        let mut diff = diff;
        let call = |path: &String| {
            let mut arguments = json!({"path": path, "verb": verb});
            if let Some(diff) = diff.take() {
                arguments["diff"] = Value::from(diff);
            }
            WantedCall { tool, arguments }
        };
        Ok(Self { calls: paths.iter().map(call).collect() })
    }

    /// What Claude Code asks for in this directory.
    pub(crate) fn of_claude(tool: &str, input: &Value, directory: &Path) -> Result<Self, String> {
        let text = |name: &str| input[name].as_str().map(str::to_owned);
        let path = ["file_path", "notebook_path", "path"].iter().find_map(|it| text(it));
        let paths: Vec<String> = path.into_iter().collect();
        match (tool, paths.first()) {
            ("Bash", _) if input["command"].is_string() => {
                Ok(Self::one(Permitted::Shell, json!({"command": input["command"]})))
            }
            ("Read" | "NotebookRead", Some(_)) => {
                Self::of_paths(Permitted::Read, "read", &paths, None)
            }
            ("Grep" | "Glob" | "LS", _) => {
                let here = vec![".".to_owned()];
                let paths = if paths.is_empty() { here } else { paths };
                Self::of_paths(Permitted::Search, "search", &paths, None)
            }
            ("Edit" | "MultiEdit" | "Write" | "NotebookEdit", Some(path)) => {
                let verb = if tool == "Write" { "write" } else { "edit" };
                let change = change(tool, input, &directory.join(path));
                let diff = change.and_then(|(old, new)| diff(&old, &new));
                Self::of_paths(Permitted::Edit, verb, &paths, diff)
            }
            // Its questions need a dialog that only its own screen has.
            ("AskUserQuestion", _) => Err("this tool cannot reach the user here: ask the user in \
                                           your answer, and end your turn"
                .to_owned()),
            (_, _) => {
                Ok(Self::one(Permitted::Other, json!({"name": tool, "does": input.to_string()})))
            }
        }
    }
}

/// The text of a file before and after a change that Claude Code wants to make, as far as it is known.
fn change(tool: &str, input: &Value, path: &Path) -> Option<(String, String)> {
    let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    let is_small = fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= LARGEST);
    let old = if is_small { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    let one = [input.clone()];
    let edits = match tool {
        "Write" => return Some((old, text(input, "content")?)),
        "NotebookEdit" => return Some((String::new(), text(input, "new_source")?)),
        "MultiEdit" => input["edits"].as_array()?.as_slice(),
        _ => &one,
    };
    let mut new = old.clone();
    for edit in edits {
        let (from, to) = (text(edit, "old_string")?, text(edit, "new_string")?);
        if from.is_empty() || !new.contains(&from) {
            // The program will find that out; the person sees what it means.
            return Some((from, to));
        }
        let most = if edit["replace_all"] == true { usize::MAX } else { 1 };
        new = new.replacen(&from, &to, most);
    }
    Some((old, new))
}

/// A tool that gives a permission.
pub(crate) struct PermissionTool {
    tool: Permitted,
    root: Root,
    schema: Value,
    /// Whether a person may change the command.
    can_change: bool,
}

impl PermissionTool {
    pub(crate) fn new(tool: Permitted, root: Root, can_change: bool) -> Self {
        let needed = match tool {
            Permitted::Shell => "command",
            Permitted::Read | Permitted::Search | Permitted::Edit => "path",
            Permitted::Other => "name",
        };
        let schema = json!({
            "type": "object",
            "required": [needed],
            "properties": {needed: {"type": "string", "minLength": 1}},
        });
        Self { tool, root, schema, can_change }
    }

    fn place(&self, arguments: &Value) -> Result<Place, String> {
        let path = arguments["path"].as_str().unwrap_or_default();
        match self.tool {
            Permitted::Edit => self.root.resolve_to_write(path),
            Permitted::Shell | Permitted::Read | Permitted::Search | Permitted::Other => {
                self.root.resolve(path)
            }
        }
    }

    /// What the policy decides about.
    pub(crate) fn subject(&self, arguments: &Value) -> Result<Subject, String> {
        Ok(match self.tool {
            Permitted::Shell => {
                shell::subject("shell", arguments["command"].as_str().unwrap_or_default())
            }
            Permitted::Read | Permitted::Search => {
                let place = self.place(arguments)?;
                let is_secret = place.is_secret;
                Subject { is_secret, ..subject(self.tool.name(), &place, true) }
            }
            Permitted::Edit => subject(self.tool.name(), &self.place(arguments)?, false),
            Permitted::Other => other(arguments["name"].as_str().unwrap_or_default()),
        })
    }
}

/// The subject of a tool that is none of ours. Only rules about an MCP server's tools can allow it.
fn other(name: &str) -> Subject {
    let server = name.strip_prefix("mcp__").and_then(|it| it.split_once("__")).map(|it| it.0);
    Subject {
        tool: name.to_owned(),
        server: server.map(str::to_owned),
        always_asks: server.is_none(),
        ..Subject::default()
    }
}

impl Tool for PermissionTool {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self) -> &str {
        "a permission for another agent"
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, arguments: &Value) -> Result<Checked, String> {
        let subject = self.subject(arguments)?;
        Ok(Checked { access: Access::none(), kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        let text = |name: &str| arguments[name].as_str().map(str::to_owned);
        let is_fixed = !self.can_change;
        match self.tool {
            Permitted::Shell => Preview {
                what: "run".to_owned(),
                command: text("command"),
                is_fixed,
                ..Preview::default()
            },
            Permitted::Read | Permitted::Search | Permitted::Edit => {
                let shown = self.place(arguments).map(|it| it.shown).unwrap_or_default();
                let verb = text("verb").unwrap_or_else(|| self.tool.name().to_owned());
                let what = format!("{verb} {shown}");
                Preview {
                    what,
                    diff: text("diff"),
                    touches: vec![shown],
                    is_fixed: true,
                    ..Preview::default()
                }
            }
            Permitted::Other => {
                let (name, does) = (text("name").unwrap_or_default(), text("does"));
                let does: String = does.unwrap_or_default().chars().take(MOST_SHOWN).collect();
                let what = one_line(&format!("use {name}: {does}")).into_owned();
                Preview { what, is_fixed: true, ..Preview::default() }
            }
        }
    }

    fn run(&self, _: Value, _: Work) -> BoxFuture<'static, Ended> {
        Box::pin(std::future::ready(Ended::Well(Output::text("allowed"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(directory: &Path, call: &WantedCall) -> PermissionTool {
        PermissionTool::new(call.tool, Root::new(directory).unwrap(), true)
    }

    /// What a person is shown of a request of Claude Code, and whether rules can allow it.
    fn shown(directory: &Path, name: &str, input: &Value) -> (Preview, Subject) {
        let wanted = Wanted::of_claude(name, input, directory).unwrap();
        let tool = tool(directory, &wanted.calls[0]);
        let arguments = &wanted.calls[0].arguments;
        (tool.preview(arguments), tool.subject(arguments).unwrap())
    }

    #[test]
    fn claude_codes_tools_are_asked_about_as_our_own() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
        let (preview, subject) = shown(place.path(), "Bash", &json!({"command": "make test"}));
        assert_eq!((preview.command.as_deref(), preview.is_fixed), (Some("make test"), false));
        assert_eq!(subject.tool, "shell");
        let edit = json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"});
        let (preview, subject) = shown(place.path(), "Edit", &edit);
        assert_eq!((preview.what.as_str(), subject.tool.as_str()), ("edit a.txt", "edit"));
        let diff = preview.diff.unwrap();
        assert!(diff.contains("@@ -1,3 +1,3 @@") && diff.contains("-two\n+2\n"), "{diff}");
        let write = json!({"file_path": "new.txt", "content": "x\n"});
        let (preview, _) = shown(place.path(), "Write", &write);
        assert_eq!(preview.what, "write new.txt");
        assert!(preview.diff.unwrap().contains("+x\n"));
        let (_, subject) = shown(place.path(), "Read", &json!({"file_path": ".env"}));
        assert!(subject.is_secret && subject.tool == "read");
        let (_, subject) = shown(place.path(), "Grep", &json!({"pattern": "x"}));
        assert_eq!((subject.tool.as_str(), subject.harmless), ("search", true));
        let (preview, subject) = shown(place.path(), "WebFetch", &json!({"url": "http://x/"}));
        assert_eq!(preview.what, r#"use WebFetch: {"url":"http://x/"}"#);
        assert!(subject.always_asks, "no rule allows what we do not know");
        let (_, subject) = shown(place.path(), "mcp__shop__buy", &json!({}));
        assert_eq!((subject.server.as_deref(), subject.always_asks), (Some("shop"), false));
    }

    #[test]
    fn what_nobody_may_allow_is_refused_with_the_reason() {
        let place = tempfile::tempdir().unwrap();
        let wanted = Wanted::of_claude(
            "Write",
            &json!({"file_path": ".git/hooks/x", "content": "x"}),
            place.path(),
        );
        let call = wanted.unwrap().calls.remove(0);
        assert!(tool(place.path(), &call).check(&call.arguments).is_err());
        let why = Wanted::of_claude("AskUserQuestion", &json!({}), place.path()).unwrap_err();
        assert!(why.contains("ask the user in your answer"), "{why}");
    }

    #[test]
    fn an_agents_own_list_needs_no_permission_and_a_huge_request_gets_none() {
        let request = |call: Value| {
            PermissionRequest::read(&json!(1), &json!({"toolCall": call}), Path::new("/"))
        };
        let list = request(json!({"toolCallId": "write_todos__1", "kind": "other"}));
        assert_eq!(Wanted::of_acp(&list).unwrap().calls, []);
        let places: Vec<Value> = (0..101).map(|n| json!({"path": format!("{n}.txt")})).collect();
        let huge = request(json!({"kind": "edit", "locations": places}));
        assert!(Wanted::of_acp(&huge).unwrap_err().contains("more than 100 files"));
        // One file that is named three times is asked about once.
        let one = request(json!({"kind": "edit", "rawInput": {"file_path": "a"},
            "locations": [{"path": "a"}],
            "content": [{"type": "diff", "path": "a", "oldText": "1\n", "newText": "2\n"}]}));
        let wanted = Wanted::of_acp(&one).unwrap();
        assert_eq!(wanted.calls.len(), 1);
        assert!(wanted.calls[0].arguments["diff"].as_str().unwrap().contains("-1\n+2\n"));
    }
}
