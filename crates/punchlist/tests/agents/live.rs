//! `punchlist watch` while an agent works: it finds the session by itself, and reports each list
//! before the agent goes on.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script, Server};
use serde_json::{Value, json};

use crate::lists::list;
use crate::place::Place;
use crate::run::{Ended, Run, Running};
use crate::shown::shows;

/// The timeout of every wait.
const LIMIT: Duration = Duration::from_secs(60);

/// A watcher that runs until the test ends.
pub(crate) struct Watcher {
    child: Child,
    events: Receiver<Value>,
}

impl Place {
    /// Watches all agents of this home directory.
    pub(crate) fn watch(&self) -> Watcher {
        let mut command = self.command(&self.punchlist);
        command.args(["watch", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, events) = mpsc::channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                drop(tell.send(serde_json::from_str(&line).unwrap()));
            }
        });
        Watcher { child, events }
    }
}

impl Watcher {
    /// The next event of one kind.
    #[track_caller]
    pub(crate) fn next(&self, kind: &str) -> Value {
        loop {
            let event =
                self.events.recv_timeout(LIMIT).unwrap_or_else(|why| panic!("{kind}: {why}"));
            if event["type"] == kind {
                return event;
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The model's answer to a request.
pub(crate) type Answer = Box<dyn FnMut(&Request) -> Message + Send>;

/// A script that waits before each answer until the test releases it.
pub(crate) struct Held {
    script: Script,
    go: Sender<()>,
    /// How many answers are left.
    left: usize,
}

impl Held {
    /// Answers with these messages, and then stops.
    pub(crate) fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        let answer = |message: Message| -> Answer { Box::new(move |_| message.clone()) };
        Self::computed(messages.into_iter().map(answer))
    }

    /// Answers with computed messages, and then stops.
    pub(crate) fn computed(answers: impl IntoIterator<Item = Answer>) -> Self {
        let (go, held) = mpsc::channel();
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        answers.push_back(Box::new(|_| Message::new().says("All is done.")));
        let left = answers.len();
        let script = Script::new().always(move |request| {
            // After a timeout the script goes on, and the test reports what is missing.
            held.recv_timeout(LIMIT).ok();
            answers.pop_front().map(|mut it| it(request)).unwrap_or_default()
        });
        Self { script, go, left }
    }

    /// Starts a watcher and then an agent with this script, and waits until the watcher has found
    /// the agent.
    #[track_caller]
    pub(crate) fn begin(self, place: &Place, agent: impl FnOnce(&Server) -> Run) -> Watched {
        let Self { script, go, left } = self;
        let model = Model::new(script).serve().unwrap();
        let watcher = place.watch();
        let running = agent(&model).begin();
        let id = watcher.next("session.started")["agentId"].clone();
        Watched { running, watcher, id, go, left, _model: model }
    }

    /// Follows an agent from its first list to its end.
    #[track_caller]
    pub(crate) fn follow(
        self,
        place: &Place,
        agent: impl FnOnce(&Server) -> Run,
        lists: &[&str],
    ) -> Ended {
        let mut watched = self.begin(place, agent);
        for list in lists {
            watched.tells(list);
        }
        watched.ends()
    }
}

/// An agent that works, and a watcher beside it.
pub(crate) struct Watched {
    running: Running,
    watcher: Watcher,
    /// The agent's id in the watcher's events.
    id: Value,
    go: Sender<()>,
    left: usize,
    /// Served as long as the agent may send requests.
    _model: Server,
}

impl Watched {
    /// Releases one answer of the model, and checks the list that the watcher reports while the
    /// agent waits for the next one.
    #[track_caller]
    pub(crate) fn tells(&mut self, expected: &str) {
        self.go.send(()).unwrap();
        self.left -= 1;
        let told = self.watcher.next("todo_list");
        assert_eq!(list(&told), expected);
        assert_eq!(told["agentId"], self.id);
        assert!(told["timestamp"].is_i64(), "{told:#}");
    }

    /// Lets the agent end.
    #[track_caller]
    pub(crate) fn ends(self) -> Ended {
        assert_eq!(self.left, 1, "a list was not looked for");
        self.go.send(()).unwrap();
        let ended = self.running.ends();
        assert_eq!(self.id, ended.session());
        ended
    }

    /// Kills the agent; returns what the watcher reports.
    #[track_caller]
    pub(crate) fn dies(self) -> String {
        self.running.killed();
        let told = loop {
            let told = self.watcher.next("error");
            if told["code"] == "died" {
                break told;
            }
        };
        assert_eq!(told["agentId"], self.id);
        told["message"].as_str().unwrap().to_owned()
    }
}

/// The model creates a task.
fn create(subject: &str) -> Message {
    Message::new().calls("TaskCreate", json!({"subject": subject, "description": "as it says"}))
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn claude_code_is_found_and_followed_while_it_works() {
    let _shows = shows(Agent::Claude, Feature::Watch, "");
    let place = Place::new();
    let set =
        |status: &str| Message::new().calls("TaskUpdate", json!({"taskId": "1", "status": status}));
    let held =
        Held::new([create("Write it"), create("Test it"), set("in_progress"), set("completed")]);
    let lists = [
        "[ ] Write it",
        "[ ] Write it, [ ] Test it",
        "[>] Write it, [ ] Test it",
        "[x] Write it, [ ] Test it",
    ];
    let agent = |model: &_| place.claude(model, "Build a parser").with_tasks();
    held.follow(&place, agent, &lists).well();
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn claude_code_is_said_to_be_gone_when_it_was_killed() {
    let place = Place::new();
    let held = Held::new([create("Write it")]);
    let agent = |model: &_| place.claude(model, "Build a parser").with_tasks();
    let mut watched = held.begin(&place, agent);
    watched.tells("[ ] Write it");
    assert_eq!(watched.dies(), "the agent's process is gone; 1 item open");
}
