//! Text that somebody else wrote, made safe to show: escapes, controls, width, glyphs.
//!
//! Every view takes agents' texts through here. Nothing in this module knows what a plan is, and
//! nothing looks at a terminal or the environment: width, glyphs and colour come in as data.
//!
//! Reading order: [`clean`] makes text harmless, [`escape`] makes it fit a notation, [`mod@width`]
//! measures and cuts it, [`glyph`] and [`style`] are what we add ourselves, and [`mod@line`] puts all of it
//! together. [`secret`] takes out what should not be kept at all. [`duration`] reads lengths of time.

pub mod clean;
pub mod duration;
pub mod escape;
pub mod glyph;
pub mod line;
pub mod secret;
pub mod style;
pub mod width;
pub mod wrap;

pub use clean::{isolated, many_lines, one_line};
pub use duration::seconds;
pub use glyph::Glyphs;
pub use line::{Line, Span};
pub use secret::mask;
pub use style::{Colour, Style};
pub use width::{pad, truncate, width};
pub use wrap::wrap;

#[cfg(test)]
pub(crate) mod naughty;
#[cfg(test)]
mod tests;
