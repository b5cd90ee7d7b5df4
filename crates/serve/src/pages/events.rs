//! The stream that tells pages to load themselves again: one event after each beginning, then one
//! whenever a plan, a question, a session or an agent has changed.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use punchlist_model::agents::Row;
use tokio::sync::watch;

use crate::http::Served;
use crate::http::access::Caller;
use crate::http::agents::Seen;
use crate::http::hub::Subscription;
use crate::http::problem::Problem;

/// How often a comment keeps an idle stream open.
const ALIVE: Duration = Duration::from_secs(15);
/// The shortest time between two events.
const PAUSE: Duration = Duration::from_millis(100);

/// What a stream waits for.
struct Changes {
    store: Subscription,
    agents: Option<OwnAgents>,
    has_begun: bool,
}

/// The agents that the caller sees.
struct OwnAgents {
    seen: watch::Receiver<Seen>,
    /// The only project that the caller sees, and its rows when they last changed.
    only: Option<(String, Vec<Row>)>,
}

impl OwnAgents {
    fn new(mut seen: watch::Receiver<Seen>, project: Option<&str>) -> Self {
        let rows = seen.borrow_and_update().rows.clone();
        let only = project.map(|it| (it.to_owned(), own(&rows, it)));
        Self { seen, only }
    }

    /// Waits until something has changed that the caller sees. Never if they are not watched any more.
    async fn changed(&mut self) {
        while self.seen.changed().await.is_ok() {
            let Some((project, rows)) = &mut self.only else { return };
            let now = own(&self.seen.borrow_and_update().rows, project);
            if *rows != now {
                *rows = now;
                return;
            }
        }
        std::future::pending::<()>().await;
    }
}

fn own(rows: &[Row], project: &str) -> Vec<Row> {
    rows.iter().filter(|it| it.project == project).cloned().collect()
}

impl Changes {
    /// Waits for a change. `None` if the stream ends.
    async fn next(&mut self) -> Option<&'static str> {
        const CHANGED: &str = "event: changed\ndata: {}\n\n";
        if !std::mem::replace(&mut self.has_begun, true) {
            // The first news of the store comes at once.
            self.store.next().await?;
            return Some(CHANGED);
        }
        let agents = async {
            match &mut self.agents {
                Some(agents) => agents.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            news = self.store.next() => { news?; }
            () = agents => {}
            () = tokio::time::sleep(ALIVE) => return Some(":\n\n"),
        }
        // Many changes in a row are one reason to load a page again.
        let end = tokio::time::Instant::now() + PAUSE;
        while let Ok(news) = tokio::time::timeout_at(end, self.store.next()).await {
            news?;
        }
        Some(CHANGED)
    }
}

/// The stream.
pub(super) async fn events(
    State(served): State<Served>,
    caller: Caller,
) -> Result<Response, Problem> {
    let store = served.hub().subscribe(&caller, None).await?;
    let project = caller.project.as_deref();
    let agents = served.agents().map(|it| OwnAgents::new(it.follow(), project));
    let changes = Changes { store, agents, has_begun: false };
    let frames = stream::unfold(changes, |mut changes| async move {
        let frame = changes.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from_static(frame.as_bytes())), changes))
    });
    let mut response = Body::from_stream(frames).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;

    use super::*;

    fn row(project: &str, said: &str) -> Row {
        Row {
            key: format!("claude/{project}/"),
            project: project.to_owned(),
            said: said.to_owned(),
            ..Row::default()
        }
    }

    /// Whether somebody who sees `project` is told when the rows become these.
    fn is_told(project: Option<&str>, then: Vec<Row>) -> bool {
        let first = Arc::new(vec![row("/p", "a"), row("/q", "a")]);
        let (sender, receiver) =
            watch::channel(Seen { rows: first, version: 1, ..Seen::default() });
        let mut agents = OwnAgents::new(receiver, project);
        assert!(agents.changed().now_or_never().is_none(), "nothing has changed yet");
        sender.send_modify(|it| it.rows = Arc::new(then));
        agents.changed().now_or_never().is_some()
    }

    #[test]
    fn who_sees_one_project_is_not_told_of_agents_in_another() {
        let other = || vec![row("/p", "a"), row("/q", "b")];
        let own = || vec![row("/p", "b"), row("/q", "a")];
        assert!(is_told(None, other()) && is_told(None, own()));
        assert!(!is_told(Some("/p"), other()));
        assert!(!is_told(Some("/p"), vec![row("/p", "a")]));
        assert!(is_told(Some("/p"), own()));
        assert!(is_told(Some("/p"), vec![row("/q", "a")]));
    }
}
