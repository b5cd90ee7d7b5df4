//! Screens of a watch as a person sees them: keys in, screen out.

use std::num::NonZeroU16;

use punchlist_engine::run::BY_HAND;
use punchlist_model::Timestamp;
use punchlist_model::agents::{Entry, Listed, State};
use punchlist_model::call::{Answer, Question, Standing};
use punchlist_model::{ConversationId, IdSource, RunId, Status};

use super::*;
use crate::keys::Decoder;
use crate::prompt::tests::asked;

/// A board on a terminal emulator.
struct Harness {
    board: Board,
    rows: Vec<Row>,
    questions: Vec<Question>,
    answers: Vec<Answer>,
    replies: Vec<String>,
    _data: tempfile::TempDir,
}

impl Harness {
    fn new(rows: Vec<Row>) -> Self {
        let data = tempfile::tempdir().unwrap();
        let board = Board::new(Some(Archive::open(data.path())));
        Self {
            board,
            rows,
            questions: Vec::new(),
            answers: Vec::new(),
            replies: Vec::new(),
            _data: data,
        }
    }

    /// The lines on a screen of this size, without blanks at their ends.
    fn screen(&mut self, columns: u16, rows: u16) -> Vec<String> {
        let options = Options { width: columns, ..Options::plain(Timestamp::UNIX_EPOCH) };
        let room = usize::from(rows).saturating_sub(1);
        let lines = self.board.lines(&self.rows, &[], &[], (room, false), &options);
        let size = |cells: u16| NonZeroU16::new(cells).unwrap();
        let mut terminal = vt100::Parser::new(size(rows), size(columns), 100);
        for line in &lines {
            terminal.process(format!("{}\r\n", line.to_ansi(true)).as_bytes());
        }
        // Nothing has scrolled out: the picture fits.
        terminal.screen_mut().set_scrollback(usize::MAX);
        assert_eq!(terminal.screen().scrollback(), 0, "{columns}x{rows}: {lines:#?}");
        let all = terminal.screen().rows(0, columns).map(|it| it.trim_end().to_owned());
        all.take(lines.len()).collect()
    }

    /// Presses keys, with a look at the screen after each, as a person does.
    fn press(&mut self, keys: &str) -> &mut Self {
        for key in Decoder::default().push(keys.as_bytes()) {
            self.screen(80, 24);
            if self.board.answering().is_some() {
                if let Step::Answer(id, answer) = self.board.answer_key(&key) {
                    self.board.answering().unwrap().settle(id);
                    self.answers.push(*answer);
                }
                continue;
            }
            if let Some(step) = self.board.reply_key(&key) {
                if let ReplyStep::Send(_, text) = step {
                    self.replies.push(text);
                }
                continue;
            }
            match self.board.key(&key) {
                Pressed::Archive(key) => {
                    let row = self.rows.iter().find(|it| it.key == key).unwrap();
                    self.board.archive(row).unwrap();
                }
                Pressed::Answer(_) => {
                    self.board.ask(Answering::new(self.questions.clone(), "rules.toml").unwrap());
                }
                Pressed::Leave | Pressed::Redraw | Pressed::Stay => {}
            }
        }
        self
    }
}

fn row(id: &str, place: &str, state: State) -> Row {
    Row {
        key: format!("claude/{id}/"),
        agent: "claude".to_owned(),
        project: format!("/home/me/{place}"),
        place: place.to_owned(),
        state,
        ..Row::default()
    }
}

fn agents() -> Vec<Row> {
    let entry = |label: &str, status| Entry {
        label: label.to_owned(),
        status,
        waiting_on: None,
        since: 0,
        depth: 0,
    };
    let entries = vec![entry("Read", Status::Completed), entry("Writing", Status::InProgress)];
    let list = Listed { done: 1, total: 2, open: 1, entries, unconfirmed: false };
    vec![
        Row {
            list: Some(list),
            said: "I read it.\nNow I write.".to_owned(),
            ..row("a", "shop", State::Working)
        },
        row("b", "docs", State::Idle),
        row("c", "old", State::Died),
    ]
}

#[test]
fn enter_opens_the_plan_and_the_last_lines() {
    let mut ui = Harness::new(agents());
    let lines = ui.press("j\r").screen(80, 24).join("\n");
    for part in ["✓ Read", "▶ Writing", "│ I read it.", "│ Now I write."] {
        assert!(lines.contains(part), "{lines}");
    }
}

#[test]
fn a_filter_leaves_only_what_fits_and_shows_itself() {
    let mut ui = Harness::new(agents());
    let lines = ui.press("/docs").screen(80, 24);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines[1].contains("docs") && lines[2].starts_with(" /docs"), "{lines:#?}");
    let lines = ui.press("\u{1b}").screen(80, 24);
    assert_eq!(lines.len(), 5, "{lines:#?}");
}

