//! Commands that do something in the UI itself: compaction, plan files, approvals, agents, the team, and
//! what is kept for the next start.

use punchlist_agent::session::{Event, Input, Report};
use punchlist_agent::turn::Ending;
use punchlist_engine::fail::Fail;
use punchlist_engine::overview::Overview;
use punchlist_engine::policy::given::Given;
use punchlist_engine::policy::rules::{Placed, Rules, read};
use punchlist_formats::view::Options;
use punchlist_formats::view::run::{Run, State as StepState, Step};
use punchlist_model::agents::{NoList, Row, Spent, State};
use punchlist_model::call::Printed;
use punchlist_model::store::Summary;
use punchlist_model::store::turns::Used;
use punchlist_model::{ConversationId, End, IdSource, Progress, Status};
use tokio::sync::oneshot;

use super::super::complete::Choices;
use super::super::intent::Intent;
use super::super::model::SessionIs;
use super::super::msg::Msg;
use super::super::plan_run::RunReport;
use super::harness::{Harness, at, question, waiting};
use crate::dialog::{AgentsDialog, Approvals, Dialog, ListDialog};
use crate::input::Mentions;
use crate::watch::AgentsSeen;

/// A UI with a session.
fn talking() -> Harness {
    let mut ui = Harness::new(80, 24);
    let id = ConversationId(IdSource::fixed(at(0), 3).nth(0));
    ui.msg(Msg::Report(Report::Opened { id, entries: Vec::new(), used: Used::default() }));
    ui
}

#[test]
fn what_is_typed_is_kept_for_the_next_start_unless_a_blank_is_before_it() {
    let mut ui = Harness::new(60, 20);
    ui.press("first\r").press("/help\r").press("!git status\r").press("steered\u{1b}\r");
    ui.press(" hidden\r").press("! hidden command\r");
    ui.press("\u{1b}[200~/etc is full\u{1b}[201~\r");
    assert_eq!(ui.remembered, ["first", "/help", "!git status", "steered", " /etc is full"]);
}

#[test]
fn compact_summarises_an_idle_session_and_is_refused_while_it_is_busy() {
    let mut ui = talking();
    ui.press("/compact the file names\r");
    let intents = std::mem::take(&mut ui.intents);
    assert!(
        matches!(&intents[..], [Intent::Session(Input::Compact(Some(keep)))] if keep == "the file names"),
        "{intents:?}"
    );
    ui.event(Event::Compacting);
    assert!(ui.screen().contains("Compacting"), "{}", ui.screen());
    ui.press("next\r");
    assert_eq!(ui.intended(), "Session(Queue(\"next\"))", "it waits in the queue");
    ui.press("\u{1b}");
    assert_eq!(ui.intended(), "Session(Abort)", "Esc ends it");
    ui.event(Event::Info("12 messages of about 900 tokens are now a summary".to_owned()));
    ui.msg(Msg::Report(Report::Idle));
    assert!(ui.screen().contains("12 messages"), "{}", ui.screen());
    ui.begins("go").press("/compact\r");
    assert_eq!(ui.intended(), "");
    assert!(ui.screen().contains("/compact is for an idle agent"), "{}", ui.screen());
}

#[test]
fn compact_without_a_conversation_says_so_and_the_text_stays() {
    let mut ui = Harness::new(60, 20);
    ui.press("/compact\r");
    assert_eq!(ui.intended(), "");
    let screen = ui.screen();
    assert!(screen.contains("nothing to compact yet") && screen.contains("> /compact"), "{screen}");
}

/// How a run of two steps stands.
fn stands(states: [StepState; 2]) -> Box<Run> {
    let step = |(title, state): (&str, StepState)| Step {
        title: title.to_owned(),
        depth: 0,
        worker: String::new(),
        state,
        ms: Some(1_000),
        note: String::new(),
        printed: Printed::default(),
    };
    Box::new(Run {
        title: "Release 1.2".to_owned(),
        how: vec!["2 jobs".to_owned()],
        steps: ["Build", "Publish"].into_iter().zip(states).map(step).collect(),
        progress: Progress::of(0, 2, true),
        ms: 2_000,
        hint: String::new(),
    })
}

