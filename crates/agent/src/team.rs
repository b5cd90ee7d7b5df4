//! A team: several agents that a person talks to in one conversation.
//!
//! A member is the program of an agent, an agent that speaks the Agent Client Protocol, or our own
//! runtime. Each keeps its conversation from turn to turn. What members do is reported as unified events
//! under their names; a member that dies, hangs or is cancelled is reported, and the others go on.

mod acp_turn;
mod asking;
mod claude_control;
pub mod config;
mod heard;
mod member;
mod permissions;
mod process;
mod program_turn;
mod queue;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use punchlist_engine::fail::Fail;
use punchlist_engine::workers::worktree::{Left, Worktree};
use punchlist_model::call::{Answer, Asked, Question};
use punchlist_model::{QuestionId, Timestamp};
use punchlist_sched::Processes;
use punchlist_streams::event::owned::AgentEvent;
use punchlist_streams::event::{AgentType, QueueChange};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, OnceCell};
use tokio::task::JoinHandle;

use crate::workers::{ProgramEnvironment, WorkerEnd};
use heard::Heard;
use member::Member;
use permissions::{Asker, Permissions};
use queue::TeamQueue;

pub use config::{MemberConfig, MemberKind, MemberPlace};
pub use permissions::TeamAsking;
pub use queue::TeamMessage;

/// What a team needs from the program that runs it.
pub struct TeamOptions {
    /// The project's root.
    pub root: PathBuf,
    /// The variables of the members' programs.
    pub environment: ProgramEnvironment,
    /// Starts them.
    pub processes: Processes,
    /// The command of our own runtime as an agent that speaks ACP.
    pub own_command: Vec<String>,
    /// The current time.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The user's time zone, in which programs say when a usage limit ends.
    pub time_zone: TimeZone,
    /// Part of the names of branches.
    pub id: String,
}

impl TeamOptions {
    /// The environment of a member's program. Our own runtime finds the keys of its models in it, and gives
    /// them to nobody.
    fn environment_of(&self, config: &MemberConfig) -> Vec<(OsString, OsString)> {
        match &config.kind {
            MemberKind::Program { agent, .. } => {
                self.environment.of_program(Some(*agent), &config.env)
            }
            MemberKind::Acp { .. } => self.environment.of_program(None, &config.env),
            MemberKind::Own => self.environment.variables.clone(),
        }
    }
}

/// News of a member.
#[derive(Clone, PartialEq, Debug)]
pub enum Report {
    /// An event. Every turn has one `turn.started` and one `turn.completed`.
    Event {
        /// The number of the member, from 0.
        member: usize,
        /// The event.
        event: Box<AgentEvent>,
    },
    /// The turn has ended, after all its events.
    Ended {
        /// The number of the member, from 0.
        member: usize,
        /// How it ended.
        end: WorkerEnd,
        /// What the member said last.
        answer: String,
        /// Its program's id of the conversation, if it is known.
        session: Option<String>,
    },
    /// A person is asked what the member may do. The question is in the store.
    Asked {
        /// The number of the member, from 0.
        member: usize,
        /// The question.
        asked: Box<Asked>,
    },
    /// A question was answered, here or elsewhere, or is no longer asked.
    Settled {
        /// The question.
        question: Box<Question>,
    },
}

/// A team at work.
pub struct Team {
    members: Vec<Seat>,
    options: Arc<TeamOptions>,
    asker: Arc<Asker>,
    queue: TeamQueue,
    reports: UnboundedSender<Report>,
}

/// What the team has of a member.
struct Seat {
    config: MemberConfig,
    /// Makes events about its queue.
    heard: Heard,
    messages: UnboundedSender<String>,
    cancel: Arc<Notify>,
    work: JoinHandle<()>,
    worktree: Option<Worktree>,
}

impl Team {
    /// Prepares the members; their programs start with their first messages. Needs a tokio runtime.
    pub async fn open(
        configs: Vec<MemberConfig>,
        options: TeamOptions,
        asking: TeamAsking,
    ) -> Result<(Self, UnboundedReceiver<Report>), Fail> {
        let (options, asker) = (Arc::new(options), Arc::new(Asker::new(asking)));
        let (reports, heard) = unbounded_channel();
        let queue = TeamQueue {
            asker: Arc::clone(&asker),
            key: format!("team {}", options.root.display()),
            names: configs.iter().map(|it| it.name.clone()).collect(),
        };
        let mut team = Self {
            members: Vec::new(),
            options: Arc::clone(&options),
            asker: Arc::clone(&asker),
            queue,
            reports: reports.clone(),
        };
        for config in configs {
            let placed = place(&config, &options).await;
            let (directory, worktree) = match placed {
                Ok(placed) => placed,
                Err(fail) => {
                    team.close().await;
                    return Err(fail);
                }
            };
            let (messages, received) = unbounded_channel();
            let cancel = Arc::new(Notify::new());
            let number = team.members.len();
            let permissions = Permissions {
                asker: Arc::clone(&asker),
                member: number,
                name: config.shown_name().to_owned(),
                directory: directory.clone(),
                can_change: config.agent_type() == AgentType::ClaudeCode,
                reports: reports.clone(),
                opened: OnceCell::new(),
            };
            let heard = Heard::new(&config.name, config.agent_type());
            let beside = heard.beside();
            let member = Member {
                number,
                heard,
                config: config.clone(),
                directory,
                options: Arc::clone(&options),
                reports: reports.clone(),
                cancel: Arc::clone(&cancel),
                session: None,
                link: None,
                permissions: Arc::new(permissions),
            };
            let work = tokio::spawn(member.work(received));
            team.members.push(Seat { config, heard: beside, messages, cancel, work, worktree });
        }
        Ok((team, heard))
    }

