//! `punchlist tools`.

use punchlist_formats::dialect::{Dialect, Surface};

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;

/// Show the tools of a dialect
///
/// A dialect is a set of tools with names, descriptions and schemas that some models know already:
/// `manager`, `turn`, `todowrite`, `write_todos` (Gemini CLI's), `update_plan` (Codex's) or `tasks`
/// (Claude Code's). `--json` prints them in the format of an MCP server.
#[derive(clap::Args)]
pub(crate) struct Tools {
    /// The dialect
    #[arg(value_name = "DIALECT")]
    dialect: Dialect,
    /// How much of the dialect to show: off, thin (one-line descriptions) or full
    #[arg(long, value_name = "SURFACE", default_value = "full")]
    surface: Surface,
}

impl Verb for Tools {
    const NAME: &'static str = "tools";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist tools turn
  punchlist tools todowrite --surface thin --json";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let tools = self.dialect.tools(self.surface);
        let prompt = self.dialect.prompt_section(self.surface);
        if app.globals.json {
            let tools: Vec<_> = tools.iter().map(|tool| tool.to_json()).collect();
            let value = serde_json::json!({
                "dialect": self.dialect.as_str(),
                "surface": self.surface.as_str(),
                "tools": tools,
                "prompt": prompt,
            });
            return Ok(Reply::json(&value));
        }
        let mut out = String::new();
        for tool in &tools {
            out.push_str(&format!("{}\n", tool.name));
            for line in tool.description.lines() {
                out.push_str(format!("  {line}").trim_end());
                out.push('\n');
            }
        }
        if let Some(prompt) = prompt {
            out.push_str(&format!("\nSystem prompt:\n{}\n", prompt.trim_end()));
        }
        if out.is_empty() {
            out.push_str("no tools\n");
        }
        Ok(Reply::text(out))
    }
}
