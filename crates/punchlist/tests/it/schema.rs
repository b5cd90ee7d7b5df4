//! What `--json` prints, compared with its published schema.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::{Ran, World};

/// Verbs without JSON of ours: events, exports, protocols, tool results, scripts.
const WITHOUT: &[&str] = &[
    "acp",
    "acp-tap",
    "completions",
    "db",
    "do",
    "events",
    "export",
    "hook",
    "mcp",
    "resume",
    "run",
    "serve",
    "team",
    // Not described yet.
    "token",
    "tool",
    "watch",
    "work",
];

/// Rules that allow, ask and deny, and one for another project.
/// A model that plans an item and completes it.
const PLANNED: &str = r#"{"answers": [
    {"calls": [{"tool": "create_todo", "arguments": {"items": [{"title": "Say it aloud"}]}}]},
    {"calls": [{"tool": "complete_todo", "arguments": {"todoId": "1", "outcome": "said"}}]},
    {"text": "Done."}
]}"#;

const RULES: &str = "\
[[policy]]
decision = 'allow'
tool = 'shell'
command = 'cd'

[[policy]]
decision = 'deny'
command = 'git push'
reason = 'releases are made by the pipeline'

[[policy]]
decision = 'allow'
tool = 'shell'
command = 'make'
project = '/somewhere/else'
";

struct Schema {
    document: Value,
    seen: BTreeSet<String>,
    /// What did not match.
    wrong: Vec<String>,
}

impl Schema {
    fn published(world: &World) -> Self {
        let document = serde_json::from_str(&world.typed("reference json-schema").ok()).unwrap();
        Self { document, seen: BTreeSet::new(), wrong: Vec::new() }
    }

    /// Checks the output of a verb against its schema.
    #[track_caller]
    fn fits(&mut self, verb: &str, out: &str) {
        let name = self.document["x-answers"][verb].as_str().unwrap_or_else(|| panic!("{verb}"));
        let name = name.to_owned();
        self.seen.insert(verb.to_owned());
        assert!(!out.trim().is_empty(), "{verb} says nothing");
        for line in out.lines() {
            self.is(&name, line);
        }
    }

    #[track_caller]
    fn is(&mut self, name: &str, line: &str) {
        assert!(!self.document["$defs"][name].is_null(), "{name}");
        let schema = json!({"$ref": format!("#/$defs/{name}"), "$defs": self.document["$defs"]});
        let validator = jsonschema::validator_for(&schema).unwrap();
        let value: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|it| format!("{} at {}", it, it.instance_path()))
            .collect();
        if !errors.is_empty() {
            self.wrong.push(format!("{name}: {errors:#?}\n{line}"));
        }
    }
}

/// The words of a verb, up to its first argument.
fn verb_of<'a>(line: &'a str, schema: &Schema) -> &'a str {
    let first = line.split(' ').next().unwrap();
    match line.contains("--dry-run") && !schema.document["x-answers"]["run --dry-run"].is_null() {
        true if first == "run" => "run --dry-run",
        _ => first,
    }
}

fn call(world: &World, schema: &mut Schema, line: &str) -> Ran {
    let (words, stdin) = line.split_once(" < ").unwrap_or((line, ""));
    let stdin = if stdin.is_empty() { String::new() } else { format!(" < {stdin}") };
    let ran = world.typed(&format!("{words} --json{stdin}"));
    assert!(!ran.out.is_empty(), "{line}: {}", ran.err);
    let verb = verb_of(line, schema).to_owned();
    schema.fits(&verb, &ran.out);
    ran
}

