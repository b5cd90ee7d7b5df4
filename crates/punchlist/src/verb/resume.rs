//! `punchlist resume`.

use punchlist_agent::leader::{LedBy, options};
use punchlist_agent::session::{Session, listing};
use punchlist_model::store::turns::Conversation;
use punchlist_tui::app::Choice;

use super::{Group, Verb, sessions};
use crate::app::App;
use crate::fail::{Code, Fail};
use crate::print::Reply;
use crate::session::{self, Continued, Output, leader};
use crate::{block_on, input, terminal_ui};

/// Continue a session of `do`
///
/// A turn that was cut off by a crash goes on: calls that have finished are not run again, and the
/// model is told of a call that was interrupted. With a text, the session works on it next; if the
/// last answer asked you something, the text is your reply.
///
/// A session that another process runs, such as one of `do --detach`, is shown as it goes on.
/// Without a text, a session that has nothing to go on with is opened in the terminal UI.
///
/// If an agent leads the session (`do --agent`), its program is started again and goes on with it.
/// Arguments after `--` are passed on to it.
#[derive(clap::Args)]
pub(crate) struct Resume {
    /// The beginning or end of the session's id; the newest of this project if left out
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// What to do next, or your reply; `-` reads it from stdin
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Another model for the rest of the session; if an agent leads, for this turn
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Keep questions open until they are answered by `punchlist answer` elsewhere
    #[arg(long)]
    wait: bool,
    /// Leave out the project's instructions for agents (`AGENTS.md`)
    #[arg(long)]
    no_instructions: bool,
    /// Print only the answer
    #[arg(long, short)]
    quiet: bool,
    /// Leave the terminal: this is the process of `do --detach`
    #[arg(long, hide = true)]
    background: bool,
    /// If an agent leads: further arguments of its program
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl Verb for Resume {
    const NAME: &'static str = "resume";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist resume
  punchlist resume 3c1d
  punchlist resume 3c1d \"now write the tests\"";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if self.background {
            punchlist_bridge::background::leave_terminal();
        }
        let store = app.store()?;
        let found = block_on(listing::find(&*store, &app.project()?.name, self.id.as_deref()))?;
        let output = Output::chosen(app, self.quiet);
        if let Some(led_by) = LedBy::of(&found) {
            let last = block_on(store.turns(found.id))?.pop();
            drop(store);
            let is_cut_off = last.is_some_and(|it| it.ending.is_none());
            return self.led(app, found, &led_by, is_cut_off, output);
        }
        if !self.arguments.is_empty() {
            return Err(Fail::usage("arguments after `--` are for sessions that an agent leads"));
        }
        if sessions::is_running(&found) {
            if self.text.is_none() {
                return session::attach(app, &found, output);
            }
            let short = found.id.short();
            return Err(Fail::new(Code::Conflict, format!("session {short} is run by another process"))
                .hint(format!(
                    "`punchlist resume {short}` shows it; `punchlist sessions stop {short}` ends its turn."
                )));
        }
        let last = block_on(store.turns(found.id))?.pop();
        let text = self.text()?;
        let is_cut_off = last.is_some_and(|it| it.ending.is_none());
        let waits = !block_on(store.messages(found.id.to_string()))?.is_empty();
        let has_next = is_cut_off || (waits && !found.queue_paused);
        if text.is_none() && !has_next && output == Output::Lines && terminal_ui::can_open(app) {
            drop(store);
            let choice = Choice { model: self.model, session: Some(found.id) };
            return terminal_ui::open(app, &choice);
        }
        if text.is_none() && !has_next {
            return Err(Fail::refused(format!(
                "session {} has nothing to go on with",
                found.id.short()
            ))
            .hint(hint(&found, waits)));
        }
        let Continued { config, model, provider, .. } =
            session::continued(app, &*store, &found, self.model.as_deref())?;
        drop(store);
        let instructions =
            if self.no_instructions { Vec::new() } else { session::instructions(app, output)? };
        let runtime = session::runtime()?;
        let mut world = session::world(app, &config, &model, provider, self.wait)?;
        world.model.facts.instructions = instructions;
        session::head(app, &model, output)?;
        runtime.block_on(async {
            let mut session = Session::open(world, found.id).await?;
            let mut front = session::terminal(app, &session, output)?;
            let mut ended = session.resume(&mut front).await;
            if let Ok(resumed) = &ended {
                let next = match &text {
                    Some(text) => {
                        session::and_queue(&mut session, text, &mut front).await.map(Some)
                    }
                    None => session.work_off(&mut front).await,
                };
                ended = next.map(|next| next.or(resumed.clone()));
            }
            drop(front);
            let reply = ended.map(|ended| match ended {
                Some(ended) => session::reply(&session, &ended, output),
                None => Reply::default(),
            });
            session.close().await?;
            reply
        })
    }
}

impl Resume {
    /// What to do next, if the user says so.
    fn text(&self) -> Result<Option<String>, Fail> {
        match self.text.as_deref() {
            Some("-") => input::stdin().map(Some),
            Some(text) => Ok(Some(text.to_owned())),
            None => Ok(None),
        }
    }

    /// Goes on with a session that an agent leads.
    fn led(
        &self,
        app: &App,
        found: Conversation,
        led_by: &LedBy,
        is_cut_off: bool,
        output: Output,
    ) -> Result<Reply, Fail> {
        if sessions::is_running(&found) {
            return Err(options::runs_elsewhere(&found, led_by));
        }
        if self.wait || self.no_instructions {
            let title = led_by.agent.title();
            return Err(Fail::usage(format!("this session is led by {title}")).hint(
                "`--wait` and `--no-instructions` are for sessions of Punchlist's own agent.",
            ));
        }
        let plan = session::named_plan(app)?;
        let chosen = leader::Chosen {
            plan: plan.as_deref(),
            model: self.model.as_deref().or(led_by.model.as_deref()),
            arguments: &self.arguments,
            budget: None,
            goal: None,
            output,
        };
        let text = self.text()?;
        let config = session::config(app)?;
        leader::go_on(app, found, led_by, (text.as_deref(), is_cut_off), &chosen, &config)
    }
}

/// What the user can do for a session that has nothing to go on with.
fn hint(found: &Conversation, waits: bool) -> String {
    let short = found.id.short();
    if waits && found.queue_paused {
        return format!(
            "its queue is paused: `punchlist sessions queue {short} --go` takes it up again."
        );
    }
    format!("say what is next: `punchlist resume {short} TEXT`.")
}