#[test]
fn a_plan_file_runs_in_the_same_screen_with_its_questions_and_without_a_model() {
    let mut ui = Harness::without_model(80, 24);
    ui.press("/run release.md\r");
    assert_eq!(ui.intended(), "RunFile(\"release.md\", false)");
    let running = stands([StepState::Running, StepState::Open]);
    ui.msg(Msg::Run(RunReport::Stands(running)));
    let screen = ui.screen();
    assert!(screen.contains("Release 1.2") && screen.contains("▶ Build"), "{screen}");
    assert!(screen.contains("Esc stops") && screen.contains("No model: /model"), "{screen}");
    ui.msg(Msg::Run(RunReport::Said("Build: done in 1 s".to_owned())));
    let (id, asked) = question(1);
    ui.asks(&[asked]).press("y");
    assert_eq!(ui.intended(), format!("Answer({id:?}, Once)"));
    ui.press("/run other.md --quick\r");
    assert!(ui.screen().contains("its only option is --fresh"), "{}", ui.screen());
    ui.press("\u{15}/run other.md\r");
    assert_eq!(ui.intended(), "", "one at a time");
    assert!(ui.screen().contains("a plan file runs already"), "{}", ui.screen());
    let why = Fail::refused("there is no release.md");
    ui.msg(Msg::Run(RunReport::Ended(Err(why))));
    let screen = ui.screen();
    assert!(screen.contains("there is no release.md") && !screen.contains("▶ Build"), "{screen}");
    assert!(ui.all().contains("Build: done in 1 s"), "{}", ui.all());
    ui.press("\u{15}/run other.md --fresh\r");
    assert_eq!(ui.intended(), "RunFile(\"other.md\", true)", "the input is free");
}

#[test]
fn esc_stops_a_plan_file_and_a_second_one_ends_it_at_once() {
    let mut ui = Harness::new(80, 24);
    ui.press("/run release.md\r");
    ui.msg(Msg::Run(RunReport::Stands(stands([StepState::Running, StepState::Open]))));
    ui.intended();
    ui.press("\u{1b}");
    assert_eq!(ui.intended(), "StopRun");
    assert!(ui.screen().contains("Esc again ends at once"), "{}", ui.screen());
    ui.press("\u{1b}");
    assert_eq!(ui.intended(), "StopRun");
    // A turn comes first.
    ui.begins("go").press("\u{1b}");
    assert_eq!(ui.intended(), "Session(Abort)");
}

#[test]
fn a_run_that_asks_before_it_begins_gets_the_answer_of_the_dialog() {
    for (key, expected) in [("y", true), ("n", false), ("\u{1b}", false)] {
        let mut ui = Harness::new(80, 24);
        ui.press("/run release.md\r");
        let (answer, mut answered) = oneshot::channel();
        let question = "Build was interrupted. Run it again?".to_owned();
        ui.msg(Msg::Run(RunReport::Confirm(question, answer)));
        assert!(ui.screen().contains("Build was interrupted"), "{}", ui.screen());
        ui.press(key);
        assert_eq!(answered.try_recv().unwrap_or(false), expected, "{key:?}");
        assert!(ui.model.dialog.is_none());
    }
}

#[test]
fn the_name_of_a_plan_file_is_completed_and_the_list_of_plans_leads_to_it() {
    let mut ui = Harness::new(80, 24);
    let files = ["src/main.rs", "plans/release.md", "README.md"].map(str::to_owned).to_vec();
    ui.msg(Msg::Mentions(Mentions { members: Vec::new(), files }));
    ui.press("/run rel\t\r");
    assert_eq!(ui.intended(), "RunFile(\"plans/release.md\", false)");
    let mut ui = Harness::new(80, 24);
    let list = ListDialog::plans(&[], None, &Options::plain(at(0)));
    ui.msg(Msg::Opened(Box::new(Dialog::List(list)))).press("G\r");
    assert!(ui.screen().contains("> /run\n"), "{}", ui.screen());
}

