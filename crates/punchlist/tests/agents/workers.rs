//! Plan files with items for an agent: `punchlist run` starts the real program, stores its list,
//! and runs the item's check. The scenarios are the same for every agent; [`Kind`] has the
//! differences. Claude Code's tests are at the end, the others' in their modules.

use std::ffi::OsString;
use std::fs;
use std::process::Command;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Script, Server};
use serde_json::{Value, json};

use crate::place::Place;
use crate::run::{Ended, LIMIT, Run, assert_says};
use crate::shown::shows;

/// A tool call: the name and the arguments.
type Call = (&'static str, Value);

/// What differs between agents.
pub(crate) struct Kind {
    pub(crate) agent: Agent,
    /// Writes the user's settings: the model, and permission for commands and lists.
    pub(crate) set_up: fn(&Place, &Server),
    /// The program, as a user starts it.
    pub(crate) program: fn(&Place, &Server) -> Command,
    /// A call that writes the agent's own list, from titles and statuses.
    pub(crate) list: fn(&[(&str, &str)]) -> Call,
    /// A call of its shell.
    pub(crate) shell: fn(&str) -> Call,
    /// The API's name for an invalid request.
    pub(crate) bad_request: &'static str,
}

pub(crate) const BEGUN: [(&str, &str); 2] =
    [("Read what changed", "in_progress"), ("Write it down", "pending")];
const DONE: [(&str, &str); 2] =
    [("Read what changed", "completed"), ("Write it down", "completed")];

/// An item for an agent, and one that depends on it.
const PLAN: &str = "\
# Release
- [ ] Write the notes
  agent: AGENT
  criteria: they are for users
  verify: grep -q Faster notes.md
- [ ] Publish
  after: Write the notes
  run: cp notes.md published.md
";

/// How long to wait until a list appears in the plan.
const TRIES: usize = 3_000;

impl Kind {
    pub(crate) fn name(&self) -> &'static str {
        self.agent.as_str()
    }

    /// A place with a plan file for this agent.
    fn place(&self, plan: &str, model: &Server) -> Place {
        let place = Place::new();
        (self.set_up)(&place, model);
        fs::write(place.path("project/release.md"), plan.replace("AGENT", self.name())).unwrap();
        place
    }

    /// `punchlist run release.md`, with the agent's environment.
    fn run(&self, place: &Place, model: &Server, more: &[&str]) -> Run {
        let mut command = place.command(&place.punchlist);
        let named: Vec<(OsString, OsString)> = (self.program)(place, model)
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command.envs(named).args(["run", "release.md"]).args(more);
        Run::new(command)
    }

    /// Adds a step in which the model writes its list.
    pub(crate) fn lists(&self, script: Script, entries: &[(&str, &str)]) -> Script {
        let (tool, input) = (self.list)(entries);
        script.calls(tool, input)
    }

    /// Adds a step in which the model runs a command.
    pub(crate) fn runs(&self, script: Script, command: &str) -> Script {
        let (tool, input) = (self.shell)(command);
        script.calls(tool, input)
    }

    /// A model that does the item.
    pub(crate) fn good_one(&self) -> Script {
        let script = self.lists(Script::new(), &BEGUN);
        let script = self.runs(script, "echo '* Faster' > notes.md");
        self.lists(script, &DONE).stops("The notes are written.")
    }

    /// A model that writes its list, and then never answers.
    fn one_that_hangs(&self) -> Script {
        self.lists(Script::new(), &BEGUN).turn(Message::new().says("Let me see").hangs())
    }
}

