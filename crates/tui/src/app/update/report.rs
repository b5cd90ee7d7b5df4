//! What follows from a report of the session.

use punchlist_agent::provider::ModelCall;
use punchlist_agent::session::{Ended, Entry, Event, Queued, Recorded, Report, is_for_user};
use punchlist_agent::turn::Ending;
use punchlist_formats::text::{Line, one_line};
use punchlist_model::Plan;
use punchlist_model::store::turns::Used;

use super::super::intent::Intent;
use super::super::model::{Model, Phase, Running, Streaming, Turn};
use super::super::{dialogs, transcript};
use super::{failed, options};
use crate::text::markdown;

pub(super) fn report(model: &mut Model, report: Report) -> Vec<Intent> {
    let lines = match report {
        Report::Opened { id, entries, used } => {
            let is_shown = model.session.replace(id) == Some(id);
            if is_shown {
                return Vec::new();
            }
            model.used = used;
            model.context_used = context_used(&entries);
            transcript::recorded(&entries, &model.agent.plan_tools, &options(model))
        }
        Report::Event(event @ Event::Plan { .. }) => {
            let lines = event_lines(model, event);
            let mut intents = dialogs::refresh(model);
            intents.push(Intent::Print(lines));
            return intents;
        }
        Report::Event(event) => event_lines(model, event),
        Report::Idle => {
            model.turn = None;
            Vec::new()
        }
        Report::Failed(fail, text) => {
            let mut intents = vec![failed(model, &fail)];
            intents.extend(text.map(|it| Intent::Print(give_back(model, &it))));
            return intents;
        }
    };
    if lines.is_empty() { Vec::new() } else { vec![Intent::Print(lines)] }
}

fn event_lines(model: &mut Model, event: Event) -> Vec<Line> {
    match event {
        Event::Began { request, plan, .. } => began(model, request.trim(), plan.map(|it| *it)),
        Event::Calling(purpose) => {
            let lines = flush(model);
            model.answer = Streaming { is_shown: is_for_user(purpose), ..Streaming::default() };
            phase(model, Phase::Thinking(String::new()));
            lines
        }
        Event::Text(text) => stream(model, &text),
        Event::Thinking(text) => {
            if let Some(Turn { phase: Phase::Thinking(line), .. }) = &mut model.turn {
                line.push_str(&text);
                // Only the last line is shown.
                let kept = line.trim_end().rfind('\n').map_or(0, |at| at + 1);
                line.drain(..kept);
            }
            Vec::new()
        }
        Event::Retry { why, wait } => {
            model.answer.live.clear();
            model.answer.whole.clear();
            let text = format!("{why} Trying again in {} s.", wait.as_secs().max(1));
            transcript::aside(&text, &options(model))
        }
        Event::Answered { text, usage, cost_micros, .. } => {
            let mut lines = Vec::new();
            if model.answer.whole.is_empty() {
                lines.extend(stream(model, &text));
            }
            lines.extend(flush(model));
            model.context_used = usage.input.saturating_add(usage.output);
            let cost_micros = cost_micros.unwrap_or(0);
            model.used += Used { calls: 1, input: usage.input, output: usage.output, cost_micros };
            phase(model, Phase::Calling);
            lines
        }
        Event::CallStarted(call) => {
            if !model.is_plan_tool(&call) {
                let (id, since) = (call.id.clone(), model.now);
                model.calls.push(Running { id, call, since, line: String::new() });
            }
            Vec::new()
        }
        Event::CallOutput { call, line } => {
            if let Some(running) = model.calls.iter_mut().find(|it| it.id == call.id)
                && !line.text.trim().is_empty()
            {
                running.line = one_line(&line.text).into_owned();
            }
            Vec::new()
        }
        Event::CallEnded { call, is_error, text, .. } => {
            let at = model.calls.iter().position(|it| it.id == call.id);
            let since = at.map_or(model.now, |at| model.calls.remove(at).since);
            if model.is_plan_tool(&call) && !is_error {
                return Vec::new();
            }
            transcript::call(&call, since, is_error.then_some(text.as_str()), &options(model))
        }
        Event::Plan { before, now } => {
            let lines = transcript::transitions(before.as_deref(), &now, &options(model));
            (model.plan, model.is_own_plan) = (Some(*now), true);
            lines
        }
        Event::Refused { open, .. } => {
            let items = if open == 1 { "1 item is" } else { &format!("{open} items are") };
            transcript::aside(&format!("not accepted yet: {items} open"), &options(model))
        }
        Event::Steered(text) => transcript::said(&text, &options(model)),
        Event::Queued(queued) => {
            let Queued { mut waiting, is_paused, .. } = *queued;
            waiting.sort_by_key(|it| !it.steer);
            (model.queue, model.is_paused) = (waiting, is_paused);
            Vec::new()
        }
        Event::NotQueued { text, why } => {
            let mut lines = transcript::wrong(&why, &options(model));
            lines.extend(give_back(model, &text));
            lines
        }
        Event::Info(text) => {
            let lines = transcript::aside(&text, &options(model));
            model.answer.told = text;
            lines
        }
        Event::Compacting => {
            busy(model, Phase::Compacting);
            Vec::new()
        }
        Event::Compacted => transcript::aside(transcript::COMPACTED, &options(model)),
        Event::Waiting { until, on } => {
            let until = until.map(|it| format!(" until {it}")).unwrap_or_default();
            phase(model, Phase::Waiting(format!("{}{until}", one_line(&on))));
            Vec::new()
        }
        Event::Ended(ended) => end(model, &ended),
        // The questions come from the store, as those of others do.
        Event::Asked { .. } | Event::Settled { .. } | Event::Leader(_) => Vec::new(),
        Event::Worker { worker, event } => worker_lines(model, &worker, *event),
    }
}

