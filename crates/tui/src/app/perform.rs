//! Does what intents ask for, with the store and the session. Results come back as messages.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use punchlist_agent::mcp::Servers;
use punchlist_agent::session::{
    Answers, Hosted, Input, Queue, Report, SessionSettings, World, export, listing,
};
use punchlist_engine::custom_commands::{self, CommandPlaces, CustomCommand};
use punchlist_engine::engine::PlanAct;
use punchlist_engine::fail::Fail;
use punchlist_engine::overview::{self, Scope};
use punchlist_engine::policy::given::Given;
use punchlist_engine::policy::rules::{self, Placed};
use punchlist_engine::terminal_state::TerminalState;
use punchlist_engine::{Around, Engine, Which, answering, outputs};
use punchlist_formats::view::questions;
use punchlist_model::call::{Answer, Answered, Question};
use punchlist_model::session::Store;
use punchlist_model::store::Filter;
use punchlist_model::store::turns::{ConversationFilter, EntryFilter};
use punchlist_model::{ConversationId, MessageId, Number, PlanId, QuestionId, Revision};
use tokio::sync::mpsc::UnboundedSender;

use super::complete::Choices;
use super::intent::{Load, QueueAct};
use super::msg::Msg;
use super::plan_run::{PlanRun, RunReport, Running};
use crate::commands::{AllowedShell, Prompt};
use crate::dialog::{AgentsDialog, Approvals, Dialog, ListDialog, TeamMember};
use crate::input::Mentions;
use crate::watch::{AgentFeed, AgentSource, WakeSession};

/// Where the UI works.
pub struct Place {
    /// The engine, which has the store.
    pub engine: Engine,
    /// The clock.
    pub around: Arc<dyn Around>,
    /// The plan and the questions that are shown.
    pub scope: Scope,
    /// Stores the person's answers.
    pub answers: Arc<Answers>,
    /// Lets a session that no process runs go on in the background.
    pub wake: Rc<WakeSession>,
    /// The directory of the person's own shell commands.
    pub directory: PathBuf,
    /// This program, to run its verbs at the terminal.
    pub program: PathBuf,
    /// The options with which this program was called and which its verbs need, too.
    pub arguments: Vec<String>,
    /// What is remembered between two starts.
    pub state: TerminalState,
    /// Where command files are.
    pub commands: CommandPlaces,
    /// The directory with whole outputs.
    pub outputs: PathBuf,
}

/// A model, as `provider/name`, and what it lacks, if anything.
pub type NamedModel = (String, Option<String>);

/// Does something with a thing, when it is asked for.
pub type DoWith<'a, With, Out> = Box<dyn Fn(&With) -> Result<Out, Fail> + 'a>;

/// What is read when it is asked for.
pub struct Sources<'a> {
    /// The models by name, and what each lacks, if anything.
    pub models: Box<dyn Fn() -> Result<Vec<NamedModel>, Fail> + 'a>,
    /// The policy rules, and what the person has allowed besides.
    pub approvals: Box<dyn Fn() -> Result<Approvals, Fail> + 'a>,
    /// Takes back what the person has allowed.
    pub take_back: DoWith<'a, Given, ()>,
    /// The members of the team.
    pub members: Box<dyn Fn() -> Result<Vec<TeamMember>, Fail> + 'a>,
    /// What a run of a plan file needs.
    pub plan_run: DoWith<'a, Path, PlanRun>,
    /// The agents on this machine.
    pub agents: Box<dyn Fn() -> Result<AgentSource, Fail> + 'a>,
}

/// Which session is to be opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// Another model than the configured one.
    pub model: Option<String>,
    /// A stored session, instead of a new one.
    pub session: Option<ConversationId>,
}

/// What a session needs.
pub struct Opened {
    /// What it needs from the program.
    pub world: World,
    /// What the user chose for it.
    pub settings: SessionSettings,
    /// The stored session that goes on.
    pub stored: Option<ConversationId>,
}

/// Makes what a session needs.
pub type OpenSession<'a> = Box<dyn Fn(&Choice) -> Result<Opened, Fail> + 'a>;

/// How many entries of a journal are read.
const JOURNAL: u32 = 1_000;

