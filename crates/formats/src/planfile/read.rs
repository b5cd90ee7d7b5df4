//! Reads Markdown checklists leniently.
//!
//! It knows lists, headings, fenced blocks, comments and front matter. Everything else is prose:
//! kept under an item, ignored elsewhere. It makes one pass over the lines and keeps nesting on a
//! stack, without recursion, so that no input is too deep or too long.

use std::collections::HashMap;

use super::after::{self, Wanted};
use super::field::{self, Key, Shape};
use super::lines::{Fence, Line, bullet, heading, lines, quotation, underline};
use super::{Fields, FileItem, PlanFile, Problem, Severity, Tick};
use crate::text::seconds;

/// Deepest nesting of items.
const DEEPEST: usize = 32;

/// Further problems are not noted.
pub(super) const MOST_PROBLEMS: usize = 200;

/// Longest quotation of the file in a message.
const QUOTED: usize = 60;

/// Reads a plan file. Never fails: mistakes are in [`PlanFile::problems`].
pub fn read(text: &str) -> PlanFile {
    let mut reader = Reader::default();
    let skip = front_matter(text);
    for line in lines(text) {
        if line.number > skip {
            reader.line(line);
        }
    }
    reader.finish()
}

/// The number of lines of front matter: settings of other programs between two `---` lines.
fn front_matter(text: &str) -> usize {
    let mut lines = lines(text);
    if lines.next().is_none_or(|line| line.text.trim_end() != "---") {
        return 0;
    }
    let end = lines.find(|line| matches!(line.text.trim_end(), "---" | "..."));
    end.map_or(0, |line| line.number)
}

/// A position in the file, for a problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spot {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) length: usize,
}

impl Spot {
    /// The bytes `from..to` of a line.
    pub(super) fn of(line: &Line<'_>, from: usize, to: usize) -> Self {
        let count = |text: Option<&str>| text.unwrap_or_default().chars().count();
        let column = count(line.text.get(..from)) + 1;
        Self { line: line.number, column, length: count(line.text.get(from..to)).max(1) }
    }

    pub(super) fn problem(self, severity: Severity, what: String, hint: Option<String>) -> Problem {
        let Self { line, column, length } = self;
        Problem { line, column, length, severity, what, hint }
    }
}

/// A text in quotes, shortened for a message.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

#[derive(Default)]
struct Reader<'a> {
    file: PlanFile,
    /// The items that the next line may belong to, from the top down, with their indentation.
    open: Vec<(usize, usize)>,
    /// The current headings with their level, without the title.
    sections: Vec<(usize, String)>,
    /// The line in which a field of an item was first set, for the error about a second one.
    set: HashMap<(usize, Key), usize>,
    /// The `after:` lines, resolved at the end, when all titles are known.
    wanted: Vec<Wanted<'a>>,
    state: State,
    /// A command field without a value; a code block may follow.
    awaited: Option<(usize, Key, Spot)>,
    /// A plain line outside of items, which becomes a heading if it is underlined.
    above: Option<&'a str>,
    was_blank: bool,
    /// The previous line outside of items was a list entry without a box.
    boxless: bool,
    /// The item whose title may continue on the next line, and the width of its line.
    titled: Option<(usize, usize)>,
}