/// What a worker with a model does: its calls, with its name before them.
fn worker_lines(model: &mut Model, worker: &str, event: Event) -> Vec<Line> {
    let named = |call: ModelCall| ModelCall { tool: format!("{worker}: {}", call.tool), ..call };
    match event {
        Event::Answered { usage, cost_micros, .. } => {
            let cost_micros = cost_micros.unwrap_or(0);
            model.used += Used { calls: 1, input: usage.input, output: usage.output, cost_micros };
            Vec::new()
        }
        Event::CallStarted(call) => event_lines(model, Event::CallStarted(named(call))),
        Event::CallEnded { call, is_error, is_cancelled, text } => {
            let call = named(call);
            event_lines(model, Event::CallEnded { call, is_error, is_cancelled, text })
        }
        event @ Event::CallOutput { .. } => event_lines(model, event),
        Event::Began { .. }
        | Event::Calling(_)
        | Event::Text(_)
        | Event::Thinking(_)
        | Event::Retry { .. }
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
        | Event::Ended(_) => Vec::new(),
    }
}

/// A turn begins, or goes on with its plan.
fn began(model: &mut Model, request: &str, plan: Option<Plan>) -> Vec<Line> {
    busy(model, Phase::Thinking(String::new()));
    (model.plan, model.is_own_plan) = (plan, true);
    model.calls.clear();
    model.answer = Streaming::default();
    if request.is_empty() { Vec::new() } else { transcript::said(request, &options(model)) }
}

/// From now on the session is busy.
fn busy(model: &mut Model, phase: Phase) {
    model.turn = Some(Turn { since: model.now, phase, is_ending: false });
}

/// A text that could not be sent comes back into the input. If something else is typed there, the text is
/// shown.
fn give_back(model: &mut Model, text: &str) -> Vec<Line> {
    if model.input.is_empty() {
        match text.starts_with("/goal ") {
            true => model.input.set_text(text),
            false => model.input.set_message(text),
        }
        return Vec::new();
    }
    transcript::aside(&format!("not sent: {}", text.trim()), &options(model))
}

/// The tokens of the last request.
fn context_used(entries: &[Recorded]) -> u64 {
    let last = entries.iter().rev().find_map(|it| match &it.entry {
        Entry::Answer(answer) => Some(answer.usage),
        Entry::User { .. }
        | Entry::Steering { .. }
        | Entry::Result(_)
        | Entry::Told { .. }
        | Entry::Info { .. }
        | Entry::Summary { .. }
        | Entry::Used { .. }
        | Entry::Ended { .. } => None,
    });
    last.map_or(0, |it| it.input.saturating_add(it.output))
}

fn phase(model: &mut Model, phase: Phase) {
    if let Some(turn) = &mut model.turn {
        turn.phase = phase;
    }
}

/// Text of the model arrives: blocks that are complete go into the scrollback.
fn stream(model: &mut Model, text: &str) -> Vec<Line> {
    if !model.answer.is_shown {
        return Vec::new();
    }
    let text = if model.answer.whole.is_empty() { text.trim_start() } else { text };
    if text.is_empty() {
        return Vec::new();
    }
    phase(model, Phase::Writing);
    model.answer.whole.push_str(text);
    model.answer.live.push_str(text);
    let stable = markdown::stable_prefix(&model.answer.live);
    let done: String = model.answer.live.drain(..stable).collect();
    written(model, &done)
}

/// The rest of the text goes into the scrollback.
fn flush(model: &mut Model) -> Vec<Line> {
    let rest = std::mem::take(&mut model.answer.live);
    written(model, &rest)
}

fn written(model: &mut Model, text: &str) -> Vec<Line> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut lines = transcript::answer(text.trim_end(), &options(model));
    if !model.answer.is_begun {
        model.answer.is_begun = true;
        // One blank line before an answer.
        let begins_blank = lines.first().is_some_and(|it| it.width() == 0);
        match (begins_blank, model.is_after_blank) {
            (true, true) => drop(lines.remove(0)),
            (false, false) => lines.insert(0, Line::new()),
            (true, false) | (false, true) => {}
        }
    }
    lines
}

/// The turn has ended.
fn end(model: &mut Model, ended: &Ended) -> Vec<Line> {
    let mut lines = flush(model);
    // The answer was written as it arrived; what the runtime added to it was not.
    let rest = ended.answer.strip_prefix(model.answer.whole.trim_end());
    let rest = rest.unwrap_or(&ended.answer).trim_start_matches('\n');
    let rest = if rest == model.answer.told { "" } else { rest };
    if !rest.is_empty() {
        lines.push(Line::new());
        lines.extend(transcript::answer(rest, &options(model)));
    }
    let words = match &ended.ending {
        Ending::Answered => String::new(),
        Ending::Aborted(_) => "stopped; the list stays".to_owned(),
        other @ (Ending::Asked
        | Ending::Planned
        | Ending::LetGo
        | Ending::Limit
        | Ending::Stuck
        | Ending::PlanningFailed
        | Ending::NotValidated
        | Ending::Unfit
        | Ending::Failed(_)) => other.words(),
    };
    if !words.is_empty() {
        let options = options(model);
        let text = transcript::summary(&words, ended.used, options.glyphs);
        lines.extend(transcript::aside(&text, &options));
    }
    model.turn = None;
    model.calls.clear();
    model.answer = Streaming::default();
    lines
}
