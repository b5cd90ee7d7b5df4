//! Punchlist's entries in JSON settings of agents: adds and removes the server and the hooks.
//!
//! Claude Code, Codex and Gemini CLI have nearly the same format. Entries of others are never
//! changed, not even in the same array. Our own entries are recognised by their form, so that every
//! version of Punchlist finds them.

use punchlist_formats::hook::Agent;
use serde_json::{Value, json};

use super::edit::{Document, Step, Unfit};
use super::known::{Event, events};
use super::{Options, claude, codex, gemini};
use Step::{Index, Key};

/// The name of Punchlist's server, which is also part of its tools' names.
pub const SERVER: &str = "punchlist";
/// The path to the server's entry.
pub(crate) const SERVER_PATH: [Step<'static>; 2] = [Key("mcpServers"), Key(SERVER)];
/// The timeout after which an agent continues without the hook. The hook itself gives up earlier.
pub const HOOK_SECONDS: u32 = 3;

/// The option of the hook's command if the agent uses its own planning tools.
pub(crate) const OWN_TOOLS: &str = " --own-tools";

/// The entries that the files should contain.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wanted {
    pub(crate) agent: Agent,
    /// `None` if the agent's own tools are used instead of Punchlist's.
    pub(crate) server: Option<Value>,
    pub(crate) command: String,
    pub(crate) permission: bool,
    pub(crate) trust: bool,
    /// The events with hooks.
    pub(crate) events: Vec<Event>,
}

impl Wanted {
    /// The entries for these options. `None` if a path is not UTF-8.
    pub(crate) fn of(options: &Options) -> Option<Self> {
        let agent = options.agent;
        let (binary, database) = (options.binary.to_str()?, options.database.to_str()?);
        let mut arguments = vec!["mcp", "--db", database];
        let name = agent.as_str();
        let mut command = format!("{} hook {name} --db {}", quoted(binary), quoted(database));
        if let Some(plan) = &options.plan {
            arguments.extend(["--plan", plan]);
            command.push_str(&format!(" --plan {}", quoted(plan)));
        }
        if options.own_tools {
            command.push_str(OWN_TOOLS);
        }
        let server = match agent {
            Agent::Claude => claude::server(binary, &arguments),
            Agent::Codex => codex::server(binary, &arguments, options.permission),
            Agent::Gemini => gemini::server(binary, &arguments, options.permission),
        };
        Some(Self {
            agent,
            server: (!options.own_tools).then_some(server),
            command: guard(agent, &command),
            permission: options.permission,
            trust: options.trust,
            events: events(agent, options.version),
        })
    }

    fn hook(&self) -> Value {
        match self.agent {
            Agent::Claude | Agent::Codex => {
                json!({"type": "command", "command": self.command, "timeout": HOOK_SECONDS})
            }
            Agent::Gemini => json!({
                "type": "command", "name": SERVER, "command": self.command,
                "timeout": HOOK_SECONDS * 1000,
            }),
        }
    }

    /// The group of an event with only our hook.
    pub(crate) fn group(&self, matcher: Option<&str>) -> Value {
        match matcher {
            Some(matcher) => json!({"matcher": matcher, "hooks": [self.hook()]}),
            None => json!({"hooks": [self.hook()]}),
        }
    }
}

/// Wraps a hook command so that only a real answer reaches the agent: if the binary is missing,
/// crashes or prints an error, nothing is printed and the exit code is 0, so the agent continues.
/// `exec` replaces the inner shell. Otherwise the shell would keep the agent's stderr pipe open
/// while a command hangs, and some agents wait for it to close.
pub fn guard(agent: Agent, command: &str) -> String {
    let said = variable(agent);
    format!(
        "{said}=$(exec {command} 2>/dev/null) && case ${said} in '{{'*'}}') printf '%s\\n' \"${said}\";; \
         esac; exit 0"
    )
}

/// The shell variable for the answer. Gemini CLI expands environment variables in its settings, so
/// the name must not exist in any environment.
fn variable(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude | Agent::Codex => "o",
        Agent::Gemini => "punchlist_said",
    }
}

/// A word quoted for a shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A word for a shell, quoted only if necessary.
pub fn word(text: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-+:@%".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { quoted(text) }
}

/// An argument of the command inside a guard.
pub(crate) fn argument(guard: &str, name: &str) -> Option<String> {
    let (_, mut rest) = guard.split_once(&format!(" {name} '"))?;
    let mut word = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        word.push_str(part);
        // A quote inside a word, as `quoted` writes it.
        match after.strip_prefix("\\''") {
            Some(after) => rest = after,
            None => return Some(word),
        }
        word.push('\'');
    }
}

/// The program inside a guard.
pub(crate) fn program(guard: &str) -> Option<String> {
    let (_, rest) = guard.split_once("=$(")?;
    // Earlier versions did not write `exec`.
    let rest = rest.strip_prefix("exec ").unwrap_or(rest);
    argument(&format!(" it {rest}"), "it")
}

