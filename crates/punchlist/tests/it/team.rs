//! `punchlist team`, with programs in the places of the agents that print their streams. The real agents
//! are tested in `tests/agents`.

mod keys;
mod notices;
mod pictures;
mod questions;
mod queue;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::world::{Ran, World, finish};

const PROGRAM: &str = env!("CARGO_BIN_EXE_punchlist");

/// What every program begins with: it writes down how it was called, and does what `PART_name` says.
const BEGINS: &str = r#"#!/bin/sh
name=$(basename "$0")
printf '%s\n' "--- $name in $PWD" "$@" >> "$HOME/told.txt"
eval part=\$PART_$name
case $part in
  killed) kill -9 $$;;
  hangs) begun=1;;
  meets)
    touch "$HOME/here.$name"
    while [ "$(ls "$HOME" | grep -c '^here\.')" -lt 3 ]; do sleep 0.05; done;;
  writes) echo new > made.txt;;
  floods) i=0; while [ $i -lt 2000 ]; do echo "not json $i"; i=$((i+1)); done;;
esac
waits() { if [ -n "$begun" ]; then sleep 600 & echo $! > "$HOME/child.$name"; wait; fi; }
"#;

const CLAUDE: &str = r#"
if [ "$part" = asks ]; then
  read -r prompt; printf '%s\n' "prompt $prompt" >> "$HOME/told.txt"
  echo '{"type":"control_request","request_id":"r-1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"make install","timeout":5},"tool_use_id":"t-9"}}'
  read -r answer; printf '%s\n' "answer $answer" >> "$HOME/told.txt"
fi
echo '{"type":"system","subtype":"init","cwd":"/p","session_id":"s-1","tools":[],"model":"m","claude_code_version":"2.1.197"}'
echo '{"type":"assistant","message":{"id":"1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"TodoWrite","input":{"todos":[{"content":"Find it","status":"completed","activeForm":"x"},{"content":"Fix it","status":"in_progress","activeForm":"x"}]}}]},"parent_tool_use_id":null,"session_id":"s-1"}'
echo '{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"Todos have been modified successfully."}]},"parent_tool_use_id":null,"session_id":"s-1"}'
waits
echo '{"type":"assistant","message":{"id":"2","role":"assistant","model":"m","content":[{"type":"text","text":"Claude has **fixed** it."}]},"parent_tool_use_id":null,"session_id":"s-1"}'
echo '{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"result":"ok","session_id":"s-1","total_cost_usd":0.25,"usage":{"input_tokens":5,"output_tokens":5}}'
"#;

const CODEX: &str = r#"
echo '{"type":"thread.started","thread_id":"t-1"}'
echo '{"type":"turn.started"}'
echo '{"type":"item.started","item":{"id":"item_0","type":"todo_list","items":[{"text":"Review","completed":true},{"text":"Report","completed":false}]}}'
waits
echo '{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Codex has reviewed it."}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'
"#;

const GEMINI: &str = r#"
echo '{"type":"init","timestamp":"2026-01-01T00:00:00.000Z","session_id":"g-1","model":"m"}'
echo '{"type":"tool_use","timestamp":"2026-01-01T00:00:00.000Z","tool_name":"write_todos","tool_id":"c","parameters":{"todos":[{"description":"Read","status":"completed"},{"description":"Drop","status":"cancelled"}]}}'
echo '{"type":"tool_result","timestamp":"2026-01-01T00:00:00.000Z","tool_id":"c","status":"success","output":"Successfully updated the todo list."}'
waits
echo '{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","role":"assistant","content":"Gemini has read it.","delta":true}'
echo '{"type":"result","timestamp":"2026-01-01T00:00:00.000Z","status":"success","stats":{}}'
"#;

