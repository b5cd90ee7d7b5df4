//! `punchlist answer`.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use punchlist_bridge::{editor, process};
use punchlist_db::Sqlite;
use punchlist_formats::view::{duration, json, questions};
use punchlist_model::call::{
    Answer as Given, AnswerOutcome, Answered, Asked, CallStore, Offer, Question, QuestionFilter,
    RunFilter, Standing,
};
use serde_json::Value;

use super::{Group, Verb};
use crate::app::App;
use crate::error::{Code, Fail};
use crate::print::{self, Reply};
use crate::settle::settle;
use crate::{input, person, places, who};

/// Answer a question that waits
///
/// `yes` allows what is asked this once; `always` allows it and, from now on, whatever the question says
/// behind that word; `edit` lets it happen with other arguments; `no` refuses it. Without an answer the
/// questions are shown and asked one by one. Only a person at a terminal can answer: an agent, or a
/// program that an agent has started, is refused.
#[derive(clap::Args)]
pub(crate) struct Answer {
    /// The question, if several wait: the beginning or end of its id; then yes, always, edit or no
    #[arg(value_name = "ID] [ANSWER", num_args = 0..=2)]
    words: Vec<String>,
    /// Why it is refused, for whoever asked
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The other arguments, instead of opening an editor
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
}

/// What can be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Yes,
    Always,
    AlwaysPrefix,
    AlwaysTool,
    AlwaysServer,
    Edit,
    No,
}

impl Word {
    const ALL: [(&'static str, Self); 7] = [
        ("yes", Self::Yes),
        ("always", Self::Always),
        ("always-prefix", Self::AlwaysPrefix),
        ("always-tool", Self::AlwaysTool),
        ("always-server", Self::AlwaysServer),
        ("edit", Self::Edit),
        ("no", Self::No),
    ];

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|it| it.1)
    }
}

impl Verb for Answer {
    const NAME: &'static str = "answer";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist answer
  punchlist answer yes
  punchlist answer 3c1d always
  punchlist answer 3c1d no --reason \"not on a Friday\"
  punchlist answer 3c1d edit --arguments '{\"command\": \"./publish.sh --dry-run\"}'";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let (id, word) = self.parsed()?;
        person::at_terminal("questions are answered", Self::NAME)?;
        if !app.has_store()? {
            return Err(nothing_waits(id));
        }
        let store = app.store()?;
        let waiting = meant(app, &store, id)?;
        let mut replies = Vec::new();
        match (word, waiting.as_slice()) {
            (_, []) => return Err(nothing_waits(id)),
            (_, [question]) if !is_waiting(question) => return Err(late(question, app)),
            (Some(word), [question]) => {
                let answer = self.answer(word, &question.asked)?;
                replies.push(give(app, &store, question, answer)?);
            }
            (Some(_), several) => return Err(which(several, app)),
            (None, all) => {
                for (at, question) in all.iter().enumerate() {
                    let Some(answer) = prompt(app, &question.asked, (at + 1, all.len()))? else {
                        continue;
                    };
                    match give(app, &store, question, answer) {
                        Ok(reply) => replies.push(reply),
                        // Somebody answered it meanwhile: the others are asked all the same.
                        Err(fail) if fail.code == Code::Conflict => print::say(&[fail.message]),
                        Err(fail) => return Err(fail),
                    }
                }
            }
        }
        store.let_go();
        if replies.is_empty() {
            return Err(Fail::new(Code::Interrupted, "nothing was answered"));
        }
        Ok(joined(replies))
    }
}

impl Answer {
    /// The id and the answer among the words.
    fn parsed(&self) -> Result<(Option<&str>, Option<Word>), Fail> {
        let parsed = match self.words.as_slice() {
            [] => (None, None),
            [one] => match Word::parse(one) {
                Some(word) => (None, Some(word)),
                None => (Some(one.as_str()), None),
            },
            [id, word, ..] => {
                let known = Word::parse(word).ok_or_else(|| {
                    Fail::usage(format!("{word:?} is no answer"))
                        .hint("answer yes, always, edit or no.")
                })?;
                (Some(id.as_str()), Some(known))
            }
        };
        if self.reason.is_some() && parsed.1 != Some(Word::No) {
            return Err(Fail::usage("`--reason` says why something is refused")
                .hint("give it with the answer `no`."));
        }
        if self.arguments.is_some() && parsed.1 != Some(Word::Edit) {
            return Err(Fail::usage("`--arguments` says what happens instead")
                .hint("give it with the answer `edit`."));
        }
        Ok(parsed)
    }

