//! Change notifications: whoever subscribed to a plan, or listed them, hears when one changes.
//!
//! Two ways lead here, an older one (`resources/subscribe`, then notifications on the connection) and
//! a newer one (`subscriptions/listen`, a request that stays open). Both follow the store, so it does
//! not matter who made the change. Changes that come together are told together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use punchlist_model::event::PlanDelta;
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::{Cursor, Entry, Error, Following, PlanStore, Scope};
use punchlist_model::{Event, PlanId, Revision};
use rmcp::model::{RequestMetaObject, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext, SubscriptionSink};
use tokio::sync::oneshot;

use super::Server;
use super::resources::{Address, Which};

/// How long to wait for a store that is not there yet, or that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// Most changes that are told together.
const TOGETHER: usize = 1000;

/// Most addresses that one connection may subscribe to.
const MOST: usize = 1000;

/// Who listens on a connection, in the older way.
#[derive(Default)]
pub(super) struct Listeners {
    state: Mutex<State>,
}

#[derive(Clone, Default)]
struct State {
    wanted: Wanted,
    running: bool,
}

/// What somebody wants to hear of.
#[derive(Clone, Default)]
struct Wanted {
    /// Changes of these.
    uris: BTreeSet<String>,
    /// That there are others.
    list: bool,
}

impl Listeners {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each holder leaves it whole at every point, so a poisoned lock is as good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where notifications go.
enum Sink {
    Connection(Peer<RoleServer>, Arc<Listeners>),
    Request(SubscriptionSink, Wanted),
}

impl Sink {
    fn wanted(&self) -> Wanted {
        match self {
            Self::Connection(_, listeners) => listeners.state().wanted.clone(),
            Self::Request(_, wanted) => wanted.clone(),
        }
    }

    /// Says that a plan changed; whether anybody still hears it.
    async fn updated(&self, uri: String) -> bool {
        match self {
            Self::Connection(peer, _) => {
                let params = ResourceUpdatedNotificationParam::new(uri);
                peer.notify_resource_updated(params).await.is_ok()
            }
            Self::Request(sink, _) => sink.notify_resource_updated(uri).await.is_ok(),
        }
    }

    /// Says that there are other plans than before.
    async fn list_changed(&self) -> bool {
        match self {
            Self::Connection(peer, _) => peer.notify_resource_list_changed().await.is_ok(),
            Self::Request(sink, _) => sink.notify_resource_list_changed().await.is_ok(),
        }
    }
}

impl Server {
    /// Whether a client may subscribe to this.
    pub(super) fn is_resource(uri: &str) -> bool {
        Address::parse(uri).is_some()
    }

    /// Notes a subscription of the older way. When it returns, nothing that happens is missed.
    pub(super) async fn subscribe_to(&self, uri: String, peer: Peer<RoleServer>) -> bool {
        {
            let mut state = self.listeners.state();
            if state.wanted.uris.len() >= MOST {
                return false;
            }
            state.wanted.uris.insert(uri);
        }
        self.listen_on(peer).await;
        true
    }

    pub(super) fn unsubscribe_from(&self, uri: &str) {
        self.listeners.state().wanted.uris.remove(uri);
    }

    /// Whoever has seen the list hears when it is another.
    pub(super) async fn list_was_shown(&self, peer: Peer<RoleServer>) {
        self.listeners.state().wanted.list = true;
        self.listen_on(peer).await;
    }

    async fn listen_on(&self, peer: Peer<RoleServer>) {
        {
            let mut state = self.listeners.state();
            if state.running {
                return;
            }
            state.running = true;
        }
        let (begun, has_begun) = oneshot::channel();
        let server = self.clone();
        let sink = Sink::Connection(peer, Arc::clone(&self.listeners));
        tokio::spawn(async move {
            server.follow(&sink, RequestMetaObject::new(), begun).await;
            server.listeners.state().running = false;
        });
        // Where it cannot begin yet, it has to do without.
        has_begun.await.ok();
    }

    /// What of a newer subscription is heard.
    pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = requested.resources_list_changed;
        let uris = requested.resource_subscriptions.iter().flatten();
        let uris: Vec<String> =
            uris.filter(|uri| Self::is_resource(uri)).take(MOST).cloned().collect();
        accepted.resource_subscriptions = Some(uris).filter(|uris| !uris.is_empty());
        accepted
    }

    /// Serves a subscription of the newer way until it is cancelled or the client is gone.
    pub(super) async fn serve_subscription(&self, context: SubscriptionContext) {
        let accepted = context.accepted();
        let wanted = Wanted {
            uris: accepted.resource_subscriptions.iter().flatten().cloned().collect(),
            list: accepted.resources_list_changed == Some(true),
        };
        let sink = Sink::Request(context.sink().clone(), wanted);
        let meta = context.request_context().meta.clone();
        let (begun, _) = oneshot::channel();
        tokio::select! {
            () = self.follow(&sink, meta, begun) => {}
            () = context.cancelled() => {}
        }
    }

