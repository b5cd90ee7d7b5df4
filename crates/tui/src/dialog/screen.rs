//! Dialogs in tests: keys in, the screen out as a terminal emulator shows it.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use punchlist_formats::text::width;
use punchlist_formats::view::Options;
use punchlist_model::{
    Actor, Attempt, Claim, Holder, Item, ItemId, Number, Plan, PlanId, Position, Revision, Status,
    Timestamp,
};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Dialog, DialogReply, PlanDialog};
use crate::keys::Decoder;
use crate::theme::Theme;

/// The sizes at which every dialog must work.
pub(super) const SIZES: [(u16, u16); 4] = [(40, 10), (80, 24), (120, 40), (200, 60)];

/// A dialog on a screen.
pub(super) struct Screen {
    pub(super) dialog: Dialog,
    width: u16,
    height: u16,
}

impl Screen {
    pub(super) fn new(dialog: Dialog, (width, height): (u16, u16)) -> Self {
        let mut screen = Self { dialog, width, height };
        screen.resize((width, height));
        screen.dialog.drawn();
        screen
    }

    pub(super) fn resize(&mut self, (width, height): (u16, u16)) {
        (self.width, self.height) = (width, height);
        self.dialog.resize(width, height);
    }

    /// Presses keys, as a terminal sends them, and returns the last reply. To the dialog, the screen
    /// is drawn after each key.
    pub(super) fn press(&mut self, keys: &str) -> DialogReply {
        let mut reply = DialogReply::Stay;
        for key in Decoder::default().push(keys.as_bytes()) {
            reply = self.dialog.key(&key);
            self.dialog.drawn();
        }
        reply
    }

    /// Presses Esc.
    pub(super) fn escape(&mut self) -> DialogReply {
        self.press("\u{1b}")
    }

    /// What a person sees.
    pub(super) fn text(&self) -> String {
        let area = Rect::new(0, 0, self.width, self.height);
        let mut buffer = Buffer::empty(area);
        self.dialog.render(area, &mut buffer, &Theme::plain());
        let size = |n| NonZeroU16::new(n).unwrap();
        let mut terminal = vt100::Parser::new(size(self.height), size(self.width), 0);
        let mut out = String::new();
        for y in 0..self.height {
            out.push_str(&format!("\u{1b}[{};1H", y + 1));
            let mut x = 0;
            while x < self.width {
                let symbol = buffer[(x, y)].symbol();
                assert!(!symbol.chars().any(char::is_control), "{symbol:?} at {x},{y}");
                out.push_str(symbol);
                x += u16::try_from(width(symbol).max(1)).unwrap();
            }
        }
        terminal.process(out.as_bytes());
        let lines: Vec<String> = terminal.screen().rows(0, self.width).collect();
        let lines: Vec<&str> = lines.iter().map(|it| it.trim_end()).collect();
        lines.join("\n")
    }

    #[track_caller]
    pub(super) fn shows(&self, words: &str) {
        let text = self.text();
        assert!(text.contains(words), "no {words:?} in:\n{text}");
    }

    #[track_caller]
    pub(super) fn lacks(&self, words: &str) {
        let text = self.text();
        assert!(!text.contains(words), "{words:?} in:\n{text}");
    }
}

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub(super) fn options() -> Options {
    Options::plain(at(600))
}

pub(super) fn item_id(number: u32) -> ItemId {
    format!("01a3185c-5000-7000-8000-0000000{number:05}").parse().unwrap()
}

/// A plan with items of these statuses and titles, numbered in order.
pub(super) fn plan<T: AsRef<str>>(entries: &[(Status, T)]) -> Plan {
    let id: PlanId = "01a3185c-5000-7000-8000-0000000000ff".parse().unwrap();
    let mut plan = Plan::new(id, "/home/ann/web-shop", at(0));
    plan.title = "Release 1.2".to_owned();
    for (status, title) in entries {
        let number = plan.next_number;
        let mut item = Item::new(item_id(number.0), number, title.as_ref(), at(0));
        item.status = *status;
        item.position = Some(Position(number.0));
        plan.placed += 1;
        plan.open += u32::from(item.is_open());
        plan.next_number = Number(number.0 + 1);
        plan.items.insert(number, item);
    }
    plan.revision = Revision(u64::from(plan.placed));
    plan
}

pub(super) fn with(plan: &mut Plan, number: u32, change: impl FnOnce(&mut Item)) {
    change(plan.items.get_mut(&Number(number)).unwrap());
}

/// The plan of the example screens.
pub(super) fn release() -> Plan {
    let mut plan = plan(&[
        (Status::Completed, "Fix the failing tests"),
        (Status::InProgress, "Update documentation"),
        (Status::Pending, "Run the final build"),
        (Status::Pending, "Choose the licence"),
        (Status::Cancelled, "Port to Windows"),
        (Status::Completed, "Install guide"),
        (Status::Pending, "API reference"),
    ]);
    with(&mut plan, 1, |it| {
        (it.started_at, it.completed_at) = (Some(at(100)), Some(at(225)));
    });
    with(&mut plan, 2, |it| {
        it.active_form = Some("Updating documentation".to_owned());
        it.context = "The guide is out of date.".to_owned();
        it.completion_criteria = "Every verb has an example.".to_owned();
        it.started_at = Some(at(530));
        it.attempt = Attempt(1);
        let (holder, attempt) = (Holder::named("claude"), Attempt(1));
        it.claim = Some(Claim { holder, attempt, expires_at: at(1430) });
    });
    with(&mut plan, 3, |it| it.depends_on = BTreeSet::from([Number(1), Number(2)]));
    with(&mut plan, 4, |it| it.waiting_on = Some("legal".to_owned()));
    with(&mut plan, 5, |it| it.outcome = Some("out of scope".to_owned()));
    with(&mut plan, 6, |it| it.parent = Some(Number(2)));
    with(&mut plan, 7, |it| {
        it.parent = Some(Number(2));
        it.depends_on = BTreeSet::from([Number(6)]);
    });
    plan
}

pub(super) fn of_plan(plan: Plan, size: (u16, u16)) -> Screen {
    let dialog = PlanDialog::new(plan, Actor::person("ann"), options());
    Screen::new(Dialog::Plan(Box::new(dialog)), size)
}

impl Screen {
    /// The plan dialog.
    pub(super) fn plan(&mut self) -> &mut PlanDialog {
        match &mut self.dialog {
            Dialog::Plan(it) => it,
            _ => panic!("not a plan"),
        }
    }
}
