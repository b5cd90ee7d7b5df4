//! Finds the known word that somebody most likely meant: the one with the smallest edit distance.

/// Longer words are not compared, so that a suggestion stays cheap.
const LONGEST: usize = 80;

/// The known word nearest to `word`, if it is near enough.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word)?;
    let length = word.chars().count();
    let most = match length {
        0..=2 => 0,
        3..=4 => 1,
        5..=8 => 2,
        length => length / 4,
    };
    let far = |name: &&'a str| {
        let name = folded(name)?;
        (name.chars().count().abs_diff(length) <= most).then(|| strsim::osa_distance(&word, &name))
    };
    known
        .filter_map(|name| Some((far(&name)?, name)))
        .min_by_key(|(far, _)| *far)
        .filter(|(far, _)| *far <= most)
        .map(|(_, name)| name)
}

fn folded(word: &str) -> Option<String> {
    let mut letters = word.chars().flat_map(char::to_lowercase);
    let folded: String = letters.by_ref().take(LONGEST).collect();
    letters.next().is_none().then_some(folded)
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
