//! `punchlist team`.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_agent::team::{MemberConfig, MemberKind, Team, TeamAsking, TeamOptions};
use punchlist_agent::workers::ProgramEnvironment;
use punchlist_engine::policy::rules::Whose;
use punchlist_model::Actor;
use punchlist_sched::Processes;
use punchlist_streams::event::owned::AgentEvent;
use punchlist_tui::app::TeamMember;
use punchlist_tui::team::{Ended, Messages, Start};
use punchlist_tui::terminal::input;

use super::{Group, Verb};
use crate::app::App;
use crate::clock::Clock;
use crate::config::Settings;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{clock, identity, notify, places, session, terminal_ui};

/// Talk to several agents in one conversation
///
/// The members of the team are in `[[team.members]]` of your configuration, or in a file that `--file`
/// names: Claude Code, Codex, Gemini CLI, an agent that speaks ACP, or the agent of `do`. Each keeps its
/// conversation from message to message. `@name` addresses a member and `@all` every member, who then work
/// side by side; a message without a name goes to whom the last one went. `/pass name` hands the last answer
/// on. Each member's list is shown while it works, and stays until the next turn.
///
/// What a member may not do by its own settings and your policy, it asks you here; `punchlist answer`
/// answers from another terminal. Off a terminal it is refused.
///
/// A member that fails, takes longer than its `timeout` or is stopped (Esc, `/stop name`) is reported, and
/// the others go on. Off a terminal, messages are read from stdin, one per line, and the next one is sent
/// when all members have answered; the exit code is 6 if a turn did not end well. `--record` writes every
/// event to a file, which `punchlist events` reads. docs/team.md has the keys of a member.
#[derive(clap::Args)]
pub(crate) struct TeamVerb {
    /// Read the team from this file instead of your configuration
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Send this message, wait for the answers, and end
    #[arg(long, short, value_name = "MESSAGE")]
    send: Option<String>,
    /// Write the events of the conversation to a new file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

impl Verb for TeamVerb {
    const NAME: &'static str = "team";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist team
  punchlist team --send \"@all what is missing in the README?\"
  punchlist team --file review.toml --record talk.jsonl
  printf '@max fix the test\\n/pass kim please review it\\n' | punchlist team
  punchlist events --only todo_list talk.jsonl";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let configs = configs(app, self.file.as_deref())?;
        let messages = match self.send {
            Some(message) if message.trim().is_empty() => {
                return Err(Fail::usage("the message is empty")
                    .hint("write `punchlist team --send \"@all …\"`."));
            }
            Some(message) => Messages::One(message),
            None if terminal_ui::can_open(app) && !app.globals.json => Messages::Typed,
            None => Messages::Lines(Box::new(BufReader::new(io::stdin()))),
        };
        let processes = session::processes()?;
        let options = options(app, &configs, processes.clone())?;
        let asking = asking(app)?;
        let mut file = self.record.as_deref().map(create).transpose()?;
        let name = self.record.unwrap_or_default();
        let record = move |event: &AgentEvent| match &mut file {
            Some(file) => write(file, event, &name),
            None => Ok(()),
        };
        let Ended { exit, notes } = session::runtime()?.block_on(async {
            let (team, reports) = Team::open(configs, options, asking).await?;
            punchlist_tui::team::run(Start {
                options: app.terminal(),
                theme: "dark".to_owned(),
                team,
                reports,
                messages,
                record: Box::new(record),
                clock: clock::now,
                notify: notify::notify(app)?,
                project: app.project()?.name.clone(),
                rules_file: places::config()?.display().to_string(),
                on_taken: Box::new(move |taken| terminal_ui::hold(&processes, taken)),
            })
            .await
        })?;
        Ok(Reply { exit, notes, ..Reply::default() })
    }
}

/// The members of the configured team, for a list: name, display name, and what each is.
pub(crate) fn members(app: &App) -> Result<Vec<TeamMember>, Fail> {
    if !app.settings()?.others.contains_key("team") {
        return Ok(Vec::new());
    }
    let member = |it: MemberConfig| {
        let model = it.model.map(|it| format!("  {it}")).unwrap_or_default();
        let display = it.display_name.unwrap_or_default();
        (it.name, display, format!("{}{model}", it.kind.title()))
    };
    Ok(configs(app, None)?.into_iter().map(member).collect())
}

/// The members, from a file or the user's configuration.
fn configs(app: &App, file: Option<&Path>) -> Result<Vec<MemberConfig>, Fail> {
    let hint = "docs/team.md has an example and the keys.";
    let (table, place) = match file {
        Some(path) => {
            let path = app.named(path.to_owned())?;
            let mut settings = Settings::default();
            settings.add_file(&path, &input::file(&path)?, Whose::User)?;
            (settings.others.remove("team"), path.display().to_string())
        }
        None => (app.settings()?.others.get("team").cloned(), "your configuration".to_owned()),
    };
    let table = table.ok_or_else(|| {
        Fail::usage(format!("there is no team in {place}"))
            .hint("write a table [[team.members]] for each member; docs/team.md has an example.")
    })?;
    MemberConfig::read_all(&table).map_err(|why| Fail::usage(why).hint(hint))
}

/// What the members need from this process.
fn options(app: &App, configs: &[MemberConfig], processes: Processes) -> Result<TeamOptions, Fail> {
    let mut own_command = Vec::new();
    if configs.iter().any(|it| it.kind == MemberKind::Own) {
        let program = env::current_exe()
            .map_err(|why| Fail::ours(format!("this program's own file is not known: {why}")))?;
        let database = app.database_options()?.named();
        for word in [program.as_path(), Path::new("acp"), Path::new("--db"), &database] {
            let word = word.to_str().ok_or_else(|| Fail::usage("a path is not UTF-8"))?;
            own_command.push(word.to_owned());
        }
    }
    Ok(TeamOptions {
        root: session::top(app)?,
        // The programs are the user's own and may need any variable but the keys of others.
        environment: ProgramEnvironment {
            variables: env::vars_os().collect(),
            keys: session::config(app)?.key_variables(),
        },
        processes,
        own_command,
        clock: Arc::new(clock::now),
        time_zone: clock::time_zone(),
        id: app.now.strftime("%Y%m%d-%H%M%S").to_string(),
    })
}

/// Who decides what members may do.
fn asking(app: &App) -> Result<TeamAsking, Fail> {
    let (engine_globals, policy_globals) = (app.globals.clone(), app.globals.clone());
    Ok(TeamAsking {
        open: Box::new(move || {
            let app = App::new(engine_globals.clone());
            session::engine(&app, &session::config(&app)?)
        }),
        policy: Box::new(move || App::new(policy_globals.clone()).policy()),
        around: Arc::new(Clock),
        is_attended: session::is_person_there(app),
        person: Actor::person(identity::name(app.globals.name.as_deref())?),
        rules_file: places::config()?,
        process: identity::process(),
    })
}

/// Makes the file of a record. Conversations are private.
fn create(path: &Path) -> Result<File, Fail> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|why| {
        if why.kind() == ErrorKind::AlreadyExists {
            return Fail::usage(format!("{} exists already", path.display()))
                .hint("a record is one conversation: name another file.");
        }
        Fail::usage(format!("cannot create {}: {why}", path.display()))
    })
}

fn write(file: &mut File, event: &AgentEvent, name: &Path) -> Result<(), Fail> {
    let line = serde_json::to_string(event).map(|it| it + "\n").map_err(io::Error::from);
    line.and_then(|it| file.write_all(it.as_bytes()))
        .map_err(|why| Fail::ours(format!("cannot write {}: {why}", name.display())))
}
