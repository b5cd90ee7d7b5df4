//! A connection: reads the client's messages and answers them. Several sessions are worked on side by
//! side, each on one prompt at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{LocalBoxFuture, join_all};
use futures_util::stream::FuturesUnordered;
use punchlist_agent::mcp::ForeignServers;
use punchlist_agent::session::Input;
use punchlist_formats::text::{one_line, truncate};
use punchlist_model::ConversationId;
use serde_json::{Value, json};
use tokio::io::AsyncRead;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::client::Client;
use super::out::Out;
use super::prompt;
use super::rpc::{self, Error, Message};
use super::turn::{OpenSession, Wanted};
use super::{PATIENCE, Sessions, blocking};
use crate::lines::{LONGEST, Lines, Next, TooLongLine};
use crate::skim::Sender;

/// The version of the protocol that is spoken.
const VERSION: u16 = 1;

/// How many sessions a connection may have open.
const MOST_SESSIONS: usize = 100;

/// The longest name of a client that is stored, in columns.
const LONGEST_NAME: usize = 80;

/// A connection.
pub(super) struct Connection<R> {
    sessions: Arc<dyn Sessions>,
    lines: Lines<R>,
    client: Arc<Client>,
    /// The name of the client, once it has introduced itself.
    name: Option<String>,
    open: BTreeMap<String, Open>,
    /// The ids of requests without an answer, as JSON.
    unanswered: BTreeSet<String>,
    work: FuturesUnordered<LocalBoxFuture<'static, Finished>>,
}

/// A session of the connection.
struct Open {
    session: Arc<OpenSession>,
    /// The prompt that is worked on.
    prompt: Option<Prompt>,
}

/// A prompt that is worked on.
struct Prompt {
    inputs: UnboundedSender<Input>,
    is_cancelled: bool,
}

/// A request that took time, with its result.
struct Finished {
    id: Value,
    result: Result<Done, Error>,
    /// The session whose prompt it was.
    prompted: Option<String>,
}

/// The result of a request that took time.
enum Done {
    /// A session is open.
    Opened { session: Arc<OpenSession>, answer: Value },
    /// A turn has stopped, for this reason.
    Stopped(&'static str),
}

/// Where a session is to work, and what else the client wants of it.
struct Place {
    directory: PathBuf,
    wanted: Wanted,
}

impl<R: AsyncRead + Unpin> Connection<R> {
    pub(super) fn new(sessions: Arc<dyn Sessions>, read: R, out: Out) -> Self {
        Self {
            sessions,
            lines: Lines::new(read),
            client: Arc::new(Client::new(out)),
            name: None,
            open: BTreeMap::new(),
            unanswered: BTreeSet::new(),
            work: FuturesUnordered::new(),
        }
    }

    /// Answers requests until the client is gone, and then stops the turns that run.
    pub(super) async fn run(mut self) {
        loop {
            let Self { lines, work, client, .. } = &mut self;
            let next_line = async {
                client.out().has_room().await;
                lines.next().await
            };
            tokio::select! {
                finished = work.next(), if !work.is_empty() => {
                    if let Some(finished) = finished {
                        self.finish(finished);
                    }
                }
                next = next_line => match next {
                    Next::Line => self.line(),
                    Next::TooLong(line) => self.too_long(line),
                    Next::End => break,
                },
                () = client.out().closed() => break,
            }
        }
        self.stop().await;
    }

    /// Stops all turns, and then the MCP servers of all sessions.
    async fn stop(&mut self) {
        for prompt in self.open.values().filter_map(|it| it.prompt.as_ref()) {
            prompt.inputs.send(Input::Abort).ok();
        }
        let stopped = async {
            while let Some(finished) = self.work.next().await {
                // The input has ended, but somebody may still read the output.
                self.client.answer(&finished.id, finished.result.map(|it| it.answer()));
            }
            join_all(self.open.values().map(|it| it.session.shut_down())).await;
        };
        // A turn that does not stop is cut off, and the session's next prompt goes on with it.
        tokio::time::timeout(PATIENCE, stopped).await.ok();
    }

    fn line(&mut self) {
        let message = rpc::parse(&self.lines.line);
        self.lines.clear();
        match message {
            Ok(None) => {}
            Ok(Some(Message::Request { id, method, params })) => self.request(id, &method, &params),
            Ok(Some(Message::Notification { method, params })) => {
                if method == "session/cancel" {
                    self.cancel(&params);
                }
            }
            Ok(Some(Message::Response { id, result })) => self.client.answered(&id, &result),
            Err(bad) => self.client.answer(&bad.id, Err(bad.error)),
        }
    }

