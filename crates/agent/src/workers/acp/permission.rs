//! What an agent asks permission for over the Agent Client Protocol, and who decides.
//!
//! Only "once" is ever answered: an answer that lasts would outlive what was decided about.

use std::path::{Path, PathBuf};

use futures_core::future::BoxFuture;
use punchlist_sched::policy::Policy;
use serde_json::{Value, json};

use super::wanted::Wanted;
use crate::tools::Root;

/// A request of an agent.
#[derive(Clone, PartialEq, Debug)]
pub struct PermissionRequest {
    /// The agent's id of the request.
    pub(crate) id: Value,
    /// The agent's id of the call.
    pub(crate) call: String,
    /// The question of our own agent that the request is about. It is in the store.
    pub(crate) question: Option<String>,
    /// The first change, as a diff of texts: old and new.
    pub(crate) change: Option<(String, String)>,
    /// The directory that the agent works in.
    pub directory: PathBuf,
    /// What the agent calls it.
    pub title: String,
    /// The kind of tool: `read`, `edit`, `delete`, `move`, `search`, `execute`, `fetch`, …
    pub kind: String,
    /// The command line, if it would execute one and says which.
    pub command: Option<String>,
    /// The files that it would touch, as far as it says.
    pub paths: Vec<String>,
    /// The id of the answer "yes, once", if there is one.
    allow_once: Option<String>,
    /// The id of the answer "no, once", if there is one.
    reject_once: Option<String>,
}

/// Decides what agents may do.
pub trait Approver: Send + Sync {
    /// Whether the worker of this name may do what it asks for.
    fn decide<'a>(&'a self, worker: &'a str, request: &'a PermissionRequest)
    -> BoxFuture<'a, bool>;
}

/// Refuses everything.
pub struct RefuseAll;

impl Approver for RefuseAll {
    fn decide<'a>(&'a self, _: &'a str, _: &'a PermissionRequest) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }
}

/// Allows what the policy allows for our own tools, and refuses everything else, also what a person
/// would have to be asked about.
pub struct ByPolicy(pub Policy);

impl Approver for ByPolicy {
    fn decide<'a>(
        &'a self,
        _worker: &'a str,
        request: &'a PermissionRequest,
    ) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(self.allows(request)))
    }
}

impl ByPolicy {
    fn allows(&self, request: &PermissionRequest) -> bool {
        let Ok(root) = Root::new(&request.directory) else { return false };
        let Ok(wanted) = Wanted::of_acp(request) else { return false };
        wanted.is_allowed(&self.0, &root)
    }
}

