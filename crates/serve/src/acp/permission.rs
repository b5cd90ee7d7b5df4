//! Questions about calls and about MCP servers as the options of a permission request, and the chosen
//! option as an answer. Pure.

use punchlist_formats::view::questions;
use punchlist_model::call::{Answer, Asked, Offer, Permit, Reach};
use serde_json::{Value, json};

/// The id of the option that refuses.
const REJECT: &str = "reject";

/// The options of a question, with what each means.
pub(super) struct Choices(Vec<Choice>);

struct Choice {
    id: String,
    /// What the user reads.
    name: String,
    /// The kind in the protocol, by which clients choose an icon.
    kind: &'static str,
    answer: Answer,
}

impl Choices {
    /// The options of a question: once, always for each set of rules that it offers, and no.
    pub(super) fn of(asked: &Asked) -> Self {
        let mut choices = Vec::new();
        if asked.offers.contains(&Offer::Once) {
            choices.push(Choice {
                id: "once".to_owned(),
                name: "Allow once".to_owned(),
                kind: "allow_once",
                answer: Answer::Once,
            });
        }
        let always = |rules: &[Permit]| {
            let answer = Answer::Always { rules: rules.to_vec(), reach: Reach::Project };
            (answer, questions::allowed(rules))
        };
        let mut offered: Vec<(Answer, String)> =
            questions::sets(asked).into_iter().map(always).collect();
        if offered.is_empty() {
            // The form that earlier versions stored.
            offered.extend(questions::always(asked));
        }
        for (number, (answer, what)) in offered.into_iter().enumerate() {
            choices.push(Choice {
                id: format!("always-{}", number + 1),
                name: format!("Always allow in this project: {what}"),
                kind: "allow_always",
                answer,
            });
        }
        choices.push(Choice {
            id: REJECT.to_owned(),
            name: "Reject".to_owned(),
            kind: "reject_once",
            answer: Answer::Refuse(None),
        });
        Self(choices)
    }

    /// The options, as the client reads them.
    pub(super) fn options(&self) -> Vec<Value> {
        let option = |it: &Choice| json!({"optionId": it.id, "name": it.name, "kind": it.kind});
        self.0.iter().map(option).collect()
    }

    /// The answer that the client's response means. Only a chosen option allows anything.
    pub(super) fn chosen(&self, response: &Result<Value, Value>) -> Answer {
        let outcome = match response {
            Ok(result) => &result["outcome"],
            Err(error) => {
                let why = error["message"].as_str().unwrap_or("it gave no reason");
                return Answer::Refuse(Some(format!("the editor could not ask the user: {why}")));
            }
        };
        match (outcome["outcome"].as_str(), outcome["optionId"].as_str()) {
            (Some("selected"), Some(id)) => {
                let chosen = self.0.iter().find(|it| it.id == id);
                chosen.map_or_else(unknown, |it| it.answer.clone())
            }
            (Some("cancelled"), _) => Answer::Refuse(None),
            (_, _) => unknown(),
        }
    }
}

/// The user's answer about an MCP server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ServerAnswer {
    /// It may be used in this session.
    Session,
    /// It may be used in this project, now and later.
    Project,
    /// It may not be used.
    No,
}

impl ServerAnswer {
    /// The options of the question, as the client reads them.
    pub(super) fn options() -> Vec<Value> {
        [
            ("once", "Allow in this session", "allow_once"),
            ("always", "Always allow in this project", "allow_always"),
            (REJECT, "Reject", "reject_once"),
        ]
        .map(|(id, name, kind)| json!({"optionId": id, "name": name, "kind": kind}))
        .to_vec()
    }

    /// The answer that the client's response means. Only a chosen option allows anything.
    pub(super) fn chosen(response: &Result<Value, Value>) -> Self {
        let Ok(result) = response else { return Self::No };
        let outcome = &result["outcome"];
        match (outcome["outcome"].as_str(), outcome["optionId"].as_str()) {
            (Some("selected"), Some("once")) => Self::Session,
            (Some("selected"), Some("always")) => Self::Project,
            (_, _) => Self::No,
        }
    }
}

fn unknown() -> Answer {
    Answer::Refuse(Some("the editor chose none of the options".to_owned()))
}
