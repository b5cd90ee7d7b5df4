//! `punchlist guardian`: the second process that ends what the first one started.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use punchlist_sched::process::guardian;
use punchlist_sched::process::leash::Leash;
use rustix::fs::FileType;

use super::{Group, Verb};
use crate::app::App;
use crate::error::Fail;
use crate::print::Reply;

/// Start and end processes for a run of this program
///
/// Punchlist starts this itself, with a socket as its standard input.
#[derive(clap::Args)]
pub(crate) struct Guardian {}

impl Verb for Guardian {
    const NAME: &'static str = "guardian";
    const GROUP: Group = Group::Rest;
    const EXAMPLES: &'static str = "";
    const HIDDEN: bool = true;

    fn run(self, _app: &App) -> Result<Reply, Fail> {
        let socket = io::stdin().as_fd().try_clone_to_owned();
        let socket = socket.map_err(|why| Fail::ours(format!("there is no socket: {why}")))?;
        let is_socket = rustix::fs::fstat(&socket)
            .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Socket);
        if !is_socket {
            return Err(Fail::usage("this verb is for punchlist itself: it reads from a socket"));
        }
        guardian::main(socket, leash())
            .map_err(|why| Fail::ours(format!("the guardian failed: {why}")))?;
        Ok(Reply::default())
    }
}

/// The word that this program is a leash by.
pub(crate) const LEASH: &str = "leash";

/// What commands are started with: this very program, also if its file was replaced meanwhile.
fn leash() -> Option<Leash> {
    let program = Path::new("/proc/self/exe");
    let arguments = vec![LEASH.into()];
    program.exists().then(|| Leash { program: program.to_owned(), arguments })
}
