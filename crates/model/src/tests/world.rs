//! A store in memory, a fixed clock, and a small language for stories.

use std::fmt::Write as _;
use std::future::Future;
use std::task::{Context, Poll, Waker};

use jiff::{SignedDuration, Timestamp};

use crate::command::{Ctx, ItemRef, ListEntry, Mode, NewItem, Op, Patch, Place, PlanPatch};
use crate::goal::{Budget, Goal, Met};
use crate::item::{Check, CheckRun, Evidence, Item, Origin};
use crate::plan::Rules;
use crate::store::memory::Memory;
use crate::store::{Applied, Change, Error, NewPlan, PlanStore};
use crate::{
    Actor, ActorKind, Attempt, Holder, IdSource, Level, Limits, Number, Plan, PlanId, Position,
    Process, Status,
};

/// Runs a future of the memory store. It is ready at once.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the memory store never waits"),
    }
}

pub(crate) fn epoch() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// A context for tests: the actor `me`, at midnight.
pub(crate) fn ctx() -> Ctx {
    Ctx {
        now: epoch(),
        ids: IdSource::fixed(epoch(), 1),
        actor: Actor::agent("me"),
        holder: Holder::named("me"),
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits::default(),
        gone: Vec::new(),
        anyway: false,
    }
}

pub(super) struct World {
    store: Memory,
    plan: PlanId,
    ctx: Ctx,
    changes: u8,
}

impl World {
    pub(super) fn new() -> Self {
        let store = Memory::new();
        let plan = PlanId(IdSource::fixed(epoch(), 255).nth(0));
        let new = NewPlan {
            made_for: None,
            id: plan,
            project: "/p".to_owned(),
            name: None,
            title: String::new(),
            rules: Rules::default(),
            at: epoch(),
        };
        now(store.create(new)).unwrap();
        Self { store, plan, ctx: ctx(), changes: 0 }
    }

    fn plan(&self) -> Plan {
        now(self.store.whole(self.plan)).unwrap()
    }

