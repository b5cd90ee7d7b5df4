//! What a person does and sees: talking, the plan, calls, questions, keys.

use punchlist_agent::session::{Event, OutputLine, OutputStream};
use punchlist_agent::turn::{Abort, Ending};
use punchlist_engine::overview::Overview;
use punchlist_model::Actor;
use punchlist_model::Status::{Completed, InProgress, Pending};
use punchlist_model::call::{Answer, Answered, Question, Standing};

use super::super::msg::Msg;
use super::harness::{Harness, at, call, question, waiting};

#[test]
fn an_answer_streams_in_and_complete_blocks_go_into_the_scrollback_once() {
    let mut ui = Harness::new(40, 12);
    ui.press("What is new?\r");
    assert_eq!(ui.intended(), "Session(Queue(\"What is new?\"))");
    ui.begins("What is new?").says(&["Two **things", "**:\n\n", "- a fea", "ture\n- a f", "ix"]);
    assert_eq!(
        ui.screen(),
        "\n> What is new?\n\nTwo things:\n\n- a feature\n- a fix\n ● Writing  0 s  Esc ends the turn\n> Type a message; / commands, ? keys\n local/qwen3 · sandbox on · supervisor"
            .replace("- a", "• a")
    );
    ui.answered("Two **things**:\n\n- a feature\n- a fix");
    ui.ends(Ending::Answered, "Two **things**:\n\n- a feature\n- a fix");
    let all = ui.all();
    assert_eq!(all.matches("Two things").count(), 1, "{all}");
    assert_eq!(all.matches("a fix").count(), 1, "{all}");
    assert!(all.ends_with("? keys\n local/qwen3 · 1.2k tokens · context 0 %"), "{all}");
}

#[test]
fn the_plan_is_drawn_in_place_and_only_its_transitions_are_kept() {
    let mut ui = Harness::new(60, 20);
    ui.begins("Release it");
    assert!(!ui.screen().contains("Release 1.2"), "no plan yet");
    ui.plan(&[(Pending, "Fix the tests"), (Pending, "Write the notes")]);
    ui.plan(&[(InProgress, "Fix the tests"), (Pending, "Write the notes")]);
    assert!(ui.screen().contains(" ▶ Fix the tests\n ○ Write the notes"), "{}", ui.screen());
    ui.plan(&[(Completed, "Fix the tests"), (InProgress, "Write the notes")]);
    let screen = ui.screen();
    assert!(screen.contains("1/2 (50%)") && screen.contains(" ✓ Fix the tests"), "{screen}");
    ui.plan(&[(Completed, "Fix the tests"), (Completed, "Write the notes")]);
    ui.answered("Done.").ends(Ending::Answered, "Done.");
    let all = ui.all();
    for line in [
        "[Todo: \"Fix the tests\" → in_progress]",
        "[Todo: \"Fix the tests\" → completed]",
        "[Todo: \"Write the notes\" → completed]",
    ] {
        assert_eq!(all.matches(line).count(), 1, "{all}");
    }
    assert!(!all.contains('▶') && !all.contains('○'), "a list never stays: {all}");
}

#[test]
fn running_calls_show_their_last_line_and_end_as_one_line() {
    let mut ui = Harness::new(60, 20);
    ui.begins("Test it").answered("");
    let test = call(0, "shell", "cargo test");
    ui.event(Event::CallStarted(test.clone()));
    let line = printed("test parser ... ok");
    ui.event(Event::CallOutput { call: test.clone(), line }).passes(12_000);
    let screen = ui.screen();
    assert!(screen.contains(" ▶ shell  cargo test  12 s  test parser ... ok"), "{screen}");
    ui.event(Event::CallEnded {
        call: test,
        is_error: false,
        is_cancelled: false,
        text: "ok".to_owned(),
    });
    assert!(ui.screen().contains("  ✓ shell  cargo test  12 s"), "{}", ui.screen());
    let bad = call(1, "shell", "make");
    ui.event(Event::CallStarted(bad.clone()));
    let text = "exit code 2\nmore".to_owned();
    ui.event(Event::CallEnded { call: bad, is_error: true, is_cancelled: false, text });
    assert!(ui.screen().contains("  ✗ shell  make\n    exit code 2"), "{}", ui.screen());
    let mut planned = call(2, "create_todo", "");
    planned.arguments = punchlist_agent::provider::Arguments::Object(serde_json::json!({}));
    ui.event(Event::CallStarted(planned.clone()));
    ui.event(Event::CallEnded {
        call: planned,
        is_error: false,
        is_cancelled: false,
        text: String::new(),
    });
    assert!(!ui.all().contains("create_todo"), "the plan itself is shown");
}

