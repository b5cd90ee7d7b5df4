//! `punchlist acp-tap`: a proxy between an editor and an agent that changes nothing.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::World;

fn tap(world: &World, options: &[&str], agent: &[&str]) -> Child {
    let mut command = world.command("project");
    command.arg("acp-tap").args(options).arg("--").args(agent).env("PATH", "/usr/bin:/bin");
    started(command)
}

fn started(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends this input, closes stdin, and returns the output.
fn told(mut child: Child, input: &[u8]) -> Output {
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn plan(entries: &[(&str, &str)]) -> Value {
    let entry = |(content, status): &(&str, &str)| json!({"content": content, "status": status, "priority": "medium"});
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    let update = json!({"sessionUpdate": "plan", "entries": entries});
    let params = json!({"sessionId": "sess-1", "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
}

#[test]
fn bytes_of_any_kind_and_size_pass_both_ways() {
    let world = World::new();
    let mut bytes: Vec<u8> =
        (0..3_000_000_u32).map(|it| (it.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    bytes.extend(b"{\"no\": \"line end\"");
    bytes.extend([0, 255, b'\r', b'\n', b'\n']);
    bytes.extend(vec![b'x'; 9_000_000]);
    for options in [&[][..], &["--record"]] {
        let output = told(tap(&world, options, &["cat"]), &bytes);
        assert!(output.status.success());
        assert!(output.stdout == bytes, "{} bytes of {}", output.stdout.len(), bytes.len());
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn exit_codes_signals_and_stderr_are_the_agents_own() {
    let world = World::new();
    for code in [0, 1, 2, 77, 255] {
        let script = format!("echo out; echo err >&2; exit {code}");
        let output = told(tap(&world, &[], &["sh", "-c", &script]), b"");
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(
            (output.stdout.as_slice(), output.stderr.as_slice()),
            (&b"out\n"[..], &b"err\n"[..])
        );
    }
    let output = told(tap(&world, &[], &["sh", "-c", "kill -TERM $$"]), b"");
    assert_eq!(output.status.signal(), Some(15));
    // The process that the client started is the agent itself, so that signals reach it.
    let mut child = tap(
        &world,
        &[],
        &["sh", "-c", "trap 'echo bye; exit 9' TERM; echo $$; while :; do sleep 0.01; done"],
    );
    let mut stdout = child.stdout.take().unwrap();
    let mut said = [0; 16];
    let read = stdout.read(&mut said).unwrap();
    let pid: u32 = String::from_utf8_lossy(&said[..read]).trim().parse().unwrap();
    assert_eq!(pid, child.id());
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "bye\n");
}

#[test]
fn plans_are_written_where_watch_looks_and_recorded_if_wanted() {
    let world = World::new();
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "sess-1"}}),
        plan(&[("One", "in_progress"), ("Two", "pending")]),
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "sess-1",
            "update": {"sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": "a secret plan"}}}}),
        plan(&[("One", "completed"), ("Two", "in_progress")]),
    ];
    let input: String = lines.iter().map(|it| format!("{it}\n")).collect();
    let output = told(tap(&world, &["--record"], &["cat"]), input.as_bytes());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), input);
    let list = settled(&world);
    assert_eq!(list, "One completed, Two in_progress");
    let plans = world.run(&["plans", "--all", "--json"]).json();
    assert_eq!(plans["plans"][0]["conversation"], "sess-1");
    let folder = world.path("home/.local/share/punchlist/acp");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let heard = fs::read_to_string(file).unwrap();
    assert!(!heard.contains("secret"), "{heard}");
    let file = file.to_str().unwrap();
    let events = world.run(&["events", "--only", "todo_list", file]);
    assert_eq!((events.code, events.out.lines().count()), (0, 2), "{} {}", events.out, events.err);
}

#[test]
fn watch_shows_what_was_heard() {
    let world = World::new();
    let input = format!("{}\n", plan(&[("Lay the bricks", "in_progress"), ("Paint", "pending")]));
    told(tap(&world, &[], &["cat"]), input.as_bytes());
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let shown = world.run(&["watch", "--once"]);
        assert_eq!(shown.code, 0, "{}", shown.err);
        // Found by the directory in which the editor started it.
        if shown.out.contains("acp  project  0/2") {
            return;
        }
        assert!(Instant::now() < until, "{} {}", shown.out, shown.err);
        std::thread::yield_now();
    }
}

/// The only plan, once the last list is written: `acp-tap` does not wait for that.
fn settled(world: &World) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let ran = world.run(&["plans", "--all", "--json"]);
        let plans: Value = serde_json::from_str(&ran.out).unwrap_or_default();
        if let Some(id) = plans["plans"][0]["id"].as_str() {
            let list = world.run(&["list", "--json", "--all", "--plan", id]).json();
            let items = list["items"].as_array().unwrap().iter();
            let line = |it: &Value| {
                format!("{} {}", it["title"].as_str().unwrap(), it["status"].as_str().unwrap())
            };
            let shown = items.map(line).collect::<Vec<_>>().join(", ");
            if shown.contains("Two in_progress") || Instant::now() > until {
                return shown;
            }
        }
        assert!(Instant::now() < until, "{} {}", ran.out, ran.err);
        std::thread::yield_now();
    }
}

#[test]
fn whatever_fails_in_us_the_protocol_goes_on() {
    let input = format!("{}\n", plan(&[("One", "pending")]));
    // A database that cannot be used, and a data directory that cannot be written.
    let world = World::new();
    world.write("home/.local/share/punchlist/punchlist.db", "no database at all, but long enough");
    world.write("home/.local/share/punchlist/acp", "a file where a folder should be");
    let output = told(tap(&world, &["--record"], &["cat"]), input.as_bytes());
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), input.as_bytes()));
    assert!(output.stderr.is_empty());
    let mut command = world.command("project");
    command.args(["acp-tap", "--", "/bin/cat"]).env_remove("HOME");
    let output = told(started(command), input.as_bytes());
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), input.as_bytes()));
}

#[test]
fn a_command_that_is_not_there_is_told() {
    let world = World::new();
    let output = told(tap(&world, &[], &["/no/such/agent"]), b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot run /no/such/agent"));
    assert_eq!(world.typed("acp-tap").code, 2);
}
