//! Changes that a program asks for from outside: with an expected revision, and safe to repeat.

use punchlist_formats::view;
use punchlist_model::store::{Applied, Change};
use punchlist_model::{Actor, ActorKind, Ctx, Op, Revision, WriteId};

use super::{Inner, PlanHandle, Worker};
use crate::fail::Fail;
use crate::{around, change, session};

/// A change that a program asks for.
#[derive(Clone, Debug)]
pub struct ChangeRequest {
    /// Who asks.
    pub actor: Actor,
    /// The operations: all or none.
    pub ops: Vec<Op>,
    /// The revision that the plan must have.
    pub expect: Option<Revision>,
    /// The id of the write, if the program may repeat it.
    pub write: Option<WriteId>,
    /// Start or complete blocked items all the same, if a person asks.
    pub anyway: bool,
}

impl PlanHandle {
    /// Changes the plan. The result has everything that decides whether its items are ready. After a
    /// conflict, the error says what others did meanwhile.
    pub async fn request(&self, request: ChangeRequest) -> Result<Applied, Fail> {
        let ChangeRequest { actor, ops, expect, write, anyway } = request;
        let Inner { store, around, .. } = &*self.engine.inner;
        let ctx = Ctx { anyway, ..self.acting(actor.clone()).ctx()? };
        let change = Change { expect, write, ..Change::new(ops, ctx) };
        let gone = |plan: &_| around::gone(&**around, plan);
        match change::change(&**store, self.id(), change, &gone).await {
            Ok(applied) => Ok(change::with_obstacles(&**store, applied).await?),
            Err(error) => {
                let options = view::Options::plain(around.now());
                Err(change::explain(&**store, error, Some(&actor), &options).await)
            }
        }
    }

    /// Undoes the actor's own last change.
    pub async fn take_back(&self, actor: Actor, expect: Option<Revision>) -> Result<Applied, Fail> {
        let ctx = self.acting(actor).ctx()?;
        let store = self.store();
        let applied = store.undo(self.id(), ctx.clone(), expect).await?;
        session::give_back(&**store, self.id(), &applied.decision.events, &ctx).await?;
        Ok(change::with_obstacles(&**store, applied).await?)
    }

    fn acting(&self, actor: Actor) -> Worker {
        match actor.kind {
            ActorKind::Person => self.by_person(actor.name),
            ActorKind::Agent | ActorKind::Engine => self.by(actor.name),
        }
    }
}
