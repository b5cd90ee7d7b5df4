//! `punchlist events`.

use std::path::PathBuf;
use std::thread;

use punchlist_engine::stream_input::{self, Given, Reading, Summary, files};
use punchlist_streams::Source;
use punchlist_streams::event::{KindName, KindSet};

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::places;
use crate::print::{self, Progress, Reply};

/// Convert the streams of agents to unified events
///
/// Reads what Claude Code, Codex, Gemini CLI or an agent that speaks ACP prints or stores, and
/// writes one JSON object per line in the same format for all of them: messages, tool calls, and
/// the whole list whenever it changes. A list is reported when the agent's program accepts it, not
/// when the model asks for it. docs/reference/events.schema.json describes every line.
///
/// The agent is recognised from the first lines. Sessions stored by older versions of Gemini CLI
/// and Codex can be read too; for an unsupported version, the error names the program and the
/// version. Plans that an agent makes with the tools of `punchlist mcp` are reported like the
/// agent's own lists. A line that cannot be parsed becomes a `warning` event, and reading
/// continues. A record of `punchlist team` is read back as it was written. At the end, a summary on stderr counts lines, lists, warnings and unknown kinds.
#[derive(clap::Args)]
pub(crate) struct Events {
    /// Files or patterns (`*`, `?`, `[…]`, `**`); `-` or no file reads stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The agent: claude, codex, gemini or acp [default: recognised from the stream]
    #[arg(long, value_name = "AGENT", value_parser = source)]
    from: Option<Source>,
    /// Only print events of this kind, such as todo_list; may be repeated, or separated by commas
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    only: Vec<KindName>,
    /// How many files to read in parallel [default: the number of processors]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

fn source(name: &str) -> Result<Source, String> {
    Source::parse(name).ok_or_else(|| "use claude, codex, gemini or acp".to_owned())
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
        let (here, home) = (app.globals.directory.as_deref(), places::home());
        let inputs = files::inputs(&self.files, here, home.as_deref())?;
        let jobs = self.jobs.map_or_else(processors, usize::from);
        let all = KindSet::ALL;
        let only = if self.only.is_empty() { all } else { KindSet::of(self.only) };
        let mut progress = Progress::over(files::size(&inputs), inputs.len());
        let mut sum = Summary::default();
        let how = Reading { from: self.from, only, jobs };
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
        // If the reader closed the pipe early, there is no summary.
        if sum.read > 0 {
            print::aside(&sum.text(), app.globals.json.then(|| sum.json()).as_ref());
        }
        sum.outcome()?;
        Ok(Reply::default())
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
