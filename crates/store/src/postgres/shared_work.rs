//! Shared work: the plans that workers take items from, and who wrote their commands.
//!
//! The server records the publisher of an item by a trigger (`0002_shared_work.sql`), so that no client
//! can set it.

use std::collections::{BTreeMap, BTreeSet};

use futures_core::future::BoxFuture;
use punchlist_model::store::Error;
use punchlist_model::store::work::{Publishers, SharedPlan, WorkStore};
use punchlist_model::{Number, PlanId};

use super::error::Failure;
use super::load::{self, int};
use super::tx::Tx;
use super::values::{Value, ints, params};
use super::{Located, Postgres};
use crate::columns::{self, string};
use crate::rows;

impl WorkStore for Postgres {
    fn shared(&self, project: String) -> BoxFuture<'_, Result<Vec<SharedPlan>, Error>> {
        self.read(move |tx| {
            let project = project.clone();
            Box::pin(async move { shared(tx, project).await })
        })
    }

    fn publishers(
        &self,
        plan: PlanId,
        items: BTreeSet<Number>,
    ) -> BoxFuture<'_, Result<Publishers, Error>> {
        self.read(move |tx| {
            let items = items.clone();
            Box::pin(async move { publishers(tx, plan, &items).await })
        })
    }
}

impl WorkStore for Located {
    fn shared(&self, project: String) -> BoxFuture<'_, Result<Vec<SharedPlan>, Error>> {
        self.store.shared(self.names.there(&project))
    }

    fn publishers(
        &self,
        plan: PlanId,
        items: BTreeSet<Number>,
    ) -> BoxFuture<'_, Result<Publishers, Error>> {
        self.store.publishers(plan, items)
    }
}

async fn shared(tx: &Tx, project: String) -> Result<Vec<SharedPlan>, Failure> {
    let answer = tx.query(
        "SELECT id, revision FROM punchlist.plan WHERE project = $1 AND open > 0 \
         AND (rules::jsonb ->> 'shared') = 'true' ORDER BY created_at, id",
        params![project],
    );
    let mut found = Vec::new();
    for row in answer.await? {
        let id = columns::parsed(&row, 0, str::parse::<PlanId>)?;
        found.push(SharedPlan { id, revision: rows::revision(&row, 1)? });
    }
    Ok(found)
}

async fn publishers(
    tx: &Tx,
    plan: PlanId,
    items: &BTreeSet<Number>,
) -> Result<Publishers, Failure> {
    let (key, header) = load::header(tx, plan).get().await?;
    let numbers = ints(items.iter().map(|it| int(*it)));
    let answer = tx.query(
        "SELECT number, publisher FROM punchlist.item \
         WHERE plan = $1 AND number = ANY($2) AND publisher IS NOT NULL",
        vec![Value::from(key.0), numbers],
    );
    let mut of = BTreeMap::new();
    for row in answer.await? {
        of.insert(Number(columns::number(&row, 0)?), string(&row, 1)?);
    }
    Ok(Publishers { revision: header.revision, of, own: None })
}
