//! The dialects end to end, as a model uses them, with a store in memory.

mod hostile;
mod manager;
mod offer;
mod recorded;
mod rules;
mod tasks;
mod todowrite;
mod turn;
mod update_plan;
mod write_todos;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use punchlist_model::needs::Needs;
use punchlist_model::store::memory::Memory;
use punchlist_model::store::{Applied, Change, Error, NewPlan, PlanStore};
use punchlist_model::{
    Actor, Ctx, Holder, IdSource, Item, ItemId, Limits, Mode, Number, Op, Plan, PlanId, Revision,
    Rules, Slice, Timestamp, decide,
};
use serde_json::Value;

use super::{Answer, Dialect, Reply, Surface};

/// The result of a future of the memory store, which is always ready at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the memory store never waits"),
    }
}

/// A model that works on one plan.
struct Caller {
    store: Memory,
    plan: PlanId,
    dialect: Dialect,
    who: &'static str,
    mode: Mode,
    limits: Limits,
    /// The revision that the model was last shown, if the test sets it.
    base: Option<Revision>,
    step: u8,
}

impl Caller {
    fn new(dialect: Dialect) -> Self {
        let store = Memory::new();
        let at = Timestamp::from_millisecond(1_800_000_000_000).unwrap();
        let plan = PlanId(IdSource::fixed(at, 0).nth(0));
        let rules = Rules::default();
        let new = NewPlan {
            made_for: None,
            id: plan,
            project: "/p".into(),
            name: None,
            title: "".into(),
            rules,
            at,
        };
        now(store.create(new)).unwrap();
        let (mode, limits) = (Mode::Enforced, Limits::default());
        Self { store, plan, dialect, who: "model", mode, limits, base: None, step: 0 }
    }

    /// Makes a call with JSON arguments.
    fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.raw(tool, arguments.to_string().as_bytes())
    }

    /// Makes a call that must succeed; returns its text.
    fn ok(&mut self, tool: &str, arguments: Value) -> String {
        let reply = self.call(tool, arguments);
        assert!(!reply.is_error, "{}", reply.text);
        reply.text
    }

    /// Makes a call that must fail and change nothing; returns its text.
    fn err(&mut self, tool: &str, arguments: Value) -> String {
        let before = self.whole();
        let reply = self.call(tool, arguments);
        assert!(reply.is_error && !reply.changed, "{}", reply.text);
        assert_eq!(self.whole(), before);
        reply.text
    }

    /// Makes a call with bytes as arguments. The reply must match the tool's output schema, and
    /// must be the same from the whole plan as from the slice that the call needs.
    fn raw(&mut self, tool: &str, arguments: &[u8]) -> Reply {
        let reply = self.drive(tool, arguments);
        let spec = self.dialect.tools(Surface::Full).into_iter().find(|it| it.name == tool);
        let schema = spec.and_then(|it| it.output_schema);
        if let Some((schema, value)) = schema.zip(reply.structured.as_ref()) {
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            assert!(validator.is_valid(value), "{value}");
            assert_eq!(serde_json::from_str::<Value>(&reply.text).unwrap(), *value);
        }
        reply
    }

    fn drive(&mut self, tool: &str, arguments: &[u8]) -> Reply {
        let call = match self.dialect.call(tool, arguments) {
            Ok(call) => call,
            Err(reply) => return reply,
        };
        let Some(ops) = call.ops() else {
            return call
                .reply(Answer::Read(now(self.store.read(self.plan, call.needs())).unwrap()));
        };
        let ctx = self.ctx();
        let slice = now(self.store.read(self.plan, Needs::of(ops))).unwrap();
        match now(self.store.change(self.plan, Change::new(ops.to_vec(), ctx.clone()))) {
            Ok(applied) => {
                let reply = call.reply(Answer::Changed(&applied));
                // With a base revision, only the store has the journal that the decision needs.
                if self.base.is_none() {
                    let sliced = apply(slice, ops, &ctx).unwrap();
                    assert_eq!(call.reply(Answer::Changed(&sliced)), reply);
                }
                reply
            }
            Err(error) => {
                let plan = now(self.store.read(self.plan, call.needs())).unwrap();
                call.reply(Answer::Failed(&error, Some(&plan)))
            }
        }
    }

    fn ctx(&mut self) -> Ctx {
        self.step += 1;
        let at = Timestamp::from_millisecond(1_800_000_000_000 + 1_001 * i64::from(self.step));
        let (now, open_items) = (at.unwrap(), self.dialect.open_items());
        let limits = self.limits;
        Ctx {
            now,
            ids: IdSource::fixed(now, self.step),
            actor: Actor::agent(self.who),
            holder: Holder::named(self.who),
            attempt: None,
            base: self.base,
            mode: self.mode,
            limits: Limits { open_items: open_items.unwrap_or(limits.open_items), ..limits },
            gone: Vec::new(),
            anyway: false,
        }
    }

    /// A change that is not made with the tools, such as by a verb or another worker.
    fn beside(&mut self, ops: Vec<Op>) -> Applied {
        let ctx = self.ctx();
        now(self.store.change(self.plan, Change::new(ops, ctx))).unwrap()
    }

    /// From now on the model has seen the current revision, and no later one.
    fn see(&mut self) {
        self.base = Some(self.whole().revision);
    }

    /// A change by somebody else.
    fn other(&mut self, ops: Vec<Op>) {
        let who = std::mem::replace(&mut self.who, "other");
        self.beside(ops);
        self.who = who;
    }

    fn whole(&self) -> Plan {
        now(self.store.whole(self.plan)).unwrap()
    }

    fn item(&self, number: u32) -> Item {
        self.whole().get(Number(number)).unwrap().clone()
    }

    fn id(&self, number: u32) -> String {
        self.item(number).id.to_string()
    }

    /// The list in short: number, status, title.
    fn list(&self) -> Vec<String> {
        let plan = self.whole();
        let items = plan.listed().into_iter();
        items.map(|it| format!("#{} {} {}", it.number, it.status, it.title)).collect()
    }
}

fn apply(mut plan: Slice, ops: &[Op], ctx: &Ctx) -> Result<Applied, Error> {
    let decision = decide(&plan, ops, ctx)?;
    for event in &decision.events {
        plan.evolve(event);
    }
    Ok(Applied { revision: plan.revision, plan, decision })
}

/// An id that no plan has.
fn foreign() -> String {
    ItemId(IdSource::fixed(Timestamp::UNIX_EPOCH, 99).nth(7)).to_string()
}

/// The reply's text, parsed as JSON.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
