//! `punchlist answer`.

use punchlist_engine::answering::{self, With, Word};
use punchlist_formats::view::{json, questions};
use punchlist_model::call::{Answer as Given, Answered, Asked, Question};
use punchlist_model::session::Store;
use punchlist_tui::terminal::answer_prompt::{AnswerPrompt, ArgumentEditor};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::fail::{Code, Fail};
use crate::print::{self, Reply};
use crate::{editing, identity, person, places};

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
                let mut prompt = prompt(app)?;
                for (at, question) in all.iter().enumerate() {
                    let Some(answer) = prompt.ask(question, (at + 1, all.len()))? else {
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
            None => editor()?.edit(asked),
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

/// Asks the person to confirm an answer that came on the command line: a script can pass one without
/// anybody having read the question. A refusal needs no confirmation.
fn confirm(app: &App, question: &Question, answer: &Given) -> Result<(), Fail> {
    answering::check_offered(&question.asked, answer)?;
    let is_confirmed = !answer.is_yes() || prompt(app)?.confirms(question, answer);
    if is_confirmed { Ok(()) } else { Err(unanswered()) }
}

fn unanswered() -> Fail {
    Fail::new(Code::Interrupted, "nothing was answered")
}

/// What asks the person at this terminal.
fn prompt(app: &App) -> Result<AnswerPrompt, Fail> {
    let screen = app.screen();
    Ok(AnswerPrompt {
        keyboard: person::keyboard().ok_or_else(unanswered)?,
        screen,
        view: app.view(screen),
        rules_file: places::config()?,
        editor: editor()?,
    })
}

fn editor() -> Result<ArgumentEditor, Fail> {
    Ok(ArgumentEditor { command: editing::chosen(), directory: places::data()? })
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
