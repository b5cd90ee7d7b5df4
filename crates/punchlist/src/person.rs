//! Who makes this call, and confirmations by a person at a terminal.
//!
//! The engine decides who makes the call. This file gives it the environment, the ancestors of the
//! process and the terminal, once per process.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use punchlist_engine::policy::human::{self, CalledBy, Signs};
use punchlist_formats::view::Reader;

use crate::fail::{Code, Fail};
use crate::identity;
use crate::keyboard::Keyboard;

/// Who makes this call. It does not change while the process runs.
static CALLED_BY: OnceLock<CalledBy> = OnceLock::new();

/// Who makes this call.
pub(crate) fn called_by() -> CalledBy {
    *CALLED_BY.get_or_init(|| CalledBy::find(&SIGNS))
}

/// Records that the verb is one that only agents call, a hook or the MCP server, whatever else
/// indicates a person.
pub(crate) fn serve_agent() {
    CALLED_BY.get_or_init(|| CalledBy::find_agent(&SIGNS));
}

/// What the decision is based on.
const SIGNS: Signs<'static> =
    Signs { variables: &variable, ancestors: &identity::up_to_agent, has_terminal: &has_terminal };

fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// Whether stdin is a terminal, and the controlling terminal of this process.
fn has_terminal() -> bool {
    io::stdin().is_terminal() && Keyboard::open().is_some()
}

/// Whether an agent makes the call. If so, its input is not a person's.
pub(crate) fn is_agent() -> bool {
    called_by().is_agent()
}

/// Who reads the output of this call.
pub(crate) fn reader() -> Reader {
    if is_agent() { Reader::Agent } else { Reader::Person }
}

/// Refuses the call unless a person at a terminal makes it.
pub(crate) fn at_terminal(what: &str, verb: &str) -> Result<(), Fail> {
    called_by().at_terminal(what, verb)
}

/// Refuses the call if an agent makes it. A terminal is not needed.
pub(crate) fn not_an_agent(what: &str) -> Result<(), Fail> {
    called_by().not_an_agent(what)
}

/// Whether an answer from the user of an MCP or ACP client counts as a person's, as far as the server
/// can tell.
pub(crate) fn is_heard_through_client() -> bool {
    human::is_persons_client(&variable, &identity::ancestors(|_| false))
}

/// The terminal of the person who makes the call; `None` if an agent does. stdin may be a pipe.
pub(crate) fn keyboard() -> Option<Keyboard> {
    called_by().is_person().then(Keyboard::open).flatten()
}

/// An action that a person confirms at a terminal with a key.
pub(crate) struct Act<'a> {
    /// The action, as in `items are approved`.
    pub(crate) what: &'a str,
    /// The verb of the action.
    pub(crate) verb: &'a str,
    /// Lines to show above the question.
    pub(crate) about: &'a [String],
    pub(crate) question: &'a str,
    /// The message after a no.
    pub(crate) otherwise: &'a str,
}

impl Act<'_> {
    /// Asks for a yes at the terminal; anything else is an error.
    pub(crate) fn confirm(&self) -> Result<(), Fail> {
        at_terminal(self.what, self.verb)?;
        let mut keyboard =
            Keyboard::open().ok_or_else(|| human::no_terminal(self.what, self.verb))?;
        keyboard.say(self.about);
        if keyboard.confirms(self.question) {
            Ok(())
        } else {
            Err(Fail::new(Code::Interrupted, self.otherwise))
        }
    }
}
