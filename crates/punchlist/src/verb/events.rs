//! `punchlist events`.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use punchlist_streams::event::{KindName, KindSet};
use punchlist_streams::{Source, Tally};

use super::{Group, Verb};
use crate::app::App;
use crate::fail::{Code, Fail};
use crate::print::{self, Progress, Reply};
use crate::stream_input::{self, Ended, Given, How, Input};
use crate::{glob, places};

/// Turn what an agent says into one stream of events
///
/// Reads what Claude Code, Codex, Gemini CLI or an agent that speaks ACP prints or keeps on disk, and
/// writes one JSON object a line, the same for all of them: who said what, which tools ran, and above
/// all the plan, whole, whenever it changed. A list is told when the agent's program took it, not when
/// the model asked for it. docs/reference/events.schema.json describes every line.
///
/// Whose stream it is, its first lines tell. Sessions that older versions of Gemini CLI and Codex kept are read
/// too; what is not supported is an error that names the program and its version. Plans that an agent makes with
/// the tools of `punchlist mcp` are lists like its own. A line that cannot be read is a `warning` event, and the
/// next line is read. At the end, lines, lists, warnings and kinds that are not known are counted on
/// stderr.
#[derive(clap::Args)]
pub(crate) struct Events {
    /// Files, or patterns for them (`*`, `?`, `[…]`, `**`); `-` or none for stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Whose stream it is: claude, codex, gemini or acp; by default it is recognised
    #[arg(long, value_name = "AGENT", value_parser = source)]
    from: Option<Source>,
    /// Only events of this kind, such as todo_list; may be repeated, or several with commas
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    only: Vec<KindName>,
    /// How many files are read side by side; by default as many as there are processors
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

fn source(name: &str) -> Result<Source, String> {
    Source::parse(name).ok_or_else(|| "there is claude, codex, gemini and acp".to_owned())
}

pub(super) fn kind(name: &str) -> Result<KindName, String> {
    let names = || KindName::ALL.map(KindName::name).join(", ");
    KindName::parse(name).ok_or_else(|| format!("there is {}", names()))
}

impl Verb for Events {
    const NAME: &'static str = "events";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  claude -p \"…\" --output-format stream-json --verbose | punchlist events
  codex exec --json \"…\" | punchlist events --only todo_list
  punchlist events --only todo_list '~/.claude/projects/**/*.jsonl'
  punchlist events --from gemini --only todo_list,turn.completed log.jsonl";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let inputs = inputs(&self.files, app.globals.directory.as_deref())?;
        let jobs = self.jobs.map_or_else(processors, usize::from);
        let all = KindSet::ALL;
        let only = if self.only.is_empty() { all } else { KindSet::of(self.only) };
        let mut progress = Progress::over(files_size(&inputs), inputs.len());
        let mut sum = Sum::default();
        let how = How { from: self.from, only, jobs };
        stream_input::all(&inputs, how, |given, reached| {
            progress.draw(reached.bytes, reached.inputs);
            match given {
                Given::Lines(lines) => return print::live_json(lines),
                Given::Nothing => {}
                Given::Ended(at, ended) => sum.add(&inputs[at].name(), ended),
            }
            Ok(true)
        })?;
        progress.clear();
        // Whoever went away early needs no sum.
        if sum.read > 0 {
            print::aside(&sum.text(), app.globals.json.then(|| sum.json()).as_ref());
        }
        sum.outcome()
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// What the arguments name, seen from `here`.
fn inputs(files: &[PathBuf], here: Option<&Path>) -> Result<Vec<Input>, Fail> {
    if files.is_empty() {
        return Ok(vec![Input::Stdin]);
    }
    let mut inputs = Vec::new();
    for file in files {
        if file.as_os_str() == "-" {
            if inputs.iter().any(|it| matches!(it, Input::Stdin)) {
                return Err(Fail::usage("stdin is named twice").hint("name `-` once."));
            }
            inputs.push(Input::Stdin);
            continue;
        }
        let file = at_home(file);
        let file = here.map_or_else(|| file.clone(), |it| it.join(&file));
        // What is there by that very name is no pattern.
        if !glob::is_pattern(&file) || file.exists() {
            check(&file)?;
            inputs.push(Input::File(file));
            continue;
        }
        let found = glob::files(&file)
            .map_err(|why| Fail::usage(format!("cannot look for {}: {why}", file.display())))?;
        if found.is_empty() {
            let message = format!("no file fits {}", file.display());
            return Err(Fail::not_found(message).hint("a hidden file fits only by its own name."));
        }
        inputs.extend(found.into_iter().map(Input::File));
    }
    Ok(inputs)
}

/// A quoted pattern keeps its `~`, which the shell would have taken away.
fn at_home(file: &Path) -> PathBuf {
    match file.strip_prefix("~") {
        Ok(rest) if !file.exists() => {
            places::home().map_or_else(|| file.to_owned(), |it| it.join(rest))
        }
        Ok(_) | Err(_) => file.to_owned(),
    }
}

/// Whether a file can be read, before anything is written.
fn check(file: &Path) -> Result<(), Fail> {
    match fs::metadata(file) {
        Ok(data) if data.is_dir() => {
            let pattern = file.join("**/*.jsonl");
            Err(Fail::usage(format!("{} is a directory", file.display()))
                .hint(format!("name its files, as in '{}'.", pattern.display())))
        }
        Ok(_) => Ok(()),
        Err(why) => Err(crate::fail::unreadable(&file.display().to_string(), &why)),
    }
}

/// How much there is to read, if that is known.
fn files_size(inputs: &[Input]) -> Option<u64> {
    inputs.iter().try_fold(0, |sum: u64, input| match input {
        Input::Stdin => None,
        Input::File(path) => Some(sum + fs::metadata(path).ok()?.len()),
    })
}

/// What there was in all inputs.
#[derive(Default)]
struct Sum {
    read: usize,
    tally: Tally,
    unrecognised: Vec<String>,
    /// What is known and not supported, or was not understood at all.
    unsupported: Vec<String>,
    failed: Vec<String>,
}

impl Sum {
    fn add(&mut self, name: &str, ended: Ended) {
        match ended {
            Ended::Read(tally) => {
                self.read += 1;
                self.unsupported.extend(not_understood(name, &tally));
                let sum = &mut self.tally;
                sum.lines += tally.lines;
                sum.events += tally.events;
                sum.lists += tally.lists;
                sum.todo_calls += tally.todo_calls;
                sum.warnings += tally.warnings;
                for (kind, count) in tally.unknown {
                    *sum.unknown.entry(kind).or_default() += count;
                }
            }
            Ended::Unrecognised(None) => self.unrecognised.push(name.to_owned()),
            Ended::Unrecognised(Some(program)) => {
                self.unsupported
                    .push(format!("{name} was written by {program}, which is not supported"));
            }
            Ended::Failed(why) => self.failed.push(format!("cannot read {name}: {why}")),
        }
    }

