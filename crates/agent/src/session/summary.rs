//! How a turn ended, in words for the person who began it.

use punchlist_formats::text::one_line;
use punchlist_model::ConversationId;

use super::event::Ended;
use super::settings::money;
use crate::turn::Ending;

impl Ended {
    /// One line: how the turn ended and what it used, then `resume`, the command that continues the session.
    pub fn summary(&self, resume: &str) -> String {
        let used = self.used;
        let mut parts = vec![one_line(&self.ending.words()).into_owned()];
        match used.calls {
            // An agent's program does not count them.
            0 => {}
            1 => parts.push("1 model call".to_owned()),
            calls => parts.push(format!("{calls} model calls")),
        }
        let tokens = used.input.saturating_add(used.output);
        if tokens > 0 {
            parts.push(format!("{tokens} tokens"));
        }
        if used.cost_micros > 0 {
            parts.push(format!("cost {}", money(used.cost_micros)));
        }
        if !resume.is_empty() {
            parts.push(resume.to_owned());
        }
        parts.join(" · ")
    }

    /// Why the turn did not do all of its task.
    pub fn shortfall(&self) -> String {
        let listed = self.plan.iter().flat_map(|it| it.listed());
        let open = match listed.filter(|it| it.is_open()).count() {
            0 => String::new(),
            1 => "; 1 item is open".to_owned(),
            open => format!("; {open} items are open"),
        };
        format!("{}{open}", one_line(&self.ending.words()))
    }

    /// The command that continues the session of our own agent.
    pub fn next_command(&self, id: ConversationId) -> String {
        let text = match self.ending {
            Ending::Planned => return "punchlist do --continue".to_owned(),
            Ending::Asked => "your reply",
            Ending::Answered => "what is next",
            Ending::LetGo
            | Ending::Limit
            | Ending::Stuck
            | Ending::PlanningFailed
            | Ending::NotValidated
            | Ending::Unfit
            | Ending::Failed(_)
            | Ending::Aborted(_) => "go on",
        };
        format!("punchlist resume {} \"{text}\"", id.short())
    }
}
