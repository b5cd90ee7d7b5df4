//! Tests of diffs: what they look like, and what holds for every text.

use proptest::prelude::*;
use punchlist_formats::text::line::to_plain;
use punchlist_testkit::naughty;

use super::*;

const BEFORE: &str = "\
use std::io;

fn main() {
    println!(\"hello\");
}

fn a() {}
fn b() {}
fn c() {}
fn d() {}
fn e() {}
fn f() {}
fn g() {}
fn h() {}
";

fn after() -> String {
    BEFORE
        .replace("hello\"", "hello, {}\", name()")
        .replace("fn h() {}\n", "fn h() { 日本 }\nfn i() {}\n")
}

const UNIFIED: &str = "\
--- a/src/main.rs
+++ b/src/main.rs
@@ -1,4 +1,4 @@
 fn main() {
--- not a head
-\told
++ nor this
+\tnew
 }
\\ No newline at end of file
@@ -20 +20,2 @@
 tail
+more
other words
";

#[test]
fn a_change_at_every_width() {
    let screen = |it| to_plain(&lines(BEFORE, &after(), "src/main.rs", it, Glyphs::Unicode));
    let screens = [24, 40, 80, 120].map(|it| format!("{it} columns\n{}", screen(it)));
    insta::assert_snapshot!(screens.join("\n\n"));
}

#[test]
fn a_unified_diff_at_every_width() {
    let screen = |it| to_plain(&unified(UNIFIED, it, Glyphs::Unicode));
    let screens = [40, 80, 120].map(|it| format!("{it} columns\n{}", screen(it)));
    insta::assert_snapshot!(screens.join("\n\n"));
}

#[test]
fn the_words_that_changed_are_marked() {
    let lines = lines("let a = 1;\n", "let a = 2;\n", "x", 80, Glyphs::Unicode);
    let marked = |style| {
        let spans = lines.iter().flat_map(Line::spans);
        spans.filter(|it| it.style == style).map(|it| it.text.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(marked(Style::RemovedWord), ["1"]);
    assert_eq!(marked(Style::AddedWord), ["2"]);
}

#[test]
fn what_a_terminal_would_not_show_is_drawn() {
    let screen = |before, after, glyphs| to_plain(&lines(before, after, "x", 80, glyphs));
    let after = "a\r\n\tb\u{1b}[31m\u{202e}\u{200b}\nno end";
    assert_eq!(
        screen("a\n", after, Glyphs::Unicode),
        "x  +3 -1\n1 - a\n1 + a␍\n2 + →   b␛[31m<U+202E><U+200B>\n3 + no end (no line break at the end)"
    );
    assert_eq!(
        screen("a\n", after, Glyphs::Ascii),
        "x  +3 -1\n1 - a\n1 + a\\r\n2 + >   b^[[31m<U+202E><U+200B>\n3 + no end (no line break at the end)"
    );
}

#[test]
fn texts_that_cannot_be_compared_are_named() {
    let screen =
        |before: &str, after: &str| to_plain(&lines(before, after, "x", 80, Glyphs::Unicode));
    assert_eq!(screen("a", "a"), "x\nno change");
    assert_eq!(screen("a", "\0b"), "x\nbinary: 1 bytes become 2");
    assert_eq!(screen("\u{fffd}\u{fffd}abc", "b"), "x\nbinary: 9 bytes become 1");
    let huge = "a".repeat(MOST_BYTES + 1);
    assert_eq!(screen("", &huge), "x\ntoo large to be compared: 0 bytes become 4194305");
}

#[test]
fn a_large_change_is_bounded_and_says_what_is_left_out() {
    let many = |word: &str| (0..5_000).map(|n| format!("{word} {n}\n")).collect::<String>();
    let (old, new) = (many("old"), many("new"));
    for width in [80, 160] {
        let lines = lines(&old, &new, "x", width, Glyphs::Unicode);
        assert!(lines.len() < 4_100, "{}", lines.len());
        assert!(to_plain(&lines).contains("… 3000 more lines"));
    }
    let long = format!("{}\n", "x".repeat(100_000));
    let lines = lines("", &long, "x", 80, Glyphs::Unicode);
    assert!(lines.len() < 40 && to_plain(&lines).contains("98000 more characters"));
}

#[test]
fn hostile_texts_are_drawn_and_fit() {
    for one in naughty() {
        let text: String = one.text.chars().take(20_000).collect();
        for width in [1, 20, 130] {
            let mut all = lines("a\n", &text, one.name, width, Glyphs::Unicode);
            all.extend(unified(&text, width, Glyphs::Unicode));
            for line in all {
                assert!(line.width() <= usize::from(width), "{}: {line:?}", one.name);
                assert!(!line.to_plain().contains(char::is_control), "{}: {line:?}", one.name);
            }
        }
    }
}

fn any_lines() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            "a\n", "b\n", "a b c\n", "\n", "\t", "\r\n", "\r", "日本\n", "שלום\n", "\u{1b}[2J",
            "\u{202e}", "\u{301}", "@@ -1,2 +3 @@\n", "@@ -0,0 +1,99 @@\n", "+", "-", " ", "--- a\n",
            "+++ b\n", "\\ No newline\n", "@@ -4294967295,1 +1 @@\n", "🇩🇪", "👩‍👩‍👧‍👦",
        ])
        .prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_line_fits_and_no_control_character_is_drawn(
        before in any_lines(),
        after in any_lines(),
        width in prop_oneof![1_u16..60, 118_u16..140],
        glyphs in prop::sample::select(Glyphs::ALL.to_vec()),
    ) {
        let mut all = lines(&before, &after, &before, width, glyphs);
        all.extend(unified(&(before + &after), width, glyphs));
        for line in all {
            prop_assert!(line.width() <= usize::from(width), "{width}: {line:?}");
            prop_assert!(!line.to_plain().contains(char::is_control), "{line:?}");
        }
    }

    /// Whoever reads the lines with `+` and the unchanged ones reads the new text.
    #[test]
    fn every_changed_line_is_drawn(before in "([ab]\n){0,12}", after in "([ab]\n){0,12}") {
        let drawn = to_plain(&lines(&before, &after, "x", 80, Glyphs::Unicode));
        let count = |sign: &str| drawn.lines().skip(1).filter(|it| it.contains(sign)).count();
        let (old, new) = (before.lines().count(), after.lines().count());
        if before != after {
            prop_assert_eq!(count(" + ") + old, count(" - ") + new, "{}", drawn);
        }
    }
}