    fn answer(&self, word: Word, asked: &Asked) -> Result<Given, Fail> {
        let offered = |fits: fn(&Offer) -> bool| asked.offers.iter().find(|it| fits(it));
        Ok(match word {
            Word::Yes => Given::Once,
            Word::No => Given::Refuse(self.reason.clone().filter(|it| !it.trim().is_empty())),
            Word::Always => match questions::always(asked) {
                Some((answer, _)) => answer,
                None => return Err(not_offered(asked)),
            },
            Word::AlwaysTool => Given::AlwaysTool,
            Word::AlwaysServer => Given::AlwaysServer,
            Word::AlwaysPrefix => match offered(|it| matches!(it, Offer::AlwaysPrefix(_))) {
                Some(Offer::AlwaysPrefix(words)) => Given::AlwaysPrefix(words.clone()),
                Some(_) | None => return Err(not_offered(asked)),
            },
            Word::Edit => match &self.arguments {
                Some(text) => Given::Modify(parse(text)?),
                None => match edited(asked)? {
                    Some(arguments) => Given::Modify(arguments),
                    None => return Err(unchanged()),
                },
            },
        })
    }
}

/// The questions that are meant: the one with that id, else all that wait in this project.
fn meant(app: &App, store: &Sqlite, id: Option<&str>) -> Result<Vec<Question>, Fail> {
    let Some(id) = id else {
        let project = Some(app.project()?.name.clone());
        let filter = QuestionFilter { project, waiting: true, ..QuestionFilter::default() };
        return Ok(settle(store.questions(filter))?);
    };
    let id = Some(id.to_ascii_lowercase());
    let mut found = settle(store.questions(QuestionFilter { id, ..QuestionFilter::default() }))?;
    // Of many that end alike, the ones that wait are meant.
    if found.len() > 1 && found.iter().any(is_waiting) {
        found.retain(is_waiting);
    }
    if found.len() > 1 {
        return Err(which(&found, app));
    }
    Ok(found)
}

fn is_waiting(question: &Question) -> bool {
    question.standing == Standing::Waiting
}

/// Answers, and says what came of it.
fn give(app: &App, store: &Sqlite, question: &Question, answer: Given) -> Result<Reply, Fail> {
    let answered = Answered { answer, by: app.actor(store)?, at: app.now };
    match settle(store.answer(question.asked.id, answered))? {
        AnswerOutcome::Taken(question) => taken(app, store, &question),
        AnswerOutcome::NotOffered(question) => Err(not_offered(&question.asked)),
        AnswerOutcome::Late(question) => Err(late(&question, app)),
    }
}

fn taken(app: &App, store: &Sqlite, question: &Question) -> Result<Reply, Fail> {
    let mut notes = Vec::new();
    if is_over(store, question)? {
        notes.push("the run that asked has ended; it finds the answer when it goes on".to_owned());
    }
    let out = if app.globals.json {
        json::render(&json::question(question)) + "\n"
    } else {
        let word = match &question.standing {
            Standing::Answered(answered) => questions::word(&answered.answer),
            Standing::Waiting | Standing::Settled => String::new(),
        };
        let title = punchlist_formats::text::one_line(&question.asked.title).into_owned();
        format!("{title}: {word}\n")
    };
    Ok(Reply { out, notes, changed: true, exit: 0, prose: true })
}

/// Whether the run that asked is known to be over.
fn is_over(store: &Sqlite, question: &Question) -> Result<bool, Fail> {
    let filter = RunFilter { project: Some(question.project.clone()), ..RunFilter::default() };
    let runs = settle(store.runs(filter))?;
    let run = runs.into_iter().find(|it| it.id == question.run);
    let host = who::host();
    Ok(run.is_some_and(|it| {
        it.ended_at.is_some() || it.process.is_some_and(|it| process::has_ended(&host, &it))
    }))
}

