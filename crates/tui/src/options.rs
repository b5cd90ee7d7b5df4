//! What a front end is told of the place that it writes to.

use punchlist_formats::text::Line;
use punchlist_formats::view;

/// How a front end shows things.
#[derive(Clone, Debug)]
pub struct Options {
    /// Programs read stdout: it gets lines of JSON instead of views.
    pub json: bool,
    /// What stdout leads to.
    pub screen: Screen,
    /// Whether stdout is a terminal that lines can be drawn on again and again, in place.
    pub draws_in_place: bool,
    /// How views are drawn, and for whom.
    pub view: view::Options,
}

/// What stdout leads to.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Whether a person looks at it.
    pub is_terminal: bool,
    /// How many columns it has.
    pub width: u16,
    /// Whether to use colour.
    pub colour: bool,
}

impl Screen {
    /// Lines of a view as text for this screen, each with its line break.
    pub fn drawn(self, lines: &[Line]) -> String {
        lines.iter().map(|it| self.line(it) + "\n").collect()
    }

    /// One line of a view as text for this screen.
    pub fn line(self, line: &Line) -> String {
        line.to_ansi(self.colour)
    }
}