fn printed(text: &str) -> OutputLine {
    OutputLine { stream: OutputStream::Out, text: text.to_owned() }
}

#[test]
fn a_question_takes_keys_when_it_is_drawn_and_not_before() {
    let mut ui = Harness::new(80, 24);
    ui.begins("Publish it");
    let (id, asked) = question(1);
    ui.asks(&[asked]);
    let screen = ui.screen();
    assert!(screen.contains("./publish.sh --prod") && screen.contains("y once"), "{screen}");
    ui.press("y");
    assert_eq!(ui.intended(), format!("Answer({id:?}, Once)"));
    assert!(ui.all().contains("Item 1 wants to run: yes, once"), "{}", ui.all());
    let (_, second) = question(2);
    let overview = Overview { plan: None, questions: vec![waiting(second)] };
    super::super::update::update(&mut ui.model, Msg::Overview(overview, Vec::new()));
    ui.press_unseen("y");
    assert_eq!(ui.intended(), "", "nobody has seen the second one");
}

#[test]
fn a_question_that_was_answered_elsewhere_vanishes_with_a_line_that_says_by_whom() {
    let mut ui = Harness::new(80, 24);
    ui.begins("Publish it");
    let (_, asked) = question(1);
    ui.asks(std::slice::from_ref(&asked));
    let by = Actor::person("ann@desk");
    let answered = Answered { answer: Answer::Refuse(None), by, at: at(1) };
    let gone = Question { standing: Standing::Answered(answered), ..waiting(asked) };
    ui.msg(Msg::Overview(Overview::default(), vec![gone]));
    assert!(!ui.screen().contains("y once"), "{}", ui.screen());
    assert!(ui.all().contains("Item 1 was answered by ann@desk: refused"), "{}", ui.all());
    assert_eq!(ui.intended(), "", "nobody answered it here");
}

#[test]
fn esc_ends_the_turn_and_leaves_the_draft_and_the_list() {
    let mut ui = Harness::new(60, 20);
    ui.begins("Release it").plan(&[(InProgress, "Fix the tests")]).press("and th");
    ui.press("\u{1b}");
    assert_eq!(ui.intended(), "Session(Abort)");
    assert!(ui.screen().contains("Stopping"), "{}", ui.screen());
    ui.plan(&[(Pending, "Fix the tests")]);
    ui.ends(Ending::Aborted(Abort::User), "");
    let screen = ui.screen();
    assert!(screen.contains("stopped; the list stays"), "{screen}");
    assert!(screen.contains("○ Fix the tests") && screen.contains("> and th"), "{screen}");
    ui.press("\u{1b}");
    assert_eq!(ui.intended(), "", "without a turn Esc ends nothing");
}

#[test]
fn ctrl_c_says_so_once_and_quits_the_second_time() {
    let mut ui = Harness::new(60, 20);
    ui.press("draft\u{3}");
    assert_eq!(ui.intended(), "");
    assert!(ui.screen().ends_with("> draft\n Ctrl-C again leaves"), "{}", ui.screen());
    ui.passes(10_000).press("\u{3}");
    assert_eq!(ui.intended(), "", "the first one was too long ago");
    ui.press("\u{3}");
    assert_eq!(ui.intended(), "Quit");
}

#[test]
fn ctrl_d_quits_in_an_empty_input_and_not_in_a_dialog() {
    let mut ui = Harness::new(60, 20);
    ui.press("x\u{4}");
    assert_eq!(ui.intended(), "", "the input is not empty");
    ui.press("\u{7f}?");
    assert!(ui.screen().contains("Keys"), "{}", ui.screen());
    ui.press("\u{4}");
    assert_eq!(ui.intended(), "");
    ui.press("\u{1b}\u{4}");
    assert_eq!(ui.intended(), "Quit");
}