    fn too_long(&self, line: TooLongLine) {
        let TooLongLine { length, skim } = line;
        let id = match skim.sender() {
            Sender::Notification => return,
            Sender::Request(id) => serde_json::to_value(id).unwrap_or_default(),
            Sender::Unknown => Value::Null,
        };
        let why = format!(
            "the line has {length} bytes, and at most {LONGEST} (16 MiB) are read: attach less to the prompt"
        );
        self.client.answer(&id, Err(Error::invalid_request(why)));
    }

    /// Answers a request, or begins the work that its answer needs.
    fn request(&mut self, id: Value, method: &str, params: &Value) {
        if self.unanswered.contains(&id.to_string()) {
            let why = format!("a request with the id {id} is not answered yet: use another id");
            return self.client.answer(&Value::Null, Err(Error::invalid_request(why)));
        }
        let begun = match method {
            "initialize" => {
                let answer = self.initialize(params);
                return self.client.answer(&id, answer);
            }
            // No method of authentication is offered: keys come from the user's configuration.
            "authenticate" => return self.client.answer(&id, Ok(json!({}))),
            "session/new" | "session/load" | "session/prompt" if self.name.is_none() => {
                Err(Error::invalid_request("call \"initialize\" first"))
            }
            "session/new" => self.new_session(&id, params),
            "session/load" => self.load_session(&id, params),
            "session/prompt" => self.prompt(&id, params),
            _ => Err(Error::no_method(method)),
        };
        match begun {
            Ok(work) => {
                self.unanswered.insert(id.to_string());
                self.work.push(work);
            }
            Err(error) => self.client.answer(&id, Err(error)),
        }
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, Error> {
        if params["protocolVersion"].as_u64().is_none() {
            return Err(Error::invalid_params("\"protocolVersion\" is a whole number"));
        }
        let info = &params["clientInfo"];
        let name = info["title"].as_str().or_else(|| info["name"].as_str());
        let name = name.map(|it| truncate(&one_line(it), LONGEST_NAME).trim().to_owned());
        let name = name.filter(|it| !it.is_empty());
        self.name = Some(name.unwrap_or_else(|| "an ACP client".to_owned()));
        Ok(json!({
            "protocolVersion": VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": false},
            },
            "agentInfo": {
                "name": "punchlist",
                "title": "Punchlist",
                "version": env!("CARGO_PKG_VERSION"),
            },
            "authMethods": [],
        }))
    }

    /// Where a session works, checked.
    fn place(&self, params: &Value) -> Result<Place, Error> {
        let directory = params["cwd"].as_str().map(PathBuf::from);
        let directory = directory
            .filter(|it| it.is_absolute())
            .ok_or_else(|| Error::invalid_params("\"cwd\" is the absolute path of a directory"))?;
        let offered = match &params["mcpServers"] {
            Value::Array(servers) => ForeignServers::of_editor(servers),
            Value::Null => ForeignServers::default(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err(Error::invalid_params("\"mcpServers\" is a list"));
            }
        };
        if self.open.len() >= MOST_SESSIONS {
            let why = format!("this connection has {MOST_SESSIONS} sessions: start another agent");
            return Err(Error::invalid_request(why));
        }
        offered.notes.iter().for_each(|it| self.sessions.note(it));
        let via = self.name.clone().unwrap_or_default();
        let asks_as = params["_meta"]["punchlist"]["name"].as_str();
        let asks_as = asks_as.map(|it| truncate(&one_line(it), LONGEST_NAME).trim().to_owned());
        let asks_as = asks_as.filter(|it| !it.is_empty());
        Ok(Place { directory, wanted: Wanted { via, asks_as, offered } })
    }

    fn new_session(&self, id: &Value, params: &Value) -> Result<Work, Error> {
        let (place, sessions) = (self.place(params)?, Arc::clone(&self.sessions));
        let Place { directory, wanted } = place;
        Ok(finishing(id, None, async move {
            let opened = blocking({
                let sessions = Arc::clone(&sessions);
                move || sessions.create(&directory)
            })
            .await?;
            let session = Arc::new(OpenSession::create(sessions, opened, wanted)?);
            let answer = json!({"sessionId": session.id().to_string()});
            Ok(Done::Opened { session, answer })
        }))
    }

