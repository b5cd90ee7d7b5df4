//! One item in full, and a plan without its items.

use std::collections::BTreeSet;

use punchlist_model::store::{AttachmentKey, Entry};
use punchlist_model::{Evidence, Item, Mark, Number, Plan, Status, Timestamp, Verification};

use super::log::{self, Show};
use super::{Options, duration, goal, shown};
use crate::text::glyph::Sign;
use crate::text::{Line, Style, isolated, many_lines, one_line, pad, truncate};

/// Field names are padded to this column.
const NAMES: usize = 12;

/// All fields of an item that are set, and its history: the `entries` that concern it.
pub fn detail(
    plan: &Plan,
    item: &Item,
    entries: &[Entry],
    show: Show<'_>,
    options: &Options,
) -> Vec<Line> {
    let mut out = Lines { out: Vec::new(), options };
    let sign = options.glyphs.sign(Sign::from(item.status));
    let mut head = Line::new();
    head.push(&format!("{sign} {}  ", item.number), Style::Plain);
    head.push(&isolated(&shown(&item.title)), Style::Bold);
    out.out.push(head);

    standing(plan, item, &mut out);
    place(plan, item, &mut out);
    work(item, &mut out);
    times(item, &mut out);
    history(plan, item, entries, show, &mut out);
    out.out
}

/// A plan's fields and progress, one line per field that is set.
pub fn header(
    plan: &Plan,
    key: Option<&AttachmentKey>,
    stale: &BTreeSet<Number>,
    now: Timestamp,
) -> String {
    let progress = plan.progress();
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{name:<13}{}\n", one_line(value)));
        }
    };
    line("plan", &plan.id.to_string());
    line("name", plan.name.as_deref().unwrap_or_default());
    line("title", &plan.title);
    line("project", &plan.project);
    if let Some(key) = key {
        line("agent", &key.agent);
        line("conversation", &key.conversation);
        line("turn", &key.turn);
    }
    line("revision", &plan.revision.to_string());
    line("state", plan.end.words());
    let (completed, total, percent) = (progress.completed, progress.total, progress.percent);
    line("progress", &format!("{completed}/{total} ({percent}%), {} open", plan.open));
    if let Some(aim) = &plan.goal {
        line("goal", &aim.statement);
        line("met", &goal::standing(plan, stale).unwrap_or_default());
        line("budget", &goal::budget(plan, now).join("; "));
    }
    line("demands", plan.rules.demand.map(|it| it.as_str()).unwrap_or_default());
    line("created", &duration::ago(plan.created_at, now));
    line("changed", &duration::ago(plan.updated_at, now));
    out
}

/// Items as a person sees them before approving them: what was to be done, and the reported
/// outcome.
pub fn before_approval(items: &[&Item]) -> Vec<String> {
    let mut lines = Vec::new();
    for item in items {
        let status = item.status.as_str();
        lines.push(format!("{}  {}  ({status})", item.number, one_line(&item.title)));
        let outcome = item.outcome.as_deref().unwrap_or_default();
        let said = [("criteria", item.completion_criteria.as_str()), ("outcome", outcome)];
        for (name, text) in said.into_iter().filter(|it| !it.1.is_empty()) {
            lines.push(format!("    {name}: {}", truncate(&one_line(text), 200)));
        }
    }
    lines
}

struct Lines<'a> {
    out: Vec<Line>,
    options: &'a Options,
}

impl Lines<'_> {
    /// A field on one line; nothing if the value is empty.
    fn field(&mut self, name: &str, value: &str) {
        let clean = one_line(value);
        if !clean.is_empty() {
            let mut line = Line::new();
            line.fill(2).push(&pad(name, NAMES), Style::Dim).push(" ", Style::Plain);
            line.push(&isolated(&clean), Style::Plain);
            self.out.push(line);
        }
    }

    /// A text of several lines below its name, or beside it if it fits on one line.
    fn block(&mut self, name: &str, value: &str) {
        let clean = many_lines(value);
        if !clean.trim().contains('\n') {
            return self.field(name, value);
        }
        self.out.push(Line::of(name, Style::Dim).indented(2));
        for line in clean.trim_matches('\n').lines() {
            self.out.push(Line::of(&isolated(line), Style::Plain).indented(4).trimmed_end());
        }
    }

    fn time(&mut self, name: &str, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.field(name, &format!("{at:.0} ({})", duration::ago(at, self.options.now)));
        }
    }
}

