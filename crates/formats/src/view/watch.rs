//! All agents on one screen: a line for each, and below it what the agent is doing.
//!
//! A pure function of rows and options; order and states are part of the rows. Every line is at
//! least one column narrower than the screen, so that no terminal wraps it.

mod groups;
mod said;

use std::collections::BTreeMap;

use punchlist_model::agents::{Entry, Listed, NoList, Row, State};
use punchlist_model::{Status, Timestamp};

use super::{Options, duration, list, shown};
use crate::text::glyph::{Glyphs, Sign};
use crate::text::width::{pad_left, truncate_with};
use crate::text::{Colour, Line, Style, isolated, one_line, pad, width};
use groups::{Block, Groups};
pub use said::spent;

/// The maximal width of agent, place and model.
const AGENT: usize = 9;
const PLACE: usize = 18;
const MODEL: usize = 16;
/// Wider lines are hard to read.
const WIDEST: usize = 120;
/// Below this width there are only names.
const TINY: usize = 24;
/// From this width on, context and cost are in a row.
const WIDE: usize = 100;
/// From this height on, projects have headings, and rows a line with the agent's last sentence.
const HIGH: usize = 20;
/// Below this width there are no sentences in a row.
const NARROW: usize = 56;
/// The maximal width of a place on a narrow screen.
const NARROW_PLACE: usize = 10;
/// The most lines of a question.
const LONGEST_QUESTION: usize = 4;
/// The width of a time with its word: `59 m ago`.
const SPAN: usize = 8;

/// The keys, from the most to the fewest that fit.
const KEYS: [&str; 4] = [
    "j/k move  enter opens  / filters  x puts away  q leaves",
    "j/k move  enter opens  / filters  q leaves",
    "j/k move  enter opens  q leaves",
    "q leaves",
];
/// The same where a question can be answered.
const KEYS_TO_ANSWER: [&str; 4] = [
    "j/k move  enter opens  a answers  / filters  q leaves",
    "j/k move  enter opens  a answers  q leaves",
    "a answers  q leaves",
    "q leaves",
];

/// What the viewer selected, and additional notes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look<'a> {
    /// The selected row.
    pub selected: Option<&'a str>,
    /// The row whose list is shown completely.
    pub opened: Option<&'a str>,
    /// The maximal number of lines; `None` for no limit.
    pub height: Option<usize>,
    /// Whether keys can be used.
    pub keys: bool,
    /// The rows that were put away and are shown nevertheless.
    pub archived: &'a [String],
    /// How many rows are not shown because they were put away.
    pub put_away: usize,
    /// Notes about the watching itself.
    pub notes: &'a [String],
    /// For agents without a list: the agent, and the command that gives it one.
    pub offers: &'a [(String, String)],
}

/// The whole screen.
pub fn watch(rows: &[Row], look: Look<'_>, options: &Options) -> Vec<Line> {
    let columns = usize::from(options.width).saturating_sub(1).clamp(1, WIDEST);
    let groups =
        if columns >= TINY && look.is_high() { Groups::of(rows) } else { Groups::default() };
    let mut page = Page {
        look,
        options,
        columns,
        widths: Widths::of(rows, &groups, columns),
        titles: BTreeMap::new(),
        groups,
    };
    page.titles = page.titles(rows);
    let mut lines = vec![page.head(rows)];
    let notes: Vec<Line> = look.notes.iter().map(|it| page.note(it)).collect();
    let room = look.height.map(|it| it.saturating_sub(1 + notes.len()).max(1));
    let at = look.selected.and_then(|key| rows.iter().position(|row| row.key == key));
    let at = at.unwrap_or(0);
    // Rows that cannot be on the screen are not drawn. Each row has at least one line.
    let first = room.map_or(0, |it| at.saturating_sub(it));
    let last =
        room.map_or(rows.len(), |it| at.saturating_add(it).saturating_add(1).min(rows.len()));
    let blocks: Vec<Block> = rows[first..last].iter().map(|row| page.grouped(row)).collect();
    let others = first + (rows.len() - last);
    lines.extend(page.fit(blocks, at - first, room, others));
    lines.extend(notes);
    if let Some(height) = look.height {
        lines.truncate(height.max(1));
    }
    lines
}

impl Look<'_> {
    /// Whether there is room for lines that are nice to have.
    fn is_high(&self) -> bool {
        self.height.is_none_or(|it| it >= HIGH)
    }
}

