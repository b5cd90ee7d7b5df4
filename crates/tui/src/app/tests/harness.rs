//! The whole UI without a terminal and a session: what is drawn goes into a terminal emulator.

use punchlist_agent::provider::{Arguments, ModelCall, ModelCallId, TokenUsage};
use punchlist_agent::session::{Ended, Event, QueueChange, Queued, Report};
use punchlist_agent::turn::{Ending, Purpose};
use punchlist_engine::overview::Overview;
use punchlist_formats::text::Glyphs;
use punchlist_formats::view::Options;
use punchlist_model::call::{Asked, Message, NewMessage, Question, Standing};
use punchlist_model::store::turns::Used;
use punchlist_model::{
    Actor, IdSource, Item, MessageId, Number, Plan, PlanId, Position, QuestionId, RunId, Status,
    Timestamp,
};
use serde_json::json;

use super::super::intent::Intent;
use super::super::model::{Agent, Beginning, Facts, Model};
use super::super::msg::Msg;
use super::super::update::{begin, update};
use super::super::view::{full_screen, view};
use crate::keys::Decoder;
use crate::prompt::tests::asked;
use crate::prompt::{PAUSE_MS, Prompt};
use crate::terminal::ansi;
use crate::terminal::frame::{Frame, Picture, Size};
use crate::theme::Theme;

/// The UI, and the terminal that it is drawn on.
pub(super) struct Harness {
    pub(super) model: Model,
    terminal: vt100::Parser,
    frame: Frame,
    finished: Vec<String>,
    resized: Option<Size>,
    /// What the UI intended and nobody did.
    pub(super) intents: Vec<Intent>,
    /// What would be kept for the next start.
    pub(super) remembered: Vec<String>,
}

fn cells(count: u16) -> std::num::NonZeroU16 {
    std::num::NonZeroU16::new(count).unwrap()
}

pub(super) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
}

impl Harness {
    /// A UI with a model.
    pub(super) fn new(columns: u16, rows: u16) -> Self {
        Self::with(columns, rows, Some("local/qwen3"))
    }

    /// A UI without a model.
    pub(super) fn without_model(columns: u16, rows: u16) -> Self {
        Self::with(columns, rows, None)
    }

    fn with(columns: u16, rows: u16, name: Option<&str>) -> Self {
        Self::drawn(columns, rows, name, Options::plain(at(0)))
    }

    /// A UI with a model, on a terminal that knows only ASCII.
    pub(super) fn ascii(columns: u16, rows: u16) -> Self {
        let view = Options { glyphs: Glyphs::Ascii, ..Options::plain(at(0)) };
        Self::drawn(columns, rows, Some("local/qwen3"), view)
    }

    fn drawn(columns: u16, rows: u16, name: Option<&str>, view: Options) -> Self {
        let size = Size { columns, rows };
        let model = Model::new(Beginning {
            facts: Facts {
                sandbox: "sandbox on".to_owned(),
                no_model: vec!["no model is configured: use --model ollama/qwen3".to_owned()],
            },
            agent: Agent {
                model: name.map(str::to_owned),
                mode: if name.is_some() { "supervisor".to_owned() } else { String::new() },
                context_tokens: 128_000,
                plan_tools: vec!["create_todo".to_owned()],
            },
            size,
            theme: Theme::plain(),
            view,
            prompt: Prompt::new("/home/me/config.toml".to_owned(), "/home/me/shop".to_owned())
                .with_view(),
            history: Vec::new(),
            person: Actor::person("me@host"),
        });
        let mut ui = Self {
            terminal: vt100::Parser::new(cells(rows), cells(columns), 1000),
            model,
            // The emulator cuts lines that have become too wide.
            frame: Frame::on(true),
            finished: Vec::new(),
            resized: None,
            intents: Vec::new(),
            remembered: Vec::new(),
        };
        let first = begin(&ui.model);
        ui.perform(first);
        ui.draw();
        ui
    }

    /// Presses keys, as bytes of a terminal.
    pub(super) fn press(&mut self, keys: &str) -> &mut Self {
        for key in Decoder::default().push(keys.as_bytes()) {
            let intents = update(&mut self.model, Msg::Key(key));
            self.perform(intents);
        }
        self.draw();
        self
    }

