//! What the terminal UI writes while a model streams: bytes for each word, and lines that scroll in tmux.
//!
//! Two programs (`crates/tui/examples/stream_baseline`) stream the same text at the same pace: one writes
//! each word as it is, the other draws the whole screen again for each word.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::cold::{Scratch, build};
use super::measure::output;
use super::table::{hundredths, table, times};
use super::watch::Watched;
use crate::print::warn;

/// The size of the terminal.
const COLUMNS: usize = 120;
const ROWS: usize = 40;
/// How many words the model says, and how long it pauses after each.
const WORDS: usize = 1_200;
const PAUSE_MS: u64 = 5;
/// The first and the last word. No other text on the screen contains them.
const FIRST: &str = "Beginning";
const LAST: &str = "Ending";
/// The timeout of a stream.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a program draws after the last word.
const REST: Duration = Duration::from_secs(1);

/// A program that streams.
struct Program {
    /// The line that starts it in a shell.
    line: String,
    /// What is typed when this is on the screen.
    keys: Option<(&'static str, &'static str)>,
}

/// The figures of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    /// Bytes for a hundred words.
    bytes: u128,
    /// Lines that scroll in a hundred seconds; none where there is no tmux.
    scrolls: Option<u128>,
}

/// Measures all three, and returns the table.
pub(super) fn run(binary: &Path, scratch: &Scratch) -> Result<String, String> {
    let baseline = build(&["--workspace", "--example", "stream_baseline"])?;
    let (text, scenario) = (scratch.join("words.txt"), scratch.join("words.json"));
    let words = words();
    let write = |path: &PathBuf, text: &str| {
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write(&text, &words)?;
    let said = words.replace('\n', "\\n");
    let answer = format!("{{\"answers\":[{{\"text\":\"{said}\",\"pause_ms\":{PAUSE_MS}}}]}}");
    write(&scenario, &answer)?;
    let other = |how: &str| Program {
        line: format!(
            "{} {how} {} {PAUSE_MS} {COLUMNS} {ROWS}",
            baseline.display(),
            text.display()
        ),
        keys: None,
    };
    let ours = Program {
        line: format!("{} --model scripted:{}", binary.display(), scenario.display()),
        keys: Some(("keys", "Say it")),
    };
    let mut figures = Vec::new();
    for (name, program) in
        [("punchlist", ours), ("each word", other("words")), ("each screen", other("screens"))]
    {
        warn(&format!("streaming: {name}"));
        let bytes = program.bytes(scratch)?;
        let scrolls = program.scrolls(scratch)?;
        figures.push(Figures { bytes, scrolls });
    }
    let [ours, words, screens] = figures.as_slice() else { return Err("not measured".to_owned()) };
    Ok(report(*ours, *words, *screens))
}

/// The text: paragraphs of words of different lengths.
fn words() -> String {
    const SOME: [&str; 8] = ["a", "plan", "that", "survives", "the", "agent", "which", "works"];
    let mut text = FIRST.to_owned();
    for n in 1..WORDS - 1 {
        text.push_str(if n % 60 == 0 { " so.\n\n" } else { " " });
        text.push_str(SOME[n * 7 % SOME.len()]);
    }
    format!("{text} {LAST}")
}

impl Program {
    /// Streams on a terminal of `script`, and counts what is written from the first word on.
    fn bytes(&self, scratch: &Scratch) -> Result<u128, String> {
        let written = scratch.join("written");
        let inside = format!("stty rows {ROWS} cols {COLUMNS} -echo && exec {}", self.line);
        let mut command = Command::new("script");
        command.args(["-q", "-f", "-c", &inside]).arg(&written).env_clear();
        environment(&mut command, scratch, "xterm-256color");
        let mut program = Watched::start(command)?;
        if let Some((ready, keys)) = self.keys {
            program.wait_for(ready, PATIENCE)?;
            program.types(&format!("{keys}\r"))?;
        }
        program.wait_for(LAST, PATIENCE)?;
        thread::sleep(REST);
        drop(program);
        let written = fs::read(&written).map_err(|error| error.to_string())?;
        let first = written.windows(FIRST.len()).position(|it| it == FIRST.as_bytes());
        let first = first.ok_or("the first word was not written")?;
        // `script` notes its own end in the file, which is a line.
        Ok((written.len() - first) as u128 * 100 / WORDS as u128)
    }

    /// Streams in tmux, and counts the lines that leave the screen.
    fn scrolls(&self, scratch: &Scratch) -> Result<Option<u128>, String> {
        let Some(tmux) = Tmux::open(scratch, &self.line)? else { return Ok(None) };
        if let Some((ready, keys)) = self.keys {
            tmux.wait_for(ready)?;
            output(tmux.command().args(["send-keys", keys, "Enter"]))?;
        }
        tmux.wait_for(FIRST)?;
        let (began, before) = (Instant::now(), tmux.scrolled()?);
        tmux.wait_for(LAST)?;
        let took = began.elapsed();
        let scrolled = tmux.scrolled()?.saturating_sub(before);
        Ok(Some(scrolled * 100_000 / took.as_millis().max(1)))
    }
}

fn environment(command: &mut Command, scratch: &Scratch, terminal: &str) {
    command.env("HOME", scratch.join("home")).env("TERM", terminal);
    command.env("PATH", "/usr/bin:/bin").env("LANG", "C.UTF-8").env("SHELL", "/bin/sh");
    command.current_dir(scratch.join("project"));
}

/// A program in tmux. Ends with this value.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// `None` where there is no tmux.
    fn open(scratch: &Scratch, line: &str) -> Result<Option<Self>, String> {
        let mut there = Command::new("tmux");
        there.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if !there.status().is_ok_and(|it| it.success()) {
            return Ok(None);
        }
        let config = scratch.join("tmux.conf");
        // Enough that nothing is forgotten.
        fs::write(&config, "set -g history-limit 1000000\n").map_err(|error| error.to_string())?;
        let tmux = Self { socket: scratch.join("tmux") };
        let mut command = tmux.command();
        command.arg("-f").arg(&config).args(["new-session", "-d"]);
        command.args(["-x", &COLUMNS.to_string(), "-y", &ROWS.to_string()]);
        // The screen stays when the program has ended.
        command.args(["sh", "-c", &format!("{line}; exec sleep 600")]).env_clear();
        environment(&mut command, scratch, "xterm-256color");
        output(&mut command)?;
        Ok(Some(tmux))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").arg("-S").arg(&self.socket);
        command
    }

    fn wait_for(&self, text: &str) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if output(self.command().args(["capture-pane", "-p"]))?.contains(text) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(format!("{text:?} never came"))
    }

    /// How many lines have left the screen.
    fn scrolled(&self) -> Result<u128, String> {
        let said = output(self.command().args(["display-message", "-p", "#{history_size}"]))?;
        said.trim().parse().map_err(|_| format!("tmux says {said:?}"))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        drop(self.command().arg("kill-server").stderr(Stdio::null()).status());
    }
}

