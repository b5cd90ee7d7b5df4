//! What stands in Claude Code's files for us, and how it is put there and taken out again.
//!
//! Two files: one with the MCP servers, one with permissions and hooks. Both are edited here rather
//! than by the agent's own command, because that command writes other state into the user's home
//! when it runs, and uninstalling could not give back what was. Entries of others are never touched,
//! not even those beside ours in one array. What is ours is known by its form.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::edit::{Document, Step, Unfit};
use super::{Options, Scope};
use Step::{Index, Key};

/// The name of our server, and so the beginning of its tools' names.
pub const SERVER: &str = "punchlist";
/// The way to its entry.
pub(crate) const SERVER_WAY: [Step<'static>; 2] = [Key("mcpServers"), Key(SERVER)];
/// The permission that lets every tool of that server run without asking.
pub const PERMISSION: &str = "mcp__punchlist";
/// After so many seconds Claude Code goes on without our hook. The hook itself gives up earlier.
pub const HOOK_SECONDS: u32 = 3;

/// The events that we hear of, with the tools that matter where an event is about a tool.
pub const EVENTS: [(&str, Option<&str>); 11] = [
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("PostToolUse", Some("TodoWrite|TaskCreate|TaskUpdate|TaskList|TaskGet")),
    ("PostToolUseFailure", Some("TaskCreate")),
    ("PostToolBatch", None),
    ("TaskCreated", None),
    ("TaskCompleted", None),
    ("SubagentStart", None),
    ("SubagentStop", None),
    ("Stop", None),
    ("SessionEnd", None),
];

/// The two files of a scope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// With the MCP servers.
    pub servers: PathBuf,
    /// With permissions and hooks.
    pub settings: PathBuf,
}

impl Places {
    /// Where a scope has them.
    pub fn of(home: &Path, config_dir: Option<&Path>, scope: &Scope) -> Self {
        match scope {
            Scope::User => {
                let directory = config_dir.map_or_else(|| home.join(".claude"), Path::to_owned);
                // An older form that the program still prefers where it is there.
                let old = directory.join(".config.json");
                let servers = if old.exists() {
                    old
                } else {
                    config_dir.unwrap_or(home).join(".claude.json")
                };
                Self { servers, settings: directory.join("settings.json") }
            }
            Scope::Project(root) => Self {
                servers: root.join(".mcp.json"),
                settings: root.join(".claude").join("settings.json"),
            },
        }
    }
}

/// What ought to stand in the files.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wanted {
    pub(crate) server: Value,
    pub(crate) command: String,
    pub(crate) permission: bool,
}

impl Wanted {
    /// By what the installation is told. `None` if a path has no spelling in JSON.
    pub(crate) fn of(options: &Options) -> Option<Self> {
        let (binary, database) = (options.binary.to_str()?, options.database.to_str()?);
        let mut arguments = vec!["mcp", "--db", database];
        let mut command = format!("{} hook claude --db {}", quoted(binary), quoted(database));
        if let Some(plan) = &options.plan {
            arguments.extend(["--plan", plan]);
            command.push_str(&format!(" --plan {}", quoted(plan)));
        }
        let server = json!({
            "type": "stdio",
            "command": binary,
            "args": arguments,
            // Claude Code then waits for the connection, and keeps the tools loaded where it would
            // otherwise show the model their names alone.
            "alwaysLoad": true,
        });
        Some(Self { server, command: guard(&command), permission: options.permission })
    }

    fn hook(&self) -> Value {
        json!({"type": "command", "command": self.command, "timeout": HOOK_SECONDS})
    }

    /// The group of an event with our hook alone.
    pub(crate) fn group(&self, matcher: Option<&str>) -> Value {
        match matcher {
            Some(matcher) => json!({"matcher": matcher, "hooks": [self.hook()]}),
            None => json!({"hooks": [self.hook()]}),
        }
    }
}

/// A command that lets nothing through but a deliberate answer: whatever else happens (no binary, a
/// crash, an error text), nothing is printed and the exit code is 0, so the agent goes on.
pub fn guard(command: &str) -> String {
    format!(
        "o=$({command} 2>/dev/null) && case $o in '{{'*'}}') printf '%s\\n' \"$o\";; esac; exit 0"
    )
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
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

/// Whether a server's entry is one of ours, of any version.
pub(crate) fn is_our_server(entry: &Value) -> bool {
    let name = |command: &str| {
        let name = command.rsplit('/').next().unwrap_or(command);
        name.to_ascii_lowercase().contains("punchlist")
    };
    entry["command"].as_str().is_some_and(name) && entry["args"][0] == "mcp"
}

/// Whether a hook is one of ours, of any version.
pub(crate) fn is_our_hook(hook: &Value) -> bool {
    hook["command"].as_str().is_some_and(|it| {
        it.starts_with("o=$(") && it.contains(" hook claude") && it.ends_with("exit 0")
    })
}

/// Where our hooks stand, as (group, hook) in the array of an event.
pub(crate) fn our_hooks(groups: &Value) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
        let hooks = group["hooks"].as_array().into_iter().flatten().enumerate();
        found.extend(hooks.filter(|(_, hook)| is_our_hook(hook)).map(|(hook, _)| (at, hook)));
    }
    found
}

