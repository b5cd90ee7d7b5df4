//! Answering questions: finds the question, turns the typed word into an answer, and stores the
//! answer.
//!
//! The caller decides first who may answer ([`crate::policy::human`]): only a person at a terminal.

use std::path::Path;

use punchlist_bridge::process;
use punchlist_formats::view::{duration, questions};
use punchlist_model::Timestamp;
use punchlist_model::call::{
    Answer, AnswerOutcome, Answered, Asked, Offer, Permit, Question, QuestionFilter, Reach,
    RunFilter, Standing,
};
use punchlist_model::session::Store;
use punchlist_sched::policy::Rule;
use serde_json::Value;

use crate::fail::{Code, Fail};

/// An answer as a person types it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// Allow this call only.
    Yes,
    /// Allow until the run ends.
    Session,
    /// Allow from now on.
    Always,
    /// Allow every command with the same prefix.
    AlwaysPrefix,
    /// Allow every call of the tool.
    AlwaysTool,
    /// Allow every tool of the server.
    AlwaysServer,
    /// Run with other arguments.
    Edit,
    /// Refuse.
    No,
    /// Refuse and end the run.
    Stop,
}

impl Word {
    const ALL: [(&'static str, Self); 9] = [
        ("yes", Self::Yes),
        ("session", Self::Session),
        ("always", Self::Always),
        ("always-prefix", Self::AlwaysPrefix),
        ("always-tool", Self::AlwaysTool),
        ("always-server", Self::AlwaysServer),
        ("edit", Self::Edit),
        ("no", Self::No),
        ("stop", Self::Stop),
    ];

    /// Parses a typed answer.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|it| it.1)
    }
}

/// A question's id and an answer from the command line, as in `3c1d yes`. Either may be missing.
pub fn id_and_word(words: &[String]) -> Result<(Option<&str>, Option<Word>), Fail> {
    Ok(match words {
        [] => (None, None),
        [one] => match Word::parse(one) {
            Some(word) => (None, Some(word)),
            None => (Some(one.as_str()), None),
        },
        [id, word, ..] => {
            let known = Word::parse(word).ok_or_else(|| {
                Fail::usage(format!("{word:?} is no answer"))
                    .hint("answer yes, session, always, edit, no or stop.")
            })?;
            (Some(id.as_str()), Some(known))
        }
    })
}

/// What a person gave along with an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct With<'a> {
    /// The reason for a refusal.
    pub reason: Option<&'a str>,
    /// Whether "always" applies to every project.
    pub everywhere: bool,
}

/// Turns a typed word into an answer to the question. `edited` returns other arguments, or `None`
/// if nothing was changed.
pub fn answer(
    word: Word,
    with: With<'_>,
    asked: &Asked,
    edited: impl FnOnce() -> Result<Option<Value>, Fail>,
) -> Result<Answer, Fail> {
    let reason = || with.reason.filter(|it| !it.trim().is_empty()).map(str::to_owned);
    Ok(match word {
        Word::Yes => Answer::Once,
        Word::No => Answer::Refuse(reason()),
        Word::Stop => Answer::RefuseAndStop(reason()),
        Word::Session => match questions::sets(asked).first() {
            Some(rules) => Answer::Session(rules.to_vec()),
            None => return Err(not_offered(asked)),
        },
        Word::Always => match questions::always(asked) {
            Some((Answer::Always { rules, reach }, _)) => {
                let reach = if with.everywhere { Reach::Everywhere } else { reach };
                if reach == Reach::Everywhere && rules.iter().any(Permit::is_local) {
                    return Err(Fail::usage("each project has its own program at that path")
                        .hint("answer `always` without `--everywhere`."));
                }
                Answer::Always { rules, reach }
            }
            Some((answer, _)) => answer,
            None => return Err(not_offered(asked)),
        },
        Word::AlwaysTool => Answer::AlwaysTool,
        Word::AlwaysServer => Answer::AlwaysServer,
        Word::AlwaysPrefix => {
            let prefix = asked.offers.iter().find_map(|it| match it {
                Offer::AlwaysPrefix(words) => Some(words.clone()),
                Offer::Once
                | Offer::Always(_)
                | Offer::AlwaysTool
                | Offer::AlwaysServer
                | Offer::Modify => None,
            });
            Answer::AlwaysPrefix(prefix.ok_or_else(|| not_offered(asked))?)
        }
        Word::Edit => Answer::Modify(edited()?.ok_or_else(|| {
            Fail::new(Code::Interrupted, "nothing was changed; the question still waits")
        })?),
    })
}

/// Refuses an answer that a question does not offer.
pub fn check_offered(asked: &Asked, answer: &Answer) -> Result<(), Fail> {
    if answer.is_among(&asked.offers) { Ok(()) } else { Err(not_offered(asked)) }
}

/// Parses a call's arguments that a person typed.
pub fn arguments(text: &str) -> Result<Value, Fail> {
    serde_json::from_str(text).map_err(|why| {
        Fail::usage(format!("the arguments are not JSON: {why}")).hint("the question still waits.")
    })
}

