//! A clock, ids and a way to wait, for tests.

use std::cell::Cell;
use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use punchlist_model::call::{Asked, CallRecord, CallState, News, Offer, RunRecord};
use punchlist_model::session::Store;
use punchlist_model::store::{
    Applied, AttachmentKey, Change, Cursor, Entry, Error, Following, NewPlan, PlanStore, Scope,
};
use punchlist_model::{
    Actor, Attempt, ConversationId, Ctx, Holder, IdSource, Limits, MessageId, Mode, NewItem,
    Number, Op, Plan, PlanId, Process, QuestionId, Revision, Rules, RunId, Timestamp,
};
use serde_json::json;

/// The directory of the programs of a PostgreSQL server.
pub(crate) fn server_programs() -> PathBuf {
    let programs = std::env::var_os("PUNCHLIST_TEST_POSTGRES");
    PathBuf::from(programs.expect("run by `cargo xtask test postgres`"))
}

/// The address of a new database on a PostgreSQL server.
pub(crate) fn database() -> String {
    punchlist_testkit::postgres::database(&server_programs())
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future, with a timeout of a minute.
#[track_caller]
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = Box::pin(future);
    let start = Instant::now();
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park_timeout(Duration::from_secs(60)),
        }
        assert!(start.elapsed() < Duration::from_secs(60), "nothing came");
    }
}

/// The next entry of a stream.
#[track_caller]
pub(crate) fn next(stream: &mut Following) -> (Cursor, Entry) {
    wait(poll_fn(|cx| stream.as_mut().poll_next(cx))).expect("the stream goes on").unwrap()
}

/// Begins to follow.
#[track_caller]
pub(crate) fn follow(store: &dyn PlanStore, after: Cursor, scope: Scope) -> Following {
    wait(store.follow(after, scope)).unwrap()
}

/// Whether the stream has no entry now.
pub(crate) fn is_quiet(stream: &mut Following) -> bool {
    stream.as_mut().poll_next(&mut Context::from_waker(Waker::noop())).is_pending()
}

/// Waits for a wake-up.
#[track_caller]
pub(crate) fn heard(news: &mut News) {
    wait(poll_fn(|cx| news.as_mut().poll_next(cx))).expect("the stream goes on").unwrap();
}