#[test]
fn a_shell_command_of_the_person_is_run_and_not_sent() {
    let mut ui = Harness::new(60, 20);
    ui.press("!git status /exit\r");
    assert_eq!(ui.intended(), "Shell(\"git status /exit\")");
}

#[test]
fn pasted_text_is_sent_and_never_a_command() {
    let mut ui = Harness::new(60, 20);
    ui.press("\u{1b}[200~/quit\u{1b}[201~\r");
    assert_eq!(ui.intended(), "Session(Queue(\"/quit\"))");
    ui.press("/quit\r");
    assert_eq!(ui.intended(), "Quit");
}

#[test]
fn an_unknown_command_names_the_nearest_and_its_text_stays() {
    let mut ui = Harness::new(70, 20);
    ui.press("/quitt\r");
    assert_eq!(ui.intended(), "");
    let screen = ui.screen();
    assert!(screen.contains("> /quitt") && screen.contains("did you mean /quit?"), "{screen}");
}

#[test]
fn without_a_model_the_ways_to_one_are_shown_and_plans_and_questions_work() {
    let mut ui = Harness::without_model(70, 20);
    assert!(ui.screen().contains("no model is configured"), "{}", ui.screen());
    ui.press("hello\r");
    assert_eq!(ui.intended(), "");
    assert!(ui.screen().ends_with("Up brings your text back"), "{}", ui.screen());
    let plan = super::harness::plan(&[(Pending, "Paint the door")]);
    let overview = Overview { plan: Some(plan), questions: Vec::new() };
    ui.msg(Msg::Overview(overview, Vec::new()));
    assert!(ui.screen().contains("○ Paint the door"), "{}", ui.screen());
    let (id, asked) = question(1);
    ui.asks(&[asked]).press("y");
    assert_eq!(ui.intended(), format!("Answer({id:?}, Once)"));
}

#[test]
fn ctrl_t_opens_the_plan_and_esc_closes_it_without_ending_the_turn() {
    let mut ui = Harness::new(80, 24);
    ui.begins("Release it").plan(&[(InProgress, "Fix the tests"), (Pending, "Write the notes")]);
    ui.press("\u{14}");
    assert!(ui.screen().contains("Fix the tests"), "{}", ui.screen());
    assert!(!ui.screen().contains("Thinking"), "the dialog fills the screen: {}", ui.screen());
    ui.plan(&[(Completed, "Fix the tests"), (InProgress, "Write the notes")]);
    assert!(ui.screen().contains("✓"), "it changes under the cursor: {}", ui.screen());
    ui.press("\u{1b}");
    assert_eq!(ui.intended(), "");
    assert!(ui.screen().contains("▶ Write the notes"), "{}", ui.screen());
}

#[test]
fn a_theme_is_chosen_by_name() {
    let mut ui = Harness::new(60, 20);
    ui.press("/theme light\r");
    assert_eq!(ui.intended(), "ChooseTheme(\"light\")\nRedraw", "it is kept for the next start");
    assert_eq!(ui.model.theme.name(), "light");
}

#[test]
fn what_could_not_be_sent_comes_back_into_the_input() {
    let mut ui = Harness::new(60, 20);
    ui.begins("a");
    let why = "the queue is full: 100 messages are waiting".to_owned();
    ui.event(Event::NotQueued { text: "one more".to_owned(), why });
    let screen = ui.screen();
    assert!(screen.contains("the queue is full") && screen.contains("> one more"), "{screen}");
}

#[test]
fn hostile_text_reaches_no_screen_unescaped() {
    let mut ui = Harness::new(60, 20);
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2Jx\u{202e}evil";
    ui.begins(evil).says(&[evil, "\n\n"]).plan(&[(InProgress, evil)]);
    ui.event(Event::Thinking(evil.to_owned())).queued(&[evil], false);
    ui.event(Event::CallStarted(call(0, evil, evil)));
    assert!(ui.screen().contains("evil") && ui.screen().contains("qwen3"), "{}", ui.screen());
    assert!(!ui.all().contains('\u{202e}'));
}