    /// The same without drawing between.
    pub(super) fn press_unseen(&mut self, keys: &str) -> &mut Self {
        for key in Decoder::default().push(keys.as_bytes()) {
            let intents = update(&mut self.model, Msg::Key(key));
            self.perform(intents);
        }
        self
    }

    /// Something happens.
    pub(super) fn msg(&mut self, msg: Msg) -> &mut Self {
        let intents = update(&mut self.model, msg);
        self.perform(intents);
        self.draw();
        self
    }

    /// Something happens in the session.
    pub(super) fn event(&mut self, event: Event) -> &mut Self {
        self.msg(Msg::Report(Report::Event(event)))
    }

    /// A turn begins with this request.
    pub(super) fn begins(&mut self, request: &str) -> &mut Self {
        let request = request.to_owned();
        let (id, plan) = ("t".to_owned(), None);
        self.event(Event::Began { turn: 1, id, request, is_resumed: false, plan });
        self.event(Event::Calling(Purpose::Work))
    }

    /// The model says something, piece by piece.
    pub(super) fn says(&mut self, pieces: &[&str]) -> &mut Self {
        for piece in pieces {
            self.event(Event::Text((*piece).to_owned()));
        }
        self
    }

    /// The model's answer is complete.
    pub(super) fn answered(&mut self, text: &str) -> &mut Self {
        let usage = TokenUsage { input: 1200, output: 34, ..TokenUsage::default() };
        let (text, calls) = (text.to_owned(), Vec::new());
        self.event(Event::Answered { text, citations: Vec::new(), calls, usage, cost_micros: None })
    }

    /// The turn ends.
    pub(super) fn ends(&mut self, ending: Ending, answer: &str) -> &mut Self {
        let (answer, used) = (answer.to_owned(), Used::default());
        self.event(Event::Ended(Box::new(Ended {
            ending,
            answer,
            citations: Vec::new(),
            plan: None,
            used,
        })));
        self.msg(Msg::Report(Report::Idle))
    }

    /// The plan is this now.
    pub(super) fn plan(&mut self, items: &[(Status, &str)]) -> &mut Self {
        let before = self.model.plan.clone().filter(|_| self.model.is_own_plan).map(Box::new);
        self.event(Event::Plan { before, now: Box::new(plan(items)) })
    }

    /// These questions wait, and the person has read them.
    pub(super) fn asks(&mut self, questions: &[Asked]) -> &mut Self {
        self.appears(questions).passes(PAUSE_MS)
    }

    /// These questions have just appeared.
    pub(super) fn appears(&mut self, questions: &[Asked]) -> &mut Self {
        let questions = questions.iter().cloned().map(waiting).collect();
        self.msg(Msg::Overview(Overview { plan: None, questions }, Vec::new()))
    }

    /// The queue is this now. Messages that begin with `!` steer.
    pub(super) fn queued(&mut self, texts: &[&str], is_paused: bool) -> &mut Self {
        let waiting = texts.iter().zip(1..).map(|(text, n)| message(n, text)).collect();
        let queued = Queued { change: QueueChange::Reordered, waiting, is_paused };
        self.event(Event::Queued(Box::new(queued)))
    }

    /// Time passes.
    pub(super) fn passes(&mut self, ms: i64) -> &mut Self {
        let now = Timestamp::from_millisecond(self.model.now.as_millisecond() + ms).unwrap();
        self.msg(Msg::Tick(now))
    }

