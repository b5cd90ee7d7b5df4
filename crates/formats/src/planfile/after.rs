//! Resolves `after:`: finds the items that titles name, and reports cycles.

use std::collections::{BTreeMap, HashMap};

use super::lines::Line;
use super::read::{MOST_PROBLEMS, Spot, quoted};
use super::{PlanFile, Problem, Severity};
use crate::text::nearest;

/// One `after:` line.
pub(super) struct Wanted<'a> {
    /// The item that has the `after:`.
    pub(super) item: usize,
    /// The line of the `after:`.
    pub(super) line: Line<'a>,
    /// Where the value begins in the line, in bytes.
    pub(super) from: usize,
    /// The value.
    pub(super) text: &'a str,
}

/// A value with more commas than this is split only by quotes.
const MOST_COMMAS: usize = 16;

/// A longer text is never looked up as a title.
const LONGEST: usize = 2_000;

/// Most dependencies of all items together, including those inherited from parents.
const MOST_WAITS: usize = 200_000;

/// Most titles that are searched for a suggestion, and most suggestions.
const MOST_NEAR: usize = 2_000;
const MOST_HINTS: usize = 20;

/// Resolves the dependencies of all items, and notes what cannot be resolved.
pub(super) fn resolve(file: &mut PlanFile, wanted: &[Wanted<'_>]) {
    let names = Names::of(file);
    let mut problems = Vec::new();
    let mut links = Links::default();
    let mut hints = MOST_HINTS;
    for line in wanted {
        for (from, to) in names.split(line.text) {
            // Finding a column costs time for each problem, so the number of problems is limited.
            if problems.len() >= MOST_PROBLEMS {
                break;
            }
            let text = unquoted(&line.text[from..to]);
            let at = Place { line: line.line, from: line.from + from, to: line.from + to };
            match names.find(file, line.item, text) {
                Ok(on) if on == line.item => {
                    let what = format!("{} waits for itself", quoted(text));
                    let hint = "remove it from `after:`.".to_owned();
                    problems.push(at.spot().problem(Severity::Error, what, Some(hint)));
                }
                Ok(on) => {
                    links.entry((line.item, on)).or_insert(at);
                }
                Err(found) => {
                    hints = hints.saturating_sub(1);
                    problems.push(names.missing(file, at.spot(), text, &found, hints > 0));
                }
            }
        }
    }
    for (item, on) in links.keys() {
        file.items[*item].fields.after.push(*on);
    }
    if let Some(problem) = too_many(file) {
        problems.push(problem);
    } else {
        circles(file, &links, &mut problems);
    }
    file.problems.append(&mut problems);
}

/// The dependencies, and where each is written.
type Links<'a> = BTreeMap<(usize, usize), Place<'a>>;

/// A part of a line.
struct Place<'a> {
    line: Line<'a>,
    from: usize,
    to: usize,
}

impl Place<'_> {
    fn spot(&self) -> Spot {
        Spot::of(&self.line, self.from, self.to)
    }
}

/// Every title, as written and folded.
struct Names {
    exact: HashMap<String, Vec<usize>>,
    folded: HashMap<String, Vec<usize>>,
    most_commas: usize,
}

impl Names {
    fn of(file: &PlanFile) -> Self {
        let mut names = Self { exact: HashMap::new(), folded: HashMap::new(), most_commas: 0 };
        for (index, item) in file.items.iter().enumerate() {
            if item.title.len() > LONGEST {
                continue;
            }
            names.exact.entry(item.title.clone()).or_default().push(index);
            names.folded.entry(fold(&item.title)).or_default().push(index);
            let commas = item.title.matches(',').count();
            names.most_commas = names.most_commas.max(commas).min(MOST_COMMAS);
        }
        names
    }

    /// The ranges of the titles in a value, split at commas. A title that contains commas wins over
    /// its parts.
    fn split(&self, text: &str) -> Vec<(usize, usize)> {
        let commas = text.match_indices(',').map(|(at, _)| at);
        let ends: Vec<usize> = commas.chain([text.len()]).collect();
        let mut found = Vec::new();
        let mut from = 0;
        let mut next = 0;
        while next < ends.len() {
            let longest = (next + self.most_commas).min(ends.len() - 1);
            let known = (next..=longest).rev().find(|end| {
                let part = text[from..ends[*end]].trim();
                part.len() <= LONGEST && self.is_known(part)
            });
            let end = known.or_else(|| quote_end(text, from, &ends, next)).unwrap_or(next);
            let part = &text[from..ends[end]];
            let start = from + (part.len() - part.trim_start().len());
            if !part.trim().is_empty() {
                found.push((start, start + part.trim().len()));
            }
            from = ends[end] + 1;
            next = end + 1;
        }
        found
    }

