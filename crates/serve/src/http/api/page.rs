//! Pages of lists.

use std::str::FromStr;

use punchlist_formats::api::{MOST, PAGE};
use punchlist_model::store::FoundAt;
use punchlist_model::{ConversationId, Timestamp};
use serde_json::{Value, json};

use crate::http::access::Caller;
use crate::http::pairs::Pairs;
use crate::http::problem::Problem;

/// Which part of a list is asked for.
pub(super) struct Page<'a> {
    /// The key of the last entry of the page before.
    pub(super) after: Option<&'a str>,
    /// How many entries at most.
    pub(super) limit: usize,
}

impl<'a> Page<'a> {
    pub(super) fn of(query: &'a Pairs) -> Result<Self, Problem> {
        let limit = query.number("limit")?.unwrap_or(PAGE);
        if !(1..=MOST).contains(&limit) {
            return Err(Problem::bad_request(format!("limit must be from 1 to {MOST}")));
        }
        let after = query.get("cursor");
        if after.is_some_and(|it| it.chars().count() > 500) {
            return Err(Problem::bad_request("cursor is too long"));
        }
        Ok(Self { after, limit: usize::try_from(limit).unwrap_or(usize::MAX) })
    }

    /// The entries of the page, and the cursor of the next page. `all` is in the order of the keys.
    pub(super) fn cut<T>(
        &self,
        all: Vec<T>,
        key: impl Fn(&T) -> String,
    ) -> (Vec<T>, Option<String>) {
        let is_after = |it: &T| self.after.is_none_or(|after| *key(it) > *after);
        let mut rest = all.into_iter().filter(is_after);
        let page: Vec<T> = rest.by_ref().take(self.limit).collect();
        let next = rest.next().and(page.last()).map(&key);
        (page, next)
    }

    /// One more than fits on the page.
    pub(super) fn and_one(&self) -> u32 {
        u32::try_from(self.limit).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// The cursor as a number.
    pub(super) fn number(&self) -> Result<u64, Problem> {
        let bad = |_| Problem::bad_request("the cursor of this list is a number");
        self.after.map_or(Ok(0), |it| it.parse().map_err(bad))
    }
}

/// The key of a list that has the newest first, and of the same time the smallest id.
pub(super) fn recent(at: Timestamp, id: &impl ToString) -> String {
    format!("{:020}-{}", i64::MAX.saturating_sub(at.as_millisecond()), id.to_string())
}

/// The time and the id in a key of [`recent`].
pub(super) fn of_recent<T: FromStr>(key: &str) -> Result<(Timestamp, T), Problem> {
    recent_parts(key).ok_or_else(other_list)
}

fn recent_parts<T: FromStr>(key: &str) -> Option<(Timestamp, T)> {
    let (at, id) = key.split_once('-')?;
    let at: i64 = at.parse().ok()?;
    Some((Timestamp::from_millisecond(i64::MAX.checked_sub(at)?).ok()?, id.parse().ok()?))
}

/// The cursor does not come from this list.
fn other_list() -> Problem {
    // The document says of this cursor only that it is a text, so another text is not malformed.
    Problem::bad_request("the cursor is not one of this list")
        .hint("Pass `next` of the page before, or leave the cursor out.")
        .refused()
}

/// Where a list of a search goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest<T> {
    /// All of it.
    Whole,
    /// What comes after this entry.
    After(T),
    /// Nothing is left.
    Nothing,
}

impl<T> Rest<T> {
    /// The last entry that was read, or `None` if the list need not be read.
    pub(super) fn last_read(self) -> Option<Option<T>> {
        match self {
            Self::Whole => Some(None),
            Self::After(last) => Some(Some(last)),
            Self::Nothing => None,
        }
    }

    fn text(self, key: impl Fn(T) -> String) -> String {
        match self {
            Self::Whole => String::new(),
            Self::After(last) => key(last),
            Self::Nothing => "end".to_owned(),
        }
    }

    fn parse(text: &str, key: impl Fn(&str) -> Option<T>) -> Option<Self> {
        match text {
            "" => Some(Self::Whole),
            "end" => Some(Self::Nothing),
            text => key(text).map(Self::After),
        }
    }
}

/// Where a search goes on: its items and its sessions have pages of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SearchCursor {
    pub(super) items: Rest<FoundAt>,
    pub(super) sessions: Rest<(Timestamp, ConversationId)>,
}

