//! Rules for texts: not empty where a text is required, not too long, no NUL.
//!
//! Everything else is stored as sent; views make it safe to show.

use super::{Draft, Stop};
use crate::item::Mark;
use crate::refusal::Broken;

impl Draft<'_> {
    /// Checks a title.
    pub(super) fn title(&mut self, text: &str) -> Result<String, Stop> {
        if text.trim().is_empty() {
            let entry = self.entry;
            self.breach(Mark::EmptyTitle, || Broken::EmptyTitle { entry }.into())?;
        }
        self.bounded("title", text, self.ctx.limits.title)
    }

    /// Checks an active form; a blank one becomes `None`.
    pub(super) fn active_form(&mut self, text: Option<&str>) -> Result<Option<String>, Stop> {
        let most = self.ctx.limits.title;
        text.filter(|text| !text.trim().is_empty())
            .map(|text| self.bounded("active form", text, most))
            .transpose()
    }

    /// Checks any longer text.
    pub(super) fn text(&mut self, field: &'static str, text: &str) -> Result<String, Stop> {
        self.bounded(field, text, self.ctx.limits.text)
    }

    /// Checks a text that may be missing.
    pub(super) fn optional_text(
        &mut self,
        field: &'static str,
        text: Option<&str>,
    ) -> Result<Option<String>, Stop> {
        text.map(|text| self.text(field, text)).transpose()
    }

    /// Checks an outcome or a reason; a blank one becomes `None`.
    pub(super) fn nonblank_text(
        &mut self,
        field: &'static str,
        text: Option<&str>,
    ) -> Result<Option<String>, Stop> {
        self.optional_text(field, text.filter(|text| !text.trim().is_empty()))
    }

    fn bounded(&mut self, field: &'static str, text: &str, most: u32) -> Result<String, Stop> {
        let most_chars = usize::try_from(most).unwrap_or(usize::MAX);
        // A text has at most as many characters as bytes, so most texts need not be counted.
        if text.len() > most_chars {
            let length = text.chars().count();
            if length > most_chars {
                let broken = Broken::TooLong { field, length, most };
                self.breach(Mark::OverLimit, || broken.into())?;
            }
        }
        if !text.contains('\0') {
            return Ok(text.to_owned());
        }
        self.breach(Mark::NulRemoved, || Broken::Nul { field }.into())?;
        Ok(text.replace('\0', ""))
    }
}