#[test]
fn a_row_is_put_away_shown_again_and_taken_out() {
    let mut ui = Harness::new(agents());
    let lines = ui.press("jjx").screen(80, 24).join("\n");
    assert!(!lines.contains("docs") && lines.contains("1 put away"), "{lines}");
    let lines = ui.press("X").screen(80, 24).join("\n");
    assert!(lines.contains("docs") && !lines.contains("put away"), "{lines}");
    let lines = ui.press("jjxX").screen(80, 24).join("\n");
    assert!(lines.contains("docs") && !lines.contains("1 put away"), "{lines}");
}

#[test]
fn what_works_is_not_put_away() {
    let mut ui = Harness::new(agents());
    let lines = ui.press("jx").screen(80, 24).join("\n");
    assert!(lines.contains("shop") && lines.contains("it is not over"), "{lines}");
}

fn question(n: u32) -> Question {
    let ids = IdSource::fixed(Timestamp::UNIX_EPOCH, 9);
    let asked = asked(n, if n == 3 { BY_HAND } else { "shell" });
    let project = "/home/me/shop".to_owned();
    Question { run: RunId(ids.nth(1)), project, plan: None, asked, standing: Standing::Waiting }
}

#[test]
fn a_question_is_answered_in_place_and_the_next_one_follows() {
    let mut rows = agents();
    rows.insert(0, row("q", "shop", State::Asks("./publish.sh --prod".to_owned())));
    let mut ui = Harness::new(rows);
    ui.questions = vec![question(1), question(2)];
    let lines = ui.press("a").screen(80, 24).join("\n");
    assert!(lines.contains("1 of 2 waiting") && lines.contains("y once"), "{lines}");
    ui.press("y");
    assert_eq!(ui.answers, [Answer::Once]);
    let lines = ui.screen(80, 24).join("\n");
    assert!(lines.contains("Item 2") && !lines.contains("of 2 waiting"), "{lines}");
    // Esc goes back from a reason, then leaves the question open.
    ui.press("rnot now\u{1b}\u{1b}");
    assert_eq!(ui.answers.len(), 1);
    let lines = ui.screen(80, 24).join("\n");
    assert!(!lines.contains("y once"), "{lines}");
}

#[test]
fn a_reply_to_a_session_that_asks_is_typed_below_the_agents() {
    let id = ConversationId(IdSource::fixed(Timestamp::UNIX_EPOCH, 1).nth(1));
    let said = "I can paint it.\n\nWhich colour do you want?\u{1b}[2J";
    let mut harness = Harness::new(agents());
    harness.board.reply(Replying::new(id, "punchlist in shop", said));
    let screen = harness.screen(80, 24).join("\n");
    assert!(screen.contains("punchlist in shop asks you"), "{screen}");
    assert!(screen.contains("Which colour do you want?"), "{screen}");
    assert!(screen.contains("reply:") && screen.contains("Enter sends   Esc later"), "{screen}");
    // A blank reply is not sent, and letters are text and no keys of the watch.
    harness.press("\r \rxqa blue\r");
    assert_eq!(harness.replies, ["xqa blue"]);
    assert!(!harness.screen(80, 24).join("\n").contains("asks you"));
    harness.board.reply(Replying::new(id, "punchlist in shop", said));
    harness.press("red\u{1b}");
    assert_eq!(harness.replies.len(), 1, "Esc sends nothing");
    for (columns, rows) in [(40, 10), (80, 24), (120, 40), (200, 60)] {
        harness.board.reply(Replying::new(id, &"shop ".repeat(50), &"long\n".repeat(100)));
        let screen = harness.screen(columns, rows);
        assert!(screen.iter().any(|it| it.contains("reply:")), "{screen:#?}");
    }
}

#[test]
fn the_picture_fits_every_screen_with_a_hundred_agents_and_hostile_texts() {
    let states = [
        State::Asks("مرحبا \u{202e}evil\u{1b}]0;x\u{7} 日本語の質問です".to_owned()),
        State::Working,
        State::Idle,
        State::Failed("no\nnews".to_owned()),
        State::Died,
    ];
    let rows: Vec<Row> = (0..100)
        .map(|n| {
            let place = ["shop", "docs", "日本語", "مشروع", "a-very-long-name-of-a-project"][n % 5];
            let said = "Ich bin \u{1b}[31mfertig.\u{7} 終わりました。".to_owned();
            Row { said, ..row(&n.to_string(), place, states[n % 5].clone()) }
        })
        .collect();
    for keys in ["", "jjjj\r", "/shop", "a"] {
        let mut ui = Harness::new(rows.clone());
        ui.questions = vec![question(1), question(3)];
        ui.press(keys);
        for (columns, height) in [(40, 10), (80, 24), (120, 40), (200, 60), (20, 5)] {
            let lines = ui.screen(columns, height);
            assert!(lines.len() < usize::from(height), "{keys:?} {columns}x{height}");
            assert!(!lines.is_empty());
        }
    }
}
