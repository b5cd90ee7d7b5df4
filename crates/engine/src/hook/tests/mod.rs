//! The engine with the in-memory store: JSON as an agent sends it goes in, JSON as the agent reads
//! it comes out.

mod absent;
mod boundary;
mod codex;
mod fuzz;
mod gate;
mod gemini;
mod mirror;
mod news;
mod recorded;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use punchlist_formats::hook::{Agent, Answer, Task};
use punchlist_formats::prompt::Tag;
use punchlist_model::guard::Gate;
use punchlist_model::remind::Policy;
use punchlist_model::session::{Session, SessionKey, SessionStore};
use punchlist_model::store::memory::Memory;
use punchlist_model::store::{Change, PlanStore};
use punchlist_model::{Ctx, Holder, IdSource, Limits, Mode, Op, Plan, PlanId, Process, Timestamp};
use serde_json::{Value, json};

use super::{AgentFacts, Given, Moment, PlanFacts, Settings, answer};

/// The value of a future that is ready at once, as the engine's futures are with this store.
fn settle<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the engine waited for something"),
    }
}

/// A machine on which an agent runs.
struct Desk {
    agent: Agent,
    has_server: bool,
    store: Memory,
    clock: Cell<i64>,
    gate: Option<Gate>,
    interactive: Option<bool>,
    policy: Policy,
    tag: Tag,
    plan: Option<&'static str>,
    process: Option<Process>,
    files: BTreeMap<String, Task>,
}

impl Desk {
    /// An unattended session of Claude Code.
    fn new() -> Self {
        Self::with(Agent::Claude)
    }

    fn with(agent: Agent) -> Self {
        Self {
            agent,
            has_server: true,
            store: Memory::new(),
            clock: Cell::new(1_800_000_000),
            gate: None,
            interactive: Some(false),
            policy: Policy::default(),
            tag: Tag::default(),
            plan: None,
            process: None,
            files: BTreeMap::new(),
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.clock.get()).unwrap()
    }

    fn ids(&self) -> IdSource {
        let mut random = [7; 10];
        random[2..].copy_from_slice(&self.clock.get().to_be_bytes());
        IdSource::new(self.now(), random)
    }

    /// Runs one hook, a second after the previous one.
    fn hook(&self, event: &Value) -> Option<Value> {
        self.bytes(event.to_string().as_bytes())
    }

    fn bytes(&self, bytes: &[u8]) -> Option<Value> {
        self.clock.set(self.clock.get() + 1);
        let event = self.agent.read(bytes, None)?;
        let files = &self.files;
        let task = |_: &str, id: &str| files.get(id).cloned();
        let given = Given {
            moment: Moment { now: self.now(), ids: self.ids(), host: "here" },
            agent: AgentFacts {
                name: self.agent.as_str(),
                has_server: self.has_server,
                tools: None,
                process: self.process.clone(),
                interactive: self.interactive,
                planning: false,
                task_list: None,
            },
            plan: PlanFacts {
                project: "/project",
                name: self.plan,
                new_id: PlanId(self.ids().nth(1000)),
            },
            settings: Settings {
                gate: self.gate,
                reminders: &self.policy,
                tag: &self.tag,
                limits: Limits::default(),
            },
            task: &task,
            program: &|| "punchlist".to_owned(),
            version: "1.2.3",
        };
        let answer: Answer = settle(answer(&self.store, &event, &given)).unwrap();
        let text = self.agent.write(&answer, &event.what, None)?;
        Some(serde_json::from_str(&text).unwrap())
    }

    /// Runs a hook with the event's own fields and the common ones.
    fn event(&self, name: &str, fields: Value) -> Option<Value> {
        self.of("s1", name, fields)
    }

    fn of(&self, session: &str, name: &str, fields: Value) -> Option<Value> {
        let mut event = json!({
            "session_id": session, "cwd": "/project", "hook_event_name": name,
            "transcript_path": "/home/dev/.claude/x.jsonl", "permission_mode": "default",
        });
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.hook(&event)
    }

    fn used(&self, tool: &str, call: Value, result: Value) {
        assert_eq!(self.used_by(None, tool, call, result), None);
    }