/// `seconds` after the fixed time at which tests begin.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// Ids that are different for each worker and second.
pub(crate) fn ids(who: &str, seconds: i64) -> IdSource {
    let mut random = [0; 10];
    let seed = who
        .bytes()
        .fold(7_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    random[2..10].copy_from_slice(&seed.to_be_bytes());
    IdSource::new(at(seconds), random)
}

/// A context for a worker at a time.
pub(crate) fn ctx(who: &str, seconds: i64) -> Ctx {
    Ctx {
        now: at(seconds),
        ids: ids(who, seconds),
        actor: Actor::agent(who),
        holder: Holder::named(who),
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits::default(),
        gone: Vec::new(),
        anyway: false,
    }
}

pub(crate) fn plan_id(n: u8) -> PlanId {
    PlanId(IdSource::fixed(at(0), n).nth(0))
}

pub(crate) fn new_plan(n: u8) -> NewPlan {
    NewPlan {
        made_for: None,
        id: plan_id(n),
        project: "/project".to_owned(),
        name: None,
        title: format!("Plan {n}"),
        rules: Rules::default(),
        at: at(0),
    }
}

pub(crate) fn key(conversation: &str, turn: &str) -> AttachmentKey {
    AttachmentKey {
        project: "/project".to_owned(),
        agent: "claude".to_owned(),
        conversation: conversation.to_owned(),
        sub_agent: String::new(),
        turn: turn.to_owned(),
    }
}

pub(crate) fn run_id(n: u8) -> RunId {
    RunId(IdSource::fixed(at(0), n).nth(1))
}

pub(crate) fn run(n: u8, plan: Option<PlanId>) -> RunRecord {
    RunRecord {
        id: run_id(n),
        project: "/project".to_owned(),
        plan,
        what: format!("run {n}"),
        process: None,
        begun_at: at(i64::from(n)),
        ended_at: None,
    }
}

/// A shell call in some state since some second.
pub(crate) fn call(number: u32, state: CallState, seconds: i64) -> CallRecord {
    CallRecord {
        number,
        item: None,
        tool: "shell".to_owned(),
        request: json!({"command": format!("./publish.sh {number}")}),
        state,
        attempt: Attempt(u32::from(state == CallState::Executing)),
        detail: state.has_ended().then(|| json!("how it ended")),
        at: at(seconds),
    }
}

pub(crate) fn question_id(n: u8) -> QuestionId {
    QuestionId(IdSource::fixed(at(0), n).nth(2))
}

/// A question of a call.
pub(crate) fn asked(n: u8, call: u32) -> Asked {
    Asked {
        id: question_id(n),
        call,
        item: None,
        title: "Publish".to_owned(),
        place: vec!["item 4 of Release 1.2".to_owned(), "release.md:12".to_owned()],
        context: "Only from a clean checkout.".to_owned(),
        tool: "shell".to_owned(),
        server: None,
        what: "run".to_owned(),
        command: Some(format!("./publish.sh {call}")),
        diff: None,
        printed: Vec::new(),
        touches: vec!["writes dist/**".to_owned()],
        why: "no rule allows it".to_owned(),
        arguments: json!({"command": format!("./publish.sh {call}")}),
        offers: vec![
            Offer::Once,
            Offer::AlwaysPrefix(vec!["./publish.sh".to_owned()]),
            Offer::Modify,
        ],
        at: at(i64::from(n)),
    }
}

pub(crate) fn message_id(n: u8) -> MessageId {
    MessageId(IdSource::fixed(at(0), n).nth(3))
}

pub(crate) fn conversation_id(n: u8) -> ConversationId {
    ConversationId(IdSource::fixed(at(0), n).nth(4))
}

pub(crate) fn process(pid: u32) -> Process {
    let (host, boot_id) = ("here".to_owned(), "boot".to_owned());
    Process { host, boot_id, pid_namespace: 1, pid, start_time: 1 }
}

pub(crate) fn add(title: &str) -> Op {
    Op::Add(Box::new(NewItem::titled(title)))
}

pub(crate) fn start(number: u32) -> Op {
    Op::Start(Number(number).into())
}

pub(crate) fn done(number: u32) -> Op {
    Op::Complete { item: Number(number).into(), outcome: None, with_children: false }
}

/// A worker on one plan, whose clock advances one second with each change.
pub(crate) struct Desk {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) plan: PlanId,
    who: String,
    seconds: Cell<i64>,
}

impl Desk {
    /// On an existing plan.
    pub(crate) fn at(store: Arc<dyn Store>, plan: PlanId, who: &str) -> Self {
        Self { store, plan, who: who.to_owned(), seconds: Cell::new(0) }
    }

    /// On a new plan.
    pub(crate) fn new(store: Arc<dyn Store>, who: &str) -> Self {
        wait(store.create(new_plan(1))).unwrap();
        Self::at(store, plan_id(1), who)
    }

    pub(crate) fn ctx(&self) -> Ctx {
        self.seconds.set(self.seconds.get() + 1);
        ctx(&self.who, self.seconds.get())
    }

    pub(crate) fn wait_seconds(&self, seconds: i64) {
        self.seconds.set(self.seconds.get() + seconds);
    }

    pub(crate) fn change(&self, ops: Vec<Op>) -> Result<Applied, Error> {
        wait(self.store.change(self.plan, Change::new(ops, self.ctx())))
    }

    #[track_caller]
    pub(crate) fn must(&self, ops: Vec<Op>) -> Applied {
        self.change(ops).unwrap()
    }

    pub(crate) fn undo(&self) -> Result<Applied, Error> {
        wait(self.store.undo(self.plan, self.ctx(), None))
    }

    pub(crate) fn whole(&self) -> Plan {
        wait(self.store.whole(self.plan)).unwrap()
    }

    pub(crate) fn journal(&self) -> Vec<Entry> {
        wait(self.store.journal(self.plan, Revision(0), u32::MAX)).unwrap()
    }

    /// The list as text, as a person would see it.
    pub(crate) fn list(&self) -> String {
        let plan = self.whole();
        let lines: Vec<String> = plan
            .listed()
            .iter()
            .map(|it| format!("{}:{} {}", it.number, it.title, it.status.words()))
            .collect();
        lines.join(", ")
    }
}
