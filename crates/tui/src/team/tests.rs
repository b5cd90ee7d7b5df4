//! The team's screen without programs: their streams are parsed, and what is drawn goes into a terminal
//! emulator.

mod criteria;
mod lifecycle;
mod questions;
mod queue;
mod screens;
mod sizes;

use std::collections::VecDeque;
use std::num::NonZeroU16;

use punchlist_agent::team::{MemberConfig, Report, TeamMessage};
use punchlist_agent::workers::WorkerEnd;
use punchlist_formats::text::Glyphs;
use punchlist_formats::view::Options;
use punchlist_model::{IdSource, MessageId, Timestamp};
use punchlist_streams::event::{Event, owned};
use punchlist_streams::{Options as StreamOptions, Source, Stream};
use serde_json::{Value, json};

use super::model::{Intent, Model, Msg};
use super::update::{update, wrong};
use super::view::view;
use crate::keys::Decoder;
use crate::prompt::tests::prompt;
use crate::terminal::ansi;
use crate::terminal::frame::{Frame, Picture, Size};
use crate::theme::Theme;

/// The team's screen, and the terminal that it is drawn on.
struct Harness {
    model: Model,
    terminal: vt100::Parser,
    frame: Frame,
    finished: Vec<String>,
    resized: Option<Size>,
    /// What the team intends and nobody did.
    intents: Vec<Intent>,
    /// How many messages were queued.
    queued: u32,
    /// Why the store queues nothing.
    is_full: Option<String>,
    /// Whether another process has taken the messages that wait.
    is_gone: bool,
}