#[derive(Default)]
enum State {
    #[default]
    Plain,
    /// In a fenced block.
    Block {
        fence: Fence,
        indent: usize,
        to: Option<(usize, Option<Key>)>,
        /// The indentation of the item that contains the block.
        within: Option<usize>,
        text: String,
        begun: Spot,
    },
    /// In a comment.
    Comment { begun: Spot },
    /// In a command whose line ended with a backslash.
    GoesOn { item: usize, key: Key },
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: Line<'a>) {
        if let Some(at) = line.text.find('\0') {
            let hint = "this may not be a text file.";
            self.error(Spot::of(&line, at, at + 1), "a NUL character".to_owned(), hint);
        }
        match std::mem::take(&mut self.state) {
            State::Plain => self.plain(line),
            State::Comment { begun } if !line.text.contains("-->") => {
                self.state = State::Comment { begun };
            }
            State::Comment { .. } => {}
            State::Block { fence, to, text, .. } if fence.is_closed_by(line.body()) => {
                self.end_block(to, text);
            }
            State::Block { to, within: Some(within), text, begun, .. }
                if ends_item(&line, within) =>
            {
                let hint = Some("end it with a line of the same signs.".to_owned());
                self.warning(begun, "a block that ends with its item".to_owned(), hint);
                self.end_block(to, text);
                self.plain(line);
            }
            State::Block { fence, indent, to, within, mut text, begun } => {
                if to.is_some() {
                    text.push_str(line.dedented(indent));
                    text.push('\n');
                }
                self.state = State::Block { fence, indent, to, within, text, begun };
            }
            State::GoesOn { item, key } => self.go_on(item, key, &line),
        }
    }

    fn plain(&mut self, line: Line<'a>) {
        let body = line.body();
        if body.is_empty() {
            self.was_blank = true;
            self.above = None;
            return;
        }
        let above = self.above.take();
        let titled = self.titled.take();
        let was_blank = std::mem::take(&mut self.was_blank);
        let begun = Spot::of(&line, line.body, line.body + body.len());
        if let Some(rest) = body.strip_prefix("<!--") {
            // The line after a comment continues nothing.
            self.was_blank = true;
            if !rest.contains("-->") {
                self.state = State::Comment { begun };
            }
        } else if let Some(fence) = Fence::of(body) {
            self.block(&line, fence, begun, was_blank);
        } else if let Some((level, text)) = self.heading_at(&line, body) {
            self.heading(level, text);
        } else if let (Some(level), Some(text)) = (underline(body), above) {
            self.heading(level, text);
        } else if let Some(width) = bullet(body) {
            self.entry(line, width, was_blank);
        } else if let Some((item, wide)) = titled.filter(|_| !was_blank)
            && self.is_wrapped(item, wide, &line)
        {
            self.go_on_with_title(item, &line);
        } else {
            self.quoted_box(&line, body);
            self.under(&line, was_blank);
        }
    }

    /// Whether a line directly below a title continues the title, because an editor wrapped it. A
    /// sentence of its own is prose.
    fn is_wrapped(&self, item: usize, wide: usize, line: &Line<'a>) -> bool {
        let Some(title) = self.file.items.get(item).map(|it| it.title.as_str()) else {
            return false;
        };
        let ends = title.ends_with(['.', '!', '?', ':', ';', '…']) || title.is_empty();
        let body = line.body();
        let goes_on = body.chars().next().is_some_and(char::is_lowercase);
        let is_prose = matches!(field::shape(body), Shape::Prose) && quotation(body).is_none();
        !ends && is_prose && (goes_on || wide >= WRAPPED)
    }

    fn go_on_with_title(&mut self, item: usize, line: &Line<'a>) {
        let Some(item_of_file) = self.file.items.get_mut(item) else { return };
        item_of_file.title.push(' ');
        item_of_file.title.push_str(line.body());
        self.titled = Some((item, wide(line)));
    }

    /// Warns about a box inside a quotation, which looks like an item but is none.
    fn quoted_box(&mut self, line: &Line<'a>, body: &str) {
        let said = quotation(body).unwrap_or_default();
        if bullet(said).is_some_and(|width| tick(&said[width..]).is_some()) {
            let spot = Spot::of(line, line.body, line.body + body.len());
            let hint = "remove the `>` if it is to be done.".to_owned();
            self.warning(spot, "a box in a quotation is not an item".to_owned(), Some(hint));
        }
    }

    /// A heading, unless it is under an item, where it is prose.
    fn heading_at(&self, line: &Line<'a>, body: &'a str) -> Option<(usize, &'a str)> {
        let inside = self.open.first().is_some_and(|(_, indent)| line.indent > *indent);
        if inside { None } else { heading(body) }
    }

    fn heading(&mut self, level: usize, text: &str) {
        self.unanswered();
        self.open.clear();
        self.boxless = false;
        let first = self.sections.is_empty() && self.file.items.is_empty();
        if first && self.file.title.is_none() && !text.is_empty() {
            self.file.title = Some(text.to_owned());
            return;
        }
        self.sections.retain(|(above, _)| *above < level);
        self.sections.push((level, text.to_owned()));
    }

    /// A list entry: an item if it has a box, otherwise a field or prose.
    fn entry(&mut self, line: Line<'a>, width: usize, was_blank: bool) {
        let inner = line.from(line.body + width);
        match tick(inner.body()) {
            Some(found) => self.item(&line, &inner, found),
            None => {
                let reaches = self.open.iter().any(|(_, indent)| line.indent > *indent);
                if reaches && !matches!(field::shape(inner.body()), Shape::Prose) {
                    // `- run: make` under an item is the same as without the bullet.
                    self.under(&Line { indent: line.indent, ..inner }, was_blank);
                } else {
                    self.boxless = !reaches;
                    self.under(&line, was_blank || !reaches);
                }
            }
        }
    }

    fn item(&mut self, line: &Line<'a>, inner: &Line<'a>, found: Found) {
        self.unanswered();
        self.boxless = false;
        // One more blank than the line above is a slip; two make a sub-item.
        while self.open.last().is_some_and(|(_, indent)| indent + 2 > line.indent) {
            self.open.pop();
        }
        let spot = Spot::of(line, line.body, line.text.trim_end().len());
        if self.open.len() >= DEEPEST {
            let hint = "move what is below into a list of its own.";
            self.error(spot, format!("more than {DEEPEST} items under each other"), hint);
            self.open.truncate(DEEPEST - 1);
        }
        let at = inner.from(inner.body + found.end);
        let title = at.body();
        if title.is_empty() {
            let hint = "write the title after the box.";
            self.error(spot, "an item without a title".to_owned(), hint);
        }
        if found.is_tight {
            let begun = Spot::of(line, inner.body, inner.body + found.end);
            let hint = "write `[ ] ` before the title; it is taken as an item.".to_owned();
            self.warning(begun, "no blank after the box".to_owned(), Some(hint));
        }
        if let Some(unknown) = found.unknown {
            let begun = Spot::of(line, inner.body, inner.body + found.end);
            let hint = "`[ ]` is open, `[x]` done, `[>]`, `[~]` or `[/]` in progress, `[-]` or `[c]` skipped; it is taken as open.";
            let what = format!("an unknown box `[{unknown}]`");
            self.warning(begun, what, Some(hint.to_owned()));
        }
        let index = self.file.items.len();
        let start = inner.start + inner.body;
        let sections: Vec<&str> = self.sections.iter().map(|it| it.1.as_str()).collect();
        self.file.items.push(FileItem {
            title: title.to_owned(),
            section: sections.join(" / "),
            parent: self.open.last().map(|(index, _)| *index),
            line: line.number,
            spot: Spot::of(&at, at.body, at.body + title.len()),
            tick: found.tick,
            inside: start + found.inside.start..start + found.inside.end,
            context: String::new(),
            fields: Fields::default(),
        });
        self.open.push((index, line.indent));
        // Counts one character for the content of the box, so that ticking it does not change how
        // the next line is read.
        let signs = inner.text.get(inner.body..).unwrap_or_default();
        let signs = signs.get(found.inside).unwrap_or_default().chars().count();
        self.titled = Some((index, (wide(line) + 1).saturating_sub(signs)));
    }

    /// A field or prose of the item that the line belongs to, if there is one.
    fn under(&mut self, line: &Line<'a>, was_blank: bool) {
        let owner = self.owner(line.indent, was_blank);
        let body = line.body();
        let shape = field::shape(body);
        let spot = Spot::of(line, line.body, line.body + body.len());
        self.unanswered();
        match (shape, owner) {
            (Shape::Field { key, value }, Some(item)) => self.field(line, item, key, value),
            (Shape::Field { key, .. }, None) => {
                // Prose may look like this. It is a likely mistake only near a list.
                if self.boxless || !self.file.items.is_empty() {
                    let hint = if self.boxless {
                        "an item has a box: write `- [ ] ` before its title."
                    } else {
                        "indent it, so that it belongs to its item."
                    };
                    let what = format!("`{}:` belongs to no item", key.as_str());
                    self.warning(spot, what, Some(hint.to_owned()));
                }
            }
            (Shape::Nearly { word, meant }, Some(item)) => {
                let hint = format!("did you mean `{}:`? It is taken as prose.", meant.as_str());
                let spot = Spot::of(line, line.body, line.body + word.len());
                self.warning(spot, format!("an unknown field `{word}:`"), Some(hint));
                self.prose(item, body);
            }
            (Shape::Prose, Some(item)) => self.prose(item, body),
            (Shape::Nearly { .. } | Shape::Prose, None) => self.above = Some(body),
        }
    }

    /// The deepest item that a line is indented under; without indentation, the item directly
    /// above.
    fn owner(&mut self, indent: usize, was_blank: bool) -> Option<usize> {
        let deepest = self.open.iter().rposition(|(_, at)| *at < indent);
        match deepest {
            Some(at) => self.open.truncate(at + 1),
            None if was_blank => self.open.clear(),
            None => {}
        }
        self.open.last().map(|(index, _)| *index)
    }

    fn prose(&mut self, item: usize, text: &str) {
        let Some(item) = self.file.items.get_mut(item) else { return };
        if !item.context.is_empty() {
            item.context.push('\n');
        }
        item.context.push_str(text);
    }

    fn field(&mut self, line: &Line<'a>, item: usize, key: Key, value: usize) {
        let start = line.body + value;
        let value = line.text.get(start..).unwrap_or_default().trim_end();
        let name = key.as_str();
        let spot = Spot::of(line, start, start + value.len());
        let first = *self.set.entry((item, key)).or_insert(line.number);
        if first != line.number && !key.adds_up() {
            let hint = format!("the first is in line {first}; an item has one.");
            let whole = Spot::of(line, line.body, start + value.len());
            self.error(whole, format!("a second `{name}:`"), &hint);
            return;
        }
        if value.is_empty() {
            let spot = Spot::of(line, line.body, line.text.trim_end().len());
            if key.is_command() {
                self.awaited = Some((item, key, spot));
            } else {
                let hint = format!("write {}.", key.example());
                self.error(spot, format!("`{name}:` has no value"), &hint);
            }
            return;
        }
        if key == Key::After {
            self.wanted.push(Wanted { item, line: *line, from: start, text: value });
            return;
        }
        if key.is_command() && field::command(value).is_none() {
            let what = format!("`{name}:` is a sentence, not a command");
            let hint =
                "write only the command, or put it in one pair of backticks; it is taken as prose.";
            self.warning(spot, what, Some(hint.to_owned()));
            self.set.remove(&(item, key));
            return self.prose(item, line.body());
        }
        if key.is_command() && field::goes_on(value) {
            self.state = State::GoesOn { item, key };
        }
        if key.is_command() && matches!(value, "|" | ">" | "|-" | ">-") {
            let hint = "put several lines into a fenced block below `run:`.";
            self.error(spot, format!("`{name}:` has no command"), hint);
            return;
        }
        if !self.value(item, key, value) {
            let what = format!("`{name}:` cannot be {}", quoted(value));
            self.error(spot, what, &format!("write {}.", key.example()));
        }
    }

    /// Sets a field; `false` if the value is not valid.
    fn value(&mut self, item: usize, key: Key, value: &str) -> bool {
        let Some(item) = self.file.items.get_mut(item) else { return true };
        let fields = &mut item.fields;
        match key {
            Key::Run => fields.run = field::command(value).map(str::to_owned),
            Key::Verify => fields.verify = field::command(value).map(str::to_owned),
            Key::Covers => fields.covers.extend(field::globs(value)),
            Key::Agent => fields.agent = Some(value.to_owned()),
            Key::Criteria => match &mut fields.criteria {
                Some(criteria) => {
                    criteria.push('\n');
                    criteria.push_str(value);
                }
                None => fields.criteria = Some(value.to_owned()),
            },
            Key::Approve => match field::yes_or_no(value) {
                Some(approve) => fields.approve = approve,
                None => return false,
            },
            Key::Retry => match field::retry(value) {
                Some(retry) => fields.retry = Some(retry),
                None => return false,
            },
            Key::Timeout => match seconds(value).filter(|seconds| *seconds > 0) {
                Some(seconds) => fields.timeout = Some(seconds),
                None => return false,
            },
            // Resolved at the end, when all titles are known.
            Key::After => {}
        }
        true
    }

    fn command(&mut self, item: usize, key: Key) -> Option<&mut String> {
        let fields = &mut self.file.items.get_mut(item)?.fields;
        match key {
            Key::Run => fields.run.as_mut(),
            Key::Verify => fields.verify.as_mut(),
            Key::Covers
            | Key::After
            | Key::Agent
            | Key::Criteria
            | Key::Approve
            | Key::Retry
            | Key::Timeout => None,
        }
    }

    fn go_on(&mut self, item: usize, key: Key, line: &Line<'a>) {
        let more = line.body();
        let is_item = bullet(more).is_some_and(|width| tick(&more[width..]).is_some());
        if more.is_empty() || is_item {
            return self.plain(*line);
        }
        if let Some(command) = self.command(item, key) {
            command.push('\n');
            command.push_str(more);
        }
        if field::goes_on(more) {
            self.state = State::GoesOn { item, key };
        }
    }

    /// A fenced block: a command if a command field waits for it, otherwise prose of its item.
    fn block(&mut self, line: &Line<'a>, fence: Fence, begun: Spot, was_blank: bool) {
        let awaited = self.awaited.take();
        let to = match awaited {
            Some((item, key, _)) => Some((item, Some(key))),
            None => self.owner(line.indent, was_blank).map(|item| (item, None)),
        };
        // A block that is not indented further than its item does not belong to it.
        let item = to.and_then(|(item, _)| self.open.iter().find(|it| it.0 == item));
        let within = item.map(|it| it.1).filter(|it| line.indent > *it);
        let text = String::new();
        self.state = State::Block { fence, indent: line.indent, to, within, text, begun };
    }

    fn end_block(&mut self, to: Option<(usize, Option<Key>)>, text: String) {
        let text = text.trim_end();
        match to {
            Some((item, Some(key))) if text.trim().is_empty() => {
                let line = self.set.get(&(item, key)).copied().unwrap_or(1);
                let name = key.as_str();
                let hint = format!("write {}.", key.example());
                let spot = Spot { line, column: 1, length: 1 };
                self.error(spot, format!("the block of `{name}:` is empty"), &hint);
            }
            Some((item, Some(Key::Run))) => {
                self.file.items[item].fields.run = Some(text.to_owned());
            }
            Some((item, Some(Key::Verify))) => {
                self.file.items[item].fields.verify = Some(text.to_owned());
            }
            Some((item, Some(_) | None)) if !text.is_empty() => self.prose(item, text),
            Some((_, Some(_) | None)) | None => {}
        }
    }

    /// Reports a command field that was followed by something else than a block.
    fn unanswered(&mut self) {
        if let Some((_, key, spot)) = self.awaited.take() {
            let hint = format!("write {}.", key.example());
            self.error(spot, format!("`{}:` has no command", key.as_str()), &hint);
        }
    }

    fn finish(mut self) -> PlanFile {
        self.unanswered();
        match std::mem::take(&mut self.state) {
            // An unclosed block of a command may be cut off, so it must not run.
            State::Block { to: to @ Some((_, None)), within: Some(_), text, begun, .. } => {
                let hint = Some("end it with a line of the same signs.".to_owned());
                self.warning(begun, "a block that ends with the file".to_owned(), hint);
                self.end_block(to, text);
            }
            State::Block { fence: _, begun, .. } => {
                let hint = "end it with a line of the same signs.";
                self.error(begun, "a block that is never closed".to_owned(), hint);
            }
            State::Comment { begun } => {
                let hint = Some("end it with `-->`.".to_owned());
                self.warning(begun, "a comment that is never closed".to_owned(), hint);
            }
            State::Plain | State::GoesOn { .. } => {}
        }
        let Self { mut file, wanted, boxless, .. } = self;
        after::resolve(&mut file, &wanted);
        check_items(&mut file);
        if file.items.is_empty() {
            let what = "there is no checklist in this file".to_owned();
            let hint = if boxless {
                "an item has a box: write `- [ ] ` before its title."
            } else {
                "an item is a line like `- [ ] Build`, with `run: make` indented under it."
            };
            let spot = Spot { line: 1, column: 1, length: 1 };
            file.problems.push(spot.problem(Severity::Error, what, Some(hint.to_owned())));
        }
        file.problems.sort_by_key(|it| (it.line, it.column));
        file.problems.truncate(MOST_PROBLEMS);
        file
    }

    fn error(&mut self, spot: Spot, what: String, hint: &str) {
        self.note(spot.problem(Severity::Error, what, Some(hint.to_owned())));
    }

    fn warning(&mut self, spot: Spot, what: String, hint: Option<String>) {
        self.note(spot.problem(Severity::Warning, what, hint));
    }

    fn note(&mut self, problem: Problem) {
        // An error replaces a warning if the list is full.
        let errors = problem.severity == Severity::Error;
        if self.file.problems.len() < MOST_PROBLEMS || (errors && self.file.is_sound()) {
            self.file.problems.push(problem);
        }
    }
}

