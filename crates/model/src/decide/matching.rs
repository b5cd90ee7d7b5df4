//! Matches entries of a whole list with items: by id, then by equal title, then by similar title.

use std::collections::{BTreeMap, BTreeSet};

use super::history::History;
use super::similar::{THRESHOLD, similarity};
use super::{Draft, Stop};
use crate::command::ListEntry;
use crate::id::Number;
use crate::item::{Item, Mark, Status};
use crate::refusal::Broken;

/// The item that an entry matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Match {
    /// Matched by id or by title.
    Same(Number),
    /// Matched by a similar title. The item loses its evidence and claim.
    Reworded(Number),
    /// Matched an item that somebody else has taken off the list.
    Removed(Number),
}

impl Match {
    pub(super) fn number(self) -> Number {
        match self {
            Self::Same(number) | Self::Reworded(number) | Self::Removed(number) => number,
        }
    }
}

pub(super) type Matches = BTreeMap<usize, Match>;

impl Draft<'_> {
    /// Matches each entry with an item. An entry without a match is a new item.
    pub(super) fn match_entries(
        &mut self,
        entries: &[ListEntry],
        history: &History,
    ) -> Result<Matches, Stop> {
        let mut matches = self.match_ids(entries)?;
        self.match_titles(entries, history, &mut matches);
        self.match_similar(entries, history, &mut matches);
        Ok(matches)
    }

    fn match_ids(&mut self, entries: &[ListEntry]) -> Result<Matches, Stop> {
        let mut matches = Matches::new();
        for (n, entry) in entries.iter().enumerate() {
            let Some(item) = &entry.item else { continue };
            // An unknown id is the caller's own label, so the title decides.
            let Ok(number) = self.resolve(item) else { continue };
            if let Some(first) = matches.iter().find(|(_, it)| it.number() == number) {
                let broken = Broken::Twice { entries: vec![*first.0, n] };
                self.breach(Mark::BadLink, || broken.into())?;
                continue;
            }
            matches.insert(n, Match::Same(number));
        }
        Ok(matches)
    }

    /// Matches equal titles: current titles first, then those that the caller was shown, then those
    /// of removed items.
    fn match_titles(&self, entries: &[ListEntry], history: &History, matches: &mut Matches) {
        let listed = self.plan.listed();
        let now = listed.iter().map(|it| (it.title.as_str(), Match::Same(it.number)));
        let shown = listed.iter().filter_map(|it| {
            let title = history.get(it.number)?.title.as_deref()?;
            Some((title, Match::Same(it.number)))
        });
        let gone = history.removed().filter_map(|(number, since)| {
            let item = self.plan.get(number).filter(|item| item.is_superseded())?;
            Some((since.shown_title(item), Match::Removed(number)))
        });
        for titles in [now.collect(), shown.collect(), gone.collect::<Vec<_>>()] {
            match_equal_titles(entries, titles, matches);
        }
    }

    /// Matches reworded entries with open items. The match must be unique on both sides. The entry
    /// may be completed: an agent may reword an item and complete it at once.
    fn match_similar(&self, entries: &[ListEntry], history: &History, matches: &mut Matches) {
        let taken = numbers(matches);
        let free: Vec<&Item> = self
            .plan
            .listed()
            .into_iter()
            .filter(|item| item.is_open() && !taken.contains(&item.number))
            .filter(|item| history.get(item.number).is_none_or(|since| !since.added))
            .collect();
        let mut pairs: Vec<(usize, Number)> = Vec::new();
        for (n, entry) in entries.iter().enumerate() {
            if matches.contains_key(&n) || entry.status == Status::Cancelled {
                continue;
            }
            let fits = |item: &&&Item| similarity(&item.title, &entry.title) >= THRESHOLD;
            pairs.extend(free.iter().filter(fits).map(|item| (n, item.number)));
        }
        for (n, number) in &pairs {
            let rivals = pairs.iter().filter(|(m, it)| m == n || it == number).count();
            if rivals == 1 {
                matches.insert(*n, Match::Reworded(*number));
            }
        }
    }
}

/// Matches each entry with the first free item that has the same title.
fn match_equal_titles(entries: &[ListEntry], titles: Vec<(&str, Match)>, matches: &mut Matches) {
    let taken = numbers(matches);
    let mut free: BTreeMap<&str, Vec<Match>> = BTreeMap::new();
    // In reverse, so that `pop` returns the first of equal titles.
    for (title, found) in titles.into_iter().rev() {
        if !taken.contains(&found.number()) {
            free.entry(title).or_default().push(found);
        }
    }
    for (n, entry) in entries.iter().enumerate() {
        if !matches.contains_key(&n)
            && let Some(found) = free.get_mut(entry.title.as_str()).and_then(Vec::pop)
        {
            matches.insert(n, found);
        }
    }
}

fn numbers(matches: &Matches) -> BTreeSet<Number> {
    matches.values().map(|found| found.number()).collect()
}
