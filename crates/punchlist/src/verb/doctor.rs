//! `punchlist doctor`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use punchlist_bridge::doctor::{self, Finding, State, is_same_file, locks};
use punchlist_bridge::install::entries;
use punchlist_bridge::process::{Fate, fate};
use punchlist_engine::hook::failures;
use punchlist_engine::policy::trusted_files::FoundDatabase;
use punchlist_formats::hook::Agent;
use punchlist_formats::text::{Colour, Glyphs, Line, Style, one_line};
use punchlist_formats::view::duration::ago;
use punchlist_model::guard::Gate;
use punchlist_model::session::{SessionFilter, SessionStore};
use punchlist_model::store::{Filter, PlanStore, Summary};
use punchlist_model::{End, Session};
use punchlist_store::{Options, Sqlite};
use rustix::fs::{Access, access};

use super::{Group, Verb};
use crate::agent::{self, Goal};
use crate::app::App;
use crate::block_on;
use crate::config::Settings;
use crate::error::Fail;
use crate::print::Reply;
use crate::{config, hook_event, identity, outputs, person, places, project};

/// How long a program of the agent's, our hook or our server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a writer may hold the others up before that is a fault.
const LOCK_PATIENCE: Duration = Duration::from_millis(1500);

/// Say what is wired up and whether it works
///
/// Calls the installed hook and starts the installed server as the agent would, looks the database
/// through, and says of each whether it works, and if not, what mends it. Changes nothing. The exit
/// code is 1 if something is broken.
#[derive(clap::Args)]
pub(crate) struct Doctor {}

impl Verb for Doctor {
    const NAME: &'static str = "doctor";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist doctor
  punchlist doctor --json | jq '.findings[] | select(.state == \"broken\")'";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let directory = app.project()?.root.clone();
        let mut parts = Vec::new();
        let mut used = Vec::new();
        let mut common = vec![configuration(app)?];
        common.extend(loosening(app)?);
        let running = running(app);
        for it in Agent::ALL {
            let mut install = agent::options(app, it, Goal::User)?;
            // Another's plan says nothing about what is installed.
            install.plan = None;
            let program = agent::program(it.as_str());
            let is_here = program.is_some();
            let report = doctor::agent(&doctor::Options {
                install,
                program,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                directory: directory.clone(),
                patience: PATIENCE,
                running: running
                    .iter()
                    .filter(|run| run.0 == it.as_str())
                    .map(|run| run.1)
                    .collect(),
            });
            let broken = !doctor::is_well(&report.findings);
            let findings = if is_here || report.is_wired || broken {
                report.findings
            } else {
                vec![absent(it)]
            };
            parts.push((it.as_str(), findings));
            used.push(Used {
                agent: it,
                databases: report.databases,
                is_for_project: report.is_for_project,
                is_shared: agent::options(app, it, Goal::Project)?.is_shared(),
            });
        }
        common.extend(failures(app));
        let mut kept = stores(app, &used)?;
        kept.extend(whole_outputs(app));
        let databases = used.iter().flat_map(|it| &it.databases);
        common.extend(spooled(databases.chain([app.database()?])));
        parts.push(("hooks", common));
        parts.push(("store", kept));
        parts.extend(rules(app).map(|it| ("policy", vec![it])));
        if person::is_agent() {
            parts.iter_mut().flat_map(|it| &mut it.1).for_each(ask_user);
        }
        let all: Vec<Finding> = parts.iter().flat_map(|it| it.1.iter().cloned()).collect();
        let exit = u8::from(!doctor::is_well(&all));
        if app.globals.json {
            return Ok(Reply { exit, ..Reply::json(&json(&parts, exit == 0)) });
        }
        Ok(Reply { exit, ..Reply::prose(text(app, &parts)) })
    }
}

/// What mends a finding is not told to an agent where only a person may do it.
fn ask_user(finding: &mut Finding) {
    const PERSONS: [&str; 4] =
        ["punchlist install", "punchlist uninstall", "punchlist init", "config.toml"];
    if let Some(fix) = &mut finding.fix
        && PERSONS.iter().any(|it| fix.contains(it))
    {
        person::ASK_USER.clone_into(fix);
    }
}