#[test]
fn a_rule_or_a_consent_is_deleted_after_a_yes_and_only_ones_own() {
    let rule = read("[[policy]]\ndecision = \"ask\"\ntool = \"write\"\n").unwrap().remove(0);
    let placed = |line| Placed { rule: rule.clone(), line };
    let given = Approvals {
        rules: Rules { user: vec![placed(4)], project: vec![placed(9)] },
        user_file: "/home/me/config.toml".to_owned(),
        project_file: "/home/me/shop/punchlist.toml".to_owned(),
        consents: vec![Given {
            name: "checks".to_owned(),
            project: Some("/home/me/shop".to_owned()),
            is_allowed: true,
            what: "run checks that agents wrote".to_owned(),
        }],
    };
    let list = || Dialog::List(ListDialog::approvals(&[], &given, &Options::plain(at(0))));
    let mut ui = Harness::new(100, 30);
    ui.press("/approvals\r");
    assert_eq!(ui.intended(), "Load(Approvals)");
    ui.msg(Msg::Opened(Box::new(list())));
    assert!(ui.screen().contains("/home/me/config.toml"), "its file is shown: {}", ui.screen());
    ui.press("x");
    assert_eq!(ui.intended(), "", "not without a yes");
    ui.press("n").press("xy");
    assert!(ui.intended().starts_with("ForgetRule("));
    ui.press("jxy");
    assert_eq!(ui.intended(), "", "the project's rule is not the person's");
    ui.press("jxy");
    assert!(ui.intended().starts_with("TakeBack("));
}

fn agent(key: &str, state: State) -> Row {
    Row {
        key: key.to_owned(),
        agent: "claude".to_owned(),
        sub_agent: None,
        place: "web-shop".to_owned(),
        model: "opus-4.8".to_owned(),
        state,
        list: None,
        no_list: NoList::Never,
        at: 0,
        began: 0,
        project: String::new(),
        said: String::new(),
        spent: Spent::default(),
        question: None,
        turns: 0,
    }
}

#[test]
fn watch_is_a_dialog_where_enter_opens_a_answers_and_esc_returns() {
    let mut ui = Harness::new(80, 24);
    ui.begins("go").press("/watch\r");
    assert_eq!(ui.intended(), "Watch");
    let file = "/home/me/config.toml".to_owned();
    let dialog = AgentsDialog::new(None, Vec::new(), file, Options::plain(at(0)));
    ui.msg(Msg::Opened(Box::new(Dialog::Agents(Box::new(dialog)))));
    assert!(ui.screen().contains("reading sessions"), "{}", ui.screen());
    let (id, asked) = question(1);
    let mut asks = agent("claude/1", State::Asks("rm -rf build/".to_owned()));
    asks.question = Some(id);
    let rows = vec![asks, agent("claude/2", State::Working)];
    let questions = vec![waiting(asked)];
    let seen = AgentsSeen { rows: rows.clone(), questions, ..AgentsSeen::default() };
    ui.msg(Msg::Agents(Ok(seen)));
    let screen = ui.screen();
    assert!(screen.contains("web-shop") && screen.contains("rm -rf build/"), "{screen}");
    assert!(!screen.contains("Thinking"), "it fills the screen: {screen}");
    ui.press("j\r");
    assert_eq!(ui.intended().lines().last(), Some("WatchAgent(Some(\"claude/1\"))"));
    // Esc closes the agent, then the dialog.
    ui.press("\u{1b}").press("a");
    assert!(ui.screen().contains("./publish.sh --prod"), "{}", ui.screen());
    ui.intended();
    ui.press("y");
    assert!(ui.intended().starts_with("AnswerAgent("));
    ui.msg(Msg::ToldAgents("answered: yes, once".to_owned()));
    assert!(ui.screen().contains("answered: yes, once"), "{}", ui.screen());
    let seen = AgentsSeen { rows, ..AgentsSeen::default() };
    ui.msg(Msg::Agents(Ok(seen))).press("\u{1b}");
    assert_eq!(ui.intended(), "EndWatch");
    assert!(ui.screen().contains("Thinking"), "the turn goes on: {}", ui.screen());
}

