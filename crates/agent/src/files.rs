//! The files of a project, for a person who names one: without those that git ignores, and bounded.

use std::path::Path;

use crate::tools::{shown_path, walk};

/// The most files and directories that are listed.
const MOST: usize = 20_000;
/// The most entries that are examined. A tree may have many that cannot be listed.
const MOST_EXAMINED: usize = 100_000;

/// The files and directories below a directory, relative to it and in order. A directory ends in a
/// slash. Names with control characters are left out: nobody can type them. This reads directories, so
/// call it where waiting is allowed.
pub fn list(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    // Entries that cannot be read are left out.
    for entry in walk(root).build().take(MOST_EXAMINED).flatten() {
        let is_nameable = entry.path().to_str().is_some_and(|it| !it.contains(char::is_control));
        let Some(kind) = entry.file_type() else { continue };
        if entry.depth() == 0 || !is_nameable {
            continue;
        }
        let sign = if kind.is_dir() { "/" } else { "" };
        files.push(format!("{}{sign}", shown_path(entry.path(), root)));
        if files.len() == MOST {
            break;
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_git_ignores_and_what_links_lead_to_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["src/main.rs", "target/debug/x", ".git/HEAD", ".github/ci.yml", "a\nb"] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(dir.path().join(".gitignore"), "target/\n").unwrap();
        symlink("/", dir.path().join("root")).unwrap();
        let expected = [".github/", ".github/ci.yml", ".gitignore", "root", "src/", "src/main.rs"];
        assert_eq!(list(dir.path()), expected);
        assert_eq!(list(&dir.path().join("nothing")), [""; 0]);
    }
}
