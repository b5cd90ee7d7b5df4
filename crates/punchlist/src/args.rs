//! Parses the command line. Only the called verb's arguments are built: building those of all verbs
//! takes longer than most calls.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Args, Command, FromArgMatches};

use crate::print::Colour;
use crate::verb::{self, Group, Row};

// The global options. No doc comment: clap would use it as the verb's help.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Globals {
    /// The plan to work on: its name, or the beginning or end of its id
    #[arg(long, global = true, value_name = "ID|NAME", help_heading = "Options of every verb")]
    pub(crate) plan: Option<String>,
    /// Print the result as JSON
    #[arg(long, global = true, help_heading = "Options of every verb")]
    pub(crate) json: bool,
    /// Act under this name instead of the agent's session or user@host
    #[arg(long = "as", global = true, value_name = "NAME", help_heading = "Options of every verb")]
    pub(crate) name: Option<String>,
    /// The database: a file, or postgres://… [default: PUNCHLIST_DB, else the one in the data directory]
    #[arg(long, global = true, value_name = "FILE|URL", help_heading = "Options of every verb")]
    pub(crate) db: Option<PathBuf>,
    /// Set a configuration key for this call; may be repeated
    #[arg(
        short = 'c',
        global = true,
        value_name = "KEY=VALUE",
        help_heading = "Options of every verb"
    )]
    pub(crate) config: Vec<String>,
    /// Run as if started in this directory
    #[arg(short = 'C', global = true, value_name = "DIR", help_heading = "Options of every verb")]
    pub(crate) directory: Option<PathBuf>,
    /// When to use colour: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true,
        help_heading = "Options of every verb"
    )]
    pub(crate) color: Colour,
}

// The options of a call without a verb. No doc comment, as above.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Bare {
    /// The model to talk with, as provider/name
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

/// Options with a value that may stand before the verb.
const WITH_VALUE: [&str; 7] = ["--plan", "--as", "--db", "-c", "-C", "--color", "--model"];

/// What the command line asks for.
pub(crate) enum Called {
    /// A verb, with the remaining arguments.
    Verb(&'static Row, Vec<OsString>),
    /// No verb: open the terminal UI, or show the plan.
    Bare(Globals, Bare),
    /// The overview.
    Overview,
    /// The help of one verb.
    Help(&'static Row),
    /// The version.
    Version,
    /// A word that is not a verb.
    Unknown(OsString),
    /// Invalid options, without a verb.
    Bad(clap::Error),
}

/// Finds the verb among the arguments.
pub(crate) fn called(mut arguments: Vec<OsString>) -> Called {
    let Some(at) = verb_at(&arguments) else {
        return without_verb(&arguments);
    };
    let word = arguments.remove(at);
    if word == "help" {
        return match verb_at(&arguments).map(|at| arguments.remove(at)) {
            None => Called::Overview,
            Some(word) => {
                let name = word.to_str().map(|it| verb::alias(it).map_or(it, |alias| alias.0));
                name.and_then(verb::find).map_or(Called::Unknown(word), Called::Help)
            }
        };
    }
    if let Some((name, before)) = word.to_str().and_then(verb::alias) {
        arguments.splice(0..0, before.iter().map(OsString::from));
        return verb::find(name).map_or(Called::Unknown(word), |row| Called::Verb(row, arguments));
    }
    match word.to_str().and_then(verb::find) {
        Some(row) => Called::Verb(row, arguments),
        None => Called::Unknown(word),
    }
}

/// The meaning of a call without a verb.
fn without_verb(arguments: &[OsString]) -> Called {
    let has = |names: [&str; 2]| arguments.iter().any(|it| names.iter().any(|name| it == name));
    if has(["-V", "--version"]) {
        return Called::Version;
    }
    if has(["-h", "--help"]) {
        return Called::Overview;
    }
    if arguments.is_empty() {
        return Called::Bare(Globals::default(), Bare::default());
    }
    let options = Command::new("punchlist")
        .no_binary_name(true)
        .disable_help_flag(true)
        .override_usage("punchlist VERB [ARGUMENTS] [OPTIONS]");
    let options = Bare::augment_args(Globals::augment_args(options));
    let parsed = options.try_get_matches_from(arguments).and_then(|mut found| {
        let bare = Bare::from_arg_matches_mut(&mut found)?;
        Ok((Globals::from_arg_matches_mut(&mut found)?, bare))
    });
    match parsed {
        Ok((globals, bare)) => Called::Bare(globals, bare),
        Err(error) => Called::Bad(error),
    }
}

/// The position of the verb among words that are being typed.
pub(crate) fn first_word(words: &[String]) -> Option<usize> {
    verb_at(&words.iter().map(OsString::from).collect::<Vec<_>>())
}

/// The position of the verb: the first word that is neither an option nor its value.
fn verb_at(arguments: &[OsString]) -> Option<usize> {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        if argument == "--" {
            return None;
        }
        if WITH_VALUE.iter().any(|name| argument == name) {
            at += 2;
        } else if argument.as_encoded_bytes().starts_with(b"-") {
            at += 1;
        } else {
            return Some(at);
        }
    }
    None
}

/// Whether `--json` is given. Does not use clap, because clap may be what fails.
pub(crate) fn wants_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|it| *it != "--").any(|it| it == "--json")
}

/// The parser of one verb.
pub(crate) fn alone(row: &Row) -> Command {
    let mut command = described(row);
    // clap has a short and a long help; we always show the long one.
    if let Some(about) = command.get_long_about().cloned() {
        command = command.about(about).long_about(Resettable::Reset);
    }
    command
}