/// The question with this id; without an id, all waiting questions of the project.
pub async fn meant(
    store: &dyn Store,
    project: &str,
    id: Option<&str>,
    now: Timestamp,
) -> Result<Vec<Question>, Fail> {
    let Some(id) = id else {
        let project = Some(project.to_owned());
        let filter = QuestionFilter { project, waiting: true, ..QuestionFilter::default() };
        return Ok(store.questions(filter).await?);
    };
    let filter = QuestionFilter { id: Some(id.to_ascii_lowercase()), ..QuestionFilter::default() };
    let mut found = store.questions(filter).await?;
    // If several ids end alike, prefer the questions that are still waiting.
    if found.len() > 1 && found.iter().any(is_waiting) {
        found.retain(is_waiting);
    }
    if found.len() > 1 {
        return Err(several(&found, now));
    }
    Ok(found)
}

/// Whether a question still waits for its answer.
pub fn is_waiting(question: &Question) -> bool {
    question.standing == Standing::Waiting
}

/// The result of answering a question.
#[derive(Clone, PartialEq, Debug)]
pub struct Given {
    /// The question with its answer.
    pub question: Question,
    /// Whether the run that asked has ended. It then reads the answer when it is resumed.
    pub is_over: bool,
}

/// Stores an answer. If somebody else answered first, the error says who.
pub async fn give(
    store: &dyn Store,
    question: &Question,
    answered: Answered,
    host: &str,
) -> Result<Given, Fail> {
    let at = answered.at;
    match store.answer(question.asked.id, answered).await? {
        AnswerOutcome::Taken(question) => {
            let is_over = is_over(store, &question, host).await?;
            Ok(Given { question: *question, is_over })
        }
        AnswerOutcome::NotOffered(question) => Err(not_offered(&question.asked)),
        AnswerOutcome::Late(question) => Err(late(&question, at)),
    }
}

/// Whether the run that asked is known to have ended.
async fn is_over(store: &dyn Store, question: &Question, host: &str) -> Result<bool, Fail> {
    let filter = RunFilter { project: Some(question.project.clone()), ..RunFilter::default() };
    let runs = store.runs(filter).await?;
    let run = runs.into_iter().find(|it| it.id == question.run);
    Ok(run.is_some_and(|it| {
        it.ended_at.is_some() || it.process.is_some_and(|it| process::has_ended(host, &it))
    }))
}

/// The rules that "always" would add to the user's policy file, as lines.
pub fn rules_to_add(rules: &[Permit], reach: Reach, project: &str, file: &Path) -> Vec<String> {
    let project = (reach == Reach::Project).then(|| project.to_owned());
    let rule = |it| format!("  {}", Rule { project: project.clone(), ..Rule::from(it) });
    let head = format!("this is added to {}:", file.display());
    std::iter::once(head).chain(rules.iter().map(rule)).collect()
}

/// The error if no question waits, or not the one that was named.
pub fn nothing_waits(id: Option<&str>) -> Fail {
    match id {
        Some(id) => Fail::not_found(format!("there is no question {id:?}"))
            .hint("`punchlist questions` shows those that wait."),
        None => Fail::not_found("no question waits for an answer here")
            .hint("`punchlist questions --everywhere` looks in all projects."),
    }
}

fn not_offered(asked: &Asked) -> Fail {
    let offers = asked.offers.iter().map(|offer| match offer {
        Offer::Once => "yes",
        Offer::Always(_) => "session, always",
        Offer::AlwaysTool => "always-tool",
        Offer::AlwaysPrefix(_) => "always-prefix",
        Offer::AlwaysServer => "always-server",
        Offer::Modify => "edit",
    });
    let mut offers: Vec<&str> = offers.chain(["no", "stop"]).collect();
    offers.dedup();
    Fail::usage("this question does not offer that answer")
        .hint(format!("answer with one of: {}.", offers.join(", ")))
}

/// The error if a question has been answered already or no longer waits.
pub fn late(question: &Question, now: Timestamp) -> Fail {
    let message = match &question.standing {
        Standing::Answered(answered) => format!(
            "{} answered first, {}: {}",
            answered.by,
            duration::ago(answered.at, now),
            questions::word(&answered.answer)
        ),
        Standing::Waiting | Standing::Settled => {
            "the question no longer waits: its call was cancelled, or another answer allowed it"
                .to_owned()
        }
    };
    Fail::new(Code::Conflict, message).hint("`punchlist questions --all` shows what was answered.")
}

/// The error if several questions wait and the answer names none.
pub fn several(several: &[Question], now: Timestamp) -> Fail {
    let line = |it: &Question| {
        let asked = &it.asked;
        let what: String = questions::sentence(asked).chars().take(160).collect();
        let age = duration::ago(asked.at, now);
        format!("{}  {what}  {age}", asked.id.short())
    };
    Fail::usage("several questions wait")
        .details(several.iter().take(20).map(line).collect())
        .hint("say which: `punchlist answer ID yes`; `punchlist answer` asks one by one.")
}
