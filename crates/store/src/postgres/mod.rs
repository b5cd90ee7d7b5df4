//! The store on PostgreSQL, for many machines.
//!
//! It makes the promises of the SQLite store with other means. A change locks its plan's row and is one
//! transaction in two round trips: the first reads, the second writes and commits. Every write has an
//! id, so a write whose connection was lost is repeated until it is known to have happened once. Times
//! come from the server's clock. Followers are woken by `NOTIFY`.
//!
//! Calls may be made from any executor: the connections live in a runtime of their own.

mod access;
mod address;
mod attachments;
mod calls;
mod changes;
mod connect;
mod conversations;
mod error;
mod follow;
mod hosts;
mod journal;
mod load;
mod located;
mod maintenance;
mod messages;
mod migrate;
mod moved;
mod names;
mod notices;
mod options;
mod plans;
mod questions;
mod roles;
mod runner;
mod save;
mod sessions;
mod shared_work;
mod store;
mod tls;
mod turn_entries;
mod tx;
mod values;
mod work;

use std::sync::{Arc, LazyLock};

use deadpool::managed::Pool;
use futures_core::future::BoxFuture;
use punchlist_model::PlanId;
use punchlist_model::store::Error;
use tokio::runtime::{Builder, Runtime};

pub use address::{Address, without_password};
pub use located::{Located, Place};
pub use options::{Clock, Options};
pub use roles::{Granted, Right, grant};

use connect::Manager;
use error::{Failure, Shown, broken};
use follow::Bell;
use runner::Patience;
use tx::{Purpose, Tx};

/// The channel of `NOTIFY`.
const NOTIFY_CHANNEL: &str = "punchlist";

/// The runtime of all connections of this process, started by the first of them.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).thread_name("punchlist-pg").enable_all().build()
});

/// A store in a PostgreSQL database.
pub struct Postgres {
    shared: Arc<Shared>,
}

/// What the calls of a store share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    /// The address in messages.
    pub(crate) shown: Shown,
    pub(crate) pool: Pool<Manager>,
    bell: Bell,
}

impl Postgres {
    /// Opens a database to read and write; creates or migrates its schema.
    pub fn open(options: &Options) -> Result<Self, Error> {
        let store = Self::new(options)?;
        let shared = Arc::clone(&store.shared);
        block_on(async move { shared.prepare().await })?;
        Ok(store)
    }

    /// Opens a database to read; `None` if it has no schema yet. Creates and changes nothing.
    pub fn open_to_read(options: &Options) -> Result<Option<Self>, Error> {
        let store = Self::new(options)?;
        let shared = Arc::clone(&store.shared);
        let schema = block_on(async move { shared.schema().await })?;
        migrate::check_known(schema)?;
        match schema {
            0 => Ok(None),
            migrate::LATEST => Ok(Some(store)),
            older => {
                let what = format!(
                    "{} has schema {older}, which must be brought up to date by a command that \
                     writes",
                    options.address
                );
                Err(Error::Server { what, source: None })
            }
        }
    }

    fn new(options: &Options) -> Result<Self, Error> {
        let patience = Patience::begin(options).left();
        let pool = Pool::builder(Manager::new(&options.address, patience)?)
            .max_size(options.connections.max(1))
            .build()
            .map_err(|error| broken("cannot make a pool of connections".to_owned(), error))?;
        let shown = Shown::of(&options.address);
        let shared = Shared { options: options.clone(), shown, pool, bell: Bell::default() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Runs a transaction that writes something that is not in a journal.
    fn write<T, F>(&self, work: F) -> BoxFuture<'_, Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t Tx) -> BoxFuture<'t, Result<T, Failure>> + Send + Sync + 'static,
    {
        self.call(move |shared| async move {
            runner::write(&shared, Purpose::Write { id: None }, &|tx| {
                tx.ring("");
                work(tx)
            })
            .await
        })
    }

    /// Runs a transaction that writes to a plan's journal.
    fn write_journal<T, F>(&self, work: F) -> BoxFuture<'_, Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t Tx) -> BoxFuture<'t, Result<T, Failure>> + Send + Sync + 'static,
    {
        self.call(
            move |shared| async move { runner::write(&shared, Purpose::Journal, &work).await },
        )
    }

    /// Runs a transaction that reads.
    fn read<T, F>(&self, work: F) -> BoxFuture<'_, Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t Tx) -> BoxFuture<'t, Result<T, Failure>> + Send + Sync + 'static,
    {
        self.call(move |shared| async move { runner::read(&shared, &work).await })
    }

    /// Gives the plans of a project another name, and its sessions another directory.
    fn move_project_in(
        &self,
        names: (String, String),
        directories: (String, String),
    ) -> BoxFuture<'_, Result<Vec<PlanId>, Error>> {
        self.write(move |tx| {
            let (names, directories) = (names.clone(), directories.clone());
            Box::pin(async move {
                let directories = Some((&*directories.0, &*directories.1));
                moved::move_project(tx, &names.0, &names.1, directories).await
            })
        })
    }

    /// Does something in the runtime. It goes on even if nobody waits for it any longer.
    fn call<T: Send + 'static, F: Future<Output = Result<T, Error>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Shared>) -> F + Send + 'static,
    ) -> BoxFuture<'_, Result<T, Error>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { spawned(async move { work(shared).await }).await })
    }
}

impl Shared {
    /// Creates or migrates the schema, if necessary.
    async fn prepare(&self) -> Result<(), Error> {
        let mut patience = Patience::begin(&self.options);
        loop {
            let connection = runner::connection(self, &mut patience).await?;
            migrate::check_known(connection.schema)?;
            if connection.schema == migrate::LATEST {
                return Ok(());
            }
            let migrated = migrate::migrate(&connection.client).await;
            // It knows its schema from before.
            drop(deadpool::managed::Object::take(connection));
            match migrated {
                Ok(()) => return Ok(()),
                Err(failure) => patience.after(self, failure).await?,
            }
        }
    }

    /// The version of the schema; 0 if there is none.
    async fn schema(&self) -> Result<u32, Error> {
        let mut patience = Patience::begin(&self.options);
        Ok(runner::connection(self, &mut patience).await?.schema)
    }
}

/// Runs a future in the runtime, from any executor.
async fn spawned<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    match runtime()?.spawn(work).await {
        Ok(done) => done,
        Err(error) => Err(broken("a call of the store panicked".to_owned(), error)),
    }
}

fn runtime() -> Result<&'static Runtime, Error> {
    RUNTIME.as_ref().map_err(|error| Error::Server {
        what: format!("cannot start threads for the database: {error}"),
        source: None,
    })
}

/// Waits for a future in the runtime, from a thread that may block.
fn block_on<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let (done, is_done) = std::sync::mpsc::sync_channel(1);
    runtime()?.spawn(async move {
        // The caller waits for it, so it can be sent.
        done.send(work.await).ok();
    });
    is_done.recv().map_err(|error| broken("a call of the store panicked".to_owned(), error))?
}
