//! Conversations of our own agent: all of them, and one to read, live.

use maud::{Markup, html};
use punchlist_agent::provider::{Arguments, ModelCall, ThinkingBlock};
use punchlist_agent::session::{Entry, Recorded, listing, money};
use punchlist_formats::text::last_sentence;
use punchlist_formats::text::secret::mask;
use punchlist_model::store::turns::{Conversation, ConversationState, Turn, Used};

use super::parts::{ago, block, code, count, drawn, project, text, title};
use super::shell::{Live, Shell};

/// A conversation, and whether a process runs it.
pub(crate) type Listed = (Conversation, bool);

/// The list of conversations.
pub(crate) fn sessions(shell: &Shell, all: &[Listed]) -> Markup {
    let running = all.iter().filter(|it| it.1).count();
    let content = html! {
        div.head { h1 { "Sessions" } p.sum { (running) " running · " (all.len()) " in all" } }
        @if all.is_empty() {
            div.empty {
                h2 { "There is no session yet" }
                p { "A session is a conversation with Punchlist's own agent. " code { "punchlist do \"Fix the failing test\"" } " begins one; so does " code { "punchlist" } " alone." }
            }
        } @else {
            ul.rows.sessions data-list="hold" { @for it in all { (line(shell, it)) } }
        }
    };
    shell.page("Sessions", Live::Yes, &content)
}

fn line(shell: &Shell, (it, is_running): &Listed) -> Markup {
    html! {
        li.row.session data-key=(it.id) {
            (sign(it, *is_running))
            a.main data-row href=(shell.to(&format!("sessions/{}", it.id))) {
                span.name { (title(&mask(&it.title))) }
                span.doing { (text(&listing::state(it, *is_running, shell.now))) " · " (project(&it.project)) }
            }
            span.list { (count(usize::try_from(it.turns).unwrap_or(usize::MAX), "turn", "turns")) }
            span.spent { (used(&it.used)) }
            span.time { (ago(it.changed_at, shell.now)) }
        }
    }
}

fn sign(it: &Conversation, is_running: bool) -> Markup {
    use punchlist_model::agents::State;
    super::parts::state_sign(&match &it.state {
        ConversationState::Asked => State::Asks(String::new()),
        ConversationState::Idle => State::Idle,
        ConversationState::Working | ConversationState::Waiting { .. } if !is_running => {
            State::Died
        }
        ConversationState::Working => State::Working,
        ConversationState::Waiting { .. } => State::Waits(String::new()),
    })
}

/// `12,400 tokens  0.42`
fn used(used: &Used) -> String {
    let tokens = used.input.saturating_add(used.output);
    let tokens = match tokens {
        0..1_000 => format!("{tokens} tokens"),
        _ => format!("{}k tokens", tokens / 1_000),
    };
    if used.cost_micros == 0 { tokens } else { format!("{tokens}  {}", money(used.cost_micros)) }
}

/// What the page of a conversation shows.
#[derive(Clone, Debug)]
pub(crate) struct SessionPage {
    /// The conversation.
    pub(crate) conversation: Conversation,
    /// Whether a process runs it.
    pub(crate) is_running: bool,
    /// Its turns.
    pub(crate) turns: Vec<Turn>,
    /// What happened, oldest first.
    pub(crate) entries: Vec<Recorded>,
    /// Whether older entries are left out.
    pub(crate) is_cut: bool,
    /// The messages that wait in its queue.
    pub(crate) queued: Vec<String>,
    /// What it asks its user, if it ended by asking.
    pub(crate) asks: Option<String>,
    /// Whether another agent leads it.
    pub(crate) is_led: bool,
    /// Whether the reader may reply.
    pub(crate) may_reply: bool,
}