    /// The text that the model gets besides the tool's own result.
    fn used_by(
        &self,
        agent: Option<&str>,
        tool: &str,
        call: Value,
        result: Value,
    ) -> Option<String> {
        let fields = json!({
            "tool_name": tool, "tool_input": call, "tool_response": result, "agent_id": agent,
        });
        let answer = self.event("PostToolUse", fields)?;
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PostToolUse");
        Some(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
    }

    fn create(&self, id: &str, subject: &str) {
        self.create_by(None, id, subject);
    }

    fn create_by(&self, agent: Option<&str>, id: &str, subject: &str) {
        let call = json!({"subject": subject, "description": format!("about {subject}")});
        let result = json!({"task": {"id": id, "subject": subject}});
        assert_eq!(self.used_by(agent, "TaskCreate", call, result), None);
    }

    fn update(&self, id: &str, fields: Value) {
        self.update_by(None, id, fields);
    }

    fn update_by(&self, agent: Option<&str>, id: &str, fields: Value) {
        let mut call = json!({"taskId": id});
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let fields: Vec<&String> = fields.as_object().unwrap().keys().collect();
        let result = json!({"success": true, "taskId": id, "updatedFields": fields});
        assert_eq!(self.used_by(agent, "TaskUpdate", call, result), None);
    }

    /// `TodoWrite` with `"status title"` lines.
    fn todos(&self, agent: Option<&str>, lines: &[&str]) -> Option<String> {
        let todo = |line: &&str| {
            let (status, content) = line.split_once(' ').unwrap();
            json!({"content": content, "status": status, "activeForm": format!("on {content}")})
        };
        let todos: Vec<Value> = lines.iter().map(todo).collect();
        let result = json!({"oldTodos": [], "newTodos": todos});
        self.used_by(agent, "TodoWrite", json!({"todos": todos}), result)
    }

    fn stop(&self, message: &str) -> Option<String> {
        self.stop_with(json!({"last_assistant_message": message}))
    }

    fn stop_with(&self, fields: Value) -> Option<String> {
        let answer = self.event("Stop", fields)?;
        assert_eq!(answer["decision"], "block");
        assert_eq!(answer.as_object().unwrap().len(), 2, "{answer}");
        Some(answer["reason"].as_str().unwrap().to_owned())
    }

    fn prompt(&self) -> Option<String> {
        let answer = self.event("UserPromptSubmit", json!({"prompt": "go on"}))?;
        Some(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
    }

    fn starts(&self, session: &str, source: &str) -> Option<String> {
        let answer = self.of(session, "SessionStart", json!({"source": source}))?;
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
        Some(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
    }

    fn session(&self, id: &str) -> Session {
        let key = SessionKey { agent: self.agent.as_str().to_owned(), id: id.to_owned() };
        settle(self.store.session(key)).unwrap().unwrap()
    }

    fn plan_of(&self, session: &str, sub_agent: &str) -> Option<Plan> {
        let key = self.session(session).key.attachment("/project", sub_agent);
        let attachment = settle(self.store.attachment(key)).unwrap()?;
        Some(settle(self.store.whole(attachment.plan)).unwrap())
    }

    fn plan(&self) -> Plan {
        self.plan_of("s1", "").expect("the session has a plan")
    }

    /// A person changes the session's plan.
    fn person(&self, ops: Vec<Op>) {
        self.clock.set(self.clock.get() + 1);
        let ctx = Ctx {
            now: self.now(),
            ids: self.ids(),
            actor: punchlist_model::Actor::person("ann"),
            holder: Holder::named("ann"),
            attempt: None,
            base: None,
            mode: Mode::Enforced,
            limits: Limits::default(),
            gone: Vec::new(),
            anyway: false,
        };
        settle(self.store.change(self.plan().id, Change::new(ops, ctx))).unwrap();
    }

    #[track_caller]
    fn check(&self, expected: &[&str]) {
        assert_eq!(lines(&self.plan()), expected);
    }
}

/// A plan as text, one line per item: sign, number, title, dependencies, marks.
fn lines(plan: &Plan) -> Vec<String> {
    let line = |item: &punchlist_model::Item| {
        let sign = match item.status {
            punchlist_model::Status::Pending => "[ ]",
            punchlist_model::Status::InProgress => "[>]",
            punchlist_model::Status::Completed => "[x]",
            punchlist_model::Status::Cancelled => "[-]",
        };
        let mut line = format!("{sign} {} {}", item.number, item.title);
        for on in &item.depends_on {
            write!(line, " after {on}").unwrap();
        }
        for mark in &item.marks {
            write!(line, " {mark:?}").unwrap();
        }
        line
    };
    plan.listed().into_iter().map(line).collect()
}
