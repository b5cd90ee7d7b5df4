//! `punchlist candidates`: what a shell offers for the word before the cursor.

use clap::{Arg, Command, FromArgMatches};
use punchlist_engine::candidates::{self, Candidate};
use punchlist_formats::dialect::Dialect;
use punchlist_formats::text;
use punchlist_model::store::Filter;

use super::{Group, Row, Verb};
use crate::app::App;
use crate::args::{self, Globals};
use crate::block_on;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{plan_choice, verb};

/// Maximum of candidates of one kind.
const MOST: usize = 500;

/// Print completions of the last word, one per line
///
/// The completion scripts of bash, zsh and fish call this verb for items, plans, names and values.
/// A tab and a description follow each candidate.
#[derive(clap::Args)]
pub(crate) struct Candidates {
    /// The words after `punchlist`, up to the cursor
    #[arg(value_name = "WORD", last = true)]
    words: Vec<String>,
}

impl Verb for Candidates {
    const NAME: &'static str = "candidates";
    const GROUP: Group = Group::Rest;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist candidates -- done \"\"";
    const HIDDEN: bool = true;

    fn run(self, app: &App) -> Result<Reply, Fail> {
        // An error would disturb the user's prompt. Without candidates, the shell offers its own.
        let found = found(app, &self.words).unwrap_or_default();
        let line = |(value, about): &(String, String)| {
            format!("{}\t{}\n", text::one_line(value), text::one_line(about))
        };
        Ok(Reply::text(found.iter().take(MOST).map(line).collect::<String>()))
    }
}

type Found = Vec<Candidate>;

/// The names of values for which this verb has candidates.
pub(super) const KINDS: [&str; 8] =
    ["ITEM", "ITEM|PLAN", "ID|NAME", "PLAN", "OLD", "NAME", "DIALECT", "AGENT"];

fn found(app: &App, words: &[String]) -> Option<Found> {
    let (before, current) = apart(words)?;
    if current.starts_with('-') {
        return None;
    }
    let before = before.as_slice();
    let at = args::first_word(before)?;
    let name = verb::alias(&before[at]).map_or(before[at].as_str(), |it| it.0);
    let row = verb::find(name)?;
    let mut words = before.to_vec();
    words.remove(at);
    let arg = argument(row, &words)?;
    let app = &App::new(globals(row, &words, app));
    let values = values(&arg);
    if !values.is_empty() {
        return Some(values);
    }
    let kind = arg.get_value_names()?.first()?.to_string();
    match kind.as_str() {
        "ITEM" => items(app, row.name),
        "ITEM|PLAN" => Some([items(app, row.name)?, plans(app)?].concat()),
        "ID|NAME" | "PLAN" => plans(app),
        // In other verbs, OLD is a file or a directory.
        "OLD" if row.name == "plans" => plans(app),
        // There, NAME is a tool.
        "NAME" if row.name != "policy" => names(app),
        "DIALECT" => Some(plain(Dialect::ALL.iter().map(|it| it.as_str()))),
        "AGENT" if row.name == "events" => Some(plain(["claude", "codex", "gemini", "acp"])),
        "AGENT" => Some(plain(["claude", "codex", "gemini"])),
        _ => None,
    }
}

/// Splits off the last word. `--plan=re` counts as two words, although bash passes three: `--plan`,
/// `=` and `re`.
fn apart(words: &[String]) -> Option<(Vec<String>, String)> {
    let (current, before) = words.split_last()?;
    let mut before: Vec<String> = before.iter().filter(|it| *it != "=").cloned().collect();
    let mut current = if current == "=" { String::new() } else { current.clone() };
    if let Some((option, value)) = current.split_once('=').filter(|it| it.0.starts_with("--")) {
        before.push(option.to_owned());
        current = value.to_owned();
    }
    Some((before, current))
}

/// The argument whose value the next word would be.
fn argument(row: &Row, words: &[String]) -> Option<Arg> {
    let mut command = args::alone(row);
    command.build();
    let mut command = &command;
    let mut positionals = 0;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if word.starts_with('-') && word != "-" {
            let Some(option) = option(command, word).filter(takes_value) else { continue };
            if word.contains('=') {
                continue;
            }
            if at == words.len() {
                return Some(option.clone());
            }
            at += 1;
        } else if let Some(sub) = command.find_subcommand(word) {
            command = sub;
            positionals = 0;
        } else {
            positionals += 1;
        }
    }
    let all: Vec<&Arg> = command.get_positionals().collect();
    let many = |arg: &&&Arg| arg.get_num_args().is_some_and(|it| it.max_values() > 1);
    all.get(positionals).copied().or_else(|| all.last().filter(many).copied()).cloned()
}

fn option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or(word);
    command.get_opts().find(|it| match name.strip_prefix("--") {
        Some(long) => it.get_long() == Some(long),
        None => it.get_short().is_some_and(|short| name == format!("-{short}")),
    })
}

fn takes_value(arg: &&Arg) -> bool {
    arg.get_num_args().is_none_or(|it| it.takes_values())
}

/// The global options among the words so far.
fn globals(row: &Row, words: &[String], app: &App) -> Globals {
    let command = args::alone(row).ignore_errors(true);
    let matches = command.try_get_matches_from(words);
    let found = matches.ok().and_then(|mut it| Globals::from_arg_matches_mut(&mut it).ok());
    let found = found.unwrap_or_default();
    let db = found.db.clone().or_else(|| app.globals.db.clone());
    Globals { json: false, db, ..found }
}

/// The possible values that clap knows for the argument.
fn values(arg: &Arg) -> Found {
    let about = |it: &clap::builder::PossibleValue| {
        it.get_help().map(ToString::to_string).unwrap_or_default()
    };
    let values = arg.get_possible_values();
    values
        .iter()
        .filter(|it| !it.is_hide_set())
        .map(|it| (it.get_name().to_owned(), about(it)))
        .collect()
}

/// Candidates without a description.
fn plain<'a>(words: impl IntoIterator<Item = &'a str>) -> Found {
    words.into_iter().map(|it| (it.to_owned(), String::new())).collect()
}

/// The items that make sense for a verb.
fn items(app: &App, verb: &str) -> Option<Found> {
    Some(candidates::items(&plan_choice::whole(app).ok()??.1, verb))
}

/// The plans of the project.
fn plans(app: &App) -> Option<Found> {
    let store = app.store_to_read().ok()??;
    let project = Some(app.project().ok()?.name.clone());
    let plans = block_on(store.plans(Filter { project, ..Filter::default() })).ok()?;
    Some(candidates::plans(&plans))
}

/// The names of owners and workers of items, and of agents.
fn names(app: &App) -> Option<Found> {
    Some(candidates::names(&plan_choice::whole(app).ok()??.1))
}