    /// The members, in the order of the configuration.
    pub fn members(&self) -> impl Iterator<Item = &MemberConfig> {
        self.members.iter().map(|it| &it.config)
    }

    /// Gives a member a message. It is its next turn, after those that it has already.
    pub fn send(&self, member: usize, message: String) {
        if let Some(seat) = self.members.get(member) {
            // A member takes messages as long as the team exists.
            seat.messages.send(message).ok();
        }
    }

    /// The messages that wait since an earlier start of the team in this project, in their order.
    pub async fn queued_before(&self) -> Result<Vec<TeamMessage>, Fail> {
        self.queue.take_over().await
    }

    /// Queues a message for a member that works. It is durable when this returns.
    pub async fn queue(&mut self, member: usize, text: &str) -> Result<TeamMessage, Fail> {
        let message = self.queue.add(member, text).await?;
        self.tell_queued(&message, QueueChange::Queued);
        Ok(message)
    }

    /// Takes a message out of the queue, to send it to its member. Returns whether it still waited.
    pub async fn take(&mut self, message: &TeamMessage) -> Result<bool, Fail> {
        self.take_out(message, QueueChange::Taken).await
    }

    /// Removes a message from the queue. Returns whether it still waited.
    pub async fn remove(&mut self, message: &TeamMessage) -> Result<bool, Fail> {
        self.take_out(message, QueueChange::Removed).await
    }

    async fn take_out(&mut self, message: &TeamMessage, change: QueueChange) -> Result<bool, Fail> {
        let is_out = self.queue.take(message.id).await?;
        if is_out {
            self.tell_queued(message, change);
        }
        Ok(is_out)
    }

    fn tell_queued(&mut self, message: &TeamMessage, change: QueueChange) {
        let TeamMessage { id, member, text } = message;
        let Some(seat) = self.members.get_mut(*member) else { return };
        let event = seat.heard.queued(text, &id.to_string(), change, (self.options.clock)());
        if let Some(event) = event.map(Box::new) {
            // A front end that is gone hears nothing more.
            self.reports.send(Report::Event { member: *member, event }).ok();
        }
    }

    /// Stores an answer of the person at the front end to a question of a member. Returns what the person is
    /// told about it.
    pub async fn answer(
        &self,
        question: QuestionId,
        answer: Answer,
    ) -> Result<Option<String>, Fail> {
        self.asker.answer(question, answer).await
    }

    /// Ends the turn of a member.
    pub fn cancel(&self, member: usize) {
        if let Some(seat) = self.members.get(member) {
            seat.cancel.notify_one();
        }
    }

    /// Ends all members. Returns what is left of them: a line for each worktree with changes.
    pub async fn close(self) -> Vec<String> {
        let mut left = Vec::new();
        let mut works = Vec::new();
        let mut worktrees = Vec::new();
        for Seat { config, messages, cancel, work, worktree, .. } in self.members {
            drop(messages);
            cancel.notify_one();
            works.push(work);
            worktrees.extend(worktree.map(|it| (config, it)));
        }
        for work in works {
            work.await.ok();
        }
        self.options.processes.close().await;
        for (config, worktree) in worktrees {
            let (branch, path) = (worktree.branch.clone(), worktree.path.clone());
            let became = tokio::task::spawn_blocking(move || worktree.leave()).await;
            if !matches!(became, Ok(Left::Removed)) {
                let name = config.shown_name();
                left.push(format!("{name}'s work is in {} (branch {branch})", path.display()));
            }
        }
        left
    }
}

/// Where a member works, and its worktree if it has one.
async fn place(
    config: &MemberConfig,
    options: &Arc<TeamOptions>,
) -> Result<(PathBuf, Option<Worktree>), Fail> {
    let name = &config.name;
    match &config.place {
        MemberPlace::Project => Ok((options.root.clone(), None)),
        MemberPlace::Directory(directory) => {
            let directory = options.root.join(directory);
            if directory.is_dir() {
                return Ok((directory, None));
            }
            Err(Fail::usage(format!("{name}: there is no directory {}", directory.display()))
                .hint("make it, or name another as `directory` of the member."))
        }
        MemberPlace::Worktree => {
            let branch = format!("punchlist/team-{name}-{}", options.id);
            let (root, environment) = (options.root.clone(), options.environment_of(config));
            let made = tokio::task::spawn_blocking(move || {
                Worktree::create(&root, None, &branch, &environment)
            });
            let made = made.await.map_err(|why| why.to_string()).and_then(|it| it);
            let worktree = made.map_err(|why| Fail::usage(format!("{name}: {why}")))?;
            Ok((worktree.project.clone(), Some(worktree)))
        }
    }
}