/// An agent that speaks ACP: it counts its turns.
const ACP: &str = r#"
turn=0
case $part in loads) can=',"agentCapabilities":{"loadSession":true}';; esac
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
  case $line in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1'$can'}}';;
    *'"session/load"'*)
      printf '%s\n' "load $line" >> "$HOME/told.txt"
      echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"What was said before."}}}}'
      echo '{"jsonrpc":"2.0","id":'$id',"result":null}';;
    *'"outcome"'*)
      printf '%s\n' "answer $line" >> "$HOME/told.txt"
      echo '{"jsonrpc":"2.0","id":'$asked',"result":{"stopReason":"end_turn"}}';;
    *'"session/new"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"a-1"}}';;
    *'"session/cancel"'*) echo '{"jsonrpc":"2.0","id":'$asked',"result":{"stopReason":"cancelled"}}';;
    *'"session/prompt"'*)
      turn=$((turn + 1)); asked=$id
      echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a-1","update":{"sessionUpdate":"plan","entries":[{"content":"Step '$turn'","priority":"medium","status":"completed"}]}}}'
      [ -n "$begun" ] && continue
      case $part in
        asks)
          echo '{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{"sessionId":"a-1","toolCall":{"toolCallId":"c-1","title":"make install","kind":"execute","rawInput":{"command":"make install"}},"options":[{"optionId":"ever","name":"Always","kind":"allow_always"},{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}'
          continue;;
      esac
      echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Turn '$turn' of the editor."}}}}'
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"stopReason":"end_turn"}}'
      case $part in dies|loads) exit 0;; esac;;
  esac
done
echo ended >> "$HOME/told.txt"
"#;

const TEAM: &str = r##"
[[team.members]]
name = "max"
displayName = "Max"
themeColor = "magenta"
agentType = "claude"
[[team.members]]
name = "kim"
themeColor = "#ff8800"
agentType = "codex"
[[team.members]]
name = "zoe"
agentType = "gemini"
"##;

