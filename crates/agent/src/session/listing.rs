//! Stored sessions: found by id, and shown in lists. Pure but for the store.

use futures_core::future::BoxFuture;
use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_formats::text::secret::mask;
use punchlist_formats::text::{Colour, Line, Style, one_line, pad};
use punchlist_formats::view::{Options, duration};
use punchlist_model::agents::SessionFacts;
use punchlist_model::call::QuestionFilter;
use punchlist_model::session::Store;
use punchlist_model::store::turns::{
    Conversation, ConversationFilter, ConversationState, EntryFilter, Turn,
};
use punchlist_model::{ConversationId, Timestamp};

use super::entry::{Entry, Recorded};
use super::recorder::{Machine, not_json};
use super::rule_to_add::rule_to_add;
use super::settings::SessionSettings;
use crate::leader::LedBy;
use crate::provider::{Arguments, CallResult, ModelName};

/// The session that a person means by the beginning or end of its id; without one, the newest of the
/// project.
pub async fn find(
    store: &dyn Store,
    project: &str,
    typed: Option<&str>,
) -> Result<Conversation, Fail> {
    let filter = match typed {
        Some(typed) => ConversationFilter {
            id: Some(typed.to_ascii_lowercase()),
            ..ConversationFilter::default()
        },
        None => ConversationFilter {
            project: Some(project.to_owned()),
            most: 1,
            ..ConversationFilter::default()
        },
    };
    let mut found = store.conversations(filter).await?;
    match (found.len(), typed) {
        (1, _) => Ok(found.remove(0)),
        (0, Some(typed)) => Err(Fail::not_found(format!("there is no session {typed:?}")).hint(
            if typed.contains(char::is_whitespace) {
                "the id of the session comes first, then the text; `punchlist sessions --all` lists \
                 the ids."
            } else {
                "`punchlist sessions --all` lists them."
            },
        )),
        (0, None) => {
            Err(Fail::not_found("this project has no session")
                .hint("`punchlist do TASK` begins one."))
        }
        (_, _) => {
            let lines = found.iter().map(|it| format!("{}  {}", it.id, one_line(&it.title)));
            Err(Fail::usage(format!(
                "{:?} could be any of these sessions",
                typed.unwrap_or_default()
            ))
            .details(lines.collect())
            .hint("type more of the id."))
        }
    }
}

/// Whether a process runs the session, as far as this one can tell.
pub fn is_running(conversation: &Conversation, around: &dyn Around) -> bool {
    let Some(runner) = &conversation.runner else { return false };
    let has_ended = runner.process.as_ref().is_some_and(|it| around.has_ended(it));
    runner.until > around.now() && !has_ended
}

/// Notes in the state of a session that runs that it waits for the answer to a question.
pub async fn note_question(store: &dyn Store, conversation: &mut Conversation) -> Result<(), Fail> {
    if LedBy::of(conversation).is_some() {
        // Its program asks nobody.
        return Ok(());
    }
    let last = store.turns(conversation.id).await?.pop().filter(|it| it.ending.is_none());
    let Some(row) = last else { return Ok(()) };
    let machine: Machine = serde_json::from_str(&row.machine).map_err(not_json)?;
    let Some(run) = machine.run else { return Ok(()) };
    let filter = QuestionFilter { run: Some(run), waiting: true, ..QuestionFilter::default() };
    if let Some(question) = store.questions(filter).await?.first() {
        let on = format!("`punchlist answer {}`", question.asked.id.short());
        conversation.state = ConversationState::Waiting { until: None, on };
    }
    Ok(())
}

