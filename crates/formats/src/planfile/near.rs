//! Which known word somebody may have meant.

/// Longer words are not compared: a suggestion is a courtesy and must cost next to nothing.
const LONGEST: usize = 80;

/// The known word nearest to `word`, if one is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word)?;
    let most = match word.len() {
        0..=2 => 0,
        3..=4 => 1,
        5..=8 => 2,
        length => length / 4,
    };
    let far = |name: &&'a str| {
        let name = folded(name)?;
        (name.len().abs_diff(word.len()) <= most).then(|| distance(&word, &name))
    };
    known
        .filter_map(|name| Some((far(&name)?, name)))
        .min_by_key(|(far, _)| *far)
        .filter(|(far, _)| *far <= most)
        .map(|(_, name)| name)
}

fn folded(word: &str) -> Option<Vec<char>> {
    let chars: Vec<char> = word.chars().flat_map(char::to_lowercase).take(LONGEST + 1).collect();
    (chars.len() <= LONGEST).then_some(chars)
}

/// How many letters must be put in, taken out, changed or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect(), Vec::new()];
    for (i, from) in a.iter().enumerate() {
        let [before, last, _] = &rows;
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let changed = last[j] + usize::from(from != to);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *to && *from == b[j - 1] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        rows[2] = row;
        rows.rotate_left(1);
    }
    rows[1].last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_suggested_and_nothing_else() {
        let known = || ["run", "verify", "covers", "Write the notes"].into_iter();
        assert_eq!(nearest("veryfy", known()), Some("verify"));
        assert_eq!(nearest("vreify", known()), Some("verify"));
        assert_eq!(nearest("rnu", known()), Some("run"));
        assert_eq!(nearest("Write the note", known()), Some("Write the notes"));
        assert_eq!(nearest("note", known()), None);
        assert_eq!(nearest("rust", known()), None);
        assert_eq!(nearest("", known()), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), known()), None);
    }
}