    /// Follows the store until nobody hears it any more or the client is gone.
    async fn follow(&self, sink: &Sink, meta: RequestMetaObject, begun: oneshot::Sender<()>) {
        let mut ended = self.inner.ended.subscribe();
        tokio::select! {
            () = self.follow_on(sink, &meta, begun) => {}
            _ = ended.wait_for(|ended| *ended) => {}
        }
    }

    async fn follow_on(&self, sink: &Sink, meta: &RequestMetaObject, begun: oneshot::Sender<()>) {
        let mut begun = Some(begun);
        let mut cursor = Cursor::Now;
        loop {
            let from = cursor.clone();
            let opened = self.with_store(|server| async move {
                let Some(store) = server.inner.around.store_to_read()? else { return Ok(None) };
                let coming = store.follow(from, Scope::All).await?;
                Ok(Some((store, coming)))
            });
            match opened.await {
                Ok(Some((store, coming))) => {
                    drop(begun.take());
                    if !self.tell(&store, coming, sink, meta, &mut cursor).await {
                        return;
                    }
                }
                // All that is in it when it is made will be news.
                Ok(None) => cursor = Cursor::Start,
                Err(_) => {}
            }
            drop(begun.take());
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Tells what comes; whether anybody still hears it when nothing more comes.
    async fn tell(
        &self,
        store: &Arc<dyn Store>,
        mut coming: Following,
        sink: &Sink,
        meta: &RequestMetaObject,
        cursor: &mut Cursor,
    ) -> bool {
        let mut told: BTreeMap<PlanId, Revision> = BTreeMap::new();
        while let Some(next) = coming.next().await {
            let Ok(first) = next else { return true };
            let mut batch = vec![first];
            while batch.len() < TOGETHER
                && let Some(Some(Ok(more))) = coming.next().now_or_never()
            {
                batch.push(more);
            }
            if let Some((last, _)) = batch.last() {
                cursor.clone_from(last);
            }
            // Some may come twice.
            let news = batch.into_iter().map(|(_, entry)| entry).filter(|entry| {
                let newest = told.entry(entry.plan).or_default();
                let is_news = *newest < entry.revision;
                *newest = entry.revision.max(*newest);
                is_news
            });
            let news: Vec<Entry> = news.collect();
            if !self.tell_of(store, news, sink, meta).await {
                return false;
            }
        }
        true
    }

    /// Tells of these changes whoever wants to hear of them; whether anybody still hears it.
    async fn tell_of(
        &self,
        store: &Arc<dyn Store>,
        entries: Vec<Entry>,
        sink: &Sink,
        meta: &RequestMetaObject,
    ) -> bool {
        let (store, wanted, meta) = (Arc::clone(store), sink.wanted(), meta.clone());
        let concerned = self.with_store(move |server| async move {
            Ok(server.concerned(&*store, &entries, wanted, &meta).await)
        });
        let concerned = concerned.await.unwrap_or_default();
        for uri in concerned.uris {
            if !sink.updated(uri).await {
                return false;
            }
        }
        !concerned.list || sink.list_changed().await
    }

    /// What of all that is wanted these changes concern.
    async fn concerned(
        &self,
        store: &dyn Store,
        entries: &[Entry],
        wanted: Wanted,
        meta: &RequestMetaObject,
    ) -> Wanted {
        let changed: BTreeSet<PlanId> = entries.iter().map(|entry| entry.plan).collect();
        let mut concerned = Wanted::default();
        let mut current = None;
        for uri in wanted.uris {
            let is_concerned = match Address::parse(&uri).map(|it| it.which) {
                Some(Which::Plan(id)) => {
                    changed.contains(&id) && self.is_ours(store, id).await.unwrap_or(false)
                }
                Some(Which::Current) => {
                    if current.is_none() {
                        current = Some(self.current(store, meta).await.ok().flatten());
                    }
                    current.flatten().is_some_and(|id| changed.contains(&id))
                }
                None => false,
            };
            if is_concerned {
                concerned.uris.insert(uri);
            }
        }
        if wanted.list {
            let other: BTreeSet<PlanId> =
                entries.iter().filter(|it| alters_list(it)).map(|it| it.plan).collect();
            for id in other {
                concerned.list |= self.is_ours(store, id).await.unwrap_or(false);
            }
        }
        concerned
    }

    /// Whether a plan belongs to this project.
    async fn is_ours(&self, store: &dyn PlanStore, id: PlanId) -> Result<bool, Error> {
        Ok(store.read(id, Needs::header()).await?.project == self.inner.options.project)
    }
}

/// Whether the list of plans is another after this: one is new, or is called something else.
fn alters_list(entry: &Entry) -> bool {
    let renames = |event: &Event| match event {
        Event::PlanChanged { deltas } => deltas
            .iter()
            .any(|delta| matches!(delta, PlanDelta::Name { .. } | PlanDelta::Title { .. })),
        Event::Added { .. }
        | Event::Changed { .. }
        | Event::Moved { .. }
        | Event::Superseded { .. }
        | Event::Restored { .. }
        | Event::Forgotten { .. } => false,
    };
    entry.revision == Revision(1) || entry.events.iter().any(renames)
}
