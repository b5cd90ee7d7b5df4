//! All keys of the terminal UI, for the list that `?` shows and for the documentation.

/// Keys, and what they do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyHelp {
    /// The keys.
    pub keys: &'static str,
    /// What they do.
    pub does: &'static str,
}

const fn key(keys: &'static str, does: &'static str) -> KeyHelp {
    KeyHelp { keys, does }
}

/// The keys, the most important ones first.
pub const KEYS: &[KeyHelp] = &[
    key("Enter", "send the message; while the agent is busy, queue it"),
    key("Alt-Enter", "steer: the next model call gets the message"),
    key("Shift-Enter, or \\ and Enter", "begin a new line"),
    key("Esc", "close a pop-up or dialog; else end the turn"),
    key("Ctrl-C twice", "quit"),
    key("Ctrl-D", "quit, in an empty input"),
    key("/", "commands, at the beginning"),
    key("@", "files and members of the team"),
    key("!", "run a shell command of your own, in an empty input"),
    key("?", "show the keys, in an empty input"),
    key("Tab", "complete"),
    key("Up, Down", "move between rows; at the edge, through the history"),
    key("Ctrl-R", "search the history; again: an older match"),
    key("Alt-Up", "edit the newest queued message"),
    key("Ctrl-T", "open the plan"),
    key("Ctrl-Z", "suspend"),
    key("Ctrl-A, Ctrl-E", "to the beginning or end of the line"),
    key("Alt-B, Alt-F", "a word back or forward"),
    key("Ctrl-W, Alt-D", "delete the word before or behind the cursor"),
    key("Ctrl-U, Ctrl-K", "delete to the beginning or end of the line"),
    key("Ctrl-Y", "insert what was deleted"),
    key("Ctrl-_, Alt-Z", "undo, redo"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_every_key() {
        let page = include_str!("../../../../docs/terminal.md");
        for KeyHelp { keys, does } in KEYS {
            let row = format!("| {} | {does} |", keys.replace('|', "\\|"));
            assert!(page.contains(&row), "docs/terminal.md lacks the row: {row}");
        }
    }
}
