//! How foreign text is cleaned, measured and escaped.

use proptest::prelude::*;

use super::clean::is_bidi_control;
use super::escape;
use super::glyph::{Glyphs, Sign};
use super::naughty::any_text;
use super::style::{Colour, Style};
use super::width::{pad, pad_left, truncate, truncate_with, width};
use super::{isolated, many_lines, one_line};

#[test]
fn escapes_are_removed_with_all_that_belongs_to_them() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(one_line(text), expected, "{text:?}");
    }
    check("plain", "plain");
    check("\u{1b}[31mred\u{1b}[0m", "red");
    check("\u{1b}[2J\u{1b}[Hgone", "gone");
    check("\u{9b}31mred\u{9b}0m", "red");
    check("\u{1b}]8;;https://evil.example\u{7}click\u{1b}]8;;\u{7}", "click");
    check("\u{1b}]0;title\u{1b}\\after", "after");
    check("\u{9d}0;title\u{9c}after", "after");
    check("\u{1b}P1$r0m\u{1b}\\after", "after");
    check("\u{90}1$r0m\u{9c}after", "after");
    check("\u{1b}_apc\u{1b}\\after \u{1b}^pm\u{1b}\\x \u{98}sos\u{9c}y", "after x y");
    check("\u{1b}(Bcharset \u{1b}cfull reset", "charset full reset");
    check("never ends \u{1b}]0;all of this", "never ends");
    check("never ends \u{1b}[", "never ends");
    // The parser takes the letter's second byte for the end of the sequence; the rest is shown and
    // harmless.
    check("\u{1b}PqÜafter", "after");
}

#[test]
fn controls_go_and_breaks_become_one_space() {
    assert_eq!(one_line("a\u{0}b\u{7}c\u{8}d\u{7f}e\u{80}f"), "abcdef");
    assert_eq!(one_line(" a\nb\r\nc\td\u{b}e\u{85}f\u{2028}g\n"), "a b c d e f g");
    assert_eq!(many_lines("a\nb\r\nc\rd\te\u{2029}f\u{1b}[1m"), "a\nb\nc\nd    e\nf");
    assert_eq!(many_lines("a\n\n\nb"), "a\n\n\nb");
}

#[test]
fn what_turns_text_around_or_hides_in_it_goes() {
    assert_eq!(one_line("evil\u{202e}gnp.exe\u{202c}"), "evilgnp.exe");
    assert_eq!(one_line("\u{2066}a\u{2069}\u{200e}b\u{200f}c\u{61c}d"), "abcd");
    assert_eq!(one_line("ze\u{200b}ro\u{feff} so\u{ad}ft\u{2060}"), "zero soft");
    assert_eq!(one_line("hid\u{e0041}\u{e0042}den a\u{fe0f}\u{fe01}b\u{200d}c"), "hidden abc");
    let tower = format!("Z{}", "\u{301}".repeat(1_000));
    assert_eq!(one_line(&tower).chars().count(), 9);
}

#[test]
fn what_scripts_and_emoji_need_stays() {
    for text in [
        "👨‍👩‍👧‍👦",
        "❤️‍🔥",
        "👋🏽",
        "🇩🇪",
        "1️⃣",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "می‌خواهم",
        "e\u{301}",
        "क्‍ष",
        "שָׁלוֹם",
        "葛\u{e0100}",
        "한\u{1112}\u{1161}\u{11ab}",
    ] {
        assert_eq!(one_line(text), text);
        assert_eq!(many_lines(text), text);
    }
}

#[test]
fn text_from_right_to_left_is_kept_from_its_neighbours() {
    assert_eq!(isolated("שלום"), "\u{2068}שלום\u{2069}");
    assert_eq!(isolated("plain 日本"), "plain 日本");
    assert_eq!(width(&isolated("שלום")), 4);
}

#[test]
fn width_counts_what_a_reader_sees() {
    #[track_caller]
    fn check(text: &str, columns: usize) {
        assert_eq!(width(text), columns, "{text:?}");
    }
    check("", 0);
    check("abc", 3);
    check("日本", 4);
    check("ｗ", 2);
    check("e\u{301}", 1);
    check("👨‍👩‍👧‍👦", 2);
    check("🇩🇪🇯🇵", 4);
    check("👋🏽", 2);
    check("1️⃣", 2);
    check("لا", 2);
    check("┌─┐│█░…→", 8);
    check("📋❕✅❌", 8);
}

#[test]
fn a_joiner_before_what_is_taken_out_goes_too() {
    for (text, clean) in [
        ("\u{301}\u{200d}\u{fe0f}", "\u{301}\u{fe0f}"),
        ("\u{301}\u{200d}\u{e0041}", "\u{301}"),
        ("👩\u{200d}🔧", "👩\u{200d}🔧"),
    ] {
        assert_eq!(one_line(text), clean, "{text:?}");
    }
}

