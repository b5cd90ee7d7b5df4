//! Files that grow, are truncated, replaced and deleted, and directories that are created later.
//!
//! Notifications come from another thread. A test that depends on one waits for it, without
//! sleeping.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use punchlist_streams::event::Event;
use punchlist_streams::watch::{Known, Life, rows};

use super::find::Homes;
use super::{LIST_ONLY, Options, Piped, Told, Watch};

mod sub_agents;

/// The longest time that a test waits.
const LIMIT: Duration = Duration::from_secs(20);

/// 2026-01-02T03:00:00Z.
const STARTED: i64 = 1_767_322_800_000;

struct World {
    directory: tempfile::TempDir,
    watch: Watch,
    woken: Receiver<()>,
    now: i64,
}

/// The events that were reported, by kind, and whether they were live.
#[derive(Default)]
struct Seen {
    live: Vec<String>,
    before: Vec<String>,
    progress: Vec<(u64, u64)>,
}

impl Told for Seen {
    fn event(&mut self, event: &Event<'_>, live: bool) {
        let all = if live { &mut self.live } else { &mut self.before };
        all.push(format!("{} {}", event.agent.as_str(), event.kind.name()));
    }

    fn progress(&mut self, done: u64, total: u64) {
        self.progress.push((done, total));
    }
}

impl World {
    fn new() -> Self {
        Self::with(|_| {})
    }

    /// A home directory, with changed options.
    fn with(change: impl FnOnce(&mut Options)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = |name: &str| Some(directory.path().join(name));
        let homes = Homes {
            claude: home(".claude"),
            codex: home(".codex"),
            gemini: home(".gemini"),
            acp: home("acp"),
        };
        let mut options = Options {
            homes,
            files: Vec::new(),
            // The files of a test have the real time, and the test has its own clock.
            since_ms: i64::MAX / 2,
            host: "host".to_owned(),
            started: STARTED,
            most_watches: 100,
        };
        change(&mut options);
        for file in &mut options.files {
            *file = directory.path().join(&file);
        }
        let (tell, woken) = channel();
        let watch = Watch::new(options, move || {
            tell.send(()).ok();
        });
        Self { directory, watch, woken, now: STARTED }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn append(&self, path: &str, text: impl AsRef<[u8]>) {
        let mut file = OpenOptions::new().append(true).open(self.path(path)).unwrap();
        file.write_all(text.as_ref()).unwrap();
    }

    /// Continues without advancing the clock.
    fn look(&mut self) -> Seen {
        let mut seen = Seen::default();
        self.watch.go_on(self.now, &mut seen);
        seen
    }

    /// Continues after this many milliseconds of the test's clock.
    fn later(&mut self, ms: i64) -> Seen {
        self.now += ms;
        self.look()
    }

    /// Continues after each notification until the lists are as expected. The clock does not
    /// advance, so nothing is found by polling.
    #[track_caller]
    fn hears(&mut self, expected: &[&str]) {
        let mut last = Vec::new();
        loop {
            self.look();
            let shown = self.shown();
            if shown == expected {
                return;
            }
            last.clone_from(&shown);
            assert!(self.woken.recv_timeout(LIMIT).is_ok(), "expected {expected:?}, not {last:?}");
        }
    }

    fn shown(&self) -> Vec<String> {
        let streams = self.watch.streams();
        let rows = rows(&Known { streams, ..Known::default() }, self.now);
        rows.iter().map(punchlist_formats::view::watch::line).collect()
    }
}

/// A line of a rollout of Codex.
fn begins(id: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-01-02T02:00:00.000Z","type":"session_meta","payload":{{"id":"{id}","session_id":"{id}","cwd":"/home/me/api","originator":"codex_exec","cli_version":"0.166.0","source":"exec"}}}}
{{"timestamp":"2026-01-02T02:00:00.100Z","type":"event_msg","payload":{{"type":"task_started"}}}}
{{"timestamp":"2026-01-02T02:00:00.100Z","type":"event_msg","payload":{{"type":"user_message","message":"go"}}}}
"#
    )
}

