//! File patterns: `*`, `?` and `[…]` within a name, and `**` for any number of directories.
//!
//! Shells expand patterns themselves. This module is for quoted patterns and for more files than
//! fit on a command line. It only lists directories.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Maximum depth of `**`. It also ends cycles of symbolic links.
const DEEPEST: usize = 64;

/// Whether a path contains a pattern.
pub fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// The files that match a pattern, sorted. A directory that cannot be listed is an error; a missing
/// directory is not.
pub fn files(pattern: &Path) -> io::Result<Vec<PathBuf>> {
    files_in(PathBuf::new(), pattern)
}

/// The files below a directory that match a pattern. The directory's own name is taken literally.
pub fn files_in(base: PathBuf, pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let parts: Vec<Component<'_>> = pattern.components().collect();
    let mut found = Vec::new();
    walk(base, &parts, 0, &mut found)?;
    found.sort();
    found.dedup();
    Ok(found)
}

fn walk(
    base: PathBuf,
    parts: &[Component<'_>],
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let Some((part, rest)) = parts.split_first() else {
        if base.is_file() {
            found.push(base);
        }
        return Ok(());
    };
    let Component::Normal(name) = part else { return walk(base.join(part), rest, depth, found) };
    let name = name.to_string_lossy();
    if !is_pattern(Path::new(&*name)) {
        return walk(base.join(&*name), rest, depth, found);
    }
    if name == "**" {
        walk(base.clone(), rest, depth, found)?;
    }
    if depth >= DEEPEST {
        return Ok(());
    }
    for (entry, is_directory) in entries(&base)? {
        // Hidden files match only if the pattern itself begins with a dot.
        let is_hidden = entry.starts_with('.') && !name.starts_with('.');
        let path = base.join(&entry);
        match &*name {
            "**" if is_directory && !is_hidden => walk(path, parts, depth + 1, found)?,
            "**" => {}
            _ if !is_hidden && matches(&name, &entry) => walk(path, rest, depth, found)?,
            _ => {}
        }
    }
    Ok(())
}

/// The names in a directory, and whether each is a directory itself.
fn entries(directory: &Path) -> io::Result<Vec<(String, bool)>> {
    let here = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let listed = match fs::read_dir(here) {
        Ok(listed) => listed,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) if why.kind() == io::ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(why) => return Err(why),
    };
    let mut names = Vec::new();
    for entry in listed {
        let entry = entry?;
        // A name that is not UTF-8 cannot match a typed pattern.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_directory = entry.file_type().is_ok_and(|it| it.is_dir());
        names.push((name, is_directory));
    }
    Ok(names)
}

/// Whether a name matches a pattern. It backtracks only to the last star, so the time is at most
/// the product of the two lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
            continue;
        }
        if let Some(next) = one(&pattern, p, name[n]) {
            (p, n) = (next, n + 1);
            continue;
        }
        let Some((at, taken)) = star else { return false };
        star = Some((at, taken + 1));
        (p, n) = (at + 1, taken + 1);
    }
    pattern[p..].iter().all(|it| *it == '*')
}

/// Matches one character against the pattern at `at`. Returns where the pattern continues.
fn one(pattern: &[char], at: usize, ch: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => {
            let is_not = matches!(pattern.get(at + 1), Some('!' | '^'));
            let first = at + 1 + usize::from(is_not);
            // A closing bracket in first place is one of the characters.
            let after = pattern.get(first + 1..).unwrap_or_default();
            let end = after.iter().position(|it| *it == ']');
            let Some(end) = end.map(|it| first + 1 + it) else {
                return (ch == '[').then_some(at + 1);
            };
            let set = &pattern[first..end];
            let mut fits = false;
            let mut i = 0;
            while i < set.len() {
                if set.get(i + 1) == Some(&'-') && i + 2 < set.len() {
                    fits |= (set[i]..=set[i + 2]).contains(&ch);
                    i += 3;
                } else {
                    fits |= set[i] == ch;
                    i += 1;
                }
            }
            (fits != is_not).then_some(end + 1)
        }
        other => (*other == ch).then_some(at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in [
            ("*.jsonl", "a.jsonl", true),
            ("*.jsonl", "a.json", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("?", "é", true),
            ("?", "", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]x]", "]", true),
            ("[-a]", "-", true),
            ("[", "[", true),
            ("[a", "[a", true),
            ("**", "anything", true),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        let long = "a".repeat(5_000);
        assert!(!matches(&"*a".repeat(100), &(long.clone() + "b")));
        assert!(matches(&("*a".repeat(100) + "*"), &long));
    }

    #[test]
    fn files_are_found_in_order_once_and_hidden_ones_only_by_name() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["b.jsonl", "a.jsonl", "x/c.jsonl", "x/y/d.jsonl", ".h/e.jsonl", "x/n.txt"] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let check = |pattern: &str, expected: &[&str]| {
            let found = files(&dir.path().join(pattern)).unwrap();
            let expected: Vec<_> = expected.iter().map(|it| dir.path().join(it)).collect();
            assert_eq!(found, expected, "{pattern}");
        };
        check("*.jsonl", &["a.jsonl", "b.jsonl"]);
        check("**/*.jsonl", &["a.jsonl", "b.jsonl", "x/c.jsonl", "x/y/d.jsonl"]);
        check("**/**/*.jsonl", &["a.jsonl", "b.jsonl", "x/c.jsonl", "x/y/d.jsonl"]);
        check("x/*", &["x/c.jsonl", "x/n.txt"]);
        check(".*/*", &[".h/e.jsonl"]);
        check("*/*/*.jsonl", &["x/y/d.jsonl"]);
        check("none/*", &[]);
        check("a.jsonl/*", &[]);
    }
}