#[test]
fn truncation_never_splits_a_grapheme() {
    #[track_caller]
    fn check(text: &str, most: usize, expected: &str) {
        assert_eq!(truncate(text, most), expected, "{text:?} in {most}");
    }
    check("abc", 3, "abc");
    check("abcd", 3, "ab…");
    check("abcd", 1, "…");
    check("abcd", 0, "");
    check("", 0, "");
    check("日本語", 5, "日本…");
    check("日本語", 4, "日…");
    check("日本語", 2, "…");
    check("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 3, "👨‍👩‍👧‍👦…");
    check("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 2, "…");
    check("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…");
    check("two words", 5, "two…");
    assert_eq!(truncate_with("abcdef", 5, "..."), "ab...");
    assert_eq!(truncate_with("abcdef", 2, "..."), "");
    assert_eq!(pad("日", 4), "日  ");
    assert_eq!(pad_left("日", 4), "  日");
    assert_eq!(pad("longer", 2), "longer");
}

#[test]
fn notations_keep_text_in_its_place() {
    assert_eq!(
        escape::xml_text("]]> <a b=\"c\" d='e'> & \u{1}\u{ffff}"),
        "]]&gt; &lt;a b=&quot;c&quot; d=&apos;e&apos;&gt; &amp; \u{fffd}"
    );
    assert_eq!(
        escape::html("<script>alert('\u{202e}1')</script>"),
        "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"
    );
    assert_eq!(escape::markdown("# a\n- [x] b"), "\\# a - \\[x\\] b");
    assert_eq!(
        escape::markdown("snake_case _it_ C# &amp; R&D https://a.example/x"),
        "snake_case \\_it\\_ C# \\&amp; R\\&D https://a.example/x"
    );
    assert_eq!(escape::markdown("C#"), "C\\#");
    assert_eq!(escape::dot("a \"b\" \\ c"), "a \\\"b\\\" \\\\ c");
    assert_eq!(escape::mermaid("a \"b\"; #c"), "a #34;b#34;#59; #35;c");
    assert_eq!(escape::json("\"\u{9b}\u{202e}\u{7f}日\""), "\"\\u009b\\u202e\\u007f日\"");
}

#[test]
fn colour_is_off_when_it_is_off() {
    assert_eq!(Style::In(Colour::Red).paint("x", false), "x");
    assert_eq!(Style::In(Colour::Red).paint("x", true), "\u{1b}[31mx\u{1b}[0m");
    assert_eq!(Style::BoldIn(Colour::Cyan).paint("x", true), "\u{1b}[1;36mx\u{1b}[0m");
    assert_eq!(Style::Plain.paint("x", true), "x");
    for (name, colour) in [
        ("cyan", Some(Colour::Cyan)),
        ("Gray", Some(Colour::Grey)),
        ("redBright", Some(Colour::Red)),
        ("bright-blue", Some(Colour::Blue)),
        ("#fff", None),
        ("", None),
    ] {
        assert_eq!(Colour::parse(name), colour, "{name}");
    }
}

#[test]
fn the_signs_of_a_set_are_equally_wide() {
    for glyphs in Glyphs::ALL {
        let signs = [Sign::Done, Sign::Active, Sign::Open, Sign::Waiting, Sign::Cancelled];
        let widths: Vec<_> = signs.iter().map(|it| width(glyphs.sign(*it))).collect();
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{glyphs:?}: {widths:?}");
        assert_eq!(Glyphs::parse(glyphs.as_str()), Some(glyphs));
    }
    assert_eq!(Glyphs::parse("klingon"), None);
}

proptest! {
    #[test]
    fn clean_text_is_clean_and_cleaning_it_again_changes_nothing(text in any_text()) {
        let (line, lines) = (one_line(&text).into_owned(), many_lines(&text).into_owned());
        prop_assert!(!line.chars().any(|ch| ch.is_control() || is_bidi_control(ch)));
        prop_assert!(!lines.chars().any(|ch| ch != '\n' && ch.is_control() || is_bidi_control(ch)));
        prop_assert_eq!(one_line(&line), line.as_str());
        prop_assert_eq!(many_lines(&lines), lines.as_str());
    }

    #[test]
    fn what_is_cut_fits_and_what_fits_is_not_cut(text in any_text(), most in 0_usize..40) {
        let clean = one_line(&text);
        prop_assert!(width(&clean) <= clean.len(), "wider than it has bytes");
        let cut = truncate(&clean, most);
        prop_assert!(width(&cut) <= most);
        prop_assert_eq!(width(&clean) <= most, cut == clean);
        prop_assert_eq!(width(&pad(&cut, most)), most);
    }
}
