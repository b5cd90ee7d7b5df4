//! Opening other sessions, what comes back when something cannot be sent, and a UI without a model.

use punchlist_agent::session::{Event, Report};
use punchlist_engine::fail::Fail;
use punchlist_formats::view::Options;
use punchlist_model::Status::{InProgress, Pending};
use punchlist_model::store::turns::Used;
use punchlist_model::{ConversationId, IdSource};

use super::super::model::{Agent, SessionIs};
use super::super::msg::Msg;
use super::harness::{Harness, at, plan};
use crate::dialog::{Dialog, ListDialog};

fn agent(model: &str) -> Box<Agent> {
    Box::new(Agent { model: Some(model.to_owned()), ..Agent::default() })
}

fn opened(n: u8, input: u64) -> Msg {
    let id = ConversationId(IdSource::fixed(at(0), n).nth(0));
    let used = Used { calls: 1, input, ..Used::default() };
    let entry = punchlist_agent::session::Entry::User { text: "Paint it".to_owned() };
    let entries = vec![punchlist_agent::session::Recorded { turn: 1, number: 1, at: at(0), entry }];
    Msg::Report(Report::Opened { id, entries, used })
}

#[test]
fn a_session_that_cannot_be_opened_leaves_the_present_one_and_its_screen() {
    let mut ui = Harness::new(80, 24);
    ui.msg(opened(1, 0)).press("/resume 7\r");
    assert!(ui.intended().ends_with("Resume(Some(\"7\"))"));
    ui.msg(Msg::Failed(Fail::refused("session 7 is run by another process")));
    assert!(ui.screen().contains("is run by another process"), "{}", ui.screen());
    ui.press("go on\r");
    assert_eq!(ui.intended(), "Session(Queue(\"go on\"))");
}

#[test]
fn a_text_that_could_not_be_sent_comes_back_or_is_shown() {
    let failed = || Msg::Report(Report::Failed(Fail::refused("no"), Some("Paint it".to_owned())));
    let mut ui = Harness::new(80, 24);
    ui.msg(failed());
    assert!(ui.screen().contains("> Paint it"), "{}", ui.screen());
    let mut ui = Harness::new(80, 24);
    ui.press("something else").msg(failed());
    let screen = ui.screen();
    assert!(
        screen.contains("not sent: Paint it") && screen.contains("> something else"),
        "{screen}"
    );
    // A goal comes back as the command that it was.
    let goal = Some("/goal it is blue".to_owned());
    let mut ui = Harness::new(80, 24);
    ui.msg(Msg::Report(Report::Failed(Fail::refused("no"), goal))).press("\r");
    assert_eq!(ui.intended(), "Session(Goal(\"it is blue\"))");
}

#[test]
fn another_model_goes_on_with_the_same_screen_and_another_session_shows_what_was_said() {
    let mut ui = Harness::new(80, 24);
    ui.msg(opened(1, 2_000));
    assert!(ui.screen().contains("2.0k tokens"), "what it has used: {}", ui.screen());
    ui.press("/model other/one\r").intended();
    ui.msg(Msg::Session(agent("other/one"), SessionIs::Same)).msg(opened(1, 2_000));
    let all = ui.all();
    assert_eq!(all.matches("> Paint it").count(), 1, "{all}");
    assert!(all.contains("the model is other/one from now on"), "{all}");
    assert!(all.ends_with("other/one · 2.0k tokens · sandbox on · ? keys"), "{all}");
    ui.msg(Msg::Session(agent("other/one"), SessionIs::Other)).msg(opened(2, 3_000));
    let all = ui.all();
    assert_eq!(all.matches("> Paint it").count(), 2, "{all}");
    assert!(all.contains("3.0k tokens"), "{all}");
}

#[test]
fn a_turn_that_goes_on_shows_its_plan_at_once() {
    let mut ui = Harness::new(80, 24);
    let so_far = plan(&[(InProgress, "Paint the door"), (Pending, "Let it dry")]);
    let (id, request) = ("t".to_owned(), String::new());
    let plan = Some(Box::new(so_far));
    ui.event(Event::Began { turn: 1, id, request, is_resumed: true, plan });
    assert!(ui.screen().contains("▶ Paint the door\n ○ Let it dry"), "{}", ui.screen());
}

#[test]
fn a_goal_is_set_when_there_is_a_model() {
    let mut ui = Harness::new(80, 24);
    ui.press("/goal all tests pass\r");
    assert_eq!(ui.intended(), "Session(Goal(\"all tests pass\"))");
    let mut ui = Harness::without_model(80, 24);
    ui.press("/goal all tests pass\r");
    assert_eq!(ui.intended(), "");
}

#[test]
fn without_a_model_the_input_says_how_to_choose_one_and_enter_repeats_nothing() {
    let mut ui = Harness::without_model(80, 24);
    assert!(ui.screen().contains("> No model: /model chooses one"), "{}", ui.screen());
    ui.press("hello\r").press("/plan\r");
    assert_eq!(ui.intended(), "Load(Plans)", "the text is not before the next command");
    let all = ui.all();
    assert_eq!(all.matches("no model is configured").count(), 1, "{all}");
    assert!(all.contains("no model: /model chooses one; Up brings your text back"), "{all}");
    ui.press("\u{1b}[A\u{1b}[A");
    assert!(ui.screen().contains("> hello"), "{}", ui.screen());
    ui.press("\u{15}").msg(Msg::Session(agent("local/qwen3"), SessionIs::Other));
    assert!(ui.screen().contains("> Type a message"), "{}", ui.screen());
}

#[test]
fn a_provider_without_a_model_leads_to_the_command_that_names_one() {
    let mut ui = Harness::new(80, 24);
    let models = [("ollama/…".to_owned(), None)];
    let list = ListDialog::models(&models, None, Options::plain(at(0)).glyphs);
    ui.msg(Msg::Opened(Box::new(Dialog::List(list)))).press("\r");
    assert_eq!(ui.intended(), "");
    ui.press("qwen3\r");
    assert!(ui.intended().contains("model: Some(\"ollama/qwen3\")"));
}

#[test]
fn a_new_plan_is_made_by_the_ui_and_shown() {
    let mut ui = Harness::new(80, 24);
    let list = ListDialog::plans(&[], None, &Options::plain(at(0)));
    ui.msg(Msg::Opened(Box::new(Dialog::List(list)))).press("g\r");
    assert!(ui.screen().contains("> /plan new"), "{}", ui.screen());
    ui.press("Release 1.3\r");
    assert_eq!(ui.intended(), "NewPlan(\"Release 1.3\")");
    let id = plan(&[]).id;
    ui.msg(Msg::PlanMade(id));
    assert_eq!(ui.intended(), format!("ChoosePlan({id:?})"));
}
