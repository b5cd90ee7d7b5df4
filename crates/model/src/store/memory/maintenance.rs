//! The maintenance of the store in memory.

use futures_core::future::BoxFuture;

use super::{Memory, State};
use crate::id::PlanId;
use crate::store::maintenance::{Health, MaintenanceStore, project_after_move};
use crate::store::{AttachmentKey, Error};

impl MaintenanceStore for Memory {
    fn health(&self) -> BoxFuture<'_, Result<Health, Error>> {
        let plans = u64::try_from(self.state().plans.len()).unwrap_or(u64::MAX);
        self.answer(Ok(Health { schema: 0, plans, bytes: 0, damage: Vec::new() }))
    }

    fn check_writable(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.answer(Ok(()))
    }

    fn move_project(&self, from: String, to: String) -> BoxFuture<'_, Result<Vec<PlanId>, Error>> {
        self.answer(self.state().move_project(&from, &to))
    }
}

impl State {
    fn move_project(&mut self, from: &str, to: &str) -> Result<Vec<PlanId>, Error> {
        let after = |project: &str| project_after_move(project, from, to);
        let plans = self.plans.values();
        let moves: Vec<(PlanId, String)> =
            plans.filter_map(|it| Some((it.id, after(&it.project)?))).collect();
        for (id, project) in &moves {
            self.check_name(*id, project, self.plan(*id)?.name.as_deref())?;
        }
        for (id, project) in &moves {
            let purpose = self.plan(*id)?.made_for.clone().map(|it| it.in_project(project));
            let made_for = match purpose {
                Some(it) if self.plan_for(&it).is_none_or(|other| other == *id) => Some(it),
                Some(_) | None => None,
            };
            let plan = self.plans.get_mut(id).ok_or(Error::NoPlan(*id))?;
            plan.project.clone_from(project);
            plan.made_for = made_for;
        }
        let keys: Vec<AttachmentKey> = self.attachments.keys().cloned().collect();
        for key in keys {
            let Some(project) = after(&key.project) else { continue };
            let moved = AttachmentKey { project, ..key.clone() };
            if !self.attachments.contains_key(&moved)
                && let Some(mut attachment) = self.attachments.remove(&key)
            {
                attachment.key = moved.clone();
                self.attachments.insert(moved, attachment);
            }
        }
        for session in self.sessions.values_mut() {
            if let Some(project) = after(&session.project) {
                session.project = project;
                session.version += 1;
            }
        }
        self.work.move_runs(after);
        self.conversations.move_project(from, to);
        self.access.move_project(from, to);
        self.notify();
        Ok(moves.into_iter().map(|it| it.0).collect())
    }
}
