//! `punchlist do --agent`, with programs in the places of the agents that print a stream and call hooks and
//! server as the real ones do. The real agents are tested in `tests/agents`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::world::{Ran, World, finish};

/// Claude Code: takes the hook and the server from its arguments, and then does what `$PART` says.
const CLAUDE: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo "2.1.197 (Claude Code)" && exit
unset PUNCHLIST_NOW PUNCHLIST_SEED
export PUNCHLIST_ANCESTORS=9
printf '%s\n' "$@" > "$HOME/told.txt"
while [ $# -gt 0 ]; do
  case $1 in
    --settings) settings=$2;;
    --mcp-config) servers=$2;;
    --resume) resumed=$2;;
  esac
  shift
done
command=$(printf %s "$settings" | sed 's/.*"command":"\(o=.*exit 0\)","timeout.*/\1/; s/\\"/"/g; s/\\\\/\\/g')
server=$(printf %s "$servers" | sed 's/.*"command":"\([^"]*\)".*/\1/')
database=$(printf %s "$servers" | sed 's/.*"--db","\([^"]*\)".*/\1/')
hook() {
  echo "{\"session_id\":\"s-1\",\"cwd\":\"$PWD\",\"hook_event_name\":$1}" | sh -c "$command"
}
says() {
  echo '{"type":"assistant","message":{"id":"'$1'","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"'$2'"}],"usage":{"input_tokens":100,"output_tokens":10}},"parent_tool_use_id":null,"session_id":"s-1"}'
}
result() {
  echo '{"type":"result","subtype":"success","is_error":'$1',"duration_ms":1,"num_turns":1,"result":"'$2'","session_id":"s-1","total_cost_usd":0.25,"usage":{"input_tokens":500,"output_tokens":50}}'
}
plans() {
  "$server" mcp --db "$database" >/dev/null <<END
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"2"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"create_todo","arguments":{"items":[{"title":"Write it"},{"title":"Test it"}]}}}
END
}
hook '"SessionStart","source":"startup"'
hook '"UserPromptSubmit","prompt":"Build it"'
echo '{"type":"system","subtype":"init","cwd":"'$PWD'","session_id":"s-1","tools":[],"model":"m","claude_code_version":"2.1.197"}'
case $PART in
  good)
    says 1 Planning.
    echo '{"type":"assistant","message":{"id":"1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make test"}}],"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s-1"}'
    echo '{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"ok"}]},"parent_tool_use_id":null,"session_id":"s-1"}'
    plans
    says 2 Ready.
    hook '"Stop","stop_hook_active":false' > "$HOME/stop.txt"
    "$server" done 1 2 --db "$database" >/dev/null 2>"$HOME/done.txt"
    says 3 'All is done.'
    hook '"Stop","stop_hook_active":true' >> "$HOME/stop.txt"
    result false 'All is done.';;
  open)
    plans
    "$server" start 1 --db "$database" >/dev/null 2>&1
    says 1 'I stop.'
    result false 'I stop.';;
  fails)
    says 1 'Invalid API key · Please run /login'
    result true 'Invalid API key · Please run /login'
    exit 1;;
  hangs)
    plans
    "$server" start 1 --db "$database" >/dev/null 2>&1
    says 1 Wait.
    sleep 600 & echo $! > "$HOME/child.txt"
    wait;;
  limited)
    if [ -z "$resumed" ]; then
      plans
      at=$(( $(date +%s) + 2 ))
      echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$at'},"session_id":"s-1"}'
      result true 'You have hit your limit'
      exit 1
    fi
    "$server" done 1 2 --db "$database" >/dev/null 2>&1
    says 1 'Went on.'
    result false 'Went on.';;
esac
hook '"SessionEnd","reason":"other"'
"#;

