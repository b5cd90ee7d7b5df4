//! Opens the database. The rest of the program only sees a [`Store`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_store::{Options, Sqlite, Threaded};

/// Opens the store, and creates it if it does not exist.
pub(crate) fn open(options: &Options) -> Result<Arc<dyn Store>, Error> {
    Ok(Arc::new(Sqlite::open(options)?))
}

/// Opens the store for reading; `None` if it does not exist. Creates and writes nothing.
pub(crate) fn open_to_read(options: &Options) -> Result<Option<Arc<dyn Store>>, Error> {
    Ok(Sqlite::open_to_read(options)?.map(|store| Arc::new(store) as Arc<dyn Store>))
}

/// Opens the store on a thread of its own, for async callers. Creates it if it does not exist.
pub(crate) fn open_on_thread(options: &Options) -> Result<Arc<dyn Store>, Error> {
    Ok(Arc::new(Threaded::open(options)?))
}

/// A store for servers: opened on first use, then kept open.
pub(crate) struct StayingStore {
    options: Options,
    opened: Mutex<Option<Arc<Sqlite>>>,
}

impl StayingStore {
    /// A store that is not open yet.
    pub(crate) fn new(options: Options) -> Self {
        Self { options, opened: Mutex::default() }
    }

    /// The options for opening it.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The store, created if it does not exist. `is_opened` runs if this call opens it.
    pub(crate) fn store(&self, is_opened: impl FnOnce()) -> Result<Arc<dyn Store>, Error> {
        self.open(self.lock(), is_opened)
    }

    /// The same; `None` if the database does not exist.
    pub(crate) fn store_if_there(
        &self,
        is_opened: impl FnOnce(),
    ) -> Result<Option<Arc<dyn Store>>, Error> {
        let opened = self.lock();
        if opened.is_none() && !self.options.path.exists() {
            return Ok(None);
        }
        // Open for writing: a server will write sooner or later.
        self.open(opened, is_opened).map(Some)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Sqlite>>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        // A store that was read-only may be writable by now.
        drop(opened.take_if(|it| it.is_read_only()));
        opened
    }

    fn open(
        &self,
        mut opened: MutexGuard<'_, Option<Arc<Sqlite>>>,
        is_opened: impl FnOnce(),
    ) -> Result<Arc<dyn Store>, Error> {
        if let Some(store) = &*opened {
            return Ok(Arc::<Sqlite>::clone(store));
        }
        let store = Arc::new(Sqlite::open(&self.options)?);
        store.stay();
        is_opened();
        *opened = Some(Arc::clone(&store));
        Ok(store)
    }
}
