//! Renders one block of Markdown.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};
use punchlist_formats::text::glyph::Sign;
use punchlist_formats::text::width::width;
use punchlist_formats::text::{Glyphs, Line, Span, Style, many_lines};

use super::blocks::OPTIONS;
use super::table::Table;
use crate::text::wrap;

/// The lines of one block.
pub(super) fn block(source: &str, columns: usize, glyphs: Glyphs) -> Vec<Line> {
    let mut renderer = Renderer::new(source, columns, glyphs);
    for (event, range) in Parser::new_ext(source, OPTIONS).into_offset_iter() {
        renderer.event(event, &range);
    }
    renderer.flush();
    renderer.out
}

fn span(text: &str, style: Style) -> Span {
    Span { text: text.to_owned(), style }
}

/// What stands at the left of every line within a quote or a list item.
struct Margin {
    /// Of the first line, until that is drawn.
    first: Option<Span>,
    /// Of the others.
    others: Span,
}

impl Margin {
    fn width(&self) -> usize {
        width(&self.others.text)
    }
}

struct Renderer<'a> {
    source: &'a str,
    columns: usize,
    glyphs: Glyphs,
    out: Vec<Line>,
    margins: Vec<Margin>,
    /// The text of the line that is being read.
    inline: Vec<Span>,
    /// How many of these are open.
    bold: usize,
    italic: usize,
    struck: usize,
    /// The targets of open links and images, and their text so far.
    links: Vec<(String, String)>,
    /// The next number of each open list; `None`: it has no numbers.
    lists: Vec<Option<u64>>,
    /// The text of a block of code or HTML.
    verbatim: Option<String>,
    table: Option<Table>,
    /// The line of the source at which the last drawn part ended.
    last_line: usize,
    /// Where the lines of the source end.
    breaks: Vec<usize>,
}

impl<'a> Renderer<'a> {
    fn new(source: &'a str, columns: usize, glyphs: Glyphs) -> Self {
        Self {
            source,
            columns,
            glyphs,
            out: Vec::new(),
            margins: Vec::new(),
            inline: Vec::new(),
            bold: 0,
            italic: 0,
            struck: 0,
            links: Vec::new(),
            lists: Vec::new(),
            verbatim: None,
            table: None,
            last_line: 0,
            breaks: source.match_indices('\n').map(|it| it.0).collect(),
        }
    }

