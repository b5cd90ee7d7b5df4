//! A screen of a terminal emulator as SVG.

use std::fmt::Write as _;

use vt100::{Color, Screen};

/// The width and height of a character in pixels, and the free space around the screen.
const CELL: (usize, usize) = (9, 21);
const AROUND: usize = 14;

/// What a terminal's own colours look like.
#[derive(Clone, Copy)]
pub struct Colours {
    text: &'static str,
    background: &'static str,
    /// Black to white, then the bright ones.
    sixteen: [&'static str; 16],
}

impl Colours {
    /// The terminal for which a theme is made.
    #[must_use]
    pub fn of(theme: &str) -> Self {
        let dark = [
            "#3a3f4b", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
            "#7f848e", "#ef8b93", "#b1d696", "#f0d399", "#85c4f5", "#d69aea", "#7fcdd7", "#ffffff",
        ];
        let (text, background) = match theme {
            "light" => ("#1c1c1c", "#ffffff"),
            "contrast" => ("#ffffff", "#000000"),
            _ => ("#d7dae0", "#16181d"),
        };
        Self { text, background, sixteen: dark }
    }

    fn colour(&self, colour: Color, default: &str) -> String {
        match colour {
            Color::Default => default.to_owned(),
            Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
            Color::Idx(index @ 0..=15) => self.sixteen[usize::from(index)].to_owned(),
            Color::Idx(index @ 16..=231) => {
                let level = |it: u8| if it == 0 { 0 } else { 55 + 40 * it };
                let index = index - 16;
                let (red, green, blue) = (index / 36, index / 6 % 6, index % 6);
                format!("#{:02x}{:02x}{:02x}", level(red), level(green), level(blue))
            }
            Color::Idx(index) => {
                let grey = 8 + 10 * (index - 232);
                format!("#{grey:02x}{grey:02x}{grey:02x}")
            }
        }
    }
}

/// A run of characters in one style.
#[derive(PartialEq)]
struct Style {
    text: String,
    behind: String,
    attributes: String,
}

/// The screen as a picture. Each run of one style is placed by its column, so that any monospaced
/// font works.
#[must_use]
pub fn svg(label: &str, screen: &Screen, colours: Colours) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let width = CELL.0 * usize::from(columns) + 2 * AROUND;
    let height = CELL.1 * usize::from(rows) + 2 * AROUND;
    let label = label.replace('`', "");
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"15\" style=\"white-space:pre\">\n",
        colours.background
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let from = column;
            let style = style(screen, row, column, colours);
            let mut text = String::new();
            while column < columns && self::style(screen, row, column, colours) == style {
                let cell = screen.cell(row, column);
                let contents = cell.map_or("", |it| it.contents());
                let is_hidden = cell.is_some_and(vt100::Cell::is_wide_continuation);
                text.push_str(if contents.is_empty() && !is_hidden { " " } else { contents });
                column += 1;
            }
            draw(&mut out, &text, &style, (row, from, column), colours);
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn style(screen: &Screen, row: u16, column: u16, colours: Colours) -> Style {
    // The hidden half of a wide character looks like the other one.
    let is_hidden = screen.cell(row, column).is_some_and(vt100::Cell::is_wide_continuation);
    let column = if is_hidden { column.saturating_sub(1) } else { column };
    let Some(cell) = screen.cell(row, column) else {
        return Style { text: String::new(), behind: String::new(), attributes: String::new() };
    };
    let mut text = colours.colour(cell.fgcolor(), colours.text);
    let mut behind = colours.colour(cell.bgcolor(), colours.background);
    if cell.inverse() {
        std::mem::swap(&mut text, &mut behind);
    }
    let mut attributes = String::new();
    for (is_set, attribute) in [
        (cell.bold(), " font-weight=\"bold\""),
        (cell.italic(), " font-style=\"italic\""),
        (cell.underline(), " text-decoration=\"underline\""),
        (cell.dim(), " opacity=\"0.6\""),
    ] {
        attributes.push_str(if is_set { attribute } else { "" });
    }
    Style { text, behind, attributes }
}

fn draw(out: &mut String, text: &str, style: &Style, place: (u16, u16, u16), colours: Colours) {
    let (row, from, to) = (usize::from(place.0), usize::from(place.1), usize::from(place.2));
    let (x, y) = (AROUND + CELL.0 * from, AROUND + CELL.1 * row);
    let length = CELL.0 * (to - from);
    if style.behind != colours.background {
        let (fill, height) = (&style.behind, CELL.1);
        let rect = format!("x=\"{x}\" y=\"{y}\" width=\"{length}\" height=\"{height}\"");
        let _ = writeln!(out, "<rect {rect} fill=\"{fill}\"/>");
    }
    let shown = text.trim();
    if shown.is_empty() {
        return;
    }
    // Only what is seen is placed and measured, so that no font stretches it over the blanks around it.
    let blanks = text.len() - text.trim_start().len();
    let x = x + CELL.0 * blanks;
    let length = CELL.0 * (to - from - (text.len() - shown.len()));
    let shown = shown.replace('&', "&amp;").replace('<', "&lt;");
    let (fill, attributes, y) = (&style.text, &style.attributes, y + 16);
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" fill=\"{fill}\"{attributes}>{shown}</text>"
    );
}