/// Lines in which Codex accepts a list: one letter per step, a capital if it is done.
fn plan(call: u32, at: &str, steps: &str) -> String {
    let step = |it: char| {
        let status = if it.is_uppercase() { "completed" } else { "pending" };
        format!(r#"{{\"step\":\"{}\",\"status\":\"{status}\"}}"#, it.to_lowercase())
    };
    let steps: Vec<String> = steps.chars().map(step).collect();
    let steps = steps.join(",");
    format!(
        r#"{{"timestamp":"{at}","type":"response_item","payload":{{"type":"function_call","name":"update_plan","arguments":"{{\"plan\":[{steps}]}}","call_id":"c{call}"}}}}
{{"timestamp":"{at}","type":"response_item","payload":{{"type":"function_call_output","call_id":"c{call}","output":"Plan updated"}}}}
"#
    )
}

const BEFORE: &str = "2026-01-02T02:30:00.000Z";
const AFTER: &str = "2026-01-02T03:00:01.000Z";
const ROLLOUT: &str = ".codex/sessions/2026/01/02/rollout-a.jsonl";

#[test]
fn what_is_there_is_known_and_what_is_new_is_live() {
    let mut world = World::new();
    world.write(ROLLOUT, begins("s1") + &plan(1, BEFORE, "abc"));
    let seen = world.look();
    assert_eq!(seen.live, [""; 0]);
    assert_eq!(seen.before, ["s1 session.started", "s1 turn.started", "s1 todo_list"]);
    world.append(ROLLOUT, plan(2, AFTER, "Abc"));
    world.hears(&["codex  api  1/3  working"]);
    assert_eq!(world.look().live, [""; 0], "nothing is read twice");
}

#[test]
fn a_line_that_is_half_written_waits_for_its_other_half() {
    let mut world = World::new();
    world.write(ROLLOUT, begins("s1"));
    world.look();
    let line = plan(1, AFTER, "Abc");
    for at in 0..line.len() {
        world.append(ROLLOUT, &line.as_bytes()[at..=at]);
        let path = world.path(ROLLOUT);
        let mut seen = Seen::default();
        world.watch.read(&path, STARTED, &mut seen);
        let is_whole = at + 1 == line.len();
        assert_eq!(seen.live.len(), usize::from(is_whole), "{at} of {}", line.len());
    }
}

#[test]
fn a_file_that_was_cut_or_written_anew_is_read_from_its_beginning() {
    for anew in
        [begins("s2") + &plan(1, AFTER, "A"), begins("s2") + &plan(1, AFTER, &"A".repeat(500))]
    {
        let mut world = World::new();
        world.write(ROLLOUT, begins("s1") + &plan(1, BEFORE, "abc"));
        world.look();
        // The same file with other content, shorter or longer.
        world.write(ROLLOUT, &anew);
        let total = anew.matches("step").count();
        world.hears(&[&format!("codex  api  {total}/{total}  working")]);
        let ids: Vec<&str> =
            world.watch.streams().iter().map(|it| it.0.agent_id.as_str()).collect();
        assert_eq!(ids, ["s2"]);
    }
}

#[test]
fn a_file_that_was_replaced_is_another() {
    let mut world = World::new();
    world.write(ROLLOUT, begins("s1") + &plan(1, BEFORE, "abc"));
    world.look();
    world.write("elsewhere", begins("s3") + &plan(1, AFTER, "ABcd"));
    fs::rename(world.path("elsewhere"), world.path(ROLLOUT)).unwrap();
    world.hears(&["codex  api  2/4  working"]);
}

#[test]
fn a_file_that_is_gone_is_let_go() {
    let mut world = World::new();
    world.write(ROLLOUT, begins("s1") + &plan(1, BEFORE, "abc"));
    world.look();
    assert_eq!(world.shown().len(), 1);
    fs::remove_file(world.path(ROLLOUT)).unwrap();
    world.later(super::SELDOM_MS);
    assert_eq!(world.shown(), [""; 0]);
    // The file is created again.
    world.write(ROLLOUT, begins("s1") + &plan(1, BEFORE, "a"));
    world.hears(&["codex  api  0/1  no news"]);
}

#[test]
fn sessions_and_directories_that_come_later_are_heard() {
    let mut world = World::new();
    world.look();
    assert_eq!(world.shown(), [""; 0]);
    // Not even the agent's own directory exists yet.
    world.write(ROLLOUT, begins("s1") + &plan(1, AFTER, "ab"));
    world.hears(&["codex  api  0/2  working"]);
    world.write(".codex/sessions/2026/01/02/rollout-b.jsonl", begins("s2") + &plan(1, AFTER, "A"));
    world.hears(&["codex  api  0/2  working", "codex  api  1/1  working"]);
    // The directory of the next month.
    world.write(".codex/sessions/2026/02/01/rollout-c.jsonl", begins("s3") + &plan(1, AFTER, "AB"));
    let done = ["0/2", "1/1", "2/2"].map(|it| format!("codex  api  {it}  working"));
    let three: Vec<&str> = done.iter().map(String::as_str).collect();
    world.hears(&three);
}

#[test]
fn every_agent_keeps_its_sessions_in_a_place_of_its_own() {
    let mut world = World::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let copy = |from: &str, to: &str| world.write(to, fs::read(fixtures.join(from)).unwrap());
    copy("claude/transcript-tasks.jsonl", ".claude/projects/-home-dev-project/s.jsonl");
    copy("codex/rollout-f-multiagent-v2-child.jsonl", ".codex/sessions/2026/11/15/rollout-x.jsonl");
    copy("gemini/chats-a-todos.jsonl", ".gemini/tmp/docs/chats/session-x.jsonl");
    world.write(".gemini/tmp/docs/.project_root", "/home/dev/docs\n");
    copy("acp/acp-claude-acp.jsonl", "acp/1794700000000-12.jsonl");
    world.write("acp/1794700000000-12.root", "/home/dev/editor\n");
    // Other files are ignored.
    world.write(".claude/projects/-home-dev-project/notes.txt", "x");
    world.write(".claude/projects/-home-dev-project/empty.jsonl", "");
    world.write(".claude/projects/-home-dev-project/noise.jsonl", "\0\u{fffd}{{{{\n".repeat(999));
    fs::create_dir_all(world.path(".gemini/tmp/docs/chats/dir.jsonl")).unwrap();
    world.now = 1_794_800_000_000;
    world.look();
    insta::assert_snapshot!(world.shown().join("\n"));
    assert_eq!(world.watch.notes(), [""; 0]);
}

#[test]
fn what_was_not_written_lately_is_passed_over() {
    let mut world = World::with(|it| it.since_ms = 60_000);
    let day = ".codex/sessions/2026/01/02";
    for (name, ago) in [("old", 61), ("new", 59)] {
        let path = format!("{day}/rollout-{name}.jsonl");
        world.write(&path, begins(name) + &plan(1, BEFORE, "a"));
        let file = OpenOptions::new().append(true).open(world.path(&path)).unwrap();
        let at =
            std::time::UNIX_EPOCH + Duration::from_millis((STARTED - ago * 1000).unsigned_abs());
        file.set_modified(at).unwrap();
    }
    world.look();
    let ids: Vec<&str> = world.watch.streams().iter().map(|it| it.0.agent_id.as_str()).collect();
    assert_eq!(ids, ["new"]);
}

#[test]
fn where_no_more_can_be_heard_that_is_said_and_looked_for_more_often() {
    let mut world = World::with(|it| it.most_watches = 1);
    world.write(ROLLOUT, begins("s1") + &plan(1, BEFORE, "ab"));
    world.look();
    let [note] = &world.watch.notes()[..] else { panic!("{:?}", world.watch.notes()) };
    assert!(note.contains("checking every 2 s instead"), "{note}");
    world.append(ROLLOUT, plan(2, AFTER, "Ab"));
    world.later(super::OFTEN_MS);
    assert_eq!(world.shown(), ["codex  api  1/2  working"]);
}

#[test]
fn calls_of_which_no_list_came_are_no_silence() {
    let mut world = World::new();
    let strange = plan(1, AFTER, "ab").replace("Plan updated", "Steps were renewed");
    world.write(ROLLOUT, begins("s1") + &strange);
    world.look();
    assert_eq!(world.watch.notes(), [""; 0], "the turn is not over");
    let over = r#"{"timestamp":"2026-01-02T03:00:02.000Z","type":"event_msg","payload":{"type":"task_complete","last_agent_message":"x"}}"#;
    world.append(ROLLOUT, format!("{over}\n"));
    world.hears(&["codex  api  idle"]);
    let [note] = &world.watch.notes()[..] else { panic!("{:?}", world.watch.notes()) };
    assert!(
        note.starts_with("codex: todo tools were called once, but Punchlist found no list"),
        "{note}"
    );
}

#[test]
fn hundreds_of_sessions_are_followed_at_once() {
    let mut world = World::new();
    let path = |n: u32| format!(".codex/sessions/2026/01/{:02}/rollout-{n}.jsonl", n % 7 + 1);
    for n in 0..300 {
        world.write(&path(n), begins(&format!("s{n}")) + &plan(1, BEFORE, "ab"));
    }
    world.look();
    assert_eq!(world.watch.len(), 300);
    for n in (0..300).step_by(10) {
        world.append(&path(n), plan(2, AFTER, "AB"));
    }
    let done = |world: &World| world.shown().iter().filter(|it| it.contains("2/2")).count();
    while done(&world) < 30 {
        assert!(world.woken.recv_timeout(LIMIT).is_ok(), "{}", done(&world));
        world.look();
    }
}

#[test]
fn a_session_that_rests_goes_on_where_it_was() {
    let mut world = World::new();
    world.write(ROLLOUT, begins("s1") + &plan(1, BEFORE, "abc"));
    world.look();
    let file = OpenOptions::new().append(true).open(world.path(ROLLOUT)).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + Duration::from_millis(STARTED.unsigned_abs()))
        .unwrap();
    // Its parser is dropped after a while, and created again when the file grows.
    world.later(10 * 60_000);
    world.append(ROLLOUT, plan(2, AFTER, "ABc"));
    let mut live = Vec::new();
    while live.is_empty() {
        live = world.look().live;
        if live.is_empty() {
            assert!(world.woken.recv_timeout(LIMIT).is_ok());
        }
    }
    assert_eq!(live, ["s1 todo_list"]);
    assert_eq!(world.shown().len(), 1);
}

