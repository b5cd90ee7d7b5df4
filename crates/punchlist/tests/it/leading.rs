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
  settles)
    plans
    says 1 Planned.
    # The goal is set as soon as the plan is seen.
    n=0
    while [ $n -lt 200 ] && ! "$server" goal --db "$database" 2>&1 | grep -q fast; do n=$((n+1)); sleep 0.05; done
    "$server" done 1 2 --db "$database" >/dev/null 2>&1
    hook '"Stop","stop_hook_active":false' > "$HOME/stop.txt"
    says 2 'It is fast.'
    hook '"Stop","stop_hook_active":true' >> "$HOME/stop.txt"
    result false 'It is fast.';;
  answers)
    says 1 'It is tested.'
    result false 'It is tested.';;
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
  spends)
    says 1 One.
    says 2 Two.
    # The usage of a message is known when the next one begins.
    says 3 Three.
    sleep 600 & echo $! > "$HOME/child.txt"
    wait;;
  limited)
    if [ -z "$resumed" ]; then
      plans
      "$server" start 1 --db "$database" >/dev/null 2>&1
      at=$(( $(date +%s) + 4 ))
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
    let ran = leads(&world, "answers", &["--budget", "tokens=20,cost=2.50"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("over the budget: 550 of 20 tokens are used"), "{}", ran.out);
    let told = read(&world, "home/told.txt");
    assert!(told.contains("\n--max-budget-usd\n2.500000\n"), "{told}");
    // A program that failed over it was ended by it.
    let ran = leads(&world, "fails", &["--budget", "tokens=20"]);
    assert!(ran.err.starts_with("550 of 20 tokens are used · "), "{}", ran.err);
}

/// Whether the process that a program has started, if it got that far, is gone.
fn is_child_gone(world: &World) -> bool {
    let child = read(world, "home/child.txt");
    let child = child.trim();
    child.is_empty() || !std::path::Path::new(&format!("/proc/{child}")).exists()
}

#[test]
fn a_budget_that_the_stream_reaches_ends_the_program() {
    for (budget, why) in [
        ("tokens=200", "220 of 200 tokens are used"),
        ("day.tokens=200", "the budget of this day is used up: 220 of 200 tokens are used"),
    ] {
        let world = world("claude", CLAUDE);
        let ran = leads(&world, "spends", &["--budget", budget]);
        assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
        assert!(ran.err.starts_with(&format!("{why} · ")), "{}", ran.err);
        assert!(is_child_gone(&world));
        // All three messages are counted.
        let session = session(&world);
        assert_eq!((&session["used"]["input"], &session["state"]), (&json!(300), &json!("ended")));
    }
}

