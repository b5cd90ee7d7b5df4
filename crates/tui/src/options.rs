//! The options of a front end, and the properties of stdout.

use punchlist_formats::text::Line;
use punchlist_formats::view;

/// The options of a front end.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether stdout gets lines of JSON instead of views.
    pub json: bool,
    /// The properties of stdout.
    pub screen: Screen,
    /// Whether stdout is a terminal that supports drawing in place.
    pub draws_in_place: bool,
    /// The options for drawing views.
    pub view: view::Options,
}

/// The properties of stdout.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Whether it is a terminal.
    pub is_terminal: bool,
    /// The width in columns.
    pub width: u16,
    /// Whether to use colour.
    pub colour: bool,
    /// Whether it cuts lines that have become too wide, as far as the environment tells. Most terminals
    /// wrap them.
    pub cuts_lines: bool,
}

impl Screen {
    /// Renders the lines of a view for this screen, each with a line break.
    pub fn drawn(self, lines: &[Line]) -> String {
        lines.iter().map(|it| self.line(it) + "\n").collect()
    }

    /// Renders one line of a view for this screen.
    pub fn line(self, line: &Line) -> String {
        line.to_ansi(self.colour)
    }
}
