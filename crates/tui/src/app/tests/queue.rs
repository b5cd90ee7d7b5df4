//! The queue on the screen, and what its keys and commands do.

use punchlist_engine::fail::Fail;

use super::super::msg::Msg;
use super::harness::Harness;

#[test]
fn blank_input_is_neither_sent_nor_queued() {
    let mut ui = Harness::new(60, 20);
    ui.press("\r").press("   \r");
    assert_eq!(ui.intended(), "");
}

#[test]
fn two_quick_enters_lose_nothing() {
    let mut ui = Harness::new(60, 20);
    ui.press("one\rtwo\r");
    assert_eq!(ui.intended(), "Session(Queue(\"one\"))\nSession(Queue(\"two\"))");
}

#[test]
fn steering_is_shown_above_queued_messages_each_cut_to_three_lines() {
    let mut ui = Harness::new(60, 30);
    ui.begins("go").queued(&["first\nb\nc\nd", "second", "!look here"], false);
    let screen = ui.screen();
    let expected = " steers: look here\n queued: first\n         b\n         c…\n queued: second\n";
    assert!(screen.contains(expected), "{screen}");
}

#[test]
fn more_messages_than_fit_are_counted() {
    let mut ui = Harness::new(60, 18);
    ui.begins("go").queued(&["a", "b", "c", "d", "e", "f", "g", "h"], false);
    assert!(ui.screen().contains(" more\n"), "{}", ui.screen());
    ui.resize(60, 10);
    assert!(ui.screen().contains(" 8 queued"), "{}", ui.screen());
}

#[test]
fn a_paused_queue_says_so() {
    let mut ui = Harness::new(60, 20);
    ui.queued(&["later"], true);
    assert!(ui.screen().contains("1 queued, paused: /queue go"), "{}", ui.screen());
    ui.press("/queue go\r");
    assert_eq!(ui.intended(), "Queue(Go(None))");
}

#[test]
fn alt_enter_steers_while_a_turn_runs() {
    let mut ui = Harness::new(60, 20);
    ui.begins("go").press("rather this\u{1b}\r");
    assert_eq!(ui.intended(), "Session(Steer(\"rather this\"))");
}

#[test]
fn the_newest_message_is_edited_by_a_key_unless_something_is_typed() {
    let mut ui = Harness::new(60, 20);
    ui.begins("go").queued(&["old", "new"], false).press("\u{1b}[1;3A");
    assert!(ui.intended().starts_with("Queue(Edit("));
    assert!(!ui.screen().contains("> new"), "it may be taken just now");
    ui.msg(Msg::Unqueued("new".to_owned())).queued(&["old"], false);
    assert!(ui.screen().contains("> new"), "{}", ui.screen());
    ui.press("\u{1b}[1;3A");
    assert_eq!(ui.intended(), "");
}

#[test]
fn an_edit_or_removal_that_crosses_the_taking_is_told_and_nothing_is_doubled() {
    let mut ui = Harness::new(70, 20);
    ui.begins("go").queued(&["a", "b"], false).press("/queue edit 2\r");
    assert!(ui.intended().starts_with("Queue(Edit("));
    let why = "message 1 was taken meanwhile: the agent works on it";
    ui.msg(Msg::Failed(Fail::refused(why))).queued(&["a"], false);
    let screen = ui.screen();
    assert!(screen.contains("was taken meanwhile"), "{screen}");
    assert!(ui.model.input.is_empty(), "its text is not there a second time: {screen}");
    ui.press("/queue remove 1\r");
    assert!(ui.intended().starts_with("Queue(Remove("));
    ui.msg(Msg::Failed(Fail::refused(why)));
    assert_eq!(ui.all().matches("was taken meanwhile").count(), 2, "{}", ui.all());
}

#[test]
fn a_text_that_is_typed_while_a_queued_message_comes_back_stays_and_the_message_is_queued() {
    let mut ui = Harness::new(60, 20);
    ui.begins("go").queued(&["old"], false).press("\u{1b}[1;3A").press("typed");
    ui.intended();
    ui.msg(Msg::Unqueued("old".to_owned()));
    assert_eq!(ui.intended(), "Session(Queue(\"old\"))");
    assert!(ui.screen().contains("> typed"), "{}", ui.screen());
}

#[test]
fn esc_and_ctrl_c_leave_draft_and_queue_alone() {
    for key in ["\u{1b}", "\u{3}"] {
        let mut ui = Harness::new(60, 20);
        ui.begins("go").queued(&["later"], false).press("a draft").press(key);
        assert!(!ui.intended().contains("Queue"), "{key:?}");
        let screen = ui.screen();
        assert!(screen.contains("> a draft") && screen.contains("queued: later"), "{screen}");
    }
}

#[test]
fn a_limit_is_told_and_the_draft_comes_back() {
    let mut ui = Harness::new(70, 20);
    let long = "x".repeat(2 << 20);
    ui.model.input.set_text(&long);
    ui.press("\r");
    assert_eq!(ui.intended(), "", "it is too long for a message");
    assert_eq!(ui.model.input.text().len(), long.len());
    assert!(ui.model.notice.is_some());
}

#[test]
fn any_message_is_removed_moved_or_sent_by_its_number() {
    let mut ui = Harness::new(60, 20);
    ui.queued(&["a", "b", "c"], true);
    ui.press("/queue remove 2\r");
    assert!(ui.intended().starts_with("Queue(Remove("));
    ui.press("/queue move 3 1\r");
    assert!(ui.intended().starts_with("Queue(Move("));
    ui.press("/queue send 2\r");
    assert!(ui.intended().starts_with("Queue(Go(Some("));
    ui.press("/queue remove 9\r");
    assert_eq!(ui.intended(), "");
    assert!(ui.screen().contains("there is no message 9"), "{}", ui.screen());
}

#[test]
fn a_chosen_message_is_refused_and_kept_while_a_turn_runs() {
    let mut ui = Harness::new(70, 20);
    ui.begins("go").queued(&["a", "b"], false).press("/queue send 2\r");
    assert_eq!(ui.intended(), "");
    assert!(ui.screen().contains("a turn runs"), "{}", ui.screen());
    assert!(ui.screen().contains("queued: b"), "{}", ui.screen());
}
