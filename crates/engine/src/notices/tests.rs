//! What is worth a notice, in whose words, and by whom it is given.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use punchlist_formats::hook::Stop;
use punchlist_model::IdSource;
use punchlist_model::agents::{Listed, Row, State};
use punchlist_model::store::memory::Memory;

use super::rows::SeenRows;
use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
}

/// The in-memory store is always ready.
fn wait<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the store in memory answers at once"),
    }
}

fn row(key: &str, state: State) -> Row {
    let agent = key.split('/').next().unwrap_or_default().to_owned();
    Row { key: key.to_owned(), agent, project: "/home/me/shop".to_owned(), state, ..Row::default() }
}

/// The kinds and texts of the notices about a row that goes through these states.
fn told(rows: &[Row]) -> Vec<(NoticeKind, String)> {
    let mut seen = SeenRows::default();
    let mut told = Vec::new();
    for row in rows {
        let notices = seen.see(std::slice::from_ref(row), &[], at(0));
        told.extend(notices.into_iter().map(|(_, it)| (it.kind, it.line())));
    }
    told
}

#[test]
fn a_change_that_needs_a_person_or_ends_work_is_told_once() {
    use NoticeKind::{Died, Done, Failed, Question};
    let states = |states: &[State]| {
        let rows: Vec<Row> = states.iter().map(|it| row("claude/s/", it.clone())).collect();
        told(&rows).into_iter().map(|it| it.0).collect::<Vec<_>>()
    };
    let asks = |text: &str| State::Asks(text.to_owned());
    let failed = State::Failed("no credit".to_owned());
    assert_eq!(states(&[State::Working, State::Idle, State::Idle]), [Done]);
    assert_eq!(states(&[State::Working, asks("a"), asks("a"), asks("b")]), [Question, Question]);
    assert_eq!(states(&[State::Working, failed.clone(), failed]), [Failed]);
    assert_eq!(states(&[State::Working, State::Silent, State::Died]), [Died]);
    assert_eq!(states(&[State::Working, asks("a"), State::Working, State::Idle]), [Question, Done]);
    // What was so at the beginning is on the screen.
    assert_eq!(states(&[asks("a"), asks("a")]), []);
    assert_eq!(states(&[State::Idle, State::Idle, State::Died]), []);
    // A question that is gone was answered or refused by the person.
    assert_eq!(states(&[asks("a"), State::Idle]), []);
}

#[test]
fn a_new_row_is_told_only_if_it_asks() {
    let mut seen = SeenRows::default();
    assert!(seen.see(&[], &[], at(0)).is_empty());
    let rows = [row("claude/a/", State::Idle), row("codex/b/", State::Asks("May I?".to_owned()))];
    let notices = seen.see(&rows, &[], at(0));
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].1.title(), "codex in shop asks you");
}

#[test]
fn the_end_of_a_sub_agent_or_of_a_plan_without_a_session_is_no_end_of_work() {
    let sub = |state| Row { sub_agent: Some("x".to_owned()), ..row("claude/s/x", state) };
    assert_eq!(told(&[sub(State::Working), sub(State::Idle)]), []);
    assert_eq!(told(&[row("plan/p", State::Working), row("plan/p", State::Idle)]), []);
    let asks = State::Asks("May I?".to_owned());
    let question = (NoticeKind::Question, "May I?".to_owned());
    assert_eq!(told(&[sub(State::Working), sub(asks)]), [question]);
}

#[test]
fn the_text_is_the_last_sentence_or_the_progress() {
    let said = Row { said: "I fixed it. All pass.".to_owned(), ..row("claude/s/", State::Idle) };
    let works = row("claude/s/", State::Working);
    assert_eq!(told(&[works.clone(), said]), [(NoticeKind::Done, "All pass.".to_owned())]);
    let list = Some(Listed { done: 2, total: 3, open: 1, ..Listed::default() });
    let died = Row { list, ..row("claude/s/", State::Died) };
    let text = "its process is gone; 2 of 3 items are done".to_owned();
    assert_eq!(told(&[works, died]), [(NoticeKind::Died, text)]);
}

fn hooked(what: What, answer: &Answer) -> Option<Notice> {
    let event = Event {
        session: "s1".to_owned(),
        directory: "/home/me/shop".to_owned(),
        transcript: String::new(),
        sub_agent: None,
        plan_mode: false,
        prompt: None,
        what,
    };
    Notice::hook(Agent::Claude, &event, answer, "/home/me/shop", at(0))
}

