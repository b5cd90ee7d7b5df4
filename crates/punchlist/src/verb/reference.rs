//! `punchlist reference`: the generated part of the documentation.

use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_formats::view::schema;

use super::{Group, Row, Verb};
use crate::app::App;
use crate::args;
use crate::fail::{Code, Fail};
use crate::print::Reply;

/// Print a page of the reference documentation
#[derive(clap::Args)]
pub(crate) struct Reference {
    /// verbs, tools, exit-codes, events-schema, json, json-schema or openapi
    #[arg(value_enum, value_name = "PAGE")]
    page: Page,
}

/// The generated pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Page {
    /// docs/reference/verbs.md
    Verbs,
    /// docs/reference/tools.md
    Tools,
    /// docs/reference/exit-codes.md
    ExitCodes,
    /// docs/reference/events.schema.json
    EventsSchema,
    /// docs/reference/json.md
    Json,
    /// docs/reference/json.schema.json
    JsonSchema,
    /// docs/reference/openapi.json
    Openapi,
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
            Page::EventsSchema => events_schema(),
            Page::Json => json(),
            Page::JsonSchema => json_schema(),
            Page::Openapi => openapi(),
        }))
    }
}

const MADE: &str = "<!-- Made by `punchlist reference`; do not edit. -->\n\n";

/// The heading of the global options.
const COMMON: &str = "Options of every verb:";

fn verbs() -> String {
    let mut out = format!("{MADE}# Verbs\n\n```text\n{}```\n", args::overview());
    let mut common = String::new();
    for row in super::all().iter().filter(|row| !row.hidden) {
        // A fixed width, so that the page is the same on every terminal.
        let help = args::help(args::alone(row).term_width(100));
        let (own, rest) = help.split_once(COMMON).unwrap_or((&help, ""));
        let (options, examples) = rest.split_once("\nExamples:").unwrap_or((rest, ""));
        let own = own.trim_end();
        let examples = examples.trim_end();
        out.push_str(&format!("\n## {}\n\n```text\n{own}\n\nExamples:{examples}\n```\n", row.name));
        out.push_str(&sub_commands(row));
        // Some verbs print their options in the long form; the page has the short one.
        if common.is_empty() || options.len() < common.len() {
            options.clone_into(&mut common);
        }
    }
    let common = common.trim_matches('\n');
    out.push_str(&format!("\n## Options of every verb\n\n```text\n{common}\n```\n"));
    out
}

/// The help of each sub-command of a verb.
fn sub_commands(row: &Row) -> String {
    let verb = || args::alone(row).term_width(100);
    let mut out = String::new();
    for sub in verb().get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = sub.get_name();
        let help = args::sub_help(verb(), name);
        let own = help.split_once(COMMON).map_or(help.as_str(), |it| it.0).trim_end();
        out.push_str(&format!("\n### {} {name}\n\n```text\n{own}\n```\n", row.name));
    }
    out
}

fn tools() -> String {
    let mut out = format!("{MADE}# Tools\n\nThe tools of each dialect, at the full surface.\n");
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

/// The JSON Schema of what `punchlist events` writes.
fn events_schema() -> String {
    let schema = punchlist_streams::event::owned::schema();
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// The definitions of what each verb prints with `--json`.
fn json() -> String {
    let mut out = format!(
        "{MADE}# What `--json` prints\n\nNames are in camelCase, and times are RFC 3339 in UTC with milliseconds. A field \
         is `null` where there is nothing\nto say; the schema says which may be missing instead. A change answers \
         with `{{revision, changed, warnings}}`.\nAn error is one line on stderr, `{{\"error\": {{code, message, items, \
         hint}}}}`; see [exit-codes.md](exit-codes.md).\nWarnings beside a result are lines on stderr, `{{\"warning\": \
         …}}`.\n\n[json.schema.json](json.schema.json) has a definition for each:\n\n| verb | definition |\n|---|---|\n"
    );
    for (verb, name) in schema::answers() {
        out.push_str(&format!("| `{verb}` | `{name}` |\n"));
    }
    out.push_str(
        "\n`events`, `watch`, `run`, `do` and `team` print unified events, one a line: see \
         [events.schema.json](events.schema.json).\n`tool` prints what the tool answers, and `log` and `export` keep \
         the names under which a journal is stored.\n",
    );
    out
}

fn openapi() -> String {
    let document = punchlist_formats::api::document(env!("CARGO_PKG_VERSION"));
    format!("{document:#}\n")
}

fn json_schema() -> String {
    serde_json::to_string_pretty(&schema::document()).unwrap_or_default() + "\n"
}