    /// Runs one line. `;` joins several operations into one change.
    pub(super) fn run(&mut self, line: &str) -> String {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "list" => return list(&self.plan()),
            "log" => return self.log(),
            "plan" => {
                let plan = self.plan();
                let (next, end) = (plan.next_number, plan.end.words());
                return format!("revision {}, next number {next}, {end}", plan.revision);
            }
            "aim" => {
                let plan = self.plan();
                let Some(goal) = &plan.goal else { return "no goal".to_owned() };
                let stale = rest.parse().ok().into_iter().collect();
                let reached = format!("{:?}", plan.reached(&stale).unwrap());
                let given_up: Vec<String> = goal.given_up.iter().map(|it| it.to_string()).collect();
                let spent = plan.minutes_spent(self.ctx.now).unwrap();
                let over = if plan.is_over_budget(self.ctx.now) { ", over budget" } else { "" };
                return format!("{reached}, given up [{}], {spent} m{over}", given_up.join(" "));
            }
            "progress" => {
                let it = self.plan().progress();
                return format!("{}/{} ({}%)", it.completed, it.total, it.percent);
            }
            "show" => {
                let (number, stale) = match rest.strip_suffix(" stale") {
                    Some(number) => (number, true),
                    None => (rest, false),
                };
                return show(&self.plan(), number.parse().unwrap(), stale);
            }
            "as" => {
                self.ctx.actor.name = rest.to_owned();
                self.ctx.holder = Holder::named(rest);
                return String::new();
            }
            "process" => {
                self.ctx.holder.process = Some(process(rest));
                return String::new();
            }
            "gone" => {
                self.ctx.gone.push(process(rest));
                return String::new();
            }
            "anyway" => {
                self.ctx.anyway = true;
                return String::new();
            }
            "agent" => {
                self.ctx.actor.kind = ActorKind::Agent;
                return String::new();
            }
            "person" => {
                self.ctx.actor.kind = ActorKind::Person;
                return String::new();
            }
            "recorded" => {
                self.ctx.mode = Mode::Recorded;
                return String::new();
            }
            "attempt" => {
                self.ctx.attempt = rest.parse().ok().map(Attempt);
                return String::new();
            }
            "shown" => {
                self.ctx.base = rest.parse().ok().map(crate::Revision);
                return String::new();
            }
            "clock" => {
                let minutes: i64 = rest.trim_end_matches('m').parse().unwrap();
                self.ctx.now =
                    self.ctx.now.checked_add(SignedDuration::from_mins(minutes)).unwrap();
                return String::new();
            }
            "limit" => {
                let (what, most) = rest.split_once(' ').unwrap();
                let most = most.parse().unwrap();
                match what {
                    "open" => self.ctx.limits.open_items = most,
                    "title" => self.ctx.limits.title = most,
                    "text" => self.ctx.limits.text = most,
                    "in-progress" => self.ctx.limits.max_in_progress = Some(most),
                    _ => panic!("no limit {what}"),
                }
                return String::new();
            }
            _ => {}
        }
        self.changes += 1;
        self.ctx.ids = IdSource::fixed(self.ctx.now, self.changes);
        let result = if word == "undo" {
            now(self.store.undo(self.plan, self.ctx.clone(), None))
        } else if word == "forget" {
            let item = (!rest.is_empty()).then(|| refer(rest));
            now(self.store.forget(self.plan, item, self.ctx.clone()))
        } else {
            self.change(line)
        };
        answer(result)
    }

    fn change(&self, line: &str) -> Result<Applied, Error> {
        let ops: Vec<_> = line.split(" ; ").map(op).collect();
        let mut ctx = self.ctx.clone();
        // Only a person can approve, so an approval is made by a person, whoever else works.
        if line.split(" ; ").any(|it| it.starts_with("approve ")) {
            ctx.actor.kind = ActorKind::Person;
        }
        now(self.store.change(self.plan, Change::new(ops, ctx)))
    }

    fn log(&self) -> String {
        let entries = now(self.store.journal(self.plan, crate::Revision(0), u32::MAX)).unwrap();
        let mut out = String::new();
        for entry in entries {
            let _ = write!(out, "{} {} {}:", entry.revision, entry.actor, entry.kind.as_str());
            for event in &entry.events {
                let json = serde_json::to_value(event).unwrap();
                let name = json["what"].as_str().or(json["event"].as_str()).unwrap().to_owned();
                let number = event.number().map(|it| format!(" {it}")).unwrap_or_default();
                let _ = write!(out, " {name}{number}");
            }
            out.push('\n');
        }
        out
    }
}

fn answer(result: Result<Applied, Error>) -> String {
    match result {
        Ok(applied) => {
            let mut out = String::new();
            if let Some(picked) = applied.decision.picked {
                let _ = writeln!(out, "picked {picked}");
            }
            for warning in applied.warnings() {
                let _ = writeln!(out, "warning: {warning}");
            }
            out
        }
        Err(error) => format!("refused: {error}").replace('\n', "\nrefused: "),
    }
}

fn process(text: &str) -> Process {
    Process {
        host: "here".to_owned(),
        boot_id: "boot".to_owned(),
        pid_namespace: 1,
        pid: text.parse().unwrap(),
        start_time: 1,
    }
}

