//! The databases that hooks, servers and verbs use, and their contents.

use std::path::Path;

use punchlist_bridge::doctor::{self, Finding, is_same_file, locks};
use punchlist_bridge::install::entries;
use punchlist_formats::view::duration::ago;
use punchlist_model::session::{SessionFilter, Store};
use punchlist_model::store::maintenance::Health;
use punchlist_model::store::{Filter, Summary};
use punchlist_model::{End, Session, Timestamp};
use rustix::fs::{Access, access};

use super::{Examination, LOCK_PATIENCE, Used, plural, size};
use crate::fail::Fail;
use crate::policy::trusted_files::FoundDatabase;

impl Examination<'_> {
    /// Examines the databases that hooks and servers use, then the one that verbs use here if it is
    /// another.
    pub(super) async fn stores(&self, used: &[Used]) -> Result<Vec<Finding>, Fail> {
        let here = self.database;
        let mut findings = Vec::new();
        let mut examined: Vec<&Path> = Vec::new();
        let mut others = Vec::new();
        for it in used {
            if it.databases.first().is_some_and(|path| !is_same_file(here, path)) {
                others.push(it);
            }
            for path in &it.databases {
                if !examined.iter().any(|it| is_same_file(it, path)) {
                    findings.extend(self.store(path).await);
                    examined.push(path);
                }
            }
        }
        let mut works = true;
        if !examined.iter().any(|it| is_same_file(it, here)) {
            let own = self.store(here).await;
            works = doctor::is_well(&own);
            // A database that does not exist yet is not reported if another one is in use.
            if examined.is_empty() || here.exists() || !works {
                findings.extend(own);
            }
        }
        let is_own = is_same_file(here, &self.project.own_database());
        findings.extend(others.into_iter().filter_map(|it| apart(here, it, works, is_own)));
        findings.extend(self.untrusted()?);
        Ok(findings)
    }

    /// A database in the project's directory that the user has not trusted.
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

    async fn store(&self, path: &Path) -> Vec<Finding> {
        if !path.exists() {
            return vec![missing(path)];
        }
        // Opening the database would hang if a process held the lock for ever.
        if let Some(held) = locks::look(path, LOCK_PATIENCE) {
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

fn broken(fail: Fail) -> Finding {
    Finding::bad("database", fail.message, fail.hint.unwrap_or_default())
}

/// Reports that verbs and an agent use different databases.
fn apart(here: &Path, used: &Used, works: bool, is_own: bool) -> Option<Finding> {
    let theirs = used.databases.first()?.to_string_lossy();
    let said = format!("verbs here use {}, {} uses {theirs}", here.display(), used.agent.title());
    // Entries for all projects must not name the database of one project.
    let for_project = is_own || used.is_for_project;
    let project = if for_project { " --project" } else { "" };
    let here = entries::quoted(&here.to_string_lossy());
    let fix = format!("punchlist install {}{project} --db {here}", used.agent.as_str());
    // The fix never sends an agent from a database that works to one that does not.
    let there = format!("--db {} where its plans are meant", entries::quoted(&theirs));
    let is_possible = works && !(for_project && used.is_shared);
    Some(Finding::note("database", said, if is_possible { fix } else { there }))
}

/// Reports a database that does not exist, and whether it can be created.
fn missing(path: &Path) -> Finding {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let above = whole.ancestors().skip(1).find(|it| it.exists()).unwrap_or(&whole);
    let why = if above.is_dir() {
        let why = access(above, Access::WRITE_OK | Access::EXEC_OK).err();
        why.map(|why| format!("is not writable ({why})"))
    } else {
        Some("is not a directory".to_owned())
    };
    match why {
        None => {
            let said = format!("no plans yet; {} is made by the first", path.display());
            Finding::good("database", said)
        }
        Some(why) => Finding::bad(
            "database",
            format!("{} cannot be made: {} {why}", path.display(), above.display()),
            "fix that, or name another database with --db",
        ),
    }
}

/// Examines a database that exists: whether it is intact and writable, and what it contains.
async fn examine(store: &dyn Store, path: &Path, now: Timestamp) -> Result<Vec<Finding>, Fail> {
    let mut findings = vec![health(&store.health().await?, path)];
    if let Err(error) = store.check_writable().await {
        findings.push(broken(error.into()));
    }
    let plans = store.plans(Filter::default()).await?;
    findings.extend(stopped(&plans));
    let filter = SessionFilter { most: Some(100), ..SessionFilter::default() };
    findings.extend(sessions(&store.sessions(filter).await?, now));
    findings.extend(without_session(&plans, now));
    Ok(findings)
}

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

fn stopped(plans: &[Summary]) -> Option<Finding> {
    let stopped: Vec<&Summary> = plans.iter().filter(|it| it.end == End::Stopped).collect();
    let first = stopped.first()?;
    let (count, s) = (stopped.len(), plural(stopped.len()));
    let said = format!("{count} plan{s} stopped with open items");
    Some(Finding::note("plans", said, format!("punchlist show --plan {}", first.id.short())))
}

fn sessions(sessions: &[Session], now: Timestamp) -> Option<Finding> {
    let last = sessions.first()?;
    let running = sessions.iter().filter(|it| it.ended_at.is_none()).count();
    let (count, last) = (sessions.len(), ago(last.seen_at, now));
    let said = format!("{count} seen, {running} not ended, the last one {last}");
    Some(Finding::good("sessions", said))
}

/// Connections of the MCP server that found no session to belong to, and so got their own plans.
fn without_session(plans: &[Summary], now: Timestamp) -> Option<Finding> {
    let is_alone = |it: &&Summary| {
        it.attachment.as_ref().is_some_and(|it| it.conversation.starts_with("mcp-"))
    };
    let alone: Vec<&Summary> = plans.iter().filter(is_alone).collect();
    let first = alone.first()?;
    let said = format!(
        "{} connection{} to the MCP server met no session, the last one {}: the list is kept, but no \
         hook watches it",
        alone.len(),
        plural(alone.len()),
        ago(first.updated_at, now)
    );
    let fix = "see that the hooks above answer, then restart the agent";
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
        assert!(found[1].said.starts_with("1 connection to the MCP server met no session"));
    }

    #[test]
    fn a_database_that_cannot_be_made_is_broken() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(missing(&dir.path().join("new/plans.db")).state, State::Good);
        let broken = missing(&file.join("plans.db"));
        assert_eq!(broken.state, State::Bad);
        assert!(broken.said.ends_with("is not a directory"), "{}", broken.said);
    }
}
