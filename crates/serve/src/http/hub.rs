//! What happens in the store, for everybody who follows it over HTTP.
//!
//! One task per server follows the journal and publishes each entry once, however many streams are open. A
//! stream that begins at an older cursor, or that was too slow, reads what it lacks from the store. So no
//! entry is missed. After a reconnection an entry may come twice; plan and revision identify it.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use futures_util::StreamExt;
use punchlist_engine::around::Around;
use punchlist_formats::view::json;
use punchlist_model::call::{QuestionFilter, RunFilter};
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::access::GrantKind;
use punchlist_model::store::turns::ConversationFilter;
use punchlist_model::store::{Cursor, Entry, Error, Scope};
use punchlist_model::{GrantId, PlanId, Revision};
use tokio::sync::{broadcast, watch};

use super::access::Caller;
use super::problem::Problem;

/// How many entries a slow stream may be behind before it reads from the store.
const BEHIND: usize = 1024;

/// How many entries are read from the store at a time.
const PAGE: u32 = 256;

/// How many streams may be open at once.
pub const MOST_STREAMS: usize = 400;

/// How often at most streams are told to read again what is not in the journal, and how often grants are
/// checked while something happens.
const PAUSE: Duration = Duration::from_millis(200);

/// How often grants are checked when nothing happens: they expire.
const CHECK: Duration = Duration::from_secs(30);

/// How long to wait before the store is followed again after an error.
const AGAIN: Duration = Duration::from_secs(1);

/// A journal entry as it is published.
#[derive(Clone, PartialEq, Debug)]
pub struct Published {
    /// The cursor after it, for `Last-Event-ID`.
    pub cursor: String,
    /// The project of its plan.
    pub project: String,
    /// The entry.
    pub entry: Entry,
    /// The entry as JSON, on one line.
    pub json: String,
}

impl Published {
    fn new(cursor: &Cursor, project: String, entry: Entry) -> Self {
        let json = json::entry(&entry).to_string();
        Self { cursor: text(cursor), project, entry, json }
    }
}

/// What a stream gets.
#[derive(Clone, PartialEq, Debug)]
pub enum News {
    /// A plan was changed.
    Entry(Arc<Published>),
    /// Something else may have changed: read again what is shown. It comes once after each beginning, then
    /// with the cursor at which the stream stands.
    Reload(Option<String>),
}

/// What the task sends to all streams.
#[derive(Clone)]
enum Sent {
    Entry(Arc<Published>),
    Changed,
}

/// The publisher. Clones are the same one.
#[derive(Clone)]
pub struct Hub {
    store: Arc<dyn Store>,
    sent: broadcast::Sender<Sent>,
    /// The grants that are no longer in force.
    over: watch::Sender<BTreeSet<GrantId>>,
    /// Becomes true when the server ends.
    ending: watch::Receiver<bool>,
    open: Arc<AtomicUsize>,
}

impl Hub {
    /// Begins to follow the store. Ends with `ending`.
    pub async fn start(
        store: Arc<dyn Store>,
        around: Arc<dyn Around>,
        ending: watch::Receiver<bool>,
    ) -> Result<Self, Error> {
        let from = store.journal_since(Cursor::Now, 0).await?.end;
        let (sent, over) = (broadcast::Sender::new(BEHIND), watch::Sender::default());
        let hub = Self { store, sent, over, ending, open: Arc::default() };
        hub.check_grants(&*around).await?;
        let task = hub.clone();
        tokio::spawn(async move {
            let mut ending = task.ending.clone();
            tokio::select! {
                () = task.run(from, &*around) => {}
                _ = ending.wait_for(|it| *it) => {}
            }
        });
        Ok(hub)
    }

    /// Waits until a grant is no longer in force, or the server ends.
    pub async fn wait_for_end(&self, grant: GrantId) {
        let (mut over, mut ending) = (self.over.subscribe(), self.ending.clone());
        tokio::select! {
            _ = over.wait_for(|it| it.contains(&grant)) => {}
            _ = ending.wait_for(|it| *it) => {}
        }
    }

