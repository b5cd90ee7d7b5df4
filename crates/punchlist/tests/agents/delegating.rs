//! `punchlist do` with a scripted supervisor that delegates to the real program, and the program's usage
//! limits. The scenarios are the same for every agent; [`Kind`] has the differences. Claude Code's tests
//! are at the end, the others' in their modules.

use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::time::Duration;

use punchlist_testkit::features::Agent;
use punchlist_testkit::model::{Message, Model, Script, Server};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::place::Place;
use crate::run::{LIMIT, Run, assert_says};
use crate::workers::{BEGUN, CLAUDE, Kind, code, until};

/// What the prompts of workers begin with.
pub(crate) const WORKER: &str = "Do this one item of a larger plan";

/// The supervisor's model, and permission to delegate. The workers follow.
const CONFIG: &str = "\
[agent]
model = \"local/supervisor\"

[providers.local]
kind = \"openai-chat\"
base_url = \"URL/v1/\"

[[policy]]
decision = \"allow\"
tool = \"delegate\"

[plan]
max_in_progress = 3
";

/// How long a usage limit lasts. Claude Code and Codex say only in which minute it ends.
const SHORT: Duration = Duration::from_secs(5);

/// Writes the user's configuration, with these further tables.
pub(crate) fn configure(place: &Place, model: &Server, workers: &str) {
    fs::create_dir_all(place.path("home/.config/punchlist")).unwrap();
    let config = CONFIG.replace("URL", &model.url()) + workers;
    fs::write(place.path("home/.config/punchlist/config.toml"), config).unwrap();
}

/// A call of Punchlist with the environments of these agents.
pub(crate) fn command(
    kinds: &[&Kind],
    place: &Place,
    model: &Server,
    arguments: &[&str],
) -> Command {
    let mut command = place.command(&place.punchlist);
    for kind in kinds {
        let program = (kind.program)(place, model);
        let named: Vec<(OsString, OsString)> = program
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command.envs(named);
    }
    command.args(arguments);
    command
}

/// A place with a worker of this kind, for a supervisor that follows `leads`.
fn staged(kind: &Kind, leads: Script, works: Script, more: &str) -> (Server, Place) {
    let model = Model::new(leads).conversation(WORKER, works).serve().unwrap();
    let place = Place::new();
    (kind.set_up)(&place, &model);
    let table = format!("\n[workers.helper]\nkind = \"{}\"\n{more}", kind.name());
    configure(&place, &model, &table);
    (model, place)
}

/// Plans one item, and delegates it this many times.
fn delegates(times: usize) -> Script {
    let items = json!({"items": [{"title": "Write the notes"}]});
    let delegation =
        json!({"todoId": "1", "agentType": "helper", "task": "Write them into notes.md"});
    let script = Script::new().calls("create_todo", items);
    (0..times).fold(script, |script, _| script.calls("delegate", delegation.clone()))
}

/// Completes the item and answers.
fn completes(script: Script) -> Script {
    script
        .calls("complete_todo", json!({"todoId": "1", "outcome": "as the worker says"}))
        .stops("The notes are there.")
}

/// The results of delegations, as the supervisor read them.
pub(crate) fn results(model: &Server) -> Vec<String> {
    let requests = model.requests_of("").into_iter();
    let all = requests.flat_map(|it| it.results());
    all.filter(|it| it.tool == "delegate").map(|it| it.text).collect()
}

/// The items of the session's plan: number, status and title, with what each belongs to.
fn listed(place: &Place) -> Vec<String> {
    let line = |it: &Value| {
        let (status, title) = (it["status"].as_str().unwrap(), it["title"].as_str().unwrap());
        match it["parent"].as_u64() {
            None => format!("{status} {title}"),
            Some(parent) => format!("{status} {title} ({parent})"),
        }
    };
    place.only_plan().items.iter().map(line).collect()
}

const ALL_DONE: [&str; 3] =
    ["completed Write the notes", "completed Read what changed (1)", "completed Write it down (1)"];

