//! The table of agents and features, from what was shown and what is declared as missing.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Agent, Feature, Lack, Shown};

/// The cell for a feature that was neither shown nor declared as missing.
const NOTHING: &str = "–";

/// The table in Markdown, with notes below it. A cell says how a feature was shown, or only that it
/// was. If only some versions of an agent showed it, the cell names them.
#[must_use]
pub fn table(shown: &[Shown], lacks: &[Lack]) -> String {
    let mut out = String::from("| |");
    for agent in Agent::ALL {
        let versions = versions(shown, agent);
        let versions = versions.iter().copied().collect::<Vec<_>>().join(", ");
        write!(out, " {} |", format!("{} {versions}", agent.title()).trim()).ok();
    }
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(Agent::ALL.len()));
    out.push('\n');
    let mut notes: Vec<&str> = Vec::new();
    for feature in Feature::ALL.iter().copied() {
        write!(out, "| {} |", feature.title()).ok();
        for agent in Agent::ALL {
            let is_it = |it: &&Lack| (it.agent, it.feature) == (agent, feature);
            let mut cell = cell(shown, agent, feature);
            if let Some(lack) = lacks.iter().find(is_it) {
                let at = notes.iter().position(|it| *it == lack.why).unwrap_or_else(|| {
                    notes.push(lack.why);
                    notes.len() - 1
                });
                let mark = format!("<sup>{}</sup>", at + 1);
                cell = Some(cell.map_or_else(|| format!("no {mark}"), |it| format!("{it} {mark}")));
            }
            write!(out, " {} |", cell.as_deref().unwrap_or(NOTHING)).ok();
        }
        out.push('\n');
    }
    out.push('\n');
    for (at, note) in (1..).zip(notes) {
        writeln!(out, "{at}. {note}").ok();
    }
    out
}

/// The tested versions of an agent.
fn versions(shown: &[Shown], agent: Agent) -> BTreeSet<&str> {
    shown.iter().filter(|it| it.agent == agent).map(|it| it.version.as_str()).collect()
}

/// The ways in which a feature was shown; `None` if it was not.
fn cell(shown: &[Shown], agent: Agent, feature: Feature) -> Option<String> {
    let own: Vec<&Shown> =
        shown.iter().filter(|it| (it.agent, it.feature) == (agent, feature)).collect();
    let all = versions(shown, agent);
    let mut ways: Vec<String> = Vec::new();
    // In the order of the file, which is sorted.
    let hows: BTreeSet<&str> = own.iter().map(|it| it.how.as_str()).collect();
    for how in hows {
        let by: BTreeSet<&str> =
            own.iter().filter(|it| it.how == how).map(|it| it.version.as_str()).collect();
        let what = if how.is_empty() { "yes" } else { how };
        // Several agents at once are tested only with the newest versions, so a missing older
        // version means nothing.
        let is_mixed =
            own.iter().filter(|it| it.how == how).all(|it| it.test.starts_with("mixed::"));
        if by == all || is_mixed {
            ways.push(what.to_owned());
        } else {
            let by = by.into_iter().collect::<Vec<_>>().join(", ");
            ways.push(format!("{what} ({by})"));
        }
    }
    // If ways are listed, a plain "yes" adds nothing.
    if ways.len() > 1 {
        ways.retain(|it| it != "yes");
    }
    (!ways.is_empty()).then(|| ways.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const SHOWN: &str = "\
claude\t1.0\town-list\t`Task…`\ta::b
claude\t1.0\town-list\t`TodoWrite`\ta::c
claude\t1.0\tgate\t\ta::b
claude\t1.0\tquestion\t\ta::d
claude\t2.0\tgate\t\ta::b
claude\t2.0\town-list\t`TodoWrite`\ta::c
claude\t2.0\tshared\t\tmixed::a
codex\t3.0\tplan-mode\tstarted so\ta::e
";

    #[track_caller]
    fn row(table: &str, feature: Feature) -> &str {
        let begin = format!("| {} |", feature.title());
        let row = table.lines().find_map(|it| it.strip_prefix(&begin));
        row.unwrap_or_else(|| panic!("{table}")).trim()
    }

    #[test]
    fn a_cell_says_what_was_shown_and_with_which_version_if_not_with_all() {
        let lacks = [
            Lack { agent: Agent::Gemini, feature: Feature::Gate, why: "It has none." },
            Lack { agent: Agent::Gemini, feature: Feature::PlanMode, why: "It has none." },
            Lack { agent: Agent::Codex, feature: Feature::PlanMode, why: "Not by a key." },
        ];
        let table = table(&read(SHOWN).unwrap(), &lacks);
        for (feature, expected) in [
            (Feature::OwnList, "`Task…` (1.0), `TodoWrite` | – | – |"),
            (Feature::Gate, "yes | – | no <sup>1</sup> |"),
            (Feature::Question, "yes (1.0) | – | – |"),
            (Feature::Shared, "yes | – | – |"),
            (Feature::PlanMode, "– | started so <sup>2</sup> | no <sup>1</sup> |"),
            (Feature::Watch, "– | – | – |"),
        ] {
            assert_eq!(row(&table, feature), expected, "{feature:?}\n{table}");
        }
        assert!(table.starts_with("| | Claude Code 1.0, 2.0 | Codex 3.0 | Gemini CLI |\n|---|"));
        assert!(table.ends_with("\n\n1. It has none.\n2. Not by a key.\n"), "{table}");
    }

    #[test]
    fn a_test_that_is_gone_takes_its_cell_with_it() {
        let rest: String =
            SHOWN.lines().filter(|it| !it.contains("a::d")).map(|it| format!("{it}\n")).collect();
        let table = table(&read(&rest).unwrap(), &[]);
        assert_eq!(row(&table, Feature::Question), "– | – | – |");
    }
}
