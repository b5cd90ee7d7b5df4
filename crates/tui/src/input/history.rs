//! The history of entered texts, and the search in it.

use super::draft::Draft;

/// The most entries that are kept.
const MOST: usize = 1_000;

/// The history.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// The entries, the newest last.
    entries: Vec<String>,
    /// The entry that is shown, while the person looks through the history.
    at: Option<usize>,
    /// What was typed before, and whether it was a shell command.
    draft: Option<(Draft, bool)>,
}

impl History {
    pub(super) fn new(mut entries: Vec<String>) -> Self {
        entries.retain(|it| !it.trim().is_empty());
        let extra = entries.len().saturating_sub(MOST);
        entries.drain(..extra);
        Self { entries, at: None, draft: None }
    }

    /// Adds an entry, unless it is the newest one again.
    pub(super) fn add(&mut self, entry: String) {
        if self.entries.last() != Some(&entry) {
            self.entries.push(entry);
        }
        if self.entries.len() > MOST {
            self.entries.remove(0);
        }
    }

    /// The next older entry. The first time, the current draft is kept.
    pub(super) fn older(&mut self, (draft, is_shell): (&Draft, bool)) -> Option<&str> {
        let at = self.at.unwrap_or(self.entries.len()).checked_sub(1)?;
        if self.at.is_none() {
            self.draft = Some((draft.clone(), is_shell));
        }
        self.at = Some(at);
        self.entries.get(at).map(String::as_str)
    }

    /// The next newer entry; `None` behind the newest.
    pub(super) fn newer(&mut self) -> Option<&str> {
        let at = self.at? + 1;
        let entry = self.entries.get(at)?;
        self.at = Some(at);
        Some(entry)
    }

    /// Whether an entry is shown.
    pub(super) fn is_browsed(&self) -> bool {
        self.at.is_some()
    }

    /// Leaves the history. Returns what was typed before.
    pub(super) fn leave(&mut self) -> Option<(Draft, bool)> {
        self.at = None;
        self.draft.take()
    }
}

/// A search from the newest entry to the oldest.
#[derive(Clone, Debug)]
pub(super) struct Search {
    query: String,
    /// The entry that was found.
    at: Option<usize>,
}

impl Search {
    pub(super) fn new(history: &History) -> Self {
        let mut search = Self { query: String::new(), at: None };
        search.begin(history);
        search
    }

    pub(super) fn query(&self) -> &str {
        &self.query
    }

    pub(super) fn found<'a>(&self, history: &'a History) -> Option<&'a str> {
        history.entries.get(self.at?).map(String::as_str)
    }

    pub(super) fn add(&mut self, text: &str, history: &History) {
        self.query.push_str(&punchlist_formats::text::one_line(text));
        if text == " " {
            self.query.push(' ');
        }
        self.begin(history);
    }

    pub(super) fn remove(&mut self, history: &History) {
        self.query.pop();
        self.begin(history);
    }

    /// Goes to the next older match, if there is one.
    pub(super) fn older(&mut self, history: &History) {
        let Some(at) = self.at else { return };
        self.at = self.before(at, history).or(self.at);
    }

    fn begin(&mut self, history: &History) {
        self.at = self.before(history.entries.len(), history);
    }

    fn before(&self, end: usize, history: &History) -> Option<usize> {
        let query = self.query.to_lowercase();
        let shown = self.at.filter(|it| *it == end).and_then(|it| history.entries.get(it));
        history.entries[..end]
            .iter()
            .rposition(|it| it.to_lowercase().contains(&query) && Some(it) != shown)
    }
}
