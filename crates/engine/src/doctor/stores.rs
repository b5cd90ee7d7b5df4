//! Examines the databases that the installed hooks, the MCP servers and the verbs use.

use std::path::Path;

use punchlist_bridge::doctor::{self, Finding, is_same_file, locks};
use punchlist_bridge::install::entries;
use punchlist_formats::view::duration::ago;
use punchlist_model::session::{SessionFilter, Store};
use punchlist_model::store::maintenance::Health;
use punchlist_model::store::{Filter, Summary};
use punchlist_model::{End, Session, Timestamp};
use rustix::fs::{Access, access};

use super::{AgentDatabases, Examination, LOCK_TIMEOUT, is_on_server, plural, size};
use crate::fail::Fail;
use crate::policy::trusted_files::FoundDatabase;

impl Examination<'_> {
    /// Examines the databases of the agents' hooks and MCP servers, then the database that verbs
    /// use in this directory, if it is a different one.
    pub(super) async fn stores(&self, used: &[AgentDatabases]) -> Result<Vec<Finding>, Fail> {
        let current = self.database;
        let mut findings = Vec::new();
        let mut examined: Vec<&Path> = Vec::new();
        let mut others = Vec::new();
        for it in used {
            if it.databases.first().is_some_and(|path| !is_same_file(current, path)) {
                others.push(it);
            }
            for path in &it.databases {
                if !examined.iter().any(|it| is_same_file(it, path)) {
                    findings.extend(self.store(path).await);
                    examined.push(path);
                }
            }
        }
        let mut current_works = true;
        if !examined.iter().any(|it| is_same_file(it, current)) {
            let found = self.store(current).await;
            current_works = doctor::is_well(&found);
            // A database that does not exist yet is not reported if another one is in use.
            if examined.is_empty() || current.exists() || is_on_server(current) || !current_works {
                findings.extend(found);
            }
        }
        let is_projects = is_same_file(current, &self.project.own_database());
        findings.extend(
            others
                .into_iter()
                .filter_map(|it| different_database(current, it, current_works, is_projects)),
        );
        findings.extend(self.untrusted()?);
        Ok(findings)
    }

    /// Reports a database in the project's directory that the user has not trusted.
    fn untrusted(&self) -> Result<Option<Finding>, Fail> {
        let own = self.project.own_database();
        Ok(match self.trusted_files().look(&own)? {
            FoundDatabase::Trusted | FoundDatabase::Absent => None,
            FoundDatabase::Ignored(why) => Some(Finding::note(
                "database",
                why,
                format!("`punchlist init` if it is yours, else `rm {}`", own.display()),
            )),
        })
    }

    /// Examines one database.
    async fn store(&self, path: &Path) -> Vec<Finding> {
        if is_on_server(path) {
            return self.server(path).await;
        }
        if !path.exists() {
            return vec![missing(path)];
        }
        // If another process never releases the lock, opening the database would hang.
        if let Some(held) = locks::look(path, LOCK_TIMEOUT) {
            return vec![held];
        }
        let opened = (self.stores.open)(path);
        let found = match opened {
            Ok(store) => examine(&*store, path, self.call.now).await,
            Err(fail) => Err(fail),
        };
        found.unwrap_or_else(|fail| vec![broken(fail)])
    }
}

/// Reports an error of the store.
pub(super) fn broken(fail: Fail) -> Finding {
    Finding::bad("database", fail.message, fail.hint.unwrap_or_default())
}

/// Reports that an agent uses another database than verbs in this directory. `current` is the
/// database of the verbs, `current_works` whether it passed its examination, and `is_projects`
/// whether it is the project's own.
fn different_database(
    current: &Path,
    used: &AgentDatabases,
    current_works: bool,
    is_projects: bool,
) -> Option<Finding> {
    let theirs = used.databases.first()?.to_string_lossy();
    let said =
        format!("verbs here use {}, {} uses {theirs}", current.display(), used.agent.title());
    // Entries that apply to all projects must not name the database of one project.
    let for_project = is_projects || used.is_for_project;
    let project = if for_project { " --project" } else { "" };
    let current = entries::quoted(&current.to_string_lossy());
    let reinstall = format!("punchlist install {}{project} --db {current}", used.agent.as_str());
    let pass_option =
        format!("add --db {} to verbs that are about the agent's plans", entries::quoted(&theirs));
    // The agent must not be moved from a database that works to one that does not.
    let can_reinstall = current_works && !(for_project && used.is_shared);
    Some(Finding::note("database", said, if can_reinstall { reinstall } else { pass_option }))
}

/// Reports a database that does not exist, and whether it can be created.
fn missing(path: &Path) -> Finding {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parent = absolute.ancestors().skip(1).find(|it| it.exists()).unwrap_or(&absolute);
    let why = if parent.is_dir() {
        let why = access(parent, Access::WRITE_OK | Access::EXEC_OK).err();
        why.map(|why| format!("is not writable ({why})"))
    } else {
        Some("is not a directory".to_owned())
    };
    match why {
        None => {
            let said = format!("no plans yet; the first plan creates {}", path.display());
            Finding::good("database", said)
        }
        Some(why) => Finding::bad(
            "database",
            format!("{} cannot be created: {} {why}", path.display(), parent.display()),
            "correct the path or its permissions, or choose another database with --db",
        ),
    }
}

