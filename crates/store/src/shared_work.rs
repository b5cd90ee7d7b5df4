//! Shared work: the plans that workers take items from, and who wrote their commands.
//!
//! A database file has one owner, who wrote everything in it.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use futures_core::future::BoxFuture;
use punchlist_model::store::Error;
use punchlist_model::store::work::{Publishers, SharedPlan, WorkStore};
use punchlist_model::{Number, PlanId};
use rusqlite::{Connection, Row};

use crate::load::{self, Failure};
use crate::{Sqlite, Threaded, rows};

impl WorkStore for Sqlite {
    fn shared(&self, project: String) -> BoxFuture<'_, Result<Vec<SharedPlan>, Error>> {
        Box::pin(async move { self.read(|conn| Ok(shared(conn, &project)?)) })
    }

    fn publishers(
        &self,
        plan: PlanId,
        items: BTreeSet<Number>,
    ) -> BoxFuture<'_, Result<Publishers, Error>> {
        Box::pin(async move {
            let (owner, own) = owner(&self.options().path);
            self.read(|conn| publishers(conn, plan, &items, &owner, own.clone()))
        })
    }
}

impl WorkStore for Threaded {
    fn shared(&self, project: String) -> BoxFuture<'_, Result<Vec<SharedPlan>, Error>> {
        self.only_read(move |store| store.shared(project))
    }

    fn publishers(
        &self,
        plan: PlanId,
        items: BTreeSet<Number>,
    ) -> BoxFuture<'_, Result<Publishers, Error>> {
        self.only_read(move |store| store.publishers(plan, items))
    }
}

fn shared(conn: &Connection, project: &str) -> rusqlite::Result<Vec<SharedPlan>> {
    let mut select = conn.prepare_cached(
        "SELECT id, revision FROM plan WHERE project = ?1 AND open > 0 \
         AND CASE WHEN json_valid(rules) THEN rules ->> '$.shared' END ORDER BY created_at, id",
    )?;
    let read = |row: &Row<'_>| {
        let id = rows::parsed(row, 0, str::parse::<PlanId>)?;
        Ok(SharedPlan { id, revision: rows::revision(row, 1)? })
    };
    select.query_map([project], read)?.collect()
}

fn publishers(
    conn: &Connection,
    plan: PlanId,
    items: &BTreeSet<Number>,
    owner: &str,
    own: Option<String>,
) -> Result<Publishers, Failure> {
    let (_, plan) = load::header(conn, plan)?;
    let of = items.iter().map(|it| (*it, owner.to_owned())).collect();
    Ok(Publishers { revision: plan.revision, of, own })
}

/// The owner of the database file, and the same if this process is theirs.
fn owner(path: &Path) -> (String, Option<String>) {
    let Ok(about) = std::fs::metadata(path) else { return (String::new(), None) };
    let owner = format!("uid:{}", about.uid());
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    (owner.clone(), is_own.then_some(owner))
}
