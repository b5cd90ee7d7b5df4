//! All agents, those that wait for the person first.
//!
//! Rows have a fixed height, and the band above them is there even if nobody waits, so nothing
//! moves when something happens.

use maud::{Markup, html};
use punchlist_formats::text::last_sentence;
use punchlist_formats::view::watch;
use punchlist_model::agents::{Entry, Listed, NoList, Row, State};
use punchlist_model::{PlanId, Timestamp};

use super::parts::{ago, count, moment, progress, sign, since, state_sign, state_word, text};
use super::shell::{Live, Section, Shell};

/// What the page of all agents shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentsPage {
    /// The rows, in the order of the watcher.
    pub(crate) rows: Vec<Row>,
    /// For agents without a list: the agent, and the command that gives it one.
    pub(crate) offers: Vec<(String, String)>,
    /// Notes about the watching itself.
    pub(crate) notes: Vec<String>,
}

/// The page of all agents.
pub(crate) fn agents(shell: &Shell, it: &AgentsPage) -> Markup {
    let mut rows: Vec<&Row> = it.rows.iter().collect();
    // The sort is stable: within each kind the watcher's order stays.
    rows.sort_by_key(|row| (!matches!(row.state, State::Asks(_)), row.is_plan()));
    let content = html! {
        div.head { h1 { "Agents" } p.sum #sum { (summary(&rows)) } }
        (band(shell, &rows))
        @if rows.is_empty() { (empty()) } @else {
            ul.rows.agents data-list="hold" {
                @for row in rows { (line(shell, it, row)) }
            }
        }
        @for note in &it.notes { p.muted { (text(note)) } }
    };
    shell.page("Agents", Live::Yes, &content)
}

/// `1 waits for you · 2 working · 1 idle`
fn summary(rows: &[&Row]) -> String {
    // A plan that asks waits for the person like an agent; another plan has no state of its own.
    let has_state = |it: &&&Row| !it.is_plan() || matches!(it.state, State::Asks(_));
    let mut states: Vec<(&'static str, usize)> = Vec::new();
    for row in rows.iter().filter(has_state) {
        let word = state_word(&row.state);
        match states.iter_mut().find(|it| it.0 == word) {
            Some(state) => state.1 += 1,
            None => states.push((word, 1)),
        }
    }
    let word = |(word, count): (&'static str, usize)| match (word, count) {
        ("waits for you", 2..) => format!("{count} wait for you"),
        (word, count) => format!("{count} {word}"),
    };
    let mut parts: Vec<String> = states.into_iter().map(word).collect();
    let plans = rows.iter().filter(|it| it.is_plan()).count();
    if plans > 0 {
        parts.push(count(plans, "plan without an agent", "plans without an agent"));
    }
    parts.join(" · ")
}

/// Who waits for the person. It is as high if nobody does.
fn band(shell: &Shell, rows: &[&Row]) -> Markup {
    let asking: Vec<(&Row, &str)> = rows
        .iter()
        .filter_map(|row| match &row.state {
            State::Asks(what) => Some((*row, what.as_str())),
            State::Working
            | State::Waits(_)
            | State::Silent
            | State::Failed(_)
            | State::Idle
            | State::Died => None,
        })
        .collect();
    html! {
        section.you.calm[asking.is_empty()] #you aria-label="Who waits for you" {
            @match asking.first() {
                None => p { (super::parts::drawn("done", "all is well", super::parts::DONE)) "Nobody waits for you." },
                Some((row, what)) => {
                    (state_sign(&row.state))
                    p.what {
                        strong { (who(row)) } span.hidden { " asks: " }
                        span.ask { (text(what)) }
                    }
                    @if asking.len() > 1 { span.more { "+" (asking.len() - 1) span.hidden { " more wait" } } }
                    a.button.primary href=(where_to_answer(shell, row)) { "Answer" }
                },
            }
        }
    }
}

/// Where the person answers: here if the store has the question, otherwise at the agent itself.
fn where_to_answer(shell: &Shell, row: &Row) -> String {
    match row.question {
        Some(id) => format!("{}#q-{id}", shell.to(&Section::Questions.path())),
        None => address(shell, row),
    }
}

/// The address of one row: a plan's, a session's of our own agent, or an agent's.
fn address(shell: &Shell, row: &Row) -> String {
    let (kind, id) = row.key.split_once('/').unwrap_or((&row.key, ""));
    match kind {
        "plan" => shell.to(&format!("plans/{}", percent_encoded(id))),
        "question" => format!("{}#q-{id}", shell.to(&Section::Questions.path())),
        "punchlist" if row.sub_agent.is_none() => {
            shell.to(&format!("sessions/{}", percent_encoded(id.trim_end_matches('/'))))
        }
        _ => shell.to(&format!("agents/one?key={}", percent_encoded(&row.key))),
    }
}

/// Encodes a text for the query of an address.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn who(row: &Row) -> Markup {
    html! {
        @if row.is_plan() { (plan_name(row)) } @else { (text(&row.agent)) }
        " "
        span.place { (text(&watch::place(row))) }
    }
}