    /// How many streams are open.
    pub fn streams(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Follows the store, again and again after errors, from the last cursor.
    async fn run(&self, mut cursor: Cursor, around: &dyn Around) {
        loop {
            // The error is no secret, but nobody reads it here: `/readyz` reports the same.
            drop(self.follow(&mut cursor, around).await);
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn follow(&self, cursor: &mut Cursor, around: &dyn Around) -> Result<(), Error> {
        let mut entries = self.store.follow(cursor.clone(), Scope::All).await?;
        let mut news = self.store.news().await?;
        let mut has_news = true;
        let mut pause = tokio::time::interval(PAUSE);
        pause.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut check = tokio::time::interval(CHECK);
        loop {
            tokio::select! {
                entry = entries.next() => {
                    let Some(entry) = entry else { return Ok(()) };
                    let (after, entry) = entry?;
                    self.publish(&after, entry).await?;
                    *cursor = after;
                }
                woken = news.next() => {
                    woken.unwrap_or(Ok(()))?;
                    has_news = true;
                }
                _ = pause.tick(), if has_news => {
                    has_news = false;
                    self.check_grants(around).await?;
                    // Nobody may be listening.
                    drop(self.sent.send(Sent::Changed));
                }
                _ = check.tick() => self.check_grants(around).await?,
            }
        }
    }

    async fn publish(&self, cursor: &Cursor, entry: Entry) -> Result<(), Error> {
        if self.sent.receiver_count() == 0 {
            return Ok(());
        }
        let Some(project) = project(&*self.store, entry.plan).await? else { return Ok(()) };
        let published = Published::new(cursor, project, entry);
        drop(self.sent.send(Sent::Entry(Arc::new(published))));
        Ok(())
    }

    /// Reads which grants are over, so that their streams end. A grant that is not known here is a new one:
    /// whoever begins a stream was checked just before.
    async fn check_grants(&self, around: &dyn Around) -> Result<(), Error> {
        let now = around.now();
        let mut over = BTreeSet::new();
        for kind in [GrantKind::Token, GrantKind::Browser] {
            let grants = self.store.grants(kind).await?;
            over.extend(grants.into_iter().filter(|it| !it.is_in_force(now)).map(|it| it.id));
        }
        self.over.send_if_modified(|known| {
            let is_new = *known != over;
            *known = over;
            is_new
        });
        Ok(())
    }

    /// Begins a stream: after the event with this id, or now.
    pub async fn subscribe(
        &self,
        caller: &Caller,
        after: Option<&str>,
    ) -> Result<Subscription, Problem> {
        if self.open.fetch_add(1, Ordering::Relaxed) >= MOST_STREAMS {
            self.open.fetch_sub(1, Ordering::Relaxed);
            let status = StatusCode::SERVICE_UNAVAILABLE;
            return Err(Problem::new(status, "too_many", "too many streams are open")
                .hint("close one, or start another server on the same database."));
        }
        let place = Place(Arc::clone(&self.open));
        // From here on, every entry that is written comes through the channel.
        let sent = self.sent.subscribe();
        let over = self.over.subscribe();
        let (cursor, is_behind) = match after {
            Some(after) => (Cursor::After(after.to_owned()), true),
            None => (self.store.journal_since(Cursor::Now, 0).await?.end, false),
        };
        Ok(Subscription {
            store: Arc::clone(&self.store),
            grant: caller.grant,
            project: caller.project.clone(),
            cursor,
            is_behind,
            has_begun: false,
            read: Vec::new().into_iter(),
            seen: HashMap::new(),
            digest: None,
            sent,
            over,
            ending: self.ending.clone(),
            _place: place,
        })
    }
}

/// One of the places for streams.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One stream of news.
pub struct Subscription {
    store: Arc<dyn Store>,
    grant: GrantId,
    /// The only project that the caller sees.
    project: Option<String>,
    /// The last entry that was given or passed over.
    cursor: Cursor,
    /// Whether entries must be read from the store.
    is_behind: bool,
    has_begun: bool,
    /// Entries that were read from the store.
    read: std::vec::IntoIter<Published>,
    /// The last revision of each plan that was given.
    seen: HashMap<PlanId, Revision>,
    /// What the caller's project had besides its journal, when it was last told to read again.
    digest: Option<u64>,
    sent: broadcast::Receiver<Sent>,
    over: watch::Receiver<BTreeSet<GrantId>>,
    ending: watch::Receiver<bool>,
    _place: Place,
}

impl Subscription {
    /// The next piece of news; `None` if the stream ends: the grant is no longer in force, the server ends,
    /// or the store cannot be read.
    pub async fn next(&mut self) -> Option<News> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.digest = self.digest().await.ok()?;
            return Some(News::Reload(Some(text(&self.cursor))));
        }
        loop {
            if *self.ending.borrow() || self.over.borrow().contains(&self.grant) {
                return None;
            }
            if let Some(published) = self.read.next() {
                let published = Arc::new(published);
                if self.is_new(&published) {
                    return Some(News::Entry(published));
                }
                continue;
            }
            if self.is_behind {
                self.read_on().await.ok()?;
                continue;
            }
            tokio::select! {
                sent = self.sent.recv() => match sent {
                    Ok(Sent::Entry(published)) => {
                        self.cursor = Cursor::After(published.cursor.clone());
                        if self.is_new(&published) {
                            return Some(News::Entry(published));
                        }
                    }
                    Ok(Sent::Changed) => {
                        if self.has_changed().await.ok()? {
                            return Some(News::Reload(None));
                        }
                    }
                    Err(broadcast::error::RecvError::Lagged(_)) => self.is_behind = true,
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
                // Only a reason to look again.
                changed = self.over.changed() => changed.ok()?,
                changed = self.ending.changed() => changed.ok()?,
            }
        }
    }

    /// Whether the caller sees the entry and has not got it yet. Marks it as given.
    fn is_new(&mut self, published: &Published) -> bool {
        let Entry { plan, revision, .. } = published.entry;
        let is_seen = self.seen.get(&plan).is_some_and(|it| *it >= revision);
        let is_visible = self.project.as_ref().is_none_or(|it| *it == published.project);
        if !is_seen && is_visible {
            self.seen.insert(plan, revision);
        }
        !is_seen && is_visible
    }

    /// Reads the next entries from the store.
    async fn read_on(&mut self) -> Result<(), Error> {
        let since = self.store.journal_since(self.cursor.clone(), PAGE).await?;
        // A store may repeat entries while a transaction that is older than the cursor runs.
        let is_last = since.entries.is_empty() || since.end == self.cursor;
        self.is_behind = !is_last;
        self.cursor = since.end;
        let mut read = Vec::with_capacity(since.entries.len());
        let mut projects: HashMap<PlanId, Option<String>> = HashMap::new();
        for (cursor, entry) in since.entries {
            let project = match projects.get(&entry.plan) {
                Some(known) => known.clone(),
                None => {
                    let found = project(&*self.store, entry.plan).await?;
                    projects.entry(entry.plan).or_insert(found).clone()
                }
            };
            if let Some(project) = project {
                read.push(Published::new(&cursor, project, entry));
            }
        }
        self.read = read.into_iter();
        Ok(())
    }

    /// Whether what is not in the journal may have changed. Somebody who sees one project is not told of
    /// others.
    async fn has_changed(&mut self) -> Result<bool, Error> {
        if self.project.is_none() {
            return Ok(true);
        }
        let digest = self.digest().await?;
        Ok(std::mem::replace(&mut self.digest, digest) != digest)
    }

    /// A digest of what one project has besides its journal.
    async fn digest(&self) -> Result<Option<u64>, Error> {
        let Some(project) = &self.project else { return Ok(None) };
        let mut hasher = DefaultHasher::new();
        let filter = QuestionFilter {
            project: Some(project.clone()),
            waiting: true,
            ..QuestionFilter::default()
        };
        for question in self.store.questions(filter).await? {
            question.asked.id.hash(&mut hasher);
        }
        let filter =
            RunFilter { project: Some(project.clone()), most: Some(50), ..RunFilter::default() };
        for run in self.store.runs(filter).await? {
            (run.id, run.ended_at).hash(&mut hasher);
        }
        let filter = ConversationFilter {
            project: Some(project.clone()),
            most: 50,
            ..ConversationFilter::default()
        };
        for it in self.store.conversations(filter).await? {
            (it.id, it.changed_at, it.queue_paused).hash(&mut hasher);
            for message in self.store.messages(it.id.to_string()).await? {
                message.id.hash(&mut hasher);
            }
        }
        Ok(Some(hasher.finish()))
    }
}

/// The project of a plan; `None` if the plan is gone.
async fn project(store: &dyn Store, plan: PlanId) -> Result<Option<String>, Error> {
    match store.read(plan, Needs::header()).await {
        Ok(plan) => Ok(Some(plan.project)),
        Err(Error::NoPlan(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A cursor as the id of an event.
fn text(cursor: &Cursor) -> String {
    match cursor {
        Cursor::After(text) => text.clone(),
        Cursor::Start | Cursor::Now => String::new(),
    }
}
