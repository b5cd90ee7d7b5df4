//! Who gets the keys while a question waits: no key answers by accident.

use super::harness::{Harness, question};

#[test]
fn a_question_that_appears_while_somebody_types_takes_no_letter_of_the_text() {
    let mut ui = Harness::new(80, 24);
    ui.begins("Publish it").press("no, wa");
    let (id, asked) = question(1);
    ui.appears(&[asked]).passes(500).press("y").passes(500).press("s");
    assert_eq!(ui.intended(), "");
    let screen = ui.screen();
    assert!(screen.contains("> no, ways"), "{screen}");
    assert!(screen.ends_with(" stop typing to answer the question"), "{screen}");
    assert!(screen.contains("./publish.sh --prod") && !screen.contains("y once"), "{screen}");
    let rows = screen.lines().count();
    ui.passes(700);
    let screen = ui.screen();
    assert!(!screen.contains("stop typing") && screen.contains("y once"), "{screen}");
    assert_eq!(screen.lines().count(), rows, "nothing moves: {screen}");
    ui.press("y");
    assert_eq!(ui.intended(), format!("Answer({id:?}, Once)"));
    assert!(ui.screen().contains("> no, ways"), "the draft stays: {}", ui.screen());
}

#[test]
fn a_command_that_is_typed_just_when_a_question_appears_answers_nothing() {
    let mut ui = Harness::new(80, 24);
    let (_, asked) = question(1);
    ui.appears(&[asked]).press("/resume\r");
    assert_eq!(ui.intended(), "Resume(None)");
    ui.passes(700);
    assert!(ui.screen().contains("y once"), "it still waits: {}", ui.screen());
}

#[test]
fn a_word_that_is_begun_before_a_question_is_drawn_goes_into_the_input() {
    for keys in ["yes\r", "no\r", "refuse\r", "always\r"] {
        let mut ui = Harness::new(80, 24);
        let (_, asked) = question(1);
        ui.appears(&[asked]).press(keys);
        assert_eq!(ui.intended(), format!("Session(Queue({:?}))", keys.trim()));
        // The pause counts from the last key, also when it was Enter.
        ui.passes(600).press("y");
        assert_eq!(ui.intended(), "");
    }
}

#[test]
fn a_question_gets_keys_after_a_pause_and_the_next_one_as_soon_as_it_is_drawn() {
    let mut ui = Harness::new(80, 24);
    ui.begins("Publish it");
    let ((first, one), (second, two)) = (question(1), question(2));
    ui.appears(&[one, two]).passes(700).press("y").press("n");
    let expected = format!("Answer({first:?}, Once)\nAnswer({second:?}, Refuse(None))");
    assert_eq!(ui.intended(), expected);
    assert!(ui.model.input.is_empty());
}

#[test]
fn a_question_under_a_dialog_gets_no_key_that_was_meant_for_the_dialog() {
    let mut ui = Harness::new(80, 24);
    ui.begins("Publish it").press("?");
    let (id, asked) = question(1);
    ui.asks(&[asked]).press("\u{1b}").press("y");
    assert_eq!(ui.intended(), "", "it has just appeared");
    ui.passes(700).press("y");
    assert_eq!(ui.intended(), format!("Answer({id:?}, Once)"));
}

#[test]
fn a_command_a_message_a_shell_command_or_a_paste_can_be_entered_while_a_question_waits() {
    for (keys, expected) in [
        ("/queue go\r", "Queue(Go(None))"),
        ("@notes.md yes\r", "Session(Queue(\"@notes.md yes\"))"),
        ("!ls\r", "Shell(\"ls\")"),
        ("\u{1b}[200~yes\u{1b}[201~\r", "Session(Queue(\"yes\"))"),
    ] {
        let mut ui = Harness::new(80, 24);
        let (id, asked) = question(1);
        ui.begins("Publish it").queued(&["later"], true).asks(&[asked]);
        let (begins, rest) = keys.split_at(keys.find(['q', 'n', 'l', '\r']).unwrap());
        ui.press(begins).passes(60_000);
        assert!(ui.screen().ends_with(" send or clear your text to answer the question"));
        // However long the person thinks, the letters are the text's.
        ui.press(rest);
        assert_eq!(ui.intended(), expected);
        ui.passes(700).press("y");
        assert_eq!(ui.intended(), format!("Answer({id:?}, Once)"));
    }
}

#[test]
fn a_text_that_is_cleared_gives_the_keys_back_to_the_question() {
    let mut ui = Harness::new(80, 24);
    let (id, asked) = question(1);
    ui.begins("Publish it").asks(&[asked]).press("/q\u{15}").passes(700).press("y");
    assert_eq!(ui.intended(), format!("Answer({id:?}, Once)"));
}
