//! Errors of a call, for a person at a terminal or a program that reads JSON.
//!
//! An error has a code (the exit code, and a word for JSON), a message, the items that it is about,
//! and a hint that says what to do next. The front end prints it.

use std::fmt;
use std::io;

use punchlist_formats::text;
use punchlist_formats::typed::items::NotOne;
use punchlist_formats::typed::{Kind, Mistake};
use punchlist_model::store;
use punchlist_model::undo::Conflict;
use punchlist_model::{Broken, Number, Refusal};

mod hint;

pub use hint::ASK_USER;

/// The kind of an error. It determines the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// Punchlist itself or the operating system failed.
    Failure,
    /// The call was wrong.
    Usage,
    /// A rule refused the change.
    Refused,
    /// A plan, item, question or file does not exist.
    NotFound,
    /// The plan has changed meanwhile.
    Conflict,
    /// An item of a run failed.
    ItemFailed,
    /// Items of a run are left.
    ItemsLeft,
    /// The store cannot be used.
    Unusable,
    /// The user stopped the call.
    Interrupted,
}

impl Code {
    /// All codes with their meaning. The reference is generated from this.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Failure, "Punchlist or the operating system failed"),
        (Self::Usage, "the call was wrong: an unknown verb or option, a value that cannot be read"),
        (
            Self::Refused,
            "a rule of the plan or a missing right says no, and nothing was changed; `verify`: a check failed",
        ),
        (Self::NotFound, "there is no such plan, item, question or file; `next`: nothing is ready"),
        (
            Self::Conflict,
            "the plan is at another revision than `--expect` said, or the same fields were changed since",
        ),
        (Self::ItemFailed, "`run`: an item failed"),
        (Self::ItemsLeft, "`run`: open, blocked or waiting items remain, or the goal is not met"),
        (Self::Unusable, "the store cannot be used: damaged, not writable, or of a newer version"),
        (Self::Interrupted, "the user interrupted it or answered no"),
    ];

    /// The exit code of the process.
    pub fn exit(self) -> u8 {
        match self {
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::NotFound => 4,
            Self::Conflict => 5,
            Self::ItemFailed => 6,
            Self::ItemsLeft => 7,
            Self::Unusable => 8,
            Self::Interrupted => 130,
        }
    }

    /// The code's name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Usage => "usage",
            Self::Refused => "refused",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::ItemFailed => "item_failed",
            Self::ItemsLeft => "items_left",
            Self::Unusable => "unusable",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The error of a call.
#[derive(Debug)]
pub struct Fail {
    /// The code.
    pub code: Code,
    /// What is wrong, one problem per line.
    pub message: String,
    /// Lines that belong to the message, such as candidates or what happened meanwhile.
    pub details: Vec<String>,
    /// The items that the error is about.
    pub items: Vec<Number>,
    /// What to do next, as a sentence.
    pub hint: Option<String>,
    /// The hint for an agent, if only a person can take the next step.
    pub agent_hint: Option<Box<str>>,
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fail {}

impl Fail {
    /// An error with this code, without a hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: brief(message.into()),
            details: Vec::new(),
            items: Vec::new(),
            hint: None,
            agent_hint: None,
        }
    }

    /// An error of Punchlist itself or of the operating system.
    pub fn ours(message: impl Into<String>) -> Self {
        Self::new(Code::Failure, message)
    }

    /// An error of a wrong call.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    /// An error of a refused change.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Code::Refused, message)
    }

    /// An error for something that does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// Adds a hint that says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The hint for a person or for an agent. An agent's hint does not name what only a person may
    /// do.
    pub fn hint_for(&self, is_agent: bool) -> Option<&str> {
        let own = self.agent_hint.as_deref().filter(|_| is_agent);
        own.or(self.hint.as_deref())
    }

    /// Adds lines that belong to the message.
    #[must_use]
    pub fn details(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }

    /// The error as JSON, with this hint.
    pub fn json(&self, hint: Option<&str>) -> serde_json::Value {
        let mut message = self.message.clone();
        for line in &self.details {
            message.push('\n');
            message.push_str(line);
        }
        serde_json::json!({"error": {
            "code": self.code.word(),
            "message": message,
            "items": self.items,
            "hint": hint,
        }})
    }
}