/// The message `n`, as it is queued.
fn message(n: u32, member: usize, text: &str) -> TeamMessage {
    let id = MessageId(IdSource::fixed(at(0), 5).nth(n));
    TeamMessage { id, member, text: text.to_owned() }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

/// Max (Claude Code), Kim (Codex) and Zoë (Gemini CLI).
fn three() -> Value {
    json!({"members": [
        {"name": "max", "displayName": "Max", "themeColor": "magenta", "agentType": "claude"},
        {"name": "kim", "displayName": "Kim", "themeColor": "#ff8800", "agentType": "codex"},
        {"name": "zoe", "agentType": "gemini"},
    ]})
}

impl Harness {
    fn new(columns: u16, rows: u16) -> Self {
        Self::of(&three(), columns, rows)
    }

    fn of(team: &Value, columns: u16, rows: u16) -> Self {
        let configs = MemberConfig::read_all(team).unwrap();
        let size = Size { columns, rows };
        let view = Options { glyphs: Glyphs::Emoji, ..Options::plain(at(0)) };
        let theme = Theme::named("sixteen").unwrap();
        let mut harness = Self {
            model: Model::new(configs.iter(), theme, view, size, prompt()),
            terminal: vt100::Parser::new(cells(rows), cells(columns), 1000),
            // The emulator cuts lines that have become too wide.
            frame: Frame::on(true),
            finished: Vec::new(),
            resized: None,
            intents: Vec::new(),
            queued: 0,
            is_full: None,
            is_gone: false,
        };
        harness.draw();
        harness
    }

    fn msg(&mut self, msg: Msg) -> &mut Self {
        let mut intents = VecDeque::from(update(&mut self.model, msg));
        while let Some(intent) = intents.pop_front() {
            match intent {
                Intent::Queue(members, text) => {
                    let msg = self.queue(&members, &text);
                    intents.extend(update(&mut self.model, msg));
                }
                Intent::TakeOut(why, message) => {
                    let is_out = !self.is_gone;
                    let msg = Msg::TakenOut(why, message, is_out);
                    intents.extend(update(&mut self.model, msg));
                }
                Intent::Print(lines) => {
                    self.finished.extend(lines.iter().map(|it| self.model.theme.ansi(it)));
                }
                Intent::Refuse(why) => self.finished.push(self.model.theme.ansi(&wrong(&why))),
                Intent::Send(..)
                | Intent::Cancel(_)
                | Intent::Answer(..)
                | Intent::Suspend
                | Intent::Redraw
                | Intent::Quit => self.intents.push(intent),
            }
        }
        self.draw();
        self
    }

    /// The store queues a message for members, or says why not.
    fn queue(&mut self, members: &[usize], text: &str) -> Msg {
        if let Some(why) = &self.is_full {
            return Msg::NotQueued(members.to_vec(), why.clone());
        }
        let message = |member: &usize| {
            self.queued += 1;
            message(self.queued, *member, text)
        };
        Msg::Queued(members.iter().map(message).collect())
    }

    fn press(&mut self, keys: &str) -> &mut Self {
        for key in Decoder::default().push(keys.as_bytes()) {
            self.msg(Msg::Key(key));
        }
        self
    }

    /// What a member's program prints.
    fn prints(&mut self, member: usize, source: Source, lines: &str) -> &mut Self {
        let name = self.model.members[member].name.clone();
        let options = StreamOptions { agent: Some(name), ..StreamOptions::default() };
        let mut stream = Stream::new(source, options);
        let mut events: Vec<owned::AgentEvent> = Vec::new();
        let mut take = |event: &Event<'_>| {
            let mut line = Vec::new();
            event.write_json(&mut line);
            events.push(serde_json::from_slice(&line).unwrap());
        };
        stream.push(lines.as_bytes(), &mut take);
        for event in events {
            self.msg(Msg::Report(Report::Event { member, event: Box::new(event) }));
        }
        self
    }

    /// A member's list, from titles and statuses.
    fn lists(&mut self, member: usize, items: &[(&str, &str)]) -> &mut Self {
        let lines = claude(items);
        self.prints(member, Source::ClaudeCode, &lines)
    }

    fn ends(&mut self, member: usize, end: WorkerEnd, answer: &str) -> &mut Self {
        let (answer, session) = (answer.to_owned(), None);
        self.msg(Msg::Report(Report::Ended { member, end, answer, session }))
    }

    fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        self.terminal.screen_mut().set_size(cells(rows), cells(columns));
        let size = Size { columns, rows };
        self.resized = Some(size);
        self.msg(Msg::Resize(size))
    }

    fn draw(&mut self) {
        let drawn = view(&self.model);
        assert!(drawn.buffer.area.height <= self.model.size.rows, "it fits");
        let picture = Picture { rows: ansi::rows(&drawn.buffer), cursor: drawn.cursor };
        let finished = std::mem::take(&mut self.finished);
        let out = self.frame.update(&finished, picture, self.resized.take());
        self.terminal.process(out.as_bytes());
        update(&mut self.model, Msg::Drawn);
    }

    /// What a person sees, without blanks at the ends of lines.
    fn screen(&self) -> String {
        let (_, columns) = self.terminal.screen().size();
        let rows = self.terminal.screen().rows(0, columns.get());
        rows.map(|it| it.trim_end().to_owned()).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    /// Everything on the screen and above it.
    fn all(&mut self) -> String {
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

    /// The colour of the first character of this text on the screen.
    fn colour(&self, text: &str) -> (vt100::Color, bool, bool) {
        let screen = self.terminal.screen();
        let (rows, columns) = screen.size();
        for row in 0..rows.get() {
            let line: String = screen.rows(0, columns.get()).nth(usize::from(row)).unwrap();
            if let Some(found) = line.find(text) {
                let column = punchlist_formats::text::width(&line[..found]);
                let cell = screen.cell(row, u16::try_from(column).unwrap()).unwrap();
                return (cell.fgcolor(), cell.bold(), cell.dim());
            }
        }
        panic!("{text} is not on the screen:\n{}", self.screen());
    }

    fn intended(&mut self) -> Vec<Intent> {
        std::mem::take(&mut self.intents)
    }
}

/// Claude Code writes this list, and its program accepts it.
fn claude(items: &[(&str, &str)]) -> String {
    let todos: Vec<Value> = items
        .iter()
        .map(|it| json!({"content": it.0, "status": it.1, "activeForm": "Working"}))
        .collect();
    let call =
        json!({"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": {"todos": todos}});
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": "s", "cwd": "/p", "tools": []}),
        json!({"type": "assistant", "session_id": "s", "parent_tool_use_id": null, "message":
            {"id": "m", "role": "assistant", "model": "m", "content": [call]}}),
        json!({"type": "user", "session_id": "s", "parent_tool_use_id": null, "message":
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1",
             "content": "Todos have been modified successfully."}]}}),
    ];
    lines.iter().map(|it| format!("{it}\n")).collect()
}

/// Claude Code says this.
fn says(text: &str) -> String {
    let message = json!({"id": "m", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": text}]});
    let line = json!({"type": "assistant", "session_id": "s", "parent_tool_use_id": null,
        "message": message});
    format!("{line}\n")
}

/// Codex writes a list.
fn codex(kind: &str, items: &[(&str, bool)]) -> String {
    let items: Vec<Value> =
        items.iter().map(|it| json!({"text": it.0, "completed": it.1})).collect();
    let item = json!({"id": "item_0", "type": "todo_list", "items": items});
    format!(
        "{}\n{}\n",
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": kind, "item": item})
    )
}

/// Gemini CLI writes a list, and its program accepts it.
fn gemini(items: &[(&str, &str)]) -> String {
    let todos: Vec<Value> =
        items.iter().map(|it| json!({"description": it.0, "status": it.1})).collect();
    let time = "2026-01-01T00:00:00.000Z";
    let lines = [
        json!({"type": "init", "timestamp": time, "session_id": "g", "model": "m"}),
        json!({"type": "tool_use", "timestamp": time, "tool_name": "write_todos", "tool_id": "c",
               "parameters": {"todos": todos}}),
        json!({"type": "tool_result", "timestamp": time, "tool_id": "c", "status": "success",
               "output": "Successfully updated the todo list."}),
    ];
    lines.iter().map(|it| format!("{it}\n")).collect()
}