#[test]
fn of_a_long_file_lists_are_taken_from_its_beginning_and_the_rest_from_its_end() {
    let noise = r#"{"timestamp":"2026-01-02T02:20:00.000Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"AgentMessage","content":[{"type":"Text","text":"TEXT"}]}}}"#;
    let noise = noise.replace("TEXT", &"x".repeat(4000)) + "\n";
    let mut text = begins("s1") + &plan(1, BEFORE, "abc");
    while (text.len() as u64) < LIST_ONLY + (1 << 20) {
        text.push_str(&noise);
    }
    let lines = text.lines().count() as u64;
    let mut world = World::new();
    world.write(ROLLOUT, &text);
    let seen = world.look();
    assert!(seen.before.iter().any(|it| it == "s1 todo_list"));
    assert!(seen.before.len() < 1000, "{} events", seen.before.len());
    assert!(!seen.progress.is_empty());
    // New events have the right line numbers and are reported once.
    let mut told = Numbers::default();
    world.append(ROLLOUT, plan(2, AFTER, "Abc") + &begins("s1"));
    let path = world.path(ROLLOUT);
    world.watch.read(&path, STARTED, &mut told);
    let kinds: Vec<(&str, u64)> = told.0.iter().map(|it| (it.0.as_str(), it.1)).collect();
    assert_eq!(
        kinds,
        [("todo_list", lines + 2), ("session.started", lines + 3), ("turn.started", lines + 5)]
    );
}