/// The events at which a hook of ours stands.
pub(crate) fn hooked(settings: &Value) -> Vec<String> {
    let events = settings["hooks"].as_object().into_iter().flatten();
    events.filter(|(_, it)| !our_hooks(it).is_empty()).map(|(name, _)| name.clone()).collect()
}

/// Whether settings give the permission.
pub(crate) fn permits(settings: &Value) -> bool {
    let allowed = settings["permissions"]["allow"].as_array();
    allowed.is_some_and(|it| it.iter().any(|it| it == PERMISSION))
}

/// What cannot be edited, because it is not what Claude Code would have there.
pub(crate) fn unfit(way: &[Step<'_>], unfit: Unfit) -> String {
    let names = way.iter().take(unfit.0).map(|step| match step {
        Key(key) => (*key).to_owned(),
        Index(at) => at.to_string(),
    });
    let place = names.collect::<Vec<_>>().join(".");
    let wanted = match way.get(unfit.0) {
        Some(Index(_)) => "an array",
        Some(Key(_)) | None => "an object",
    };
    if place.is_empty() {
        format!("the file does not hold {wanted}")
    } else {
        format!("{place} is not {wanted}")
    }
}

/// Puts our server into the file of servers. Says why not, where that cannot be.
pub(crate) fn put_server(doc: &mut Document, wanted: &Wanted) -> Result<(), String> {
    let way = SERVER_WAY;
    match doc.get(&way) {
        Some(entry) if entry == wanted.server => return Ok(()),
        Some(entry) if !is_our_server(&entry) => {
            return Err(format!("mcpServers.{SERVER} is somebody else's server"));
        }
        Some(_) | None => {}
    }
    doc.put(&way, &wanted.server).map_err(|it| unfit(&way, it))
}

/// Takes our server out, and puts back what was there before.
pub(crate) fn take_server(doc: &mut Document, before: Option<&Value>, made: Made<'_>) {
    let way = SERVER_WAY;
    if !doc.get(&way).is_some_and(|it| is_our_server(&it)) {
        return;
    }
    match before {
        // It is there, so it can be replaced.
        Some(before) => drop(doc.put(&way, before)),
        None => {
            doc.remove(&way);
            drop_if_empty(doc, &way[..1], "mcpServers", made, true);
        }
    }
}

/// Puts permission and hooks into the settings.
pub(crate) fn put_settings(doc: &mut Document, wanted: &Wanted) -> Result<(), String> {
    if wanted.permission && !permits(&doc.value()) {
        let array = [Key("permissions"), Key("allow")];
        let count = doc.get(&array).as_ref().and_then(Value::as_array).map_or(0, Vec::len);
        let way = [array[0], array[1], Index(count)];
        doc.put(&way, &json!(PERMISSION)).map_err(|it| unfit(&way, it))?;
    }
    for (event, matcher) in EVENTS {
        put_hook(doc, event, matcher, wanted)?;
    }
    // Events that an earlier version wanted to hear of.
    for event in hooked(&doc.value()) {
        if !EVENTS.iter().any(|(name, _)| *name == event) {
            take_hooks(doc, &event, None, Made(None));
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
    let ours = our_hooks(&groups);
    // The first of ours that can stay or be made right where it stands is the one.
    let is_alone = |at: usize| groups[at]["hooks"].as_array().is_some_and(|it| it.len() == 1);
    let fits = |at: usize| groups[at]["matcher"].as_str().filter(|it| !it.is_empty()) == matcher;
    let kept = ours.iter().copied().find(|(at, _)| is_alone(*at) || fits(*at));
    match kept {
        Some((at, _)) if is_alone(at) => {
            if groups[at] != group {
                let way = [array[0], array[1], Index(at)];
                doc.put(&way, &group).map_err(|it| unfit(&way, it))?;
            }
        }
        Some((at, hook)) => {
            let way = [array[0], array[1], Index(at), Key("hooks"), Index(hook)];
            if groups[at]["hooks"][hook] != wanted.hook() {
                doc.put(&way, &wanted.hook()).map_err(|it| unfit(&way, it))?;
            }
        }
        None => {
            let count = groups.as_array().map_or(0, Vec::len);
            let way = [array[0], array[1], Index(count)];
            doc.put(&way, &group).map_err(|it| unfit(&way, it))?;
        }
    }
    if ours.len() > usize::from(kept.is_some()) {
        take_hooks(doc, event, kept.or(Some((usize::MAX, 0))), Made(Some(&[])));
    }
    Ok(())
}

/// Takes our hooks of an event out, except the one at `but`; or, where `but` is beyond all, except
/// the last, which was just put there.
fn take_hooks(doc: &mut Document, event: &str, but: Option<(usize, usize)>, made: Made<'_>) {
    let array = [Key("hooks"), Key(event)];
    let groups = doc.get(&array).unwrap_or_default();
    let mut ours = our_hooks(&groups);
    match but {
        Some((usize::MAX, _)) => drop(ours.pop()),
        Some(but) => ours.retain(|it| *it != but),
        None => {}
    }
    // From the end, so that the places of the others stay right.
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

/// Takes permission and hooks out of the settings, and the containers that were made for them.
pub(crate) fn take_settings(doc: &mut Document, made: Made<'_>) {
    let events = hooked(&doc.value());
    for event in &events {
        take_hooks(doc, event, None, made);
    }
    for (event, _) in EVENTS {
        drop_if_empty(doc, &[Key("hooks"), Key(event)], &format!("hooks/{event}"), made, false);
    }
    drop_if_empty(doc, &[Key("hooks")], "hooks", made, !events.is_empty());
    let array = [Key("permissions"), Key("allow")];
    let allowed = doc.get(&array).unwrap_or_default();
    let at = allowed.as_array().and_then(|it| it.iter().rposition(|it| it == PERMISSION));
    let at = at.filter(|_| made.has(MADE_PERMISSION, !events.is_empty()));
    if let Some(at) = at {
        doc.remove(&[array[0], array[1], Index(at)]);
    }
    drop_if_empty(doc, &array, "permissions/allow", made, at.is_some());
    drop_if_empty(doc, &array[..1], "permissions", made, at.is_some());
}

/// The name of the permission among what was made.
pub(crate) const MADE_PERMISSION: &str = "permissions/allow/mcp__punchlist";

/// What an installation made, by name; `None` if nobody knows any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'a>(pub(crate) Option<&'a [String]>);

impl Made<'_> {
    /// Whether it made that. Where nobody knows, what something of ours was just taken out of
    /// counts as made for it.
    fn has(self, name: &str, had_ours: bool) -> bool {
        self.0.map_or(had_ours, |it| it.iter().any(|it| it == name))
    }
}

fn drop_if_empty(doc: &mut Document, way: &[Step<'_>], name: &str, made: Made<'_>, had_ours: bool) {
    let is_empty = |it: &Value| match it {
        Value::Array(it) => it.is_empty(),
        Value::Object(it) => it.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if made.has(name, had_ours) && doc.get(way).as_ref().is_some_and(is_empty) {
        doc.remove(way);
    }
}

/// The names of all that our edits would have to make, which is not there yet.
pub(crate) fn missing(doc: &Document) -> Vec<String> {
    let value = doc.value();
    let mut names: Vec<String> =
        ["mcpServers", "permissions", "permissions/allow", "hooks"].map(str::to_owned).to_vec();
    names.extend(EVENTS.map(|(event, _)| format!("hooks/{event}")));
    names.retain(|name| value.pointer(&format!("/{name}")).is_none());
    if !permits(&value) {
        names.push(MADE_PERMISSION.to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_that_is_asked_for_is_understood() {
        for (event, tools) in EVENTS {
            for tool in tools.unwrap_or("").split('|') {
                let told = json!({
                    "hook_event_name": event, "session_id": "s", "cwd": "/", "tool_name": tool,
                    "task_id": "1", "task_subject": "A", "tool_input": {"todos": [], "taskId": "1"},
                    "tool_response": {
                        "newTodos": [], "task": {"id": "1", "subject": "A"}, "tasks": [],
                        "success": true, "taskId": "1", "updatedFields": ["subject"],
                    },
                });
                let read = punchlist_formats::hook::claude::read(told.to_string().as_bytes(), None);
                assert!(read.is_some(), "{event} {tool}");
            }
        }
    }

    #[test]
    fn what_was_quoted_for_a_shell_is_read_back() {
        for word in ["/a/b.db", "it's", "'", "''", "a b", "$(x) `y` \"z\"", "\\", ""] {
            let guard = guard(&format!("{} hook claude --db {}", quoted("/bin/p"), quoted(word)));
            assert_eq!(argument(&guard, "--db").as_deref(), Some(word));
            assert_eq!(argument(&guard, "--plan"), None);
            let said = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), word);
        }
    }
}