/// The title of a plan; one without a title is named by its id.
fn plan_name(row: &Row) -> Markup {
    html! { @if row.key.ends_with(&row.model) { "Plan " } (text(&row.model)) }
}

fn line(shell: &Shell, page: &AgentsPage, row: &Row) -> Markup {
    let href = address(shell, row);
    html! {
        li.row.agent.asks[matches!(row.state, State::Asks(_))] data-key=(percent_encoded(&row.key)) {
            (state_sign(&row.state))
            a.main data-row href=(href) {
                span.name { (who(row)) @if !row.is_plan() { span.model { (text(&row.model)) } } }
                span.doing { (doing(row, page)) }
            }
            span.list {
                @if let Some(list) = &row.list { (progress(list.done, list.total)) }
            }
            span.spent { (watch::spent(row)) }
            span.time { (age(row, shell.now)) }
        }
    }
}

/// How long it works, or when it last said something.
fn age(row: &Row, now: Timestamp) -> Markup {
    match row.state {
        State::Working | State::Asks(_) | State::Waits(_) => since(moment(row.at), now),
        State::Silent | State::Failed(_) | State::Idle | State::Died => ago(moment(row.at), now),
    }
}

/// The second line of a row: what it asks, what went wrong, what it works on, or what it said last.
fn doing(row: &Row, page: &AgentsPage) -> Markup {
    let current = row.list.as_ref().and_then(Listed::current);
    let said = last_sentence(&row.said);
    match &row.state {
        State::Asks(what) => html! { span.ask { "asks: " (text(what)) } },
        State::Failed(why) => html! { span.bad { "failed: " (text(why)) } },
        State::Waits(on) => html! { "waits for " (text(on)) },
        State::Died => {
            html! { span.bad { (died(row)) } @if !said.is_empty() { " · " (text(said)) } }
        }
        State::Working | State::Silent | State::Idle => match (current, said.is_empty()) {
            (Some(entry), is_silent) => html! {
                b { (text(&entry.label)) } @if !is_silent { " · " (text(said)) }
            },
            (None, false) => text(said),
            (None, true) => no_list(row, page),
        },
    }
}

fn died(row: &Row) -> String {
    match row.list.as_ref().map_or(0, |it| it.open) {
        0 => "died".to_owned(),
        open => format!("died with {open} open"),
    }
}

/// Why there is nothing to show.
fn no_list(row: &Row, page: &AgentsPage) -> Markup {
    if row.list.is_some() {
        return html! {};
    }
    let offer = page.offers.iter().find(|it| it.0 == row.agent);
    match (row.no_list, offer) {
        (NoList::Never, Some((_, command))) => {
            html! { "no list; " code { (command) } " gives it one" }
        }
        (NoList::Never, None) => html! { "no list" },
        (NoList::NotYet, _) => html! { "nothing planned yet" },
        (NoList::Cleared, _) => html! { "it cleared its list" },
    }
}