/// What `watch` shows of a session besides its state: its model, and the tokens of its last model call.
pub fn facts<'a>(
    store: &'a dyn Store,
    conversation: &'a Conversation,
) -> BoxFuture<'a, SessionFacts> {
    Box::pin(async move {
        let filter = EntryFilter { kind: Some("answer"), last: 1, ..EntryFilter::default() };
        let last = store.entries(conversation.id, filter).await.unwrap_or_default().pop();
        let usage = last.and_then(|it| match Recorded::read(&it).ok()?.entry {
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
        let context = usage.map(|it| it.input.saturating_add(it.output)).filter(|it| *it > 0);
        SessionFacts { model: model_name(conversation), context }
    })
}

/// The name of a session's model, without the provider.
fn model_name(conversation: &Conversation) -> String {
    let led_by = LedBy::of(conversation).map(|it| it.model.unwrap_or_default());
    let model = led_by.unwrap_or_else(|| {
        let settings: Result<SessionSettings, _> = serde_json::from_str(&conversation.settings);
        settings.map(|it| it.model).unwrap_or_default()
    });
    match model.parse::<ModelName>() {
        Ok(scenario) if scenario.is_scripted() => scenario.provider,
        Ok(known) => known.name,
        Err(_) => model,
    }
}

/// How many entries are searched for a text.
const MOST_SEARCHED: u32 = 20;

/// The last text that the model of a session wrote; `None` if there is none or it cannot be read.
pub async fn last_text(store: &dyn Store, id: ConversationId) -> Option<String> {
    let filter =
        EntryFilter { last: MOST_SEARCHED, but: Some(Entry::USED), ..EntryFilter::default() };
    let entries = store.entries(id, filter).await.ok()?;
    entries.iter().rev().filter_map(|it| Recorded::read(it).ok()).find_map(|it| match it.entry {
        Entry::Answer(answer) => Some(answer.message.text).filter(|it| !it.trim().is_empty()),
        Entry::User { .. }
        | Entry::Steering { .. }
        | Entry::Result(_)
        | Entry::Told { .. }
        | Entry::Info { .. }
        | Entry::Summary { .. }
        | Entry::Used { .. }
        | Entry::Ended { .. } => None,
    })
}

/// What a session does now, in words. A runner whose lease has ended, or that is gone, does nothing.
pub fn state(conversation: &Conversation, is_running: bool, now: Timestamp) -> String {
    match &conversation.state {
        ConversationState::Idle => "ended".to_owned(),
        ConversationState::Asked => "asks you".to_owned(),
        ConversationState::Working | ConversationState::Waiting { .. } if !is_running => {
            "cut off".to_owned()
        }
        ConversationState::Working => "works".to_owned(),
        ConversationState::Waiting { until, on } => {
            let until = until.filter(|it| *it > now);
            let left = until.map(|it| format!(" ({} left)", duration::between(now, it)));
            format!("waits for {}{}", one_line(on), left.unwrap_or_default())
        }
    }
}

/// One line for each session: id, state, turns, tokens, age, title; and if another agent leads it, which, and
/// how that agent's program goes on with it.
pub fn lines(
    all: &[Conversation],
    is_running: impl Fn(&Conversation) -> bool,
    options: &Options,
) -> Vec<Line> {
    let states: Vec<String> = all.iter().map(|it| state(it, is_running(it), options.now)).collect();
    let widest = states.iter().map(|it| it.chars().count()).max().unwrap_or(0);
    let line = |(it, state): (&Conversation, &String)| {
        let mut line = Line::new();
        line.push(&it.id.short(), Style::In(Colour::Cyan)).push("  ", Style::Plain);
        line.push(&pad(state, widest), Style::Bold);
        let turns = if it.turns == 1 { "1 turn" } else { &format!("{} turns", it.turns) };
        let tokens = it.used.input.saturating_add(it.used.output);
        let age = duration::ago(it.changed_at, options.now);
        line.push(&format!("  {turns}  {tokens} tokens  {age}  "), Style::Dim);
        line.push(&one_line(&it.title), Style::Plain);
        if let Some(led_by) = LedBy::of(it) {
            line.push(&format!("  {}", led_words(&led_by)), Style::Dim);
        }
        line
    };
    all.iter().zip(&states).map(line).collect()
}

/// `led by Claude Code: claude --resume 0c3a`
fn led_words(led_by: &LedBy) -> String {
    format!("led by {}: {}", led_by.agent.title(), one_line(&led_by.command()))
}

/// All turns of a session, to read.
pub fn transcript(conversation: &Conversation, turns: &[Turn], entries: &[Recorded]) -> Vec<Line> {
    let mut lines = vec![Line::of(&one_line(&conversation.title), Style::Bold)];
    if let Some(led_by) = LedBy::of(conversation) {
        lines.push(Line::of(&led_words(&led_by), Style::Dim));
        let title = led_by.agent.title();
        let text = format!("Only requests and answers are stored here; {title} has the rest.");
        lines.push(Line::of(&text, Style::Dim));
    }
    for turn in turns {
        let ending = turn.ending.as_deref().unwrap_or("cut off");
        let tokens = turn.used.input.saturating_add(turn.used.output);
        lines.push(Line::new());
        lines.push(Line::of(
            &format!("turn {}  {}  {ending}  {tokens} tokens", turn.number, turn.began_at),
            Style::Dim,
        ));
        for it in entries.iter().filter(|it| it.turn == turn.number) {
            lines.extend(entry(&it.entry));
        }
    }
    lines
}

fn entry(entry: &Entry) -> Vec<Line> {
    let text = |label: &str, text: &str, style| -> Vec<Line> {
        let mut lines = mask(text.trim()).lines().map(one_line_owned).collect::<Vec<_>>();
        if let Some(first) = lines.first_mut() {
            *first = format!("{label}{first}");
        }
        lines.iter().map(|it| Line::of(it, style)).collect()
    };
    match entry {
        Entry::User { text: said } | Entry::Steering { text: said } => {
            text("> ", said, Style::Bold)
        }
        Entry::Answer(answer) => {
            let mut lines = text("", &answer.message.text, Style::Plain);
            let sources = answer.citations.iter().map(|it| mask(&it.line()).into_owned());
            lines.extend(sources.map(|it| indented(2, &cut(&one_line(&format!("source: {it}"))))));
            for call in &answer.message.calls {
                let arguments = match &call.arguments {
                    Arguments::Object(value) => value.to_string(),
                    Arguments::Invalid(text) => text.clone(),
                };
                let line = format!("{}  {}", call.tool, mask(&arguments));
                lines.push(indented(2, &cut(&one_line(&line))));
            }
            lines
        }
        Entry::Result(end) => {
            let failed = if end.result.is_error { "failed: " } else { "" };
            let line = format!("{failed}{}", mask(first_words(&end.result.text)));
            let mut lines = vec![indented(4, &cut(&one_line(&line)))];
            lines.extend(rules(&end.result).iter().map(|it| indented(6, &cut(it))));
            lines
        }
        Entry::Told { text: said } => text("  (to the model) ", &first_line(said), Style::Dim),
        Entry::Info { text: said } => text("  ", said, Style::Dim),
        Entry::Summary { .. } => text("  ", "older parts were summarised", Style::Dim),
        // The sum is shown with the turn.
        Entry::Used { .. } => Vec::new(),
        Entry::Ended { ending } => text("  ", &ending.words(), Style::Dim),
    }
}

fn indented(by: usize, text: &str) -> Line {
    let mut line = Line::new();
    line.fill(by).push(text, Style::Dim);
    line
}

/// The first line of a result that says something: neither a label nor the fence around foreign text.
fn first_words(text: &str) -> &str {
    let is_frame = |it: &&str| it.is_empty() || it.starts_with("```") || it.starts_with("~~~");
    let mut lines = text.lines().map(str::trim).filter(|it| !is_frame(it));
    let first = lines.next().unwrap_or_default();
    if first.ends_with(':') { lines.next().unwrap_or(first) } else { first }
}

/// The lines of the rules that would allow a call that was refused.
fn rules(result: &CallResult) -> Vec<String> {
    // The label of the fence is the tool.
    let tool = result.text.lines().next().and_then(|it| it.strip_suffix(':'));
    let Some(tool) = tool.filter(|_| result.is_error) else { return Vec::new() };
    rule_to_add(tool, &result.text).into_iter().map(|it| one_line_owned(&mask(it))).collect()
}

fn one_line_owned(text: &str) -> String {
    one_line(text).into_owned()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The most characters of a line of a transcript.
const LONGEST: usize = 200;

fn cut(text: &str) -> String {
    let mut chars = text.chars();
    let cut: String = chars.by_ref().take(LONGEST).collect();
    if chars.next().is_some() { cut + "…" } else { cut }
}
