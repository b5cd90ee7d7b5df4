//! Calls by a person at a terminal.

use std::fs;
use std::process::Command;

pub(crate) use punchlist_testkit::person::{Person, typed};

use crate::world::{Ran, World, words};

impl World {
    /// A call by a person at a terminal, who answers each question with the next of these lines and
    /// then leaves. stdout is a pipe.
    pub(crate) fn answering(&self, like: &Command, answers: &[&str]) -> (Ran, String) {
        let (out, err) = (self.path("person.out"), self.path("person.err"));
        let line = format!("{} >'{}' 2>'{}'", typed(like), out.display(), err.display());
        let mut person = Person::calls(like, &line);
        for answer in answers {
            if !person.sees_question() {
                break;
            }
            person.types(&format!("{answer}\n"));
        }
        let (code, seen) = person.ends();
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        (Ran { code, out: text(out), err: text(err) }, seen)
    }

    /// A call by a person at a terminal, who says yes to every question.
    pub(crate) fn person_in(&self, dir: &str, line: &str) -> Ran {
        let mut command = self.command(dir);
        command.args(words(line));
        self.answering(&command, &["y"; 8]).0
    }

    /// The same in the project.
    pub(crate) fn person(&self, line: &str) -> Ran {
        self.person_in("project", line)
    }
}
