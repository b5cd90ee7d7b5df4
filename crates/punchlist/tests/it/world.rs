//! The environment of one test: a home directory, a project, a clock that advances a minute with
//! each call, and nothing else of the machine.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

pub(crate) struct World {
    dir: tempfile::TempDir,
    calls: AtomicU32,
}

/// The result of a call.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.err);
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}: {}", self.out))
    }

    /// Checks that it succeeded without output on stderr.
    #[track_caller]
    pub(crate) fn works(self) {
        self.ok();
    }

    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }
}

impl Ran {
    /// Checks that it succeeded, with or without warnings.
    #[track_caller]
    pub(crate) fn ok_with_warnings(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        self.out
    }
}

impl World {
    /// A repository `project` in an otherwise empty directory.
    pub(crate) fn new() -> Self {
        // In memory if possible: a test need not wait for the disk.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let world = Self { dir, calls: AtomicU32::new(0) };
        fs::create_dir_all(world.path("home")).unwrap();
        world.repository("project/.git");
        world
    }

    /// Creates what git would accept as a repository.
    pub(crate) fn repository(&self, git: &str) {
        for dir in ["objects", "refs"] {
            fs::create_dir_all(self.path(git).join(dir)).unwrap();
        }
        fs::write(self.path(git).join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The program in `dir`, without the caller's environment.
    pub(crate) fn command(&self, dir: &str) -> Command {
        let n = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let mut command = Command::new(env!("CARGO_BIN_EXE_punchlist"));
        command
            .env_clear()
            .env("HOME", self.path("home"))
            // For calls by agents, the environment's home directory does not count; this replaces
            // the password database.
            .env("PUNCHLIST_HOME", self.path("home"))
            .env("USER", "me")
            .env("PUNCHLIST_HOST", "host")
            .env("PUNCHLIST_ANCESTORS", "0")
            .env("PUNCHLIST_NOW", format!("2026-01-02T{:02}:{:02}:00Z", 3 + n / 60, n % 60))
            .env("PUNCHLIST_SEED", n.to_string())
            .current_dir(self.path(dir));
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ran {
        self.run_with(arguments, b"")
    }

    pub(crate) fn run_with<S: AsRef<OsStr>>(&self, arguments: &[S], stdin: &[u8]) -> Ran {
        let mut command = self.command("project");
        command.args(arguments);
        finish(command, stdin)
    }

    /// A call as typed: words, quotes, and `< text` for stdin.
    pub(crate) fn typed(&self, line: &str) -> Ran {
        self.typed_in("project", line)
    }

    /// The same in another directory. What only a person at a terminal may do is done at a
    /// terminal, with a yes.
    pub(crate) fn typed_in(&self, dir: &str, line: &str) -> Ran {
        const PERSONS: [&str; 3] = ["init", "forget", "gate off"];
        if PERSONS.iter().any(|it| line == *it || line.starts_with(&format!("{it} "))) {
            return self.person_in(dir, line);
        }
        let (line, stdin) = line.split_once(" < ").unwrap_or((line, ""));
        let mut command = self.command(dir);
        command.args(words(line));
        finish(command, stdin.replace("\\n", "\n").as_bytes())
    }

    /// Calls one after the other, as a transcript.
    pub(crate) fn story(&self, lines: &str) -> String {
        let mut story = String::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(comment) = line.strip_prefix('#') {
                writeln!(story, "#{comment}").unwrap();
                continue;
            }
            let ran = self.typed(line);
            writeln!(story, "$ punchlist {line}").unwrap();
            story.push_str(&ran.out);
            if !ran.out.is_empty() && !ran.out.ends_with('\n') {
                story.push_str("[no line end]\n");
            }
            for line in ran.err.lines() {
                writeln!(story, "! {line}").unwrap();
            }
            if ran.code != 0 {
                writeln!(story, "[exit {}]", ran.code).unwrap();
            }
            story.push('\n');
        }
        self.without_chance(&story)
    }

    /// A text without what differs between runs: paths, and the ids of unnamed plans.
    pub(crate) fn without_chance(&self, text: &str) -> String {
        let mut text = text.replace(&self.path("").display().to_string(), "/w/");
        let shown = self.run(&["show", "--json"]).out;
        let own = serde_json::from_str::<Value>(&shown).unwrap_or_default()["plan"]["id"].clone();
        let plans = self.run(&["plans", "--all", "--json"]).out;
        let plans = serde_json::from_str::<Value>(&plans).unwrap_or_default();
        for plan in plans["plans"].as_array().into_iter().flatten() {
            let id = plan["id"].as_str().unwrap();
            // A plan file's name is the name of its plan.
            if plan["name"].as_str().is_some_and(|name| !name.ends_with(".md")) {
                continue;
            }
            let (short, word) = (&id[id.len() - 4..], if own == id { "own" } else { "one" });
            text = text
                .replace(id, &format!("[{word} plan]"))
                .replace(&format!("plan {short}"), &format!("plan [{word}]"))
                .replace(&format!("\n{short}  "), &format!("\n[{word}]  "));
        }
        text
    }

    /// The list, to check that nothing has changed.
    pub(crate) fn list(&self) -> String {
        self.run(&["list", "--json", "--all"]).out
    }
}

pub(crate) fn finish(mut command: Command, stdin: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = stdin.to_owned();
    // On its own thread: the program may answer before it has read everything.
    let writer = std::thread::spawn(move || pipe.write_all(&input).ok());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).expect("what is printed is UTF-8");
    Ran { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

/// Splits a line into words; quotes hold words together.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for ch in line.chars() {
        match (quote, ch) {
            (None, '"' | '\'') => {
                quote = Some(ch);
                word.get_or_insert_default();
            }
            (Some(open), _) if ch == open => quote = None,
            (None, ' ') => words.extend(word.take()),
            (_, _) => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    words
}