/// The agents' processes that have sessions here and run, by the agent's name.
fn running(app: &App) -> Vec<(String, u32)> {
    // A database that cannot be read is looked into below.
    let is_free = |path: &PathBuf| path.exists() && locks::look(path, LOCK_PATIENCE).is_none();
    if !app.database().is_ok_and(is_free) {
        return Vec::new();
    }
    let Ok(Some(store)) = app.store_to_read() else { return Vec::new() };
    let filter = SessionFilter { running: true, most: Some(100), ..SessionFilter::default() };
    let sessions = block_on(store.sessions(filter)).unwrap_or_default();
    let host = identity::host();
    let pid = |session: Session| {
        let process = session.process.filter(|it| fate(&host, it) == Fate::Runs)?;
        Some((session.key.agent, process.pid))
    };
    sessions.into_iter().filter_map(pid).collect()
}

fn json(parts: &[(&str, Vec<Finding>)], well: bool) -> serde_json::Value {
    let one = |of: &str, it: &Finding| {
        serde_json::json!({
            "of": of, "about": it.about, "state": it.state.name(), "said": it.said, "fix": it.fix,
        })
    };
    let findings: Vec<_> =
        parts.iter().flat_map(|(of, list)| list.iter().map(|it| one(of, it))).collect();
    serde_json::json!({"well": well, "findings": findings})
}

fn text(app: &App, parts: &[(&str, Vec<Finding>)]) -> String {
    let screen = app.screen();
    let glyphs = app.view(screen).glyphs;
    let mut out = String::new();
    for (name, findings) in parts {
        for (at, it) in findings.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            let (sign, style) = sign(it.state, glyphs);
            let sign = screen.line(&Line::of(sign, style));
            let said = one_line(&it.said);
            out.push_str(&format!("{name:<8} {sign} {:<11} {said}\n", it.about));
            if let Some(fix) = &it.fix {
                out.push_str(&format!("{:>22} fix: {}\n", "", one_line(fix)));
            }
        }
    }
    out
}

fn sign(state: State, glyphs: Glyphs) -> (&'static str, Style) {
    match (state, glyphs) {
        (State::Good, Glyphs::Ascii) => ("+", Style::In(Colour::Green)),
        (State::Good, Glyphs::Unicode | Glyphs::Emoji) => ("✓", Style::In(Colour::Green)),
        (State::Absent, Glyphs::Ascii) => ("-", Style::Dim),
        (State::Absent, Glyphs::Unicode | Glyphs::Emoji) => ("–", Style::Dim),
        (State::Note, _) => ("!", Style::In(Colour::Yellow)),
        (State::Bad, Glyphs::Ascii) => ("x", Style::In(Colour::Red)),
        (State::Bad, Glyphs::Unicode | Glyphs::Emoji) => ("✗", Style::In(Colour::Red)),
    }
}

/// An agent that is neither here nor set up.
fn absent(agent: Agent) -> Finding {
    Finding::absent("program", format!("{} is not on this machine", agent.title()))
}

/// What an agent uses.
struct Used {
    agent: Agent,
    /// The databases of its hooks and servers, the one of its tools here first.
    databases: Vec<PathBuf>,
    /// Whether that one is named by entries for this project.
    is_for_project: bool,
    /// Whether this project has no settings of its own: in the home directory they are the user's.
    is_shared: bool,
}

/// What the configuration says about stops, or the fault in it that keeps every hook from its work.
fn configuration(app: &App) -> Result<Finding, Fail> {
    Ok(match app.settings() {
        Ok(settings) => gate(settings),
        // Then it is the call itself that is wrong.
        Err(fail) if config::read(app.project()?, &[]).is_ok() => return Err(fail),
        Err(fail) => {
            let said = format!("{}; hooks do nothing until that is mended", fail.message);
            Finding::bad("config", said, fail.hint.unwrap_or_else(|| "mend it".to_owned()))
        }
    })
}

/// What the project's file would loosen, and may not.
fn loosening(app: &App) -> Result<Option<Finding>, Fail> {
    let place = app.project()?.root.join(project::CONFIG);
    let said = app.settings().ok().and_then(|it| it.ignored(&place.display().to_string()));
    let fix = "take it out there; what you want yourself goes into your own config.toml";
    Ok(said.map(|said| Finding::note("config", said, fix)))
}

/// The databases that hooks and servers use, and what they left in them; then the one that verbs use
/// here, if it is another.
fn stores(app: &App, used: &[Used]) -> Result<Vec<Finding>, Fail> {
    let here = app.database()?;
    let mut findings = Vec::new();
    let mut looked: Vec<&Path> = Vec::new();
    let mut others = Vec::new();
    for it in used {
        if it.databases.first().is_some_and(|path| !is_same_file(here, path)) {
            others.push(it);
        }
        for path in &it.databases {
            if !looked.iter().any(|it| is_same_file(it, path)) {
                findings.extend(store(app, path));
                looked.push(path);
            }
        }
    }
    let mut works = true;
    if !looked.iter().any(|it| is_same_file(it, here)) {
        let own = store(app, here);
        works = doctor::is_well(&own);
        // One that is not there yet is of no interest beside one that is in use.
        if looked.is_empty() || here.exists() || !works {
            findings.extend(own);
        }
    }
    let is_own = is_same_file(here, &config::own_database(app.project()?));
    findings.extend(others.into_iter().filter_map(|it| apart(here, it, works, is_own)));
    findings.extend(foreign(app)?);
    Ok(findings)
}