fn standing(plan: &Plan, item: &Item, out: &mut Lines<'_>) {
    let mut status = item.status.words().to_owned();
    if item.is_superseded() {
        status.push_str(", dropped");
    } else if plan.is_ready(item) {
        status.push_str(", ready");
    } else if plan.is_blocked(item) {
        status.push_str(", blocked");
    }
    out.field("status", &status);
    out.field("active form", item.active_form.as_deref().unwrap_or_default());
    out.field("waiting for", item.waiting_on.as_deref().unwrap_or_default());
    let stale = out.options.stale.contains(&item.number);
    let verification = plan.verification(item, stale);
    if verification != Verification::None {
        out.field("verification", verification.as_str());
    }
    for it in &item.evidence {
        out.field("evidence", &evidence(it, out.options));
    }
    let name = if item.status == Status::Cancelled { "reason" } else { "outcome" };
    out.block(name, item.outcome.as_deref().unwrap_or_default());
}

fn evidence(it: &Evidence, options: &Options) -> String {
    let age = duration::ago(it.at, options.now);
    let mut words = format!("{} by {}, {age}", it.level.as_str(), one_line(&it.by));
    if let Some(run) = &it.run {
        let ended = match run.exit_code {
            Some(code) => format!("exit {code}"),
            None => "killed".to_owned(),
        };
        words.push_str(&format!(": {} ({ended})", one_line(&run.command)));
        if !run.worktree.is_empty() {
            words.push_str(&format!(", in {}", one_line(&run.worktree)));
        }
    }
    words
}

fn place(plan: &Plan, item: &Item, out: &mut Lines<'_>) {
    let tag = |number: &Number| match plan.get(*number) {
        Some(it) => format!("{number} {}", shown(&it.title)),
        None => number.to_string(),
    };
    out.field("position", &item.position.map(|it| it.to_string()).unwrap_or_default());
    out.field("priority", &item.priority.map(|it| it.to_string()).unwrap_or_default());
    out.field("under", &item.parent.as_ref().map(tag).unwrap_or_default());
    for number in &item.depends_on {
        out.field("after", &tag(number));
    }
    for child in plan.children(item.number) {
        let status = child.status.words();
        out.field("contains", &format!("{} ({status})", tag(&child.number)));
    }
}

fn work(item: &Item, out: &mut Lines<'_>) {
    out.field("for", item.agent_type.as_deref().unwrap_or_default());
    out.field("owner", item.owner.as_deref().unwrap_or_default());
    if let Some(claim) = &item.claim {
        let (holder, attempt) = (one_line(&claim.holder.name), claim.attempt);
        let until = claim.expires_at;
        out.field("held by", &format!("{holder}, attempt {attempt}, until {until:.0}"));
    }
    out.block("context", &item.context);
    out.block("criteria", &item.completion_criteria);
    if let Some(check) = &item.check {
        out.block("verify", &check.command);
        out.field("covers", &check.covers.join(", "));
    }
    if let Some(run) = &item.run {
        out.block("run", &run.command);
    }
    if item.approve {
        out.field("approve", "yes");
    }
    out.field("retry", &item.retry.map(|it| it.to_string()).unwrap_or_default());
    out.field("timeout", &item.timeout.map(|it| format!("{it} s")).unwrap_or_default());
    let marks: Vec<_> = item.marks.iter().map(|it| mark(*it)).collect();
    out.field("marks", &marks.join(", "));
    if let Some(metadata) = &item.metadata {
        out.field("metadata", &super::json::render(&serde_json::Value::Object(metadata.clone())));
    }
}

/// A mark in words.
pub fn mark(mark: Mark) -> &'static str {
    match mark {
        Mark::TwoInProgress => "two in progress",
        Mark::EmptyTitle => "empty title",
        Mark::OverLimit => "over limit",
        Mark::IllegalTransition => "illegal transition",
        Mark::OpenChild => "open child",
        Mark::Blocked => "blocked",
        Mark::Unverified => "unverified",
        Mark::BadLink => "bad link",
        Mark::HeldByOther => "held by other",
        Mark::Conflict => "conflict",
        Mark::NulRemoved => "NUL removed",
        Mark::Unreadable => "partly unreadable",
        Mark::Parked => "parked",
    }
}

fn times(item: &Item, out: &mut Lines<'_>) {
    out.time("created", Some(item.created_at));
    out.time("started", item.started_at);
    out.time("completed", item.completed_at);
    out.time("dropped", item.superseded_at);
    out.field("id", &item.id.to_string());
}

fn history(plan: &Plan, item: &Item, entries: &[Entry], show: Show<'_>, out: &mut Lines<'_>) {
    let show = Show { only: Some(item.number), ..show };
    let lines = log::log(plan, entries, show, out.options);
    if !lines.is_empty() {
        out.out.push(Line::new());
        out.out.extend(lines.into_iter().map(|line| line.indented(2)));
    }
}