    fn is_known(&self, text: &str) -> bool {
        self.exact.contains_key(text) || self.folded.contains_key(&fold(text))
    }

    fn titled(&self, text: &str) -> &[usize] {
        let exact = self.exact.get(text);
        exact.or_else(|| self.folded.get(&fold(text))).map_or(&[], Vec::as_slice)
    }

    /// The item that a text names. An item at the same level wins over one elsewhere.
    fn find(&self, file: &PlanFile, asker: usize, text: &str) -> Result<usize, Vec<usize>> {
        let mut found = self.titled(text).to_vec();
        if found.is_empty() && text.len() <= LONGEST {
            found = self.at_path(file, text);
        }
        if found.len() > 1 {
            found.retain(|it| *it != asker);
        }
        let (asker, items) = (&file.items[asker], &file.items);
        let beside = |it: &&usize| {
            items[**it].parent == asker.parent && items[**it].section == asker.section
        };
        let same_section = |it: &&usize| items[**it].section == asker.section;
        only(found.iter().filter(beside))
            .or_else(|| only(found.iter().filter(same_section)))
            .or_else(|| only(found.iter()))
            .ok_or(found)
    }

    /// The items that a path names: `Production / Deploy`.
    fn at_path(&self, file: &PlanFile, text: &str) -> Vec<usize> {
        let Some((above, title)) = text.rsplit_once(" / ") else { return Vec::new() };
        let above: Vec<String> = above.split(" / ").map(fold).collect();
        let fits = |index: &usize| {
            let Some(item) = file.items.get(*index) else { return false };
            let mut chain: Vec<String> = file.title.iter().map(|it| fold(it)).collect();
            chain.extend(item.section.split(" / ").filter(|it| !it.is_empty()).map(fold));
            let path = file.path(*index);
            chain.extend(path[..path.len().saturating_sub(1)].iter().map(|it| fold(it)));
            chain.ends_with(&above)
        };
        self.titled(title.trim()).iter().copied().filter(fits).collect()
    }

    fn missing(
        &self,
        file: &PlanFile,
        spot: Spot,
        text: &str,
        found: &[usize],
        suggest: bool,
    ) -> Problem {
        if found.is_empty() {
            let titles = file.items.iter().take(MOST_NEAR).map(|it| it.title.as_str());
            let near = if suggest { nearest(text, titles) } else { None };
            let hint = near.map_or_else(
                || "`after:` takes titles of this file, with commas between them.".to_owned(),
                |near| format!("did you mean {}?", quoted(near)),
            );
            let what = format!("no item is called {}", quoted(text));
            return spot.problem(Severity::Error, what, Some(hint));
        }
        let lines: Vec<String> =
            found.iter().take(5).map(|it| file.items[*it].line.to_string()).collect();
        let what =
            format!("{} may be any of the items in lines {}", quoted(text), lines.join(", "));
        let hint = "name its parent too: `after: Parent / Title`.".to_owned();
        spot.problem(Severity::Error, what, Some(hint))
    }
}

fn only<'a>(mut found: impl Iterator<Item = &'a usize>) -> Option<usize> {
    let first = found.next()?;
    found.next().is_none().then_some(*first)
}

/// The comma, or the end, after a quoted text.
fn quote_end(text: &str, from: usize, ends: &[usize], next: usize) -> Option<usize> {
    let part = text[from..].trim_start();
    let close = closing(part)?;
    let open = part.chars().next()?.len_utf8();
    let at = text.len() - part.len() + open;
    let near = text[at..].char_indices().take(LONGEST).find(|(_, ch)| *ch == close);
    let end = at + near?.0;
    (next..ends.len()).find(|it| ends[*it] > end)
}

fn closing(text: &str) -> Option<char> {
    match text.chars().next()? {
        '"' => Some('"'),
        '\'' => Some('\''),
        '“' => Some('”'),
        '`' => Some('`'),
        _ => None,
    }
}

