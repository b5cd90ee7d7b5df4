//! `punchlist guardian`: the second process, which starts and ends the commands of a run.
//!
//! A real guardian never gets here: `main` becomes the guardian before it parses any verb
//! ([`punchlist_sched::guardian::enter_if_called`]). This verb only answers somebody who typed it.

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;

/// Start and end processes for a run of Punchlist
///
/// Punchlist starts this process itself, with a socket as its standard input.
#[derive(clap::Args)]
pub(crate) struct Guardian {}

impl Verb for Guardian {
    const NAME: &'static str = "guardian";
    const GROUP: Group = Group::Rest;
    const EXAMPLES: &'static str = "";
    const HIDDEN: bool = true;

    fn run(self, _app: &App) -> Result<Reply, Fail> {
        Err(Fail::usage("this verb is for punchlist itself: it reads from a socket"))
    }
}
