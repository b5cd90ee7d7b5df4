//! Messages for members that work: queued, shown, edited, removed, sent.

use super::*;

fn send(member: usize, text: &str) -> Intent {
    Intent::Send(member, text.to_owned())
}

#[test]
fn a_message_for_a_member_that_works_waits_for_its_turn() {
    let mut team = Harness::new(80, 24);
    team.press("@max one\r@max two\r@all three\r");
    assert_eq!(team.intended(), [send(0, "one"), send(1, "three"), send(2, "three")]);
    let screen = team.screen();
    let waiting = " queued for Max: two\n queued for Max: three\n";
    assert!(screen.contains(waiting) && screen.contains("2 queued"), "{screen}");
    assert!(screen.contains("> Kim, zoe: three") && !screen.contains("> Max: two"), "{screen}");
    team.ends(0, WorkerEnd::Well, "");
    assert_eq!(team.intended(), [send(0, "two")]);
    let screen = team.screen();
    assert!(screen.contains("> Max: two") && screen.contains("1 queued"), "{screen}");
    // After a failure the queue waits for the person, and that is said.
    team.ends(0, WorkerEnd::Failed("ended by signal 9 (SIGKILL)".to_owned()), "");
    assert_eq!(team.intended(), []);
    let screen = team.screen();
    assert!(screen.contains("Max failed: ended by signal 9 (SIGKILL)"), "{screen}");
    assert!(screen.contains(" queued for Max: three\n   1 queued, /queue go sends"), "{screen}");
    // The others go on.
    assert!(screen.contains("● Kim") && screen.contains("● zoe"), "{screen}");
    team.press("/queue go\r");
    assert_eq!(team.intended(), [send(0, "three")]);
    let screen = team.screen();
    assert!(
        !screen.contains("queued for Max: three") && !screen.contains("· 1 queued"),
        "{screen}"
    );
}

#[test]
fn esc_and_ctrl_c_leave_the_draft_and_the_queue_alone() {
    let mut team = Harness::new(80, 24);
    team.press("@max one\r@max two\rdraft").intended();
    team.press("\u{1b}");
    team.ends(0, WorkerEnd::Cancelled, "");
    let screen = team.screen();
    assert!(
        screen.contains("1 queued for Max: /queue go sends, or its next turn does"),
        "{screen}"
    );
    assert!(screen.contains("> draft") && screen.contains("1 queued"), "{screen}");
    team.press("\u{3}");
    assert!(team.screen().contains("> draft"), "{}", team.screen());
    team.intended();
    team.press("\u{15}@max three\r");
    assert_eq!(team.intended(), [send(0, "three")]);
    team.ends(0, WorkerEnd::Well, "");
    assert_eq!(team.intended(), [send(0, "two")]);
}

#[test]
fn messages_of_an_earlier_start_wait_until_the_person_sends_them() {
    let mut team = Harness::new(80, 24);
    let before = vec![message(90, 0, "one"), message(91, 0, "two"), message(92, 1, "three")];
    team.msg(Msg::QueuedBefore(before));
    assert_eq!(team.intended(), []);
    let screen = team.screen();
    assert!(screen.contains("3 messages wait since the last time: /queue go sends"), "{screen}");
    assert!(screen.contains("queued for Max: one\n queued for Max: two\n"), "{screen}");
    team.press("/queue go\r");
    assert_eq!(team.intended(), [send(0, "one"), send(1, "three")]);
    team.press("/queue go\r");
    assert_eq!(team.intended(), []);
    assert!(team.screen().contains("the members work"), "{}", team.screen());
    team.ends(0, WorkerEnd::Well, "");
    assert_eq!(team.intended(), [send(0, "two")]);
    team.ends(0, WorkerEnd::Well, "").ends(1, WorkerEnd::Well, "").press("/queue go\r");
    assert_eq!(team.intended(), []);
    assert!(team.screen().contains("nothing is queued"), "{}", team.screen());
}

#[test]
fn a_message_that_waits_can_be_shown_edited_and_removed() {
    let mut team = Harness::new(80, 24);
    team.press("@max one\r@max two\r@max three\r@max four\r/queue\r").intended();
    let screen = team.screen();
    assert!(screen.contains("  1  Max: two\n  2  Max: three\n  3  Max: four"), "{screen}");
    team.press("/queue remove 2\r");
    assert!(team.screen().contains("removed for Max: three"), "{}", team.screen());
    // The newest one is edited by a key, if nothing else is typed.
    team.press("x\u{1b}[1;3A");
    assert!(team.screen().contains("send or clear what you typed first"), "{}", team.screen());
    team.press("\u{7f}\u{1b}[1;3A");
    assert_eq!(team.model.input.text(), "@max four");
    team.press(" times\r/queue edit 1\r");
    assert_eq!(team.model.input.text(), "@max two");
    team.press("\u{15}/queue edit 9\r");
    let screen = team.screen();
    assert!(screen.contains("there is no message 9 in the queue"), "{screen}");
    assert_eq!(team.model.input.text(), "/queue edit 9");
    team.press("\u{15}/queue edit\r");
    assert!(team.screen().contains("write /queue, /queue go"), "{}", team.screen());
    team.ends(0, WorkerEnd::Well, "");
    assert_eq!(team.intended(), [send(0, "four times")]);
}

#[test]
fn a_message_that_another_process_took_is_told_and_the_next_one_is_sent_by_nobody_twice() {
    let mut team = Harness::new(80, 24);
    team.press("@max one\r@max two\r@max three\r").intended();
    team.is_gone = true;
    team.ends(0, WorkerEnd::Well, "");
    assert_eq!(team.intended(), []);
    let screen = team.screen();
    assert!(screen.contains("a message for Max was taken or removed meanwhile: two"), "{screen}");
    assert!(screen.contains("meanwhile: three") && !screen.contains("queued"), "{screen}");
}

#[test]
fn a_message_that_cannot_be_queued_is_told_and_comes_back() {
    let mut team = Harness::new(80, 24);
    team.is_full = Some("the queue is full: 100 messages are waiting".to_owned());
    team.press("@max one\r@max two\r").intended();
    let screen = team.screen();
    assert!(screen.contains("not queued for Max: the queue is full"), "{screen}");
    assert_eq!(team.model.input.text(), "@max two");
    // What others got already is not sent to them again.
    team.press("\u{15}@all three\r");
    assert_eq!(team.intended(), [send(1, "three"), send(2, "three")]);
    assert_eq!(team.model.input.text(), "");
}

#[test]
fn an_answer_that_is_handed_on_to_a_member_that_works_waits_too() {
    let mut team = Harness::new(80, 24);
    team.press("@max one\r@kim two\r").ends(0, WorkerEnd::Well, "Fixed.").intended();
    team.press("/pass kim look\r");
    let screen = team.screen();
    assert!(screen.contains("Max's answer goes to Kim: look"), "{screen}");
    assert!(screen.contains(" queued for Kim: look\n"), "{screen}");
    team.ends(1, WorkerEnd::Well, "");
    assert_eq!(team.intended(), [send(1, "look\n\nMax answered:\n\nFixed.")]);
}