/// Examines a database that exists: whether it is intact and writable, and what it contains.
pub(super) async fn examine(
    store: &dyn Store,
    path: &Path,
    now: Timestamp,
) -> Result<Vec<Finding>, Fail> {
    let mut findings = content(store, path, now).await?;
    if let Err(error) = store.check_writable().await {
        findings.insert(1, broken(error.into()));
    }
    Ok(findings)
}

/// Examines whether a database is intact, and what it contains. The first finding is about the former.
pub(super) async fn content(
    store: &dyn Store,
    path: &Path,
    now: Timestamp,
) -> Result<Vec<Finding>, Fail> {
    let mut findings = vec![health(&store.health().await?, path)];
    let plans = store.plans(Filter::default()).await?;
    findings.extend(stopped_plans(&plans));
    let filter = SessionFilter { most: Some(100), ..SessionFilter::default() };
    findings.extend(sessions(&store.sessions(filter).await?, now));
    findings.extend(without_session(&plans, now));
    Ok(findings)
}

/// Reports whether the database is intact, and its size.
fn health(health: &Health, path: &Path) -> Finding {
    let path = path.display();
    if !health.damage.is_empty() {
        let said = format!("{path} is damaged: {}", health.damage.join("; "));
        let fix = "save what can be read with `punchlist export`, then move the file away";
        return Finding::bad("database", said, fix);
    }
    let (plans, schema, size) = (health.plans, health.schema, size(health.bytes));
    let s = if plans == 1 { "" } else { "s" };
    let said = format!("{plans} plan{s}, {size}, schema {schema}, integrity ok  {path}");
    Finding::good("database", said)
}

/// Counts the plans whose agent stopped with open items.
fn stopped_plans(plans: &[Summary]) -> Option<Finding> {
    let stopped: Vec<&Summary> = plans.iter().filter(|it| it.end == End::Stopped).collect();
    let first = stopped.first()?;
    let (count, s) = (stopped.len(), plural(stopped.len()));
    let said = format!("{count} plan{s} stopped with open items");
    Some(Finding::note("plans", said, format!("punchlist show --plan {}", first.id.short())))
}

/// Counts the latest sessions.
fn sessions(sessions: &[Session], now: Timestamp) -> Option<Finding> {
    let last = sessions.first()?;
    let running = sessions.iter().filter(|it| it.ended_at.is_none()).count();
    let (count, last) = (sessions.len(), ago(last.seen_at, now));
    let said = format!("{count} recorded, {running} not ended, last seen {last}");
    Some(Finding::good("sessions", said))
}

/// Reports connections to the MCP server that could not be matched with an agent's session. Each
/// has a plan of its own.
fn without_session(plans: &[Summary], now: Timestamp) -> Option<Finding> {
    let has_no_session = |it: &&Summary| {
        it.attachment.as_ref().is_some_and(|it| it.conversation.starts_with("mcp-"))
    };
    let found: Vec<&Summary> = plans.iter().filter(has_no_session).collect();
    let first = found.first()?;
    let said = format!(
        "{} connection{} to the MCP server without a session, the last one {}: the list is stored, \
         but no hook checks it when the agent stops",
        found.len(),
        plural(found.len()),
        ago(first.updated_at, now)
    );
    let fix = "check that the hooks above answer, then restart the agent";
    Some(Finding::note("sessions", said, fix))
}

#[cfg(test)]
mod tests {
    use punchlist_bridge::doctor::State;
    use punchlist_model::store::memory::Memory;
    use punchlist_model::store::{AttachmentKey, NewPlan, PlanStore};
    use punchlist_model::{IdSource, PlanId};

    use super::*;

    fn at() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    #[test]
    fn a_damaged_database_is_broken() {
        let finding = |damage: &[&str]| {
            let damage = damage.iter().map(|it| (*it).to_owned()).collect();
            health(&Health { schema: 6, plans: 1, bytes: 4096, damage }, Path::new("/plans.db"))
        };
        let well = finding(&[]);
        assert_eq!(well.said, "1 plan, 5 kB, schema 6, integrity ok  /plans.db");
        assert_eq!(well.state, State::Good);
        let damaged = finding(&["page 3", "page 4"]);
        assert_eq!(damaged.said, "/plans.db is damaged: page 3; page 4");
        assert_eq!(damaged.state, State::Bad);
    }

    #[test]
    fn connections_without_a_session_are_named() {
        let store = Memory::new();
        let id = PlanId(IdSource::fixed(at(), 1).nth(0));
        pollster::block_on(store.create(NewPlan::new(id, "/p", at()))).unwrap();
        let key = AttachmentKey {
            project: "/p".to_owned(),
            agent: "mcp".to_owned(),
            conversation: "mcp-12-34".to_owned(),
            sub_agent: String::new(),
            turn: String::new(),
        };
        pollster::block_on(store.attach(key, id, at())).unwrap();
        let found = pollster::block_on(examine(&store, Path::new("/plans.db"), at())).unwrap();
        let about: Vec<(&str, State)> = found.iter().map(|it| (it.about, it.state)).collect();
        assert_eq!(about, [("database", State::Good), ("sessions", State::Note)]);
        assert!(found[1].said.starts_with("1 connection to the MCP server without a session"));
    }

    #[test]
    fn a_database_that_cannot_be_created_is_broken() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(missing(&dir.path().join("new/plans.db")).state, State::Good);
        let broken = missing(&file.join("plans.db"));
        assert_eq!(broken.state, State::Bad);
        assert!(broken.said.ends_with("is not a directory"), "{}", broken.said);
    }
}
