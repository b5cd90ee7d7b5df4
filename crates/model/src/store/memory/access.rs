//! Grants and servers, in memory.

use std::collections::BTreeMap;

use futures_core::future::BoxFuture;
use jiff::Timestamp;

use super::{Memory, State};
use crate::id::GrantId;
use crate::store::access::{AccessStore, Grant, GrantKind, ServerRecord};
use crate::store::maintenance::project_after_move;
use crate::store::{Error, kept};

/// What is stored of access over HTTP.
#[derive(Default)]
pub(super) struct Access {
    grants: BTreeMap<GrantId, Grant>,
    site: Option<String>,
    /// By host and address.
    servers: BTreeMap<(String, String), ServerRecord>,
}

impl Access {
    fn add(&mut self, grant: Grant) -> bool {
        let now = grant.created_at;
        self.grants.retain(|_, it| !it.is_old(now));
        let is_same = |it: &&Grant| it.kind == GrantKind::Token && it.name == grant.name;
        let is_taken = self.grants.values().filter(is_same).any(|it| it.ended_at.is_none());
        if grant.kind == GrantKind::Token && is_taken {
            return false;
        }
        self.grants.insert(grant.id, grant.kept());
        true
    }

    fn end(&mut self, id: GrantId, now: Timestamp) -> bool {
        let Some(grant) = self.grants.get_mut(&id) else { return false };
        if grant.ended_at.is_some() {
            return false;
        }
        grant.ended_at = Some(kept(now));
        true
    }

    pub(super) fn move_project(&mut self, from: &str, to: &str) {
        for grant in self.grants.values_mut() {
            let after = grant.project.as_deref().and_then(|it| project_after_move(it, from, to));
            grant.project = after.or(grant.project.take());
        }
    }
}

impl State {
    /// Changes what is stored, and wakes those who wait for news.
    fn change_access<T>(&mut self, change: impl FnOnce(&mut Access) -> T) -> T {
        let value = change(&mut self.access);
        self.notify();
        value
    }
}

impl AccessStore for Memory {
    fn add_grant(&self, grant: Grant) -> BoxFuture<'_, Result<bool, Error>> {
        self.answer(Ok(self.state().change_access(|it| it.add(grant))))
    }

    fn grant(&self, id: GrantId) -> BoxFuture<'_, Result<Option<Grant>, Error>> {
        self.answer(Ok(self.state().access.grants.get(&id).cloned()))
    }

    fn grants(&self, kind: GrantKind) -> BoxFuture<'_, Result<Vec<Grant>, Error>> {
        let state = self.state();
        let grants = state.access.grants.values().filter(|it| it.kind == kind).cloned();
        self.answer(Ok(grants.collect()))
    }

    fn end_grant(&self, id: GrantId, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        self.answer(Ok(self.state().change_access(|it| it.end(id, now))))
    }

    fn redeem(
        &self,
        code: GrantId,
        session: Grant,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, Error>> {
        self.answer(Ok(self.state().change_access(|it| {
            let found = it.grants.get(&code).filter(|it| it.kind == GrantKind::Code);
            let is_in_force = found.is_some_and(|it| it.is_in_force(kept(now)));
            is_in_force && it.end(code, now) && it.add(session)
        })))
    }

    fn site(&self, proposed: String) -> BoxFuture<'_, Result<String, Error>> {
        let mut state = self.state();
        self.answer(Ok(state.access.site.get_or_insert(proposed).clone()))
    }

    fn keep_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        let key = (server.process.host.clone(), server.address.clone());
        let server = ServerRecord { started_at: kept(server.started_at), ..server };
        self.state().change_access(|it| it.servers.insert(key, server));
        self.answer(Ok(()))
    }

    fn servers(&self) -> BoxFuture<'_, Result<Vec<ServerRecord>, Error>> {
        self.answer(Ok(self.state().access.servers.values().cloned().collect()))
    }

    fn remove_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.state().change_access(|it| {
            let is_it = |other: &ServerRecord| {
                other.address == server.address && other.process == server.process
            };
            it.servers.retain(|_, other| !is_it(other));
        });
        self.answer(Ok(()))
    }
}