/// Whether a server's entry under Punchlist's name was written by any version of Punchlist:
/// recognised by the name of its program, or by arguments that only Punchlist has.
pub(crate) fn is_our_server(entry: &Value) -> bool {
    let Some(command) = entry["command"].as_str() else { return false };
    let arguments = words(&entry["args"]).unwrap_or_default();
    let ["mcp", options @ ..] = arguments.as_slice() else { return false };
    let name = command.rsplit('/').next().unwrap_or(command);
    let is_ours = |pair: &[&str]| matches!(pair, ["--db" | "--plan", _]);
    name.to_ascii_lowercase().contains("punchlist") || options.chunks(2).all(is_ours)
}

/// A list of texts; `None` for anything else.
fn words(list: &Value) -> Option<Vec<&str>> {
    list.as_array()?.iter().map(Value::as_str).collect()
}

/// Whether a server's entry allows its tools without asking. Claude Code stores this elsewhere.
pub(crate) fn is_approved(agent: Agent, server: &Value) -> bool {
    match agent {
        Agent::Claude => false,
        Agent::Codex => server["default_tools_approval_mode"] == "approve",
        Agent::Gemini => server["trust"] == true,
    }
}

/// Whether a hook was written by any version of Punchlist.
pub(crate) fn is_our_hook(agent: Agent, hook: &Value) -> bool {
    let begins = format!("{}=$(", variable(agent));
    let calls = format!(" hook {}", agent.as_str());
    hook["command"]
        .as_str()
        .is_some_and(|it| it.starts_with(&begins) && it.contains(&calls) && it.ends_with("exit 0"))
}

/// The positions of our hooks, as (group, hook) in the array of an event.
pub(crate) fn our_hooks(agent: Agent, groups: &Value) -> Vec<(usize, usize)> {
    hooks(groups).into_iter().filter(|it| is_our_hook(agent, it.1)).map(|it| it.0).collect()
}

/// All hooks in the array of an event, with their positions.
pub(crate) fn hooks(groups: &Value) -> Vec<((usize, usize), &Value)> {
    let mut found = Vec::new();
    for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
        let hooks = group["hooks"].as_array().into_iter().flatten().enumerate();
        found.extend(hooks.map(|(hook, value)| ((at, hook), value)));
    }
    found
}

/// The events that have a hook of ours.
pub(crate) fn hooked(agent: Agent, settings: &Value) -> Vec<String> {
    let events = settings["hooks"].as_object().into_iter().flatten();
    let ours = events.filter(|(_, it)| !our_hooks(agent, it).is_empty());
    ours.map(|(name, _)| name.clone()).collect()
}

