//! Programs of other agents, and commands: what they print, and how they end.

use std::process::{Command, Stdio};

use punchlist_agent::workers::{Outcome, WorkerConfig, WorkerEnd, Workers};
use serde_json::{Value, json};

use super::{Place, assert_gone, example, fixture};

const CANARY: &str = "canary-7a1f";

async fn play(agent: &str, stream: &str, code: u8) -> (Outcome, Vec<String>) {
    let place = Place::new();
    place.program(agent, &format!("cat '{}'; exit {code}", fixture(stream).display()));
    place.run(json!({"kind": agent})).await
}

#[tokio::test]
async fn each_program_is_read_as_it_prints_and_its_list_is_kept() {
    for (agent, stream) in [
        ("claude", "claude/stream-todowrite.jsonl"),
        ("codex", "codex/stream-a-plan.jsonl"),
        ("gemini", "gemini/stream-a-todos.jsonl"),
    ] {
        let (outcome, heard) = play(agent, stream, 0).await;
        assert_eq!(outcome.end, WorkerEnd::Well, "{agent}: {outcome:?}");
        assert!(!outcome.text.is_empty() && outcome.session.is_some(), "{agent}: {outcome:?}");
        assert!(outcome.usage.input > 0 && outcome.usage.output > 0, "{agent}: {outcome:?}");
        // This session of Gemini CLI cleared its list at the end.
        assert_eq!(outcome.list.is_empty(), agent == "gemini", "{agent}: {outcome:?}");
        assert!(heard.iter().any(|it| it.contains("completed ")), "{agent}: {heard:?}");
        assert_eq!(heard.iter().filter(|it| *it == "session").count(), 1, "{agent}: {heard:?}");
    }
}

#[tokio::test]
async fn a_usage_limit_is_told_with_the_time_at_which_it_ends() {
    let limit =
        |until: Option<&str>| WorkerEnd::UsageLimit { until: until.map(|it| it.parse().unwrap()) };
    let (codex, _) = play("codex", "codex/stream-c-rate-limit.jsonl", 1).await;
    assert_eq!(codex.end, limit(Some("2026-11-17T18:00:00.1Z")));
    let (codex, _) = play("codex", "codex/stream-c-quota.jsonl", 1).await;
    assert_eq!(codex.end, limit(None));
    let (codex, _) = play("codex", "codex/stream-c-usage-limit.jsonl", 1).await;
    assert_eq!(codex.end, limit(Some("2026-11-18T00:11:00Z")));
    let (gemini, _) = play("gemini", "gemini/stream-c-error-429.jsonl", 173).await;
    assert_eq!(gemini.end, limit(None));
    let (gemini, _) = play("gemini", "gemini/stream-c-error-429-later.jsonl", 173).await;
    assert_eq!(gemini.end, limit(Some("2026-11-17T20:00:00.5Z")));
    let (claude, _) = play("claude", "claude/stream-usage-limit.jsonl", 1).await;
    assert_eq!(claude.end, limit(Some("2026-11-18T00:11:00Z")));
    let place = Place::new();
    let event = json!({"type": "rate_limit_event", "session_id": "s", "rate_limit_info":
        {"status": "rejected", "resetsAt": 1_795_000_000, "rateLimitType": "five_hour"}});
    let line = json!({"type": "assistant", "session_id": "s", "error": "rate_limit",
        "message": {"content": [{"type": "text", "text": "You've hit your limit · resets 10am"}]}});
    place.program("claude", &format!("cat <<'X'\n{event}\n{line}\nX\nexit 1"));
    let (claude, _) = place.run(json!({"kind": "claude"})).await;
    assert_eq!(claude.end, limit(Some("2026-11-18T11:06:40Z")));
    // An overloaded server is no usage limit.
    let (claude, _) = play("claude", "claude/stream-error-529.jsonl", 1).await;
    assert!(matches!(&claude.end, WorkerEnd::Failed(why) if why.contains("529")), "{claude:?}");
}

#[tokio::test]
async fn a_program_gets_the_task_and_nothing_of_the_plan() {
    let place = Place::new();
    let stream = fixture("codex/stream-a-plan.jsonl");
    let note = "env > env.txt; printf '%s\\n' \"$@\" > told.txt; pwd > pwd.txt";
    place.program("claude", &format!("{note}; cat '{}'", stream.display()));
    place
        .run(json!({"kind": "claude", "model": "m-1", "prompt": "You write.",
                    "limits": {"calls": 7}, "command": ["claude", "--permission-mode", "plan"]}))
        .await;
    let told = place.text("project/told.txt");
    for part in [
        "You write.\n\nWrite the notes\n\nKeep them short.\n\nThe release is 1.2.\n",
        "It is done when:\nNOTES.md exists",
        "--model\nm-1\n",
        "--permission-mode\nplan\n--max-turns\n7",
    ] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    let env = place.text("project/env.txt");
    assert!(env.contains("PUNCHLIST_ITEM=3") && !env.contains("PUNCHLIST_PLAN"), "{env}");
    // Nothing of this process is inherited.
    assert!(!env.contains("CARGO"), "{env}");
}

#[tokio::test]
async fn a_program_that_dies_or_prints_nonsense_is_a_failure() {
    let check = async |lines: &str, expected: &str| {
        let place = Place::new();
        place.program("claude", lines);
        let (outcome, _) = place.run(json!({"kind": "claude"})).await;
        let WorkerEnd::Failed(why) = &outcome.end else { panic!("{lines}: {outcome:?}") };
        assert!(why.contains(expected), "{lines}: {why}");
        outcome
    };
    check("kill -9 $$", "it was ended").await;
    check("exit 0", "did not say that it was done").await;
    check("head -c 300000 /dev/urandom", "did not say that it was done").await;
    check("head -c 300000 /dev/zero", "did not say that it was done").await;
    let said = check("echo no key >&2; exit 41", "it ended with 41").await;
    assert_eq!(said.text, "no key");
    let place = Place::new();
    let (outcome, _) = place.run(json!({"kind": "gemini"})).await;
    assert!(
        matches!(&outcome.end, WorkerEnd::Failed(why) if why.starts_with("gemini did not start"))
    );
}

