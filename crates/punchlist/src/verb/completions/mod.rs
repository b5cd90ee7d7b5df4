//! `punchlist completions`.

mod shells;

use std::fs;
use std::path::PathBuf;

use clap_complete::Shell;
use punchlist_formats::text;

use super::{Group, Verb};
use crate::app::App;
use crate::args;
use crate::fail::Fail;
use crate::print::Reply;

/// Print completions for a shell, or the manual pages
///
/// In bash, zsh and fish, the completions include the items, plans and names of the current
/// project.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// bash, elvish, fish, powershell or zsh; `man` for the manual pages
    #[arg(value_name = "SHELL")]
    what: What,
    /// Write the manual pages into this directory, one per verb
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Shell(Shell),
    Manual,
}

impl std::str::FromStr for What {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "man" {
            return Ok(Self::Manual);
        }
        text.parse().map(Self::Shell).map_err(|_| {
            "use bash, elvish, fish, powershell, zsh, or man for the manual pages".to_owned()
        })
    }
}

impl Verb for Completions {
    const NAME: &'static str = "completions";
    const GROUP: Group = Group::Rest;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist completions bash > ~/.local/share/bash-completion/completions/punchlist
  punchlist completions fish > ~/.config/fish/completions/punchlist.fish
  punchlist completions man --dir ~/.local/share/man/man1
  punchlist completions man | man -l -";

    fn run(self, _app: &App) -> Result<Reply, Fail> {
        match (self.what, self.dir) {
            (What::Shell(_), Some(_)) => Err(Fail::usage("--dir is only for the manual pages")
                .hint("send completions to a file: `punchlist completions bash > FILE`.")),
            (What::Shell(shell), None) => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut args::shown(), "punchlist", &mut script);
                let script = String::from_utf8_lossy(&script);
                Ok(Reply::text(shells::dynamic(shell, &script, &args::shown())))
            }
            (What::Manual, None) => page(args::whole()).map(Reply::text),
            (What::Manual, Some(dir)) => pages(&dir),
        }
    }
}

fn page(command: clap::Command) -> Result<String, Fail> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|why| Fail::ours(format!("the manual pages cannot be made: {why}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn pages(dir: &std::path::Path) -> Result<Reply, Fail> {
    let failed =
        |why: std::io::Error| Fail::usage(format!("cannot write to {}: {why}", dir.display()));
    fs::create_dir_all(dir).map_err(failed)?;
    let mut out = String::new();
    let mut write = |name: &str, command: clap::Command| {
        let path = dir.join(format!("{name}.1"));
        fs::write(&path, page(command)?).map_err(failed)?;
        out.push_str(&format!("{}\n", text::one_line(&path.to_string_lossy())));
        Ok::<(), Fail>(())
    };
    write("punchlist", args::whole())?;
    for row in super::all().iter().filter(|row| !row.hidden) {
        let name = format!("punchlist-{}", row.name);
        write(&name, args::described(row).display_name(name.clone()))?;
    }
    Ok(Reply::text(out))
}
