//! The verbs: one file each, and the table of all verbs.
//!
//! A verb parses its arguments, makes one call and prints one result. Its doc comment is its help
//! text.

mod acp;
mod acp_tap;
mod add;
mod adopt;
mod answer;
mod approve;
pub(crate) mod bare;
mod candidates;
mod completions;
mod db;
mod r#do;
pub(crate) mod doctor;
mod done;
mod edit;
mod events;
mod export;
mod forget;
mod gate;
mod goal;
pub(crate) mod guardian;
mod hook;
mod import;
mod init;
mod install;
mod list;
mod log;
mod mcp;
mod models;
mod r#move;
mod move_project;
mod next;
mod plans;
mod policy;
mod questions;
mod reference;
mod release;
mod reminders;
mod reopen;
mod replace;
mod resume;
mod run;
mod serve;
mod sessions;
mod show;
mod skip;
mod start;
pub(crate) mod team;
mod token;
mod tool;
mod tools;
mod undo;
mod uninstall;
mod verify;
mod wait;
mod watch;
mod work;

use clap::{ArgMatches, Args, Command};

use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;

/// A verb: its arguments and its code.
pub(crate) trait Verb: Args + 'static {
    /// The verb's name on the command line.
    const NAME: &'static str;
    /// Its group in the overview.
    const GROUP: Group;
    /// Examples, printed below its help.
    const EXAMPLES: &'static str;
    /// Whether the overview leaves the verb out.
    const HIDDEN: bool = false;

    /// Executes the verb.
    fn run(self, app: &App) -> Result<Reply, Fail>;
}

/// A group of verbs in the overview.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    /// Working on a plan.
    Plan,
    /// Looking at plans.
    Look,
    /// Keeping and moving plans.
    Keep,
    /// Tools for agents.
    Agent,
    /// The program itself.
    Rest,
}

impl Group {
    /// All groups, in the order of the overview.
    pub(crate) const ALL: [Self; 5] = [Self::Plan, Self::Look, Self::Keep, Self::Agent, Self::Rest];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Plan => "Work on a plan",
            Self::Look => "Look at plans",
            Self::Keep => "Keep plans",
            Self::Agent => "For agents",
            Self::Rest => "The program",
        }
    }
}

/// A row of the table of verbs.
pub(crate) struct Row {
    /// The verb's name on the command line.
    pub(crate) name: &'static str,
    /// Its group in the overview.
    pub(crate) group: Group,
    /// Whether the overview leaves the verb out.
    pub(crate) hidden: bool,
    /// Adds the verb's arguments and help to a parser.
    pub(crate) augment: fn(Command) -> Command,
    /// Executes the verb.
    pub(crate) run: fn(&App, &mut ArgMatches) -> Result<Reply, Fail>,
}

const fn row<V: Verb>() -> Row {
    Row {
        name: V::NAME,
        group: V::GROUP,
        hidden: V::HIDDEN,
        augment: |command| V::augment_args(command).after_help(V::EXAMPLES),
        run: |app, matches| match V::from_arg_matches_mut(matches) {
            Ok(verb) => verb.run(app),
            // Cannot happen: clap has validated these arguments.
            Err(error) => Err(Fail::usage(error.to_string())),
        },
    }
}

/// All verbs, in the order of the overview.
pub(crate) fn all() -> &'static [Row] {
    const ALL: &[Row] = &[
        row::<add::Add>(),
        row::<next::Next>(),
        row::<start::Start>(),
        row::<done::Done>(),
        row::<skip::Skip>(),
        row::<wait::Wait>(),
        row::<release::Release>(),
        row::<reopen::Reopen>(),
        row::<edit::Edit>(),
        row::<r#move::Move>(),
        row::<verify::Verify>(),
        row::<approve::Approve>(),
        row::<goal::Goal>(),
        row::<replace::Replace>(),
        row::<undo::Undo>(),
        row::<run::Run>(),
        row::<work::Work>(),
        row::<r#do::Do>(),
        row::<resume::Resume>(),
        row::<team::TeamVerb>(),
        row::<policy::Policy>(),
        row::<questions::Questions>(),
        row::<answer::Answer>(),
        row::<list::List>(),
        row::<show::Show>(),
        row::<plans::Plans>(),
        row::<log::Log>(),
        row::<watch::Watch>(),
        row::<serve::Serve>(),
        row::<sessions::Sessions>(),
        row::<models::Models>(),
        row::<events::Events>(),
        row::<export::Export>(),
        row::<import::Import>(),
        row::<forget::Forget>(),
        row::<move_project::MoveProject>(),
        row::<init::Init>(),
        row::<install::Install>(),
        row::<uninstall::Uninstall>(),
        row::<doctor::Doctor>(),
        row::<gate::Gate>(),
        row::<reminders::Reminders>(),
        row::<adopt::Adopt>(),
        row::<mcp::Mcp>(),
        row::<acp::Acp>(),
        row::<hook::Hook>(),
        row::<acp_tap::AcpTap>(),
        row::<tools::Tools>(),
        row::<tool::Tool>(),
        row::<token::Token>(),
        row::<db::Db>(),
        row::<completions::Completions>(),
        row::<candidates::Candidates>(),
        row::<guardian::Guardian>(),
        row::<reference::Reference>(),
    ];
    ALL
}

/// Aliases, with the verb and the arguments that each stands for.
pub(crate) const ALIASES: [(&str, &str, &[&str]); 5] = [
    ("ls", "list", &[]),
    ("rm", "skip", &[]),
    ("cancel", "skip", &[]),
    ("complete", "done", &[]),
    ("claim", "next", &["--claim"]),
];

/// The verb of an alias, and the arguments that the alias adds.
pub(crate) fn alias(word: &str) -> Option<(&'static str, &'static [&'static str])> {
    ALIASES.iter().find(|it| it.0 == word).map(|it| (it.1, it.2))
}

/// The aliases of a verb.
pub(crate) fn aliases_of(name: &str) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |it| it.1 == name).map(|it| it.0)
}

/// The verb with that name.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    all().iter().find(|row| row.name == name)
}
