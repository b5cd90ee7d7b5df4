//! The last sentence of a text. Pure.

/// Characters that end a sentence before a space.
const ENDS: [char; 4] = ['.', '!', '?', '…'];
/// Characters of other scripts that end a sentence without a space.
const WIDE_ENDS: [char; 3] = ['。', '！', '？'];

/// The last sentence of a text: of its last line that is not code, without the marks of Markdown
/// around it. Empty if there is none.
pub fn last_sentence(text: &str) -> &str {
    let mut is_code = text.lines().filter(|it| is_fence(it)).count() % 2 == 1;
    for line in text.lines().rev() {
        if is_fence(line) {
            is_code = !is_code;
            continue;
        }
        let bare = line.trim_matches(|c: char| c.is_whitespace() || "#*_>`-•|".contains(c));
        if !is_code && bare.chars().any(char::is_alphanumeric) {
            return last_of(bare);
        }
    }
    ""
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// The last sentence of a line.
fn last_of(line: &str) -> &str {
    let mut from = 0;
    let mut ended = false;
    for (at, c) in line.char_indices() {
        if ended && c.is_whitespace() && line[at..].chars().any(char::is_alphanumeric) {
            from = at;
        }
        ended = ENDS.contains(&c);
        let after = at + c.len_utf8();
        if WIDE_ENDS.contains(&c) && line[after..].chars().any(char::is_alphanumeric) {
            from = after;
        }
    }
    line[from..].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sentence_of_the_last_line_that_is_not_code() {
        for (text, expected) in [
            ("", ""),
            ("\n \n", ""),
            ("Done.", "Done."),
            ("I read it. I fixed version 1.2. All tests pass!", "All tests pass!"),
            ("First.\n\n- **All done**\n", "All done"),
            ("Here it is:\n```\nfn main() {}\n```\n", "Here it is:"),
            ("It never closes:\n```\nlet a = 1.", "It never closes:"),
            ("終わりました。次に進みます。", "次に進みます。"),
            ("Is it safe? Yes", "Yes"),
            ("...", ""),
            ("a.b.c", "a.b.c"),
        ] {
            assert_eq!(last_sentence(text), expected, "{text:?}");
        }
    }

    #[test]
    fn hostile_texts_have_a_last_sentence_or_none() {
        for text in crate::text::naughty::NAUGHTY {
            last_sentence(text);
        }
    }
}
