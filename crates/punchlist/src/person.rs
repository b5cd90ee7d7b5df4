//! Who makes this call, and what a person confirms at their terminal by a key.
//!
//! The engine decides who makes the call; here it is shown the environment, the processes above and the
//! terminal, once in a process.

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

/// The verb that was called is one that agents start, whether or not anything else shows that: a hook, or
/// the MCP server.
pub(crate) fn serve_agent() {
    CALLED_BY.get_or_init(|| CalledBy::find_agent(&SIGNS));
}

/// What shows who makes this call.
const SIGNS: Signs<'static> =
    Signs { variables: &variable, ancestors: &identity::up_to_agent, has_terminal: &has_terminal };

fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// Whether keys come from a terminal, and it is the one that this process belongs to.
fn has_terminal() -> bool {
    io::stdin().is_terminal() && Keyboard::open().is_some()
}

/// Whether an agent makes the call: then what it writes down is not a person's word.
pub(crate) fn is_agent() -> bool {
    called_by().is_agent()
}

/// Who reads what this call prints.
pub(crate) fn reader() -> Reader {
    if is_agent() { Reader::Agent } else { Reader::Person }
}

/// Refuses what only a person at a terminal may do.
pub(crate) fn at_terminal(what: &str, verb: &str) -> Result<(), Fail> {
    called_by().at_terminal(what, verb)
}

/// Refuses what is for people alone, where an agent makes the call. There need not be a terminal.
pub(crate) fn not_an_agent(what: &str) -> Result<(), Fail> {
    called_by().not_an_agent(what)
}

/// Whether the answer of an MCP client's user is a person's word, as far as this server can tell.
pub(crate) fn is_heard_through_client() -> bool {
    human::is_persons_client(&variable, &identity::ancestors(|_| false))
}

/// The keyboard of the person who calls, where no agent does; stdin may be a pipe.
pub(crate) fn keyboard() -> Option<Keyboard> {
    called_by().is_person().then(Keyboard::open).flatten()
}

/// What a person confirms at their terminal by a key.
pub(crate) struct Act<'a> {
    /// What only a person may do, as in `items are approved`.
    pub(crate) what: &'a str,
    /// The verb that it is done with.
    pub(crate) verb: &'a str,
    /// What the question is about, drawn above it.
    pub(crate) about: &'a [String],
    pub(crate) question: &'a str,
    /// What is told after a no.
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
