//! `punchlist do` as a program: its exit codes, its output, and where a key must not be.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use punchlist_testkit::model::{Message, Model, Script};
use punchlist_testkit::naughty::{HUGE, dangers, naughty};
use serde_json::{Value, json};

use crate::world::{Ran, World, finish};

const CONFIG: &str = "home/.config/punchlist/config.toml";
const ALLOW: &str = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\n";
const CANARY: &str = "canary-5d0c1b7e";

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"calls": [{"tool": tool, "arguments": arguments}]})
}

fn create(titles: &[&str]) -> Value {
    let items: Vec<Value> = titles.iter().map(|it| json!({"title": it})).collect();
    call("create_todo", &json!({"items": items}))
}

fn says(text: &str) -> Value {
    json!({"text": text})
}

/// Does a task with a scripted model.
fn does(world: &World, answers: &[Value], options: &[&str]) -> Ran {
    world.write("scenario.json", json!({"answers": answers}).to_string());
    let model = format!("scripted:{}", world.path("scenario.json").display());
    let mut arguments = vec!["do", "Paint the door", "--model", &model];
    arguments.extend(options);
    world.run(&arguments)
}

#[test]
fn exit_0_answered_and_nothing_open() {
    let world = World::new();
    let done = call("complete_todo", &json!({"todoId": "1", "outcome": "blue"}));
    let ran = does(&world, &[create(&["Paint"]), done, says("It is blue.")], &["--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is blue.\n"), "{}", ran.err);
}

#[test]
fn exit_7_with_items_open_and_the_answer_names_them() {
    let world = World::new();
    let mut answers = vec![create(&["Paint", "Dry"])];
    answers.extend(vec![says("Done."); 4]);
    let ran = does(&world, &answers, &["--quiet"]);
    let expected = "Done.\n\nStill open:\n- Paint\n- Dry\n";
    assert_eq!((ran.code, ran.out.as_str()), (7, expected), "{}", ran.err);
}