#[derive(Default)]
struct Numbers(Vec<(String, u64)>);

impl Told for Numbers {
    fn event(&mut self, event: &Event<'_>, _live: bool) {
        self.0.push((event.kind.name().to_string(), event.line));
    }
}

#[test]
fn a_named_file_need_not_be_there_yet_and_is_known_by_what_it_says() {
    let mut world = World::with(|it| {
        it.homes = Homes::default();
        it.files = vec![PathBuf::from("log.jsonl")];
    });
    world.look();
    assert_eq!(world.shown(), [""; 0]);
    world.write("log.jsonl", begins("s1"));
    world.hears(&["codex  api  no news"]);
    world.append("log.jsonl", plan(1, AFTER, "aB"));
    world.hears(&["codex  api  1/2  working"]);
}

#[test]
fn a_pipe_is_known_by_what_it_says_also_where_it_says_little() {
    let mut told = Seen::default();
    let mut piped = Piped::default();
    let text = begins("s1") + &plan(1, AFTER, "aB");
    for byte in text.as_bytes() {
        piped.push(&[*byte], STARTED, &mut told);
    }
    assert!(piped.end(STARTED, &mut told));
    assert_eq!(told.live, ["s1 session.started", "s1 turn.started", "s1 todo_list"]);
    assert_eq!(piped.agents().len(), 1);
    let mut piped = Piped::default();
    piped.push(b"no agent at all\n", STARTED, &mut told);
    assert!(!piped.end(STARTED, &mut told));
    assert!(Piped::default().end(STARTED, &mut told), "nothing is no complaint");
}