/// The items of the plan: title, status and parent.
#[track_caller]
fn items(place: &Place) -> Vec<(String, String, Value)> {
    let list = place.punchlist(&["list", "--plan", "release.md", "--json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|it| (text(&it["title"]), text(&it["status"]), it["parent"].clone())).collect()
}

/// The same, one per line: `completed Read what changed (1)`.
#[track_caller]
fn listed(place: &Place) -> Vec<String> {
    let line = |(title, status, parent): (String, String, Value)| match parent.as_u64() {
        None => format!("{status} {title}"),
        Some(under) => format!("{status} {title} ({under})"),
    };
    items(place).into_iter().map(line).collect()
}

#[track_caller]
pub(crate) fn code(ended: &Ended, expected: i32) {
    let Ended { status, printed, errors, .. } = ended;
    assert_eq!(status.code(), Some(expected), "{status}:\n{printed}\n{errors}");
}

/// The processes in the project directory that a worker left.
fn left(place: &Place) -> Vec<String> {
    let project = place.path("project");
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|it| it.path());
    let here = processes.filter(|it| fs::read_link(it.join("cwd")).is_ok_and(|it| it == project));
    here.map(|it| fs::read_to_string(it.join("cmdline")).unwrap_or_default()).collect()
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..TRIES {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("it never came to be");
}

/// Waits until the model hangs and its list is in the plan.
#[track_caller]
fn until_it_hangs(place: &Place, model: &Server) {
    assert!(model.wait_for("", 2, LIMIT), "the model was never asked again");
    until(|| items(place).len() == 4);
}

const ALL_DONE: [&str; 4] = [
    "completed Write the notes",
    "completed Read what changed (1)",
    "completed Write it down (1)",
    "completed Publish",
];

/// The agent does the item, its list is stored under the item, and the check runs afterwards.
#[track_caller]
pub(crate) fn does_an_item(kind: &Kind) {
    let _shows = shows(kind.agent, Feature::Worker, "");
    let model = Model::new(kind.good_one()).serve().unwrap();
    let place = kind.place(PLAN, &model);
    let ended = kind.run(&place, &model, &[]).ends();
    code(&ended, 0);
    assert_eq!(model.left(), 0, "{}", ended.printed);
    // The prompt has the item and its criteria, and nothing of the rest.
    let asked = model.requests()[0].text();
    assert_says(&asked, &["Write the notes", "they are for users"], &["Publish"]);
    assert_eq!(listed(&place), ALL_DONE);
    // The work is done, and the passed check is evidence.
    let published = fs::read_to_string(place.path("project/published.md")).unwrap();
    assert_eq!(published, "* Faster\n");
    let shown = place.punchlist(&["show", "1", "--plan", "release.md", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let item = &shown["item"];
    assert_eq!(item["evidence"][0]["level"], "checked", "{item:#}");
    assert_eq!(item["outcome"], "The notes are written.", "{item:#}");
    // The journal names the agent as the author of its list.
    let journal = place.punchlist(&["log", "--plan", "release.md"]);
    assert_says(&journal, &[&format!("{}   ", kind.name()), "added 3 \"Read what changed\""], &[]);
    assert_eq!(left(&place), [""; 0]);
}

/// The agent says that the item is done, but the check fails.
#[track_caller]
pub(crate) fn is_not_believed_without_its_check(kind: &Kind) {
    let script = kind.lists(Script::new(), &BEGUN).stops("The notes are written.");
    let model = Model::new(script).serve().unwrap();
    let place = kind.place(PLAN, &model);
    let ended = kind.run(&place, &model, &[]).ends();
    code(&ended, 6);
    assert_says(&ended.printed, &["Write the notes (its check failed: exit code"], &[]);
    // The item and its sub-items are no longer in progress.
    assert_eq!(
        listed(&place),
        [
            "pending Write the notes",
            "pending Read what changed (1)",
            "pending Write it down (1)",
            "pending Publish",
        ]
    );
    assert!(!place.path("project/published.md").exists());
}

/// Open items on the agent's own list do not matter: the check counts.
#[track_caller]
pub(crate) fn may_leave_its_own_list_open(kind: &Kind) {
    let script = kind.lists(Script::new(), &BEGUN);
    let script = kind.runs(script, "echo Faster > notes.md").stops("The notes are written.");
    let model = Model::new(script).serve().unwrap();
    let place = kind.place(PLAN, &model);
    code(&kind.run(&place, &model, &[]).ends(), 0);
    assert_eq!(
        listed(&place),
        [
            "completed Write the notes",
            "cancelled Read what changed (1)",
            "cancelled Write it down (1)",
            "completed Publish",
        ]
    );
}

/// Its model fails: the item fails with the reason and a hint; the next run completes it.
#[track_caller]
pub(crate) fn fails_with_its_model(kind: &Kind) {
    let script = kind.lists(Script::new(), &BEGUN).fails(400, kind.bad_request, 9);
    let model = Model::new(script).serve().unwrap();
    let place = kind.place(PLAN, &model);
    let ended = kind.run(&place, &model, &[]).ends();
    code(&ended, 6);
    let by_hand = format!("`{}`, started here by hand, tells more", kind.name());
    let reason = format!("1 failed: Write the notes ({}: it failed and ended with", kind.name());
    assert_says(&ended.printed, &[&reason, &by_hand, "Run it again to retry."], &[]);
    assert!(!place.path("project/published.md").exists());
    let model = Model::new(kind.good_one()).serve().unwrap();
    (kind.set_up)(&place, &model);
    let ended = kind.run(&place, &model, &[]).ends();
    code(&ended, 0);
    assert_says(&ended.printed, &["2 done (1 checked), 0 failed, 0 left."], &[]);
    assert_eq!(listed(&place), ALL_DONE);
}

/// The run is stopped: the agent and all its processes are gone, and the item is free.
#[track_caller]
pub(crate) fn is_gone_after_ctrl_c(kind: &Kind) {
    let model = Model::new(kind.one_that_hangs()).serve().unwrap();
    let place = kind.place(PLAN, &model);
    let running = kind.run(&place, &model, &[]).begin();
    until_it_hangs(&place, &model);
    assert_ne!(left(&place), [""; 0]);
    code(&running.interrupted(), 130);
    until(|| left(&place).is_empty());
    assert_says(&listed(&place).join("\n"), &["pending Write the notes"], &["in_progress"]);
}

/// The item's timeout expires: the same, and the item has failed.
#[track_caller]
pub(crate) fn is_gone_after_its_time(kind: &Kind) {
    let model = Model::new(kind.one_that_hangs()).serve().unwrap();
    let plan = PLAN.replace("  criteria:", "  timeout: 20s\n  criteria:");
    let place = kind.place(&plan, &model);
    let ended = kind.run(&place, &model, &[]).ends();
    code(&ended, 6);
    assert_says(&ended.printed, &["Write the notes (timed out after"], &[]);
    assert_eq!(left(&place), [""; 0]);
    assert_says(&listed(&place).join("\n"), &["pending Write the notes"], &["in_progress"]);
}

/// The run is killed while the agent works: the agent ends too. The interrupted item is not started
/// again unless somebody says so; if its check passes, it is completed; if it has `retry`, it runs
/// again.
#[track_caller]
pub(crate) fn is_taken_up_after_a_kill(kind: &Kind) {
    let model = Model::new(kind.one_that_hangs()).serve().unwrap();
    let place = kind.place(PLAN, &model);
    let running = kind.run(&place, &model, &[]).begin();
    until_it_hangs(&place, &model);
    running.killed();
    until(|| left(&place).is_empty());

    let silent = Model::new(Script::new()).serve().unwrap();
    (kind.set_up)(&place, &silent);
    let ended = kind.run(&place, &silent, &[]).ends();
    code(&ended, 7);
    assert_says(&ended.printed, &["interrupted", "--retry-interrupted runs it again"], &[]);
    assert_eq!(silent.requests().len(), 0, "nobody said that it may run again");
    assert_says(&listed(&place).join("\n"), &["pending Write the notes"], &["in_progress"]);

    let again = Model::new(kind.one_that_hangs()).serve().unwrap();
    (kind.set_up)(&place, &again);
    let running = kind.run(&place, &again, &["--retry-interrupted"]).begin();
    until_it_hangs(&place, &again);
    running.killed();

    // The check runs first, and passes, so the item need not run again.
    fs::write(place.path("project/notes.md"), "Faster\n").unwrap();
    let ended = kind.run(&place, &silent, &["--retry-interrupted"]).ends();
    code(&ended, 0);
    assert_eq!(silent.requests().len(), 0);
    assert_says(
        &listed(&place).join("\n"),
        &["completed Write the notes", "completed Publish"],
        &[],
    );
    assert_eq!(fs::read_to_string(place.path("project/published.md")).unwrap(), "Faster\n");
}

/// Texts of an item that look like options are passed as texts.
#[track_caller]
pub(crate) fn takes_no_text_for_an_option(kind: &Kind) {
    let plan = "- [ ] --version -h; $(touch pwned) `touch pwned`\n  \
                --help\n  -\n  @notes.md /quit !touch pwned\n  agent: AGENT\n  criteria: --dangerously\n";
    let model = Model::new(Script::new().stops("Done.")).serve().unwrap();
    let place = kind.place(plan, &model);
    code(&kind.run(&place, &model, &[]).ends(), 0);
    assert_eq!((model.requests().len(), model.left()), (1, 0));
    let asked = model.requests()[0].text();
    assert_says(&asked, &["--version -h; $(touch pwned)", "--help", "/quit", "--dangerously"], &[]);
    assert!(!place.path("project/pwned").exists());
}

/// The agent cannot answer questions, and cannot approve anything.
#[track_caller]
pub(crate) fn answers_nothing(kind: &Kind) {
    let plan = "- [ ] Publish it\n  agent: AGENT\n";
    let script =
        |place: &Place| kind.runs(Script::new(), &place.tries_to_answer()).stops("I tried.");
    // The model gets the path of the program, which is the same everywhere.
    let model = Model::new(script(&Place::new())).serve().unwrap();
    let place = kind.place(plan, &model);
    place.asks();
    code(&kind.run(&place, &model, &[]).ends(), 0);
    place.refused(kind.name(), &model.requests()[1].results()[0].text);
}

/// With Punchlist installed, the agent has its own plan: the run's plan is not shown to it, not
/// changed by it, and does not hold its turn.
#[track_caller]
pub(crate) fn does_not_see_the_plan(kind: &Kind) {
    let model = Model::new(kind.good_one()).serve().unwrap();
    let place = kind.place(PLAN, &model);
    place.punchlist(&["install", kind.name(), "--yes"]);
    code(&kind.run(&place, &model, &[]).ends(), 0);
    assert_eq!(model.left(), 0);
    let told: Vec<String> = model.requests().iter().map(|it| it.news()).collect();
    assert_says(&told.join("\n"), &[], &["Not finished", "Publish"]);
    assert_eq!(listed(&place), ALL_DONE);
    // The list from its hooks is stored under its item, so the plan of its session stays empty.
    let plans = place.plans();
    let own: Vec<&Value> = plans.iter().filter(|it| it["agent"] == kind.name()).collect();
    assert_eq!((plans.len(), own.len()), (2, 1), "{plans:#?}");
    assert_eq!(own[0]["progress"]["total"], 0, "{plans:#?}");
}

pub(crate) const CLAUDE: Kind = Kind {
    agent: Agent::Claude,
    set_up: |place, _| {
        fs::create_dir_all(place.path("home/.claude")).unwrap();
        let settings = json!({"permissions": {"allow": ["Bash"]}});
        fs::write(place.path("home/.claude/settings.json"), format!("{settings:#}\n")).unwrap();
    },
    program: |place, model| {
        let mut command = place.agent(model);
        command
            .env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")
            .env("ENABLE_TOOL_SEARCH", "false")
            .env("CLAUDE_CODE_ENABLE_TASKS", "0");
        command
    },
    list: |entries| {
        let todo = |(text, status): &(&str, &str)| json!({"content": text, "status": status, "activeForm": text});
        ("TodoWrite", json!({"todos": entries.iter().map(todo).collect::<Vec<_>>()}))
    },
    shell: |command| ("Bash", json!({"command": command, "description": "Do it"})),
    bad_request: "invalid_request_error",
};

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn an_item_of_a_plan_file_is_done_by_the_agent_and_its_list_is_kept_under_it() {
    does_an_item(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn what_it_says_is_not_believed_without_its_check() {
    is_not_believed_without_its_check(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn what_it_leaves_open_on_its_own_list_holds_nothing_up() {
    may_leave_its_own_list_open(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_worker_whose_model_fails_fails_its_item_and_the_next_run_has_it_done() {
    fails_with_its_model(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn after_ctrl_c_nothing_of_it_is_left() {
    is_gone_after_ctrl_c(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn after_its_time_nothing_of_it_is_left() {
    is_gone_after_its_time(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn after_a_kill_its_item_is_checked_first_and_runs_again_only_if_it_may() {
    is_taken_up_after_a_kill(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn no_text_of_an_item_is_an_option_of_its_command_line() {
    takes_no_text_for_an_option(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_worker_cannot_answer() {
    answers_nothing(&CLAUDE);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn with_punchlist_installed_a_worker_has_a_plan_of_its_own() {
    does_not_see_the_plan(&CLAUDE);
}
