//! Completes the arguments of commands with what the UI knows: commands, sessions, models, items, and
//! messages in the queue. Pure.

use punchlist_formats::text::one_line;

use super::intent::Intent;
use super::model::Model;
use crate::fuzzy::rank;
use crate::input::{Completion, Query};

/// The most completions.
const MOST: usize = 50;

/// What an argument can be, where that must be read first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choices {
    /// The stored sessions.
    Sessions,
    /// The models.
    Models,
}

/// Offers what can be completed. What must be read first is offered when it was read.
pub(super) fn complete(model: &mut Model, query: &Query) -> Vec<Intent> {
    let found = match query {
        Query::Command(text) => command(model, text),
        Query::Mention(text) => model.mentions.complete(text),
    };
    model.input.offer(found);
    wanted(model, query).map(Intent::ReadChoices).into_iter().collect()
}

/// What was read: the argument, and what is said about it.
pub(super) fn read(model: &mut Model, what: Choices, all: Vec<(String, String)>) {
    match what {
        Choices::Sessions => model.sessions = Some(all),
        Choices::Models => model.models = Some(all),
    }
    if let Some(Query::Command(text)) = model.input.wants() {
        let found = command(model, &text);
        model.input.offer(found);
    }
}

/// What must be read first. Sessions come and go: they are read again for each command.
fn wanted(model: &Model, query: &Query) -> Option<Choices> {
    let Query::Command(text) = query else { return None };
    let (path, word) = model.registry.argument(text)?;
    match path.as_str() {
        "resume" if word.is_empty() || model.sessions.is_none() => Some(Choices::Sessions),
        "model" if model.models.is_none() => Some(Choices::Models),
        _ => None,
    }
}

fn command(model: &Model, text: &str) -> Vec<Completion> {
    if let Some(word) = model.registry.plan_file(text) {
        return model.mentions.plan_files(word);
    }
    let Some((path, word)) = model.registry.argument(text) else {
        return model.registry.complete(text);
    };
    let all: Vec<(String, String)> = match path.as_str() {
        "help" => {
            let commands = model.registry.commands().iter();
            commands.map(|it| (it.name.clone(), it.description.clone())).collect()
        }
        "resume" => model.sessions.clone().unwrap_or_default(),
        "model" => model.models.clone().unwrap_or_default(),
        "verify" => {
            let items = model.plan.iter().flat_map(|it| it.listed());
            items.map(|it| (it.number.to_string(), it.title.clone())).collect()
        }
        "queue edit" | "queue remove" | "queue move" | "queue send" => {
            let texts = (1..).zip(&model.queue);
            texts.map(|(n, it): (usize, _)| (n.to_string(), it.text.clone())).collect()
        }
        _ => return model.registry.complete(text),
    };
    let found = rank(word, &all, |it| vec![it.0.as_str(), it.1.as_str()], MOST);
    let completion = |it: &(String, String)| Completion {
        description: one_line(&it.1).into_owned(),
        ..Completion::new(&it.0, it.0 == word)
    };
    found.into_iter().map(completion).collect()
}
