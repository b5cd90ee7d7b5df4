//! How the plan dialog looks.

use punchlist_formats::text::glyph::Sign;
use punchlist_formats::text::{Colour, Line, Style, isolated, one_line, width};
use punchlist_formats::view::{Options, detail, graph, list, log};
use punchlist_model::store::Entry;
use punchlist_model::{Item, Number};

use super::super::layout::{self, Hint, Page};
use super::super::pager::filtered;
use super::{
    ASK_KEYS, BESIDE_FROM, EDIT_KEYS, FILTER_KEYS, ITEM_KEYS, JOURNAL_KEYS, KEYS, PlanDialog,
    PlanMode, PlanPage,
};

impl PlanDialog {
    pub(in super::super) fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        if let PlanMode::Keys(keys) = &self.mode {
            return keys.lines(width, height);
        }
        let (foot, keys) = self.foot(width, height);
        let head = self.head(width);
        let glyphs = self.options.glyphs;
        Page { head, foot, keys, glyphs }.draw(width, height, |rows| self.body(width, rows))
    }

    fn head(&self, width: usize) -> Line {
        let page = match (self.opened.and_then(|id| self.find(id)), self.page) {
            (Some(item), _) => format!("item {}", item.number),
            (None, PlanPage::Tree) => "tree".to_owned(),
            (None, PlanPage::Graph) => "graph".to_owned(),
            (None, PlanPage::Journal) => "journal".to_owned(),
        };
        let progress = self.plan.progress();
        let counts =
            format!("{page}  {}/{} ({}%)", progress.completed, progress.total, progress.percent);
        layout::head(&list::heading(&self.plan), &counts, width, self.options.glyphs)
    }

    fn foot(&self, width: usize, height: usize) -> (Vec<Line>, &'static [Hint]) {
        let glyphs = self.options.glyphs;
        let status = || layout::status(self.status.as_ref(), width, height, glyphs);
        let asking = |mut input: Vec<Line>| {
            if self.status.is_some() {
                input.splice(0..0, status());
            }
            input
        };
        match &self.mode {
            PlanMode::Filter => (layout::input("Filter", &self.filter, width, glyphs), FILTER_KEYS),
            PlanMode::Ask(ask) => {
                (asking(layout::input(&ask.question, &ask.editor, width, glyphs)), ASK_KEYS)
            }
            PlanMode::ChooseText(number, _) => {
                let words = format!("Which text of item {number}?");
                (asking(vec![Line::of(&words, Style::Bold)]), EDIT_KEYS)
            }
            PlanMode::Browse | PlanMode::Keys(_) => {
                let keys = match (self.opened, self.page) {
                    (Some(_), _) => ITEM_KEYS,
                    (None, PlanPage::Journal) => JOURNAL_KEYS,
                    (None, PlanPage::Tree | PlanPage::Graph) => KEYS,
                };
                let filter = self.filter.text();
                let foot = match (&self.status, filter.is_empty()) {
                    (None, false) => vec![filtered(&filter, width, glyphs)],
                    (None, true) | (Some(_), _) => status(),
                };
                (foot, keys)
            }
        }
    }

    fn body(&self, width: usize, rows: usize) -> Vec<Line> {
        if let Some(item) = self.opened.and_then(|id| self.find(id)) {
            return self.scroller.draw(&self.details(item), width, rows);
        }
        if self.page == PlanPage::Journal {
            if self.journal_lines.is_empty() {
                return vec![Line::of("The journal is empty.", Style::Dim)];
            }
            return self.scroller.draw(&self.journal_lines, width, rows);
        }
        if self.rows.is_empty() {
            let words = match self.filter.text().is_empty() {
                true => "There is no item yet: a adds one.",
                false => "No item fits the filter.",
            };
            return vec![Line::of(words, Style::Dim)];
        }
        if width < BESIDE_FROM {
            return self.items(width, rows);
        }
        let left = width / 2;
        let details = self.target().map(|it| self.details(it)).unwrap_or_default();
        let right = details.iter().flat_map(|it| layout::rows(it, width - left - 3));
        let right = right.take(rows).collect();
        layout::beside(self.items(left, rows), left, right, rows, self.options.glyphs)
    }

    /// The rows of the tree or the graph that fit.
    fn items(&self, columns: usize, height: usize) -> Vec<Line> {
        let from = self.cursor.first(height);
        let room = columns.saturating_sub(2);
        let shown: Vec<(&graph::Branch, &Item)> = self
            .rows
            .iter()
            .skip(from)
            .take(height)
            .filter_map(|row| Some((row, self.plan.get(row.number)?)))
            .collect();
        let lines = match self.page {
            PlanPage::Graph => shown.iter().map(|it| self.branch(it.0, it.1, room)).collect(),
            PlanPage::Tree | PlanPage::Journal => {
                let items: Vec<(usize, &Item)> =
                    shown.iter().map(|it| (it.0.depth, it.1)).collect();
                let columns = u16::try_from(room).unwrap_or(u16::MAX);
                list::rows(&self.plan, &items, &Options { width: columns, ..self.options.clone() })
            }
        };
        let marked = lines.into_iter().enumerate().map(|(at, line)| {
            let mut marked = layout::mark(self.cursor.is_at(from + at), self.options.glyphs);
            marked.append(line);
            marked
        });
        marked.collect()
    }

    /// A row of the graph: the item below the one that it comes after.
    fn branch(&self, row: &graph::Branch, item: &Item, room: usize) -> Line {
        let glyphs = self.options.glyphs;
        let mut line = Line::new();
        line.fill((row.depth.saturating_sub(1) * 2).min(room / 4));
        if row.depth > 0 {
            let corner = glyphs.frame().bottom_left;
            line.push(corner, Style::Dim).push(" ", Style::Plain);
        }
        let sign = list::sign(item);
        let style = match sign {
            Sign::Done => Style::In(Colour::Green),
            Sign::Active => Style::In(Colour::Cyan),
            Sign::Waiting => Style::In(Colour::Yellow),
            Sign::Cancelled => Style::Dim,
            Sign::Open => Style::Plain,
        };
        line.push(glyphs.sign(sign), style).push(&format!(" {}  ", item.number), Style::Plain);
        let also: Vec<String> = row.also_after.iter().map(Number::to_string).collect();
        let also = match also.is_empty() {
            true => String::new(),
            false => format!("  also after {}", also.join(", ")),
        };
        let wanted = room.saturating_sub(line.width() + width(&also));
        let has_note = wanted >= 12;
        let title = one_line(item.label());
        let title = if title.is_empty() { "(no title)".into() } else { title };
        let most = if has_note { wanted } else { room.saturating_sub(line.width()) };
        line.push_text(&title, most, glyphs, Style::Plain);
        if has_note {
            line.push(&isolated(&also), Style::Dim);
        }
        line
    }

    /// The details of an item: its fields, its history, and the output of its last call.
    pub(super) fn details(&self, item: &Item) -> Vec<Line> {
        let concerns =
            |it: &&Entry| it.events.iter().any(|event| event.number() == Some(item.number));
        let entries: Vec<Entry> = self.journal.iter().filter(concerns).cloned().collect();
        let show = log::Show {
            reader: Some(&self.reader),
            times: log::Times::Ago,
            only: Some(item.number),
        };
        let mut lines = detail::detail(&self.plan, item, &entries, show, &self.options);
        if let Some((number, output)) = &self.output
            && *number == item.number
        {
            lines.push(Line::new());
            lines.push(Line::of("  output of the last call", Style::Dim));
            lines.extend(output.iter().map(|it| it.clone().indented(2)));
        }
        lines
    }
}
