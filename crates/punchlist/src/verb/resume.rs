//! `punchlist resume`.

use punchlist_agent::session::{Entry, Recorded, Session, listing, stored_settings};
use punchlist_model::store::turns::EntryFilter;

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::session::{self, Output};
use crate::{block_on, input};

/// Continue a session of `do`
///
/// A turn that was cut off by a crash goes on: calls that have finished are not run again, and the
/// model is told of a call that was interrupted. With a text, the session works on it next; if the
/// last answer asked you something, the text is your reply.
#[derive(clap::Args)]
pub(crate) struct Resume {
    /// The beginning or end of the session's id; the newest of this project if left out
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// What to do next, or your reply; `-` reads it from stdin
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Another model for the rest of the session
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
        let store = app.store()?;
        let found = block_on(listing::find(&*store, &app.project()?.name, self.id.as_deref()))?;
        let last = block_on(store.turns(found.id))?.pop();
        let text = match self.text.as_deref() {
            Some("-") => Some(input::stdin()?),
            Some(text) => Some(text.to_owned()),
            None => None,
        };
        let is_cut_off = last.is_some_and(|it| it.ending.is_none());
        let Some(task) = text.clone().or_else(|| is_cut_off.then(String::new)) else {
            return Err(Fail::refused(format!(
                "session {} has nothing to go on with",
                found.id.short()
            ))
            .hint(format!("say what is next: `punchlist resume {} TEXT`.", found.id.short())));
        };
        let mut settings = stored_settings(&found)?;
        if let Some(model) = &self.model {
            settings.model.clone_from(model);
        }
        let config = session::config(app)?;
        let model = session::model(Some(&settings.model), &config)?;
        let entries = block_on(store.entries(found.id, EntryFilter::default()))?;
        let is_answer =
            |it: &Recorded| matches!(it.entry, Entry::Answer(_) | Entry::Summary { .. });
        let answers = entries.iter().filter_map(|it| Recorded::read(it).ok()).filter(is_answer);
        let provider = session::provider(&model, &config, answers.count())?;
        let output = match (app.globals.json, self.quiet) {
            (true, _) => Output::Json,
            (false, true) => Output::Quiet,
            (false, false) => Output::Lines,
        };
        drop(store);
        let instructions =
            if self.no_instructions { Vec::new() } else { session::instructions(app, output)? };
        let runtime = session::runtime()?;
        let mut world = session::world(app, &config, &model, provider, self.wait)?;
        world.facts.instructions = instructions;
        session::head(app, &model, output)?;
        runtime.block_on(async {
            let mut session = Session::open(world, found.id).await?;
            let mut front = session::terminal(app, &session, output, &task)?;
            let mut ended = session.resume(&mut front).await;
            if let (Ok(_), Some(text)) = (&ended, &text) {
                ended = session.request(text, &mut front).await.map(Some);
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
