//! The plan, full-screen: tree, graph, journal and the details of an item, with keys for every
//! change that a person makes, also while an agent works on the plan.
//!
//! The dialog returns [`PlanAct`]s and gets new plans by [`PlanDialog::set_plan`]. It keeps the
//! selection by item, never by row.

mod ask;
mod view;

use punchlist_engine::engine::{ItemText, PlanAct, Step};
use punchlist_formats::text::{Line, one_line, truncate};
use punchlist_formats::view::{Options, graph, log};
use punchlist_model::store::Entry;
use punchlist_model::{Actor, Item, ItemId, ItemRef, Number, Place, Plan, Status as Standing};

use self::ask::{Ask, AskFor};
use super::cursor::Cursor;
use super::layout::{self, Hint, Status};
use super::pager::text_lines;
use super::scroller::Scroller;
use super::{DialogReply, KeysDialog, Want};
use crate::keys::Key;
use crate::line_editor::LineEditor;

/// From this width on, the details of the selected item are beside the tree.
const BESIDE_FROM: usize = 120;

const KEYS: &[Hint] = &[
    ("j/k", "move"),
    ("Enter", "open"),
    ("Esc", "close"),
    ("a", "add after it"),
    ("e", "edit"),
    ("s", "start"),
    ("d", "done"),
    ("x", "skip"),
    ("r", "reopen or release"),
    ("w", "wait"),
    ("v", "verify"),
    ("p", "approve"),
    ("u", "undo your last change"),
    ("o", "other plans"),
    ("Tab", "tree, graph, journal"),
    ("/", "filter"),
    ("J/K", "move it down, up"),
    (">/<", "move it under the item above, out"),
    ("A", "add under it"),
    ("D", "done, with all items under it"),
    ("g/G", "first, last"),
    ("?", "keys"),
];
const JOURNAL_KEYS: &[Hint] =
    &[("j/k", "scroll"), ("Tab", "tree"), ("Esc", "close"), ("g/G", "ends"), ("?", "keys")];
const ITEM_KEYS: &[Hint] = &[
    ("j/k", "scroll"),
    ("Esc", "back"),
    ("e", "edit"),
    ("s", "start"),
    ("d", "done"),
    ("x", "skip"),
    ("r", "reopen"),
    ("v", "verify"),
    ("?", "keys"),
];
const ASK_KEYS: &[Hint] = &[("Enter", "save"), ("Esc", "cancel")];
const EDIT_KEYS: &[Hint] =
    &[("t", "title"), ("c", "context"), ("r", "criteria"), ("Esc", "cancel")];
const FILTER_KEYS: &[Hint] = &[("Enter", "keep the filter"), ("Esc", "clear it")];

/// Which part of the plan is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PlanPage {
    Tree,
    Graph,
    Journal,
}

/// What keys do at the moment.
#[derive(Clone, Debug)]
enum PlanMode {
    Browse,
    Filter,
    /// Asks which text of the item to edit.
    ChooseText(Number, ItemId),
    Ask(Ask),
    Keys(Box<KeysDialog>),
}

/// A plan that a person reads and changes.
#[derive(Clone, Debug)]
pub(crate) struct PlanDialog {
    plan: Plan,
    page: PlanPage,
    /// The rows of the tree or the graph that the filter leaves.
    rows: Vec<graph::Branch>,
    cursor: Cursor<ItemId>,
    /// The item whose details fill the screen.
    opened: Option<ItemId>,
    mode: PlanMode,
    /// An input that was submitted and not yet accepted.
    submitted: Option<Ask>,
    /// The title of an item that was added after the selected one. It is selected when it appears.
    added: Option<String>,
    filter: LineEditor,
    journal: Vec<Entry>,
    journal_lines: Vec<Line>,
    /// The output of the last call of an item.
    output: Option<(Number, Vec<Line>)>,
    scroller: Scroller,
    status: Option<Status>,
    /// The person who reads; the journal calls them "you".
    reader: Actor,
    options: Options,
    size: (usize, usize),
}

impl PlanDialog {
    /// The tree of a plan. `options` are those of its views; their width does not matter.
    pub(crate) fn new(plan: Plan, reader: Actor, options: Options) -> Self {
        let mut dialog = Self {
            plan,
            page: PlanPage::Tree,
            rows: Vec::new(),
            cursor: Cursor::new(Vec::new()),
            opened: None,
            mode: PlanMode::Browse,
            submitted: None,
            added: None,
            filter: LineEditor::default(),
            journal: Vec::new(),
            journal_lines: Vec::new(),
            output: None,
            scroller: Scroller::default(),
            status: None,
            reader,
            options,
            size: (80, 24),
        };
        let keys = dialog.fill();
        dialog.cursor.set(keys);
        dialog
    }

