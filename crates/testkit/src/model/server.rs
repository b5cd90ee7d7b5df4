//! Serves scripts on a loopback port and keeps the requests. HTTP is in `routes`.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::routes::routes;
use super::script::{Message, OVER, Script, Turn};
use super::{Api, Request, openai};

/// The scripts of a model, before it is served.
#[derive(Debug)]
pub struct Model {
    scripts: Vec<(String, Script)>,
    aside: String,
    aside_turn: Option<Turn>,
    /// Whether requests without tools follow the scripts too.
    has_no_asides: bool,
}

impl Model {
    /// A model that follows one script.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self {
            scripts: vec![(String::new(), script)],
            aside: "ok".to_owned(),
            aside_turn: None,
            has_no_asides: false,
        }
    }

    /// Uses another script in conversations that the user opened with this text, such as those of
    /// sub-agents or of a second agent.
    #[must_use]
    pub fn conversation(mut self, text: &str, script: Script) -> Self {
        // The script for all other conversations stays last.
        self.scripts.insert(self.scripts.len().saturating_sub(1), (text.to_owned(), script));
        self
    }

    /// Sets the answer to requests that offer no tools or ask for a summary, such as requests for a
    /// title. A request for JSON gets JSON in any case.
    #[must_use]
    pub fn aside(mut self, text: &str) -> Self {
        text.clone_into(&mut self.aside);
        self
    }

    /// Follows the scripts also in requests that offer no tools.
    #[must_use]
    pub fn without_asides(mut self) -> Self {
        self.has_no_asides = true;
        self
    }

    /// Answers requests that offer no tools with this, such as an error.
    #[must_use]
    pub fn aside_turn(mut self, turn: Turn) -> Self {
        self.aside_turn = Some(turn);
        self
    }

    /// Serves the model on a port of this machine until the server is dropped.
    pub fn serve(self) -> io::Result<Server> {
        let state = Arc::new(Shared {
            inner: Mutex::new(Inner {
                model: self,
                requests: Vec::new(),
                asides: Vec::new(),
                id: 0,
                abandoned: 0,
            }),
            news: Condvar::new(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let routes = routes(Arc::clone(&state));
        let thread = thread::Builder::new().name("scripted model".to_owned()).spawn(move || {
            runtime.block_on(async {
                let listener = match TcpListener::bind(("127.0.0.1", 0)).await {
                    Ok(listener) => listener,
                    Err(error) => return drop(tell.send(Err(error))),
                };
                drop(tell.send(listener.local_addr()));
                // Streams that hang must not delay the end, so the server does not wait for them.
                tokio::select! {
                    ended = axum::serve(listener, routes).into_future() => drop(ended),
                    _ended = stopped => {}
                }
            });
            runtime.shutdown_background();
        })?;
        let address = told.recv().map_err(io::Error::other)??;
        Ok(Server { address, state, stop: Some(stop), thread: Some(thread) })
    }
}

/// A model that is being served. Ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) struct Shared {
    inner: Mutex<Inner>,
    news: Condvar,
}

/// A request as it came in.
pub(super) struct Asked {
    pub(super) api: Api,
    pub(super) model: String,
    pub(super) key_header: Option<&'static str>,
    pub(super) body: Value,
}

#[derive(Debug)]
struct Inner {
    model: Model,
    requests: Vec<Request>,
    asides: Vec<Request>,
    id: usize,
    abandoned: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A script that panicked has already failed its test; its requests are still useful.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is answered, and a number that no other answer has.
    pub(super) fn answer(&self, asked: Asked) -> (Turn, usize) {
        let Asked { api, model, key_header, body } = asked;
        let mut inner = self.lock();
        let inner = &mut *inner;
        inner.id += 1;
        let conversation = String::new();
        let mut request = Request { conversation, api, model, key_header, body };
        let is_aside = request.tools().is_empty() || openai::is_compaction(&request.body);
        if is_aside && !inner.model.has_no_asides {
            let message = api.aside(&request.body, &inner.model.aside);
            inner.asides.push(request);
            let turn = inner.model.aside_turn.clone();
            return (turn.unwrap_or_else(|| message.into()), inner.id);
        }
        let opening = request.opening();
        let script = inner.model.scripts.iter_mut().find(|it| opening.contains(&it.0));
        let turn = script.and_then(|(name, script)| {
            request.conversation.clone_from(name);
            script.next(&request)
        });
        inner.requests.push(request);
        self.news.notify_all();
        (turn.unwrap_or_else(|| Message::new().says(OVER).into()), inner.id)
    }

    /// A client went away before its answer was over.
    pub(super) fn abandoned(&self) {
        self.lock().abandoned += 1;
        self.news.notify_all();
    }

    /// What is answered to somebody who only wants the conversation summed up.
    pub(super) fn summary(&self, asked: Asked) -> String {
        let Asked { api, model, key_header, body } = asked;
        let mut inner = self.lock();
        let conversation = String::new();
        inner.asides.push(Request { conversation, api, model, key_header, body });
        inner.model.aside.clone()
    }
}

impl Server {
    /// The base URL, for `ANTHROPIC_BASE_URL` and `GOOGLE_GEMINI_BASE_URL`. The base URL of a
    /// provider in Codex ends in `/v1`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address and port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far, of all conversations, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().requests.clone()
    }

    /// The requests of one conversation: the text that identifies it, or empty.
    #[must_use]
    pub fn requests_of(&self, conversation: &str) -> Vec<Request> {
        let requests = self.requests().into_iter();
        requests.filter(|it| it.conversation == conversation).collect()
    }

    /// The requests that belong to no conversation.
    #[must_use]
    pub fn asides(&self) -> Vec<Request> {
        self.state.lock().asides.clone()
    }

    /// How many answers of all scripts were never requested.
    #[must_use]
    pub fn left(&self) -> usize {
        self.state.lock().model.scripts.iter().map(|it| it.1.left()).sum()
    }

    /// Waits until a conversation has this many requests. Returns whether it has, before the
    /// timeout.
    #[must_use]
    pub fn wait_for(&self, conversation: &str, requests: usize, limit: Duration) -> bool {
        self.wait(limit, |inner| {
            inner.requests.iter().filter(|it| it.conversation == conversation).count() >= requests
        })
    }

    /// Waits until this many clients have gone away before their answer was over; whether they did in
    /// time.
    #[must_use]
    pub fn wait_abandoned(&self, answers: usize, limit: Duration) -> bool {
        self.wait(limit, |inner| inner.abandoned >= answers)
    }

    fn wait(&self, limit: Duration, is_so: impl Fn(&Inner) -> bool) -> bool {
        let until = Instant::now() + limit;
        let mut inner = self.state.lock();
        loop {
            if is_so(&inner) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.state.news.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Dropping the sender is the signal, whether or not anybody still waits for it.
        drop(self.stop.take());
        drop(self.thread.take().map(thread::JoinHandle::join));
    }
}
