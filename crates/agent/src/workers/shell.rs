//! Workers that are a command line: it reads the task from its input, and what it prints is the
//! answer.

use futures_core::future::BoxFuture;
use punchlist_formats::text::mask;
use punchlist_sched::output::{Line, Stream};
use punchlist_sched::{Command, Work};

use super::program::without_plan;
use super::{Listener, Outcome, Task, Worker, WorkerConfig, WorkerEnd, WorkerKind, WorkerOptions};

/// A worker of the kind `shell`.
pub struct ShellWorker {
    config: WorkerConfig,
    options: WorkerOptions,
}

impl ShellWorker {
    /// The worker of this configuration.
    pub fn new(config: WorkerConfig, options: WorkerOptions) -> Self {
        Self { config, options }
    }

    fn command(&self, task: &Task) -> Command {
        let line = match &self.config.kind {
            WorkerKind::Shell { command } => command.as_str(),
            WorkerKind::Model | WorkerKind::Program { .. } | WorkerKind::Acp { .. } => "false",
        };
        let environment = without_plan(&self.options.environment_of(&self.config));
        let mut command = Command::shell(line, &task.directory).envs(environment);
        if let Some(item) = task.item {
            command = command.env("PUNCHLIST_ITEM", item.to_string());
        }
        command.stdin = Some(input(&self.config, task).into_bytes());
        command
    }
}

/// What the command reads: the instructions, the task, its context and its criteria.
fn input(config: &WorkerConfig, task: &Task) -> String {
    let criteria = match task.criteria.trim() {
        "" => String::new(),
        criteria => format!("It is done when:\n{criteria}"),
    };
    let parts = [config.prompt.trim(), task.task.trim(), task.context.trim(), &criteria];
    let parts: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    format!("{}\n", parts.join("\n\n"))
}

impl Worker for ShellWorker {
    fn run<'a>(
        &'a self,
        task: &'a Task,
        work: &'a Work,
        _listener: &'a Listener<'a>,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let running = match work.spawn(self.command(task)).await {
                Ok(running) => running,
                Err(why) => return Outcome::failed(format!("it did not start: {why}")),
            };
            let mut output = work.capture();
            let timeout = self.config.timeout;
            let say = |_: Stream, bytes: &[u8]| output.take(bytes);
            let (exit, is_timed_out) = running.finish_within(Some(timeout), say).await;
            let output = output.finish();
            if let Some(whole) = &output.whole {
                let text = format!("the whole output is in {whole}");
                work.say(Line { stream: Stream::Out, text });
            }
            let end = match exit {
                _ if is_timed_out => WorkerEnd::timed_out(timeout),
                _ if work.is_stopping() => WorkerEnd::Cancelled,
                Ok(exit) if exit.is_success() => WorkerEnd::Well,
                Ok(exit) => WorkerEnd::Failed(exit.to_string()),
                Err(why) => WorkerEnd::Failed(why.to_string()),
            };
            Outcome::new(mask(output.text.trim()), end)
        })
    }
}
