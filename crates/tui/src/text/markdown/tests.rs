//! Tests of Markdown: what it looks like, and what holds for every text.

use proptest::prelude::*;
use punchlist_formats::text::line::to_plain;
use punchlist_testkit::naughty;

use super::*;

const SAMPLE: &str = "\
# Release 1.2

All *tests* pass, **except** `parser::deep`, see [the log](https://ci.example/42) or
<https://example.org>.

- [x] fix the tests
- [ ] update the docs
  1. install guide
  2. API reference

> Quoted advice
> in two lines.

```rust
fn main() {
    println!(\"hello\");
}
```

| File | Lines | Note |
|:-----|------:|------|
| `src/main.rs` | 12 | entry point |
| `src/a_very_long_name.rs` | 1200 | parses everything that a model says |

---
Done with ~~some~~ work.
";

fn plain(text: &str, width: u16) -> String {
    to_plain(&lines(text, width, Glyphs::Unicode))
}

#[test]
fn the_sample_at_every_width() {
    let screens = [20, 40, 80].map(|it| format!("{it} columns\n{}", plain(SAMPLE, it)));
    let ascii = to_plain(&lines(SAMPLE, 60, Glyphs::Ascii));
    insta::assert_snapshot!(format!("{}\n\nascii\n{ascii}", screens.join("\n\n")));
}

#[test]
fn styles_say_what_a_text_is() {
    use punchlist_formats::text::Style;
    let text = "*a* **b** ~~c~~ `d` [e](f) <b>\n";
    let line = lines(text, 80, Glyphs::Unicode).remove(0);
    let style = |text: &str| line.spans().iter().find(|it| it.text.trim() == text).unwrap().style;
    assert_eq!(style("a"), Style::Italic);
    assert_eq!(style("b"), Style::Bold);
    assert_eq!(style("c"), Style::Struck);
    assert_eq!(style("`d`"), Style::Code);
    assert_eq!(style("e"), Style::Link);
    assert_eq!(style("(f)"), Style::Dim);
    assert_eq!(style("<b>"), Style::Dim);
}

#[test]
fn the_target_of_a_link_is_shown_where_it_differs() {
    for (text, expected) in [
        ("<https://a.example>", "https://a.example"),
        ("[https://a.example](https://a.example)", "https://a.example"),
        ("<me@a.example>", "me@a.example"),
        (
            "[https://bank.example](https://evil.example)",
            "https://bank.example (https://evil.example)",
        ),
        ("![logo](a.png)", "image: logo (a.png)"),
        ("[x](<a\u{1b}]8;;b\u{7}>)", "x (a)"),
    ] {
        assert_eq!(plain(text, 80), expected);
    }
}

#[test]
fn nothing_of_the_text_is_hidden() {
    for (text, expected) in [
        ("<!-- secret -->", "<!-- secret -->"),
        ("[hidden]: https://evil.example", "[hidden]: https://evil.example"),
        ("[a]: b\n\n[a] [c](d]:)", "[a]: b\n\n[a] c (d]:)"),
        ("a\n\n[b]: c\nd", "a\n\n[b]: c\nd"),
        ("``` rm -rf\n```", "rm -rf\n"),
        ("- \n- a", "•\n• a"),
        ("before\n\u{1b}]0;never ends\nafter", "before\n\nafter"),
    ] {
        assert_eq!(plain(text, 80), expected, "{text:?}");
    }
}

#[test]
fn entities_bring_no_control_character_back() {
    assert_eq!(plain("a&#27;[31mb &#x202e;c &#7; &lt;", 80), "a[31mb c  <");
}

#[test]
fn blank_lines_follow_the_text() {
    assert_eq!(plain("# A\nb\n\n\n\nc\n- d\n\n- e\n\n  f\n", 80), "# A\nb\n\nc\n• d\n\n• e\n\n  f");
    assert_eq!(plain("> a\n>\n> b", 80), "│ a\n│\n│ b");
    assert_eq!(plain("\n\na", 80), "\na");
    assert_eq!(plain(" \n\n", 80), "");
}

#[test]
fn deep_nesting_leaves_half_of_the_columns_to_the_text() {
    let deep = format!("{}text that is long enough", "> ".repeat(50));
    for line in lines(&deep, 20, Glyphs::Unicode) {
        assert!(line.width() <= 20);
    }
    assert!(plain(&deep, 20).contains("long"));
}

#[test]
fn blocks_before_the_last_one_are_stable() {
    for (text, stable) in [
        ("", ""),
        ("a", ""),
        ("a\n\nb", ""),
        ("a\n\nb\n", "a\n"),
        ("a\n\nb\n\nc", "a\n"),
        ("```\na\n\nb\n", ""),
        ("```\na\n```\nb\n", "```\na\n```\n"),
        ("- a\n\n- b\n", ""),
        ("- a\n\nb\n", "- a\n"),
        ("1. a\n\n2", ""),
        ("| a |\n|---|\n| b |\n", ""),
        ("a\r\n\r\nb\r\n", "a\r\n"),
        ("[a]: b\n'c\n", ""),
        ("- a\n[a]: b\n- c\n", ""),
    ] {
        assert_eq!(&text[..stable_prefix(text)], stable, "{text:?}");
    }
}

#[test]
fn huge_and_hostile_texts_are_rendered() {
    for one in naughty() {
        let text: String = one.text.chars().take(30_000).collect();
        let text = format!("# a\n\n{text}\n\nz\n");
        let stable = stable_prefix(&text);
        for line in lines(&text, 40, Glyphs::Unicode) {
            assert!(line.width() <= 40, "{}: {line:?}", one.name);
            assert!(!line.to_plain().contains(char::is_control), "{}: {line:?}", one.name);
        }
        assert!(stable <= text.len());
    }
}

/// Pieces of Markdown whose combinations are difficult.
fn any_markdown() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(
        prop_oneof![
            8 => prop::sample::select(vec![
                "\n", "\n", "\n\n", "  ", "    ", "- ", "* ", "1. ", "2. ", "> ", "# ", "```\n",
                "~~~", "| a | b |\n", "|---|---|\n", "[a]: b\n", "[a]", "[x](y)", "![", "](", "*",
                "**", "_", "~~", "`", "<div>\n", "<!--", "-->\n", "---\n", "===\n", "\\\n",
                "[ ] ", "[x] ", "\t", "&#27;", "&#x301;", "\u{1b}[31m", "\u{1b}]", "日本",
                "שלום", "\r\n", "\r", "\u{2028}", "word ", "a\n", "'t\n", "</div>\n", "<a href=\"",
            ])
            .prop_map(str::to_owned),
            1 => any::<String>(),
            2 => "[a-z ]{0,20}",
        ],
        0..24,
    );
    pieces.prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_line_fits_and_no_control_character_is_drawn(
        text in any_markdown(),
        width in 1_u16..50,
        glyphs in prop::sample::select(Glyphs::ALL.to_vec()),
    ) {
        for line in lines(&text, width, glyphs) {
            prop_assert!(line.width() <= usize::from(width), "{width}: {line:?}");
            prop_assert!(!line.to_plain().contains(char::is_control), "{line:?}");
        }
    }

    /// A stream is cut anywhere: what was stable then is final.
    #[test]
    fn the_stable_part_and_the_rest_are_the_whole(
        text in any_markdown(),
        cut in 0_usize..200,
        width in 1_u16..50,
    ) {
        let cut = (0..=cut.min(text.len())).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
        let stable = stable_prefix(&text[..cut]);
        let (done, rest) = text.split_at(stable);
        let mut parts = lines(done, width, Glyphs::Unicode);
        parts.extend(lines(rest, width, Glyphs::Unicode));
        prop_assert_eq!(to_plain(&parts), to_plain(&lines(&text, width, Glyphs::Unicode)));
        prop_assert_eq!(parts, lines(&text, width, Glyphs::Unicode));
    }
}