/// The page of a conversation.
pub(crate) fn session(shell: &Shell, page: &SessionPage) -> Markup {
    let it = &page.conversation;
    let plan = page.turns.last().and_then(|it| it.plan);
    let name = mask(&it.title);
    let content = html! {
        p.back { a data-back href=(shell.to("sessions")) { "← Sessions" } " " span.muted { (project(&it.project)) } }
        div.head {
            h1 { (sign(it, page.is_running)) " " (title(&name)) }
            p.sum { (text(&listing::state(it, page.is_running, shell.now))) " · " (used(&it.used)) }
            @if let Some(plan) = plan { a.button href=(shell.to(&format!("plans/{plan}"))) { "Its plan" } }
        }
        @if page.is_cut { p.muted { "Older entries are left out: " code { "punchlist sessions show " (it.id.short()) } " has them all." } }
        ol.talk data-list="follow" data-end {
            @for entry in &page.entries { (entry_of(shell, entry)) }
        }
        (next(shell, page))
        @if !page.queued.is_empty() {
            section data-key="queue" {
                h2 { "Waiting in the queue" @if it.queue_paused { ", which is paused" } }
                ol.queued { @for message in &page.queued { li { (text(&mask(message))) } } }
            }
        }
    };
    shell.page(&name, Live::Yes, &content)
}

/// What the person can say next.
fn next(shell: &Shell, page: &SessionPage) -> Markup {
    let it = &page.conversation;
    let says = match (&page.asks, page.is_running) {
        (Some(question), _) => {
            html! { span.ask { "It asks you: " (text(&mask(last_sentence(question)))) } }
        }
        (None, true) => html! { "It works. What comes after this turn?" },
        (None, false) => html! { "It waits for nothing. What is next?" },
    };
    html! {
        section.next data-key="next" {
            @if page.may_reply && !page.is_led {
                form.act-form method="post" action=(shell.to(&format!("sessions/{}", it.id))) {
                    label for="reply" { (says) }
                    textarea #reply name="text" rows="3" required maxlength="20000" {}
                    button.primary { "Send" }
                }
            }
            p.muted { "In a terminal: " code { "punchlist resume " (it.id.short()) " TEXT" } }
        }
    }
}

fn entry_of(shell: &Shell, it: &Recorded) -> Markup {
    let said = |class: &str, who: &str, words: &str| {
        html! {
            li.said.(class) data-key=(it.number) {
                div.who { (who) " " span.muted { (ago(it.at, shell.now)) } }
                (block(&mask(words)))
            }
        }
    };
    match &it.entry {
        Entry::User { text } => said("user", "You", text),
        Entry::Steering { text } => said("user", "You, while it ran", text),
        Entry::Answer(answer) => html! {
            li.said.model data-key=(it.number) {
                div.who { (text(&answer.message.model.to_string())) " " span.muted { (ago(it.at, shell.now)) } }
                @for it in &answer.message.thinking { (thinking(it)) }
                @if !answer.message.text.trim().is_empty() { (block(&mask(&answer.message.text))) }
                @for it in &answer.message.calls { (call(it)) }
            }
        },
        Entry::Result(end) => html! {
            li.said.result data-key=(it.number) {
                details {
                    summary {
                        @if end.result.is_error { (drawn("failed", "failed", super::parts::CANCELLED)) } @else { (drawn("done", "succeeded", super::parts::DONE)) }
                        " " (first_line(&end.result.text))
                    }
                    (code("Result", &mask(&end.result.text)))
                }
            }
        },
        Entry::Told { text } => said("info", "Punchlist, to the model", text),
        Entry::Info { text } => said("info", "Punchlist", text),
        Entry::Summary { text, .. } => said("info", "Summary of older parts", text),
        Entry::Used { .. } => html! {},
        Entry::Ended { ending } => html! {
            li.said.ended data-key=(it.number) { (text(&ending.words())) " " span.muted { (ago(it.at, shell.now)) } }
        },
    }
}

fn first_line(words: &str) -> Markup {
    let masked = mask(words);
    let line = masked.lines().find(|it| !it.trim().is_empty()).unwrap_or("(nothing)");
    text(&punchlist_formats::text::truncate(line, 120))
}

fn thinking(it: &ThinkingBlock) -> Markup {
    let words = match it {
        ThinkingBlock::Text(text) | ThinkingBlock::Signed { text, .. } => text.trim(),
        ThinkingBlock::Opaque(_) => "",
    };
    html! {
        @if !words.is_empty() {
            details.thinking { summary { "Thinking" } (block(&mask(words))) }
        }
    }
}

fn call(it: &ModelCall) -> Markup {
    let arguments = match &it.arguments {
        Arguments::Object(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
        Arguments::Invalid(text) => text.clone(),
    };
    html! {
        details.call { summary { "calls " b { (text(&it.tool)) } } (code("Arguments", &mask(&arguments))) }
    }
}
