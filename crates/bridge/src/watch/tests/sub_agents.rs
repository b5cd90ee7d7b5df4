//! Sub-agents of Claude Code, each with its own file beside the session's. The recordings are read
//! while they grow, and afterwards.

use super::*;

/// One second after the last line of the recordings with tasks.
const TASKS_END: i64 = 1_794_854_232_000;
/// One second after the last line of the recordings with `TodoWrite`.
const TODOS_END: i64 = 1_794_854_242_000;

const TASKS: &str = ".claude/projects/-home-dev-project/35b2a8f5-dff5-436c-9502-b2d7c5d318e0";
const TODOS: &str = ".claude/projects/-home-dev-project/af118c93-4bb2-49bd-9113-798751a3aa1d";

fn fixture(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/claude").join(name);
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|it| it.to_owned() + "\n").collect()
}

fn own(session: &str) -> String {
    format!("{session}.jsonl")
}

fn sub(session: &str, agent: &str) -> String {
    format!("{session}/subagents/agent-{agent}.jsonl")
}

/// The list of each agent, in short.
fn lists(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    for (seen, _) in world.watch.streams() {
        let Some(list) = &seen.list else { continue };
        let items = list.items.iter().map(|it| format!("{}: {}", it.text, it.status));
        let items: Vec<String> = items.collect();
        let (_, agent) = seen.names();
        all.push(format!("{} {}", agent.unwrap_or("-"), items.join(", ")));
    }
    all
}

#[test]
fn tasks_of_a_sub_agent_stand_on_the_sessions_list_while_it_works_and_afterwards() {
    let (main, agent) = (
        fixture("transcript-subagent-tasks.jsonl"),
        fixture("transcript-subagent-tasks-agent.jsonl"),
    );
    let (path, sub_path) = (own(TASKS), sub(TASKS, "a56b513575fc761d8"));
    let mut world = World::new();
    world.now = TASKS_END;
    // The agent has started the sub-agent and waits.
    world.write(&path, main[..11].concat());
    world.look();
    assert_eq!(world.shown(), ["claude  project  0/1  working  \"Delegating\""]);
    world.write(&sub_path, agent[..8].concat());
    world.hears(&["claude  project  0/2  working  \"Delegating\""]);
    assert_eq!(lists(&world), ["- Delegate research: in_progress, Sub: list files: in_progress"]);
    world.append(&sub_path, agent[8..].concat());
    world.hears(&["claude  project  1/2  working  \"Delegating\""]);
    // The sub-agent has been quiet for long, but the agent continues with the list of both.
    world.append(&path, main[11..].concat());
    world.hears(&["claude  project  2/2  idle"]);
    let expected = ["- Delegate research: completed, Sub: list files: completed"];
    assert_eq!(lists(&world), expected);
    // A watcher that starts later sees the same.
    let mut later = World::new();
    later.now = TASKS_END;
    later.write(&sub_path, agent.concat());
    later.write(&path, main.concat());
    let seen = later.look();
    assert_eq!(later.shown(), ["claude  project  2/2  idle"]);
    assert_eq!(lists(&later), expected);
    assert!(seen.live.iter().chain(&seen.before).any(|it| it.ends_with("todo_list")));
    assert_eq!(later.watch.notes(), [""; 0]);
}

#[test]
fn an_agent_is_at_work_as_long_as_its_sub_agent_is_heard_of() {
    let (main, agent) = (
        fixture("transcript-subagent-tasks.jsonl"),
        fixture("transcript-subagent-tasks-agent.jsonl"),
    );
    let mut world = World::new();
    // Five minutes after it started.
    world.now = TASKS_END + 5 * 60_000;
    world.write(&own(TASKS), main[..11].concat());
    world.look();
    assert_eq!(world.shown(), ["claude  project  0/1  no news"]);
    let late: String = agent[..6].concat().replace("T18:37:", "T18:42:");
    world.write(&sub(TASKS, "a56b513575fc761d8"), late);
    world.hears(&["claude  project  0/2  working  \"Delegating\""]);
    world.now += 3 * 60_000;
    assert_eq!(world.shown(), ["claude  project  0/2  no news"]);
}