impl PermissionRequest {
    /// Reads a request.
    pub(super) fn read(id: &Value, params: &Value, directory: &Path) -> Self {
        let call = &params["toolCall"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let option = |kind: &str| {
            let mut options = params["options"].as_array().into_iter().flatten();
            let found = options.find(|it| it["kind"] == kind)?;
            found["optionId"].as_str().map(str::to_owned)
        };
        let input = &call["rawInput"];
        let named = ["file_path", "absolute_path", "path"].map(|it| &input[it]);
        let places = call["locations"].as_array().into_iter().flatten().map(|it| &it["path"]);
        let diffs = call["content"].as_array().into_iter().flatten().map(|it| &it["path"]);
        let paths = named.into_iter().chain(places).chain(diffs).filter_map(Value::as_str);
        let mut content = call["content"].as_array().into_iter().flatten();
        let change = content.find(|it| it["newText"].is_string());
        Self {
            id: id.clone(),
            call: text(&call["toolCallId"]),
            question: params["_meta"]["punchlist"]["question"].as_str().map(str::to_owned),
            change: change.map(|it| (text(&it["oldText"]), text(&it["newText"]))),
            directory: directory.to_owned(),
            title: text(&call["title"]),
            kind: text(&call["kind"]),
            command: command(input),
            paths: paths.map(str::to_owned).collect(),
            allow_once: option("allow_once"),
            reject_once: option("reject_once"),
        }
    }

    /// The answer to the agent.
    pub(crate) fn answer(&self, is_allowed: bool) -> Value {
        let option = if is_allowed { &self.allow_once } else { &self.reject_once };
        let outcome = match option {
            Some(option) => json!({"outcome": "selected", "optionId": option}),
            None => json!({"outcome": "cancelled"}),
        };
        json!({"jsonrpc": "2.0", "id": self.id, "result": {"outcome": outcome}})
    }

    /// The answer if nobody decided, because the turn has ended.
    pub(crate) fn cancelled(&self) -> Value {
        let outcome = json!({"outcome": "cancelled"});
        json!({"jsonrpc": "2.0", "id": self.id, "result": {"outcome": outcome}})
    }
}

/// The command line of a call: a text, or the words of a shell with one.
fn command(input: &Value) -> Option<String> {
    match &input["command"] {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => match words.as_slice() {
            [shell, option, line] => {
                let shell = shell.as_str()?.rsplit('/').next()?;
                let is_shell = ["sh", "bash", "zsh"].contains(&shell);
                let has_line = ["-c", "-lc"].contains(&option.as_str()?);
                line.as_str().filter(|_| is_shell && has_line).map(str::to_owned)
            }
            _ => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use punchlist_sched::{Decision, Rule};

    use super::*;

    fn request(directory: &Path, call: &Value) -> PermissionRequest {
        let options = json!([
            {"optionId": "always", "kind": "allow_always"},
            {"optionId": "yes", "kind": "allow_once"},
            {"optionId": "no", "kind": "reject_once"},
        ]);
        let params = json!({"sessionId": "s", "toolCall": call, "options": options});
        PermissionRequest::read(&json!(5), &params, directory)
    }

    #[test]
    fn the_policy_decides_as_for_our_own_tools_and_what_would_be_asked_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let allow = |tool: &str, command: Option<Vec<String>>| Rule {
            command,
            ..Rule::tool(Decision::Allow, tool)
        };
        let make = Some(vec!["make".to_owned()]);
        let policy = Policy::new(vec![allow("shell", make), allow("edit", None)], Vec::new());
        let check = |call: Value, expected: bool| {
            let request = request(directory.path(), &call);
            assert_eq!(ByPolicy(policy.clone()).allows(&request), expected, "{call}");
        };
        let execute = |command: Value| json!({"kind": "execute", "rawInput": {"command": command}});
        check(execute(json!("make test")), true);
        check(execute(json!(["/bin/bash", "-lc", "make test"])), true);
        check(execute(json!("make test && rm -rf .")), false);
        check(execute(json!(["python3", "-c", "make"])), false);
        check(json!({"kind": "execute", "title": "make test"}), false);
        let path = |kind: &str, path: &str| json!({"kind": kind, "locations": [{"path": path}]});
        check(path("edit", "a.txt"), true);
        check(path("edit", ".git/config"), false);
        check(path("edit", "../outside.txt"), false);
        check(json!({"kind": "edit"}), false);
        check(path("read", "a.txt"), true);
        check(path("read", ".env"), false);
        check(path("read", "/etc/passwd"), false);
        check(json!({"kind": "search"}), true);
        check(json!({"kind": "fetch", "rawInput": {"url": "http://127.0.0.1/"}}), false);
        check(json!({}), false);
        let two = json!({"kind": "edit", "locations": [{"path": "a"}],
                         "content": [{"type": "diff", "path": ".claude/settings.json"}]});
        check(two, false);
    }

    #[test]
    fn only_an_answer_for_once_is_given() {
        let request = request(Path::new("/"), &json!({}));
        let chosen = |allowed| request.answer(allowed)["result"]["outcome"]["optionId"].clone();
        assert_eq!((chosen(true), chosen(false)), (json!("yes"), json!("no")));
        let bare = PermissionRequest::read(&json!("x"), &json!({}), Path::new("/"));
        let answer = bare.answer(true);
        assert_eq!(answer["result"]["outcome"], json!({"outcome": "cancelled"}));
        assert_eq!(answer["id"], "x");
    }
}