/// One row as a line of its own, for output that is not a terminal.
pub fn line(row: &Row) -> String {
    let mut words = vec![row.agent.clone(), place(row)];
    words.extend(row.is_plan().then(|| row.model.clone()));
    words.extend(row.list.as_ref().map(|it| format!("{}/{}", it.done, it.total)));
    let state = match &row.state {
        State::Asks(question) => format!("asks: {question}"),
        State::Working => "working".to_owned(),
        State::Waits(on) => format!("waits for {on}"),
        State::Silent => "no news".to_owned(),
        State::Failed(why) => format!("failed: {why}"),
        State::Idle => "idle".to_owned(),
        State::Died => died(row.list.as_ref(), false),
    };
    words.push(state);
    let current = row.list.as_ref().and_then(Listed::current);
    if let Some(current) = current.filter(|_| row.state == State::Working) {
        words.push(format!("\"{}\"", current.label));
    }
    one_line(&words.join("  ")).into_owned()
}

fn died(list: Option<&Listed>, is_narrow: bool) -> String {
    match list.map_or(0, |it| it.open) {
        0 => "died".to_owned(),
        open if is_narrow => format!("died, {open} open"),
        open => format!("died with {open} open"),
    }
}

/// Where an agent works, and which sub-agent it is.
pub fn place(row: &Row) -> String {
    match &row.sub_agent {
        None => row.place.clone(),
        Some(sub) => {
            let sub: String = sub.trim_start_matches("toolu_").chars().take(6).collect();
            format!("{}/{sub}", row.place)
        }
    }
}

fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The width of each column, for all rows; 0 for a column that is left out.
struct Widths {
    agent: usize,
    place: usize,
    model: usize,
    count: usize,
    bar: usize,
    /// Context and cost.
    spent: usize,
    span: usize,
}

impl Widths {
    /// Where there is little room, the bar goes first, then the model, then the time; names stay.
    fn of(rows: &[Row], groups: &Groups, columns: usize) -> Self {
        let most = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
        let agent = most(&|row| width(&one_line(&row.agent))).min(AGENT);
        let place = most(&|row| width(&one_line(&groups.place(row))));
        let spent = most(&|row| said::spent(row).len());
        let model = most(&|row| width(&one_line(&row.model))).min(MODEL);
        let count = |list: &Listed| format!("{}/{}", list.done, list.total).len();
        let count = most(&|row| row.list.as_ref().map_or(0, count));
        let mut widths = Self {
            agent,
            place: place.min(if columns < NARROW { NARROW_PLACE } else { PLACE }),
            model: if columns < 62 { 0 } else { model },
            count,
            bar: match columns {
                0..70 => 0,
                70..100 => 13,
                _ => 26,
            },
            spent: if columns < WIDE { 0 } else { spent },
            span: if columns < 34 { 0 } else { SPAN },
        };
        let dispensable: [fn(&mut Self) -> &mut usize; 4] =
            [|it| &mut it.spent, |it| &mut it.bar, |it| &mut it.model, |it| &mut it.span];
        for column in dispensable {
            if widths.sum() > columns {
                *column(&mut widths) = 0;
            }
        }
        if widths.model == 0 {
            // The title of a plan is shown in place of its other columns.
            let title = |it: &Row| width(&one_line(&it.model)).max(width(&one_line(&it.place)) + 5);
            let title = rows.iter().filter(|it| it.is_plan()).map(title);
            let wanted = title.max().unwrap_or(0).saturating_sub(widths.agent + 2);
            widths.place = widths.place.max(wanted);
        }
        widths.place = widths.place.min(columns.saturating_sub(widths.sum() - widths.place)).max(1);
        if place == 0 {
            widths.place = 0;
        }
        widths
    }

    /// The width of what is at the right end of a row.
    fn right(&self) -> usize {
        if self.spent == 0 { self.span } else { self.spent + 2 + self.span }
    }

    fn sum(&self) -> usize {
        let column = |it: usize| if it == 0 { 0 } else { it + 2 };
        3 + self.agent
            + [self.place, self.model, self.count, self.bar, self.spent, self.span]
                .map(column)
                .iter()
                .sum::<usize>()
    }
}

struct Page<'a> {
    look: Look<'a>,
    options: &'a Options,
    columns: usize,
    widths: Widths,
    /// The shortened titles of plans, by key, if there is not enough room for the whole titles.
    titles: BTreeMap<String, String>,
    /// The projects that have headings.
    groups: Groups,
}