impl SearchCursor {
    /// The cursor of the next page; `None` if nothing is left.
    pub(super) fn next(self) -> Option<String> {
        let item = |it: FoundAt| format!("{}.{}", recent(it.updated_at, &it.plan), it.number);
        let session = |(at, id)| recent(at, &id);
        let (items, sessions) = (self.items.text(item), self.sessions.text(session));
        let is_over = matches!((self.items, self.sessions), (Rest::Nothing, Rest::Nothing));
        (!is_over).then(|| format!("{items}~{sessions}"))
    }

    pub(super) fn parse(text: Option<&str>) -> Result<Self, Problem> {
        let item = |key: &str| {
            let (plan, number) = key.rsplit_once('.')?;
            let (updated_at, plan) = recent_parts(plan)?;
            Some(FoundAt { updated_at, plan, number: number.parse().ok()? })
        };
        let Some(text) = text else {
            return Ok(Self { items: Rest::Whole, sessions: Rest::Whole });
        };
        let parts = text.split_once('~').and_then(|(items, sessions)| {
            Some(Self {
                items: Rest::parse(items, item)?,
                sessions: Rest::parse(sessions, recent_parts)?,
            })
        });
        parts.ok_or_else(other_list)
    }
}

/// A page as JSON.
pub(super) fn json(name: &str, page: Vec<Value>, next: Option<String>) -> Value {
    json!({ name: page, "next": next })
}

/// The project that is asked for, or the only one that the caller sees. Fails if they are not the same.
pub(super) fn project(caller: &Caller, query: &Pairs) -> Result<Option<String>, Problem> {
    match query.given("project") {
        Some(project) if caller.sees(project) => Ok(Some(project.to_owned())),
        Some(_) => Err(Problem::not_found("there is no such project, or you do not see it")),
        None => Ok(caller.project.clone()),
    }
}

/// A value of `true` or `false`.
pub(super) fn flag(query: &Pairs, name: &str) -> Result<Option<bool>, Problem> {
    match query.get(name) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(Problem::bad_request(format!("{name} must be true or false"))),
    }
}

#[cfg(test)]
mod tests {
    use punchlist_model::PlanId;

    use super::*;

    #[test]
    fn the_key_of_a_recent_entry_is_read_back() {
        let at = Timestamp::from_millisecond(1_700_000_000_123).unwrap();
        let id: PlanId = "0199aaaa-0000-7000-8000-000000000007".parse().unwrap();
        assert_eq!(of_recent::<PlanId>(&recent(at, &id)).unwrap(), (at, id));
        for bad in ["", "-", "1", "x-y", "00000000000000000001-", "9999999999999999999999-1"] {
            assert!(of_recent::<PlanId>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_cursor_of_a_search_is_read_back() {
        let updated_at = Timestamp::from_millisecond(1_700_000_000_123).unwrap();
        let plan: PlanId = "0199aaaa-0000-7000-8000-000000000007".parse().unwrap();
        let item = FoundAt { updated_at, plan, number: punchlist_model::Number(12) };
        let session = (updated_at, ConversationId(plan.0));
        for items in [Rest::Whole, Rest::After(item), Rest::Nothing] {
            for sessions in [Rest::Whole, Rest::After(session), Rest::Nothing] {
                let cursor = SearchCursor { items, sessions };
                match cursor.next() {
                    Some(text) => assert_eq!(SearchCursor::parse(Some(&text)).unwrap(), cursor),
                    None => assert_eq!((items, sessions), (Rest::Nothing, Rest::Nothing)),
                }
            }
        }
        for bad in ["", "x", "1~x", "00000000000000000001-x.1~", "~end~", "end"] {
            assert!(SearchCursor::parse(Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn pages_have_every_entry_once_even_if_some_vanish() {
        let all: Vec<u32> = (0..10).collect();
        let key = |it: &u32| format!("{it:04}");
        let (first, next) = Page { after: None, limit: 4 }.cut(all.clone(), key);
        assert_eq!((first, next.as_deref()), (vec![0, 1, 2, 3], Some("0003")));
        let without: Vec<u32> = all.into_iter().filter(|it| *it != 3).collect();
        let (second, next) = Page { after: Some("0003"), limit: 6 }.cut(without, key);
        assert_eq!((second, next), (vec![4, 5, 6, 7, 8, 9], None));
        assert_eq!(Page { after: Some("zzz"), limit: 6 }.cut(vec![1], key), (vec![], None));
    }
}