#[test]
fn the_budget_of_a_day_counts_what_led_sessions_have_used_before_the_next_begins() {
    let world = world("claude", CLAUDE);
    // What was reached only at the end is said.
    let ran = leads(&world, "answers", &["--budget", "day.tokens=500"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let why = "the budget of this day is used up: 550 of 500 tokens are used";
    assert!(ran.out.contains(why), "{}", ran.out);
    fs::remove_file(world.path("home/told.txt")).unwrap();
    for budget in ["day.tokens=500", "day.cost=0.25", "minutes=9,day.tokens=1"] {
        let ran = leads(&world, "answers", &["--budget", budget]);
        assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
        assert!(ran.err.starts_with("the budget of this day is used up: "), "{}", ran.err);
    }
    assert!(!world.path("home/told.txt").exists(), "the program did not begin");
    let ran = leads(&world, "answers", &["--budget", "day.tokens=2k,day.minutes=600"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    // A session of our own counts them too.
    world.write("scenario.json", json!({"answers": [{"text": "So."}]}).to_string());
    let model = format!("scripted:{}", world.path("scenario.json").display());
    let own = ["do", "Paint", "--model", &model, "--budget", "day.tokens=500"];
    let ran = real(&world, &own, "");
    assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
}

#[test]
fn what_a_led_session_had_used_when_it_was_killed_is_counted_once() {
    let world = world("claude", CLAUDE);
    let mut command = command(&world, "claude", "spends", &[]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let used = || {
        let sessions = real(&world, &["sessions", "--json"], "").json();
        sessions["sessions"][0]["used"]["input"].as_u64().unwrap_or(0)
    };
    let is_counted = (0..1500).any(|_| {
        thread::sleep(Duration::from_millis(20));
        used() == 200
    });
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert!(is_counted, "{}", used());
    let killed = session(&world);
    assert_eq!((&killed["state"], &killed["used"]["input"]), (&json!("cut off"), &json!(200)));
    let ran = real(&world, &["resume", killed["id"].as_str().unwrap()], "answers");
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(session(&world)["used"]["input"], 700);
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

#[test]
fn while_a_usage_limit_lasts_the_item_waits_for_it() {
    let world = world("claude", CLAUDE);
    let child = command(&world, "claude", "limited", &[])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let waits = || {
        let plan = real(&world, &["show", "1", "--json"], "").out;
        plan.contains("the usage limit of Claude Code")
    };
    let has_waited = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        waits()
    });
    let output = child.wait_with_output().unwrap();
    assert!(has_waited, "{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success());
    assert!(!waits(), "it waits no longer");
}

#[test]
fn a_configured_budget_of_the_day_ends_a_led_session_before_it_begins() {
    let world = world("claude", CLAUDE);
    world.write("home/.config/punchlist/config.toml", "[agent]\nbudget = 'day.tokens=300'\n");
    let ran = leads(&world, "answers", &[]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let ran = leads(&world, "answers", &[]);
    assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains("the budget of this day is used up: 550 of 300"), "{}", ran.err);
}

/// What `sessions` says of the only session.
fn session(world: &World) -> Value {
    let sessions = real(world, &["sessions", "--json"], "").json();
    let [only] = sessions["sessions"].as_array().unwrap().as_slice() else { panic!("{sessions}") };
    only.clone()
}

/// A call with the real clock, and the agent's program beside it.
fn real(world: &World, arguments: &[&str], part: &str) -> Ran {
    let mut command = world.command("project");
    let path = format!("{}:/usr/bin:/bin", world.path("home/bin").display());
    command.env("PATH", path).env("PART", part).args(arguments);
    command.env_remove("PUNCHLIST_NOW").env_remove("PUNCHLIST_SEED");
    finish(command, b"")
}

#[test]
fn a_led_session_is_listed_with_its_leader_and_goes_on_in_its_program() {
    let world = world("claude", CLAUDE);
    assert_eq!(leads(&world, "good", &["--model", "m"]).code, 0);
    let listed = session(&world);
    let leader = json!({"agent": "claude", "session": "s-1", "resume": "claude --resume s-1"});
    assert_eq!((&listed["leader"], &listed["title"]), (&leader, &json!("Build it")));
    assert_eq!((&listed["state"], &listed["used"]["input"]), (&json!("ended"), &json!(500)));
    let id = listed["id"].as_str().unwrap();
    let shown = real(&world, &["sessions"], "").out;
    assert!(shown.contains("Build it  led by Claude Code: claude --resume s-1"), "{shown}");
    let shown = real(&world, &["sessions", "show", id], "").out;
    for it in ["led by Claude Code", "Claude Code has the rest", "> Build it", "All is done."] {
        assert!(shown.contains(it), "{it:?} is not in {shown}");
    }
    // It has answered, so it goes on only with a text.
    let ran = real(&world, &["resume", id], "good");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("go on in Claude Code: `claude --resume s-1`"), "{}", ran.err);
    let ran = real(&world, &["resume", id, "Now test it", "--", "--more"], "answers");
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("It is tested.") && !ran.out.contains("not accepted"), "{}", ran.out);
    let told = read(&world, "home/told.txt");
    assert!(told.starts_with("-p\nNow test it\n\n"), "{told}");
    assert!(told.contains("--model\nm\n--resume\ns-1\n") && told.ends_with("--more\n"), "{told}");
    assert_eq!(session(&world)["turns"], 2);
    let ran = real(&world, &["resume", id, "More", "--wait"], "good");
    assert_eq!(ran.code, 2, "{}", ran.err);
    let ran = real(&world, &["sessions", "stop", id], "");
    assert!(ran.err.contains("does not run"), "{}", ran.err);
}

#[test]
fn a_led_session_that_runs_elsewhere_is_stopped_and_one_that_was_cut_off_goes_on() {
    let world = world("claude", CLAUDE);
    let begins = |part: &str, arguments: &[&str]| {
        let mut command = command(&world, "claude", part, &[]);
        if !arguments.is_empty() {
            command = world.command("project");
            let path = format!("{}:/usr/bin:/bin", world.path("home/bin").display());
            command.env("PATH", path).env("PART", part).args(arguments);
            command.env_remove("PUNCHLIST_NOW").env_remove("PUNCHLIST_SEED");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let has_begun = (0..1500).any(|_| {
            thread::sleep(Duration::from_millis(20));
            !read(&world, "home/child.txt").trim().is_empty()
        });
        assert!(has_begun, "it did not begin");
        fs::remove_file(world.path("home/child.txt")).unwrap();
        child
    };
    let mut child = begins("hangs", &[]);
    let running = session(&world);
    let id = running["id"].as_str().unwrap();
    assert_eq!((&running["state"], &running["running"]), (&json!("works"), &json!(true)));
    let ran = real(&world, &["resume", id], "");
    assert!(ran.err.contains("is led by Claude Code in another process"), "{}", ran.err);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_eq!(session(&world)["state"], "cut off");
    let mut child = begins("hangs", &["resume", id]);
    assert!(read(&world, "home/told.txt").starts_with("-p\nGo on with the task."));
    let stopped = real(&world, &["sessions", "stop", id], "");
    assert!(stopped.out.contains("the program of Claude Code is stopped"), "{}", stopped.out);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(session(&world)["state"], "ended");
    let items = items(&world);
    assert!(items.iter().all(|it| it.starts_with("pending ")), "{items:?}");
}

#[test]
fn a_goal_is_set_on_the_plan_and_held_against_the_settled_list() {
    let world = world("claude", CLAUDE);
    let ran = leads(&world, "settles", &["--goal", "It is fast"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let told = read(&world, "home/told.txt");
    assert!(told.contains("The goal, which must be true in the end: It is fast"), "{told}");
    let stop = read(&world, "home/stop.txt");
    assert_eq!(stop.matches("the goal is not met yet").count(), 1, "{stop}");
    let plans = world.run(&["plans", "--all", "--json"]).json();
    let id = plans["plans"][0]["id"].as_str().unwrap();
    let goal = world.run(&["goal", "--plan", id]);
    assert!(goal.out.contains("It is fast"), "{}", goal.out);
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
    assert!(ran.code == 4 && ran.err.contains("there is no plan \"release\""), "{}", ran.err);
    world.run(&["add", "--plan", "release", "Tag it"]).works();
    world.run(&["done", "1", "--plan", "release"]).works();
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
