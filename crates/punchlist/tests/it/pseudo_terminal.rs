//! A pseudo-terminal with a shell in it. The program `script` makes it, and a terminal emulator reads
//! what is drawn.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{InputModes, LocalModes, SpecialCodeIndex, tcgetattr};

use crate::world::World;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_punchlist");

/// The timeout of every wait.
const LIMIT: Duration = Duration::from_secs(60);

/// How tall the terminal is: nothing that a test does scrolls out of it.
const ROWS: u16 = 50;

/// Runs the program, after its process id was noted.
const UI: &str = "sh -c 'echo $$ > \"$HOME/new\"; mv \"$HOME/new\" \"$HOME/pid\"; exec \"$@\"' ui PROGRAM\n\
                  echo end $?\n";

/// A pseudo-terminal that ends with the test.
pub(crate) struct PseudoTerminal {
    script: Child,
    keys: ChildStdin,
    drawn: Arc<(Mutex<Drawn>, Condvar)>,
    home: PathBuf,
    /// The terminal's modes before anything ran in it.
    before: Modes,
}

struct Drawn {
    emulator: vt100::Parser,
    /// Everything as it came, for modes that the emulator does not know.
    raw: String,
}

/// The modes of a terminal that a program changes to read keys.
type Modes = (InputModes, LocalModes, u8, u8);

