//! `punchlist answer`.

use std::env;
use std::fs;
use std::io::Write;

use punchlist_bridge::{editor, process};
use punchlist_formats::view::questions::Below;
use punchlist_formats::view::{duration, json, questions};
use punchlist_model::call::{
    Answer as Given, AnswerOutcome, Answered, Asked, Offer, Permit, Question, QuestionFilter,
    Reach, RunFilter, Standing,
};
use punchlist_model::session::Store;
use punchlist_sched::policy::Rule;
use serde_json::Value;

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::fail::{Code, Fail};
use crate::keyboard::Keyboard;
use crate::print::{self, Reply};
use crate::{identity, input, person, places, private};

/// Answer a question that waits
///
/// `yes` allows what is asked this once, `session` until the run ends; `always` allows it and, from now on,
/// whatever the question says behind that word: the rules are shown, and go into your configuration for
/// this project or, with `--everywhere`, for all. `edit` lets it happen with other arguments. `no` refuses
/// it and whatever else of the run has not begun; with a reason the rest goes on. `stop` refuses it and ends
/// the run. Without an answer the questions are shown and asked one by one. Only a person at a terminal can
/// answer, and whatever allows something is confirmed by a key: an agent, or a program that an agent has
/// started, is refused.
#[derive(clap::Args)]
pub(crate) struct Answer {
    /// The question, if several wait: the beginning or end of its id; then yes, session, always, edit, no
    /// or stop
    #[arg(value_name = "ID] [ANSWER", num_args = 0..=2)]
    words: Vec<String>,
    /// Why it is refused, for whoever asked
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// With `always`: in every project and not in this one alone
    #[arg(long)]
    everywhere: bool,
    /// The other arguments, instead of opening an editor
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
}

