//! All agents, as `punchlist watch` shows them: open one, filter, put away, answer a question or a
//! session that asks.

use std::fmt;

use punchlist_engine::watch::archive::Archive;
use punchlist_formats::text::Line;
use punchlist_formats::view::Options;
use punchlist_model::Timestamp;

use super::{DialogReply, Want};
use crate::keys::Key;
use crate::watch::{AgentsSeen, Answering, Board, Pressed, ReplyStep, Replying, Step};

/// All agents.
pub(crate) struct AgentsDialog {
    board: Board,
    seen: AgentsSeen,
    offers: Vec<(String, String)>,
    rules_file: String,
    options: Options,
    /// Whether nothing was read yet.
    is_reading: bool,
    size: (usize, usize),
    lines: Vec<Line>,
}

impl fmt::Debug for AgentsDialog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentsDialog").field("rows", &self.seen.rows.len()).finish_non_exhaustive()
    }
}

impl AgentsDialog {
    /// A dialog that waits for the first rows.
    pub(crate) fn new(
        archive: Option<Archive>,
        offers: Vec<(String, String)>,
        rules_file: String,
        options: Options,
    ) -> Self {
        Self {
            board: Board::new(archive),
            seen: AgentsSeen::default(),
            offers,
            rules_file,
            options,
            is_reading: true,
            size: (80, 24),
            lines: Vec::new(),
        }
    }

    /// Takes what was read.
    pub(crate) fn set(&mut self, seen: AgentsSeen, now: Timestamp) {
        self.is_reading = false;
        self.options.now = now;
        if let Some(answering) = self.board.answering() {
            let waiting: Vec<_> = seen.questions.iter().map(|it| it.asked.id).collect();
            let gone = answering.gone(&waiting);
            let told = gone
                .iter()
                .find_map(|id| answering.question(*id))
                .map(|it| format!("{}: answered elsewhere, or no longer asked", it.asked.title));
            gone.into_iter().for_each(|id| answering.settle(id));
            if let Some(told) = told {
                self.board.tell(told);
            }
        }
        self.seen = seen;
        self.draw();
    }

    /// Tells the person something.
    pub(crate) fn tell(&mut self, text: &str) {
        self.board.tell(text.to_owned());
        self.draw();
    }

    /// The row that is open.
    pub(crate) fn opened(&self) -> Option<&str> {
        self.board.opened()
    }

    pub(super) fn key(&mut self, key: &Key) -> DialogReply {
        let reply = self.handle(key);
        self.draw();
        reply
    }

    fn handle(&mut self, key: &Key) -> DialogReply {
        if self.board.answering().is_some() {
            let Step::Answer(id, answer) = self.board.answer_key(key) else {
                return DialogReply::Stay;
            };
            let question = self.board.answering().and_then(|it| {
                let question = it.question(id).cloned();
                it.settle(id);
                question
            });
            return match question {
                Some(question) => DialogReply::Want(Want::Answer(Box::new(question), answer)),
                None => DialogReply::Stay,
            };
        }
        if let Some(step) = self.board.reply_key(key) {
            return match step {
                ReplyStep::Send(id, text) => DialogReply::Want(Want::Reply(id, text)),
                ReplyStep::Leave | ReplyStep::Stay => DialogReply::Stay,
            };
        }
        if *key == Key::Escape && self.board.is_at_first_step() {
            return DialogReply::Close;
        }
        match self.board.key(key) {
            Pressed::Leave => return DialogReply::Close,
            Pressed::Archive(row) => {
                let found = self.seen.rows.iter().find(|it| it.key == row);
                if let Some(Err(why)) = found.map(|it| self.board.archive(it)) {
                    self.board.tell(why.message);
                }
            }
            Pressed::Answer(row) => self.ask(row.as_deref()),
            Pressed::Redraw | Pressed::Stay => {}
        }
        DialogReply::Stay
    }

    /// Asks the question of a row, or all questions.
    fn ask(&mut self, row: Option<&str>) {
        let row = row.and_then(|key| self.seen.rows.iter().find(|it| it.key == key));
        let questions = self.seen.questions.iter().filter(|it| match row {
            Some(row) => row.question == Some(it.asked.id),
            None => true,
        });
        let answering = Answering::new(questions.cloned().collect(), &self.rules_file);
        // A session of our own agent asks in its last text, without a question in the store.
        let mut asking = self.seen.rows.iter().filter(|it| self.seen.asking.contains_key(&it.key));
        let asking = asking.find(|it| row.is_none_or(|row| row.key == it.key));
        let replying = asking.and_then(|it| Replying::to(it, self.seen.asking.get(&it.key)?));
        match (answering, replying) {
            (Some(answering), _) => self.board.ask(answering),
            (None, Some(replying)) => self.board.reply(replying),
            (None, None) => {
                let text = "no question can be answered here: answer it where the agent runs";
                self.board.tell(text.to_owned());
            }
        }
    }

    pub(super) fn resize(&mut self, width: usize, height: usize) {
        self.size = (width, height);
        self.draw();
    }

    fn draw(&mut self) {
        let (width, height) = self.size;
        self.options.width = u16::try_from(width).unwrap_or(u16::MAX);
        let mut notes = self.seen.notes.clone();
        if self.is_reading {
            notes.push("reading sessions".to_owned());
        }
        let room = height.max(2);
        let look = (room, false);
        self.lines = self.board.lines(&self.seen.rows, &notes, &self.offers, look, &self.options);
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        self.lines.clone()
    }
}
