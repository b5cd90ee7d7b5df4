//! Asks a person for the answers to open questions, at the keyboard, a line at a time.
//!
//! The questions of a run or session are answered in its own view (`prompt`); this is for `punchlist answer`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use punchlist_engine::fail::{Code, Fail};
use punchlist_engine::{answering, editor};
use punchlist_formats::view::questions::Below;
use punchlist_formats::view::{self, json, questions};
use punchlist_model::call::{Answer, Asked, Offer, Permit, Question, Reach};
use serde_json::Value;

use super::input;
use super::keyboard::Keyboard;
use crate::options::Screen;

/// Maximum of rows in which a question is shown before its answer is confirmed.
const ROWS: usize = 200;

/// Asks for answers.
pub struct AnswerPrompt {
    /// Where the person is asked.
    pub keyboard: Keyboard,
    /// The properties of the screen.
    pub screen: Screen,
    /// The options for drawing the question.
    pub view: view::Options,
    /// The file that gets the rules of "always".
    pub rules_file: PathBuf,
    /// Edits the arguments of a call.
    pub editor: ArgumentEditor,
}

impl AnswerPrompt {
    /// Shows a question and asks for its answer; `None` leaves it open. `place` is the number of the question,
    /// and how many there are.
    pub fn ask(
        &mut self,
        question: &Question,
        place: (usize, usize),
    ) -> Result<Option<Answer>, Fail> {
        let asked = &question.asked;
        self.keyboard.show(&questions::whole(asked, place, &self.view), self.screen);
        loop {
            let Some(key) = self.keyboard.line("?") else { return Ok(None) };
            let sets = questions::sets(asked);
            let answer = match key.to_ascii_lowercase().as_str() {
                "" => return Ok(None),
                "y" | "yes" => Some(Answer::Once),
                "s" | "session" => sets.first().map(|it| Answer::Session(it.to_vec())),
                "a" | "always" if sets.is_empty() => questions::always(asked).map(|it| it.0),
                "a" | "always" => self.choose_rules(asked, &question.project),
                "q" | "stop" => Some(Answer::RefuseAndStop(None)),
                "e" | "edit" if asked.offers.contains(&Offer::Modify) => {
                    self.editor.edit(asked)?.map(Answer::Modify)
                }
                "n" | "no" => Some(Answer::Refuse(None)),
                "r" => self
                    .keyboard
                    .line("why not?")
                    .map(|reason| Answer::Refuse((!reason.is_empty()).then_some(reason))),
                _ => None,
            };
            if let Some(answer) = answer.filter(|it| it.is_among(&asked.offers)) {
                return Ok(Some(answer));
            }
            self.keyboard
                .say(&["type one of the letters above; Enter alone leaves the question open"
                    .to_owned()]);
        }
    }

    /// Shows the question and an answer that allows something, and asks the person to confirm it.
    pub fn confirms(&mut self, question: &Question, answer: &Answer) -> bool {
        let mut about = vec![format!("answer: {}", questions::word(answer))];
        if let Answer::Modify(arguments) = answer {
            about.push(json::render(arguments));
        }
        if let Answer::Always { rules, reach } = answer {
            about.extend(self.rules_to_add(rules, *reach, &question.project));
        }
        let below = Below { text: about, ..Below::default() };
        let lines = questions::asking(&question.asked, 1, &below, ROWS, &self.view);
        self.keyboard.show(&lines, self.screen);
        self.keyboard.confirms("Is that your answer?")
    }

    /// Shows the sets of rules that "always" may add, one after the other, and asks where to add them.
    fn choose_rules(&mut self, asked: &Asked, project: &str) -> Option<Answer> {
        let sets = questions::sets(asked);
        for (at, set) in sets.iter().enumerate() {
            let rules = self.rules_to_add(set, Reach::Project, project);
            self.keyboard.say(&rules);
            let is_local = set.iter().any(Permit::is_local);
            let everywhere = if is_local { "" } else { ", g without project, for all" };
            let rather =
                sets.get(at + 1).map(|it| format!(", t rather {}", questions::allowed(it)));
            let rather = rather.unwrap_or_default();
            let question = format!("p for this project{everywhere}{rather}, Enter goes back?");
            let said = self.keyboard.line(&question).unwrap_or_default().to_ascii_lowercase();
            let reach = match said.as_str() {
                "p" => Reach::Project,
                "g" if !is_local => Reach::Everywhere,
                "t" => continue,
                _ => return None,
            };
            return Some(Answer::Always { rules: set.to_vec(), reach });
        }
        None
    }

    /// The rules that would be added, and where.
    fn rules_to_add(&self, rules: &[Permit], reach: Reach, project: &str) -> Vec<String> {
        answering::rules_to_add(rules, reach, project, &self.rules_file)
    }
}

/// Edits the arguments of a call in the user's editor.
pub struct ArgumentEditor {
    /// The editor that the user has set.
    pub command: Option<String>,
    /// The directory for the file that is edited.
    pub directory: PathBuf,
}

impl ArgumentEditor {
    /// Opens the arguments in the editor; `None` if they were not changed.
    pub fn edit(&self, asked: &Asked) -> Result<Option<Value>, Fail> {
        let editor = self.command.as_deref().ok_or_else(|| {
            Fail::usage("no editor is set")
                .hint("set EDITOR, or give the arguments with `--arguments`.")
        })?;
        let file = self.directory.join(format!("question-{}.json", asked.id));
        let text = json::render(&asked.arguments) + "\n";
        let failed = |why: io::Error| Fail::ours(format!("cannot edit {}: {why}", file.display()));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)
            .map_err(failed)?;
        // Overwrites a file that was left by an editor that was killed.
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&file).and_then(|mut it| it.write_all(text.as_bytes())).map_err(failed)?;
        let ended = editor::edit(editor, &file);
        let after = input::file(&file);
        // The arguments may contain secrets, so the file is removed.
        fs::remove_file(&file).ok();
        if !ended.map_err(failed)? {
            return Err(Fail::new(Code::Interrupted, "the editor failed; nothing was answered"));
        }
        let arguments = answering::arguments(&after?)?;
        Ok((arguments != asked.arguments).then_some(arguments))
    }
}