impl PseudoTerminal {
    /// A shell in a terminal of this width.
    pub(crate) fn open(world: &World, columns: u16) -> Self {
        let line = format!("stty rows {ROWS} cols {columns}; tty > \"$HOME/tty\"; exec sh");
        let home = world.path("home");
        let mut command = Command::new("script");
        command.args(["-q", "-f", "-c", &line, "/dev/null"]).env_clear();
        command
            .env("HOME", &home)
            .env("PUNCHLIST_HOME", &home)
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env("PS1", "$ ")
            .env("PUNCHLIST_HOST", "host")
            .env("PUNCHLIST_ANCESTORS", "0")
            .env("TMPDIR", world.path(""))
            .env("PATH", "/usr/bin:/bin")
            .current_dir(world.path("project"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut script = command.spawn().expect("there is `script`, of util-linux");
        let (keys, mut screen) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let size = |it: u16| NonZeroU16::new(it).unwrap();
        let emulator = vt100::Parser::new(size(ROWS), size(columns), 0);
        let drawn = Arc::new((Mutex::new(Drawn { emulator, raw: String::new() }), Condvar::new()));
        let canvas = Arc::clone(&drawn);
        thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                let mut drawn = canvas.0.lock().unwrap();
                drawn.emulator.process(&bytes[..count]);
                drawn.raw.push_str(&String::from_utf8_lossy(&bytes[..count]));
                drop(drawn);
                canvas.1.notify_all();
            }
        });
        let before = (InputModes::empty(), LocalModes::empty(), 0, 0);
        let mut terminal = Self { script, keys, drawn, home, before };
        // Keys before the prompt would appear before it.
        terminal.until(|it| it.ends_with('$'));
        terminal.before = terminal.modes();
        terminal
    }

    /// Starts the program on an empty screen.
    #[track_caller]
    pub(crate) fn starts(&mut self, arguments: &str) {
        self.types(&["clear", "Enter"]);
        self.until(|it| it == "$");
        fs::remove_file(self.home.join("pid")).ok();
        let line = UI.replace("PROGRAM", &format!("{PROGRAM} {arguments}"));
        fs::write(self.home.join("ui"), line).unwrap();
        self.types(&[". ~/ui", "Enter"]);
    }

    /// Kills the program. Returns whether it was still there.
    pub(crate) fn kill(&self) -> bool {
        kill(&self.home)
    }

    /// Something that kills the program later.
    pub(crate) fn killer(&self) -> impl FnOnce(Duration) -> bool + Send + 'static {
        let home = self.home.clone();
        move |after| {
            let until = Instant::now() + LIMIT;
            while !home.join("pid").exists() && Instant::now() < until {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(after);
            kill(&home)
        }
    }

    /// Presses keys: texts, and the names that tmux has for other keys.
    pub(crate) fn types(&mut self, keys: &[&str]) {
        for key in keys {
            let bytes = match *key {
                "Enter" => "\r",
                "M-Enter" => "\x1b\r",
                "Escape" => "\x1b",
                "C-c" => "\x03",
                "C-d" => "\x04",
                "C-t" => "\x14",
                "C-u" => "\x15",
                text => text,
            };
            // If the terminal is gone, the next wait fails.
            self.keys.write_all(bytes.as_bytes()).ok();
        }
        self.keys.flush().ok();
    }

    /// What is on the screen, without empty lines at the end.
    pub(crate) fn shows(&self) -> String {
        let drawn = self.drawn.0.lock().unwrap();
        drawn.emulator.screen().contents().trim_end().to_owned()
    }

    /// Waits until a condition holds for the screen.
    #[track_caller]
    pub(crate) fn until(&self, is_so: impl Fn(&str) -> bool) -> String {
        self.within(LIMIT, is_so).unwrap_or_else(|shown| panic!("it never came to that:\n{shown}"))
    }

    /// The same; an error with the screen if it did not come to that in time.
    pub(crate) fn within(
        &self,
        limit: Duration,
        is_so: impl Fn(&str) -> bool,
    ) -> Result<String, String> {
        let until = Instant::now() + limit;
        let mut drawn = self.drawn.0.lock().unwrap();
        loop {
            let shown = drawn.emulator.screen().contents().trim_end().to_owned();
            if is_so(&shown) {
                return Ok(shown);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(shown);
            }
            drawn = self.waits(drawn, left);
        }
    }

    fn waits<'a>(&self, drawn: MutexGuard<'a, Drawn>, most: Duration) -> MutexGuard<'a, Drawn> {
        // Not every condition depends on the output, so check again regularly.
        self.drawn.1.wait_timeout(drawn, most.min(Duration::from_millis(50))).unwrap().0
    }

    /// Waits until a program has changed the terminal's modes. Returns at once, to kill it just then.
    #[track_caller]
    pub(crate) fn is_taken(&self) {
        let until = Instant::now() + LIMIT;
        while self.modes() == self.before {
            assert!(Instant::now() < until, "nobody takes the terminal:\n{}", self.shows());
            thread::yield_now();
        }
    }

    /// Waits until the terminal is as it was before: the modes, the screen, the cursor. Returns what is
    /// still different.
    pub(crate) fn is_restored(&self) -> Result<(), String> {
        let until = Instant::now() + LIMIT;
        loop {
            let wrong = self.differs();
            if wrong.is_empty() {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(format!("{wrong:?}:\n{}", self.shows()));
            }
            drop(self.waits(self.drawn.0.lock().unwrap(), LIMIT));
        }
    }

    fn differs(&self) -> Vec<&'static str> {
        let modes = self.modes();
        let drawn = self.drawn.0.lock().unwrap();
        let screen = drawn.emulator.screen();
        // The emulator knows neither of these: focus, no wrapping, synchronized updates.
        let last = |on: &str, off: &str| drawn.raw.rfind(on) > drawn.raw.rfind(off);
        [
            (modes != self.before, "modes"),
            (screen.alternate_screen(), "alternate screen"),
            (screen.hide_cursor(), "no cursor"),
            (screen.bracketed_paste(), "marked pastes"),
            (last("\x1b[?1004h", "\x1b[?1004l"), "focus"),
            (last("\x1b[?7l", "\x1b[?7h"), "no wrapping"),
            (last("\x1b[?2026h", "\x1b[?2026l"), "synchronized"),
            (screen.bold() || screen.dim() || screen.inverse(), "style"),
        ]
        .into_iter()
        .filter_map(|(is_wrong, what)| is_wrong.then_some(what))
        .collect()
    }

    fn modes(&self) -> Modes {
        let device = fs::read_to_string(self.home.join("tty")).unwrap();
        let device = File::open(device.trim()).unwrap();
        let modes = tcgetattr(device).unwrap();
        let codes = &modes.special_codes;
        let (minimum, time) = (codes[SpecialCodeIndex::VMIN], codes[SpecialCodeIndex::VTIME]);
        (modes.input_modes, modes.local_modes, minimum, time)
    }
}

fn kill(home: &std::path::Path) -> bool {
    let pid = fs::read_to_string(home.join("pid")).unwrap_or_default();
    let Some(pid) = pid.trim().parse().ok().and_then(Pid::from_raw) else { return false };
    // A number that was given to another process meanwhile is not ours.
    let program = fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero())).unwrap_or_default();
    program == fs::canonicalize(PROGRAM).unwrap() && kill_process(pid, Signal::KILL).is_ok()
}

impl Drop for PseudoTerminal {
    fn drop(&mut self) {
        // Closes the terminal, which hangs up what runs in it.
        self.script.kill().ok();
        self.script.wait().ok();
    }
}
