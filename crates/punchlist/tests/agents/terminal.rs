//! A terminal without a person: runs a program, presses keys, and reads what it draws. Knows no
//! agent.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The timeout of every wait.
const LIMIT: Duration = Duration::from_secs(60);

/// Queries of programs to the terminal, and the answers of a simple one.
const ANSWERS: [(&str, &str); 2] = [("\u{1b}[6n", "\u{1b}[1;1R"), ("\u{1b}[c", "\u{1b}[?62;c")];

/// A running program, its keyboard, and everything that it has drawn.
pub(crate) struct Terminal {
    child: Child,
    keyboard: Arc<Mutex<ChildStdin>>,
    drawn: Arc<(Mutex<String>, Condvar)>,
    /// Set at the end of the output.
    is_closed: Arc<AtomicBool>,
}

impl Terminal {
    /// Runs a program on its own terminal, made by `script`. If it `asks`, its queries about the
    /// terminal are answered.
    pub(crate) fn open(program: &Command, asks: bool) -> Self {
        let quoted =
            |it: &std::ffi::OsStr| format!("'{}'", it.to_string_lossy().replace('\'', "'\\''"));
        let words = std::iter::once(program.get_program()).chain(program.get_args());
        let line: Vec<String> = words.map(quoted).collect();
        let line = format!("stty rows 45 cols 140 && exec {}", line.join(" "));
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-f", "-c", &line, "/dev/null"]).env_clear();
        command.current_dir(program.get_current_dir().unwrap()).env("SHELL", "/bin/sh");
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().unwrap();
        let keyboard = Arc::new(Mutex::new(child.stdin.take().unwrap()));
        let mut output = child.stdout.take().unwrap();
        let drawn = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let canvas = Arc::clone(&drawn);
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let answers = Arc::clone(&keyboard);
        thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]);
                for (question, answer) in ANSWERS.iter().filter(|_| asks) {
                    if text.contains(question) {
                        // The program may not read any more.
                        drop(answers.lock().unwrap().write_all(answer.as_bytes()));
                    }
                }
                canvas.0.lock().unwrap().push_str(&text);
                canvas.1.notify_all();
            }
            closed.store(true, Ordering::Release);
        });
        Self { child, keyboard, drawn, is_closed }
    }

    /// Waits until a condition holds for everything that was drawn.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let until = Instant::now() + LIMIT;
        let mut drawn = self.drawn.0.lock().unwrap();
        while !is_so(&drawn) {
            assert!(Instant::now() < until, "it never {what}: {}", letters(&drawn));
            // Not every condition depends on the output, so check again regularly.
            drawn = self.drawn.1.wait_timeout(drawn, Duration::from_millis(50)).unwrap().0;
        }
    }

    /// Waits until this text is drawn, after the first `after` bytes.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str, after: usize) {
        self.until(&format!("showed {text:?}"), |drawn| {
            letters(drawn.get(after..).unwrap_or_default()).contains(&letters(text))
        });
    }

    /// The number of bytes drawn so far.
    pub(crate) fn drawn(&self) -> usize {
        self.drawn.0.lock().unwrap().len()
    }

    /// Presses these keys.
    pub(crate) fn presses(&self, keys: &str) {
        self.keyboard.lock().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line, and presses Enter when it is shown.
    #[track_caller]
    pub(crate) fn types(&self, line: &str) {
        let before = self.drawn();
        self.presses(line);
        self.shows(line, before);
        self.presses("\r");
    }

    /// Presses Ctrl-C twice, and waits for the end of the program. The program forgets the first one after
    /// a second; then both are pressed again.
    #[track_caller]
    pub(crate) fn quits(self, hint: &str) {
        for _ in 0..10 {
            let before = self.drawn();
            self.presses("\u{3}");
            self.shows(hint, before);
            self.presses("\u{3}");
            let until = Instant::now() + Duration::from_secs(5);
            while Instant::now() < until && !self.is_closed.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(10));
            }
            if self.is_closed.load(Ordering::Acquire) {
                break;
            }
        }
        self.ends();
    }

    /// Waits for the end of the program.
    #[track_caller]
    pub(crate) fn ends(mut self) {
        self.until("ended", |_| self.is_closed.load(Ordering::Acquire));
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Only if the test failed early: then nobody else ends the program.
        if self.child.try_wait().is_ok_and(|it| it.is_none()) {
            kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
            drop(self.child.wait());
        }
    }
}

/// The text of a terminal's bytes without blanks, because programs move the cursor instead of
/// printing some of them.
fn letters(drawn: &str) -> String {
    let mut text = String::new();
    let mut rest = drawn.chars();
    while let Some(character) = rest.next() {
        if character != '\u{1b}' {
            text.extend(Some(character).filter(|it| !it.is_whitespace() && !it.is_control()));
            continue;
        }
        match rest.next() {
            Some('[') => drop(rest.find(|it| ('@'..='~').contains(it))),
            Some(']') => drop(rest.find(|it| matches!(it, '\u{7}' | '\\'))),
            _ => {}
        }
    }
    text
}

#[test]
fn letters_are_what_is_left_of_a_drawing() {
    assert_eq!(letters("a\u{1b}[1;31mb\u{1b}[2C c\u{1b}]0;title\u{7}d\u{1b}7e\r\n"), "abcde");
}