/// Verbs and an agent that use two databases.
fn apart(here: &Path, used: &Used, works: bool, is_own: bool) -> Option<Finding> {
    let theirs = used.databases.first()?.to_string_lossy();
    let said = format!("verbs here use {}, {} uses {theirs}", here.display(), used.agent.title());
    // Entries for every project must not lead to the database of one.
    let for_project = is_own || used.is_for_project;
    let project = if for_project { " --project" } else { "" };
    let here = entries::quoted(&here.to_string_lossy());
    let fix = format!("punchlist install {}{project} --db {here}", used.agent.as_str());
    // An agent that works is not sent to a database that does not.
    let there = format!("--db {} where its plans are meant", entries::quoted(&theirs));
    let is_possible = works && !(for_project && used.is_shared);
    Some(Finding::note("database", said, if is_possible { fix } else { there }))
}

/// What runs have put out and is kept in files, if there is any.
fn whole_outputs(app: &App) -> Option<Finding> {
    let directory = places::outputs().ok()?;
    let all = outputs::all(&directory, app.now);
    let bytes = all.iter().map(|it| it.bytes).sum();
    let (runs, s) = (all.len(), if all.len() == 1 { "" } else { "s" });
    let said = format!(
        "whole outputs of {runs} run{s}, {}, kept for {} days  {}",
        size(bytes),
        outputs::DAYS,
        directory.display()
    );
    (!all.is_empty()).then(|| Finding::good("outputs", said))
}

