//! Rules about texts: not empty where one is needed, not too long, no NUL.
//!
//! Everything else is stored as it was sent; making it safe to show is the views' work.

use super::{Draft, Stop};
use crate::item::Mark;
use crate::refusal::Broken;

impl Draft<'_> {
    /// A title as it may be stored.
    pub(super) fn title(&mut self, text: &str) -> Result<String, Stop> {
        if text.trim().is_empty() {
            let entry = self.entry;
            self.breach(Mark::EmptyTitle, || Broken::EmptyTitle { entry }.into())?;
        }
        self.bounded("title", text, self.ctx.limits.title)
    }

    /// An active form as it may be stored; a blank one is none.
    pub(super) fn active_form(&mut self, text: Option<&str>) -> Result<Option<String>, Stop> {
        let most = self.ctx.limits.title;
        text.filter(|text| !text.trim().is_empty())
            .map(|text| self.bounded("active form", text, most))
            .transpose()
    }

    /// Any longer text as it may be stored.
    pub(super) fn text(&mut self, field: &'static str, text: &str) -> Result<String, Stop> {
        self.bounded(field, text, self.ctx.limits.text)
    }

    /// The same for one that may be missing.
    pub(super) fn optional_text(
        &mut self,
        field: &'static str,
        text: Option<&str>,
    ) -> Result<Option<String>, Stop> {
        text.map(|text| self.text(field, text)).transpose()
    }

    /// What was said of a result; a blank text says nothing.
    pub(super) fn said(
        &mut self,
        field: &'static str,
        text: Option<&str>,
    ) -> Result<Option<String>, Stop> {
        self.optional_text(field, text.filter(|text| !text.trim().is_empty()))
    }

    fn bounded(&mut self, field: &'static str, text: &str, most: u32) -> Result<String, Stop> {
        let most_chars = usize::try_from(most).unwrap_or(usize::MAX);
        // Bytes are never fewer than characters, so most texts are not counted.
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