/// What a list of choices marks as current, and how it is drawn.
#[derive(Clone)]
pub(super) struct Current {
    pub(super) plan: Option<PlanId>,
    pub(super) model: Option<String>,
    pub(super) options: punchlist_formats::view::Options,
}

/// Does what intents ask for. Lives in a `LocalSet` of tokio.
pub(super) struct Performer {
    place: Place,
    tell: UnboundedSender<Msg>,
    session: Option<Hosted>,
    /// The tools and the MCP servers of the session.
    tools: Vec<String>,
    servers: Option<Arc<Servers>>,
    /// The plan file that runs.
    run: Option<Running>,
    /// Reads all agents, while the dialog is open.
    agents: Option<AgentFeed>,
}

impl Performer {
    pub(super) fn new(place: Place, tell: UnboundedSender<Msg>) -> Self {
        Self {
            place,
            tell,
            session: None,
            tools: Vec::new(),
            servers: None,
            run: None,
            agents: None,
        }
    }

    /// Where the UI works.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Opens a session. The one that was open is closed then; it stays if the other cannot be opened.
    pub(super) async fn open(&mut self, opened: Opened) -> Result<(), Fail> {
        let Opened { world, settings, stored } = opened;
        let tools = world.tools.all.iter().map(|it| it.name().to_owned()).collect();
        let servers = Arc::clone(&world.tools.servers);
        let session = Box::pin(Hosted::start(world, settings, stored)).await?;
        self.close().await;
        self.session = Some(session);
        (self.tools, self.servers) = (tools, Some(servers));
        Ok(())
    }

    /// Whether a session is open that hears something.
    pub(super) fn is_open(&self) -> bool {
        self.session.as_ref().is_some_and(|it| !it.is_over())
    }