/// A world with all programs, and this team.
fn world(team: &str) -> World {
    let world = World::new();
    for (name, program) in
        [("claude", CLAUDE), ("codex", CODEX), ("gemini", GEMINI), ("editor", ACP)]
    {
        let path = format!("home/bin/{name}");
        world.write(&path, format!("{BEGINS}{program}"));
        fs::set_permissions(world.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    world.write("team.toml", team);
    world
}

/// `punchlist team` with these parts of the programs.
fn command(world: &World, parts: &[(&str, &str)], more: &[&str]) -> Command {
    let mut command = world.command("project");
    let path = format!("{}:/usr/bin:/bin", world.path("home/bin").display());
    command.env("PATH", path).env_remove("PUNCHLIST_NOW").env_remove("PUNCHLIST_SEED");
    command.envs(parts.iter().map(|(name, part)| (format!("PART_{name}"), *part)));
    command.arg("team").arg("--file").arg(world.path("team.toml")).args(more);
    command
}

fn ran(world: &World, parts: &[(&str, &str)], more: &[&str], stdin: &str) -> Ran {
    finish(command(world, parts, more), stdin.as_bytes())
}

fn read(world: &World, path: &str) -> String {
    fs::read_to_string(world.path(path)).unwrap_or_default()
}

fn events(text: &str) -> Vec<Value> {
    text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
}

/// The events of a member, in words.
fn of(events: &[Value], member: &str) -> Vec<String> {
    let these = events.iter().filter(|it| it["agentId"] == member);
    these
        .map(|it| match (&it["type"], &it["status"]) {
            (Value::String(kind), Value::String(status)) => format!("{kind} {status}"),
            (kind, _) => kind.as_str().unwrap().to_owned(),
        })
        .collect()
}

/// Whether the process that a program wrote down has ended.
fn is_gone(world: &World, file: &str) -> bool {
    let pid = read(world, file).trim().parse().ok().and_then(Pid::from_raw).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if test_kill_process(pid).is_err() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn two_members_take_turns_and_each_keeps_its_conversation() {
    let world = world(TEAM);
    let lines = "@max fix it\n/pass kim please review\n@max thanks\n@kim -v is an option\n";
    let Ran { code, out, err } = ran(&world, &[], &[], lines);
    assert_eq!(code, 0, "{out}\n{err}");
    let order = [
        "> Max: fix it",
        "Max:\n  Claude has fixed it.",
        "📋 Plan (Max):\n✅ Find it\n☑  Fix it\n",
        "Max's answer goes to kim: please review",
        "kim:\n  Codex has reviewed it.",
        "📋 Plan (kim):\n✅ Review\n☑  Report\n",
    ];
    let found: Vec<usize> = order.iter().map(|it| out.find(it).unwrap_or(usize::MAX)).collect();
    assert!(found.is_sorted() && found[5] < out.len(), "{found:?}\n{out}");
    let told = read(&world, "home/told.txt");
    let calls: Vec<&str> = told.split("--- ").skip(1).collect();
    assert_eq!(calls.len(), 4, "{told}");
    assert!(!calls[0].contains("--resume") && calls[2].contains("--resume\ns-1"), "{told}");
    assert!(
        calls[1].contains("please review\n\nMax answered:\n\nClaude has **fixed** it."),
        "{told}"
    );
    assert!(calls[3].contains("resume\nt-1\nMessage: -v is an option"), "{told}");
}

#[test]
fn three_work_side_by_side_and_their_record_is_read_back() {
    let world = world(TEAM);
    let parts = [("claude", "meets"), ("codex", "meets"), ("gemini", "meets")];
    let record = world.path("talk.jsonl");
    let record = record.to_str().unwrap();
    let more = ["--send", "@all go", "--json", "--record", record];
    let Ran { code, out, err } = ran(&world, &parts, &more, "");
    assert_eq!(code, 0, "{out}\n{err}");
    let all = events(&out);
    for (member, agent) in
        [("max", "claude-code"), ("kim", "openai-codex"), ("zoe", "google-gemini")]
    {
        let told = of(&all, member);
        assert_eq!(told.first().unwrap(), "turn.started", "{told:?}");
        assert_eq!(told.last().unwrap(), "turn.completed success", "{told:?}");
        assert!(told.contains(&"todo_list".to_owned()), "{told:?}");
        let types = all.iter().filter(|it| it["agentId"] == member).map(|it| &it["agentType"]);
        assert!(types.into_iter().all(|it| it == agent), "{out}");
    }
    assert!(all.iter().all(|it| it["timestamp"].is_i64()), "{out}");
    let written = read(&world, "talk.jsonl");
    assert_eq!(written, out);
    assert_eq!(fs::metadata(record).unwrap().permissions().mode() & 0o777, 0o600);
    // The record is what `events` prints of it, and every line follows the published schema.
    assert_eq!(world.run(&["events", record]).out, written);
    let lists = events(&world.run(&["events", "--only", "todo_list", record]).out);
    assert_eq!(lists.len(), 3, "{lists:?}");
    let schema = serde_json::to_value(punchlist_streams::event::owned::schema()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    assert!(all.iter().all(|it| schema.is_valid(it)), "{out}");
    // One file is one conversation.
    let again = ran(&world, &[], &["--send", "@max x", "--record", record], "");
    assert!(again.code == 2 && again.err.contains("exists already"), "{}", again.err);
}

#[test]
fn a_member_that_is_killed_is_told_and_the_others_go_on() {
    let world = world(TEAM);
    let parts = [("claude", "killed"), ("gemini", "floods")];
    let Ran { code, out, err } = ran(&world, &parts, &[], "@all go\n@kim again\n");
    assert_eq!(code, 6, "{out}\n{err}");
    assert!(out.contains("Max failed: ended by signal 9 (SIGKILL)"), "{out}");
    assert_eq!(out.matches("Codex has reviewed it.").count(), 2, "{out}");
    assert!(out.contains("zoe:\n  Gemini has read it."), "{out}");
    assert!(out.contains("✅ Read\n❌ Drop"), "{out}");
}

#[test]
fn a_member_that_hangs_is_ended_after_its_time_with_its_children() {
    let team = TEAM.replace("agentType = \"claude\"", "agentType = \"claude\"\ntimeout = 1");
    let world = world(&team);
    let parts = [("claude", "hangs")];
    let Ran { code, out, err } = ran(&world, &parts, &["--send", "@all go", "--json"], "");
    assert_eq!(code, 6, "{out}\n{err}");
    let all = events(&out);
    assert!(of(&all, "max").ends_with(&["error".to_owned(), "turn.completed error".to_owned()]));
    let end = all.iter().rfind(|it| it["agentId"] == "max").unwrap();
    assert_eq!(end["reason"], "timed out after 1 s");
    assert_eq!(of(&all, "kim").last().unwrap(), "turn.completed success");
    assert!(is_gone(&world, "home/child.claude"));
}

#[test]
fn a_program_that_is_not_there_is_told_with_what_to_do() {
    let team = "[[team.members]]\nagentType = 'claude'\ncommand = ['no-such-program']\n";
    let Ran { code, out, .. } = ran(&world(team), &[], &["--send", "hello"], "");
    assert_eq!(code, 6, "{out}");
    assert!(out.contains("claude failed: no-such-program did not start"), "{out}");
}

#[test]
fn an_agent_that_speaks_acp_keeps_its_program_and_ends_with_the_team() {
    let team = "[[team.members]]\nname = 'ed'\nagentType = 'acp'\ncommand = ['editor', '--acp']\n";
    let world = world(team);
    let Ran { code, out, err } = ran(&world, &[], &[], "hello\nagain\n");
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(
        out.contains("Turn 1 of the editor.") && out.contains("Turn 2 of the editor."),
        "{out}"
    );
    assert!(out.contains("✅ Step 2"), "{out}");
    let told = read(&world, "home/told.txt");
    assert_eq!(told.matches("--- editor").count(), 1, "{told}");
    assert!(told.ends_with("ended\n"), "its input is closed: {told}");
    // One that does not answer is told to stop, and can go on afterwards.
    let team = format!("{team}timeout = 1\n");
    world.write("team.toml", team);
    let Ran { code, out, .. } = ran(&world, &[("editor", "hangs")], &[], "hello\nagain\n");
    assert_eq!((code, out.matches("ed timed out after 1 s").count()), (6, 2), "{out}");
}

#[test]
fn our_own_runtime_is_a_member_and_keeps_its_conversation() {
    let world = world("");
    let items = json!({"items": [{"title": "Paint the door"}]});
    let call =
        |tool: &str, arguments: &Value| json!({"calls": [{"tool": tool, "arguments": arguments}]});
    let answers = json!({"answers": [
        call("create_todo", &items),
        call("complete_todo", &json!({"todoId": "1", "outcome": "blue"})),
        {"text": "The door is blue."},
        {"text": "It was grey."},
    ]});
    world.write("scenario.json", answers.to_string());
    let scenario = world.path("scenario.json").display().to_string();
    world.write(
        "team.toml",
        format!("[[team.members]]\nname = 'own'\nagentType = 'punchlist'\nmodel = 'scripted:{scenario}'\n"),
    );
    let record = world.path("talk.jsonl");
    let more = ["--record", record.to_str().unwrap()];
    let Ran { code, out, err } = ran(&world, &[], &more, "paint the door\nwhat was it before?\n");
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(out.contains("The door is blue.") && out.contains("It was grey."), "{out}");
    assert!(out.contains("📋 Plan (own):\n✅ Paint the door"), "{out}");
    let all = events(&read(&world, "talk.jsonl"));
    assert!(
        all.iter().all(|it| it["agentId"] == "own" && it["agentType"] == "punchlist"),
        "{all:?}"
    );
    // Both turns are of one session.
    let sessions = world.run(&["sessions", "--all", "--json"]).json();
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(1), "{sessions}");
}

#[test]
fn a_member_with_a_worktree_works_there_and_its_changes_are_kept() {
    let team = TEAM.replace("agentType = \"claude\"", "agentType = \"claude\"\nworktree = true");
    let team = team.replace("agentType = \"codex\"", "agentType = \"codex\"\nworktree = true");
    let team = team.replace("agentType = \"gemini\"", "agentType = \"gemini\"\ndirectory = 'docs'");
    let world = world(&team);
    let missing = ran(&world, &[], &["--send", "@all go"], "");
    assert!(missing.code == 2 && missing.err.contains("max: "), "{}", missing.err);
    for words in ["init -q -b main .", "commit -q --allow-empty -m begin"] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=me", "-c", "user.email=me@example.invalid"]);
        let ran = git.args(words.split(' ')).current_dir(world.path("project")).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
    let missing = ran(&world, &[], &["--send", "@all go"], "");
    assert!(missing.err.contains("zoe: there is no directory"), "{}", missing.err);
    fs::create_dir_all(world.path("project/docs")).unwrap();
    let Ran { code, out, err } = ran(&world, &[("claude", "writes")], &["--send", "@all go"], "");
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(
        err.contains("Max's work is in ") && err.contains("(branch punchlist/team-max-"),
        "{err}"
    );
    assert!(!err.contains("kim's work"), "{err}");
    assert!(!world.path("project/made.txt").exists());
    let told = read(&world, "home/told.txt");
    assert!(told.contains("project.worktrees") && told.contains("project/docs"), "{told}");
}

#[test]
fn a_wrong_team_is_told_with_what_to_do() {
    let world = world("[[team.members]]\nname = 'a'\n");
    let fails = |more: &[&str], stdin: &str| {
        let Ran { code, out, err } = ran(&world, &[], more, stdin);
        assert_eq!(code, 2, "{out}\n{err}");
        err
    };
    let err = fails(&["--send", "x"], "");
    assert!(
        err.contains("1 (\"a\"): agentType is missing") && err.contains("docs/team.md"),
        "{err}"
    );
    world.write("team.toml", TEAM);
    assert!(fails(&["--send", " "], "").contains("the message is empty"));
    assert!(
        fails(&["--send", "hello"], "").contains("say who it is for: @max, @kim, @zoe or @all")
    );
    assert!(fails(&[], "@mx hello\n").contains("there is no member \"mx\""));
    assert!(fails(&[], "/pass max\n").contains("nobody has answered yet"));
    world.write("team.toml", "");
    assert!(fails(&["--send", "x"], "").contains("there is no team in "));
    let Ran { code, err, .. } = world.run(&["team", "--send", "x"]);
    assert!(code == 2 && err.contains("there is no team in your configuration"), "{err}");
}

#[test]
fn a_person_at_a_terminal_sees_the_lists_stops_the_members_and_leaves() {
    let world = world(TEAM);
    let Some(terminal) = Terminal::open(&world, 120) else { return };
    let (bin, file) = (world.path("home/bin"), world.path("team.toml"));
    let record = world.path("talk.jsonl");
    let line = format!(
        "clear; PATH={}:$PATH PART_claude=hangs {PROGRAM} team --file {} --record {}; echo end $?",
        bin.display(),
        file.display(),
        record.display()
    );
    terminal.types(&[&line, "Enter"]);
    terminal.until(|it| it.contains("nobody addressed yet"));
    terminal.types(&["@all go", "Enter"]);
    let shown = terminal.until(|it| {
        it.contains("Codex has reviewed it.")
            && it.contains("Gemini has read it.")
            && it.contains("Plan (Max)")
    });
    // Three lists side by side.
    let heading = shown.lines().find(|it| it.contains("Plan (Max)")).unwrap();
    assert!(heading.contains("Plan (kim)") && heading.contains("Plan (zoe)"), "{shown}");
    assert!(shown.contains("● Max") && !shown.contains("● kim"), "{shown}");
    terminal.types(&["Escape"]);
    let shown = terminal.until(|it| it.contains("Max was stopped"));
    assert!(!shown.contains("Plan (Max)"), "{shown}");
    // The others' lists stay, and the next member clears them.
    assert!(shown.contains("Plan (kim)"), "{shown}");
    assert!(is_gone(&world, "home/child.claude"));
    terminal.types(&["@kim again", "Enter"]);
    let shown = terminal.until(|it| it.matches("Codex has reviewed it.").count() == 2);
    assert!(!shown.contains("Plan (zoe)"), "{shown}");
    terminal.types(&["C-d"]);
    let shown = terminal.until(|it| it.contains("end 0"));
    assert!(!shown.contains("Plan ("), "the lists go with the conversation: {shown}");
    let all = events(&read(&world, "talk.jsonl"));
    assert_eq!(of(&all, "max").last().unwrap(), "turn.completed cancelled");
    terminal.types(&["echo typed", "Enter"]);
    terminal.until(|it| it.contains("\ntyped"));
}