/// Shows a question and asks; `None` leaves it waiting.
fn prompt(app: &App, asked: &Asked, place: (usize, usize)) -> Result<Option<Given>, Fail> {
    print::show(&questions::whole(asked, place, &app.view(app.screen())));
    loop {
        let Some(key) = print::ask("?") else { return Ok(None) };
        let answer = match key.to_ascii_lowercase().as_str() {
            "" | "q" => return Ok(None),
            "y" | "yes" => Some(Given::Once),
            "a" | "always" => questions::always(asked).map(|it| it.0),
            "e" | "edit" if asked.offers.contains(&Offer::Modify) => {
                edited(asked)?.map(Given::Modify)
            }
            "n" | "no" => Some(Given::Refuse(None)),
            "r" => print::ask("why not?")
                .map(|reason| Given::Refuse((!reason.is_empty()).then_some(reason))),
            _ => None,
        };
        if let Some(answer) = answer.filter(|it| it.is_among(&asked.offers)) {
            return Ok(Some(answer));
        }
        print::say(&["type one of the letters above; Enter alone leaves it waiting".to_owned()]);
    }
}

/// The arguments as somebody leaves them in an editor; `None` if they are the same.
fn edited(asked: &Asked) -> Result<Option<Value>, Fail> {
    let set = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).ok_or_else(|| {
        Fail::usage("no editor is known")
            .hint("set EDITOR, or give the arguments with `--arguments`.")
    })?;
    let directory = places::data()?;
    let file = directory.join(format!("question-{}.json", asked.id));
    let text = json::render(&asked.arguments) + "\n";
    let failed = |why: std::io::Error| Fail::ours(format!("cannot edit {}: {why}", file.display()));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(failed)?;
    // One that was left by an editor that never came back is written over.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&file).and_then(|mut it| it.write_all(text.as_bytes())).map_err(failed)?;
    let ended = editor::edit(&editor, &file);
    let after = input::file(&file);
    // The arguments may hold anything: they do not stay behind.
    fs::remove_file(&file).ok();
    if !ended.map_err(failed)? {
        return Err(Fail::new(
            Code::Interrupted,
            "the editor did not end well; nothing was answered",
        ));
    }
    let arguments = parse(&after?)?;
    Ok((arguments != asked.arguments).then_some(arguments))
}

fn parse(text: &str) -> Result<Value, Fail> {
    serde_json::from_str(text).map_err(|why| {
        Fail::usage(format!("the arguments are no JSON: {why}")).hint("the question waits still.")
    })
}

fn nothing_waits(id: Option<&str>) -> Fail {
    match id {
        Some(id) => Fail::not_found(format!("there is no question {id:?}"))
            .hint("`punchlist questions` shows those that wait."),
        None => Fail::not_found("nothing waits for an answer here")
            .hint("`punchlist questions --everywhere` looks in all projects."),
    }
}

fn unchanged() -> Fail {
    Fail::new(Code::Interrupted, "nothing was changed; the question waits still")
}

fn not_offered(asked: &Asked) -> Fail {
    let offers = asked.offers.iter().map(|offer| match offer {
        Offer::Once => "yes",
        Offer::AlwaysTool => "always-tool",
        Offer::AlwaysPrefix(_) => "always-prefix",
        Offer::AlwaysServer => "always-server",
        Offer::Modify => "edit",
    });
    let offers: Vec<&str> = offers.chain(["no"]).collect();
    Fail::usage("that is none of the answers to this question")
        .hint(format!("answer with one of: {}.", offers.join(", ")))
}

fn late(question: &Question, app: &App) -> Fail {
    let message = match &question.standing {
        Standing::Answered(answered) => format!(
            "{} was first, {}: {}",
            answered.by,
            duration::ago(answered.at, app.now),
            questions::word(&answered.answer)
        ),
        Standing::Waiting | Standing::Settled => {
            "it waits no longer: what asked was cancelled, or allowed by another answer".to_owned()
        }
    };
    Fail::new(Code::Conflict, message).hint("`punchlist questions --all` shows what was answered.")
}

fn which(several: &[Question], app: &App) -> Fail {
    let line = |it: &Question| {
        let asked = &it.asked;
        let (title, what): (String, String) =
            (asked.title.chars().take(80).collect(), asked.what.chars().take(80).collect());
        let age = duration::ago(asked.at, app.now);
        format!("{}  {title} wants to {what}  {age}", asked.id.short())
    };
    Fail::usage("several questions wait")
        .details(several.iter().take(20).map(line).collect())
        .hint("say which: `punchlist answer ID yes`; `punchlist answer` asks one by one.")
}

/// Several answers as one.
fn joined(replies: Vec<Reply>) -> Reply {
    let mut all = Reply::default();
    for reply in replies {
        all.out.push_str(&reply.out);
        all.notes.extend(reply.notes);
        all.changed |= reply.changed;
    }
    all.notes.dedup();
    all
}