/// Parses one operation.
pub(super) fn op(line: &str) -> Op {
    let (line, text) = match line.split_once(" -- ") {
        Some((line, text)) => (line, Some(text.replace("\\0", "\0"))),
        None => match line.strip_suffix(" --") {
            Some(line) => (line, Some(String::new())),
            None => (line, None),
        },
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let item = || refer(words[1]);
    match words[0] {
        "add" => Op::Add(Box::new(new_item(&words[1..], text))),
        "start" => Op::Start(item()),
        "next" => Op::Next,
        "done" => Op::Complete {
            item: item(),
            outcome: text,
            with_children: words.contains(&"with-children"),
        },
        "tick" => Op::Tick { item: item(), by: text.unwrap_or_default() },
        "skip" => Op::Cancel { item: item(), reason: text },
        "release" => Op::Release(item()),
        "reopen" => Op::Reopen { item: item(), start: words.contains(&"start") },
        "wait" => Op::Wait { item: item(), on: text.unwrap_or_default() },
        "resume" => Op::Resume(item()),
        "drop" => Op::Supersede(item()),
        "move" => Op::Move { item: item(), to: place(&words[2..]) },
        "replace" => Op::ReplaceAll(entries(line.strip_prefix("replace").unwrap())),
        // As an agent writes the list that it keeps.
        "write" => Op::Replace(entries(line.strip_prefix("write").unwrap())),
        "approve" => Op::Prove { item: item(), evidence: Box::new(evidence("approved")) },
        "prove" => Op::Prove { item: item(), evidence: Box::new(evidence(words[2])) },
        "park" => Op::Park(words[1..].iter().map(|it| it.parse().unwrap()).collect()),
        "demand" => {
            let demand =
                Some(if words[1] == "approved" { Level::Approved } else { Level::Checked });
            let rules = Some(Rules { demand, ..Rules::default() });
            Op::Plan(Box::new(PlanPatch { rules, ..PlanPatch::default() }))
        }
        "max" => {
            let rules = Rules { max_in_progress: words[1].parse().ok(), ..Rules::default() };
            Op::Plan(Box::new(PlanPatch { rules: Some(rules), ..PlanPatch::default() }))
        }
        "goal" => {
            let acceptance = words[1..].iter().map(|it| it.parse().unwrap()).collect();
            let statement = text.unwrap_or_default();
            let budget = Budget { minutes: Some(30), ..Budget::default() };
            let goal = Goal { statement, acceptance, budget, ..Goal::default() };
            Op::Plan(Box::new(PlanPatch { goal: Some(Some(goal)), ..PlanPatch::default() }))
        }
        "met" => {
            // A caller has read the goal and repeats it with a statement that it is met.
            let (statement, level) = (text.unwrap_or_default(), words[1]);
            let level = if level == "approved" { Level::Approved } else { Level::Reported };
            let met = Some(Met { at: epoch(), by: "me".to_owned(), level });
            let acceptance = words[2..].iter().map(|it| it.parse().unwrap()).collect();
            let goal = Goal { statement, acceptance, met, ..Goal::default() };
            Op::Plan(Box::new(PlanPatch { goal: Some(Some(goal)), ..PlanPatch::default() }))
        }
        "no-goal" => Op::Plan(Box::new(PlanPatch { goal: Some(None), ..PlanPatch::default() })),
        "call-it" => Op::Plan(Box::new(PlanPatch { title: text, ..PlanPatch::default() })),
        word => Op::Edit { item: item(), patch: Box::new(patch(word, &words[2..], text)) },
    }
}

fn patch(word: &str, words: &[&str], text: Option<String>) -> Patch {
    let refs = || words.iter().map(|it| refer(it)).collect();
    let mut patch = Patch::default();
    match word {
        "title" => patch.title = text,
        "context" => patch.context = text,
        "active" => patch.active_form = Some(text),
        "owner" => patch.owner = Some(text),
        "set" => patch.status = Some(words[0].parse().unwrap()),
        "merge" => patch.merge = serde_json::from_str(&text.unwrap()).unwrap(),
        "priority" => patch.priority = Some(words.first().map(|it| it.parse().unwrap())),
        "after" => patch.after = refs(),
        "not-after" => patch.not_after = refs(),
        "under" => patch.parent = Some(words.first().map(|it| refer(it))),
        "check" => {
            patch.check = Some(text.map(|command| Check {
                command,
                covers: Vec::new(),
                origin: Origin::Person,
            }));
        }
        _ => panic!("no command {word}"),
    }
    patch
}

fn new_item(words: &[&str], text: Option<String>) -> NewItem {
    let mut new = NewItem { title: text.unwrap_or_default(), ..NewItem::default() };
    let mut words = words.iter();
    let mut title = Vec::new();
    while let Some(word) = words.next() {
        match *word {
            "after" => new.depends_on.push(refer(words.next().unwrap())),
            "under" => new.parent = Some(refer(words.next().unwrap())),
            "priority" => new.priority = words.next().unwrap().parse().ok(),
            "at" => new.place = Place::At(Position(words.next().unwrap().parse().unwrap())),
            "first" => new.place = Place::Front,
            "before" => new.place = Place::Before(refer(words.next().unwrap())),
            "behind" => new.place = Place::After(refer(words.next().unwrap())),
            word => title.push(word),
        }
    }
    if new.title.is_empty() && !title.is_empty() {
        new.title = title.join(" ");
    }
    new
}

fn place(words: &[&str]) -> Place {
    match words[0] {
        "first" => Place::Front,
        "last" => Place::Back,
        "before" => Place::Before(refer(words[1])),
        "after" => Place::After(refer(words[1])),
        "to" => Place::At(Position(words[1].parse().unwrap())),
        word => panic!("no place {word}"),
    }
}

fn refer(text: &str) -> ItemRef {
    if let Some(n) = text.strip_prefix("entry") {
        ItemRef::Batch(n.parse().unwrap())
    } else if let Some(n) = text.strip_prefix('@') {
        ItemRef::Position(Position(n.parse().unwrap()))
    } else {
        text.parse().map_or_else(|_| ItemRef::Prefix(text.to_owned()), ItemRef::Number)
    }
}

fn entries(text: &str) -> Vec<ListEntry> {
    text.split('|').map(str::trim).filter(|it| !it.is_empty()).map(entry).collect()
}

fn entry(text: &str) -> ListEntry {
    let status = match &text[..3] {
        "[ ]" => Status::Pending,
        "[>]" => Status::InProgress,
        "[x]" => Status::Completed,
        "[-]" => Status::Cancelled,
        other => panic!("no status {other}"),
    };
    let (text, waiting_on) = match text[3..].split_once(" ~") {
        Some((text, on)) => (text.trim(), Some(on.trim().to_owned())),
        None => (text[3..].trim(), None),
    };
    let entry = match text.strip_prefix('#').and_then(|text| text.split_once(' ')) {
        Some((number, title)) => {
            ListEntry { item: Some(refer(number)), ..ListEntry::titled(title, status) }
        }
        None => ListEntry::titled(text, status),
    };
    ListEntry { waiting_on, ..entry }
}

fn evidence(word: &str) -> Evidence {
    let exit_code = match word {
        "approved" => None,
        "passed" => Some(0),
        _ => Some(1),
    };
    Evidence {
        level: if exit_code.is_none() { Level::Approved } else { Level::Checked },
        at: epoch(),
        by: "engine".to_owned(),
        run: exit_code.map(|code| CheckRun {
            command: "true".to_owned(),
            exit_code: Some(code),
            output_digest: String::new(),
            covered: Vec::new(),
            worktree: "/p".to_owned(),
        }),
    }
}

fn list(plan: &Plan) -> String {
    plan.listed().into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(item: &Item) -> String {
    let glyph = match item.status {
        Status::Pending => "[ ]",
        Status::InProgress => "[>]",
        Status::Completed => "[x]",
        Status::Cancelled => "[-]",
    };
    let mut out = format!("{glyph} {} {}", item.number, item.title);
    if let Some(claim) = &item.claim {
        let _ = write!(out, ", {} attempt {}", claim.holder, claim.attempt);
    }
    if !item.depends_on.is_empty() {
        let on: Vec<_> = item.depends_on.iter().map(Number::to_string).collect();
        let _ = write!(out, ", after {}", on.join(" "));
    }
    if let Some(parent) = item.parent {
        let _ = write!(out, ", under {parent}");
    }
    if let Some(on) = &item.waiting_on {
        let _ = write!(out, ", waits for {on}");
    }
    if let Some(outcome) = &item.outcome {
        let _ = write!(out, ": {outcome}");
    }
    if !item.marks.is_empty() {
        let _ = write!(out, " {:?}", item.marks);
    }
    out
}

/// An item with its derived values; `stale` says that covered files have changed.
fn show(plan: &Plan, number: Number, stale: bool) -> String {
    let item = plan.get(number).unwrap();
    let mut out = line(item);
    let place = item.position.map_or("superseded".to_owned(), |it| format!("position {it}"));
    let verification = plan.verification(item, stale).as_str();
    let _ = write!(out, "\n{place}, verification {verification}");
    for (is, word) in [(plan.is_ready(item), "ready"), (plan.is_blocked(item), "blocked")] {
        if is {
            let _ = write!(out, ", {word}");
        }
    }
    if let Some(level) = item.evidence_level() {
        let _ = write!(out, ", {}", level.as_str());
    }
    if let Some(claim) = &item.claim {
        let _ = write!(out, ", held until {}", claim.expires_at);
    }
    if let Some(metadata) = &item.metadata {
        let _ = write!(out, ", metadata {}", serde_json::to_string(metadata).unwrap());
    }
    out
}
