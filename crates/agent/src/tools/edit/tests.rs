//! How an edit changes a text, and when it is refused.

use super::{Arguments, replaced};

fn edit(text: &str, old: &str, new: &str, replace_all: bool) -> String {
    let input =
        Arguments { path: String::new(), old: old.to_owned(), new: new.to_owned(), replace_all };
    match replaced(text, &input) {
        Ok((text, places)) => format!("{places}: {text}"),
        Err(why) => format!("refused: {why}"),
    }
}

#[track_caller]
fn check(text: &str, old: &str, new: &str, expected: &str) {
    assert_eq!(edit(text, old, new, false), expected);
}

#[test]
fn a_piece_that_is_there_once_is_replaced() {
    check("a b c", "b", "x", "1: a x c");
    check("a b c", "b ", "", "1: a c");
    check("é\nü", "ü", "ö\n", "1: é\nö\n");
    check("\u{feff}a", "a", "b", "1: \u{feff}b");
}

#[test]
fn a_piece_that_is_not_there_is_refused_with_a_guess_why() {
    let gone = "refused: the old text is not in the file";
    check("a b", "c", "x", &format!("{gone}; read the file again"));
    check("a\n\tb", "a b", "x", &format!("{gone}; only its blanks or line ends differ"));
    check("a\nb\n", "     1\ta", "x", &format!("{gone}; leave the line numbers out"));
}

#[test]
fn a_piece_that_is_there_more_than_once_is_refused_unless_all_are_meant() {
    let twice = "the old text is there more than once, at lines";
    let hint = "give more of what is around it, or set replace_all";
    check("x\ny\nx", "x", "z", &format!("refused: {twice} 1, 3; {hint}"));
    check("aaa", "aa", "b", &format!("refused: {twice} 1, 1; {hint}"));
    check("\n\n\n", "\n\n", "b", &format!("refused: {twice} 1, 2; {hint}"));
    assert_eq!(edit("x\ny\nx", "x", "z", true), "2: z\ny\nz");
    assert_eq!(edit("aaa", "aa", "b", true), "1: ba");
    let many = "x\n".repeat(99);
    assert!(edit(&many, "x", "z", false).contains("9, 10 and maybe more; "));
}

#[test]
fn a_file_does_not_grow_without_bounds() {
    let (text, new) = ("x".repeat(1_000_000), "y".repeat(1_000_000));
    assert_eq!(
        edit(&text, "x", &new, true),
        "refused: the file would be longer than 8388608 bytes"
    );
    assert!(edit("x", "x", &"y".repeat(9_000_000), false).starts_with("refused: "));
}

#[test]
fn line_ends_of_the_file_are_kept() {
    check("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "1: x\r\ny\r\nc\r\n");
    check("a\r\nb\r\n", "b", "x\ny", "1: a\r\nx\r\ny\r\n");
    check("a\r\nb\r\n", "a\r\nb", "x\r\ny", "1: x\r\ny\r\n");
    // If a file has both kinds of line ends, the given text must match exactly.
    check("a\r\nb\nc\n", "a\r\nb", "x\ny", "1: x\ny\nc\n");
}