/// Shortens each line of a message to a readable length, because messages may quote what was typed.
fn brief(message: String) -> String {
    const MOST: usize = 400;
    if message.len() <= MOST {
        return message;
    }
    let short = |line: &str| match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    message.lines().map(short).collect::<Vec<_>>().join("\n")
}

impl From<Refusal> for Fail {
    fn from(refusal: Refusal) -> Self {
        let code = if refusal.is_not_found() { Code::NotFound } else { Code::Refused };
        let refusal = refusal.with_titles(|title| text::one_line(title).into_owned());
        let mut fail = Self::new(code, refusal.to_string());
        let mut hints: Vec<String> = Vec::new();
        let mut agent_hints: Vec<String> = Vec::new();
        let mut is_for_person = false;
        for problem in &refusal.problems {
            if let Some(tag) = &problem.item
                && !fail.items.contains(&tag.number)
            {
                fail.items.push(tag.number);
            }
            let hint = hint::of(problem);
            let agent_hint = hint::for_agent(problem);
            is_for_person |= agent_hint.is_some();
            let agent_hint = agent_hint.unwrap_or_else(|| hint.clone());
            for (hint, all) in [(hint, &mut hints), (agent_hint, &mut agent_hints)] {
                if !all.contains(&hint) {
                    all.push(hint);
                }
            }
        }
        // More than three hints do not help.
        hints.truncate(3);
        agent_hints.truncate(3);
        fail.hint = Some(hints.join("\n")).filter(|text| !text.is_empty());
        fail.agent_hint = is_for_person.then(|| agent_hints.join("\n").into());
        fail
    }
}

impl From<store::Error> for Fail {
    fn from(error: store::Error) -> Self {
        use store::Error;
        let message = error.to_string();
        match error {
            Error::Refused(refusal) => refusal.into(),
            Error::Revision { plan, expected, actual, since: _ } => Self::new(
                Code::Conflict,
                format!(
                    "plan {} changed while you were editing (you had revision {expected}, it is at {actual})",
                    plan.short()
                ),
            )
            .hint("look at it with `punchlist list`, then repeat; `--expect any` overwrites."),
            Error::Undo(Conflict::Nothing(_)) => Self::not_found(message)
                .hint("`punchlist log` shows who changed what; `--as NAME` acts as somebody else."),
            Error::Undo(Conflict::Changed { .. }) => Self::new(Code::Conflict, message)
                .hint("`punchlist log` shows both changes; put it right by hand with `punchlist edit`."),
            Error::Undo(Conflict::Refused { revision, refusal }) => {
                let fail = Self::from(refusal);
                let message = format!("revision {revision} cannot be undone: {}", fail.message);
                Self { message, code: Code::Refused, ..fail }
            }
            Error::NoPlan(_) => Self::not_found(message).hint("`punchlist plans` lists the plans."),
            Error::NoRun(_) | Error::NoCall { .. } => Self::not_found(message),
            Error::CallMoved { .. } => Self::new(Code::Conflict, message)
                .hint("two processes work on the same run; end one of them."),
            Error::NoQuestion(_) => {
                Self::not_found(message).hint("`punchlist questions` shows those that wait.")
            }
            Error::NoConversation(_) => {
                Self::not_found(message).hint("`punchlist sessions` lists the sessions.")
            }
            Error::ConversationExists(_) => Self::refused(message),
            Error::Held { ref id, .. } => Self::new(Code::Conflict, message).hint(format!(
                "wait until it is done, or end it with `punchlist sessions stop {}`.",
                id.short()
            )),
            Error::Message(_) => Self::refused(message).hint("shorten it, or wait until the first are worked off."),
            Error::MessageChanged(_) => Self::new(Code::Conflict, message)
                .hint("`punchlist sessions queue` shows the messages that wait."),
            Error::NameTaken(_) => Self::refused(message).hint("choose another name with `--plan`."),
            Error::Exists(_) | Error::AlreadyMade(_) => Self::refused(message)
                .hint("a plan is imported once; `punchlist plans --all` shows where it is."),
            Error::NewerSchema { .. } => Self::new(Code::Unusable, message)
                .hint("a newer version of punchlist wrote it: use that one, or another database with `--db`."),
            Error::ReadOnly(_) => Self::new(Code::Unusable, message).hint(
                "choose a file that you may write with `--db`; in a sandboxed agent, use the plan tools of the MCP server.",
            ),
            Error::Busy(_) => Self::new(Code::Unusable, message).hint(
                "end that program, or wait until it is done, and try again; or choose another file with `--db` or PUNCHLIST_DB.",
            ),
            Error::Denied { ref role, .. } => {
                let role = if role.is_empty() { "ROLE" } else { role };
                let hint = format!(
                    "the owner of the database gives it the right: `punchlist db grant {role} --as admin` \
                     for everything, `--as worker` for doing items."
                );
                Self::refused(message).hint(hint)
            }
            Error::Server { .. } => Self::new(Code::Unusable, message)
                .hint("`punchlist doctor` says what it finds out about the server and its address."),
            Error::Unusable { source, .. } => {
                let why = source.map(|source| format!(": {source}")).unwrap_or_default();
                Self::new(Code::Unusable, format!("{message}{why}"))
                    .hint("fix that and try again, or choose another file with `--db` or PUNCHLIST_DB.")
            }
            Error::Unconfirmed { source, .. } => {
                let why = source.map(|source| format!(": {source}")).unwrap_or_default();
                Self::new(Code::Unusable, format!("{message}{why}"))
                    .hint("check the disk; `punchlist log` shows whether the change is still there.")
            }
        }
    }
}

