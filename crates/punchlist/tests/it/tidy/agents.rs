//! The two tables of docs/agents.md, made only from the results of the tests with real programs.

use std::fs;

use punchlist_testkit::features::{LACKS, Lack, Shown, read as results, table};

use super::tree::{read, root};

/// The results of `cargo xtask test agents`, and of older releases with `--full`.
const RESULTS: &str = "docs/agents.tsv";
const RESULTS_OF_OLDER: &str = "docs/agents-older.tsv";

/// The directory of the tests.
const TESTS: &str = "crates/punchlist/tests/agents";

/// The document with both tables.
const DOCUMENT: &str = "docs/agents.md";

/// The lines around the table of the newest releases, and around that of older ones.
const NEWEST: [&str; 2] = [
    "<!-- agents: `cargo xtask test agents` makes this table; do not edit it -->\n",
    "<!-- agents: end -->\n",
];
const OLDER: [&str; 2] = [
    "<!-- older agents: `cargo xtask test agents --full` makes this table; do not edit it -->\n",
    "<!-- older agents: end -->\n",
];

fn shown(file: &str) -> Result<Vec<Shown>, Vec<String>> {
    let text = read(file).map_err(|_| vec![format!("{file}: it is gone")])?;
    let wrong = |all: Vec<String>| all.into_iter().map(|it| format!("{file}: {it}")).collect();
    results(&text).map_err(wrong)
}

/// Compares the tables with the results, or writes them. Returns what is wrong.
pub(super) fn in_the_documents(write: bool) -> Vec<String> {
    let newest = one(NEWEST, RESULTS, LACKS, write);
    let older = one(OLDER, RESULTS_OF_OLDER, &[], write);
    [newest, older].concat()
}

/// The same for one table.
fn one([begin, end]: [&str; 2], results: &str, lacks: &[Lack], write: bool) -> Vec<String> {
    let shown = match shown(results) {
        Ok(shown) => shown,
        Err(wrong) => return wrong,
    };
    let Ok(text) = read(DOCUMENT) else { return vec![format!("{DOCUMENT}: it is gone")] };
    let Some((before, rest)) = text.split_once(begin) else {
        return vec![format!("{DOCUMENT}: put the line {begin:?} back")];
    };
    let Some((there, after)) = rest.split_once(end) else {
        return vec![format!("{DOCUMENT}: put the line {end:?} back")];
    };
    let wanted = format!("\n{}\n", table(&shown, lacks));
    if there == wanted {
        return Vec::new();
    }
    if write {
        let text = format!("{before}{begin}{wanted}{end}{after}");
        fs::write(root().join(DOCUMENT), text).expect("the document can be written");
        return Vec::new();
    }
    vec![format!(
        "{DOCUMENT}: a table of agents is not what their tests showed; run `cargo xtask gen`"
    )]
}

#[test]
fn what_agents_are_said_to_do_is_shown_by_a_test_that_is_there() {
    for file in [RESULTS, RESULTS_OF_OLDER] {
        let shown = shown(file).unwrap_or_else(|wrong| panic!("{}", wrong.join("\n")));
        super::check(shown.iter().filter(|it| !is_there(&it.test)).map(|it| {
            let test = &it.test;
            format!("{file}: there is no test `{test}` any more; run `cargo xtask test agents`")
        }));
    }
}

/// Whether a test exists, by its name with its modules.
fn is_there(test: &str) -> bool {
    let Some((modules, name)) = test.rsplit_once("::") else { return false };
    let path = format!("{TESTS}/{}", modules.replace("::", "/"));
    let text = read(&format!("{path}.rs")).or_else(|_| read(&format!("{path}/mod.rs")));
    text.is_ok_and(|it| it.contains(&format!("\nfn {name}() {{\n")))
}

#[test]
fn a_test_is_found_by_its_name() {
    assert!(is_there("stops::with_todo_write"));
    assert!(is_there("codex::screen::a_user_who_sits_there_sees_one_refusal_and_no_more"));
    assert!(!is_there("stops::with_todo"));
    assert!(!is_there("moon::with_todo_write"));
    assert!(!is_there("main"));
}

#[test]
fn what_is_declared_to_be_missing_says_why_once() {
    let mut seen = Vec::new();
    for lack in LACKS {
        assert!(lack.why.ends_with('.'), "{lack:?}: say it as a sentence");
        let what = (lack.agent, lack.feature);
        assert!(!seen.contains(&what), "{what:?} is declared twice");
        seen.push(what);
    }
}