/// Checks that need all items.
fn check_items(file: &mut PlanFile) {
    let mut problems = Vec::new();
    let mut seen = HashMap::new();
    for (index, item) in file.items.iter().enumerate() {
        let spot = item.spot;
        let section = if item.parent.is_none() { item.section.as_str() } else { "" };
        let key = (item.parent, section, item.title.as_str());
        if !item.title.is_empty()
            && let Some(first) = seen.insert(key, item.line)
        {
            let what = format!("a second item called {}", quoted(&item.title));
            let hint =
                format!("the first is in line {first}; items are identified by their titles.");
            problems.push(spot.problem(Severity::Error, what, Some(hint)));
        }
        if item.fields.run.is_some() && item.fields.agent.is_some() {
            let what = format!("{} has both `run:` and `agent:`", quoted(&item.title));
            let hint = "keep one of them, or make two items of it.".to_owned();
            problems.push(spot.problem(Severity::Error, what, Some(hint)));
        }
        if !item.fields.covers.is_empty() && item.fields.verify.is_none() {
            let what = format!("{} has `covers:` but no `verify:`", quoted(&item.title));
            let hint = "`covers:` has no effect without a check.".to_owned();
            problems.push(spot.problem(Severity::Warning, what, Some(hint)));
        }
        if item.tick == Tick::Done {
            let open = file.children(index).map(|at| &file.items[at]);
            let open = open.filter(|it| matches!(it.tick, Tick::Open | Tick::Begun)).count();
            if open > 0 {
                let what =
                    format!("{} is ticked, but {open} under it are not", quoted(&item.title));
                let hint = "it counts as open until they are done.".to_owned();
                problems.push(spot.problem(Severity::Warning, what, Some(hint)));
            }
        }
    }
    file.problems.append(&mut problems);
}

