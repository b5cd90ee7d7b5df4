//! Answering a question of the store in place: the prompt of a run, below the agents.

use std::sync::Arc;

use pollster::block_on;
use punchlist_agent::session;
use punchlist_engine::Around;
use punchlist_engine::answering;
use punchlist_engine::fail::Fail;
use punchlist_formats::text::Line;
use punchlist_formats::view::{Options, questions};
use punchlist_model::call::{Answer, Answered, Question, Standing};
use punchlist_model::session::Store;
use punchlist_model::{Actor, ConversationId, QuestionId, Timestamp};

use crate::keys::Key;
use crate::notify::OpenStore;
use crate::prompt::{Pressed, Prompt};

/// Who answers, and where rules go that are allowed for always.
pub struct Answers {
    /// The person.
    pub person: Actor,
    /// The file of the user's rules.
    pub rules_file: String,
    /// This machine's name.
    pub host: String,
    /// Opens the store for writing.
    pub open: OpenStore,
    /// Lets a session that no process runs go on in the background, with the messages in its queue.
    pub wake: Wake,
}

/// Lets a session that no process runs go on in the background. It is in the directory of this project.
pub type Wake = Box<dyn Fn(ConversationId, &str) -> Result<(), Fail> + Send>;

/// A question that is being answered.
pub(crate) struct Answering {
    prompt: Prompt,
    questions: Vec<Question>,
}

impl Answering {
    /// Asks these questions, one after the other.
    pub(crate) fn new(questions: Vec<Question>, rules_file: &str) -> Option<Self> {
        let first = questions.first()?;
        let mut prompt = Prompt::new(rules_file.to_owned(), first.project.clone());
        questions.iter().for_each(|it| prompt.ask(it.asked.clone()));
        Some(Self { prompt, questions })
    }

    /// The question in at most `rows` lines.
    pub(super) fn lines(&mut self, rows: usize, options: &Options) -> Vec<Line> {
        let Some((asked, count, mut below)) = self.prompt.shown(options) else {
            return Vec::new();
        };
        if self.prompt.is_at_first_step() {
            below.keys.push("Esc later".to_owned());
        }
        let lines = questions::asking(asked, count, &below, rows, options);
        self.prompt.was_drawn();
        lines
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: &Key) -> Step {
        if *key == Key::Escape && self.prompt.is_at_first_step() {
            return Step::Leave;
        }
        match self.prompt.key(key) {
            Pressed::Answer(id, answer) => Step::Answer(id, Box::new(answer)),
            Pressed::View | Pressed::Nothing => Step::Stay,
        }
    }

    /// Removes a question.
    pub(crate) fn settle(&mut self, id: QuestionId) {
        self.prompt.settle(id);
    }

    /// Whether a question is left.
    pub(super) fn is_open(&self) -> bool {
        self.prompt.is_open()
    }

    /// The questions that are asked but wait no longer.
    pub(crate) fn gone(&self, waiting: &[QuestionId]) -> Vec<QuestionId> {
        self.prompt.ids().into_iter().filter(|it| !waiting.contains(it)).collect()
    }

    /// The question with this id.
    pub(crate) fn question(&self, id: QuestionId) -> Option<&Question> {
        self.questions.iter().find(|it| it.asked.id == id)
    }
}

/// What a key means for a question.
pub(crate) enum Step {
    /// The question stays open.
    Leave,
    /// This is the answer.
    Answer(QuestionId, Box<Answer>),
    /// Nothing yet.
    Stay,
}

impl Answers {
    /// Queues a reply to a session that asks its user something, and wakes the session. Returns what to tell
    /// the person.
    pub(super) fn reply(
        &self,
        id: ConversationId,
        text: String,
        around: &Arc<dyn Around>,
    ) -> Result<String, Fail> {
        block_on(session::reply(&(self.open)()?, around, id, text, &self.wake))
    }

    /// Stores an answer. Returns what to tell the person.
    pub(super) fn give(
        &self,
        question: &Question,
        answer: Answer,
        now: Timestamp,
    ) -> Result<String, Fail> {
        let store = (self.open)()?;
        let answered = Answered { answer, by: self.person.clone(), at: now };
        let given = block_on(answering::give(&*store, question, answered, &self.host))?;
        Ok(questions::given(&given.question))
    }
}

/// Says who answered a question elsewhere.
pub(super) fn answered_elsewhere(store: Option<&Arc<dyn Store>>, question: &Question) -> String {
    let title = &question.asked.title;
    let found = store
        .map(|it| block_on(answering::meant(&**it, "", Some(&id(question)), question.asked.at)));
    let found = found.and_then(Result::ok).and_then(|mut it| it.pop());
    match found.map(|it| it.standing) {
        Some(Standing::Answered(answered)) => format!("{title}: answered by {}", answered.by),
        Some(Standing::Waiting | Standing::Settled) | None => format!("{title}: no longer asked"),
    }
}

fn id(question: &Question) -> String {
    question.asked.id.to_string()
}