    /// Takes the plan after a change. Selection, open details and a text that is being typed stay
    /// with their items.
    pub(crate) fn set_plan(&mut self, plan: Plan) {
        let selected = self.cursor.selected().copied();
        let before = std::mem::replace(&mut self.plan, plan);
        let keys = self.fill();
        let is_lost = self.cursor.set(keys);
        self.select_added(&before);
        if is_lost && let Some(id) = selected {
            let name = self.find(id).map_or_else(|| "The selected item".to_owned(), named);
            let why = match self.filter.text().is_empty() {
                true => "is no longer on the list",
                false => "no longer fits the filter",
            };
            self.status = Some(Status::Told(format!("{name} {why}.")));
        }
        if self.opened.is_some_and(|id| self.find(id).is_none()) {
            self.opened = None;
        }
        if let PlanMode::Ask(ask) = &mut self.mode
            && let Some(words) = ask.see(&self.plan)
        {
            self.status = Some(Status::Told(words));
        }
        self.draw_journal();
    }

    /// Selects the item that the person has added, so that the next one comes after it.
    fn select_added(&mut self, before: &Plan) {
        let Some(title) = &self.added else { return };
        let is_new = |it: &&Item| before.items.values().all(|old| old.id != it.id);
        let added = self.plan.items.values().filter(is_new).find(|it| it.title == *title);
        if let Some(id) = added.map(|it| it.id) {
            self.cursor.select(&id);
            self.added = None;
        }
    }

    /// Takes the time and the items with stale evidence.
    pub(crate) fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// Takes the plan's journal, or its last entries.
    pub(crate) fn set_journal(&mut self, entries: Vec<Entry>) {
        self.journal = entries;
        self.draw_journal();
    }

    /// Whether the journal is on the screen, so that it should be read again after a change.
    pub(crate) fn shows_journal(&self) -> bool {
        self.page == PlanPage::Journal || self.opened.is_some()
    }

    /// Takes the output of the last call of an item.
    pub(crate) fn set_output(&mut self, item: Number, output: &str) {
        self.output = Some((item, text_lines(output)));
    }

    /// Shows what an act did.
    pub(crate) fn told(&mut self, text: &str) {
        self.submitted = None;
        self.status = Some(Status::Told(text.to_owned()));
    }

    /// Shows why an act was refused. A text that was typed for it is there again.
    pub(crate) fn refused(&mut self, text: &str) {
        self.status = Some(Status::Refused(text.to_owned()));
        self.added = None;
        if let (PlanMode::Browse, Some(ask)) = (&self.mode, self.submitted.take()) {
            self.mode = PlanMode::Ask(ask);
        }
    }

    fn draw_journal(&mut self) {
        let show = log::Show { reader: Some(&self.reader), times: log::Times::Ago, only: None };
        self.journal_lines = log::log(&self.plan, &self.journal, show, &self.options);
    }

    fn find(&self, id: ItemId) -> Option<&Item> {
        self.plan.items.values().find(|it| it.id == id)
    }

    /// The item that keys act on: the opened one, else the selected one.
    fn target(&self) -> Option<&Item> {
        self.find(self.opened.or(self.cursor.selected().copied())?)
    }