/// The worker does the item. Its answer is the result of the call, and its list is kept under the item.
#[track_caller]
pub(crate) fn does_an_item(kind: &Kind) {
    let (model, place) = staged(kind, completes(delegates(1)), kind.good_one(), "");
    let ended = Run::new(command(&[kind], &place, &model, &["do", "Write notes"])).ends();
    code(&ended, 0);
    assert_eq!(model.left(), 0, "{}", ended.printed);
    // The worker is told its item and the task, and nothing of the supervisor's conversation.
    let asked = model.requests_of(WORKER)[0].text();
    assert_says(&asked, &["Write the notes", "Write them into notes.md"], &["Write notes\n"]);
    let [result] = results(&model).try_into().unwrap();
    assert_says(&result, &["The notes are written.", "Item 1 is open: complete it"], &[]);
    assert_eq!(fs::read_to_string(place.path("project/notes.md")).unwrap(), "* Faster\n");
    assert_eq!(listed(&place), ALL_DONE);
    let plan = place.plans()[0]["id"].as_str().unwrap().to_owned();
    let list = place.punchlist(&["list", "--all", "--plan", &plan]);
    assert_says(&list, &["Write the notes", "Read what changed", "Write it down"], &[]);
    let shown = place.punchlist(&["show", "1", "--plan", &plan]);
    assert_says(&shown, &["Write the notes", "Read what changed"], &[]);
    let log = place.punchlist(&["log", "--plan", &plan]);
    assert_says(&log, &["helper", "added 2 \"Read what changed\""], &[]);
}

/// The worker has a worktree of its own. It is kept because it has changes, and its branch is named.
#[track_caller]
pub(crate) fn works_in_a_worktree(kind: &Kind) {
    let leads = completes(delegates(1));
    let (model, place) = staged(kind, leads, kind.good_one(), "worktree = true\n");
    let ended = Run::new(command(&[kind], &place, &model, &["do", "Write notes"])).ends();
    code(&ended, 0);
    let [result] = results(&model).try_into().unwrap();
    assert_says(&result, &["The changes are on branch punchlist/1-", "They are not merged"], &[]);
    let path = result.split("in the worktree ").nth(1).unwrap();
    let path = path.split(". They are not").next().unwrap();
    let notes = fs::read_to_string(format!("{path}/notes.md")).unwrap();
    assert_eq!(notes, "* Faster\n");
    assert!(!place.path("project/notes.md").exists());
    let mut git = place.command(std::path::Path::new("git"));
    let worktrees = git.args(["worktree", "list"]).output().unwrap().stdout;
    assert_says(&String::from_utf8_lossy(&worktrees), &["[punchlist/1-"], &[]);
    assert_eq!(listed(&place), ALL_DONE);
}

/// Kills the processes of the worker that does item 1.
fn kill_worker(place: &Place) -> usize {
    let home = format!("HOME={}\0", place.path("home").display());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok());
    let is_worker = |id: &i32| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        environment.contains("PUNCHLIST_ITEM=1\0") && environment.contains(&home)
    };
    let ids: Vec<i32> = ids.filter(is_worker).collect();
    for id in &ids {
        kill_process(Pid::from_raw(*id).unwrap(), Signal::KILL).ok();
    }
    ids.len()
}

/// The worker is killed half-way: the supervisor reads that it failed, and delegates again.
#[track_caller]
pub(crate) fn is_killed(kind: &Kind) {
    let begun = kind.lists(Script::new(), &BEGUN);
    let works = begun.turn(Message::new().says("Let me see").hangs());
    let works = kind.lists(works, &BEGUN);
    let works = kind.runs(works, "echo '* Faster' > notes.md").stops("The notes are written.");
    let (model, place) = staged(kind, completes(delegates(2)), works, "");
    let running = Run::new(command(&[kind], &place, &model, &["do", "Write notes"])).begin();
    assert!(model.wait_for(WORKER, 2, LIMIT), "the worker's model was never asked again");
    until(|| place.plans().len() == 1 && listed(&place).len() == 3);
    assert!(kill_worker(&place) > 0);
    let ended = running.ends();
    code(&ended, 0);
    let [killed, well] = results(&model).try_into().unwrap();
    assert_says(&killed, &["helper failed", "Item 1 is open again."], &[]);
    assert_says(&well, &["The notes are written."], &[]);
    let list = listed(&place);
    assert_eq!(list[0], "completed Write the notes", "{list:?}");
    assert!(list.iter().all(|it| !it.starts_with("in_progress")), "{list:?}");
}