/// The same, with a separate summary and description, for manual pages.
pub(crate) fn described(row: &Row) -> Command {
    let command = Command::new(row.name)
        .bin_name(format!("punchlist {}", row.name))
        .no_binary_name(true)
        .disable_help_subcommand(true);
    Globals::augment_args((row.augment)(command))
}

/// The help of one verb.
pub(crate) fn help(command: Command) -> String {
    asked_for_help(command, &["--help"])
}

/// The help of a sub-command of a verb.
pub(crate) fn sub_help(command: Command, sub: &str) -> String {
    asked_for_help(command, &[sub, "--help"])
}

fn asked_for_help(command: Command, words: &[&str]) -> String {
    match command.try_get_matches_from(words) {
        Ok(_) => String::new(),
        Err(help) => help.render().to_string(),
    }
}

/// The parser of all verbs that people call, for completions.
pub(crate) fn shown() -> Command {
    of(|row| !row.hidden)
}

/// The parser of all verbs, for manual pages and references.
pub(crate) fn whole() -> Command {
    of(|_| true)
}

fn of(is_in: fn(&Row) -> bool) -> Command {
    let command = Command::new("punchlist")
        .about("A durable plan for AI agents and the people who work with them")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true);
    let command = Globals::augment_args(command);
    verb::all().iter().filter(|row| is_in(row)).fold(command, |command, row| {
        let verb = Command::new(row.name).hide(row.hidden).aliases(verb::aliases_of(row.name));
        command.subcommand((row.augment)(verb))
    })
}

/// The overview: one line per verb.
pub(crate) fn overview() -> String {
    let mut text = String::from(
        "Punchlist keeps a durable plan that agents and people work off, item by item.\n\n\
         Usage: punchlist VERB [ARGUMENTS] [OPTIONS]\n",
    );
    for group in Group::ALL {
        text.push_str(&format!("\n{}\n", group.title()));
        for row in verb::all().iter().filter(|row| row.group == group && !row.hidden) {
            let about = (row.augment)(Command::new(row.name)).get_about().map(ToString::to_string);
            text.push_str(&format!("  {:<13}{}\n", row.name, about.unwrap_or_default()));
        }
    }
    text.push_str(
        "\nStart with `punchlist add \"Fix the failing tests\"`, then run `punchlist` to see the list.\n\
         `punchlist help VERB` shows a verb's options and examples.\n",
    );
    text
}

/// A suggestion for a word that is not a verb.
pub(crate) fn nearest(word: &OsStr) -> Option<&'static str> {
    let word = word.to_string_lossy().to_lowercase();
    // A longer word is no typing error, and comparing it takes time.
    if word.is_empty() || word.chars().count() > 20 {
        return None;
    }
    let names = || verb::all().iter().filter(|row| !row.hidden).map(|row| row.name);
    let synonym = match word.as_str() {
        "status" => Some("list"),
        "finish" | "check" => Some("done"),
        "remove" | "delete" | "drop" => Some("skip"),
        "new" | "create" | "todo" => Some("add"),
        "mv" => Some("move"),
        "cat" | "view" | "info" => Some("show"),
        "begin" => Some("start"),
        _ => None,
    };
    let far = |name| (strsim::osa_distance(&word, name), name);
    let near = || names().map(far).min().filter(|it| it.0 <= 2);
    synonym.or_else(|| names().find(|name| name.starts_with(&word))).or_else(|| Some(near()?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_verb_is_found_behind_any_global_option() {
        for (line, expected) in [
            ("add Title", Some(0)),
            ("--json list", Some(1)),
            ("--plan list add x", Some(2)),
            ("--plan=list add x", Some(1)),
            ("-c a=b -C dir --color never done 3", Some(6)),
            ("-ca=b done 3", Some(1)),
            ("-- add", None),
            ("--help", None),
            ("--plan", None),
            ("", None),
        ] {
            assert_eq!(verb_at(&words(line)), expected, "{line}");
        }
    }

    #[test]
    fn every_alias_leads_to_a_verb_and_hides_none() {
        for (word, name, _) in verb::ALIASES {
            assert!(verb::find(word).is_none(), "{word}");
            assert!(verb::find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn typing_errors_and_other_programs_words_find_their_verb() {
        for (word, expected) in [
            ("lsit", Some("list")),
            ("ad", Some("add")),
            ("LIST", Some("list")),
            ("status", Some("list")),
            ("remove", Some("skip")),
            ("comp", Some("completions")),
            ("xylophone", None),
            ("", None),
        ] {
            assert_eq!(nearest(OsStr::new(word)), expected, "{word}");
        }
    }

    #[test]
    fn the_parser_of_all_verbs_is_consistent() {
        whole().debug_assert();
        for row in verb::all() {
            alone(row).debug_assert();
        }
    }

    #[test]
    fn every_verb_has_examples_and_says_what_it_does() {
        for row in verb::all().iter().filter(|row| !row.hidden) {
            let help = help(alone(row));
            assert!(help.contains("Examples:"), "{}", row.name);
            assert!(help.contains(&format!("punchlist {}", row.name)), "{}", row.name);
            let about = (row.augment)(Command::new(row.name));
            let about = about.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && about.len() <= 64, "{}: {about}", row.name);
            assert!(help.starts_with(&about), "{}: {help}", row.name);
        }
    }
}
