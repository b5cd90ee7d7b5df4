//! The engine: a store, its environment, and what a program can do with plans.
//!
//! [`Engine::create`] and [`Engine::plan`] return a [`PlanHandle`]; [`PlanHandle::by`] returns a
//! [`Worker`] that adds, claims and completes items; [`PlanHandle::follow`] returns changes as they
//! happen. [`Engine::conversation`] is for programs that run a model. [`Engine::verify`] runs an
//! item's check, [`Engine::approve`] records a person's approval, [`Engine::questions`] lists the
//! questions that wait for a person.
//!
//! Handles are cheap to clone and keep the store open. Acknowledged changes stay in the database
//! when handles are dropped. A dropped claim stays claimed until its lease expires;
//! [`Claim::release`] releases it at once. A blocked item can be neither claimed nor completed.

mod acts;
mod draft;
mod news;
mod plan;
mod questions;
mod remote;
mod verify;
mod worker;

use std::ffi::OsString;
use std::sync::Arc;

use punchlist_model::session::Store;
use punchlist_model::store::{Error, Filter, NewPlan, Summary};
use punchlist_model::{Limits, PlanId};
use punchlist_sched::Policy;

use crate::around::Around;
use crate::plan_service::{self, Which};

pub use acts::{ItemText, PlanAct, Step};
pub use draft::{Draft, item};
pub use news::{Change, News};
pub use plan::PlanHandle;
pub use questions::Questions;
pub use remote::ChangeRequest;
pub use verify::Verified;
pub use worker::{Claim, Worker};

/// Options of an engine. The defaults: a project without a name, the default [`Limits`], and no
/// checks that agents wrote.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The project of new plans: a directory or any other name. Checks only run if it is a
    /// directory.
    pub project: String,
    /// Limits on sizes and counts.
    pub limits: Limits,
    /// The policy for checks. Without rules, checks of people and of the program may run, and none
    /// that agents wrote.
    pub policy: Policy,
    /// Whether a person has consented to the checks of agents that `policy` allows.
    pub is_consent_given: bool,
    /// The environment variables of checks. Nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
}

/// Access to plans.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) around: Box<dyn Around>,
    pub(crate) options: Options,
}

impl Engine {
    /// An engine with the default options.
    pub fn open(store: Arc<dyn Store>, around: impl Around) -> Self {
        Self::with(store, around, Options::default())
    }

    /// An engine with these options.
    pub fn with(store: Arc<dyn Store>, around: impl Around, options: Options) -> Self {
        Self { inner: Arc::new(Inner { store, around: Box::new(around), options }) }
    }

    /// The store of this engine.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Creates a plan with this title.
    pub async fn create(&self, title: impl Into<String>) -> Result<PlanHandle, Error> {
        self.make(title.into(), None).await
    }

    /// Creates a plan with a name by which others find it. A name that exists in the project is
    /// refused.
    pub async fn create_named(
        &self,
        title: impl Into<String>,
        name: impl Into<String>,
    ) -> Result<PlanHandle, Error> {
        self.make(title.into(), Some(name.into())).await
    }

    async fn make(&self, title: String, name: Option<String>) -> Result<PlanHandle, Error> {
        let Inner { store, around, options } = &*self.inner;
        let at = around.now();
        let id = PlanId(around.ids(at)?.nth(0));
        let project = options.project.clone();
        store.create(NewPlan { name, title, ..NewPlan::new(id, project, at) }).await?;
        Ok(self.handle(id))
    }

    /// Finds a plan; `None` if there is none. Creates nothing.
    pub async fn plan(&self, which: Which) -> Result<Option<PlanHandle>, Error> {
        let Inner { store, options, .. } = &*self.inner;
        let id = plan_service::find(&**store, &options.project, &which).await?;
        Ok(id.map(|id| self.handle(id)))
    }

    /// The plans that match, most recently changed first.
    pub async fn plans(&self, filter: Filter) -> Result<Vec<Summary>, Error> {
        self.inner.store.plans(filter).await
    }

    /// A handle for a plan that is known to exist.
    pub fn at(&self, id: PlanId) -> PlanHandle {
        self.handle(id)
    }

    fn handle(&self, id: PlanId) -> PlanHandle {
        PlanHandle::new(self.clone(), id)
    }
}