    /// Fills the rows of the tree or the graph, and returns their items' ids.
    fn fill(&mut self) -> Vec<ItemId> {
        let plan = &self.plan;
        let mut rows = match self.page {
            PlanPage::Graph => graph::tree(plan),
            PlanPage::Tree | PlanPage::Journal => {
                let row = |(depth, item): (usize, &Item)| graph::Branch {
                    number: item.number,
                    depth,
                    also_after: Vec::new(),
                };
                plan.nested().into_iter().map(row).collect()
            }
        };
        let filter = self.filter.text();
        if !filter.is_empty() {
            let text = |item: &Item| format!("{} {} {}", item.number, item.title, item.label());
            rows.retain(|it| {
                plan.get(it.number).is_some_and(|it| layout::fits(&filter, &text(it)))
            });
        }
        self.rows = rows;
        self.rows.iter().filter_map(|it| plan.get(it.number)).map(|it| it.id).collect()
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: &Key) -> DialogReply {
        self.status = None;
        match &mut self.mode {
            PlanMode::Browse => return self.browse(key),
            PlanMode::Filter => self.filter_key(key),
            PlanMode::ChooseText(number, id) => {
                let item = (*number, *id);
                self.mode = PlanMode::Browse;
                match key {
                    Key::Char('t') => self.edit(item, ItemText::Title),
                    Key::Char('c') => self.edit(item, ItemText::Context),
                    Key::Char('r') => self.edit(item, ItemText::Criteria),
                    Key::Escape => {}
                    _ => self.mode = PlanMode::ChooseText(item.0, item.1),
                }
            }
            PlanMode::Ask(ask) => match key {
                Key::Enter => {
                    let ask = ask.clone();
                    self.mode = PlanMode::Browse;
                    if let Some(act) = ask.act() {
                        self.added = added_after(&act);
                        self.submitted = Some(ask);
                        return DialogReply::Want(Want::Plan(act));
                    }
                }
                Key::Escape => self.mode = PlanMode::Browse,
                _ => ask.editor.key(key),
            },
            PlanMode::Keys(keys) => {
                if keys.key(key) == DialogReply::Close {
                    self.mode = PlanMode::Browse;
                }
            }
        }
        DialogReply::Stay
    }

    fn filter_key(&mut self, key: &Key) {
        match key {
            Key::Enter => self.mode = PlanMode::Browse,
            Key::Escape => self.clear_filter(),
            Key::Up | Key::Down => drop(self.cursor.key(key)),
            _ => {
                self.filter.key(key);
                self.narrow();
            }
        }
    }

    fn clear_filter(&mut self) {
        self.mode = PlanMode::Browse;
        self.filter = LineEditor::default();
        self.narrow();
    }

    fn narrow(&mut self) {
        let keys = self.fill();
        self.cursor.narrow(keys);
    }

    fn browse(&mut self, key: &Key) -> DialogReply {
        if let Some(reply) = self.step_back(key) {
            return reply;
        }
        if self.scrolls(key) {
            return DialogReply::Stay;
        }
        match key {
            Key::Tab => return self.next_page(),
            Key::Char('/') if self.page != PlanPage::Journal => {
                self.opened = None;
                self.mode = PlanMode::Filter;
            }
            Key::Char('?') => {
                let mut keys = KeysDialog::of("Keys of the plan", KEYS, self.options.glyphs);
                keys.resize(self.size.0, self.size.1);
                self.mode = PlanMode::Keys(Box::new(keys));
            }
            Key::Char('u') => return DialogReply::Want(Want::Plan(PlanAct::Undo)),
            Key::Char('o') if self.opened.is_none() => return DialogReply::Want(Want::Plans),
            Key::Char(letter) if self.opened.is_some() || self.page != PlanPage::Journal => {
                return self.act(*letter);
            }
            Key::Enter if self.opened.is_none() && self.page != PlanPage::Journal => {
                return self.open();
            }
            _ => {}
        }
        DialogReply::Stay
    }

    /// Esc goes back by one step: from the details, from the filter, from the dialog.
    fn step_back(&mut self, key: &Key) -> Option<DialogReply> {
        match key {
            Key::Escape if self.opened.is_some() => {
                self.opened = None;
                self.scroller.reset();
            }
            Key::Escape if !self.filter.text().is_empty() => self.clear_filter(),
            Key::Escape | Key::Char('q') | Key::Ctrl('t') => return Some(DialogReply::Close),
            _ => return None,
        }
        Some(DialogReply::Stay)
    }

    /// Moves the cursor or the text. Returns whether the key is one for that.
    fn scrolls(&mut self, key: &Key) -> bool {
        match (self.opened.and_then(|id| self.find(id)), self.page) {
            (Some(item), _) => {
                let lines = self.details(item);
                self.scroller.key(key, &lines)
            }
            (None, PlanPage::Journal) => self.scroller.key(key, &self.journal_lines),
            (None, PlanPage::Tree | PlanPage::Graph) => self.cursor.key(key),
        }
    }

    fn next_page(&mut self) -> DialogReply {
        self.opened = None;
        self.scroller.reset();
        self.page = match self.page {
            PlanPage::Tree => PlanPage::Graph,
            PlanPage::Graph => PlanPage::Journal,
            PlanPage::Journal => PlanPage::Tree,
        };
        let keys = self.fill();
        self.cursor.set(keys);
        match self.page {
            PlanPage::Journal => DialogReply::Want(Want::Journal),
            PlanPage::Tree | PlanPage::Graph => DialogReply::Stay,
        }
    }

