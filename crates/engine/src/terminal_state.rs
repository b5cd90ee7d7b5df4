//! What the terminal UI remembers between two starts: what a person typed, by project, and the theme.
//!
//! Both are in the user's data directory, in files that only the user may read. A text that begins with
//! a blank is not kept, nor is one that contains a known kind of secret. Several terminals may write at
//! the same time: each change is made under a lock.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use punchlist_bridge::{private, replace};
use punchlist_formats::text::secret::mask;
use serde::{Deserialize, Serialize};

use crate::fail::Fail;

/// The most texts of a project that are returned, and the longest text that is kept, in bytes.
const MOST: usize = 1_000;
const LONGEST: usize = 20_000;
/// The file is cut to its newer half when it has become larger than this.
const MOST_BYTES: u64 = 1 << 20;

/// The files with what is remembered.
#[derive(Clone, Debug)]
pub struct TerminalState {
    directory: PathBuf,
}

/// One text that was typed.
#[derive(Serialize, Deserialize)]
struct Typed {
    project: String,
    text: String,
}

/// The choices of the person.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Choices {
    theme: Option<String>,
}

impl TerminalState {
    /// What is remembered in this data directory.
    pub fn new(data: &Path) -> Self {
        Self { directory: data.join("terminal") }
    }

    /// What was typed in a project, oldest first. A file that cannot be read is empty.
    pub fn history(&self, project: &str) -> Vec<String> {
        let all = lines(&self.history_file());
        let read = |line: &String| serde_json::from_str::<Typed>(line).ok();
        let mut own: Vec<String> = all
            .iter()
            .filter_map(read)
            .filter(|it| it.project == project)
            .map(|it| it.text)
            .collect();
        own.drain(..own.len().saturating_sub(MOST));
        own
    }

    /// Adds a text, unless it is not to be kept. Returns whether it was added.
    pub fn remember(&self, project: &str, text: &str) -> Result<bool, Fail> {
        if !is_kept(text) || self.history(project).last().is_some_and(|it| it == text) {
            return Ok(false);
        }
        let typed = Typed { project: project.to_owned(), text: text.to_owned() };
        self.append(&typed).map(|()| true).map_err(|why| self.unwritable(&why))
    }

    fn append(&self, typed: &Typed) -> io::Result<()> {
        let _lock = self.lock()?;
        let file = self.history_file();
        private::append(&file, format!("{}\n", serde_json::to_string(typed)?).as_bytes())?;
        if fs::metadata(&file)?.len() > MOST_BYTES {
            let all = lines(&file);
            let newer = all.get(all.len() / 2..).unwrap_or_default().join("\n") + "\n";
            replace::private(&file, newer.as_bytes())?;
        }
        Ok(())
    }

    /// The theme that was chosen last.
    pub fn theme(&self) -> Option<String> {
        let text = fs::read_to_string(self.choices_file()).ok()?;
        serde_json::from_str::<Choices>(&text).ok()?.theme
    }

    /// Remembers a theme.
    pub fn choose_theme(&self, name: &str) -> Result<(), Fail> {
        let choices = Choices { theme: Some(name.to_owned()) };
        let write = || {
            let _lock = self.lock()?;
            replace::private(&self.choices_file(), serde_json::to_string(&choices)?.as_bytes())
        };
        write().map_err(|why: io::Error| self.unwritable(&why))
    }

    fn history_file(&self) -> PathBuf {
        self.directory.join("history.jsonl")
    }

    fn choices_file(&self) -> PathBuf {
        self.directory.join("choices.json")
    }

    /// Keeps other terminals from writing while it is held.
    fn lock(&self) -> io::Result<File> {
        private::directory(&self.directory)?;
        let lock = File::open(&self.directory)?;
        match lock.lock() {
            // Some network file systems do not support locks.
            Err(why) if why.kind() != io::ErrorKind::Unsupported => Err(why),
            Ok(()) | Err(_) => Ok(lock),
        }
    }

    fn unwritable(&self, why: &io::Error) -> Fail {
        Fail::ours(format!("cannot write into {}: {why}", self.directory.display()))
    }
}

/// Whether a text is to be kept.
fn is_kept(text: &str) -> bool {
    let is_hidden = text.starts_with(char::is_whitespace) || text.trim().is_empty();
    !is_hidden && text.len() <= LONGEST && mask(text) == text
}

/// The lines of a file that is this user's own and not too large.
fn lines(file: &Path) -> Vec<String> {
    let is_fine = fs::symlink_metadata(file)
        .is_ok_and(|it| private::is_own(&it) && it.len() <= MOST_BYTES + LONGEST as u64 * 8);
    let text = is_fine.then(|| fs::read_to_string(file).ok()).flatten().unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_typed_is_there_after_a_restart_by_project() {
        let dir = tempfile::tempdir().unwrap();
        let state = TerminalState::new(dir.path());
        assert_eq!(state.history("/shop"), Vec::<String>::new());
        for text in ["first", "two\nlines", "two\nlines", "!git status"] {
            state.remember("/shop", text).unwrap();
        }
        state.remember("/other", "elsewhere").unwrap();
        let again = TerminalState::new(dir.path());
        assert_eq!(again.history("/shop"), ["first", "two\nlines", "!git status"]);
        assert_eq!(again.history("/other"), ["elsewhere"]);
        let file = dir.path().join("terminal/history.jsonl");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let folder = fs::metadata(dir.path().join("terminal")).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_text_with_a_blank_before_it_or_a_secret_in_it_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let state = TerminalState::new(dir.path());
        let key = format!("use sk-ant-{}", "a1B2".repeat(20));
        assert_ne!(mask(&key), key, "the test has a key of a known shape");
        for text in [" rm -rf /", "\tx", "", "  \n", &key, &"x".repeat(LONGEST + 1)] {
            assert!(!state.remember("/shop", text).unwrap(), "{text}");
        }
        assert_eq!(state.history("/shop"), Vec::<String>::new());
    }

    #[test]
    fn the_file_is_bounded_and_the_newest_texts_stay() {
        let dir = tempfile::tempdir().unwrap();
        let state = TerminalState::new(dir.path());
        let file = dir.path().join("terminal/history.jsonl");
        let filler = "y".repeat(19_000);
        for n in 0..120 {
            state.remember("/shop", &format!("{n} {filler}")).unwrap();
            assert!(fs::metadata(&file).unwrap().len() <= MOST_BYTES);
        }
        let kept = state.history("/shop");
        assert!(kept.len() > 20 && kept.last().unwrap().starts_with("119 "));
    }

    #[test]
    fn a_damaged_line_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let state = TerminalState::new(dir.path());
        state.remember("/shop", "before").unwrap();
        private::append(&dir.path().join("terminal/history.jsonl"), b"{\"proj\n").unwrap();
        state.remember("/shop", "after").unwrap();
        assert_eq!(state.history("/shop"), ["before", "after"]);
    }

    #[test]
    fn the_theme_stays_chosen() {
        let dir = tempfile::tempdir().unwrap();
        let state = TerminalState::new(dir.path());
        assert_eq!(state.theme(), None);
        state.choose_theme("light").unwrap();
        state.choose_theme("sixteen").unwrap();
        assert_eq!(TerminalState::new(dir.path()).theme().as_deref(), Some("sixteen"));
    }
}