    fn load_session(&self, id: &Value, params: &Value) -> Result<Work, Error> {
        let (place, sessions) = (self.place(params)?, Arc::clone(&self.sessions));
        let named = params["sessionId"].as_str();
        let session_id: ConversationId = named
            .ok_or_else(|| Error::invalid_params("\"sessionId\" is a string"))?
            .parse()
            .map_err(|_| Error::not_found("there is no session with this id"))?;
        let is_busy = self.open.get(&session_id.to_string()).is_some_and(|it| it.prompt.is_some());
        if is_busy {
            return Err(Error::invalid_request(BUSY));
        }
        let client = Arc::clone(&self.client);
        let Place { directory, wanted } = place;
        Ok(finishing(id, None, async move {
            let opened = blocking({
                let sessions = Arc::clone(&sessions);
                move || sessions.load(&directory, session_id)
            })
            .await?;
            let session = Arc::new(OpenSession::load(sessions, opened, session_id, wanted)?);
            for update in session.replay().await? {
                client.update(&session_id.to_string(), update);
            }
            Ok(Done::Opened { session, answer: json!({}) })
        }))
    }

    fn prompt(&mut self, id: &Value, params: &Value) -> Result<Work, Error> {
        let named = params["sessionId"].as_str();
        let named = named.ok_or_else(|| Error::invalid_params("\"sessionId\" is a string"))?;
        let Some(open) = self.open.get_mut(named) else {
            return Err(Error::not_found(
                "this connection has no session with this id: open it with \"session/new\" or \
                 \"session/load\"",
            ));
        };
        if open.prompt.is_some() {
            return Err(Error::invalid_request(BUSY));
        }
        let text = prompt::text(&params["prompt"])?;
        let turn = params["_meta"]["turnId"].as_str().map(str::to_owned);
        let (sender, receiver) = unbounded_channel();
        open.prompt = Some(Prompt { inputs: sender.clone(), is_cancelled: false });
        let (session, client) = (Arc::clone(&open.session), Arc::clone(&self.client));
        Ok(finishing(id, Some(named.to_owned()), async move {
            let prompt = (text.as_str(), turn.as_deref());
            session.work(prompt, client, (sender, receiver)).await.map(Done::Stopped)
        }))
    }

    /// Cancels the prompt of a session. A notification is not answered, whatever it names.
    fn cancel(&mut self, params: &Value) {
        let Some(session) = params["sessionId"].as_str() else { return };
        let Some(prompt) = self.open.get_mut(session).and_then(|it| it.prompt.as_mut()) else {
            return;
        };
        prompt.is_cancelled = true;
        prompt.inputs.send(Input::Abort).ok();
        self.client.forget(session);
    }

    /// Answers a request that took time.
    fn finish(&mut self, finished: Finished) {
        let Finished { id, result, prompted } = finished;
        self.unanswered.remove(&id.to_string());
        let mut result = result;
        if let Some(open) = prompted.as_ref().and_then(|it| self.open.get_mut(it)) {
            // What failed because it was cancelled has not failed.
            if open.prompt.take().is_some_and(|it| it.is_cancelled) {
                result = Ok(Done::Stopped("cancelled"));
            }
        }
        if let Some(session) = &prompted {
            self.client.forget(session);
        }
        if let Ok(Done::Opened { session, .. }) = &result {
            let open = Open { session: Arc::clone(session), prompt: None };
            if let Some(before) = self.open.insert(session.id().to_string(), open) {
                // The session was loaded anew, with its own servers.
                tokio::spawn(async move { before.session.shut_down().await });
            }
        }
        self.client.answer(&id, result.map(|it| it.answer()));
    }
}

/// The error of a request that must wait for the answer to a prompt.
const BUSY: &str = "a prompt of this session is not answered yet: wait for its answer, or cancel it with \
                    \"session/cancel\"";

/// A request that is being worked on.
type Work = LocalBoxFuture<'static, Finished>;

impl Done {
    fn answer(self) -> Value {
        match self {
            Self::Opened { answer, .. } => answer,
            Self::Stopped(reason) => json!({"stopReason": reason}),
        }
    }
}

fn finishing(
    id: &Value,
    prompted: Option<String>,
    work: impl Future<Output = Result<Done, Error>> + 'static,
) -> Work {
    let id = id.clone();
    Box::pin(async move { Finished { result: work.await, id, prompted } })
}