    fn open(&mut self) -> DialogReply {
        let Some(item) = self.target() else { return self.nothing_selected() };
        let (number, id) = (item.number, item.id);
        self.opened = Some(id);
        self.scroller.reset();
        DialogReply::Want(Want::Item(number))
    }

    fn nothing_selected(&mut self) -> DialogReply {
        let words = if self.rows.is_empty() {
            "There is no item yet: a adds one."
        } else {
            "No item is selected."
        };
        self.status = Some(Status::Refused(words.to_owned()));
        DialogReply::Stay
    }

    /// The change that a letter stands for.
    fn act(&mut self, letter: char) -> DialogReply {
        if !"adexsrwvpADJK<>".contains(letter) {
            return DialogReply::Stay;
        }
        let Some(item) = self.target() else {
            return match letter {
                'a' if self.rows.is_empty() && self.filter.text().is_empty() => {
                    self.mode = PlanMode::Ask(Ask::add(Place::Back, None, "New item".to_owned()));
                    DialogReply::Stay
                }
                _ => self.nothing_selected(),
            };
        };
        let (number, id) = (item.number, item.id);
        let by = ItemRef::Both(number, id);
        let name = named(item);
        let act = match letter {
            's' => PlanAct::Start(by),
            'r' if item.status == Standing::InProgress => PlanAct::Release(by),
            'r' => PlanAct::Reopen(by),
            'v' => PlanAct::Verify(number),
            'p' => PlanAct::Approve(number),
            'J' | 'K' | '>' | '<' => match self.moved(item, letter) {
                Some(act) => act,
                None => return DialogReply::Stay,
            },
            'e' => {
                self.mode = PlanMode::ChooseText(number, id);
                return DialogReply::Stay;
            }
            _ => {
                self.mode = PlanMode::Ask(match letter {
                    'a' => {
                        let parent = item.parent.map(ItemRef::Number);
                        Ask::add(Place::After(by), parent, format!("New item after {name}"))
                    }
                    'A' => Ask::add(Place::Back, Some(by), format!("New item under {name}")),
                    'x' => Ask::item(item, AskFor::Skip, format!("Why is {name} skipped?"), ""),
                    'w' => {
                        let question = format!("What does {name} wait for? (empty: for nothing)");
                        let on = item.waiting_on.as_deref().unwrap_or_default();
                        Ask::item(item, AskFor::Wait, question, on)
                    }
                    _ => {
                        let what = AskFor::Done { with_children: letter == 'D' };
                        Ask::item(item, what, format!("Outcome of {name} (may be empty)"), "")
                    }
                });
                return DialogReply::Stay;
            }
        };
        if letter == 'v' {
            self.status = Some(Status::Told(format!("Checking {name} …")));
        }
        DialogReply::Want(Want::Plan(act))
    }

    fn edit(&mut self, (number, id): (Number, ItemId), text: ItemText) {
        if let Some(item) = self.find(id) {
            self.mode = PlanMode::Ask(Ask::edit(item, text));
        } else {
            self.status = Some(Status::Refused(format!("Item {number} is gone.")));
        }
    }

    /// The new place of an item among its siblings, or its new parent; `None` if it stays.
    fn moved(&self, item: &Item, letter: char) -> Option<PlanAct> {
        let step = match letter {
            'K' => Step::Up,
            'J' => Step::Down,
            '>' => Step::In,
            _ => Step::Out,
        };
        PlanAct::step(&self.plan, item, step)
    }

    /// Takes the size of the screen.
    pub(crate) fn resize(&mut self, width: usize, height: usize) {
        self.size = (width, height);
        let rows = height.saturating_sub(3);
        self.cursor.resize(rows);
        self.scroller.resize(width, rows);
        if let PlanMode::Keys(keys) = &mut self.mode {
            keys.resize(width, height);
        }
    }
}

/// The title of an item that an act adds after another one.
fn added_after(act: &PlanAct) -> Option<String> {
    match act {
        PlanAct::Add { title, place: Place::After(_), .. } => Some(title.trim().to_owned()),
        _ => None,
    }
}

/// An item in a sentence: `3 "Write the notes"`.
fn named(item: &Item) -> String {
    format!("{} \"{}\"", item.number, truncate(&one_line(&item.title), 40))
}
