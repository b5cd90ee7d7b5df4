//! Completion of `@`: members of the team, and files of the project.

use super::Completion;
use crate::fuzzy::rank;

/// The most completions that are offered.
const MOST: usize = 50;

/// What `@` can name. The lists come from outside.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mentions {
    /// The members of the team, with `all`.
    pub members: Vec<String>,
    /// The files of the project, relative to its root. Directories end in a slash.
    pub files: Vec<String>,
}

impl Mentions {
    /// The completions of the text behind `@`: members first, then files, the best match first.
    pub fn complete(&self, text: &str) -> Vec<Completion> {
        let text = text.trim_start_matches('"');
        let members = rank(text, &self.members, |it| vec![it.as_str()], MOST);
        // A directory is found before the files in it; a file by its name before its directories.
        let files = rank(text, &self.files, |it| vec![it.as_str(), name(it)], MOST);
        let members = members.into_iter().map(|it| Completion {
            description: "member".to_owned(),
            ..Completion::new(&format!("@{it}"), it == text)
        });
        let files = files.into_iter().map(|it| Completion {
            label: it.clone(),
            ..Completion::new(&written(it), it == text)
        });
        members.chain(files).take(MOST).collect()
    }
}

/// Begins the name of a plan file's extension.
const PLAN_FILES: &str = ".md";

impl Mentions {
    /// The completions of the name of a plan file.
    pub fn plan_files(&self, text: &str) -> Vec<Completion> {
        let is_plan = |it: &&String| it.ends_with(PLAN_FILES) && !it.contains(char::is_whitespace);
        let files: Vec<&String> = self.files.iter().filter(is_plan).collect();
        let found = rank(text, &files, |it| vec![it.as_str(), name(it)], MOST);
        found.into_iter().map(|it| Completion::new(it, *it == text)).collect()
    }
}

/// The last part of a path.
fn name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// A path as it is written in a text: in quotes if it has a blank.
fn written(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("@\"{path}\"") } else { format!("@{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inserts(text: &str) -> Vec<String> {
        let mentions = Mentions {
            members: vec!["all".to_owned(), "anna".to_owned()],
            files: ["Cargo.toml", "crates/", "crates/tui/src/input.rs", "my notes.md"]
                .map(str::to_owned)
                .to_vec(),
        };
        mentions.complete(text).into_iter().map(|it| it.insert).collect()
    }

    #[test]
    fn members_come_first_and_files_are_found_by_any_part_of_their_path() {
        assert_eq!(inserts("")[..3], ["@all", "@anna", "@Cargo.toml"]);
        assert_eq!(inserts("ann"), ["@anna"]);
        assert_eq!(inserts("inprs"), ["@crates/tui/src/input.rs"]);
        assert_eq!(inserts("cra")[0], "@crates/");
        assert_eq!(inserts("zzz"), [""; 0]);
    }

    #[test]
    fn a_path_with_a_blank_is_quoted() {
        assert_eq!(inserts("notes"), ["@\"my notes.md\""]);
    }

    #[test]
    fn a_whole_path_is_an_exact_match() {
        let mentions = Mentions { members: vec![], files: vec!["a.rs".to_owned()] };
        assert!(mentions.complete("a.rs")[0].is_exact);
        assert!(!mentions.complete("a.r")[0].is_exact);
    }
}