impl Page<'_> {
    /// Whether there is no room for sentences.
    fn is_narrow(&self) -> bool {
        self.columns < NARROW
    }

    fn glyphs(&self) -> Glyphs {
        self.options.glyphs
    }

    /// ` 3 agents working · 1 idle · 1 died`
    fn head(&self, rows: &[Row]) -> Line {
        let agents = || rows.iter().filter(|row| !row.is_plan());
        let count = |is: fn(&State) -> bool| agents().filter(|row| is(&row.state)).count();
        let asks = count(|it| matches!(it, State::Asks(_)));
        let states = [
            (asks, if asks == 1 { "waits for you" } else { "wait for you" }),
            (count(|it| *it == State::Working), "working"),
            (count(|it| matches!(it, State::Waits(_))), "waiting"),
            (count(|it| *it == State::Silent), "silent"),
            (count(|it| matches!(it, State::Failed(_))), "failed"),
            (count(|it| *it == State::Idle), "idle"),
            (count(|it| *it == State::Died), "died"),
        ];
        let mut parts: Vec<String> = Vec::new();
        for (count, word) in states.into_iter().filter(|it| it.0 > 0) {
            let noun = match (parts.is_empty(), count) {
                (true, 1) => " agent",
                (true, _) => " agents",
                (false, _) => "",
            };
            parts.push(format!("{count}{noun} {word}"));
        }
        if parts.is_empty() {
            parts.push("no agents yet".to_owned());
        }
        match rows.len() - agents().count() {
            0 => {}
            1 => parts.push("1 plan".to_owned()),
            plans => parts.push(format!("{plans} plans")),
        }
        if self.look.put_away > 0 {
            parts.push(format!("{} put away", self.look.put_away));
        }
        let between = if self.glyphs() == Glyphs::Ascii { " - " } else { " · " };
        let mut line = Line::new();
        let text = format!(" {}", parts.join(between));
        line.push(&truncate_with(&text, self.columns, self.glyphs().ellipsis()), Style::Bold);
        let fits = |it: &&str| line.width() + 2 + it.len() <= self.columns;
        let can_answer = rows.iter().any(|it| it.question.is_some());
        let all = if can_answer { &KEYS_TO_ANSWER } else { &KEYS };
        if let Some(keys) = all.iter().find(|it| fits(it)).filter(|_| self.look.keys) {
            line.fill(self.columns - keys.len()).push(keys, Style::Dim);
        }
        line
    }

    fn note(&self, text: &str) -> Line {
        let mut line = Line::new();
        let text = format!(" {}", one_line(text));
        line.push_text(&text, self.columns, self.glyphs(), Style::Dim);
        line
    }

    /// The blocks that fit on the screen, including the one at `at`; `others` counts the rows that
    /// were not drawn.
    fn fit(&self, blocks: Vec<Block>, at: usize, room: Option<usize>, others: usize) -> Vec<Line> {
        let total = groups::height(&blocks);
        let Some(room) = room.filter(|it| *it < total || others > 0) else {
            return groups::joined(blocks, 0).into_iter().flatten().collect();
        };
        // One line reports what is left out.
        let room = room.saturating_sub(1);
        let mut first = 0;
        while first < at && groups::height(&blocks[first..=at]) > room {
            first += 1;
        }
        let (mut lines, mut left_out): (Vec<Line>, usize) = (Vec::new(), first + others);
        for block in groups::joined(blocks, first) {
            if lines.len() + block.len() <= room {
                lines.extend(block);
            } else if lines.len() < room {
                // A long list is cut instead of left out.
                let space = room - lines.len();
                lines.extend(block.into_iter().take(space));
            } else {
                left_out += 1;
            }
        }
        let more = format!(" {} {left_out} more", self.glyphs().ellipsis());
        if left_out > 0 {
            let mut line = Line::new();
            line.push(&truncate_with(&more, self.columns, ""), Style::Dim);
            lines.push(line);
        }
        lines
    }

    /// A row, and the lines below it.
    fn block(&self, row: &Row) -> Vec<Line> {
        let mut lines = vec![self.row(row)];
        let is_opened = self.look.opened == Some(row.key.as_str());
        if self.columns < TINY {
            return lines;
        }
        if let State::Asks(question) = &row.state
            && (self.is_narrow() || is_opened)
        {
            lines.extend(self.question(question));
        }
        let list = row.list.as_ref();
        if is_opened {
            match list {
                None => lines.push(self.note("   it has no list")),
                Some(list) => {
                    lines.extend(list.entries.iter().map(|it| self.entry(it)));
                    if list.unconfirmed {
                        lines.push(self.note("   the agent never said that this list was taken"));
                    }
                }
            }
            lines.extend(self.last_lines(row));
            return lines;
        }
        let current = list.and_then(Listed::current);
        match row.state {
            State::Asks(_) | State::Working | State::Waits(_) | State::Silent | State::Died => {
                lines.extend(current.map(|it| self.entry(it)));
            }
            State::Failed(_) | State::Idle => {}
        }
        let is_selected = self.look.selected == Some(row.key.as_str());
        let has_no_news = row.state == State::Working && current.is_none() && self.look.is_high();
        if is_selected || has_no_news {
            lines.extend(self.last_sentence(row));
        }
        lines
    }

    /// On a tiny screen: the name and the state.
    fn tiny(&self, row: &Row) -> Line {
        let mut line = Line::new();
        let (sign, style) = self.sign(&row.state);
        line.push(sign, style);
        let room = self.columns.saturating_sub(2);
        if room > 0 {
            line.push(" ", Style::Plain);
            let name = if row.is_plan() { self.title(row) } else { place(row) };
            line.push_text(&one_line(&name), room, self.glyphs(), Style::Plain);
        }
        line
    }

    /// A text without its middle, if it does not fit. So titles that differ only at their ends can
    /// be distinguished.
    fn squeezed(&self, text: &str, room: usize) -> String {
        let text = one_line(text);
        if width(&text) <= room || room < 8 {
            return text.into_owned();
        }
        let ellipsis = self.glyphs().ellipsis();
        let tail = (room - width(ellipsis)) / 2;
        let mut end = String::new();
        for ch in text.chars().rev() {
            let longer = format!("{ch}{end}");
            if width(&longer) > tail {
                break;
            }
            end = longer;
        }
        let head = truncate_with(&text, room - width(&end), ellipsis);
        format!("{head}{end}")
    }

    /// The title of a plan on this screen.
    fn title(&self, row: &Row) -> String {
        self.titles.get(&row.key).unwrap_or(&row.model).clone()
    }

    /// The titles of plans, shortened to fit, with the ends of their ids where they would look
    /// alike.
    fn titles(&self, rows: &[Row]) -> BTreeMap<String, String> {
        let Widths { agent, place, model, .. } = self.widths;
        let room = match model {
            _ if self.columns < TINY => self.columns.saturating_sub(2),
            0 => agent + 2 + place,
            _ => model,
        };
        let plans = || rows.iter().filter(|it| it.is_plan());
        // If the place is not shown, a plan without a title is named by its place too.
        let name = |row: &Row| match row.key.ends_with(&row.model) && model == 0 {
            true => format!("{} {}", row.place, row.model),
            false => row.model.clone(),
        };
        let mut titles: BTreeMap<String, String> =
            plans().map(|it| (it.key.clone(), self.squeezed(&name(it), room))).collect();
        let shown: Vec<String> = titles.values().cloned().collect();
        for row in plans() {
            let Some(title) = titles.get_mut(&row.key) else { continue };
            if shown.iter().filter(|it| *it == title).count() > 1 {
                let short = row.key.get(row.key.len().saturating_sub(4)..).unwrap_or_default();
                let head = truncate_with(
                    &one_line(&row.model),
                    room.saturating_sub(short.len() + 1),
                    self.glyphs().ellipsis(),
                )
                .into_owned();
                *title = format!("{head} {short}");
            }
        }
        titles
    }

    /// The agent, the place, and the model if there is room. A plan has a title, which replaces
    /// them where there is little room.
    fn who(&self, line: &mut Line, row: &Row, style: Style) {
        let Widths { agent, place: room, model, .. } = self.widths;
        let cell = |text: &str, columns: usize| {
            let text = one_line(text);
            pad(&isolated(&truncate_with(&text, columns, self.glyphs().ellipsis())), columns)
        };
        let title = |columns: usize| pad(&isolated(&self.title(row)), columns);
        if row.is_plan() && model == 0 {
            line.push(&title(agent + 2 + room), style);
            return;
        }
        line.push(&cell(&row.agent, agent), style);
        if room > 0 {
            line.push("  ", Style::Plain).push(&cell(&self.groups.place(row), room), style);
        }
        if model > 0 {
            let text = if row.is_plan() { title(model) } else { cell(&row.model, model) };
            line.push("  ", Style::Plain).push(&text, Style::Dim);
        }
    }

    fn row(&self, row: &Row) -> Line {
        if self.columns < TINY {
            return self.tiny(row);
        }
        let mut line = Line::new();
        let is_selected = self.look.selected == Some(row.key.as_str());
        line.push(if is_selected { ">" } else { " " }, Style::Bold);
        let (sign, style) = self.sign(&row.state);
        line.push(sign, style).push(" ", Style::Plain);
        let is_archived = self.look.archived.contains(&row.key);
        let style = match is_selected {
            true => Style::Bold,
            false if is_archived => Style::Dim,
            false => Style::Plain,
        };
        self.who(&mut line, row, style);
        match &row.state {
            State::Asks(question) => self.ask(&mut line, row, question),
            State::Failed(why) => {
                let words = format!("failed: {why}");
                self.words(&mut line, &words, Style::In(Colour::Red), row, &self.ago(row));
            }
            State::Died => {
                let words = died(row.list.as_ref(), self.is_narrow());
                self.words(&mut line, &words, Style::In(Colour::Red), row, &self.ago(row));
            }
            State::Silent => {
                let since = duration::between(time(row.at), self.options.now);
                let words = if self.is_narrow() { "quiet " } else { "no news for " };
                let words = format!("{words}{since}");
                self.listed(&mut line, row, &words, "");
            }
            State::Working => {
                let since = duration::between(time(row.at), self.options.now);
                self.listed(&mut line, row, "", &since);
            }
            State::Waits(on) => {
                let since = duration::between(time(row.at), self.options.now);
                self.listed(&mut line, row, &format!("waits for {on}"), &since);
            }
            State::Idle => self.listed(&mut line, row, "", &self.ago(row)),
        }
        line
    }

    fn sign(&self, state: &State) -> (&'static str, Style) {
        let is_ascii = self.glyphs() == Glyphs::Ascii;
        let (unicode, ascii, style) = match state {
            State::Asks(_) => ("●", "?", Style::BoldIn(Colour::Yellow)),
            State::Working => ("●", "*", Style::In(Colour::Green)),
            State::Waits(_) => ("◌", "-", Style::In(Colour::Green)),
            State::Silent => ("◌", "~", Style::In(Colour::Yellow)),
            State::Failed(_) => ("!", "!", Style::In(Colour::Red)),
            State::Idle => ("○", "o", Style::Dim),
            State::Died => ("✗", "x", Style::In(Colour::Red)),
        };
        (if is_ascii { ascii } else { unicode }, style)
    }

    fn ago(&self, row: &Row) -> String {
        duration::ago(time(row.at), self.options.now)
    }

    /// The room that is left in a line, with two columns between.
    fn left(&self, line: &Line) -> usize {
        self.columns.saturating_sub(line.width() + 2)
    }

    /// `asks: rm -rf build/           ← you`
    fn ask(&self, line: &mut Line, row: &Row, question: &str) {
        let you = if self.glyphs() == Glyphs::Ascii { "<- you" } else { "← you" };
        let style = Style::BoldIn(Colour::Yellow);
        if self.is_narrow() {
            // The question is on a line of its own.
            return self.words(line, "asks you", style, row, "");
        }
        let most = self.left(line).saturating_sub(width(you) + 2);
        line.push("  ", Style::Plain);
        line.push_text(&format!("asks: {}", one_line(question)), most, self.glyphs(), style);
        line.fill(self.columns - width(you)).push(you, style);
    }

    /// A question in full, up to a limit of lines.
    fn question(&self, question: &str) -> Vec<Line> {
        let room = self.columns.saturating_sub(5).max(1);
        let mut lines: Vec<String> = vec![String::new()];
        for word in one_line(question).split_whitespace() {
            let word = truncate_with(word, room, self.glyphs().ellipsis());
            match lines.last_mut() {
                Some(last) if last.is_empty() => last.push_str(&word),
                Some(last) if width(last) + 1 + width(&word) <= room => {
                    last.push(' ');
                    last.push_str(&word);
                }
                Some(_) | None => lines.push(word.into_owned()),
            }
        }
        let draw = |(at, text): (usize, &String)| {
            let mut line = Line::new();
            line.push(if at == 0 { "   ? " } else { "     " }, Style::BoldIn(Colour::Yellow));
            line.push_text(text, room, self.glyphs(), Style::Plain);
            line
        };
        lines.iter().take(LONGEST_QUESTION).enumerate().map(draw).collect()
    }

    /// Words, and after them a time if there is room.
    fn words(&self, line: &mut Line, words: &str, style: Style, row: &Row, span: &str) {
        let room = self.left(line);
        if room == 0 {
            return;
        }
        let right = self.widths.right();
        let with_span = !span.is_empty() && self.widths.span > 0 && room >= 20 + right;
        let most = if with_span { room - right - 2 } else { room };
        line.push("  ", Style::Plain).push_text(&one_line(words), most, self.glyphs(), style);
        if with_span {
            self.right(line, row, span);
        }
    }

    /// Context and cost, and a time, at the right end of a row.
    fn right(&self, line: &mut Line, row: &Row, span: &str) {
        line.fill(self.columns - self.widths.right());
        if self.widths.spent > 0 {
            line.push(&pad_left(&said::spent(row), self.widths.spent), Style::Dim);
            line.push("  ", Style::Plain);
        }
        line.push(&pad_left(span, self.widths.span), Style::Dim);
    }

    /// The progress of the list, or that there is none.
    fn listed(&self, line: &mut Line, row: &Row, words: &str, span: &str) {
        let Some(list) = &row.list else {
            let offer = self.look.offers.iter().find(|(agent, _)| *agent == row.agent);
            let none = match (row.no_list, offer) {
                (NoList::Never, Some((_, command))) if !self.is_narrow() => {
                    format!("no list: {command}")
                }
                (NoList::Never | NoList::NotYet, _) => "no list".to_owned(),
                (NoList::Cleared, _) => "list cleared".to_owned(),
            };
            let words = if words.is_empty() { none } else { words.to_owned() };
            return self.words(line, &words, Style::Dim, row, span);
        };
        let widths = &self.widths;
        let count = format!("{}/{}", list.done, list.total);
        if self.left(line) < widths.count {
            return;
        }
        line.push("  ", Style::Plain).push(&pad_left(&count, widths.count), Style::Plain);
        if !words.is_empty() {
            return self.words(line, words, Style::In(Colour::Yellow), row, span);
        }
        if widths.bar > 0 {
            line.push("  ", Style::Plain);
            list::bar(line, list.done, list.total, widths.bar, self.options);
        }
        if widths.span > 0 && self.left(line) >= widths.right() {
            self.right(line, row, span);
        }
    }

    /// `   ▶ Migrating the orders table                  1 m`
    fn entry(&self, entry: &Entry) -> Line {
        let sign = match (entry.status, &entry.waiting_on) {
            (Status::Pending, Some(_)) => Sign::Waiting,
            (status, _) => Sign::from(status),
        };
        let style = match entry.status {
            Status::InProgress => Style::In(Colour::Cyan),
            Status::Completed => Style::In(Colour::Green),
            Status::Pending => Style::Plain,
            Status::Cancelled => Style::Dim,
        };
        let mut line = Line::new();
        line.push(&" ".repeat(3 + 2 * entry.depth.min(8)), Style::Plain);
        line.push(self.glyphs().sign(sign), style).push(" ", Style::Plain);
        let since = duration::between(time(entry.since), self.options.now);
        let right = match &entry.waiting_on {
            Some(whom) if sign == Sign::Waiting && whom != "blocked" => {
                format!("waiting for: {}", one_line(whom))
            }
            Some(_) if sign == Sign::Waiting => "blocked".to_owned(),
            Some(_) | None if entry.status == Status::InProgress => since,
            Some(_) | None => String::new(),
        };
        let room = self.columns.saturating_sub(line.width());
        let right = truncate_with(&right, room / 2, self.glyphs().ellipsis());
        let reserved = if right.is_empty() || room < 24 { 0 } else { width(&right) + 2 };
        line.push_text(
            &shown(&entry.label),
            room.saturating_sub(reserved),
            self.glyphs(),
            Style::Plain,
        );
        if reserved > 0 {
            line.fill(self.columns - width(&right)).push(&right, Style::Dim);
        }
        line
    }
}

#[cfg(test)]
mod tests;