#[test]
fn a_stop_that_a_hook_lets_go_is_told_and_a_refused_one_is_not() {
    let stop = |stop: Stop, answer: &Answer| {
        hooked(What::Stop(stop), answer).map(|it| (it.kind, it.title()))
    };
    let done = (NoticeKind::Done, "claude in shop is done".to_owned());
    assert_eq!(stop(Stop::default(), &Answer::Nothing), Some(done));
    let asks = Stop { asks: true, ..Stop::default() };
    let asked = (NoticeKind::Question, "claude in shop asks you".to_owned());
    assert_eq!(stop(asks, &Answer::Nothing), Some(asked));
    let refused = Answer::Refuse("2 items are open".to_owned());
    assert_eq!(stop(Stop::default(), &refused), None);
    let background = Stop { background: true, ..Stop::default() };
    assert_eq!(stop(background, &Answer::Nothing), None);
    assert_eq!(hooked(What::Prompt, &Answer::Nothing), None);
    assert_eq!(hooked(What::SubStop(Stop::default()), &Answer::Nothing), None);
}

#[test]
fn a_stop_is_told_with_the_agents_last_sentence_where_the_hook_has_it() {
    let text = |said: &str, asks| {
        let stop = Stop { said: said.to_owned(), asks, ..Stop::default() };
        hooked(What::Stop(stop), &Answer::Nothing).unwrap().text
    };
    assert_eq!(text("All pass.", false), "All pass.");
    assert_eq!(text("Shall I go on?", true), "Shall I go on?");
    assert_eq!(text("", false), "its turn has ended");
    assert_eq!(text("", true), "its answer ends with a question");
}

#[test]
fn whoever_records_an_event_first_tells_it() {
    let store = Memory::default();
    let run = RunId(IdSource::fixed(at(0), 1).nth(1));
    let notice = Notice::run(run, NoticeKind::Done, "/p", "3 done".to_owned());
    assert!(wait(is_first(&store, &notice, at(0))).unwrap());
    assert!(!wait(is_first(&store, &notice, at(90_000))).unwrap());
}

#[test]
fn two_that_observe_one_event_a_moment_apart_tell_it_once() {
    let seen =
        |ms: i64| Notice::observed(NoticeKind::Done, "claude", "s", "/p", String::new(), at(ms));
    // Whatever the distance to the border of an interval.
    for offset in (0..60_000).step_by(7_000) {
        let store = Memory::default();
        let first = |ms: i64| wait(is_first(&store, &seen(ms), at(ms))).unwrap();
        assert!(first(offset));
        assert!(!first(offset + 2_000), "{offset}");
        assert!(!first(offset - 2_000), "{offset}");
        assert!(first(offset + 90_000), "the next turn");
    }
}

#[test]
fn texts_of_agents_are_harmless() {
    let hostile = "a\u{1b}]9;evil\u{7}b\u{202e}c\nd\u{9c}";
    let notice =
        Notice::observed(NoticeKind::Done, hostile, hostile, hostile, hostile.into(), at(0));
    let all = [notice.title(), notice.line(), notice.json().to_string()];
    for text in all {
        assert!(!text.chars().any(char::is_control), "{text:?}");
        assert!(!text.contains('\u{202e}'), "{text:?}");
    }
    let long = Notice { text: "x".repeat(10_000), ..notice };
    assert_eq!(long.line().len(), LONGEST);
}

#[test]
fn a_person_at_the_terminal_is_not_told() {
    let settings = Settings::default();
    let (short, long) = (Duration::from_secs(3), Duration::from_secs(30));
    assert!(!settings.is_wanted(Focus::Has, long));
    assert!(settings.is_wanted(Focus::Lost, short));
    assert!(settings.is_wanted(Focus::Unknown, long));
    assert!(!settings.is_wanted(Focus::Unknown, short));
}

#[test]
fn a_command_replaces_the_terminal_unless_the_user_wants_both() {
    let command = Some("notify-send".to_owned());
    let bell = TerminalSetting::Channel(Channel::Bell);
    for (command, terminal, expected) in [
        (None, None, TerminalSetting::Auto),
        (command.clone(), None, TerminalSetting::Off),
        (command, Some(bell), bell),
        (None, Some(TerminalSetting::Off), TerminalSetting::Off),
    ] {
        let settings = Settings { command, terminal, ..Settings::default() };
        assert_eq!(settings.terminal(), expected);
    }
}