    /// The window is resized.
    pub(super) fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        self.terminal.screen_mut().set_size(cells(rows), cells(columns));
        let size = Size { columns, rows };
        self.resized = Some(size);
        self.msg(Msg::Resize(size))
    }

    fn perform(&mut self, intents: Vec<Intent>) {
        for intent in intents {
            if let Intent::Print(lines) = intent {
                self.finished.extend(lines.iter().map(|it| self.model.theme.ansi(it)));
            } else if let Intent::Remember(text) = intent {
                self.remembered.push(text);
            } else {
                self.intents.push(intent);
            }
        }
    }

    fn draw(&mut self) {
        if self.model.dialog.is_none() {
            let drawn = view(&self.model);
            assert!(drawn.buffer.area.height <= self.model.size.rows, "it fits");
            let picture = Picture { rows: ansi::rows(&drawn.buffer), cursor: drawn.cursor };
            let finished = std::mem::take(&mut self.finished);
            let out = self.frame.update(&finished, picture, self.resized.take());
            self.terminal.process(out.as_bytes());
        }
        update(&mut self.model, Msg::Drawn);
    }

    /// What a person sees, without blanks at the ends of lines.
    pub(super) fn screen(&mut self) -> String {
        if let Some(dialog) = &self.model.dialog {
            let Size { columns, rows } = self.model.size;
            let buffer = full_screen(&self.model, dialog);
            let mut terminal = vt100::Parser::new(cells(rows), cells(columns), 0);
            let text: Vec<String> = ansi::rows(&buffer).into_iter().map(|it| it.text).collect();
            terminal.process(format!("\u{1b}[?7l{}", text.join("\r\n")).as_bytes());
            let shown = terminal.screen().rows(0, columns);
            let shown: Vec<String> = shown.map(|it| it.trim_end().to_owned()).collect();
            return shown.join("\n").trim_end().to_owned();
        }
        let (_, columns) = self.terminal.screen().size();
        let rows = self.terminal.screen().rows(0, columns.get());
        rows.map(|it| it.trim_end().to_owned()).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    /// Everything on the screen and above it.
    pub(super) fn all(&mut self) -> String {
        let screen = self.terminal.screen_mut();
        let (rows, columns) = screen.size();
        screen.set_scrollback(usize::MAX);
        let mut all = Vec::new();
        for back in (0..=screen.scrollback()).rev() {
            screen.set_scrollback(back);
            let count = if back == 0 { rows.get() } else { 1 };
            all.extend(screen.rows(0, columns.get()).take(usize::from(count)));
        }
        all.iter().map(|it| it.trim_end()).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    /// Column and row of the cursor.
    pub(super) fn cursor(&self) -> (u16, u16) {
        let (row, column) = self.terminal.screen().cursor_position();
        (column, row)
    }

    /// What the UI intends, and forgets it.
    pub(super) fn intended(&mut self) -> String {
        let all = std::mem::take(&mut self.intents);
        all.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join("\n")
    }
}

/// A plan with these items.
pub(super) fn plan(items: &[(Status, &str)]) -> Plan {
    let ids = IdSource::fixed(at(0), 7);
    let mut plan = Plan::new(PlanId(ids.nth(0)), "/home/me/shop", at(0));
    plan.title = "Release 1.2".to_owned();
    for (n, (status, title)) in (1..).zip(items) {
        let mut item = Item::new(punchlist_model::ItemId(ids.nth(n)), Number(n), *title, at(0));
        item.status = *status;
        item.position = Some(Position(n));
        plan.placed += 1;
        plan.open += u32::from(item.is_open());
        plan.next_number = Number(n + 1);
        plan.items.insert(Number(n), item);
    }
    plan
}

/// A call of the model.
pub(super) fn call(n: usize, tool: &str, command: &str) -> ModelCall {
    ModelCall {
        id: ModelCallId::new("a", n),
        provider_id: String::new(),
        tool: tool.to_owned(),
        arguments: Arguments::Object(json!({ "command": command })),
        signatures: Vec::new(),
    }
}

/// A question that waits.
pub(super) fn waiting(asked: Asked) -> Question {
    Question {
        run: RunId(IdSource::fixed(at(0), 9).nth(0)),
        project: "/home/me/shop".to_owned(),
        plan: None,
        asked,
        standing: Standing::Waiting,
    }
}

/// The question `n`.
pub(super) fn question(n: u32) -> (QuestionId, Asked) {
    let asked = asked(n, "shell");
    (asked.id, asked)
}

fn message(n: u8, text: &str) -> Message {
    let steer = text.starts_with('!');
    let text = text.trim_start_matches('!').to_owned();
    let id = MessageId(IdSource::fixed(at(0), n).nth(0));
    NewMessage { id, conversation: "c".to_owned(), text, steer, at: at(i64::from(n)) }.into()
}