fn size(bytes: u64) -> String {
    match bytes {
        bytes @ 0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        bytes => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}

/// The rules of policy, if there are any. One that cannot be read is a fault of the configuration.
fn rules(app: &App) -> Option<Finding> {
    let rules = &app.settings().ok()?.rules;
    let (own, project) = (rules.user.len(), rules.project.len() - rules.ignored());
    let said = match (own, project) {
        (0, 0) => return None,
        (own, 0) => format!("{own} of yours"),
        (0, project) => format!("{project} of this project's"),
        (own, project) => format!("{own} of yours, {project} of this project's"),
    };
    Some(Finding::good("rules", said))
}

/// A database in the project's tree that is nobody's whom we know.
fn foreign(app: &App) -> Result<Option<Finding>, Fail> {
    let own = config::own_database(app.project()?);
    Ok(match places::trusted_files().look(&own)? {
        FoundDatabase::Trusted | FoundDatabase::Absent => None,
        FoundDatabase::Ignored(why) => Some(Finding::note(
            "database",
            why,
            format!("`punchlist init` if it is yours, else `rm {}`", own.display()),
        )),
    })
}

fn store(app: &App, used: &Path) -> Vec<Finding> {
    if !used.exists() {
        let whole = std::path::absolute(used).unwrap_or_else(|_| used.to_owned());
        let above = whole.ancestors().skip(1).find(|it| it.exists()).unwrap_or(&whole);
        let why = if above.is_dir() {
            let why = access(above, Access::WRITE_OK | Access::EXEC_OK).err();
            why.map(|why| format!("is not writable ({why})"))
        } else {
            Some("is not a directory".to_owned())
        };
        let finding = match why {
            None => {
                let said = format!("no plans yet; {} is made by the first", used.display());
                Finding::good("database", said)
            }
            Some(why) => Finding::bad(
                "database",
                format!("{} cannot be made: {} {why}", used.display(), above.display()),
                "put that right, or name another database with --db",
            ),
        };
        return vec![finding];
    }
    // Whoever waits for a lock that is never let go says nothing more.
    if let Some(held) = locks::look(used, LOCK_PATIENCE) {
        return vec![held];
    }
    looked_through(app, used.to_owned()).unwrap_or_else(|fail| {
        vec![Finding::bad("database", fail.message, fail.hint.unwrap_or_default())]
    })
}

fn looked_through(app: &App, path: PathBuf) -> Result<Vec<Finding>, Fail> {
    let shown = path.display().to_string();
    let durability = app.settings().map(|it| it.durability).unwrap_or_default();
    let store = Sqlite::open(&Options { path, durability })?;
    let health = store.health()?;
    let mut findings = Vec::new();
    if health.damage.is_empty() {
        let size = size(health.bytes);
        let plans = health.plans;
        let s = if plans == 1 { "" } else { "s" };
        let schema = health.schema;
        let said = format!("{plans} plan{s}, {size}, schema {schema}, integrity ok  {shown}");
        findings.push(Finding::good("database", said));
    } else {
        let said = format!("{shown} is damaged: {}", health.damage.join("; "));
        let fix = "save what can be read with `punchlist export`, then move the file away";
        findings.push(Finding::bad("database", said, fix));
    }
    if let Err(error) = store.is_writable() {
        let fail = Fail::from(error);
        findings.push(Finding::bad("database", fail.message, fail.hint.unwrap_or_default()));
    }
    let plans = block_on(store.plans(Filter::default()))?;
    findings.extend(stopped(&plans));
    let sessions =
        block_on(store.sessions(SessionFilter { most: Some(100), ..Default::default() }))?;
    if let Some(last) = sessions.first() {
        let running = sessions.iter().filter(|it| it.ended_at.is_none()).count();
        let said = format!(
            "{} seen, {running} not ended, the last one {}",
            sessions.len(),
            ago(last.seen_at, app.now)
        );
        findings.push(Finding::good("sessions", said));
    }
    findings.extend(alone(app, &plans));
    Ok(findings)
}

fn stopped(plans: &[Summary]) -> Option<Finding> {
    let stopped: Vec<&Summary> = plans.iter().filter(|it| it.end == End::Stopped).collect();
    let first = stopped.first()?;
    let s = if stopped.len() == 1 { "" } else { "s" };
    let said = format!("{} plan{s} stopped with open items", stopped.len());
    Some(Finding::note("plans", said, format!("punchlist show --plan {}", first.id.short())))
}

/// Connections of the server that found no session to belong to, and so got plans of their own.
fn alone(app: &App, plans: &[Summary]) -> Option<Finding> {
    let is_alone = |it: &&Summary| {
        it.attachment.as_ref().is_some_and(|it| it.conversation.starts_with("mcp-"))
    };
    let alone: Vec<&Summary> = plans.iter().filter(is_alone).collect();
    let first = alone.first()?;
    let s = if alone.len() == 1 { "" } else { "s" };
    let said = format!(
        "{} connection{s} to the MCP server met no session, the last one {}: the list is kept, but no \
         hook watches it",
        alone.len(),
        ago(first.updated_at, app.now)
    );
    Some(Finding::note(
        "sessions",
        said,
        "see that the hooks above answer, then start the agent anew",
    ))
}

/// How stops are held, and where that was said.
fn gate(settings: &Settings) -> Finding {
    match settings.gate {
        None => Finding::good("gate", "once in interactive sessions, full otherwise"),
        Some(Gate::Off) => {
            let said = "off: no stop is held, whatever is open";
            Finding::note("gate", said, "take `gate` out of the configuration (config.toml)")
        }
        Some(gate @ (Gate::Once | Gate::Full)) => {
            Finding::good("gate", format!("{}, by configuration", gate.as_str()))
        }
    }
}

/// Events that hooks could not keep in the databases that they use.
fn spooled<'a>(databases: impl Iterator<Item = &'a PathBuf>) -> Vec<Finding> {
    let mut found: Vec<(PathBuf, usize)> =
        databases.flat_map(|it| hook_event::spool(it).waiting()).collect();
    found.sort();
    found.dedup();
    let finding = |(directory, count): (PathBuf, usize)| {
        let s = if count == 1 { " waits" } else { "s wait" };
        let said =
            format!("{count} event{s} in {}: the database could not be used", directory.display());
        let fix =
            "put the database right; the next hook or verb, such as `punchlist list`, applies them";
        Finding::bad("events", said, fix)
    };
    found.into_iter().map(finding).collect()
}

/// What went wrong in hooks, which say nothing themselves.
fn failures(app: &App) -> Option<Finding> {
    let directory = places::data().ok()?;
    let failed = failures::read(&directory);
    let last = failed.last()?;
    let s = if failed.len() == 1 { "" } else { "s" };
    let said = format!(
        "{} call{s} of hooks failed, the last one {} at {}: {}",
        failed.len(),
        ago(last.at, app.now),
        last.event.as_deref().unwrap_or("an unknown event"),
        last.what,
    );
    let file = directory.join(failures::FILE);
    Some(Finding::note("failures", said, format!("once that is mended: rm {}", file.display())))
}