#[test]
fn a_replies_to_a_session_of_ours_that_asks_in_the_dialog_of_agents() {
    let mut ui = Harness::new(80, 24);
    let dialog = AgentsDialog::new(None, Vec::new(), String::new(), Options::plain(at(0)));
    ui.msg(Msg::Opened(Box::new(Dialog::Agents(Box::new(dialog)))));
    let id = ConversationId(IdSource::fixed(at(0), 3).nth(0));
    let mut row = agent(&format!("punchlist/{id}"), State::Asks("Which colour?".to_owned()));
    row.turns = 1;
    let said = "I can paint it.\n\nWhich colour do you want?".to_owned();
    let asking = [(row.key.clone(), said)].into();
    ui.msg(Msg::Agents(Ok(AgentsSeen { rows: vec![row], asking, ..AgentsSeen::default() })));
    for keys in ["a", "ja"] {
        ui.press(keys);
        let screen = ui.screen();
        assert!(screen.contains("asks you") && screen.contains("Which colour do"), "{screen}");
        ui.intended();
        ui.press("no\u{1b}");
        assert!(!ui.screen().contains("asks you"), "Esc leaves it for later: {}", ui.screen());
        assert!(!ui.intended().contains("ReplyAgent"));
    }
    ui.press("a").press("blue\r");
    let intended = ui.intended();
    assert!(intended.ends_with(&format!("ReplyAgent({id:?}, \"blue\")")), "{intended}");
    ui.msg(Msg::ToldAgents("sent".to_owned()));
    assert!(ui.screen().contains("sent"), "{}", ui.screen());
}

#[test]
fn a_question_that_is_answered_elsewhere_vanishes_from_the_dialog_with_a_line() {
    let mut ui = Harness::new(80, 24);
    let dialog = AgentsDialog::new(None, Vec::new(), String::new(), Options::plain(at(0)));
    ui.msg(Msg::Opened(Box::new(Dialog::Agents(Box::new(dialog)))));
    let questions = vec![waiting(question(1).1)];
    ui.msg(Msg::Agents(Ok(AgentsSeen { questions, ..AgentsSeen::default() }))).press("a");
    assert!(ui.screen().contains("y once"), "{}", ui.screen());
    ui.msg(Msg::Agents(Ok(AgentsSeen::default())));
    let screen = ui.screen();
    assert!(!screen.contains("y once") && screen.contains("answered elsewhere"), "{screen}");
    ui.intended();
    ui.press("y");
    assert!(!ui.intended().contains("Answer"), "there is nothing to answer");
}

#[test]
fn the_team_is_a_dialog_that_lists_the_members_and_begins_the_conversation() {
    let mut ui = Harness::new(80, 24);
    ui.press("/team\r");
    assert_eq!(ui.intended(), "Load(Team)");
    let kim = ("kim".to_owned(), "Kim".to_owned(), "Codex".to_owned());
    let list = ListDialog::members(&[kim], Options::plain(at(0)).glyphs);
    ui.msg(Msg::Opened(Box::new(Dialog::List(list))));
    let screen = ui.screen();
    assert!(screen.contains("@kim  Kim") && screen.contains("Codex"), "{screen}");
    ui.press("\r");
    assert_eq!(ui.intended(), "Verb([\"team\"])");
    let list = ListDialog::members(&[], Options::plain(at(0)).glyphs);
    ui.msg(Msg::Opened(Box::new(Dialog::List(list))));
    assert!(ui.screen().contains("There is no team"), "{}", ui.screen());
}

#[test]
fn a_plan_is_chosen_from_the_plan_that_is_open_and_shown_after_a_turn_too() {
    let mut ui = Harness::new(80, 24);
    ui.begins("go").plan(&[(Status::Pending, "Paint the door")]);
    ui.ends(Ending::Answered, "Yes.");
    ui.press("/plan\r").press("o");
    assert_eq!(ui.intended(), "Load(Plans)");
    let other = super::harness::plan(&[(Status::Pending, "Let it dry")]);
    let summary = Summary {
        id: other.id,
        project: other.project.clone(),
        name: None,
        title: other.title.clone(),
        revision: other.revision,
        end: End::Open,
        archived: false,
        open: 1,
        progress: Progress::of(0, 1, true),
        created_at: at(0),
        updated_at: at(0),
        attachment: None,
        made_for: None,
    };
    let list = ListDialog::plans(&[summary], None, &Options::plain(at(0)));
    ui.msg(Msg::Opened(Box::new(Dialog::List(list)))).press("\r");
    assert!(ui.intended().starts_with("ChoosePlan("));
    let overview = Overview { plan: Some(other), ..Overview::default() };
    ui.msg(Msg::Overview(overview, Vec::new()));
    assert!(ui.screen().contains("○ Let it dry"), "{}", ui.screen());
}

