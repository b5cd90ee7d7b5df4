//! The engine: a store, the world around it, and what a program may do with plans.
//!
//! [`Engine::create`] and [`Engine::plan`] give a [`PlanHandle`]; [`PlanHandle::by`] gives a
//! [`Worker`] that adds, claims and completes items; [`PlanHandle::follow`] gives changes as they
//! happen. [`Engine::conversation`] is for whoever runs a model. [`Engine::verify`] runs an item's check,
//! [`Engine::approve`] records a person's approval, [`Engine::questions`] lists what waits for a person.
//!
//! Handles are cheap to clone and hold the store open; what was acknowledged stays in the database when they
//! are dropped. A claim that is dropped stays claimed until its lease ends; [`Claim::release`] gives it back
//! at once. A blocked item is neither claimed nor completed.

mod draft;
mod news;
mod plan;
mod questions;
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

pub use draft::{Draft, item};
pub use news::{Change, News};
pub use plan::PlanHandle;
pub use questions::Questions;
pub use verify::Verified;
pub use worker::{Claim, Worker};

/// What an engine is told once. By default: a project without a name, the default [`Limits`], and no checks that
/// agents wrote.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The project that new plans belong to: a directory, or any other name. Checks run in a directory only.
    pub project: String,
    /// How much of anything.
    pub limits: Limits,
    /// The rules for checks. Without one, what people and the program wrote may run, and nothing that agents
    /// wrote.
    pub policy: Policy,
    /// Whether a person has consented to those checks of agents that `policy` allows.
    pub is_consent_given: bool,
    /// The environment of checks. Nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
}

/// Plans, and what may be done with them.
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
    /// An engine on a store, with the options' defaults.
    pub fn open(store: Arc<dyn Store>, around: impl Around) -> Self {
        Self::with(store, around, Options::default())
    }

    /// An engine on a store.
    pub fn with(store: Arc<dyn Store>, around: impl Around, options: Options) -> Self {
        Self { inner: Arc::new(Inner { store, around: Box::new(around), options }) }
    }

    /// The store behind it.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Makes a plan with this title.
    pub async fn create(&self, title: impl Into<String>) -> Result<PlanHandle, Error> {
        self.make(title.into(), None).await
    }

    /// Makes a plan with a name by which others find it. A name that the project has already is
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

    /// The plan that is meant; `None` if there is none. Makes nothing.
    pub async fn plan(&self, which: Which) -> Result<Option<PlanHandle>, Error> {
        let Inner { store, options, .. } = &*self.inner;
        let id = plan_service::find(&**store, &options.project, &which).await?;
        Ok(id.map(|id| self.handle(id)))
    }

    /// The plans that fit, most recently changed first.
    pub async fn plans(&self, filter: Filter) -> Result<Vec<Summary>, Error> {
        self.inner.store.plans(filter).await
    }

    fn handle(&self, id: PlanId) -> PlanHandle {
        PlanHandle::new(self.clone(), id)
    }
}