/// What to do first.
fn empty() -> Markup {
    html! {
        div.empty {
            h2 { "No agent has been seen yet" }
            ol {
                li { "Connect one: " code { "punchlist install claude" } " (or " code { "codex" } ", " code { "gemini" } ")." }
                li { "Start it in a project and give it work." }
                li { "It appears here by itself, with its plan." }
            }
            p.muted { "Without an agent: " code { "punchlist add \"First item\"" } " begins a plan by hand." }
        }
    }
}

/// The page of one agent.
pub(crate) fn agent(shell: &Shell, row: Option<&Row>, plan: Option<PlanId>) -> Markup {
    let Some(row) = row else {
        let content = html! {
            (back(shell))
            h1 { "This agent is gone" }
            p { "Its last event is too old to be shown." }
        };
        return shell.page("Agent", Live::Yes, &content);
    };
    let content = html! {
        (back(shell))
        div.head { h1 { (state_sign(&row.state)) " " (who(row)) } p.sum { (state_word(&row.state)) " · " (age(row, shell.now)) } }
        // Blocks: when one changes, the others stay where they are.
        div.blocks data-list="blocks" {
            (now(shell, row))
            dl.facts data-key="facts" {
                @if !row.model.is_empty() { dt { "Model" } dd { (text(&row.model)) } }
                dt { "Project" } dd { (text(&row.project)) }
                @let spent = watch::spent(row);
                @if !spent.is_empty() { dt { "Context, cost" } dd { (spent) } }
                dt { "Began" } dd { (ago(moment(row.began), shell.now)) }
            }
            @if !row.said.trim().is_empty() {
                section.piece data-key="said" { h2 { "Its last words" } (super::parts::block(&row.said)) }
            }
            @if let Some(list) = &row.list {
                section.piece data-key="list" {
                    div.head.small {
                        h2 { "Its list" } (progress(list.done, list.total))
                        @if let Some(plan) = plan { a.button href=(shell.to(&format!("plans/{plan}"))) { "Open the plan" } }
                    }
                    @if list.unconfirmed { p.muted { "The agent never said that this list was taken." } }
                    ul.rows.entries data-list="follow" {
                        @for (at, entry) in list.entries.iter().enumerate() { (entry_line(at, entry, shell.now)) }
                    }
                }
            }
        }
    };
    shell.page(&row.agent, Live::Yes, &content)
}

/// What it does now. The band is there whatever that is, so nothing moves when it begins to ask.
fn now(shell: &Shell, row: &Row) -> Markup {
    let asks = match &row.state {
        State::Asks(what) => Some(what),
        State::Working
        | State::Waits(_)
        | State::Silent
        | State::Failed(_)
        | State::Idle
        | State::Died => None,
    };
    html! {
        section.you.calm[asks.is_none()] data-key="now" aria-label="What it does now" {
            @if let Some(what) = asks {
                p.what { strong { "It asks" } span.ask { (text(what)) } }
                @if row.question.is_some() {
                    a.button.primary href=(where_to_answer(shell, row)) { "Answer" }
                } @else { p.muted { "Answer in the agent's own window." } }
            } @else {
                p.what { (doing(row, &AgentsPage::default())) }
            }
        }
    }
}

fn entry_line(at: usize, entry: &Entry, now: Timestamp) -> Markup {
    use punchlist_formats::text::glyph::Sign;
    let is_waiting = entry.status.is_open() && entry.waiting_on.is_some();
    let shown = if is_waiting { Sign::Waiting } else { entry.status.into() };
    html! {
        li.row.entry.{"d" (entry.depth.min(8))} data-key=(at) {
            (sign(shown))
            span.main { (text(&entry.label)) }
            @if let Some(on) = &entry.waiting_on { span.note.warn { "waiting for: " (text(on)) } }
            span.time { @if entry.since > 0 { (since(moment(entry.since), now)) } }
        }
    }
}

fn back(shell: &Shell) -> Markup {
    html! { p.back { a data-back href=(shell.to("agents")) { "← Agents" } } }
}
