//! Questions that wait for the person, with the diff or command and every possible answer.
//!
//! A question keeps its place while the page is open, also when somebody answers it elsewhere: then
//! it says who did. So no key or click answers another question than the one that was meant.

use std::path::Path;

use maud::{Markup, html};
use punchlist_engine::answering;
use punchlist_formats::text::{many_lines, one_line};
use punchlist_formats::view::questions;
use punchlist_model::call::{Asked, Offer, Permit, Printed, Question, Reach, Standing};

use super::parts::{CANCELLED, DONE, ago, code, drawn, text};
use super::shell::{Live, Shell};

/// What the page of questions shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuestionsPage {
    /// Those that wait, and those that were settled since the page was opened, oldest first.
    pub(crate) questions: Vec<Question>,
    /// Those that were answered before, newest first.
    pub(crate) answered: Vec<Question>,
    /// The file of the user's rules.
    pub(crate) rules_file: String,
}

/// The page of questions.
pub(crate) fn questions(shell: &Shell, page: &QuestionsPage) -> Markup {
    let waiting = page.questions.iter().filter(|it| it.standing == Standing::Waiting).count();
    let content = html! {
        div.head { h1 { "Questions" } p.sum {
            @match waiting { 0 => "none waits", 1 => "1 waits for you", _ => { (waiting) " wait for you" } }
        } }
        @if page.questions.is_empty() { (empty()) }
        div.questions data-key="questions" data-list="hold" {
            @for question in &page.questions { (card(shell, page, question)) }
        }
        @if !page.answered.is_empty() {
            details.earlier data-key="earlier" {
                summary { "Answered before" }
                div.questions { @for question in &page.answered { (card(shell, page, question)) } }
            }
        }
    };
    shell.page("Questions", Live::Yes, &content)
}

fn empty() -> Markup {
    html! {
        div.empty data-key="empty" {
            h2 { "No question waits for you" }
            p { "When an agent or a plan file wants to do something that no rule allows, it asks here, and in every terminal that watches. The first answer counts." }
            p.muted { code { "punchlist policy COMMAND" } " says what would happen to a command, and why." }
        }
    }
}

fn card(shell: &Shell, page: &QuestionsPage, question: &Question) -> Markup {
    let asked = &question.asked;
    let is_waiting = question.standing == Standing::Waiting;
    html! {
        article.question.waiting[is_waiting] id=(format!("q-{}", asked.id)) data-key=(asked.id) data-row tabindex="-1"
            aria-labelledby=(format!("t-{}", asked.id)) {
            div.top {
                h2 id=(format!("t-{}", asked.id)) { (text(&questions::sentence(asked))) }
                span.muted data-words { (ago(asked.at, shell.now)) }
            }
            (about(shell, question))
            (what(asked))
            @match &question.standing {
                Standing::Waiting => (answers(shell, page, question)),
                Standing::Answered(answered) => p.result {
                    @if answered.answer.is_yes() { (drawn("done", "allowed", DONE)) } @else { (drawn("failed", "refused", CANCELLED)) }
                    span { (text(&questions::word(&answered.answer))) ", by " (text(&answered.by.name)) " " (ago(answered.at, shell.now)) }
                },
                Standing::Settled => p.result.muted { "no longer asked" },
            }
        }
    }
}

/// Where the call comes from.
fn about(shell: &Shell, question: &Question) -> Markup {
    let asked = &question.asked;
    let place: Vec<_> =
        asked.place.iter().map(|it| one_line(it)).filter(|it| !it.is_empty()).collect();
    html! {
        p.place {
            @if place.is_empty() { (text(&question.project)) } @else { (text(&place.join(" · "))) }
            @if let Some(plan) = question.plan {
                " · "
                @match asked.item {
                    Some(item) => a href=(shell.to(&format!("plans/{plan}/items/{item}"))) { "item " (item) },
                    None => a href=(shell.to(&format!("plans/{plan}"))) { "plan" },
                }
            }
        }
    }
}

/// The command or the diff, and what else the person must know.
fn what(asked: &Asked) -> Markup {
    let command = asked.command.as_deref().unwrap_or_default();
    let hides = [command, asked.diff.as_deref().unwrap_or_default()]
        .into_iter()
        .any(|it| it.replace('\t', "    ").replace("\r\n", "\n") != many_lines(it));
    let why: Vec<_> = asked
        .touches
        .iter()
        .chain([&asked.why])
        .map(|it| one_line(it))
        .filter(|it| !it.is_empty())
        .collect();
    html! {
        @if !asked.context.trim().is_empty() { p.muted.context { (text(&asked.context)) } }
        @for it in &asked.printed { (printed(it)) }
        @if !command.is_empty() { (code("Command", command)) }
        @if let Some(it) = &asked.diff { (diff(it)) }
        @if command.is_empty() && asked.diff.is_none() && !asked.arguments.is_null() {
            (code("Arguments", &serde_json::to_string_pretty(&asked.arguments).unwrap_or_default()))
        }
        @if hides { p.warn { "It contains characters that cannot be shown. " code { "punchlist questions --json" } " spells them." } }
        p.why { (text(&why.join(" · "))) }
    }
}

