//! `punchlist reference`: the generated part of the documentation.

use clap::Command;
use punchlist_formats::dialect::{Dialect, Surface};

use super::{Group, Verb};
use crate::app::App;
use crate::args;
use crate::error::{Code, Fail};
use crate::print::Reply;

/// Print a page of the reference
#[derive(clap::Args)]
pub(crate) struct Reference {
    /// verbs, tools or exit-codes
    #[arg(value_enum, value_name = "PAGE")]
    page: Page,
}

/// The pages that are made from the program itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Page {
    /// docs/reference/verbs.md
    Verbs,
    /// docs/reference/tools.md
    Tools,
    /// docs/reference/exit-codes.md
    ExitCodes,
}

impl Verb for Reference {
    const NAME: &'static str = "reference";
    const GROUP: Group = Group::Rest;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist reference verbs > docs/reference/verbs.md";
    const HIDDEN: bool = true;

    fn run(self, _app: &App) -> Result<Reply, Fail> {
        Ok(Reply::text(match self.page {
            Page::Verbs => verbs(),
            Page::Tools => tools(),
            Page::ExitCodes => exit_codes(),
        }))
    }
}

const MADE: &str = "<!-- Made by `punchlist reference`; do not edit. -->\n\n";

fn verbs() -> String {
    let mut out = format!("{MADE}# Verbs\n\n```text\n{}```\n", args::overview());
    let globals = options_of_every_verb();
    for row in super::all().iter().filter(|row| !row.hidden) {
        let help = plain(args::alone(row));
        let own = help.replace(&globals, "");
        out.push_str(&format!("\n## {}\n\n```text\n{}\n```\n", row.name, own.trim_end()));
    }
    out.push_str(&format!("\n## Options of every verb\n\n```text\n{}\n```\n", globals.trim()));
    out
}

/// Help at a fixed width, so that the page does not depend on who makes it.
fn plain(command: Command) -> String {
    command.term_width(100).render_long_help().to_string()
}

/// The part of the help that is the same for all.
fn options_of_every_verb() -> String {
    let Some(row) = super::find("undo") else { return String::new() };
    let help = plain(args::alone(row));
    let start = help.find("Options of every verb:").unwrap_or(help.len());
    let end = help.find("Examples:").unwrap_or(help.len());
    help.get(start..end).unwrap_or_default().to_owned()
}

fn tools() -> String {
    let mut out =
        format!("{MADE}# Tools\n\nWhat a model is given, by dialect, at the full surface.\n");
    for dialect in Dialect::ALL {
        out.push_str(&format!("\n## {dialect}\n"));
        for tool in dialect.tools(Surface::Full) {
            let schema = serde_json::to_string_pretty(&tool.input_schema).unwrap_or_default();
            out.push_str(&format!(
                "\n### {}\n\n{}\n\n```json\n{schema}\n```\n",
                tool.name, tool.description
            ));
        }
        if let Some(prompt) = dialect.prompt_section(Surface::Full) {
            out.push_str(&format!("\n### System prompt\n\n```text\n{}\n```\n", prompt.trim()));
        }
    }
    out
}

fn exit_codes() -> String {
    let mut out = format!("{MADE}# Exit codes\n\n| code | in JSON | meaning |\n|---|---|---|\n");
    out.push_str("| 0 | | done |\n");
    for (code, meaning) in Code::ALL {
        out.push_str(&format!("| {} | `{}` | {meaning} |\n", code.exit(), code.word()));
    }
    out
}