/// The commands of a project with these files.
fn commands(files: &[(&str, &str)]) -> punchlist_engine::custom_commands::CustomCommands {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = directory.path().join(".punchlist/commands").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let (top, name) = (directory.path().to_owned(), "/home/me/shop".to_owned());
    punchlist_engine::custom_commands::find(&punchlist_engine::custom_commands::CommandPlaces {
        user: directory.path().join("none"),
        project: Some(punchlist_engine::custom_commands::CommandProject { top, name }),
        data: directory.path().join("data"),
    })
}

#[test]
fn a_command_of_the_project_is_shown_to_its_end_before_a_yes() {
    let mut ui = Harness::new(80, 16);
    let steps: String = (1..20).map(|n| format!("Step {n}.\n")).collect();
    let text = format!("Deploy $1.\n{steps}!`git push \"$1\"`\nLast line.\n");
    ui.msg(Msg::Commands(commands(&[("deploy.md", &text)]))).press("/deploy x\r");
    let screen = ui.screen();
    assert!(screen.contains("Use /deploy") && screen.contains("  Deploy $1."), "{screen}");
    ui.press("y");
    assert!(ui.intended().is_empty(), "nobody has read it");
    let mut seen = screen;
    for _ in 0..30 {
        seen.push_str(&ui.press("j").screen());
    }
    for text in ["Step 19.", "Last line.", "In a shell", "  git push \"$1\"", "Your yes holds"] {
        assert!(seen.contains(text), "{text}: {seen}");
    }
    ui.press("y");
    assert!(ui.intended().starts_with("AllowCommand("));
}

#[test]
fn a_namespace_alone_lists_its_commands() {
    let mut ui = Harness::new(80, 24);
    let files = [("git/commit.md", "Commit."), ("git/push.md", "Push.")];
    ui.msg(Msg::Commands(commands(&files))).press("/git\r");
    let screen = ui.screen();
    assert!(screen.contains("/git:commit") && screen.contains("/git:push"), "{screen}");
    assert!(ui.model.input.is_empty(), "{screen}");
    ui.press("/git:com\t");
    assert!(ui.screen().contains("> /git:commit"), "{}", ui.screen());
}

#[test]
fn arguments_are_completed_with_what_there_is() {
    let mut ui = Harness::new(80, 24);
    ui.begins("go").plan(&[(Status::Pending, "Paint the door"), (Status::Pending, "Let it dry")]);
    ui.queued(&["first", "second"], false);
    for (keys, expected) in [
        ("/help comp\t", "> /help compact"),
        ("/verify dry\t", "> /verify 2"),
        ("/queue edit sec\t", "> /queue edit 2"),
    ] {
        ui.press(keys);
        assert!(ui.screen().contains(expected), "{keys}: {}", ui.screen());
        ui.press("\u{15}");
    }
    for (command, what, expected) in [
        ("/resume ", Choices::Sessions, "/resume 0a1b"),
        ("/model ", Choices::Models, "/model ollama/"),
    ] {
        ui.intended();
        ui.press(command);
        assert_eq!(ui.intended(), format!("ReadChoices({what:?})"));
        let name = expected.trim_start_matches(command).to_owned();
        ui.msg(Msg::Choices(what, vec![(name, "about it".to_owned())])).press("\t");
        let screen = ui.screen();
        assert!(screen.contains(&format!("> {expected}")), "{screen}");
        ui.press("\u{15}");
    }
}

#[test]
fn commands_that_change_nothing_on_the_screen_say_a_line() {
    let mut ui = Harness::new(80, 24);
    ui.press("/queue go\r");
    assert_eq!(ui.intended(), "");
    assert!(ui.screen().contains("nothing is queued"), "{}", ui.screen());
    ui.press("/clear\r");
    let agent = Box::new(ui.model.agent.clone());
    ui.msg(Msg::Session(agent, SessionIs::New));
    assert!(ui.screen().contains("a new conversation begins"), "{}", ui.screen());
}
