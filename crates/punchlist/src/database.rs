//! Opens the database. Whoever works with plans gets a [`Store`] and does not know which kind it is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_store::{Options, Sqlite, Threaded};

/// The store, made if it is not there.
pub(crate) fn open(options: &Options) -> Result<Arc<dyn Store>, Error> {
    Ok(Arc::new(Sqlite::open(options)?))
}

/// The store for reading; `None` if there is none. Nothing is made, nothing is written.
pub(crate) fn open_to_read(options: &Options) -> Result<Option<Arc<dyn Store>>, Error> {
    Ok(Sqlite::open_to_read(options)?.map(|store| Arc::new(store) as Arc<dyn Store>))
}

/// The store on a thread of its own, for those who must not block. Made if it is not there.
pub(crate) fn open_on_thread(options: &Options) -> Result<Arc<dyn Store>, Error> {
    Ok(Arc::new(Threaded::open(options)?))
}

/// A store that is opened when it is first needed and stays open, for servers.
pub(crate) struct StayingStore {
    options: Options,
    opened: Mutex<Option<Arc<Sqlite>>>,
}

impl StayingStore {
    /// One that is not open yet.
    pub(crate) fn new(options: Options) -> Self {
        Self { options, opened: Mutex::default() }
    }

    /// Where it is, and how it is kept.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The store, made if it is not there. `is_opened` is called if it is opened now.
    pub(crate) fn store(&self, is_opened: impl FnOnce()) -> Result<Arc<dyn Store>, Error> {
        self.open(self.lock(), is_opened)
    }

    /// The same; `None` if there is no database and none is open.
    pub(crate) fn store_if_there(
        &self,
        is_opened: impl FnOnce(),
    ) -> Result<Option<Arc<dyn Store>>, Error> {
        let opened = self.lock();
        if opened.is_none() && !self.options.path.exists() {
            return Ok(None);
        }
        // A database that is there may as well be opened to write: it will be.
        self.open(opened, is_opened).map(Some)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Sqlite>>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        // One that could only be read may be writable by now.
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