fn unquoted(text: &str) -> &str {
    let inner = closing(text).and_then(|close| {
        let mut letters = text.chars();
        letters.next();
        letters.as_str().strip_suffix(close)
    });
    inner.map_or(text, str::trim)
}

/// A title without what people leave out when they name it: emphasis, case, the full stop.
fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        let plain = word.chars().filter(|ch| !matches!(ch, '*' | '_' | '`' | '\\'));
        out.extend(plain.flat_map(char::to_lowercase));
    }
    out.truncate(out.trim_end_matches('.').len());
    out
}

fn too_many(file: &PlanFile) -> Option<Problem> {
    let mut waits = vec![0_usize; file.items.len()];
    let mut all = 0_usize;
    for (index, item) in file.items.iter().enumerate() {
        waits[index] = item.fields.after.len() + item.parent.map_or(0, |parent| waits[parent]);
        all = all.saturating_add(waits[index]);
        if all > MOST_WAITS {
            let spot = Spot { line: item.line, column: 1, length: 1 };
            let what = format!("the items wait for more than {MOST_WAITS} others in all");
            let hint = "let them wait for one item that waits for the rest.".to_owned();
            return Some(spot.problem(Severity::Error, what, Some(hint)));
        }
    }
    None
}

/// Notes cycles.
///
/// Each item has a start node and an end node. It starts after the items that it names have ended,
/// and not before its parent may start; it ends after its sub-items.
fn circles(file: &PlanFile, links: &Links<'_>, problems: &mut Vec<Problem>) {
    let mut under: Vec<Vec<usize>> = vec![Vec::new(); file.items.len()];
    for (index, item) in file.items.iter().enumerate() {
        if let Some(parent) = item.parent {
            under[parent].push(index);
        }
    }
    let needs = |node: usize, n: usize| -> Option<usize> {
        let (item, is_end) = (&file.items[node / 2], node % 2 == 1);
        let (others, own) = if is_end {
            (&under[node / 2], Some(node - 1))
        } else {
            (&item.fields.after, item.parent.map(|parent| parent * 2))
        };
        others.get(n).map(|it| it * 2 + 1).or_else(|| own.filter(|_| n == others.len()))
    };
    let mut done = vec![false; file.items.len() * 2];
    let mut at = vec![usize::MAX; file.items.len() * 2];
    for start in 0..done.len() {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if !done[start] {
            at[start] = 0;
            path.push((start, 0));
        }
        while let Some((node, n)) = path.last_mut() {
            let Some(next) = needs(*node, *n) else {
                done[*node] = true;
                at[*node] = usize::MAX;
                path.pop();
                continue;
            };
            *n += 1;
            if at[next] != usize::MAX && problems.len() < MOST_PROBLEMS {
                let nodes: Vec<usize> = path[at[next]..].iter().map(|it| it.0).collect();
                problems.extend(circle(file, links, &nodes));
            } else if at[next] == usize::MAX && !done[next] {
                at[next] = path.len();
                path.push((next, 0));
            }
        }
    }
}

/// The text for a cycle, at the first place where it could be broken.
fn circle(file: &PlanFile, links: &Links<'_>, nodes: &[usize]) -> Option<Problem> {
    let mut items: Vec<usize> = nodes.iter().map(|it| it / 2).collect();
    items.dedup();
    if items.len() > 1 && items.first() == items.last() {
        items.pop();
    }
    let first = (0..items.len()).min_by_key(|at| items[*at])?;
    items.rotate_left(first);
    items.push(*items.first()?);
    let spot = items.windows(2).find_map(|pair| links.get(&(pair[0], pair[1])))?.spot();
    let shown = items.iter().take(8).map(|it| quoted(&file.items[*it].title));
    let mut shown: Vec<String> = shown.collect();
    if items.len() > 8 {
        shown.push("…".to_owned());
    }
    let what = format!("these wait for each other: {}", shown.join(" → "));
    let nested = items.windows(2).any(|pair| !links.contains_key(&(pair[0], pair[1])));
    let hint = if nested {
        "an item ends after its sub-items, so they cannot wait for it."
    } else {
        "remove one of them from an `after:`."
    };
    Some(spot.problem(Severity::Error, what, Some(hint.to_owned())))
}
