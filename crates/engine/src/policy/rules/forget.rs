//! Removes a rule from the user's file. Nothing else in the file changes.
//!
//! The lines of the rule's table are removed. The new text is only written if it parses to all other
//! rules, and everything else is unchanged.

use std::path::Path;

use punchlist_sched::policy::Rule;

use super::remember::{Unkept, edit, is_same_rest};
use super::{Placed, placed, read};

/// Removes a rule from the user's file. It is the one in this line, or, if the file has changed since,
/// the first one that is equal. Returns `false` if there is none.
pub fn forget(path: &Path, rule: &Placed) -> Result<bool, Unkept> {
    edit(path, |old| {
        let bad = |bad| Unkept::Bad { path: path.to_owned(), bad };
        let had = placed(old).map_err(bad)?;
        let same = |it: &&Placed| it.rule == rule.rule;
        let there = had.iter().filter(same).find(|it| it.line == rule.line);
        let Some(found) = there.or_else(|| had.iter().find(same)) else { return Ok(None) };
        let new = without(old, found.line);
        let others: Vec<Rule> = had
            .iter()
            .filter(|it| it.line != found.line || it.rule != found.rule)
            .map(|it| it.rule.clone())
            .collect();
        let is_only_that = read(&new).is_ok_and(|it| it == others) && is_same_rest(old, &new);
        let fits = is_only_that && others.len() + 1 == had.len();
        if !fits {
            let (path, line) = (path.to_owned(), found.line);
            return Err(Unkept::NotATable { path, line });
        }
        Ok(Some(new))
    })
}

/// The text without the table whose header is in this line. A comment before the next table belongs to
/// that one.
fn without(text: &str, line: usize) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let begin = line.saturating_sub(1).min(lines.len());
    let is_header = |it: &&str| it.trim_start().starts_with('[');
    let next = lines.iter().skip(begin + 1).position(is_header);
    let mut end = next.map_or(lines.len(), |at| begin + 1 + at);
    if next.is_some() {
        let is_lead = |it: &str| it.trim().is_empty() || it.trim_start().starts_with('#');
        while end > begin + 1 && is_lead(lines[end - 1]) {
            end -= 1;
        }
        // One of the empty lines goes with the table.
        if lines.get(end).is_some_and(|it| it.trim().is_empty()) {
            end += 1;
        }
    }
    let before = lines.get(..begin).unwrap_or_default().concat();
    let after = lines.get(end..).unwrap_or_default().concat();
    let before = if after.is_empty() { trimmed(&before) } else { before };
    before + &after
}

/// Without empty lines at the end.
fn trimmed(text: &str) -> String {
    let end = text.trim_end();
    if end.is_empty() { String::new() } else { format!("{end}\n") }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const FILE: &str = "# mine\ngate = \"once\"\n\n[[policy]]\ndecision = \"allow\"\ncommand = \"git status\"\n\n# never\n[[policy]]\ndecision = \"deny\"\ncommand = \"git push\"\n\n[agent]\nmodel = \"a/b\"\n";

    fn forgotten(text: &str, nth: usize) -> (Result<bool, Unkept>, String) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        fs::write(&path, text).unwrap();
        let rule = placed(text).unwrap().remove(nth);
        let done = forget(&path, &rule);
        (done, fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn only_the_table_of_the_rule_goes() {
        let (done, left) = forgotten(FILE, 0);
        assert!(done.unwrap());
        assert_eq!(
            left,
            "# mine\ngate = \"once\"\n\n# never\n[[policy]]\ndecision = \"deny\"\ncommand = \"git push\"\n\n[agent]\nmodel = \"a/b\"\n"
        );
        let (done, left) = forgotten(FILE, 1);
        assert!(done.unwrap());
        assert!(left.ends_with("git status\"\n\n# never\n[agent]\nmodel = \"a/b\"\n"), "{left}");
        let last = "[[policy]]\ndecision = \"ask\"\ntool = \"edit\"\n";
        assert_eq!(forgotten(last, 0).1, "");
    }

    #[test]
    fn of_two_equal_rules_the_one_in_the_line_goes() {
        let one = "[[policy]]\ndecision = \"ask\"\ntool = \"edit\"\n\n";
        let text = format!("{one}# second\n{one}");
        let (done, left) = forgotten(&text, 1);
        assert!(done.unwrap());
        assert!(left.contains("# second") && left.matches("[[policy]]").count() == 1, "{left}");
    }

    #[test]
    fn a_rule_that_is_gone_already_or_stands_otherwise_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        fs::write(&path, "gate = \"once\"\n").unwrap();
        let rule = placed(FILE).unwrap().remove(0);
        assert!(!forget(&path, &rule).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "gate = \"once\"\n");
        let inline = "policy = [{ decision = 'ask', tool = 'edit' }, { decision = 'deny', tool = 'write' }]\n";
        let (done, left) = forgotten(inline, 0);
        assert!(done.unwrap_err().to_string().contains("line 1"), "it says where");
        assert_eq!(left, inline);
    }
}