    /// Waits for the next report of the session; for ever without one.
    pub(super) async fn report(&mut self) -> Report {
        match &mut self.session {
            Some(session) => match session.next().await {
                Some(report) => report,
                None => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }

    /// Tells the session something. A text that it does not hear comes back.
    pub(super) fn send(&self, input: Input) {
        let unheard = match &self.session {
            Some(session) => session.send(input),
            None => Err(input),
        };
        if let Some(text) = unheard.err().and_then(Input::into_text) {
            let report = Report::Failed(Hosted::ended(), Some(text));
            self.tell.send(Msg::Report(report)).ok();
        }
    }

    /// Changes the queue of a session.
    pub(super) fn queue(&self, id: ConversationId, act: QueueAct) {
        let (store, around) = (self.store(), Arc::clone(&self.place.around));
        let (queue, tell) = (Queue::new(store, around, id), self.tell.clone());
        tokio::task::spawn_local(async move {
            let changed = match act {
                QueueAct::Remove(id) => queue.remove(id).await,
                QueueAct::Edit(id) => match taken_out(&queue, id).await {
                    Ok(text) => {
                        tell.send(Msg::Unqueued(text)).ok();
                        Ok(())
                    }
                    Err(why) => Err(why),
                },
                QueueAct::Move(id, before) => queue.move_before(id, before).await,
                QueueAct::Go(None) => queue.pause(false).await,
                QueueAct::Go(Some(id)) => go_with(&queue, id).await,
            };
            if let Err(why) = changed {
                tell.send(Msg::Failed(why)).ok();
            }
        });
    }

    /// Stores an answer.
    pub(super) fn answer(&self, id: QuestionId, answer: Answer) {
        let (answers, tell) = (Arc::clone(&self.place.answers), self.tell.clone());
        tokio::task::spawn_local(async move {
            let msg = match answers.give(id, answer).await {
                Ok(None) => return,
                Ok(Some(text)) => Msg::Told(text),
                Err(why) => Msg::Failed(why),
            };
            tell.send(msg).ok();
        });
    }

    /// Reads the plan and the questions, and what became of the questions that were shown.
    pub(super) fn look(&self, shown: Vec<QuestionId>) {
        let (store, scope) = (self.store(), self.place.scope.clone());
        let (now, tell) = (self.place.around.now(), self.tell.clone());
        tokio::task::spawn_local(async move {
            let read = async {
                let overview = scope.read(&*store, now).await?;
                let mut gone: Vec<Question> = Vec::new();
                for id in shown {
                    if !overview.questions.iter().any(|it| it.asked.id == id) {
                        gone.extend(overview::question(&*store, id).await?);
                    }
                }
                Ok::<_, Fail>(Msg::Overview(overview, gone))
            };
            tell.send(read.await.unwrap_or_else(Msg::Failed)).ok();
        });
    }

    /// Runs a person's own shell command at the terminal, and waits for it.
    pub(super) async fn shell(&self, command: String) -> Msg {
        let directory = self.place.directory.clone();
        let line = command.clone();
        let run = move || punchlist_engine::shell::run(&line, &directory);
        let ran = tokio::task::spawn_blocking(run).await;
        Msg::ShellEnded(
            command,
            match ran {
                Ok(Ok(code)) => Ok(code),
                Ok(Err(why)) => Err(why.to_string()),
                Err(why) => Err(why.to_string()),
            },
        )
    }

    /// Runs one of our own verbs at the terminal, and waits for it.
    pub(super) async fn verb(&self, words: Vec<String>) -> Msg {
        let (program, directory) = (self.place.program.clone(), self.place.directory.clone());
        let name = format!("punchlist {}", words.join(" "));
        let words: Vec<String> = self.place.arguments.iter().cloned().chain(words).collect();
        let run = move || punchlist_engine::shell::run_program(&program, &words, &directory);
        let ran = tokio::task::spawn_blocking(run).await;
        let ended = match ran {
            Ok(Ok(_)) => Ok(0),
            Ok(Err(why)) => Err(why.to_string()),
            Err(why) => Err(why.to_string()),
        };
        Msg::ShellEnded(name, ended)
    }

    /// The lines about the model's tools.
    pub(super) fn tools(&self, plan_tools: &[String]) -> Msg {
        let servers = self.servers.iter().flat_map(|it| it.report());
        let mut text = format!("plan: {}\ntools: {}", plan_tools.join(", "), self.tools.join(", "));
        for server in servers {
            text.push_str(&format!("\nserver {server}"));
        }
        Msg::Told(text)
    }

    /// The lines about the MCP servers.
    pub(super) fn servers(&self) -> Msg {
        let all: Vec<String> =
            self.servers.iter().flat_map(|it| it.report()).map(|it| it.to_string()).collect();
        Msg::Told(if all.is_empty() {
            "there are no MCP servers".to_owned()
        } else {
            all.join("\n")
        })
    }

    /// Performs an act on a plan in the person's name.
    pub(super) fn plan(&self, id: PlanId, act: PlanAct) {
        let (engine, person) = (self.place.engine.clone(), self.place.answers.person.name.clone());
        self.send_msg(async move {
            let Some(plan) = engine.plan(Which::Id(id)).await? else {
                return Err(punchlist_engine::plan_service::choice::no_plan());
            };
            Ok(Msg::PlanActed(plan.perform(&person, act).await))
        });
    }

    /// Reads the journal of a plan.
    pub(super) fn journal(&self, id: PlanId) {
        let engine = self.place.engine.clone();
        self.send_msg(async move {
            let Some(plan) = engine.plan(Which::Id(id)).await? else {
                return Ok(Msg::Journal(Vec::new()));
            };
            let now = plan.whole().await?.revision;
            Ok(Msg::Journal(plan.journal(before_newest(now), JOURNAL).await?))
        });
    }

    /// Makes a plan with this title.
    pub(super) fn new_plan(&self, title: String) {
        let engine = self.place.engine.clone();
        self.send_msg(async move { Ok(Msg::PlanMade(engine.create(title).await?.id())) });
    }

    /// Reads the output of an item's last call.
    pub(super) fn output(&self, id: PlanId, item: Number) {
        let (store, directory) = (self.store(), self.place.outputs.clone());
        self.send_msg(async move {
            let files = outputs::of(&*store, &directory, id, Some(item)).await?;
            let text = match files.last() {
                Some(file) => crate::terminal::input::file(file)?,
                None => "there is no output".to_owned(),
            };
            Ok(Msg::Output(item, text))
        });
    }

    /// Reads what a dialog shows, and opens it.
    pub(super) fn load(&self, load: Load, sources: &Sources<'_>, about: &Current) {
        let (store, around) = (self.store(), Arc::clone(&self.place.around));
        let (project, about) = (self.place.scope.project.clone(), about.clone());
        let dialog = |it| Ok(Msg::Opened(Box::new(Dialog::List(it))));
        match load {
            Load::Plans => self.send_msg(async move {
                let filter = Filter { project: Some(project), ..Filter::default() };
                let all = store.plans(filter).await?;
                dialog(ListDialog::plans(&all, about.plan, &about.options))
            }),
            Load::Models => {
                let models = (sources.models)();
                let glyphs = about.options.glyphs;
                self.send_msg(async move {
                    dialog(ListDialog::models(&models?, about.model.as_deref(), glyphs))
                });
            }
            Load::Approvals => {
                let given = (sources.approvals)();
                let (scope, now) = (self.place.scope.clone(), around.now());
                self.send_msg(async move {
                    let overview = scope.read(&*store, now).await?;
                    dialog(ListDialog::approvals(&overview.questions, &given?, &about.options))
                });
            }
            Load::Team => {
                let members = (sources.members)();
                let glyphs = about.options.glyphs;
                self.send_msg(async move { dialog(ListDialog::members(&members?, glyphs)) });
            }
            Load::Sessions => self.send_msg(async move {
                let filter =
                    ConversationFilter { project: Some(project), ..ConversationFilter::default() };
                let all = store.conversations(filter).await?;
                let is_running = |it: &_| listing::is_running(it, &*around);
                dialog(ListDialog::sessions(&all, is_running, &about.options))
            }),
        }
    }

    /// Finds the session that the person means.
    pub(super) async fn find(&self, name: Option<&str>) -> Result<ConversationId, Fail> {
        let found = listing::find(&*self.store(), &self.place.scope.project, name).await?;
        Ok(found.id)
    }

    /// Deletes a stored session.
    pub(super) fn forget_session(&self, id: ConversationId) {
        let (store, now) = (self.store(), self.place.around.now());
        self.send_msg(async move {
            store.forget_conversation(id, now).await?;
            Ok(Msg::Told(format!("session {} is forgotten", id.short())))
        });
    }

    /// Writes a session to a new file.
    pub(super) fn export(&self, id: ConversationId, path: Option<String>) {
        let (store, directory) = (self.store(), self.place.directory.clone());
        self.send_msg(async move {
            let conversation = store.conversation(id).await?;
            let turns = store.turns(id).await?;
            let entries = store.entries(id, EntryFilter::default()).await?;
            let entries: Vec<_> = entries
                .iter()
                .filter_map(|it| punchlist_agent::session::Recorded::read(it).ok())
                .collect();
            let text = export::export(export::Format::Markdown, &conversation, &turns, &entries);
            let name = path.unwrap_or_else(|| format!("session-{}.md", id.short()));
            let file = directory.join(&name);
            let written = OpenOptions::new().write(true).create_new(true).open(&file);
            written
                .and_then(|mut it| it.write_all(text.as_bytes()))
                .map_err(|why| Fail::refused(format!("{name} cannot be written: {why}")))?;
            Ok(Msg::Told(format!("the session is in {}", file.display())))
        });
    }

    /// Reads the custom commands.
    pub(super) fn read_commands(&self) {
        let found = custom_commands::find(&self.place.commands);
        self.tell.send(Msg::Commands(found)).ok();
    }

    /// Reads the names of the project's files.
    pub(super) fn read_files(&self) {
        let (directory, tell) = (self.place.directory.clone(), self.tell.clone());
        // A big project takes a while; nobody waits for the end.
        drop(tokio::task::spawn_blocking(move || {
            let files = punchlist_agent::files::list(&directory);
            tell.send(Msg::Mentions(Mentions { members: Vec::new(), files })).ok();
        }));
    }

    /// Reads what the argument of a command can be.
    pub(super) fn read_choices(&self, what: Choices, sources: &Sources<'_>) {
        match what {
            Choices::Models => {
                // A provider is completed up to the slash. What is wrong, the dialog says.
                let all = (sources.models)().unwrap_or_default().into_iter();
                let all = all.map(|(name, lacks)| {
                    (name.trim_end_matches('…').to_owned(), lacks.unwrap_or_default())
                });
                self.tell.send(Msg::Choices(what, all.collect())).ok();
            }
            Choices::Sessions => {
                let (store, project) = (self.store(), self.place.scope.project.clone());
                self.send_msg(async move {
                    let filter = ConversationFilter {
                        project: Some(project),
                        ..ConversationFilter::default()
                    };
                    let all = store.conversations(filter).await?.into_iter();
                    Ok(Msg::Choices(what, all.map(|it| (it.id.short(), it.title)).collect()))
                });
            }
        }
    }

    /// Remembers that a command of the project may be used, and runs it.
    pub(super) fn allow_command(&self, command: &CustomCommand, typed: &str) {
        let CommandPlaces { project, data, .. } = &self.place.commands;
        let Some(project) = project else { return };
        match custom_commands::allow(data, &project.name, command) {
            Ok(()) => {
                self.read_commands();
                let text = format!("/{} {typed}", command.name);
                self.tell.send(Msg::Command(text.trim_end().to_owned())).ok();
            }
            Err(why) => drop(self.tell.send(Msg::Failed(why))),
        }
    }

    /// Runs the shell commands of a custom command, and submits its prompt with their outputs.
    pub(super) fn run_shell(&self, allowed: AllowedShell) {
        let directory = self.place.directory.clone();
        self.send_msg(async move {
            let lines = allowed.command_lines();
            let run = move || run_all(&lines, &directory);
            let outputs = tokio::task::spawn_blocking(run).await;
            let outputs = outputs.map_err(|why| Fail::ours(why.to_string()))??;
            match allowed.prompt(&outputs) {
                Prompt::Custom(text) => Ok(Msg::Submit(text)),
                Prompt::Compact(_) | Prompt::Goal(_) => {
                    Err(Fail::ours("a custom command has another prompt"))
                }
            }
        });
    }

    /// Shows another plan from now on.
    pub(super) fn choose_plan(&mut self, id: PlanId) {
        self.place.scope.plan = Some(id.to_string());
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.place.engine.store())
    }

    /// Does something, and sends the message that comes of it.
    fn send_msg(&self, work: impl Future<Output = Result<Msg, Fail>> + 'static) {
        let tell = self.tell.clone();
        tokio::task::spawn_local(async move {
            tell.send(work.await.unwrap_or_else(Msg::Failed)).ok();
        });
    }

    /// Keeps what the person typed. A failure is told once: the next text would fail, too.
    pub(super) fn remember(&self, text: &str) {
        if let Err(why) = self.place.state.remember(&self.place.scope.project, text) {
            self.tell.send(Msg::Failed(why)).ok();
        }
    }

    /// Keeps the theme that the person chose.
    pub(super) fn choose_theme(&self, name: &str) {
        if let Err(why) = self.place.state.choose_theme(name) {
            self.tell.send(Msg::Failed(why)).ok();
        }
    }

    /// Removes a rule from the user's file.
    pub(super) fn forget_rule(&self, rule: &Placed) {
        let file = &self.place.answers.rules_file;
        let msg = match rules::forget(file, rule) {
            Ok(true) => Msg::Told(format!(
                "the rule {} is no longer in {}; a session that is open keeps the rules that it began with",
                rule.rule,
                file.display()
            )),
            Ok(false) => Msg::Told("the rule was gone already".to_owned()),
            Err(why) => Msg::Failed(Fail::refused(why.to_string())),
        };
        self.tell.send(msg).ok();
    }

    /// Takes back what the person has allowed.
    pub(super) fn take_back(&self, given: &Given, sources: &Sources<'_>) {
        let msg = match (sources.take_back)(given) {
            Ok(()) => Msg::Told(format!("took back {}; you will be asked again", given.name)),
            Err(why) => Msg::Failed(why),
        };
        self.tell.send(msg).ok();
    }

    /// Runs a plan file.
    pub(super) fn run_file(&mut self, file: &str, fresh: bool, sources: &Sources<'_>) {
        match (sources.plan_run)(Path::new(file)) {
            Ok(mut run) => {
                run.options.earlier.fresh = fresh;
                self.run = Some(Running::start(run, self.tell.clone()));
            }
            Err(why) => drop(self.tell.send(Msg::Run(RunReport::Ended(Err(why))))),
        }
    }

    /// Stops the plan file that runs.
    pub(super) fn stop_run(&mut self) {
        self.run.take_if(|it| it.is_over());
        if let Some(run) = &self.run {
            run.stop();
        }
    }

    /// Watches all agents, and returns the dialog that shows them.
    pub(super) fn watch(
        &mut self,
        sources: &Sources<'_>,
        options: &punchlist_formats::view::Options,
    ) -> Result<Dialog, Fail> {
        let mut source = (sources.agents)()?;
        let (archive, offers) = (source.archive.take(), std::mem::take(&mut source.offers));
        let rules_file = self.place.answers.rules_file.display().to_string();
        let dialog = AgentsDialog::new(archive, offers, rules_file, options.clone());
        let tell = self.tell.clone();
        let seen = move |seen| drop(tell.send(Msg::Agents(seen)));
        self.agents = Some(AgentFeed::start(source, Arc::clone(&self.place.around), seen));
        Ok(Dialog::Agents(Box::new(dialog)))
    }

    /// The dialog with all agents shows this one.
    pub(super) fn watch_agent(&self, row: Option<&str>) {
        if let Some(feed) = &self.agents {
            feed.open(row);
        }
    }

    /// Watches the agents no longer.
    pub(super) fn end_watch(&mut self) {
        self.agents = None;
    }

    /// Stores the answer to a question of any agent.
    pub(super) fn answer_agent(&self, question: Question, answer: Answer) {
        let (store, host) = (self.store(), self.place.scope.host.clone());
        let (by, at) = (self.place.answers.person.clone(), self.place.around.now());
        self.send_msg(async move {
            let answered = Answered { answer, by, at };
            let told = answering::give(&*store, &question, answered, &host).await;
            let text = told.map_or_else(|why| why.message, |it| questions::given(&it.question));
            Ok(Msg::ToldAgents(text))
        });
        if let Some(feed) = &self.agents {
            feed.look();
        }
    }

    /// Sends a reply to a session that asks its user something.
    pub(super) fn reply_agent(&self, id: ConversationId, text: String) {
        let (store, around) = (self.store(), Arc::clone(&self.place.around));
        let wake = Rc::clone(&self.place.wake);
        self.send_msg(async move {
            let told = punchlist_agent::session::reply(&store, &around, id, text, &*wake).await;
            Ok(Msg::ToldAgents(told.unwrap_or_else(|why| why.message)))
        });
        if let Some(feed) = &self.agents {
            feed.look();
        }
    }

    /// Ends the plan file that runs, and waits for that.
    pub(super) async fn end_run(&mut self) {
        if let Some(run) = self.run.take() {
            run.close().await;
        }
    }

    /// Ends the session that runs, and waits for that.
    pub(super) async fn close(&mut self) {
        if let Some(session) = self.session.take() {
            session.close().await;
        }
    }
}

/// The revision after which the newest entries of a journal are: each revision has one entry.
fn before_newest(now: Revision) -> Revision {
    Revision(now.0.saturating_sub(u64::from(JOURNAL)))
}

/// Runs commands one after the other, and returns what each printed.
fn run_all(lines: &[Vec<String>], directory: &Path) -> Result<Vec<String>, Fail> {
    let run = |words: &Vec<String>| {
        punchlist_engine::shell::output(words, directory)
            .map_err(|why| Fail::refused(format!("the command cannot run: {why}")))
    };
    lines.iter().map(run).collect()
}

/// Takes a message out of the queue, and returns its text.
async fn taken_out(queue: &Queue, id: MessageId) -> Result<String, Fail> {
    let waiting = queue.waiting().await?;
    let text = waiting.into_iter().find(|it| it.id == id).map(|it| it.text).unwrap_or_default();
    queue.remove(id).await?;
    Ok(text)
}

/// Works on a queue that is paused, this message first.
async fn go_with(queue: &Queue, id: MessageId) -> Result<(), Fail> {
    let first = queue.waiting().await?.first().map(|it| it.id);
    if let Some(first) = first.filter(|it| *it != id) {
        queue.move_before(id, Some(first)).await?;
    }
    queue.pause(false).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_read_from_its_newest_entries_on() {
        for (now, after) in [(0, 0), (7, 0), (1_000, 0), (2_500, 1_500)] {
            assert_eq!(before_newest(Revision(now)), Revision(after));
        }
    }
}