#[test]
fn what_every_verb_prints_with_json_is_as_its_schema_says() {
    let world = World::new();
    let mut schema = Schema::published(&world);
    world.write("project/plan.md", "# P\n\n- [ ] Say it\n  run: echo hello\n- [ ] By hand\n");
    world.write("project/notes.md", "- [x] From a file\n");
    world.write("home/.config/punchlist/config.toml", RULES);
    world.write("project/scenario.json", r#"{"answers": [{"text": "Done."}]}"#);
    world.typed("do --model scripted:scenario.json --quiet \"Say it\"").works();
    for line in [
        "list",
        "add A B C D E --priority 1 --owner ann --context why --wait somebody",
        "wait 1 --over",
        "wait 2 --over",
        "add F --under 3 --after 1 --verify true --covers src/** --meta '{\"x_y\":{\"a_b\":1}}'",
        "goal \"it works\" --accept 1 --budget minutes=90",
        "goal",
        "goal --demand checked",
        "goal --demand reported",
        "next",
        "start 1",
        "release 1",
        "next --claim",
        "done 1 --outcome fine",
        "reopen 1",
        "skip 2 --reason no",
        "edit 4 --title G",
        "move 4 --first",
        "undo",
        "verify",
        "verify --all",
        "import notes.md",
        "show 6",
        "show",
        "list",
        "list --all --open",
        "list --all-plans",
        "log",
        "replace < - [ ] A\\n- [x] Z\\n",
        "list --all",
        "plans",
        "plans --all",
        "run plan.md --dry-run",
        "questions",
        "questions --all",
        "reminders",
        "doctor",
        "gate",
        "tools turn",
        "tools todowrite",
        "install claude --dry-run",
        "uninstall claude --dry-run",
        "adopt --list",
        "policy 'cd src && make test && git push'",
        "policy 'x=1; $x'",
        "policy --tool read .env",
        "policy --tool write .git/config",
        "policy --consents",
        "models",
        "sessions",
        "sessions show",
        "sessions queue --add \"and then this\"",
        "sessions queue --steer \"rather that\"",
        "sessions queue",
        "sessions queue --pause",
    ] {
        call(&world, &mut schema, line);
    }
    world.write("project/planned.json", PLANNED);
    world.typed("do --model scripted:planned.json --quiet \"Plan it\"").works();
    let todos = call(&world, &mut schema, "sessions show --todos").out;
    assert!(todos.contains("\"title\":") && todos.contains("Say it aloud"), "{todos}");
    let sessions = world.typed("sessions --json").json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    call(&world, &mut schema, &format!("sessions forget {id}"));
    let exported = world.typed("export").ok();
    world.write("project/plan.jsonl", exported);
    let mut elsewhere = world.command("project");
    elsewhere.args(["import", "plan.jsonl", "--json", "--db"]).arg(world.path("other.db"));
    schema.fits("import", &crate::world::finish(elsewhere, b"").out);
    call(&world, &mut schema, "import plan.jsonl");
    for line in ["done 99", "frob", "done", "import nothing.md", "add X --expect 1", "show x"] {
        let ran = world.typed(&format!("{line} --json"));
        assert_ne!(ran.code, 0, "{line}");
        for line in ran.err.lines() {
            schema.is("Error", line);
        }
    }
    assert!(schema.wrong.is_empty(), "{}", schema.wrong.join("\n\n"));
    is_all_but(&schema, &["answer", "approve", "forget", "init", "move-project"]);
}

/// Checks that every verb with a schema was called, except these.
#[track_caller]
fn is_all_but(schema: &Schema, others: &[&str]) {
    let known = schema.document["x-answers"].as_object().unwrap().keys();
    let missing: Vec<&String> = known.filter(|it| !schema.seen.contains(*it)).collect();
    assert_eq!(missing, others, "no output was looked at");
}

#[test]
fn what_people_are_told_with_json_is_as_its_schema_says() {
    let world = World::new();
    let mut schema = Schema::published(&world);
    crate::questions::asks(&world);
    world.typed("add A B").works();
    for line in ["answer 0101 yes", "answer 0202 no --reason late", "approve 1 --done", "forget 2"]
    {
        let ran = world.person(&format!("{line} --json"));
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
        schema.fits(verb_of(line, &schema).to_owned().as_str(), &ran.out);
    }
    schema.fits("questions", &world.typed("questions --all --json").ok());
    world.repository("old/.git");
    world.repository("new/.git");
    for dir in ["old", "new"] {
        world.typed_in(dir, "add A --plan release").works();
    }
    let old = world.path("old");
    std::fs::rename(&old, world.path("gone")).unwrap();
    let line = format!("move-project {} . --json", old.display());
    let moved = world.typed_in("new", &line);
    assert_eq!(moved.json()["renamed"].as_array().map(Vec::len), Some(1), "{}", moved.out);
    schema.fits("move-project", &moved.out);
    schema.fits("init", &world.person("init --json").out);
    schema.fits("init", &world.person("init --instructions --json").out);
    schema.fits("policy", &world.typed("policy --consents --json").ok());
    schema.fits("policy", &world.typed("policy --take-back instructions --json").ok());
    assert!(schema.wrong.is_empty(), "{}", schema.wrong.join("\n\n"));
}

#[test]
fn every_verb_has_a_schema_or_prints_no_json_of_ours() {
    let world = World::new();
    let schema = Schema::published(&world);
    let overview = world.typed("help").ok();
    let verbs = overview.lines().filter(|line| line.starts_with("  "));
    for verb in verbs.filter_map(|line| line.split_whitespace().next()) {
        let described = !schema.document["x-answers"][verb].is_null();
        assert!(described != WITHOUT.contains(&verb), "{verb}: give it a schema, or say why not");
    }
}

#[test]
fn a_file_that_is_not_there_is_not_found_whichever_verb_is_given_it() {
    let world = World::new();
    world.typed("add A").works();
    for line in
        ["import nothing.md", "import nothing.jsonl", "run nothing.md", "events nothing.jsonl"]
    {
        let ran = world.typed(line);
        assert_eq!(ran.code, 4, "{line}: {}", ran.err);
        assert!(ran.err.contains("there is no file"), "{line}: {}", ran.err);
    }
}