#[tokio::test]
async fn a_line_of_100_megabytes_is_dropped_and_the_next_is_read() {
    let place = Place::new();
    let stream = fixture("codex/stream-a-plan.jsonl");
    let long = "head -c 104857600 /dev/zero | tr '\\0' x; echo";
    place.program("codex", &format!("{long}; cat '{}'", stream.display()));
    let (outcome, _) = place.run(json!({"kind": "codex"})).await;
    assert_eq!(outcome.end, WorkerEnd::Well, "{outcome:?}");
}

#[tokio::test]
async fn a_program_that_hangs_is_ended_with_its_children_and_keeps_what_it_did() {
    let place = Place::new();
    let stream = fixture("claude/stream-todowrite.jsonl");
    let begin = format!("head -n 4 '{}'", stream.display());
    let hang = "sleep 300 & echo $! > child; echo $$ > pid; trap '' TERM; wait; sleep 300";
    place.program("claude", &format!("{begin}; {hang}"));
    let (outcome, heard) = place.run(json!({"kind": "claude", "timeout": 1})).await;
    assert_eq!(outcome.end, WorkerEnd::TimedOut(1));
    assert!(heard.contains(&"session".to_owned()), "{heard:?}");
    assert_gone(&place.text("project/pid"));
    assert_gone(&place.text("project/child"));
}

#[tokio::test]
async fn a_command_reads_the_task_and_its_output_is_the_answer() {
    let shell = |command: &str| json!({"kind": "shell", "command": command, "prompt": "Be brief."});
    let place = Place::new();
    let (outcome, _) = place.run(shell("cat; echo item $PUNCHLIST_ITEM $PUNCHLIST_PLAN")).await;
    assert_eq!(outcome.end, WorkerEnd::Well);
    assert_eq!(
        outcome.text,
        "Be brief.\n\nWrite the notes\nKeep them short.\n\nThe release is 1.2.\n\nIt is done \
         when:\nNOTES.md exists\nitem 3"
    );
    let (outcome, _) = place.run(shell("echo half; exit 3")).await;
    let failed = WorkerEnd::Failed("exit code 3".to_owned());
    assert_eq!((outcome.end, outcome.text.as_str()), (failed, "half"));
    let mut slow: Value = shell("echo begun; echo $$ > pid; sleep 300");
    slow["timeout"] = json!(1);
    let (outcome, _) = place.run(slow).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (WorkerEnd::TimedOut(1), "begun"));
    assert_gone(&place.text("project/pid"));
}

#[test]
fn the_example_delegates_an_item() {
    let place = Place::new();
    let ran = Command::new(example()).arg("cat").current_dir(place.path("project")).output();
    let ran = ran.unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&ran.stdout), @"
    Build it.

    Item 1 is open: complete it if this does it, or skip it.
    pending Build it
    ");
}

#[test]
fn a_worker_ends_when_the_program_that_delegates_is_killed() {
    let place = Place::new();
    let line = "sleep 300 & echo $! > child; echo $$ > pid; echo > ready; trap '' TERM; wait";
    let mut example = Command::new(example())
        .arg(line)
        .current_dir(place.path("project"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while place.text("project/ready").is_empty() {
        assert!(example.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    example.kill().unwrap();
    example.wait().unwrap();
    assert_gone(&place.text("project/pid"));
    assert_gone(&place.text("project/child"));
}

/// The variables with a canary that the program of a worker sees.
async fn keys_seen(config: Value) -> Vec<String> {
    let place = Place::new();
    for program in ["claude", "codex", "gemini", "agent"] {
        place.program(program, "env > ../env.txt");
    }
    let mut options = place.options();
    for key in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "WORK_KEY"] {
        options.environment.variables.push((key.into(), CANARY.into()));
    }
    options.environment.keys = ["WORK_KEY".to_owned()].into();
    let config = WorkerConfig::read("w", &config).unwrap();
    place.run_workers(&Workers::new([config], options)).await;
    let seen = place.text("env.txt");
    assert!(seen.contains("HOME=/nonexistent"), "other variables are there: {seen}");
    let keys = seen.lines().filter_map(|it| it.strip_suffix(CANARY)?.strip_suffix('='));
    let mut keys: Vec<String> = keys.map(str::to_owned).collect();
    keys.sort();
    keys
}

#[tokio::test]
async fn keys_of_providers_reach_no_worker_but_those_that_sign_in_with_them() {
    for (config, expected) in [
        (json!({"kind": "shell", "command": "env > ../env.txt"}), &[][..]),
        (json!({"kind": "acp", "command": ["agent"]}), &[]),
        (json!({"kind": "claude"}), &["ANTHROPIC_API_KEY"]),
        (json!({"kind": "codex"}), &["OPENAI_API_KEY"]),
        (json!({"kind": "gemini"}), &["GEMINI_API_KEY"]),
        // What the user gives it by name.
        (
            json!({"kind": "shell", "command": "env > ../env.txt", "env": ["WORK_KEY"]}),
            &["WORK_KEY"],
        ),
        (
            json!({"kind": "acp", "command": ["agent"], "env": ["GEMINI_API_KEY"]}),
            &["GEMINI_API_KEY"],
        ),
    ] {
        assert_eq!(keys_seen(config.clone()).await, expected, "{config}");
    }
}