#[test]
fn a_sub_agents_own_list_stands_beside_its_sessions() {
    let mut world = World::new();
    world.now = TODOS_END;
    world.write(&own(TODOS), fixture("transcript-subagent-todowrite.jsonl")[..10].concat());
    let one = fixture("transcript-subagent-todowrite-one.jsonl");
    world.write(&sub(TODOS, "a4f0f3eb81e47a454"), one[..5].concat());
    let two = fixture("transcript-subagent-todowrite-two.jsonl");
    world.write(&sub(TODOS, "ad5b873601b02fc18"), two.concat());
    world.look();
    let expected = [
        "- Read the parser: in_progress, Fix the off-by-one: pending, Run the tests: pending",
        "a4f0f3eb81e47a454 Sub one: list: in_progress",
        "ad5b873601b02fc18 Sub two: read: completed",
    ];
    assert_eq!(lists(&world), expected);
    insta::assert_snapshot!(world.shown().join("\n"));
    // Sub-agents work in the directory of their agent.
    for (seen, _) in world.watch.streams() {
        assert_eq!(seen.directory.as_deref(), Some("/home/dev/project"), "{}", seen.agent_id);
    }
    world.append(&own(TODOS), fixture("transcript-subagent-todowrite.jsonl")[10..].concat());
    world.append(&sub(TODOS, "a4f0f3eb81e47a454"), one[5..].concat());
    world.hears(&[
        "claude  project  3/3  idle",
        "claude  project/a4f0f3  1/1  idle",
        "claude  project/ad5b87  1/1  idle",
    ]);
}

#[test]
fn a_sub_agents_file_that_was_written_anew_leaves_nothing_of_the_old_one() {
    let (main, agent) = (
        fixture("transcript-subagent-tasks.jsonl"),
        fixture("transcript-subagent-tasks-agent.jsonl"),
    );
    let mut world = World::new();
    world.now = TASKS_END;
    world.write(&own(TASKS), main[..11].concat());
    let path = sub(TASKS, "a56b513575fc761d8");
    world.write(&path, agent.concat());
    world.look();
    assert_eq!(lists(&world), ["- Delegate research: in_progress, Sub: list files: completed"]);
    world.write(&path, agent[..5].concat().replace("Sub: list files", "Something else"));
    world.hears(&["claude  project  0/2  working  \"Delegating\""]);
    assert_eq!(lists(&world), ["- Delegate research: in_progress, Something else: pending"]);
}

#[test]
fn a_session_that_rests_knows_its_sub_agents_tasks_when_it_goes_on() {
    let (main, agent) = (
        fixture("transcript-subagent-tasks.jsonl"),
        fixture("transcript-subagent-tasks-agent.jsonl"),
    );
    let mut world = World::new();
    world.now = TASKS_END;
    world.write(&own(TASKS), main[..12].concat());
    world.write(&sub(TASKS, "a56b513575fc761d8"), agent.concat());
    for path in [own(TASKS), sub(TASKS, "a56b513575fc761d8")] {
        let file = OpenOptions::new().append(true).open(world.path(&path)).unwrap();
        let at = std::time::UNIX_EPOCH + Duration::from_millis(TASKS_END.unsigned_abs());
        file.set_modified(at).unwrap();
    }
    world.look();
    world.later(10 * 60_000);
    world.append(&own(TASKS), main[12..].concat());
    world.hears(&["claude  project  2/2  idle"]);
    assert_eq!(lists(&world), ["- Delegate research: completed, Sub: list files: completed"]);
}

#[test]
fn all_files_of_a_session_are_read_if_one_was_written_lately() {
    let mut world = World::with(|it| it.since_ms = 60_000);
    world.now = TASKS_END;
    let at = |ago: i64| {
        std::time::UNIX_EPOCH + Duration::from_millis((TASKS_END - ago * 1000).unsigned_abs())
    };
    let files = [
        (own(TASKS), "transcript-subagent-tasks.jsonl", 61),
        (sub(TASKS, "a56b513575fc761d8"), "transcript-subagent-tasks-agent.jsonl", 59),
        (own(TODOS), "transcript-subagent-todowrite.jsonl", 61),
        (sub(TODOS, "a4f0f3eb81e47a454"), "transcript-subagent-todowrite-one.jsonl", 61),
    ];
    for (path, name, ago) in files {
        world.write(&path, fixture(name).concat());
        let file = OpenOptions::new().append(true).open(world.path(&path)).unwrap();
        file.set_modified(at(ago)).unwrap();
    }
    world.look();
    assert_eq!(lists(&world), ["- Delegate research: completed, Sub: list files: completed"]);
}
