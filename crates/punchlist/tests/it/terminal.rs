//! A terminal to test drawing: tmux, where it exists.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::world::World;

/// The timeout of every wait.
const LIMIT: Duration = Duration::from_secs(60);

/// A tmux terminal that ends with the test.
pub(crate) struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// A shell in a terminal of this width; `None` where there is no tmux.
    pub(crate) fn open(world: &World, columns: u16) -> Option<Self> {
        let terminal = Self { socket: world.path("tmux") };
        let mut shell = vec!["env".to_owned(), "-i".to_owned()];
        for (name, value) in [
            ("HOME", world.path("home").display().to_string()),
            ("PUNCHLIST_HOME", world.path("home").display().to_string()),
            ("TERM", "screen-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("PS1", "$ ".to_owned()),
            ("PUNCHLIST_NOW", "2026-11-15T18:20:00Z".to_owned()),
            ("PUNCHLIST_HOST", "host".to_owned()),
            ("PUNCHLIST_ANCESTORS", "0".to_owned()),
            ("TMPDIR", world.path("").display().to_string()),
            ("PATH", "/usr/bin:/bin".to_owned()),
        ] {
            shell.push(format!("{name}={value}"));
        }
        shell.push("sh".to_owned());
        let mut command = terminal.tmux();
        command.args([
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-y",
            "24",
            "-x",
            &columns.to_string(),
        ]);
        command.args(shell).current_dir(world.path("project"));
        if !command.output().is_ok_and(|it| it.status.success()) {
            return None;
        }
        // Keys before the prompt would appear before it.
        terminal.until(|it| it.ends_with('$'));
        Some(terminal)
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").arg("-S").arg(&self.socket);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.tmux().args(arguments).output().unwrap()
    }

    pub(crate) fn types(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    pub(crate) fn resize(&self, columns: u16) {
        self.run(&["resize-window", "-x", &columns.to_string()]);
    }

    /// Everything on the screen and above it, without empty lines at the end.
    pub(crate) fn shows(&self) -> String {
        let out = self.run(&["capture-pane", "-p", "-J", "-S", "-"]).stdout;
        String::from_utf8_lossy(&out).trim_end().to_owned()
    }

    /// Waits until a condition holds for the screen. The screen must look the same twice: a frame may be
    /// captured before it is complete.
    #[track_caller]
    pub(crate) fn until(&self, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + LIMIT;
        loop {
            let shown = self.shows();
            if is_so(&shown) && self.shows() == shown {
                return shown;
            }
            assert!(Instant::now() < until, "it never came to that:\n{shown}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn sentences_are_broken_between_words_in_a_narrow_terminal() {
    let world = World::new();
    world.typed("install claude --yes").works();
    let title = "Write the parser for checklists that people keep in Markdown files";
    world.typed(&format!("add '{title}' --verify 'cargo test --workspace'")).works();
    let Some(terminal) = Terminal::open(&world, 40) else { return };
    for (n, verb) in ["log", "show 1", "gate", "doctor", "done 7"].iter().enumerate() {
        let end = format!("end {n}");
        let program = env!("CARGO_BIN_EXE_punchlist");
        terminal.types(&["clear", "Enter"]);
        terminal.types(&[&format!("clear; {program} {verb}; echo end $(({n}))"), "Enter"]);
        let shown = terminal.until(|it| it.lines().any(|it| it == end));
        let said = shown.lines().filter(|it| !it.contains(program));
        // The screen shows a wrapped text as one long line here. A path stays whole.
        for line in said {
            let is_word = !line.trim().contains(' ');
            assert!(line.chars().count() <= 40 || is_word, "{verb}: {line}\n{shown}");
        }
        terminal.run(&["clear-history"]);
    }
}

#[test]
fn a_server_that_is_typed_at_a_terminal_says_what_it_is_and_how_it_ends() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 100) else { return };
    let program = env!("CARGO_BIN_EXE_punchlist");
    terminal.types(&[&format!("clear; {program} mcp; echo end $((1))"), "Enter"]);
    let shown = terminal.until(|it| it.contains("ends it"));
    assert!(shown.contains("This is an MCP server. It waits for an agent"), "{shown}");
    terminal.types(&["C-d"]);
    terminal.until(|it| it.lines().any(|it| it == "end 1"));
    // The text is not printed into an agent's pipe.
    let ran = world.typed("mcp");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
}
