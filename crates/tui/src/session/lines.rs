//! What is printed for each event of a session: the model's text as it arrives, a line for each call,
//! the plan when it changes. Pure.

use punchlist_agent::provider::ModelCall;
use punchlist_agent::session::{Event, QueueChange, Queued, is_for_user, rule_to_add};
use punchlist_formats::text::width::truncate;
use punchlist_formats::text::{Colour, Line, Style, many_lines, one_line, width};
use punchlist_formats::view::{Options, plain};
use punchlist_model::call::Message;
use punchlist_model::{Item, ItemId, Plan, Status};

use crate::about::about;
use crate::options::Screen;

/// The most columns of what a call is about.
const LONGEST: usize = 160;

/// Turns events into text.
pub(super) struct Lines {
    screen: Screen,
    options: Options,
    /// The tools of the plan are not printed as calls: the plan itself is.
    plan_tools: Vec<String>,
    /// Whether the last text ended in the middle of a line.
    is_in_line: bool,
    /// Whether the text that arrives is meant for the user.
    is_shown: bool,
    /// Whether text of the present answer has arrived.
    has_text: bool,
    /// The last text that was printed, to recognise the final answer.
    printed: String,
    /// The last line of the runtime, which may be the final answer too.
    told: String,
    /// Whether a turn has ended.
    has_ended: bool,
}

impl Lines {
    pub(super) fn new(screen: Screen, options: Options, plan_tools: Vec<String>) -> Self {
        Self {
            screen,
            options,
            plan_tools,
            is_in_line: false,
            is_shown: true,
            has_text: false,
            printed: String::new(),
            told: String::new(),
            has_ended: false,
        }
    }

    /// What is printed for an event; may be empty.
    pub(super) fn event(&mut self, event: &Event) -> String {
        match event {
            Event::Calling(purpose) => {
                self.is_shown = is_for_user(*purpose);
                self.has_text = false;
                self.printed.clear();
                self.told.clear();
                self.line_end()
            }
            Event::Text(text) if self.is_shown => self.text(text),
            Event::Answered { text, .. } if self.is_shown && !self.has_text => {
                let text = self.text(text);
                text + &self.line_end()
            }
            Event::Answered { .. } => self.line_end(),
            Event::Retry { why, wait } => {
                self.has_text = false;
                self.said(&format!("{why} Trying again in {} s.", wait.as_secs().max(1)))
            }
            Event::CallStarted(call) if !self.is_plans(call) => self.call("  ", call),
            Event::CallEnded { call, is_error: true, text, .. } => self.failed("  ", call, text),
            Event::Worker { worker, event } => self.worker(worker, event),
            Event::Plan { before, now } => self.plan(before.as_deref(), now),
            Event::Refused { open, .. } => {
                let items = if *open == 1 { "1 item is" } else { &format!("{open} items are") };
                self.said(&format!("not accepted yet: {items} open"))
            }
            Event::Steered(text) => self.said(&format!("you: {}", one_line(text))),
            Event::Queued(queued) => self.queued(queued),
            Event::NotQueued { why, .. } => self.said(&format!("not queued: {why}")),
            Event::Info(text) => {
                self.told.clone_from(text);
                self.said(text)
            }
            Event::Compacting => self.said("summarising the conversation"),
            Event::Compacted => self.said("older parts of the conversation were summarised"),
            Event::Waiting { until, on } => {
                let until = until.map(|it| format!(" until {it}")).unwrap_or_default();
                self.said(&format!("waiting for {on}{until}; Ctrl-C ends it"))
            }
            // The request of the first turn was typed here.
            Event::Began { request, .. } if self.has_ended && !request.is_empty() => {
                self.said(&format!("you: {}", one_line(request)))
            }
            Event::Ended(ended) => {
                self.has_ended = true;
                // The answer was printed as it arrived; what the runtime added to it was not.
                let rest = ended.answer.strip_prefix(self.printed.trim_end());
                let rest = rest.unwrap_or(&ended.answer).trim_start_matches('\n');
                // It was printed before, perhaps in a code block.
                let is_known = rest == self.told || self.printed.contains(ended.answer.trim());
                let rest = if is_known { "" } else { rest };
                let mut out = self.line_end();
                if !rest.is_empty() {
                    out.push_str(&format!("{}\n", many_lines(rest)));
                }
                out
            }
            Event::Began { .. }
            | Event::Text(_)
            | Event::Thinking(_)
            | Event::CallStarted(_)
            | Event::CallOutput { .. }
            | Event::CallEnded { .. }
            | Event::Asked { .. }
            | Event::Settled { .. }
            | Event::Leader(_) => String::new(),
        }
    }