/// The message for a value that is not what the agent expects there.
pub(crate) fn unfit(key_path: &[Step<'_>], unfit: Unfit) -> String {
    let names = key_path.iter().take(unfit.0).map(|step| match step {
        Key(key) => (*key).to_owned(),
        Index(at) => at.to_string(),
    });
    let place = names.collect::<Vec<_>>().join(".");
    let wanted = match key_path.get(unfit.0) {
        Some(Index(_)) => "an array",
        Some(Key(_)) | None => "an object",
    };
    if place.is_empty() {
        format!("the file does not contain {wanted}")
    } else {
        format!("{place} is not {wanted}")
    }
}

/// Adds our server to a file, or says why that is impossible.
pub(crate) fn put_server(doc: &mut Document, wanted: &Wanted) -> Result<(), String> {
    let key_path = SERVER_PATH;
    let Some(server) = &wanted.server else { return Ok(()) };
    match doc.get(&key_path) {
        Some(entry) if entry == *server => return Ok(()),
        Some(entry) if !is_our_server(&entry) => {
            return Err(format!("mcpServers.{SERVER} is somebody else's server"));
        }
        Some(_) | None => {}
    }
    doc.put(&key_path, server).map_err(|it| unfit(&key_path, it))
}

/// Removes our server, and restores the entry that was there before.
pub(crate) fn take_server(doc: &mut Document, before: Option<&Value>, made: Made<'_>) {
    let key_path = SERVER_PATH;
    if !doc.get(&key_path).is_some_and(|it| is_our_server(&it)) {
        return;
    }
    match before {
        // The path exists, so this cannot fail.
        Some(before) => drop(doc.put(&key_path, before)),
        None => {
            doc.remove(&key_path);
            drop_if_empty(doc, &key_path[..1], "mcpServers", made, true);
        }
    }
}

/// Adds our hooks.
pub(crate) fn put_hooks(doc: &mut Document, wanted: &Wanted) -> Result<(), String> {
    let events = &wanted.events;
    for (event, matcher) in events {
        put_hook(doc, event, *matcher, wanted)?;
    }
    // Events that only an earlier version needed.
    for event in hooked(wanted.agent, &doc.value()) {
        if !events.iter().any(|(name, _)| *name == event) {
            take_hooks(doc, wanted.agent, &event, None, Made(None));
        }
    }
    Ok(())
}

fn put_hook(
    doc: &mut Document,
    event: &str,
    matcher: Option<&str>,
    wanted: &Wanted,
) -> Result<(), String> {
    let array = [Key("hooks"), Key(event)];
    let groups = doc.get(&array).unwrap_or_default();
    let group = wanted.group(matcher);
    let ours = our_hooks(wanted.agent, &groups);
    // Keeps the first of our hooks that is right or can be corrected in place.
    let is_alone = |at: usize| groups[at]["hooks"].as_array().is_some_and(|it| it.len() == 1);
    let fits = |at: usize| groups[at]["matcher"].as_str().filter(|it| !it.is_empty()) == matcher;
    let kept = ours.iter().copied().find(|(at, _)| is_alone(*at) || fits(*at));
    match kept {
        Some((at, _)) if is_alone(at) => {
            if groups[at] != group {
                let key_path = [array[0], array[1], Index(at)];
                doc.put(&key_path, &group).map_err(|it| unfit(&key_path, it))?;
            }
        }
        Some((at, hook)) => {
            let key_path = [array[0], array[1], Index(at), Key("hooks"), Index(hook)];
            if groups[at]["hooks"][hook] != wanted.hook() {
                doc.put(&key_path, &wanted.hook()).map_err(|it| unfit(&key_path, it))?;
            }
        }
        None => {
            let count = groups.as_array().map_or(0, Vec::len);
            let key_path = [array[0], array[1], Index(count)];
            doc.put(&key_path, &group).map_err(|it| unfit(&key_path, it))?;
        }
    }
    if ours.len() > usize::from(kept.is_some()) {
        take_hooks(doc, wanted.agent, event, kept.or(Some((usize::MAX, 0))), Made(Some(&[])));
    }
    Ok(())
}

/// Removes our hooks of an event except the one at `keep`. If `keep` is beyond all of them, keeps the
/// last, which was just added.
fn take_hooks(
    doc: &mut Document,
    agent: Agent,
    event: &str,
    keep: Option<(usize, usize)>,
    made: Made<'_>,
) {
    let array = [Key("hooks"), Key(event)];
    let groups = doc.get(&array).unwrap_or_default();
    let mut ours = our_hooks(agent, &groups);
    match keep {
        Some((usize::MAX, _)) => drop(ours.pop()),
        Some(keep) => ours.retain(|it| *it != keep),
        None => {}
    }
    // From the end, so that the positions of the others stay valid.
    for (at, hook) in ours.into_iter().rev() {
        let group = [array[0], array[1], Index(at)];
        doc.remove(&[group[0], group[1], group[2], Key("hooks"), Index(hook)]);
        let left = doc.get(&[group[0], group[1], group[2], Key("hooks")]);
        if left.is_some_and(|it| it.as_array().is_some_and(Vec::is_empty)) {
            doc.remove(&group);
        }
    }
    drop_if_empty(doc, &array, &format!("hooks/{event}"), made, true);
}

/// Removes our hooks, and the containers that were created for them. Returns whether there were
/// any.
pub(crate) fn take_all_hooks(doc: &mut Document, agent: Agent, made: Made<'_>) -> bool {
    let found = hooked(agent, &doc.value());
    for event in &found {
        take_hooks(doc, agent, event, None, made);
    }
    for (event, _) in events(agent, None) {
        drop_if_empty(doc, &[Key("hooks"), Key(event)], &format!("hooks/{event}"), made, false);
    }
    drop_if_empty(doc, &[Key("hooks")], "hooks", made, !found.is_empty());
    !found.is_empty()
}

/// The names of what an installation created; `None` if that is unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'a>(pub(crate) Option<&'a [String]>);

impl Made<'_> {
    /// Whether the installation created this. If that is unknown, a container that held an entry of
    /// ours counts as created.
    pub(crate) fn has(self, name: &str, had_ours: bool) -> bool {
        self.0.map_or(had_ours, |it| it.iter().any(|it| it == name))
    }
}