    fn text(&self) -> String {
        let Tally { lines, lists, warnings, unknown, .. } = &self.tally;
        let count =
            |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let mut text = String::new();
        if self.read != 1 {
            text.push_str(&format!("{}, ", count(self.read as u64, "file", "files")));
        }
        text.push_str(&format!(
            "{}, {}, {}, {}",
            count(*lines, "line", "lines"),
            count(*lists, "list", "lists"),
            count(*warnings, "warning", "warnings"),
            count(unknown.len() as u64, "unknown kind", "unknown kinds"),
        ));
        if !unknown.is_empty() {
            let kinds: Vec<String> =
                unknown.iter().map(|(kind, n)| format!("{kind} {n}×")).collect();
            text.push_str(&format!(" ({})", kinds.join(", ")));
        }
        if self.has_drifted() {
            text.push_str(&format!(
                "\ntodo tools were called {}, but no list came of it: the agent's format may have changed",
                count(self.tally.todo_calls, "time", "times")
            ));
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let Tally { lines, events, lists, todo_calls, warnings, unknown, version: _ } = &self.tally;
        serde_json::json!({"summary": {
            "files": self.read, "lines": lines, "events": events, "lists": lists,
            "todoCalls": todo_calls, "warnings": warnings, "unknown": unknown,
        }})
    }

    fn has_drifted(&self) -> bool {
        self.tally.todo_calls > 0 && self.tally.lists == 0
    }

    fn outcome(self) -> Result<Reply, Fail> {
        if let Some(first) = self.failed.first() {
            return Err(Fail::new(Code::Failure, first.clone()).details(self.failed[1..].to_vec()));
        }
        if let Some(first) = self.unsupported.first() {
            let rest = self.unsupported[1..].iter().chain(&self.unrecognised).cloned().collect();
            let version = env!("CARGO_PKG_VERSION");
            let hint = format!(
                "punchlist {version} reads Claude Code, Codex, Gemini CLI and agents that speak ACP; a newer \
                 version may read more."
            );
            return Err(Fail::new(Code::Failure, first.clone()).details(rest).hint(hint));
        }
        let Some(first) = self.unrecognised.first() else { return Ok(Reply::default()) };
        let rest = self.unrecognised[1..].to_vec();
        Err(Fail::usage(format!("cannot tell which agent wrote {first}"))
            .details(rest)
            .hint("say so: `--from claude`, `codex`, `gemini` or `acp`."))
    }
}

/// What to say of a stream of which every line was of a kind that is not known.
fn not_understood(name: &str, tally: &Tally) -> Option<String> {
    if tally.lines == 0 || tally.unknown.values().sum::<u64>() < tally.lines {
        return None;
    }
    let kinds: Vec<&str> = tally.unknown.keys().map(String::as_str).take(3).collect();
    let version = tally.version.as_ref().map(|it| format!(", written by version {it}"));
    Some(format!(
        "nothing in {name} is understood{}: its lines are of kinds that are not known ({})",
        version.unwrap_or_default(),
        kinds.join(", ")
    ))
}