    /// What a worker does, indented under the call that delegates.
    fn worker(&mut self, worker: &str, event: &Event) -> String {
        let indent = format!("    {}: ", one_line(worker));
        match event {
            Event::CallStarted(call) => self.call(&indent, call),
            Event::CallEnded { call, is_error: true, text, .. } => self.failed(&indent, call, text),
            Event::Began { .. }
            | Event::Calling(_)
            | Event::Text(_)
            | Event::Thinking(_)
            | Event::Retry { .. }
            | Event::Answered { .. }
            | Event::CallOutput { .. }
            | Event::CallEnded { .. }
            | Event::Asked { .. }
            | Event::Settled { .. }
            | Event::Plan { .. }
            | Event::Refused { .. }
            | Event::Steered(_)
            | Event::Queued(_)
            | Event::NotQueued { .. }
            | Event::Info(_)
            | Event::Compacting
            | Event::Compacted
            | Event::Waiting { .. }
            | Event::Worker { .. }
            | Event::Leader(_)
            | Event::Ended(_) => String::new(),
        }
    }

    /// A call that begins.
    fn call(&mut self, indent: &str, call: &ModelCall) -> String {
        let mut line = Line::new();
        line.push(indent, Style::Plain).push(&one_line(&call.tool), Style::Bold);
        let about = about(call);
        let about = truncate(&about, self.room(indent, call));
        line.push(&format!("  {about}"), Style::Plain);
        self.line(&line)
    }

    /// A call that failed.
    fn failed(&mut self, indent: &str, call: &ModelCall, text: &str) -> String {
        let first = text.lines().map(str::trim).find(|it| !it.is_empty());
        let first = one_line(first.unwrap_or_default());
        let first = truncate(&first, self.room(indent, call));
        let line = format!("{indent}{}: {first}", one_line(&call.tool));
        let mut out = self.line(&Line::of(&line, Style::In(Colour::Red)));
        for rule in rule_to_add(&call.tool, text) {
            let rule = format!("{indent}  {}", one_line(rule));
            out.push_str(&self.line(&Line::of(&rule, Style::Plain)));
        }
        out
    }

    /// A change of the queue that the user has not made here.
    fn queued(&mut self, queued: &Queued) -> String {
        let about = |message: &Message| truncate(&one_line(&message.text), 60).into_owned();
        match &queued.change {
            QueueChange::Added(it) => self.said(&format!("queued: {}", about(it))),
            QueueChange::Removed(it) => self.said(&format!("no longer queued: {}", about(it))),
            QueueChange::Paused(true) if !queued.waiting.is_empty() => {
                self.said("the queue is paused: `punchlist sessions queue --go` takes it up again")
            }
            QueueChange::Edited(_)
            | QueueChange::Taken(_)
            | QueueChange::Reordered
            | QueueChange::Paused(_) => String::new(),
        }
    }

    /// Ends the line that the cursor is in.
    pub(super) fn line_end(&mut self) -> String {
        if std::mem::take(&mut self.is_in_line) { "\n".to_owned() } else { String::new() }
    }

    /// Text of the model, as it arrives.
    fn text(&mut self, text: &str) -> String {
        let text = if self.has_text { text } else { text.trim_start() };
        if text.is_empty() {
            return String::new();
        }
        self.has_text = true;
        self.printed.push_str(text);
        self.is_in_line = !text.ends_with('\n');
        many_lines(text).into_owned()
    }

    fn said(&mut self, text: &str) -> String {
        let mut out = String::new();
        for line in text.lines() {
            out.push_str(&self.line(&Line::of(&one_line(line), Style::Dim)));
        }
        out
    }

    fn line(&mut self, line: &Line) -> String {
        format!("{}{}\n", self.line_end(), self.screen.line(line))
    }

    /// How many columns are left for what a call is about, so that its line is not wrapped.
    fn room(&self, indent: &str, call: &ModelCall) -> usize {
        if !self.screen.is_terminal {
            return LONGEST;
        }
        let taken = width(indent) + width(&call.tool) + 3;
        usize::from(self.screen.width).saturating_sub(taken).clamp(16, LONGEST)
    }

    /// The plan: the whole list if it was made or rewritten, else a line for each item that moved.
    fn plan(&mut self, before: Option<&Plan>, now: &Plan) -> String {
        let start = self.line_end();
        let ids = |plan: &Plan| -> Vec<ItemId> { plan.listed().iter().map(|it| it.id).collect() };
        let Some(before) = before.filter(|it| ids(it) == ids(now)) else {
            return format!("{start}{}\n", plain::update(now, &self.options));
        };
        let status = |id: ItemId| -> Option<Status> {
            before.listed().iter().find(|it| it.id == id).map(|it| it.status)
        };
        let moved = |it: &&Item| status(it.id).is_some_and(|was| was != it.status);
        let listed = now.listed();
        let lines = listed
            .into_iter()
            .filter(moved)
            .map(|it| format!("{}\n", self.screen.line(&plain::transition(it, &self.options))));
        start + &lines.collect::<String>()
    }

    fn is_plans(&self, call: &ModelCall) -> bool {
        self.plan_tools.contains(&call.tool)
    }
}
