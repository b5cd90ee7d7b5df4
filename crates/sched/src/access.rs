//! Which files calls read and write, and which calls conflict.
//!
//! Paths are compared as text: the caller resolves symbolic links before it makes a [`Scope`]. If
//! it is uncertain whether two scopes overlap, they count as overlapping: that costs a little
//! waiting, while the opposite could lose a write.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// What a call reads and writes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Access {
    /// Whether the call must run alone.
    #[serde(default)]
    pub exclusive: bool,
    /// What the call reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Scope>,
    /// What the call writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Scope>,
}

impl Access {
    /// The call reads and writes nothing that other calls could use.
    pub fn none() -> Self {
        Self::default()
    }

    /// The call must run alone.
    pub fn exclusive() -> Self {
        Self { exclusive: true, ..Self::default() }
    }

    /// The call reads these paths.
    pub fn reads<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self { reads: paths.into_iter().map(Scope::new).collect(), ..Self::default() }
    }

    /// The call writes these paths.
    pub fn writes<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self { writes: paths.into_iter().map(Scope::new).collect(), ..Self::default() }
    }

    /// Whether the call can conflict with no other.
    pub fn is_free(&self) -> bool {
        !self.exclusive && self.reads.is_empty() && self.writes.is_empty()
    }

    /// Whether the two calls must not run at the same time.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let meet = |these: &[Scope], those: &[Scope]| {
            these.iter().any(|this| those.iter().any(|that| this.meets(that)))
        };
        self.exclusive
            || other.exclusive
            || meet(&self.writes, &other.writes)
            || meet(&self.writes, &other.reads)
            || meet(&self.reads, &other.writes)
    }
}

/// A set of files: a path with everything below it, or a pattern with `*`, `?`, `[…]`, `{…}` and
/// `**`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Scope {
    parts: Vec<Part>,
    text: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    /// Any number of components.
    Any,
    /// A name, in lower case, because some file systems ignore case.
    Name(String),
    /// A pattern: the beginning and the end that all its names share.
    Like { head: String, tail: String },
}

impl Scope {
    /// The scope of a path or pattern.
    pub fn new(path: &str) -> Self {
        let mut parts = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                // The parent of a pattern is unknown, so it may be anything.
                ".." => match parts.pop() {
                    Some(Part::Any) => parts.push(Part::Any),
                    Some(Part::Name(_) | Part::Like { .. }) | None => {}
                },
                part => parts.push(Part::of(part)),
            }
        }
        Self { parts, text: path.to_owned() }
    }

    /// Whether the two scopes may have a file in common.
    pub fn meets(&self, other: &Self) -> bool {
        // `reached[j]`: the components so far may name the same path as the first j components of
        // the other.
        let (these, those) = (&self.parts, &other.parts);
        let mut reached = vec![false; those.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        spread(&mut reached, those);
        for part in these {
            // The other path ends here, and everything below it belongs to it.
            if reached.last() == Some(&true) {
                return true;
            }
            let mut next = vec![false; reached.len()];
            for (j, there) in reached.iter().enumerate().filter(|(_, there)| **there) {
                debug_assert!(*there);
                match (part, those.get(j)) {
                    (Part::Any, _) => next.iter_mut().skip(j).for_each(|it| *it = true),
                    (_, Some(Part::Any)) => mark(&mut next, j),
                    (part, Some(that)) if part.may_be(that) => mark(&mut next, j + 1),
                    (Part::Name(_) | Part::Like { .. }, Some(_) | None) => {}
                }
            }
            spread(&mut next, those);
            reached = next;
        }
        // This path ends here, so the rest of the other path is below it.
        reached.contains(&true)
    }
}

fn mark(reached: &mut [bool], j: usize) {
    if let Some(there) = reached.get_mut(j) {
        *there = true;
    }
}

/// `**` may also match nothing.
fn spread(reached: &mut [bool], parts: &[Part]) {
    for (j, part) in parts.iter().enumerate() {
        if reached.get(j) == Some(&true) && *part == Part::Any {
            mark(reached, j + 1);
        }
    }
}

impl Part {
    fn of(text: &str) -> Self {
        if text == "**" {
            return Self::Any;
        }
        let text = text.to_lowercase();
        let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\');
        match (text.find(special), text.rfind(special)) {
            (Some(first), Some(last)) => {
                let head = text.get(..first).unwrap_or_default().to_owned();
                let tail = text.get(last + 1..).unwrap_or_default().to_owned();
                Self::Like { head, tail }
            }
            (None, _) | (_, None) => Self::Name(text),
        }
    }

    fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Name(this), Self::Name(that)) => this == that,
            (Self::Name(name), Self::Like { head, tail })
            | (Self::Like { head, tail }, Self::Name(name)) => {
                name.len() >= head.len() + tail.len()
                    && name.starts_with(head.as_str())
                    && name.ends_with(tail.as_str())
            }
            (Self::Like { head, tail }, Self::Like { head: head2, tail: tail2 }) => {
                (head.starts_with(head2.as_str()) || head2.starts_with(head.as_str()))
                    && (tail.ends_with(tail2.as_str()) || tail2.ends_with(tail.as_str()))
            }
        }
    }
}

impl From<String> for Scope {
    fn from(path: String) -> Self {
        Self::new(&path)
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.text
    }
}
