//! All agents for another front end: a thread that reads, and sends the rows whenever they may have
//! changed. It draws nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pollster::block_on;
use punchlist_agent::session::listing;
use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_engine::watch::archive::Archive;
use punchlist_engine::watch::{self, StoreSource, Viewer, Watcher};
use punchlist_model::agents::Row;
use punchlist_model::call::{News, Question};
use punchlist_model::store::Following;

use super::wake::{self, Wake};
use super::{LONGEST_PAUSE, asks_its_user, own_text};

/// How often the rows are sent although nothing has changed, because they show how long ago something
/// was.
const TICK: Duration = Duration::from_secs(1);

/// What is watched for another front end.
pub struct AgentSource {
    /// The sessions to watch.
    pub options: watch::Options,
    /// The file of the store, if known.
    pub file: Option<std::path::PathBuf>,
    /// Opens the store for reading, if it exists.
    pub open: Box<dyn Fn() -> watch::Opened + Send>,
    /// Suggestions for agents without a list: the agent, and the command that sets it up.
    pub offers: Vec<(String, String)>,
    /// The rows that a person has put away.
    pub archive: Option<Archive>,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentsSeen {
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
    /// The questions that wait in the store.
    pub(crate) questions: Vec<Question>,
    /// What sessions of our own agent said last that ask their user something, by the keys of their rows.
    pub(crate) asking: BTreeMap<String, String>,
}

/// A thread that reads. It ends when this is dropped.
pub(crate) struct AgentFeed {
    tell: Sender<Wake>,
    is_over: Arc<AtomicBool>,
    opened: Arc<Mutex<Option<String>>>,
}

impl AgentFeed {
    /// Starts the thread. `seen` is called with what was read, or why nothing can be read any more.
    pub(crate) fn start(
        source: AgentSource,
        around: Arc<dyn Around>,
        seen: impl Fn(Result<AgentsSeen, Fail>) + Send + 'static,
    ) -> Self {
        let (tell, woken) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let opened = Arc::new(Mutex::new(None));
        let feed = Self { tell: tell.clone(), is_over: is_over.clone(), opened: opened.clone() };
        thread::spawn(move || {
            let files = tell.clone();
            let wake = move || drop(files.send(Wake::Files));
            let AgentSource { options, file, open, .. } = source;
            let store = StoreSource { file, open, facts: listing::facts };
            let watcher = Watcher::new(options, around, Some(store), None, wake);
            let mut reader = Reader { watcher, follower: Follower(tell), opened };
            while !is_over.load(Ordering::Relaxed) {
                let read = reader.read();
                let is_broken = read.is_err();
                seen(read);
                if is_broken {
                    return;
                }
                reader.wait(&woken);
            }
        });
        feed
    }

    /// Says which row is open, so that its last text is read.
    pub(crate) fn open(&self, row: Option<&str>) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.as_deref() != row {
            *opened = row.map(str::to_owned);
            self.look();
        }
    }

    /// Reads again at once.
    pub(crate) fn look(&self) {
        self.tell.send(Wake::Store).ok();
    }
}

impl Drop for AgentFeed {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.look();
    }
}

struct Reader {
    watcher: Watcher<'static>,
    follower: Follower,
    opened: Arc<Mutex<Option<String>>>,
}

impl Reader {
    fn read(&mut self) -> Result<AgentsSeen, Fail> {
        let mut rows = block_on(self.watcher.look(&mut self.follower))?;
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let row = rows.iter_mut().find(|it| Some(&it.key) == opened.as_ref() && it.turns > 0);
        if let Some((row, store)) = row.zip(self.watcher.store()) {
            row.said = block_on(own_text::last(&**store, &row.key)).unwrap_or_default();
        }
        let mut asking = BTreeMap::new();
        if let Some(store) = self.watcher.store() {
            for row in rows.iter().filter(|it| asks_its_user(it)) {
                let said = block_on(own_text::last(&**store, &row.key)).unwrap_or_default();
                asking.insert(row.key.clone(), said);
            }
        }
        let questions = self.watcher.questions().cloned().collect();
        Ok(AgentsSeen { rows, notes: self.watcher.notes(), questions, asking })
    }

    /// Waits for a wake-up, and for those that come with it.
    fn wait(&mut self, woken: &Receiver<Wake>) {
        let patience = self.watcher.patience().clamp(Duration::from_millis(1), TICK);
        match woken.recv_timeout(patience) {
            Ok(wake) => self.take(wake),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        thread::sleep(LONGEST_PAUSE);
        while let Ok(wake) = woken.try_recv() {
            self.take(wake);
        }
    }

    fn take(&mut self, wake: Wake) {
        match wake {
            Wake::Plan(id) => {
                if let Err(why) = block_on(self.watcher.plan_changed(id, &mut self.follower)) {
                    self.watcher.store_lost(&why.message);
                }
            }
            Wake::NoPlans(why) => self.watcher.store_lost(&why),
            Wake::Store => self.watcher.store_changed(),
            Wake::Files | Wake::Key(_) | Wake::Signal(_) | Wake::Bytes(_) | Wake::End(_) => {}
        }
    }
}

/// Follows the store.
struct Follower(Sender<Wake>);

impl Viewer for Follower {
    fn lines(&mut self, _: Vec<u8>) -> Result<(), Fail> {
        Ok(())
    }

    fn progress(&mut self, _: u64, _: u64) {}

    fn follow(&mut self, changes: Following) {
        wake::plans(changes, self.0.clone());
    }

    fn hear(&mut self, news: News) {
        wake::news(news, self.0.clone());
    }
}