/// What can be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Yes,
    Session,
    Always,
    AlwaysPrefix,
    AlwaysTool,
    AlwaysServer,
    Edit,
    No,
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
  punchlist answer 3c1d always --everywhere
  punchlist answer 3c1d no --reason \"not on a Friday\"
  punchlist answer 3c1d edit --arguments '{\"command\": \"./publish.sh --dry-run\"}'";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let (id, word) = self.parsed()?;
        person::at_terminal("questions are answered", Self::NAME)?;
        if !app.has_store()? {
            return Err(nothing_waits(id));
        }
        let store = app.store()?;
        let waiting = meant(app, &*store, id)?;
        let mut replies = Vec::new();
        match (word, waiting.as_slice()) {
            (_, []) => return Err(nothing_waits(id)),
            (_, [question]) if !is_waiting(question) => return Err(late(question, app)),
            (Some(word), [question]) => {
                let answer = self.answer(word, &question.asked)?;
                confirm(app, question, &answer)?;
                replies.push(give(app, &*store, question, answer)?);
            }
            (Some(_), several) => return Err(which(several, app)),
            (None, all) => {
                let mut keyboard = person::keyboard().ok_or_else(unanswered)?;
                for (at, question) in all.iter().enumerate() {
                    let place = (at + 1, all.len());
                    let Some(answer) = prompt(app, &mut keyboard, question, place)? else {
                        continue;
                    };
                    match give(app, &*store, question, answer) {
                        Ok(reply) => replies.push(reply),
                        // Somebody answered it meanwhile: the others are asked all the same.
                        Err(fail) if fail.code == Code::Conflict => print::say(&[fail.message]),
                        Err(fail) => return Err(fail),
                    }
                }
            }
        }
        if replies.is_empty() {
            return Err(unanswered());
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
                        .hint("answer yes, session, always, edit, no or stop.")
                })?;
                (Some(id.as_str()), Some(known))
            }
        };
        if self.reason.is_some() && !matches!(parsed.1, Some(Word::No | Word::Stop)) {
            return Err(Fail::usage("`--reason` says why something is refused")
                .hint("give it with the answer `no` or `stop`."));
        }
        if self.everywhere && parsed.1 != Some(Word::Always) {
            return Err(Fail::usage("`--everywhere` says where something is always allowed")
                .hint("give it with the answer `always`."));
        }
        if self.arguments.is_some() && parsed.1 != Some(Word::Edit) {
            return Err(Fail::usage("`--arguments` says what happens instead")
                .hint("give it with the answer `edit`."));
        }
        Ok(parsed)
    }

    fn answer(&self, word: Word, asked: &Asked) -> Result<Given, Fail> {
        let offered = |fits: fn(&Offer) -> bool| asked.offers.iter().find(|it| fits(it));
        let reason = || self.reason.clone().filter(|it| !it.trim().is_empty());
        Ok(match word {
            Word::Yes => Given::Once,
            Word::No => Given::Refuse(reason()),
            Word::Stop => Given::RefuseAndStop(reason()),
            Word::Session => match questions::sets(asked).first() {
                Some(rules) => Given::Session(rules.to_vec()),
                None => return Err(not_offered(asked)),
            },
            Word::Always => match questions::always(asked) {
                Some((Given::Always { rules, reach }, _)) => {
                    let reach = if self.everywhere { Reach::Everywhere } else { reach };
                    if reach == Reach::Everywhere && rules.iter().any(Permit::is_local) {
                        return Err(belongs_here());
                    }
                    Given::Always { rules, reach }
                }
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
fn meant(app: &App, store: &dyn Store, id: Option<&str>) -> Result<Vec<Question>, Fail> {
    let Some(id) = id else {
        let project = Some(app.project()?.name.clone());
        let filter = QuestionFilter { project, waiting: true, ..QuestionFilter::default() };
        return Ok(block_on(store.questions(filter))?);
    };
    let id = Some(id.to_ascii_lowercase());
    let mut found = block_on(store.questions(QuestionFilter { id, ..QuestionFilter::default() }))?;
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
fn give(app: &App, store: &dyn Store, question: &Question, answer: Given) -> Result<Reply, Fail> {
    let answered = Answered { answer, by: app.actor(store)?, at: app.now };
    match block_on(store.answer(question.asked.id, answered))? {
        AnswerOutcome::Taken(question) => taken(app, store, &question),
        AnswerOutcome::NotOffered(question) => Err(not_offered(&question.asked)),
        AnswerOutcome::Late(question) => Err(late(&question, app)),
    }
}

fn taken(app: &App, store: &dyn Store, question: &Question) -> Result<Reply, Fail> {
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
fn is_over(store: &dyn Store, question: &Question) -> Result<bool, Fail> {
    let filter = RunFilter { project: Some(question.project.clone()), ..RunFilter::default() };
    let runs = block_on(store.runs(filter))?;
    let run = runs.into_iter().find(|it| it.id == question.run);
    let host = identity::host();
    Ok(run.is_some_and(|it| {
        it.ended_at.is_some() || it.process.is_some_and(|it| process::has_ended(&host, &it))
    }))
}

/// Shows the question to which the answer was typed with the call, and asks whether it is meant: a
/// script can type an answer, but has seen nothing. A refusal allows nothing, and is taken at once.
fn confirm(app: &App, question: &Question, answer: &Given) -> Result<(), Fail> {
    let asked = &question.asked;
    if !answer.is_among(&asked.offers) {
        return Err(not_offered(asked));
    }
    if !answer.is_yes() {
        return Ok(());
    }
    let mut about = vec![format!("answer: {}", questions::word(answer))];
    if let Given::Modify(arguments) = answer {
        about.push(json::render(arguments));
    }
    if let Given::Always { rules, reach } = answer {
        about.extend(written(rules, *reach, &question.project)?);
    }
    let below = Below { text: about, ..Below::default() };
    let screen = app.screen();
    let lines = questions::asking(asked, 1, &below, ROWS, &app.view(screen));
    let mut keyboard = person::keyboard().ok_or_else(unanswered)?;
    keyboard.show(&lines, screen);
    if keyboard.confirms("Is that your answer?") { Ok(()) } else { Err(unanswered()) }
}

/// Most rows in which a question is shown whose answer was typed with the call.
const ROWS: usize = 200;

fn unanswered() -> Fail {
    Fail::new(Code::Interrupted, "nothing was answered")
}

/// Shows a question and asks; `None` leaves it waiting.
fn prompt(
    app: &App,
    keyboard: &mut Keyboard,
    question: &Question,
    place: (usize, usize),
) -> Result<Option<Given>, Fail> {
    let asked = &question.asked;
    let screen = app.screen();
    keyboard.show(&questions::whole(asked, place, &app.view(screen)), screen);
    loop {
        let Some(key) = keyboard.line("?") else { return Ok(None) };
        let answer = match key.to_ascii_lowercase().as_str() {
            "" => return Ok(None),
            "y" | "yes" => Some(Given::Once),
            "s" | "session" => questions::sets(asked).first().map(|it| Given::Session(it.to_vec())),
            "a" | "always" if questions::sets(asked).is_empty() => {
                questions::always(asked).map(|it| it.0)
            }
            "a" | "always" => choose(keyboard, asked, &question.project)?,
            "q" | "stop" => Some(Given::RefuseAndStop(None)),
            "e" | "edit" if asked.offers.contains(&Offer::Modify) => {
                edited(asked)?.map(Given::Modify)
            }
            "n" | "no" => Some(Given::Refuse(None)),
            "r" => keyboard
                .line("why not?")
                .map(|reason| Given::Refuse((!reason.is_empty()).then_some(reason))),
            _ => None,
        };
        if let Some(answer) = answer.filter(|it| it.is_among(&asked.offers)) {
            return Ok(Some(answer));
        }
        keyboard.say(&["type one of the letters above; Enter alone leaves it waiting".to_owned()]);
    }
}

/// Shows the rules that "always" may mean, one set after the other, and asks where they are to hold.
fn choose(keyboard: &mut Keyboard, asked: &Asked, project: &str) -> Result<Option<Given>, Fail> {
    let sets = questions::sets(asked);
    for (at, set) in sets.iter().enumerate() {
        keyboard.say(&written(set, Reach::Project, project)?);
        let is_local = set.iter().any(Permit::is_local);
        let everywhere = if is_local { "" } else { ", g without project, for all" };
        let rather = sets.get(at + 1).map(|it| format!(", t rather {}", questions::allowed(it)));
        let rather = rather.unwrap_or_default();
        let question = format!("p for this project{everywhere}{rather}, Enter goes back?");
        let reach = match keyboard.line(&question).unwrap_or_default().to_ascii_lowercase().as_str()
        {
            "p" => Reach::Project,
            "g" if !is_local => Reach::Everywhere,
            "t" => continue,
            _ => return Ok(None),
        };
        return Ok(Some(Given::Always { rules: set.to_vec(), reach }));
    }
    Ok(None)
}

/// The rules that would be added, and where.
fn written(rules: &[Permit], reach: Reach, project: &str) -> Result<Vec<String>, Fail> {
    let project = (reach == Reach::Project).then(|| project.to_owned());
    let mut lines = vec![format!("this is added to {}:", places::config()?.display())];
    lines.extend(
        rules.iter().map(|it| format!("  {}", Rule { project: project.clone(), ..Rule::from(it) })),
    );
    Ok(lines)
}

fn belongs_here() -> Fail {
    Fail::usage("every project has its own program of that path")
        .hint("answer `always` without `--everywhere`.")
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
    private::directory(&directory).map_err(failed)?;
    // One that was left by an editor that never came back is written over.
    let mut options = private::options();
    options.write(true).create(true).truncate(true);
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
        Offer::Always(_) => "session, always",
        Offer::AlwaysTool => "always-tool",
        Offer::AlwaysPrefix(_) => "always-prefix",
        Offer::AlwaysServer => "always-server",
        Offer::Modify => "edit",
    });
    let mut offers: Vec<&str> = offers.chain(["no", "stop"]).collect();
    offers.dedup();
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
        let what: String = questions::sentence(asked).chars().take(160).collect();
        let age = duration::ago(asked.at, app.now);
        format!("{}  {what}  {age}", asked.id.short())
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
