//! Drawings of orders.

use proptest::prelude::*;
use punchlist_model::Timestamp;

use super::*;
use crate::text::line::to_plain;
use crate::text::naughty::any_text;

/// Steps from lines: a title, a colon, and the numbers of its dependencies, from 1.
fn drawn(text: &str, glyphs: Glyphs) -> String {
    let nodes: Vec<Node> = text
        .lines()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(|line| {
            let (title, after) = line.split_once(':').unwrap_or((line, ""));
            let after = after.split_whitespace().map(|it| it.parse::<usize>().unwrap() - 1);
            Node { title: title.to_owned(), note: String::new(), after: after.collect() }
        })
        .collect();
    let options = Options { glyphs, width: 60, ..Options::plain(Timestamp::UNIX_EPOCH) };
    to_plain(&order(&nodes, &options))
}

#[test]
fn orders_as_pictures() {
    let cases = [
        ("side by side", "A\nB\nC"),
        ("a chain", "A\nB: 1\nC: 2"),
        ("a diamond", "A\nLeft: 1\nRight: 1\nBottom: 2 3"),
        ("a wide one", "A\nB: 1\nC: 1\nD: 1\nE: 2 3 4\nF: 1 5"),
        ("written backwards", "Publish: 2 3\nTest: 3\nBuild"),
        ("two of them", "A\nB\nC: 1\nD: 2\nE: 3\nF: 4"),
        ("crossing", "A\nB\nC: 2\nD: 1\nE: 1 2\nF: 3 4 5"),
        ("a circle", "A: 2\nB: 1\nC"),
    ];
    let all = cases.map(|(what, text)| format!("{what}\n{}", drawn(text, Glyphs::Unicode)));
    insta::assert_snapshot!(all.join("\n\n"));
    insta::assert_snapshot!(drawn("A\nLeft: 1\nRight: 1\nBottom: 2 3", Glyphs::Ascii));
}

proptest! {
    #[test]
    fn whatever_waits_for_whatever_it_is_drawn_and_fits(
        nodes in proptest::collection::vec(
            (any_text(), any_text(), proptest::collection::vec(0_usize..14, 0..5)),
            0..12,
        ),
        columns in 40_u16..130,
    ) {
        let nodes: Vec<Node> = nodes
            .into_iter()
            .map(|(title, note, after)| Node { title, note, after })
            .collect();
        let options = Options { width: columns, ..Options::plain(Timestamp::UNIX_EPOCH) };
        let lines = order(&nodes, &options);
        prop_assert!(lines.len() >= nodes.len());
        for line in lines {
            prop_assert!(line.width() < usize::from(columns), "{line:?}");
            prop_assert!(!line.to_plain().chars().any(char::is_control), "{line:?}");
        }
        let order = sorted(&nodes);
        let mut all = order;
        all.sort_unstable();
        prop_assert_eq!(all, (0..nodes.len()).collect::<Vec<_>>());
    }
}
