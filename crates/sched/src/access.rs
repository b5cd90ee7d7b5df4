//! What calls touch, and which of them get in each other's way.
//!
//! Lexical only: whoever makes a [`Scope`] has resolved links. Where it cannot be told whether two
//! scopes meet, they do: the cost of that is a little waiting, the cost of the opposite a lost write.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// What a call touches.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Access {
    /// It must be alone: nothing else runs beside it.
    #[serde(default)]
    pub exclusive: bool,
    /// What it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Scope>,
    /// What it writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Scope>,
}

impl Access {
    /// Nothing that others could touch.
    pub fn none() -> Self {
        Self::default()
    }

    /// Everything: nothing may run beside it.
    pub fn exclusive() -> Self {
        Self { exclusive: true, ..Self::default() }
    }

    /// Reads these.
    pub fn reads<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self { reads: paths.into_iter().map(Scope::new).collect(), ..Self::default() }
    }

    /// Writes these.
    pub fn writes<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self { writes: paths.into_iter().map(Scope::new).collect(), ..Self::default() }
    }

    /// Whether it touches nothing that anybody else could mind.
    pub fn is_free(&self) -> bool {
        !self.exclusive && self.reads.is_empty() && self.writes.is_empty()
    }

    /// Whether the two must not run at once.
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

/// Some files: a path with all that is below it, or a pattern with `*`, `?`, `[…]`, `{…}` and `**`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Scope {
    parts: Vec<Part>,
    text: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    /// Any number of parts.
    Any,
    /// A name, in lower case: some file systems tell no more.
    Name(String),
    /// A pattern: what every name begins and ends with.
    Like { head: String, tail: String },
}

impl Scope {
    /// The files that a path or pattern names.
    pub fn new(path: &str) -> Self {
        let mut parts = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                // What is above a pattern cannot be told: anything.
                ".." => match parts.pop() {
                    Some(Part::Any) => parts.push(Part::Any),
                    Some(Part::Name(_) | Part::Like { .. }) | None => {}
                },
                part => parts.push(Part::of(part)),
            }
        }
        Self { parts, text: path.to_owned() }
    }

    /// Whether some file may be in both.
    pub fn meets(&self, other: &Self) -> bool {
        // `reached[j]`: the parts so far may name the same as the other's first j.
        let (these, those) = (&self.parts, &other.parts);
        let mut reached = vec![false; those.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        spread(&mut reached, those);
        for part in these {
            // The other's path ends here, and everything below it is its own.
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
        // This path ends here; wherever the other goes on from, it is below.
        reached.contains(&true)
    }
}

fn mark(reached: &mut [bool], j: usize) {
    if let Some(there) = reached.get_mut(j) {
        *there = true;
    }
}

/// `**` may also be nothing.
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