fn printed(it: &Printed) -> Markup {
    html! {
        details.printed {
            summary { (text(&it.title)) " printed" }
            @if it.before > 0 { p.muted { "… " (it.before) " lines before" } }
            (code("Output", &it.lines.join("\n")))
        }
    }
}

/// A diff with a class for each kind of line, so that colours do not carry the meaning alone.
pub(super) fn diff(text: &str) -> Markup {
    let shown = many_lines(text);
    html! {
        pre.code.diff tabindex="0" role="region" aria-label="Diff" {
            @for line in shown.lines() {
                @let class = match line.as_bytes().first() {
                    _ if line.starts_with("+++") || line.starts_with("---") => "file",
                    Some(b'+') => "added",
                    Some(b'-') => "removed",
                    Some(b'@') => "at",
                    _ => "same",
                };
                span.(class) { (line) "\n" }
            }
        }
        (super::parts::lines(shown.lines().count()))
    }
}

/// All answers. Those that write a rule, or need a text, ask first.
fn answers(shell: &Shell, page: &QuestionsPage, question: &Question) -> Markup {
    let asked = &question.asked;
    let sets = questions::sets(asked);
    let has = |offer: &Offer| asked.offers.contains(offer);
    let older = older(asked);
    // What was answered since the page was opened stays on it.
    let since = shell.address.split_once('?').map_or("", |it| it.1);
    let action = shell.to(&format!("questions/{}?{since}", asked.id));
    html! {
        form.answers method="post" action=(action) hx-post=(action) hx-target="#live" hx-select="#live"
            hx-select-oob="#waiting,#told" hx-swap="merge" {
            @if has(&Offer::Once) { button.primary name="answer" value="yes" data-press="y" { "Yes, once" } }
            @if !sets.is_empty() { button name="answer" value="session" data-press="s" { "This run" } }
            @if !sets.is_empty() || !older.is_empty() {
                details.always {
                    summary data-press="a" { "Always…" }
                    div.more {
                        @for (at, rules) in sets.iter().enumerate() { (always(page, question, at, rules)) }
                        @for (value, words) in older { button name="answer" value=(value) { "Always " (text(&words)) } }
                    }
                }
            }
            @if has(&Offer::Modify) {
                details.edit {
                    summary data-press="e" { "Edit…" }
                    div.more {
                        label for=(format!("e-{}", asked.id)) { "The arguments, as JSON" }
                        textarea id=(format!("e-{}", asked.id)) name="arguments" rows="6" spellcheck="false" {
                            (many_lines(&serde_json::to_string_pretty(&asked.arguments).unwrap_or_default()))
                        }
                        button name="answer" value="edit" { "Run it like this" }
                    }
                }
            }
            button name="answer" value="no" data-press="n" title="Refuses this call and what else of its batch has not begun" { "Refuse" }
            details.why-not {
                summary data-press="r" { "Refuse, say why…" }
                div.more {
                    label for=(format!("r-{}", asked.id)) { "Why not. The rest of the batch goes on." }
                    input id=(format!("r-{}", asked.id)) name="reason" maxlength="2000" autocomplete="off";
                    button name="answer" value="reason" { "Refuse with this reason" }
                }
            }
            button name="answer" value="stop" data-press="x" title="Refuses and ends the turn" { "Refuse and stop" }
        }
    }
}

/// The rules that one set adds, and where.
fn always(page: &QuestionsPage, question: &Question, at: usize, rules: &[Permit]) -> Markup {
    let shown = |reach| {
        let lines =
            answering::rules_to_add(rules, reach, &question.project, Path::new(&page.rules_file));
        lines
            .into_iter()
            .skip(1)
            .map(|it| it.trim_start().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let is_local = rules.iter().any(Permit::is_local);
    html! {
        div.rule {
            p { "Adds to " code { (one_line(&page.rules_file)) } ":" }
            (code("Rule for this project", &shown(Reach::Project)))
            button name="answer" value=(format!("always {at}")) { "Always in this project" }
            @if !is_local {
                details {
                    summary { "In every project…" }
                    (code("Rule for every project", &shown(Reach::Everywhere)))
                    button name="answer" value=(format!("everywhere {at}")) { "Always, everywhere" }
                }
            }
        }
    }
}

/// The answers that only earlier versions offered: the word, and what it allows.
fn older(asked: &Asked) -> Vec<(&'static str, String)> {
    let word = |offer: &Offer| match offer {
        Offer::AlwaysTool => Some(("always-tool", format!("whatever {} does", asked.tool))),
        Offer::AlwaysPrefix(words) => Some(("always-prefix", words.join(" "))),
        Offer::AlwaysServer => {
            let server = asked.server.as_deref().unwrap_or("this server");
            Some(("always-server", format!("whatever {server} does")))
        }
        Offer::Once | Offer::Always(_) | Offer::Modify => None,
    };
    asked.offers.iter().filter_map(word).collect()
}