#[test]
fn exit_6_if_the_model_fails_or_the_task_is_not_validated() {
    let world = World::new();
    let ran = does(&world, &[json!({"failure": "server_error"})], &[]);
    assert_eq!(ran.code, 6, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("has a problem of its own"), "{}{}", ran.out, ran.err);
    let add = json!({"action": "add_multiple", "todos": [{"content": "Paint"}]});
    let incomplete = says(r#"{"isComplete": false, "reasoning": "It is red."}"#);
    let skip = json!({"action": "skip", "ids": [2], "reason": "no paint"});
    let again = json!({"action": "add_multiple", "todos": [{"content": "Paint again"}]});
    let answers = [
        says(r#"{"isSimple": false}"#),
        call("todo_manager", &add),
        says("Paint it."),
        says("Painted."),
        incomplete.clone(),
        call("todo_manager", &again),
        says("Paint it again."),
        call("todo_manager", &skip),
        incomplete,
    ];
    let ran = does(&world, &answers, &["--strategy", "steps"]);
    assert_eq!(ran.code, 6, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("Created new plan: Paint"), "{}", ran.out);
    let simple =
        does(&world, &[says(r#"{"isSimple": false}"#), says("?!")], &["--strategy", "steps"]);
    assert_eq!(simple.code, 6, "{}{}", simple.out, simple.err);
    let failed = "Planning failed. Could not generate next steps.";
    assert!(simple.out.contains(failed), "{}", simple.out);
}

#[test]
fn exit_130_after_an_interrupt_and_the_list_stays() {
    let world = World::new();
    world.write(CONFIG, ALLOW);
    let answers = [
        create(&["Paint"]),
        call("next_todo", &json!({})),
        call("shell", &json!({"command": "touch begun"})),
        json!({"failure": "silence"}),
    ];
    world.write("scenario.json", json!({"answers": answers}).to_string());
    let mut command = world.command("project");
    let model = format!("scripted:{}", world.path("scenario.json").display());
    command.args(["do", "Paint the door", "--model", &model]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let begun = world.path("project/begun");
    for _ in 0..3000 {
        if begun.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(begun.exists());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let plans = world.run(&["plans", "--json", "--all"]).json();
    let plans = plans["plans"].as_array().unwrap();
    assert_eq!(plans.len(), 1, "{plans:?}");
    let name = plans[0]["id"].as_str().unwrap().to_owned();
    let list = world.run(&["list", "--plan", &name, "--json"]).json();
    assert!(list.to_string().contains(r#""status":"pending""#), "{list}");
    assert!(!list.to_string().contains(r#""status":"in_progress""#), "{list}");
}

#[test]
fn a_plan_is_made_now_and_worked_on_later() {
    let world = World::new();
    let none = does(&world, &[says("x")], &["--continue"]);
    assert_eq!(none.code, 4, "{}{}", none.out, none.err);
    let ran = does(&world, &[create(&["Paint"]), says("Paint it.")], &["--plan-only", "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (7, "Paint it.\n"), "{}", ran.err);
    assert!(ran.err.contains("planned; 1 item is open"), "{}", ran.err);
    let done = call("complete_todo", &json!({"todoId": "1", "outcome": "blue"}));
    let ran = does(&world, &[done, says("It is blue.")], &["--continue", "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is blue.\n"), "{}", ran.err);
    let none = does(&world, &[says("x")], &["--continue"]);
    assert_eq!(none.code, 4, "{}{}", none.out, none.err);
    assert!(
        none.err.contains("hint: make one with `punchlist do --plan-only TASK`"),
        "{}",
        none.err
    );
}

/// Plans to paint the door, without working on it.
fn plans(world: &World, task: &str) -> Ran {
    let answers = [create(&["Paint"]), says("Paint it.")];
    world.write("scenario.json", json!({"answers": answers}).to_string());
    let model = format!("scripted:{}", world.path("scenario.json").display());
    world.run(&["do", task, "--model", &model, "--plan-only"])
}

/// An answer of a model that must have been sent these texts.
fn sent(texts: &[&str], mut answer: Value) -> Value {
    answer["expect"] = json!({"contains": texts});
    answer
}

#[test]
fn the_model_that_goes_on_with_a_plan_reads_the_request_of_the_plan() {
    let world = World::new();
    let planned = plans(&world, "The door must be as blue as the sea");
    assert_eq!(planned.code, 7, "{}{}", planned.out, planned.err);
    assert!(planned.err.contains("· punchlist do --continue\n"), "{}", planned.err);
    let sea = "as blue as the sea";
    let done = call("complete_todo", &json!({"todoId": "1", "outcome": "blue"}));
    // The scenario is the model of the session that planned, so that it need not be named.
    let answers = [sent(&[sea, "Go on with it."], done), sent(&[sea], says("It is blue."))];
    world.write("scenario.json", json!({"answers": answers}).to_string());
    let ran = world.run(&["do", "--continue", "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is blue.\n"), "{}", ran.err);
}

#[test]
fn a_task_for_a_plan_that_waits_is_added_to_its_request() {
    let world = World::new();
    plans(&world, "The door must be as blue as the sea");
    plans(&world, "The fence must be green");
    let id = world.run(&["plans", "--json", "--all"]).json();
    let plans = id["plans"].as_array().unwrap();
    let door = plans.iter().find(|it| it.to_string().contains("as the sea")).unwrap();
    let texts = ["as blue as the sea", "Paint the door"];
    let done = call("complete_todo", &json!({"todoId": "1", "outcome": "blue"}));
    let answers = [sent(&texts, done), sent(&texts, says("It is blue."))];
    let plan = door["id"].as_str().unwrap();
    let ran = does(&world, &answers, &["--continue", "--quiet", "--plan", plan]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is blue.\n"), "{}", ran.err);
}

#[test]
fn a_plan_that_does_not_exist_is_refused_with_the_nearest_name() {
    let world = World::new();
    world.run(&["add", "--plan", "release", "Tag it"]).works();
    let ran = does(&world, &[says("x")], &["--plan", "relaese"]);
    assert_eq!(ran.code, 4, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("there is no plan \"relaese\" here"), "{}", ran.err);
    assert!(ran.err.contains("did you mean `--plan release`?"), "{}", ran.err);
    let ran = does(&world, &[says("x")], &["--plan", "other"]);
    assert!(ran.code == 4 && ran.err.contains("there are release;"), "{}", ran.err);
    let made = world.run(&["plans", "--json", "--all"]).json();
    assert_eq!(made["plans"].as_array().unwrap().len(), 1, "{made}");
    let id = made["plans"][0]["id"].as_str().unwrap();
    let done = call("complete_todo", &json!({"todoId": "1", "outcome": "tagged"}));
    let answers = [sent(&["Tag it"], done), says("Tagged.")];
    for name in ["release", &id[..8]] {
        let ran = does(&world, &answers, &["--plan", name, "--quiet"]);
        assert_eq!(ran.out, "Tagged.\n", "{}", ran.err);
        world.run(&["reopen", "1", "--plan", "release"]);
    }
}

#[test]
fn a_quiet_failure_says_why_on_stderr() {
    let world = World::new();
    let ran = does(&world, &[json!({"failure": "server_error"})], &["--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (6, ""), "{}", ran.err);
    assert!(ran.err.contains("has a problem of its own"), "{}", ran.err);
    let mut answers = vec![create(&["Paint", "Dry"])];
    answers.extend(vec![says("Done."); 4]);
    let ran = does(&world, &answers, &["--quiet"]);
    let why = "the model stopped with items open; 2 items are open";
    assert!(ran.code == 7 && ran.err.contains(why), "{}", ran.err);
    let mut first = create(&["Paint"]);
    first["usage"] = json!({"input": 900, "output": 200});
    let ran = does(&world, &[first, says("Done.")], &["--budget", "tokens=1000", "-q"]);
    assert!(ran.code == 7 && ran.err.contains("1100 of 1000 tokens are used"), "{}", ran.err);
}

#[test]
fn json_in_a_code_block_is_printed_without_the_block() {
    let world = World::new();
    world.write("project/schema.json", r#"{"type": "object", "required": ["colour"]}"#);
    let answers = [says("```json\n{\"colour\": \"blue\"}\n```")];
    let options = ["--output-schema", "schema.json"];
    let ran = does(&world, &answers, &["--quiet", options[0], options[1]]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"colour\": \"blue\"}\n"), "{}", ran.err);
    let ran = does(&world, &answers, &options);
    assert_eq!(ran.out.matches("colour").count(), 1, "{}", ran.out);
}

#[test]
fn the_command_after_a_failure_goes_on_with_the_session() {
    let world = World::new();
    let ran = does(&world, &[json!({"failure": "server_error"})], &[]);
    let (_, next) = ran.err.split_once("punchlist resume ").unwrap();
    let (id, text) = next.trim().split_once(' ').unwrap();
    assert_eq!(text, "\"go on\"", "{}", ran.err);
    world.write("scenario.json", json!({"answers": [says("It is blue.")]}).to_string());
    let ran = world.run(&["resume", id, "go on", "-q"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is blue.\n"), "{}", ran.err);
}

#[test]
fn a_call_that_nobody_can_allow_is_refused_with_the_rule_that_would_allow_it() {
    let world = World::new();
    let write = call("write", &json!({"path": "door.txt", "content": "blue"}));
    let ran = does(&world, &[write, says("I may not.")], &[]);
    let shown = world.run(&["sessions", "show"]).out;
    for text in [&ran.out, &shown] {
        let (_, rule) = text.split_once("To allow it, add to your config.toml:\n").unwrap();
        let lines: Vec<&str> = rule.lines().map(str::trim).take(3).collect();
        assert_eq!(lines, ["[[policy]]", "decision = \"allow\"", "tool = \"write\""], "{text}");
    }
}

#[test]
fn a_limit_of_the_cost_needs_a_price() {
    let world = World::new();
    for budget in ["cost=1", "day.cost=1"] {
        let ran = does(&world, &[says("Done.")], &["--budget", budget]);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        for words in ["is not known, so it cannot be limited", "[prices.\"scripted:", "config.toml"]
        {
            assert!(ran.err.contains(words), "{words}: {}", ran.err);
        }
    }
    let usual = ["-c", "agent.budget=cost=1"];
    let ran = does(&world, &[says("Done.")], &usual);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("is not known, so it cannot be limited"), "{}", ran.err);
    let model = format!("scripted:{}", world.path("scenario.json").display());
    world.write(CONFIG, format!("[prices.\"{model}\"]\ninput = 1.0\noutput = 1.0\n"));
    let ran = does(&world, &[says("Done.")], &["--budget", "cost=1"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn a_model_that_cannot_be_meant_is_refused_in_one_sentence_each() {
    let world = World::new();
    let ran = world.run(&["do", "Paint", "--model", "scripted:nofile"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("nofile cannot be read: No such file"), "{}", ran.err);
    let ran = world.run(&["do", "Paint", "--model", "foo"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.starts_with("error: \"foo\" is not a model name\nhint: "), "{}", ran.err);
    let ran = world.run(&["do", "Paint", "--model", "ollama/x", "--max-calls", "0"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn a_session_with_a_scenario_goes_on_from_another_directory() {
    let world = World::new();
    let answers = [says("One."), says("Two.")];
    world.write("project/scenario.json", json!({"answers": answers}).to_string());
    let ran = world.run(&["do", "Paint", "--model", "scripted:scenario.json", "-q"]);
    assert_eq!(ran.out, "One.\n", "{}", ran.err);
    world.write("project/below/file", "");
    let mut command = world.command("project/below");
    command.args(["resume", "--quiet"]);
    let id = world.run(&["sessions", "--json"]).json()["sessions"][0]["id"].clone();
    command.args([id.as_str().unwrap(), "Again"]);
    let ran = finish(command, b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Two.\n"), "{}", ran.err);
}

#[test]
fn an_answer_fits_its_schema_and_a_budget_ends_the_work() {
    let world = World::new();
    let schema = json!({"type": "object", "required": ["colour"]});
    world.write("project/schema.json", schema.to_string());
    let options = ["--quiet", "--output-schema", "schema.json", "--goal", "The door is blue"];
    let ran = does(&world, &[says("Blue."), says(r#"{"colour": "blue"}"#)], &options);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"colour\": \"blue\"}\n"), "{}", ran.err);
    let ran = does(&world, &vec![says("Blue."); 4], &options);
    assert_eq!((ran.code, ran.out.as_str()), (6, "Blue.\n"), "{}", ran.err);
    let ran = does(&world, &vec![says("Blue."); 4], &options[1..3]);
    assert!(ran.err.contains("the answer does not fit the output schema"), "{}", ran.err);
    let mut first = create(&["Paint"]);
    first["usage"] = json!({"input": 900, "output": 200});
    let ran = does(&world, &[first, says("Done.")], &["--budget", "tokens=1000"]);
    assert_eq!(ran.code, 7, "{}{}", ran.out, ran.err);
    let said = "the budget of this run is used up: 1100 of 1000 tokens are used";
    assert!(ran.err.contains(said) || ran.out.contains(said), "{}{}", ran.out, ran.err);
}

/// Whether a file below a directory contains a text.
fn is_below(directory: &Path, text: &str) -> bool {
    fs::read_dir(directory).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_below(&path, text);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        bytes.windows(text.len()).any(|it| it == text.as_bytes())
    })
}

#[test]
fn a_key_reaches_the_server_and_nothing_else() {
    let world = World::new();
    let script = Script::new()
        .calls("shell", json!({"command": "env > env.txt"}))
        .stops("Done.")
        .fails(401, &format!("bad key {CANARY}"), 1);
    let server = Model::new(script).serve().unwrap();
    let config = format!(
        "{ALLOW}\n[providers.local]\nkind = 'openai-chat'\nbase_url = '{}/v1'\nkey = '$MY_CREDENTIAL'\n",
        server.url()
    );
    world.write(CONFIG, config);
    let run = || {
        let mut command = world.command("project");
        command.args(["do", "Show the variables", "--model", "local/model-1", "--json"]);
        for name in ["MY_CREDENTIAL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GH_TOKEN"] {
            command.env(name, CANARY);
        }
        command.env("HARMLESS", "seen");
        finish(command, b"")
    };
    let ran = run();
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let refused = run();
    assert_eq!(refused.code, 6, "{}{}", refused.out, refused.err);
    for it in [&ran, &refused] {
        assert!(!it.out.contains(CANARY) && !it.err.contains(CANARY), "{}{}", it.out, it.err);
    }
    let variables = fs::read_to_string(world.path("project/env.txt")).unwrap();
    assert!(variables.contains("HARMLESS=seen") && !variables.contains(CANARY), "{variables}");
    for it in server.requests() {
        assert_eq!(it.key_header, Some("authorization"));
        assert!(!it.body.to_string().contains(CANARY));
    }
    assert!(!is_below(&world.path(""), CANARY));
    for format in ["jsonl", "markdown", "html"] {
        let id = world.run(&["sessions", "--json"]).json();
        let id = id["sessions"][0]["id"].as_str().unwrap().to_owned();
        let exported = world.run(&["sessions", "export", &id, "--format", format]);
        assert!(exported.code == 0 && !exported.out.contains(CANARY), "{}", exported.err);
    }
}

#[test]
fn a_key_reaches_no_worker_whether_from_a_variable_or_a_command() {
    for (key, worker) in [
        ("$MY_CREDENTIAL", "kind = 'shell'\ncommand = 'env > env.txt'"),
        ("!cat ../key.txt", "kind = 'shell'\ncommand = 'env > env.txt'"),
        ("!cat ../key.txt", "kind = 'acp'\ncommand = ['sh', '-c', 'env > env.txt']"),
    ] {
        let world = World::new();
        world.write("key.txt", format!("{CANARY}\n"));
        let script = Script::new()
            .calls("delegate", json!({"agentType": "lint", "task": "Look."}))
            .stops("Done.");
        let server = Model::new(script).serve().unwrap();
        let allow = "[[policy]]\ndecision = 'allow'\ntool = 'delegate'\n";
        let provider = format!("kind = 'openai-chat'\nbase_url = '{}/v1'", server.url());
        let key = key.replace("..", &world.path("").display().to_string());
        world.write(
            CONFIG,
            format!(
                "{allow}[providers.local]\n{provider}\nkey = '{key}'\n[workers.lint]\n{worker}\n"
            ),
        );
        let mut command = world.command("project");
        command.args(["do", "Look at it", "--model", "local/model-1"]);
        for name in ["MY_CREDENTIAL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
            // With a key command, `MY_CREDENTIAL` is a variable like any other.
            if name != "MY_CREDENTIAL" || key.starts_with('$') {
                command.env(name, CANARY);
            }
        }
        command.env("HARMLESS", "seen");
        let ran = finish(command, b"");
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("delegate  lint: Look."), "{}", ran.out);
        assert_eq!(server.requests()[0].key_header, Some("authorization"));
        let variables = fs::read_to_string(world.path("project/env.txt")).unwrap();
        assert!(variables.contains("HARMLESS=seen") && !variables.contains(CANARY), "{variables}");
    }
}

#[test]
fn the_answer_of_steps_is_what_the_validation_says_and_is_printed_once() {
    let add = json!({"action": "add_multiple", "todos": [{"content": "One"}, {"content": "Two"}]});
    let answers = [
        says(r#"{"isSimple": false}"#),
        call("todo_manager", &add),
        says("That is the plan."),
        says("One is there."),
        says("Two is there."),
        says(r#"{"isComplete": true, "reasoning": "Both are there."}"#),
    ];
    let validated = "Task validated as complete: Both are there.";
    let quiet = does(&World::new(), &answers, &["--strategy", "steps", "--quiet"]);
    assert_eq!((quiet.code, quiet.out.as_str()), (0, &*format!("{validated}\n")), "{}", quiet.err);
    let ran = does(&World::new(), &answers, &["--strategy", "steps"]);
    for text in ["One is there.", "Two is there.", validated] {
        assert_eq!(ran.out.matches(text).count(), 1, "{text}: {}", ran.out);
    }
    let at = |text: &str| ran.out.find(text).unwrap_or_else(|| panic!("{text}: {}", ran.out));
    assert!(at("[Todo: \"One\" → completed]") < at("Step 3: Two"), "{}", ran.out);
}

#[test]
fn sources_are_in_the_events_and_no_hostile_one_reaches_a_terminal_as_it_is() {
    let texts = naughty().into_iter().filter(|it| it.text.len() < HUGE / 4);
    let texts: Vec<String> = texts.map(|it| it.text).filter(|it| !it.trim().is_empty()).collect();
    let message = || {
        let cites =
            |it: Message, text: &String| it.cites(text, format!("https://e.invalid/{text}"));
        texts.iter().fold(Message::new().says("It is so."), cites)
    };
    let world = World::new();
    let server = Model::new(Script::new().turn(message()).turn(message())).serve().unwrap();
    let provider = format!("kind = 'openai-chat'\nbase_url = '{}/v1'", server.url());
    world.write(CONFIG, format!("[providers.local]\n{provider}\n"));
    let run = |arguments: &[&str]| {
        let ran = world.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {}{}", ran.out, ran.err);
        assert_eq!(dangers(&ran.out), Vec::<char>::new(), "{arguments:?}: {}", ran.out);
        assert_eq!(dangers(&ran.err), Vec::<char>::new(), "{arguments:?}: {}", ran.err);
        ran.out
    };
    run(&["do", "Is it so?", "--model", "local/model-1"]);
    let events = run(&["do", "Is it so?", "--model", "local/model-1", "--json"]);
    let events = events.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
    let told: Vec<Value> = events.filter(|it| it.get("citations").is_some()).collect();
    let [delta, whole] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&delta["delta"], &whole["text"]), (&json!(true), &json!("It is so.")));
    for it in [delta, whole] {
        let titles: Vec<&str> = it["citations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["title"].as_str().unwrap())
            .collect();
        assert_eq!(titles, texts, "a program reads them as they were sent");
    }
    assert!(run(&["sessions", "show"]).contains("source: "));
    run(&["sessions", "show", "--json"]);
    for format in ["jsonl", "markdown", "html"] {
        assert!(run(&["sessions", "export", "--format", format]).contains("e.invalid"), "{format}");
    }
}