/// A person with a subscription: only those have usage limits in Claude Code.
fn subscribed(mut command: Command, kind: &Kind) -> Command {
    if kind.agent == Agent::Claude {
        command
            .env_remove("ANTHROPIC_API_KEY")
            .env("CLAUDE_CODE_OAUTH_TOKEN", "dummy-for-loopback");
    }
    command
}

/// The state of the only session; empty if there is none.
fn state(place: &Place) -> String {
    let sessions = place.punchlist(&["sessions", "--json"]);
    let sessions: Value = serde_json::from_str(&sessions).unwrap();
    sessions["sessions"][0]["state"].as_str().unwrap_or_default().to_owned()
}

/// The account of the worker has reached its limit: the session waits and says so, and then goes on.
#[track_caller]
pub(crate) fn reaches_its_limit(kind: &Kind) {
    let works = kind.lists(Script::new().reaches_limit(SHORT), &BEGUN);
    let works = kind.runs(works, "echo '* Faster' > notes.md").stops("The notes are written.");
    let (model, place) = staged(kind, completes(delegates(2)), works, "");
    let command = command(&[kind], &place, &model, &["do", "Write notes"]);
    let running = Run::new(subscribed(command, kind)).begin();
    until(|| state(&place).starts_with("waits for the usage limit of helper"));
    let waits = place.only_plan().items[0]["waitingOn"].clone();
    assert_says(waits.as_str().unwrap_or_default(), &["usage limit of helper until 20"], &[]);
    let ended = running.ends();
    code(&ended, 0);
    assert_eq!(model.left(), 0, "{}", ended.printed);
    let [limited, well] = results(&model).try_into().unwrap();
    assert_says(&limited, &["helper has reached its usage limit; try again at 20"], &[]);
    assert_says(&well, &["The notes are written."], &[]);
    assert_says(&ended.printed, &["waiting for the usage limit of helper until"], &[]);
    assert_eq!(place.only_plan().items[0]["waitingOn"], Value::Null);
}

/// The account of the leader has reached its limit: the same, and its program goes on with its session.
#[track_caller]
pub(crate) fn reaches_its_limit_as_leader(kind: &Kind) {
    let script = Script::new().reaches_limit(SHORT).stops("It is done.");
    let model = Model::new(script).serve().unwrap();
    let place = Place::new();
    (kind.set_up)(&place, &model);
    if kind.agent == Agent::Gemini {
        place.punchlist(&["install", "gemini", "--yes"]);
    }
    let arguments = ["do", "--agent", kind.name(), "Write notes"];
    let command = command(&[kind], &place, &model, &arguments);
    let running = Run::new(subscribed(command, kind)).begin();
    until(|| state(&place).starts_with("waits for the usage limit of"));
    let shown = place.punchlist(&["sessions"]);
    assert_says(&shown, &["Write notes  led by", kind.name(), "resume"], &[]);
    let ended = running.ends();
    code(&ended, 0);
    assert_says(&ended.printed, &["It is done."], &[]);
    assert_eq!((model.left(), state(&place).as_str()), (0, "ended"), "{}", ended.printed);
    // Gemini CLI cannot go on with a session whose model has not answered: it begins a new one.
    let goes_on = if kind.agent == Agent::Gemini { "" } else { "The usage limit is over" };
    assert_says(&model.requests()[1].text(), &["Write notes", goes_on], &[]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_delegated_item_is_done_and_its_list_is_kept_under_it() {
    does_an_item(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn in_its_own_worktree_its_changes_are_kept_on_a_branch() {
    works_in_a_worktree(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_worker_that_is_killed_is_an_outcome() {
    is_killed(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_usage_limit_of_a_worker_is_waited_for() {
    reaches_its_limit(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_usage_limit_of_the_leader_is_waited_for() {
    reaches_its_limit_as_leader(&CLAUDE);
}
