//! `punchlist answer`.

use std::env;
use std::fs;
use std::io::Write;

use punchlist_bridge::editor;
use punchlist_engine::answering::{self, With, Word};
use punchlist_formats::view::questions::Below;
use punchlist_formats::view::{json, questions};
use punchlist_model::call::{Answer as Given, Answered, Asked, Offer, Permit, Question, Reach};
use punchlist_model::session::Store;
use serde_json::Value;

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::fail::{Code, Fail};
use crate::keyboard::Keyboard;
use crate::print::{self, Reply};
use crate::{identity, input, person, places, private};

/// Answer an open question
///
/// `yes` allows the call once, `session` until the run ends. `always` allows the call and adds the
/// rules that the question shows to your configuration, for this project or, with `--everywhere`,
/// for all projects. `edit` allows the call with other arguments. `no` refuses the call and
/// everything else in the run that has not started; with `--reason` it refuses only this call.
/// `stop` refuses the call and ends the run.
///
/// Without an answer, Punchlist shows the open questions and asks them one by one. Only a person at
/// a terminal can answer, and every answer that allows something must be confirmed with a key. An
/// agent, or a program that an agent started, is refused.
#[derive(clap::Args)]
pub(crate) struct Answer {
    /// The question, if several are open: the beginning or end of its id; then yes, session,
    /// always, edit, no or stop
    #[arg(value_name = "ID] [ANSWER", num_args = 0..=2)]
    words: Vec<String>,
    /// Why the call is refused; the caller reads it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// With `always`: add the rules for every project
    #[arg(long)]
    everywhere: bool,
    /// With `edit`: the other arguments, instead of opening an editor
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
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
            return Err(answering::nothing_waits(id));
        }
        let store = app.store()?;
        let waiting = block_on(answering::meant(&*store, &app.project()?.name, id, app.now))?;
        let mut replies = Vec::new();
        match (word, waiting.as_slice()) {
            (_, []) => return Err(answering::nothing_waits(id)),
            (_, [question]) if !answering::is_waiting(question) => {
                return Err(answering::late(question, app.now));
            }
            (Some(word), [question]) => {
                let answer = self.answer(word, &question.asked)?;
                confirm(app, question, &answer)?;
                replies.push(give(app, &*store, question, answer)?);
            }
            (Some(_), several) => return Err(answering::several(several, app.now)),
            (None, all) => {
                let mut keyboard = person::keyboard().ok_or_else(unanswered)?;
                for (at, question) in all.iter().enumerate() {
                    let place = (at + 1, all.len());
                    let Some(answer) = prompt(app, &mut keyboard, question, place)? else {
                        continue;
                    };
                    match give(app, &*store, question, answer) {
                        Ok(reply) => replies.push(reply),
                        // Somebody else has answered this question meanwhile: go on with the
                        // others.
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
    /// Parses the id and the answer. Options that do not belong to the answer are an error.
    fn parsed(&self) -> Result<(Option<&str>, Option<Word>), Fail> {
        let parsed = answering::id_and_word(&self.words)?;
        if self.reason.is_some() && !matches!(parsed.1, Some(Word::No | Word::Stop)) {
            return Err(Fail::usage("`--reason` is only for refusals")
                .hint("give it with the answer `no` or `stop`."));
        }
        if self.everywhere && parsed.1 != Some(Word::Always) {
            return Err(Fail::usage("`--everywhere` is only for `always`")
                .hint("give it with the answer `always`."));
        }
        if self.arguments.is_some() && parsed.1 != Some(Word::Edit) {
            return Err(Fail::usage("`--arguments` is only for `edit`")
                .hint("give it with the answer `edit`."));
        }
        Ok(parsed)
    }

    fn answer(&self, word: Word, asked: &Asked) -> Result<Given, Fail> {
        let with = With { reason: self.reason.as_deref(), everywhere: self.everywhere };
        answering::answer(word, with, asked, || match &self.arguments {
            Some(text) => answering::arguments(text).map(Some),
            None => edited(asked),
        })
    }
}

/// Stores the answer and reports the result.
fn give(app: &App, store: &dyn Store, question: &Question, answer: Given) -> Result<Reply, Fail> {
    let answered = Answered { answer, by: app.actor(store)?, at: app.now };
    let given = block_on(answering::give(store, question, answered, &identity::host()))?;
    let mut notes = Vec::new();
    if given.is_over {
        notes.push("the run that asked has ended; it uses the answer when it continues".to_owned());
    }
    let out = match app.globals.json {
        true => json::render(&json::question(&given.question)) + "\n",
        false => questions::given(&given.question) + "\n",
    };
    Ok(Reply { out, notes, changed: true, exit: 0, prose: true })
}

/// Shows the question and asks the person to confirm the answer that came on the command line: a
/// script can pass an answer without anybody having read the question. A refusal needs no
/// confirmation.
fn confirm(app: &App, question: &Question, answer: &Given) -> Result<(), Fail> {
    let asked = &question.asked;
    answering::check_offered(asked, answer)?;
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

/// Maximum of rows in which a question is shown before its answer is confirmed.
const ROWS: usize = 200;

fn unanswered() -> Fail {
    Fail::new(Code::Interrupted, "nothing was answered")
}

/// Shows a question and asks; `None` leaves the question open.
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
        keyboard.say(&[
            "type one of the letters above; Enter alone leaves the question open".to_owned()
        ]);
    }
}

/// Shows the sets of rules that "always" may add, one after the other, and asks where to add them.
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
    Ok(answering::rules_to_add(rules, reach, project, &places::config()?))
}

/// Opens the arguments in an editor; `None` if they were not changed.
fn edited(asked: &Asked) -> Result<Option<Value>, Fail> {
    let set = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).ok_or_else(|| {
        Fail::usage("no editor is set")
            .hint("set EDITOR, or give the arguments with `--arguments`.")
    })?;
    let directory = places::data()?;
    let file = directory.join(format!("question-{}.json", asked.id));
    let text = json::render(&asked.arguments) + "\n";
    let failed = |why: std::io::Error| Fail::ours(format!("cannot edit {}: {why}", file.display()));
    private::directory(&directory).map_err(failed)?;
    // Overwrites a file that was left by an editor that was killed.
    let mut options = private::options();
    options.write(true).create(true).truncate(true);
    options.open(&file).and_then(|mut it| it.write_all(text.as_bytes())).map_err(failed)?;
    let ended = editor::edit(&editor, &file);
    let after = input::file(&file);
    // The arguments may contain secrets, so the file is removed.
    fs::remove_file(&file).ok();
    if !ended.map_err(failed)? {
        return Err(Fail::new(Code::Interrupted, "the editor failed; nothing was answered"));
    }
    let arguments = answering::arguments(&after?)?;
    Ok((arguments != asked.arguments).then_some(arguments))
}

/// Joins several replies into one.
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