fn report(ours: Figures, words: Figures, screens: Figures) -> String {
    let heads = ["", "punchlist", "each word as it is", "ratio", "each time the screen", "ratio"];
    let shown = |it: u128| format!("{}.{}", it / 100, it % 100 / 10);
    let row = |name: &str, of: [u128; 3]| {
        let [ours, words, screens] = of;
        let ratio = |other: u128| times(hundredths(ours, other));
        [name.to_owned(), shown(ours), shown(words), ratio(words), shown(screens), ratio(screens)]
            .to_vec()
    };
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.push(row("bytes per word", [ours.bytes, words.bytes, screens.bytes]));
    if let (Some(ours), Some(words), Some(screens)) = (ours.scrolls, words.scrolls, screens.scrolls)
    {
        rows.push(row("lines per second that scroll in tmux", [ours, words, screens]));
    }
    let about = format!(
        "A model that says {WORDS} words, one every {PAUSE_MS} ms, on a terminal of {COLUMNS}×{ROWS}.\n"
    );
    about + "\n" + &table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_a_table() {
        let of = |bytes, scrolls| Figures { bytes, scrolls };
        let told = report(of(3_000, Some(150)), of(600, Some(150)), of(240_000, Some(400_000)));
        let line = |name: &str| told.lines().find(|it| it.starts_with(name)).unwrap().to_owned();
        let bytes = line("bytes per word");
        for it in ["30.0", "6.0", "5.00×", "2400.0", "0.02×"] {
            assert!(bytes.contains(it), "{it} is not in {bytes}");
        }
        let scrolls = line("lines per second");
        assert!(scrolls.contains("1.5") && scrolls.contains("1.00×"), "{scrolls}");
        let told = report(of(3_000, None), of(600, None), of(240_000, None));
        assert!(!told.contains("tmux"), "{told}");
    }

    #[test]
    fn the_text_has_as_many_words_as_it_says() {
        let text = words();
        assert!(text.starts_with(FIRST) && text.ends_with(LAST), "{text}");
        let pieces = text.split_inclusive(' ').count();
        assert!((WORDS..WORDS + WORDS / 30).contains(&pieces), "{pieces}");
    }
}