impl From<Mistake> for Fail {
    fn from(mistake: Mistake) -> Self {
        let code = match mistake.kind {
            Kind::Unreadable => Code::Usage,
            Kind::TooLong => Code::Refused,
            Kind::NotFound => Code::NotFound,
        };
        Self { hint: mistake.hint, ..Self::new(code, mistake.message) }
    }
}

impl From<NotOne> for Fail {
    fn from(found: NotOne) -> Self {
        match found {
            NotOne::Nothing { typed } => {
                Refusal::one(Broken::NotFound { what: format!("{typed:?}") }).into()
            }
            NotOne::Several { typed, items, lines } => {
                let fail = Self::usage(format!("{typed:?} could be any of these items"))
                    .details(lines)
                    .hint("use the number, or more of the title.");
                Self { items, ..fail }
            }
        }
    }
}

/// The error for a file that cannot be read. A missing file is "not found" in every verb.
pub fn unreadable(name: &str, why: &io::Error) -> Fail {
    if why.kind() == io::ErrorKind::NotFound {
        return Fail::not_found(format!("there is no file {name:?}"))
            .hint("look at the path; it counts from the current directory.");
    }
    Fail::usage(format!("cannot read {name}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_be_used_says_what_to_do_instead() {
        for (error, hint) in [
            (store::Error::ReadOnly("a disc".to_owned()), "the plan tools of the MCP server"),
            (store::Error::NewerSchema { found: 9, known: 1 }, "newer version of punchlist"),
            (store::Error::Busy("used".to_owned()), "end that program, or wait"),
            (store::Error::Unusable { what: "damaged".to_owned(), source: None }, "`--db`"),
            (
                store::Error::Unconfirmed { what: "made".to_owned(), source: None },
                "`punchlist log`",
            ),
            (store::Error::Server { what: "away".to_owned(), source: None }, "`punchlist doctor`"),
        ] {
            let fail = Fail::from(error);
            assert_eq!(fail.code.exit(), 8, "{}", fail.message);
            assert!(fail.hint.as_ref().is_some_and(|it| it.contains(hint)), "{:?}", fail.hint);
        }
    }

    #[test]
    fn a_role_without_a_right_is_refused_and_told_who_gives_it() {
        for (role, message, grant) in [
            ("bob", "the role bob may not answer questions", "`punchlist db grant bob --as admin`"),
            ("", "this role may not answer questions", "`punchlist db grant ROLE --as admin`"),
        ] {
            let what = "answer questions".to_owned();
            let fail = Fail::from(store::Error::Denied { role: role.to_owned(), what });
            assert_eq!((fail.code.exit(), &*fail.message), (3, message));
            assert!(fail.hint.as_ref().is_some_and(|it| it.contains(grant)), "{:?}", fail.hint);
        }
    }

    #[test]
    fn exit_codes_are_as_promised() {
        let codes = Code::ALL.map(|(code, _)| (code.exit(), code.word()));
        let promised = [
            (1, "failure"),
            (2, "usage"),
            (3, "refused"),
            (4, "not_found"),
            (5, "conflict"),
            (6, "item_failed"),
            (7, "items_left"),
            (8, "unusable"),
            (130, "interrupted"),
        ];
        assert_eq!(codes, promised);
    }
}