/// A world with this program, which has the agent's name.
fn world(agent: &str, program: &str) -> World {
    let world = World::new();
    let path = format!("home/bin/{agent}");
    world.write(&path, program);
    fs::set_permissions(world.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    world
}

fn command(world: &World, agent: &str, part: &str, more: &[&str]) -> Command {
    let mut command = world.command("project");
    let path = format!("{}:/usr/bin:/bin", world.path("home/bin").display());
    command.env("PATH", path).env("PART", part);
    command.env_remove("PUNCHLIST_NOW").env_remove("PUNCHLIST_SEED");
    command.args(["do", "--agent", agent, "Build it"]).args(more);
    command
}

fn leads(world: &World, part: &str, more: &[&str]) -> Ran {
    finish(command(world, "claude", part, more), b"")
}

fn read(world: &World, path: &str) -> String {
    fs::read_to_string(world.path(path)).unwrap_or_default()
}

/// The items of the session's plan.
fn items(world: &World) -> Vec<String> {
    let plans = world.run(&["plans", "--all", "--json"]).json();
    let id = plans["plans"][0]["id"].as_str().unwrap();
    let list = world.run(&["list", "--all", "--json", "--plan", id]).json();
    let line = |it: &Value| {
        format!("{} {}", it["status"].as_str().unwrap(), it["title"].as_str().unwrap())
    };
    list["items"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_task_is_held_while_items_are_open_and_then_answered() {
    let world = world("claude", CLAUDE);
    let ran = leads(&world, "good", &["--", "--permission-mode", "acceptEdits"]);
    let Ran { code, out, err } = &ran;
    assert_eq!(*code, 0, "{out}\n{err}\n{}", read(&world, "home/done.txt"));
    let order = [
        "Planning.",
        "  Bash  make test",
        "📋 Todo list updated:",
        "not accepted yet: 2 items are open",
        "All is done.",
    ];
    let found: Vec<usize> = order.iter().map(|it| out.find(it).unwrap_or(usize::MAX)).collect();
    assert!(found.is_sorted() && found[4] < out.len(), "{found:?}\n{out}");
    assert_eq!(out.matches("All is done.").count(), 1, "{out}");
    assert!(err.contains("answered · 550 tokens · cost 0.25 · claude --resume s-1"), "{err}");
    let stop = read(&world, "home/stop.txt");
    assert_eq!(stop.matches("\"block\"").count(), 1, "{stop}");
    assert_eq!(items(&world), ["completed Write it", "completed Test it"]);
    let told = read(&world, "home/told.txt");
    assert!(told.starts_with("-p\nBuild it\n\nIf this takes three or more steps"), "{told}");
    assert!(told.ends_with("\n--permission-mode\nacceptEdits\n"), "{told}");
    // The user's settings are as they were.
    assert!(!world.path("home/.claude").exists() && !world.path("home/.claude.json").exists());
}

#[test]
fn programs_get_the_events_of_that_agent() {
    let world = world("claude", CLAUDE);
    let ran = leads(&world, "good", &["--json"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let events: Vec<Value> = ran.out.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert!(events.iter().all(|it| it["agentType"] == "claude-code"), "{events:#?}");
    assert!(events.iter().all(|it| it["agentId"] == "s-1"), "{events:#?}");
    let of = |kind: &str| events.iter().filter(|it| it["type"] == kind).collect::<Vec<_>>();
    assert_eq!(of("session.started")[0]["model"], "m");
    assert_eq!(of("turn.started")[0]["prompt"], "Build it");
    assert_eq!(of("tool.scheduled")[0]["input"], json!({"command": "make test"}));
    assert_eq!(of("tool.completed")[0]["status"], "success");
    assert_eq!(of("todo_list").last().unwrap()["items"][1]["status"], "completed");
    assert_eq!(of("turn.completed")[0]["status"], "success");
}

#[test]
fn what_stays_open_is_not_in_progress_and_the_exit_code_says_so() {
    let world = world("claude", CLAUDE);
    let ran = leads(&world, "open", &["--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (7, "I stop.\n"), "{}", ran.err);
    assert_eq!(items(&world), ["pending Write it", "pending Test it"]);
}

#[test]
fn a_program_that_is_not_signed_in_is_named_with_what_to_do() {
    let world = world("claude", CLAUDE);
    let ran = leads(&world, "fails", &[]);
    assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
    assert!(
        ran.err.contains("Claude Code failed: ") && ran.err.contains("Invalid API key"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("hint: run `claude` once by itself and sign in"), "{}", ran.err);
}

#[test]
fn a_program_that_is_missing_or_too_old_is_named() {
    let ran = leads(&World::new(), "good", &[]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(
        ran.err.contains("there is no program claude: Claude Code is not installed"),
        "{}",
        ran.err
    );
    let world = world("claude", "#!/bin/sh\necho '1.0.5 (Claude Code)'\n");
    let ran = leads(&world, "good", &[]);
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains("Claude Code 1.0.5 is too old"), "{}", ran.err);
}

#[test]
fn an_interrupt_ends_the_program_and_its_children_and_frees_the_items() {
    let world = world("claude", CLAUDE);
    let mut command = command(&world, "claude", "hangs", &[]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let is_there = (0..1500).any(|_| {
        thread::sleep(Duration::from_millis(20));
        !read(&world, "home/child.txt").trim().is_empty()
    });
    assert!(is_there, "it did not begin");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let left = format!("/proc/{}", read(&world, "home/child.txt").trim());
    assert!(!std::path::Path::new(&left).exists(), "{left}");
    assert_eq!(items(&world), ["pending Write it", "pending Test it"]);
}

#[test]
fn a_budget_is_passed_on_and_what_exceeds_it_is_said() {
    let world = world("claude", CLAUDE);
    let ran = leads(&world, "good", &["--budget", "tokens=20,cost=2.50"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("over the budget: 550 of 20 tokens are used"), "{}", ran.out);
    let told = read(&world, "home/told.txt");
    assert!(told.contains("\n--max-budget-usd\n2.500000\n"), "{told}");
    // A program that failed over it was ended by it.
    let ran = leads(&world, "fails", &["--budget", "tokens=20"]);
    assert!(ran.err.starts_with("550 of 20 tokens are used · "), "{}", ran.err);
    let ran = leads(&world, "good", &["--budget", "day.tokens=20"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn a_usage_limit_is_waited_for_and_the_session_goes_on() {
    let world = world("claude", CLAUDE);
    let ran = leads(&world, "limited", &[]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("waiting for the usage limit of Claude Code until "), "{}", ran.out);
    assert!(ran.out.contains("Went on."), "{}", ran.out);
    let told = read(&world, "home/told.txt");
    assert!(told.contains("--resume\ns-1\n"), "{told}");
    world.write("home/.config/punchlist/config.toml", "[agent]\nwait_for_quota = false\n");
    let ran = leads(&world, "limited", &[]);
    assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
    assert!(
        ran.err.contains("Claude Code has reached its usage limit; try again at"),
        "{}",
        ran.err
    );
}

/// Codex and Gemini CLI: print what they were given, and a short stream.
const CODEX: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo "codex-cli 0.166.0" && exit
printf '%s\n' "$@" > "$HOME/told.txt"
echo '{"type":"thread.started","thread_id":"t-1"}'
echo '{"type":"turn.started"}'
echo '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Wrote it."}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'
"#;
const GEMINI: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo "0.61.0" && exit
{ printf '%s\n' "$@"; echo "plan $PUNCHLIST_PLAN"; } > "$HOME/told.txt"
echo '{"type":"init","session_id":"g-1","model":"m"}'
echo '{"type":"message","role":"assistant","content":"Wrote ","delta":true}'
echo '{"type":"message","role":"assistant","content":"it.","delta":true}'
echo '{"type":"result","status":"success","stats":{"total_tokens":2,"input_tokens":1,"output_tokens":1}}'
"#;

#[test]
fn codex_gets_the_plan_tools_and_the_hooks_as_arguments() {
    let world = world("codex", CODEX);
    let more = ["--quiet", "--model", "big"];
    let ran = finish(command(&world, "codex", "", &more), b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Wrote it.\n"), "{}", ran.err);
    let told = read(&world, "home/told.txt");
    let parts = [
        "exec\n--json\n-m\nbig\n-c\nmcp_servers.punchlist={",
        "\nhooks.Stop=[{",
        "<session-flags>",
    ];
    for it in parts {
        assert!(told.contains(it), "{it:?} is not in {told}");
    }
    assert!(!world.path("home/.codex").exists());
}

#[test]
fn gemini_needs_an_installation() {
    let world = world("gemini", GEMINI);
    let more = ["--quiet", "--model", "big", "--plan", "release"];
    let ran = finish(command(&world, "gemini", "", &more), b"");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("run `punchlist install gemini` first"), "{}", ran.err);
    world.run(&["install", "gemini", "--yes"]).works();
    let ran = finish(command(&world, "gemini", "", &more), b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Wrote it.\n"), "{}", ran.err);
    let told = read(&world, "home/told.txt");
    assert!(told.contains("\n-m\nbig\n") && told.contains("plan release"), "{told}");
}

#[test]
fn where_it_is_installed_nothing_is_given_twice() {
    let world = world("claude", CLAUDE);
    world.run(&["install", "claude", "--yes"]).works();
    leads(&world, "fails", &[]);
    let told = read(&world, "home/told.txt");
    assert!(
        told.starts_with("-p\n") && !told.contains("--settings") && !told.contains("--mcp-config"),
        "{told}"
    );
    let other = world.path("home/other.db");
    let ran = leads(&world, "fails", &["--db", other.to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("is installed for Claude Code with another database"), "{}", ran.err);
}