#[test]
fn an_agent_that_died_left_its_note_behind() {
    let mut world = World::new();
    world.write(".claude/projects/p/s.jsonl", "");
    let me = std::process::id();
    let note = |session: &str, pid: u32, start: &str| {
        format!(r#"{{"pid":{pid},"sessionId":"{session}","procStart":"{start}","status":"busy"}}"#)
    };
    // A pid without a process, our own pid, and our own pid with an older start time.
    world.write(".claude/sessions/1.json", note("died", u32::MAX - 1, "1"));
    let start = crate::process::process("host", me).unwrap().start_time.to_string();
    world.write(".claude/sessions/2.json", note("runs", me, &start));
    world.write(".claude/sessions/3.json", note("other", me, "1"));
    world.write(".claude/sessions/4.json", "{\"pid\":");
    world.look();
    let life = |id: &str| world.watch.lives.of(Some(punchlist_streams::Source::ClaudeCode), id);
    assert_eq!(life("died"), Life::Died);
    assert_eq!(life("runs"), Life::Runs { busy: Some(true) });
    assert_eq!(life("other"), Life::Died);
    assert_eq!(life("nobody"), Life::Ended);
}

#[test]
fn codex_holds_a_lock_while_it_runs() {
    let world = World::new();
    world.write(".codex/thread-writer-locks/held.lock", "");
    world.write(".codex/thread-writer-locks/left.lock", "");
    let held = fs::File::open(world.path(".codex/thread-writer-locks/held.lock")).unwrap();
    held.lock().unwrap();
    let homes = Homes { codex: Some(world.path(".codex")), ..Homes::default() };
    let lives = super::life::Lives::look(&homes, "host");
    let life = |id: &str| lives.of(Some(punchlist_streams::Source::Codex), id);
    if cfg!(target_os = "linux") {
        assert_eq!(life("held"), Life::Runs { busy: None });
        assert_eq!(life("left"), Life::Died);
        assert_eq!(life("gone"), Life::Ended);
    } else {
        assert_eq!(life("held"), Life::Unknown);
    }
}
