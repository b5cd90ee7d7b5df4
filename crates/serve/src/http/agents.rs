//! The agents of this machine, as `punchlist watch` sees them.
//!
//! A thread runs the engine's watcher and publishes its rows whenever they have changed. What a person wants
//! to know at once it tells the surrounding program.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use futures_util::StreamExt;
use punchlist_agent::session::listing;
use punchlist_engine::around::Around;
use punchlist_engine::fail::Fail;
use punchlist_engine::watch::{Options, StoreSource, Viewer, Watcher};
use punchlist_formats::text::last_sentence;
use punchlist_formats::text::secret::mask;
use punchlist_model::PlanId;
use punchlist_model::agents::{Row, State};
use punchlist_model::call::News;
use punchlist_model::session::Store;
use punchlist_model::store::Following;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::World;

/// The shortest time between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a request waits for the first look after the start.
const FIRST: Duration = Duration::from_secs(2);

/// What is seen of the agents.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    /// One row per agent; those that wait for a person come first.
    pub rows: Arc<Vec<Row>>,
    /// What cannot be seen.
    pub notes: Arc<Vec<String>>,
    /// How often the rows have changed; 0 before the first look.
    pub version: u64,
}

/// The agents of this machine.
pub struct Agents {
    seen: watch::Receiver<Seen>,
}

/// Why the thread looks again.
enum Wake {
    Files,
    Plan(PlanId),
    Store,
    Lost(String),
}

impl Agents {
    /// Begins to watch, on a thread of its own.
    pub fn start(
        options: Options,
        store: Arc<dyn Store>,
        around: Arc<dyn Around>,
        world: Arc<dyn World>,
    ) -> Self {
        let (tell_seen, seen) = watch::channel(Seen::default());
        let handle = Handle::current();
        let started = thread::Builder::new().name("punchlist-agents".to_owned()).spawn(move || {
            let looked = look(&handle, options, &store, around, &tell_seen, &*world);
            if let Err(fail) = looked {
                let note = format!("agents are no longer watched: {fail}");
                tell_seen.send_modify(|it| it.notes = Arc::new(vec![note]));
            }
        });
        // Without the thread there are no rows; the rest of the server works.
        drop(started);
        Self { seen }
    }

    /// What was last seen. Waits for the first look, for a short time.
    pub async fn seen(&self) -> Seen {
        let mut seen = self.seen.clone();
        drop(tokio::time::timeout(FIRST, seen.wait_for(|it| it.version > 0)).await);
        seen.borrow().clone()
    }

    /// What is seen from now on.
    pub fn follow(&self) -> watch::Receiver<Seen> {
        self.seen.clone()
    }
}

/// Looks whenever something has changed, until nobody wants to know.
fn look(
    handle: &Handle,
    options: Options,
    store: &Arc<dyn Store>,
    around: Arc<dyn Around>,
    seen: &watch::Sender<Seen>,
    world: &dyn World,
) -> Result<(), Fail> {
    let (tell, woken) = channel();
    let open = Box::new(move || Ok(Some(Arc::clone(store))));
    let source = StoreSource { file: None, open, facts: listing::facts };
    let wake = tell.clone();
    let wake = move || drop(wake.send(Wake::Files));
    let mut watcher = Watcher::new(options, around, Some(source), None, wake);
    let mut viewer = Ears { handle: handle.clone(), tell };
    while !seen.is_closed() {
        let mut rows = handle.block_on(watcher.look(&mut viewer))?;
        for row in &mut rows {
            handle.block_on(show_words(&**store, row));
        }
        for notice in handle.block_on(watcher.notices(&rows, world.hooks_tell())) {
            world.tell(&notice);
        }
        let notes = watcher.notes();
        seen.send_if_modified(|it| {
            let is_new = it.version == 0 || *it.rows != rows || *it.notes != notes;
            if is_new {
                let version = it.version.wrapping_add(1);
                *it = Seen { rows: Arc::new(rows), notes: Arc::new(notes), version };
            }
            is_new
        });
        wait(handle, &mut watcher, &mut viewer, &woken)?;
    }
    Ok(())
}

/// What a session of our own agent last said. If it ended by asking, that is its question: the watcher knows
/// only that there is one.
async fn show_words(store: &dyn Store, row: &mut Row) {
    let is_own = row.agent == "punchlist" && row.sub_agent.is_none();
    if !is_own || row.question.is_some() || !row.said.is_empty() {
        return;
    }
    let Some(id) = row.key.split('/').nth(1).and_then(|it| it.parse().ok()) else { return };
    if let Some(text) = listing::last_text(store, id).await {
        if let State::Asks(what) = &mut row.state {
            *what = mask(last_sentence(&text)).into_owned();
        }
        row.said = mask(&text).into_owned();
    }
}

/// Waits for a reason to look, and takes all that came.
fn wait(
    handle: &Handle,
    watcher: &mut Watcher<'_>,
    viewer: &mut Ears,
    woken: &Receiver<Wake>,
) -> Result<(), Fail> {
    thread::sleep(PAUSE);
    let mut next = woken.recv_timeout(watcher.patience()).ok();
    while let Some(wake) = next {
        match wake {
            Wake::Files => {}
            Wake::Plan(plan) => handle.block_on(watcher.plan_changed(plan, viewer))?,
            Wake::Store => watcher.store_changed(),
            Wake::Lost(why) => watcher.store_lost(&why),
        }
        next = woken.try_recv().ok();
    }
    Ok(())
}

/// The front end of the watcher: it only listens.
struct Ears {
    handle: Handle,
    tell: Sender<Wake>,
}

impl Viewer for Ears {
    fn lines(&mut self, _: Vec<u8>) -> Result<(), Fail> {
        Ok(())
    }

    fn progress(&mut self, _: u64, _: u64) {}

    fn follow(&mut self, mut changes: Following) {
        let tell = self.tell.clone();
        self.handle.spawn(async move {
            while let Some(change) = changes.next().await {
                let wake = match change {
                    Ok((_, entry)) => Wake::Plan(entry.plan),
                    Err(why) => Wake::Lost(why.to_string()),
                };
                if tell.send(wake).is_err() {
                    return;
                }
            }
        });
    }

    fn hear(&mut self, mut news: News) {
        let tell = self.tell.clone();
        self.handle.spawn(async move {
            while let Some(Ok(())) = news.next().await {
                if tell.send(Wake::Store).is_err() {
                    return;
                }
            }
        });
    }
}