    fn event(&mut self, event: Event<'_>, range: &std::ops::Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range.start),
            Event::End(tag) => self.end(tag, range.end),
            Event::Text(text) => match &mut self.verbatim {
                Some(verbatim) => verbatim.push_str(&text),
                None => self.text(&text, self.style(), range.end),
            },
            Event::Code(code) => self.text(&format!("`{code}`"), Style::Code, range.end),
            Event::Html(html) | Event::InlineHtml(html) => match &mut self.verbatim {
                Some(verbatim) => verbatim.push_str(&html),
                None => self.text(&html, Style::Dim, range.end),
            },
            // These are not enabled.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text, self.style(), range.end);
            }
            // Agents break lines where they mean it.
            Event::SoftBreak | Event::HardBreak if self.table.is_none() => self.flush(),
            Event::SoftBreak | Event::HardBreak => self.text(" ", self.style(), range.end),
            Event::Rule => {
                self.begin(range.start);
                let across = self.glyphs.frame().across;
                self.emit(Line::of(&across.repeat(self.room()), Style::Dim));
            }
            Event::TaskListMarker(is_done) => {
                let sign = if is_done { Sign::Done } else { Sign::Open };
                let sign = format!("{} ", self.glyphs.sign(sign));
                if let Some(margin) = self.margins.last_mut()
                    && margin.first.is_some()
                {
                    *margin = item(&sign);
                }
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Paragraph => self.begin(at),
            Tag::Heading { level, .. } => {
                self.begin(at);
                self.inline.push(span(&format!("{} ", marks(level)), Style::Dim));
                self.bold += 1;
            }
            Tag::BlockQuote(_) => {
                self.begin(at);
                let bar = span(&format!("{} ", self.glyphs.frame().down), Style::Dim);
                self.margins.push(Margin { first: None, others: bar });
            }
            Tag::CodeBlock(kind) => {
                self.begin(at);
                self.verbatim = Some(String::new());
                if let CodeBlockKind::Fenced(info) = kind
                    && !info.trim().is_empty()
                {
                    self.verbatim_line(&info, Style::Dim);
                }
            }
            Tag::HtmlBlock => {
                self.begin(at);
                self.verbatim = Some(String::new());
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                self.begin(at);
                let bullet = if self.glyphs == Glyphs::Ascii { "- " } else { "• " };
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let marker = format!("{number}. ");
                        *number = number.saturating_add(1);
                        marker
                    }
                    Some(None) | None => bullet.to_owned(),
                };
                self.margins.push(item(&marker));
            }
            Tag::Table(alignments) => {
                self.begin(at);
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead => self.bold += 1,
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.row();
                }
            }
            Tag::TableCell => self.inline.clear(),
            Tag::Emphasis => self.italic += 1,
            Tag::Strong => self.bold += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::Link { dest_url, .. } => self.links.push((shown(&dest_url), String::new())),
            Tag::Image { dest_url, .. } => {
                self.inline.push(span("image: ", Style::Dim));
                self.links.push((shown(&dest_url), String::new()));
            }
            // These are not enabled.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd, at: usize) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.bold = self.bold.saturating_sub(1);
            }
            TagEnd::CodeBlock => self.end_verbatim(Style::Code, at),
            TagEnd::HtmlBlock => self.end_verbatim(Style::Dim, at),
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.margins.pop();
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                // An empty item has its marker all the same.
                if self.margins.last().is_some_and(|it| it.first.is_some()) {
                    self.emit(Line::new());
                }
                self.margins.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    for line in table.lines(self.room(), self.glyphs) {
                        self.emit(line);
                    }
                }
                self.ended(at);
            }
            TagEnd::TableHead => self.bold = self.bold.saturating_sub(1),
            TagEnd::TableCell => {
                let cell = self.take_inline();
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => {
                let Some((target, text)) = self.links.pop() else { return };
                // A link that says where it leads is not repeated.
                if target != text && target.strip_prefix("mailto:") != Some(&text) {
                    self.text(&format!(" ({target})"), Style::Dim, at);
                }
            }
            TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// The style of text at this point.
    fn style(&self) -> Style {
        if !self.links.is_empty() {
            Style::Link
        } else if self.bold > 0 {
            Style::Bold
        } else if self.struck > 0 {
            Style::Struck
        } else if self.italic > 0 {
            Style::Italic
        } else {
            Style::Plain
        }
    }

    /// Adds text to the current line. It is cleaned again: the parser decodes entities.
    fn text(&mut self, text: &str, style: Style, end: usize) {
        let clean = shown(text);
        if let Some((_, text)) = self.links.last_mut() {
            text.push_str(&clean);
        }
        match self.inline.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&clean),
            Some(_) | None => self.inline.push(Span { text: clean, style }),
        }
        self.ended(end);
    }

    /// A block begins here: an empty line is before it if the source has one there.
    fn begin(&mut self, at: usize) {
        self.flush();
        let line = self.line(at);
        if line > self.last_line + 1 && !self.out.is_empty() {
            let mut blank = Line::new();
            for margin in self.fitting() {
                blank.push(&margin.others.text, margin.others.style);
            }
            self.out.push(blank.trimmed_end());
        }
        self.last_line = line;
    }

    /// A block ended here.
    fn ended(&mut self, at: usize) {
        let content = self.source[..at.min(self.source.len())].trim_end_matches([' ', '\n']).len();
        self.last_line = self.last_line.max(self.line(content));
    }

    fn line(&self, at: usize) -> usize {
        self.breaks.partition_point(|it| *it < at)
    }

    /// Draws the text of the current line, wrapped.
    fn flush(&mut self) {
        let inline = self.take_inline();
        for line in wrap::words(&inline, self.room()) {
            self.emit(line);
        }
    }

    /// The text of the current line. Pieces that are harmless alone may not be so together, so it is
    /// cleaned once more.
    fn take_inline(&mut self) -> Vec<Span> {
        let mut inline = std::mem::take(&mut self.inline);
        for span in &mut inline {
            span.text = shown(&span.text);
        }
        inline
    }

    fn end_verbatim(&mut self, style: Style, at: usize) {
        let text = self.verbatim.take().unwrap_or_default();
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
            self.verbatim_line(line, style);
        }
        self.ended(at);
    }

    /// A line of code, or with another style one of HTML or the language of the code.
    fn verbatim_line(&mut self, line: &str, style: Style) {
        let is_code = style == Style::Code;
        let indent = if is_code && self.room() > 10 { 2 } else { 0 };
        let lines = wrap::pieces(&[span(&shown(line), style)], self.room() - indent);
        if lines.is_empty() {
            self.emit(Line::new());
        }
        for line in lines {
            self.emit(line.indented(indent));
        }
    }

    /// The margins that leave at least half of the columns to the text.
    fn fitting(&self) -> impl Iterator<Item = &Margin> {
        let most = self.columns / 2;
        self.margins.iter().scan(0, move |taken, margin| {
            *taken += margin.width();
            (*taken <= most).then_some(margin)
        })
    }

    /// The columns that the margins leave.
    fn room(&self) -> usize {
        let taken: usize = self.fitting().map(Margin::width).sum();
        (self.columns - taken).max(1)
    }

    /// Draws a line behind its margins.
    fn emit(&mut self, content: Line) {
        let count = self.fitting().count();
        let mut line = Line::new();
        for margin in self.margins.iter_mut().take(count) {
            let first = margin.first.take();
            let shown = first.as_ref().unwrap_or(&margin.others);
            line.push(&shown.text, shown.style);
        }
        // A marker that has no room is not drawn by a later line.
        for margin in self.margins.iter_mut().skip(count) {
            margin.first = None;
        }
        line.append(content);
        self.out.push(line.trimmed_end());
    }
}

/// The margin of a list item.
fn item(marker: &str) -> Margin {
    let others = span(&" ".repeat(width(marker)), Style::Plain);
    Margin { first: Some(span(marker, Style::Plain)), others }
}

fn marks(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "#",
        HeadingLevel::H2 => "##",
        HeadingLevel::H3 => "###",
        HeadingLevel::H4 => "####",
        HeadingLevel::H5 => "#####",
        HeadingLevel::H6 => "######",
    }
}

/// A text of one line, clean. Its spaces stay.
fn shown(text: &str) -> String {
    many_lines(text).replace('\n', " ")
}
