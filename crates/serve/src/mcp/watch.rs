//! Change notifications for clients that subscribed to a plan or listed the plans.
//!
//! There are two ways to subscribe: an older one (`resources/subscribe`, then notifications on the
//! connection) and a newer one (`subscriptions/listen`, a request that stays open). Both follow the
//! store, so it does not matter who made a change. Changes that come together are reported
//! together.

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

/// The delay before a retry, if the store does not exist yet or failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Maximum of changes that are reported together.
const MOST_TOGETHER: usize = 1000;

/// Maximum of URIs that one connection may subscribe to.
const MOST: usize = 1000;

/// The subscriptions of a connection, in the older way.
#[derive(Default)]
pub(super) struct Listeners {
    state: Mutex<State>,
}

#[derive(Clone, Default)]
struct State {
    wanted: Wanted,
    running: bool,
}

/// What a client subscribed to.
#[derive(Clone, Default)]
struct Wanted {
    /// Changes of these plans.
    uris: BTreeSet<String>,
    /// Changes of the list of plans.
    list: bool,
}

impl Listeners {
    fn state(&self) -> MutexGuard<'_, State> {
        // No holder panics with a half-written state, so the state behind a poisoned lock is valid.
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

    /// Reports that a plan changed. Returns whether the client still listens.
    async fn updated(&self, uri: String) -> bool {
        match self {
            Self::Connection(peer, _) => {
                let params = ResourceUpdatedNotificationParam::new(uri);
                peer.notify_resource_updated(params).await.is_ok()
            }
            Self::Request(sink, _) => sink.notify_resource_updated(uri).await.is_ok(),
        }
    }

    /// Reports that the list of plans changed. Returns whether the client still listens.
    async fn list_changed(&self) -> bool {
        match self {
            Self::Connection(peer, _) => peer.notify_resource_list_changed().await.is_ok(),
            Self::Request(sink, _) => sink.notify_resource_list_changed().await.is_ok(),
        }
    }
}

impl Server {
    /// Whether a client may subscribe to this URI.
    pub(super) fn is_resource(uri: &str) -> bool {
        Address::parse(uri).is_some()
    }

    /// Adds a subscription of the older way. When this returns, no later change is missed.
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

    /// Subscribes a client that has listed the plans to changes of the list.
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
        // If following cannot begin yet, the request is answered all the same.
        has_begun.await.ok();
    }

    /// The part of a newer subscription that is served.
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

    /// Follows the store until the client no longer listens or is gone.
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
                let entries = store.follow(from, Scope::All).await?;
                Ok(Some((store, entries)))
            });
            match opened.await {
                Ok(Some((store, entries))) => {
                    drop(begun.take());
                    if !self.report(&store, entries, sink, meta, &mut cursor).await {
                        return;
                    }
                }
                // Everything in a store that is created later is new.
                Ok(None) => cursor = Cursor::Start,
                Err(_) => {}
            }
            drop(begun.take());
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    /// Reports changes as they come. Returns whether the client still listens when the stream ends.
    async fn report(
        &self,
        store: &Arc<dyn Store>,
        mut entries: Following,
        sink: &Sink,
        meta: &RequestMetaObject,
        cursor: &mut Cursor,
    ) -> bool {
        let mut reported: BTreeMap<PlanId, Revision> = BTreeMap::new();
        while let Some(next) = entries.next().await {
            let Ok(first) = next else { return true };
            let mut batch = vec![first];
            while batch.len() < MOST_TOGETHER
                && let Some(Some(Ok(more))) = entries.next().now_or_never()
            {
                batch.push(more);
            }
            if let Some((last, _)) = batch.last() {
                cursor.clone_from(last);
            }
            // Entries may come twice.
            let news = batch.into_iter().map(|(_, entry)| entry).filter(|entry| {
                let newest = reported.entry(entry.plan).or_default();
                let is_news = *newest < entry.revision;
                *newest = entry.revision.max(*newest);
                is_news
            });
            let news: Vec<Entry> = news.collect();
            if !self.report_changes(store, news, sink, meta).await {
                return false;
            }
        }
        true
    }

    /// Reports these changes to the client if it subscribed to them. Returns whether it still
    /// listens.
    async fn report_changes(
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

    /// The part of the subscription that these changes concern.
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

/// Whether a change alters the list of plans: a plan is new, or has another name or title.
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
