//! Any text is read without a panic and in bounded time, and writing back changes only boxes.

use proptest::prelude::*;

use super::super::{Tick, draw, read, write_back};

const ESCAPE: char = '\u{1b}';

/// Random pieces of plan files.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("- [ ] ".to_owned()),
        Just("* [x] ".to_owned()),
        Just("1. [>] ".to_owned()),
        Just("+ [] ".to_owned()),
        Just("- [-] ".to_owned()),
        Just("- [?] ".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("  ".to_owned()),
        Just("\t".to_owned()),
        Just("```\n".to_owned()),
        Just("~~~~".to_owned()),
        Just("<!--".to_owned()),
        Just("-->".to_owned()),
        Just("---\n".to_owned()),
        Just("# ".to_owned()),
        Just("run: ".to_owned()),
        Just("verify:".to_owned()),
        Just("after: A, B".to_owned()),
        Just("after: \"".to_owned()),
        Just("retry: 3 5s".to_owned()),
        Just("timeout: 99999999999h".to_owned()),
        Just("covers: {a,".to_owned()),
        Just("A".to_owned()),
        Just("B".to_owned()),
        Just("\\\n".to_owned()),
        Just("\0".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\u{202e}é試".to_owned()),
        "\\PC{0,6}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

fn any_tick() -> impl Strategy<Value = Option<Tick>> {
    prop::option::of(prop::sample::select(Tick::ALL.to_vec()))
}

proptest! {
    #[test]
    fn any_text_is_read_and_its_problems_can_be_drawn(text in text()) {
        let file = read(&text);
        for problem in &file.problems {
            let drawn = draw("a.md", &text, problem);
            prop_assert!(!drawn.contains(ESCAPE));
            prop_assert!(problem.line >= 1 && problem.column >= 1 && problem.length >= 1);
        }
        for (index, item) in file.items.iter().enumerate() {
            prop_assert!(item.parent.is_none_or(|parent| parent < index));
            prop_assert!(file.children(index).all(|child| file.items[child].parent == Some(index)));
        }
    }

    #[test]
    fn boxes_that_do_not_change_leave_the_text_as_it_was(text in text()) {
        let file = read(&text);
        let same: Vec<_> = file.items.iter().map(|it| Some(it.tick)).collect();
        prop_assert_eq!(&write_back(&text, &same), &text);
        prop_assert_eq!(write_back(&text, &vec![None; same.len()]), text);
    }

    #[test]
    fn written_boxes_are_read_back_and_nothing_else_changes(
        text in text(),
        ticks in prop::collection::vec(any_tick(), 60),
    ) {
        let before = read(&text);
        let written = write_back(&text, &ticks);
        let after = read(&written);
        prop_assert_eq!(before.items.len(), after.items.len());
        prop_assert_eq!(&before.title, &after.title);
        for (index, (old, new)) in before.items.iter().zip(&after.items).enumerate() {
            let wanted = ticks.get(index).copied().flatten().unwrap_or(old.tick);
            prop_assert_eq!(new.tick, wanted);
            prop_assert_eq!(&new.title, &old.title);
            prop_assert_eq!(&new.fields, &old.fields);
            prop_assert_eq!(&new.context, &old.context);
            prop_assert_eq!(new.parent, old.parent);
        }
    }
}

#[test]
fn only_the_boxes_change() {
    let text = "\u{feff}# T\r\n* [X]  A  \r\n\t- [ ]\tB\r\n+ [] C";
    let ticks = [Some(Tick::Done), Some(Tick::Begun), Some(Tick::Skipped)];
    let expected = "\u{feff}# T\r\n* [X]  A  \r\n\t- [>]\tB\r\n+ [-] C";
    assert_eq!(write_back(text, &ticks), expected);
}

#[test]
fn much_of_anything_is_read() {
    let many: String = (0..10_000).map(|n| format!("- [ ] Item {n}\n  run: true\n")).collect();
    assert_eq!(read(&many).items.len(), 10_000);
    let chain: String =
        (1..10_000).map(|n| format!("- [ ] Item {n}\n  after: Item {}\n", n - 1)).collect();
    assert!(read(&format!("- [ ] Item 0\n{chain}")).is_sound());
    let deep: String = (0..2_000).map(|n| format!("{}- [ ] Item {n}\n", "  ".repeat(n))).collect();
    assert!(!read(&deep).is_sound());
    let pieces = ["a", ",", "[", "`", "- ", "\\", "\"", "A, ", "B, "];
    for (n, piece) in pieces.into_iter().enumerate() {
        // One line of full length, the others a tenth, because test builds are slow.
        let length = if n == 0 { 10_000_000 } else { 1_000_000 };
        let line = piece.repeat(length / piece.len());
        for text in
            [line.clone(), format!("- [ ] {line}"), format!("- [ ] A\n  after: {line}\n- [ ] B\n")]
        {
            let file = read(&text);
            assert!(file.problems.len() <= 200);
            let drawn: usize =
                file.problems.iter().take(3).map(|it| draw("a", &text, it).len()).sum();
            assert!(drawn < 3_000, "{drawn}");
        }
    }
}
