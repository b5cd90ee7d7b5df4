//! Makes foreign text safe to show: escape sequences, control characters, width, glyphs.
//!
//! Every view passes agents' texts through this module. It knows nothing about plans, terminals or
//! the environment: width, glyphs and colour are arguments.
//!
//! Reading order: [`clean`] makes text harmless, [`escape`] fits it to a format, [`mod@width`]
//! measures and cuts it, [`glyph`] and [`style`] are Punchlist's own signs and colours, and
//! [`mod@line`] combines them. [`secret`] masks secrets before a text is stored. [`duration`]
//! parses durations.

pub mod clean;
pub mod duration;
pub mod escape;
pub mod glyph;
pub mod line;
mod near;
pub mod secret;
pub mod sentence;
pub mod style;
pub mod width;
pub mod wrap;

pub use clean::{isolated, many_lines, one_line};
pub use duration::seconds;
pub use glyph::Glyphs;
pub use line::{Line, Span};
pub use near::nearest;
pub use secret::mask;
pub use sentence::last_sentence;
pub use style::{Colour, Style};
pub use width::{pad, truncate, width};
pub use wrap::wrap;

#[cfg(test)]
pub(crate) mod naughty;
#[cfg(test)]
mod tests;