/// A box at the beginning of an entry.
struct Found {
    tick: Tick,
    /// The content of the brackets, in bytes of the entry.
    inside: std::ops::Range<usize>,
    /// Where the title begins.
    end: usize,
    unknown: Option<char>,
    /// No blank is between the box and the title.
    is_tight: bool,
}

/// A title in a line of this width may have been wrapped by an editor.
const WRAPPED: usize = 60;

/// The width of a line in columns, approximately.
fn wide(line: &Line<'_>) -> usize {
    line.indent + line.body().chars().count()
}

/// Whether a line is an item that is not a sub-item of an item with this indentation.
fn ends_item(line: &Line<'_>, within: usize) -> bool {
    let body = line.body();
    let is_item = || bullet(body).is_some_and(|width| tick(&body[width..]).is_some());
    line.indent <= within && is_item()
}

fn tick(body: &str) -> Option<Found> {
    let rest = body.strip_prefix('[')?;
    // A box is short, so the beginning of the line is enough.
    let close = rest.char_indices().take(4).find(|(_, ch)| *ch == ']').map(|(at, _)| at)?;
    let after = &rest[close + 1..];
    let is_tight = !(after.is_empty() || after.starts_with(char::is_whitespace));
    // After a box without a blank must come a letter or digit; otherwise it is a link or reference.
    if is_tight && !after.starts_with(char::is_alphanumeric) {
        return None;
    }
    let mut signs = rest[..close].trim().chars();
    let (sign, more) = (signs.next(), signs.next());
    let (tick, unknown) = match (sign, more) {
        (_, Some(_)) => return None,
        (None, None) => (Tick::Open, None),
        (Some('x' | 'X' | '✓' | '✔'), None) => (Tick::Done, None),
        (Some('>' | '~' | '/'), None) => (Tick::Begun, None),
        (Some('-' | 'c' | 'C'), None) => (Tick::Skipped, None),
        // A footnote or a reference.
        (Some(sign), None) if sign.is_ascii_digit() || sign == '^' => return None,
        // A letter in brackets directly before a word may be anything.
        (Some(_), None) if is_tight => return None,
        (Some(sign), None) => (Tick::Open, Some(sign)),
    };
    Some(Found { tick, inside: 1..1 + close, end: close + 2, unknown, is_tight })
}
