//! A simulated person at a terminal, which the program `script` provides. The person waits for each
//! question before answering it, as the program demands.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// How a question that waits for an answer ends.
const QUESTIONS: [&str; 2] = ["[y/N] ", "? "];

/// A person at a terminal in which a command runs.
pub struct Person {
    script: Child,
    keys: Option<ChildStdin>,
    screen: ChildStdout,
    /// Everything that was on the screen so far.
    pub seen: String,
    /// How much of it was there at the last key.
    answered: usize,
}

impl Person {
    /// A person who runs this line in the shell of a terminal, with the environment of `like`.
    ///
    /// # Panics
    ///
    /// If there is no `script`, which is part of util-linux.
    pub fn calls(like: &Command, line: &str) -> Self {
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-c", line, "/dev/null"]).env_clear();
        for (name, value) in like.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.env("SHELL", "/bin/sh").env("PATH", "/usr/bin:/bin");
        if let Some(directory) = like.get_current_dir() {
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut script = command.spawn().expect("there is `script`, of util-linux");
        let (keys, screen) = (script.stdin.take(), script.stdout.take().expect("it is a pipe"));
        Self { script, keys, screen, seen: String::new(), answered: 0 }
    }

    /// Waits until a question is on the screen. Returns whether one came before the command ended.
    pub fn sees_question(&mut self) -> bool {
        let is_asked = |new: &str| QUESTIONS.iter().any(|it| new.ends_with(it));
        self.sees(|new| is_asked(new))
    }

    /// Waits until the output since the last key fulfils `is_so`. Returns whether it did before the
    /// command ended.
    pub fn sees(&mut self, is_so: impl Fn(&str) -> bool) -> bool {
        let mut piece = [0; 4096];
        loop {
            if is_so(&self.seen[self.answered..]) {
                return true;
            }
            match self.screen.read(&mut piece) {
                Ok(0) | Err(_) => return false,
                Ok(count) => {
                    let text = String::from_utf8_lossy(&piece[..count]).replace("\r\n", "\n");
                    self.seen.push_str(&text);
                }
            }
        }
    }

    /// Types keys, whether or not there is a question.
    pub fn types(&mut self, keys: &str) {
        self.answered = self.seen.len();
        if let Some(pipe) = &mut self.keys {
            pipe.write_all(keys.as_bytes()).ok();
        }
    }

    /// Closes the terminal, which hangs up the command in it. Returns whether it was still running.
    pub fn is_killed(mut self) -> bool {
        self.script.kill().ok();
        self.script.wait().expect("it is our child").signal() == Some(9)
    }

    /// Waits for the end, without answering anything more.
    pub fn ends(mut self) -> (i32, String) {
        drop(self.keys.take());
        self.sees(|_| false);
        let code = self.script.wait().expect("it is our child").code().unwrap_or(-1);
        (code, std::mem::take(&mut self.seen))
    }
}

/// A command as it is typed into a shell.
pub fn typed(command: &Command) -> String {
    let quoted = |word: &OsStr| {
        format!("'{}'", word.to_str().expect("tests give texts").replace('\'', r"'\''"))
    };
    let all = [command.get_program()].into_iter().chain(command.get_args());
    all.map(quoted).collect::<Vec<_>>().join(" ")
}