pub(crate) fn drop_if_empty(
    doc: &mut Document,
    key_path: &[Step<'_>],
    name: &str,
    made: Made<'_>,
    had_ours: bool,
) {
    let is_empty = |it: &Value| match it {
        Value::Array(it) => it.is_empty(),
        Value::Object(it) => it.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if made.has(name, had_ours) && doc.get(key_path).as_ref().is_some_and(is_empty) {
        doc.remove(key_path);
    }
}

/// The names of everything that our edits would have to create; `more` besides the hooks.
pub(crate) fn missing(value: &Value, agent: Agent, more: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = more.iter().map(|it| (*it).to_owned()).collect();
    names.push("hooks".to_owned());
    names.extend(events(agent, None).iter().map(|(event, _)| format!("hooks/{event}")));
    names.retain(|name| value.pointer(&format!("/{name}")).is_none());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_that_is_asked_for_is_understood() {
        for agent in Agent::ALL {
            for (event, tools) in events(agent, None) {
                let tools = tools.filter(|it| *it != "*").unwrap_or("");
                for tool in tools.split('|') {
                    let told = json!({
                        "hook_event_name": event, "session_id": "s", "cwd": "/",
                        "tool_name": tool, "task_id": "1", "task_subject": "A",
                        "tool_input": {"todos": [], "taskId": "1"},
                        "tool_response": {
                            "newTodos": [], "task": {"id": "1", "subject": "A"}, "tasks": [],
                            "success": true, "taskId": "1", "updatedFields": ["subject"],
                        },
                    });
                    let read = agent.read(told.to_string().as_bytes(), None);
                    assert!(read.is_some(), "{} {event} {tool}", agent.as_str());
                }
            }
        }
    }

    #[test]
    fn a_server_is_ours_by_its_programs_name_or_by_its_arguments() {
        for (command, arguments, ours) in [
            ("/opt/punchlist", json!(["mcp"]), true),
            ("/opt/punchlist-0.1", json!(["mcp", "--surface", "full"]), true),
            ("/opt/pl", json!(["mcp", "--db", "/p.db"]), true),
            ("/opt/pl", json!(["mcp", "--db", "/p.db", "--plan", "release"]), true),
            ("/opt/pl", json!(["mcp"]), true),
            ("docker", json!(["mcp", "gateway", "run"]), false),
            ("docker", json!(["mcp", "--db"]), false),
            ("/opt/punchlist", json!(["serve"]), false),
            ("/opt/punchlist", json!([]), false),
            ("/opt/punchlist", json!(["mcp", 3]), false),
            ("npx", json!(["punchlist", "mcp"]), false),
        ] {
            let entry = json!({"command": command, "args": arguments});
            assert_eq!(is_our_server(&entry), ours, "{entry}");
        }
        assert!(!is_our_server(&json!({"type": "http", "url": "http://x", "args": ["mcp"]})));
    }

    #[test]
    fn what_was_quoted_for_a_shell_is_read_back() {
        for word in ["/a/b.db", "it's", "'", "''", "a b", "$(x) `y` \"z\"", "\\", ""] {
            let command = format!("{} hook claude --db {}", quoted("/bin/p"), quoted(word));
            let guard = guard(Agent::Claude, &command);
            assert_eq!(argument(&guard, "--db").as_deref(), Some(word));
            assert_eq!(argument(&guard, "--plan"), None);
            assert_eq!(program(&guard).as_deref(), Some("/bin/p"));
            let said = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), word);
        }
    }

    #[test]
    fn a_guard_lets_through_what_we_say_and_nothing_else() {
        for agent in Agent::ALL {
            for (script, expected) in [
                ("echo '{\"decision\":\"block\"}'", "{\"decision\":\"block\"}\n"),
                ("echo '{\"decision\":\"block\"}'; exit 3", ""),
                ("echo oops; echo oops >&2; exit 2", ""),
                ("echo oops", ""),
                ("echo oops >&2", ""),
                ("/there/is/no/such/binary", ""),
                ("kill -9 $$", ""),
            ] {
                let command = format!("sh -c {}", quoted(script));
                let ran = std::process::Command::new("/bin/sh")
                    .args(["-c", &guard(agent, &command)])
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&ran.stdout);
                assert_eq!((ran.status.code(), said.as_ref()), (Some(0), expected), "{script}");
                // The shell itself reports a killed command on stderr, which no agent reads as an
                // answer.
                assert!(ran.stderr.is_empty() || script.contains("kill"), "{script}");
            }
        }
    }

    #[test]
    fn a_guard_that_is_ended_leaves_nothing_that_keeps_the_agents_pipes_open() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        for agent in Agent::ALL {
            drop(std::fs::remove_file(&file));
            let script =
                format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", file.display());
            let command = format!("sh -c {}", quoted(&script));
            let mut child = std::process::Command::new("/bin/sh")
                .args(["-c", &guard(agent, &command)])
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let pid = loop {
                match std::fs::read_to_string(&file) {
                    Ok(pid) => break pid,
                    Err(_) => std::thread::yield_now(),
                }
            };
            child.kill().unwrap();
            // Returns only when both pipes are closed.
            let ran = child.wait_with_output().unwrap();
            assert_eq!((ran.stdout, ran.stderr), (Vec::new(), Vec::new()));
            let ended = std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
            assert!(ended.success(), "it hung until now, and so the pipes were not its");
        }
    }
}
