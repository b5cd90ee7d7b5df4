//! What differs between peers: how to start the server, how to prepare its list, how to add a task,
//! and how to find the stored tasks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::client::{Client, Waits};
use super::{Load, Outcome, ours};

const TITLE: &str = "Write the parser tests";

#[derive(Clone, Copy)]
enum Kind {
    /// Our library.
    Ours,
    /// Our server; `installed` is its program.
    Server,
    TaskMaster,
    Shrimp,
    Memory,
    Backlog,
}

pub(crate) struct Peer {
    kind: Kind,
    /// Where the peer's packages are installed.
    installed: PathBuf,
    /// Where the peer stores its tasks.
    directory: PathBuf,
}

/// The peer with this name.
pub(crate) fn find(name: &str, installed: &Path, directory: &Path) -> Outcome<Peer> {
    let kind = match name {
        "punchlist" => Kind::Ours,
        "punchlist mcp" => Kind::Server,
        "task-master-ai" => Kind::TaskMaster,
        "mcp-shrimp-task-manager" => Kind::Shrimp,
        "server-memory" => Kind::Memory,
        "backlog.md" => Kind::Backlog,
        _ => return Err(format!("there is no peer {name:?}").into()),
    };
    let (installed, directory) = (installed.to_owned(), directory.to_owned());
    Ok(Peer { kind, installed, directory })
}

impl Peer {
    /// Prepares an empty list.
    pub(crate) fn prepare(&self) -> Outcome {
        match self.kind {
            Kind::Ours => ours::prepare(&self.database()),
            Kind::Server | Kind::Shrimp | Kind::Memory => Ok(()),
            Kind::TaskMaster => {
                let path = self.task_master_file();
                fs::create_dir_all(path.parent().ok_or("the file has no directory")?)?;
                let metadata = json!({
                    "created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z",
                    "description": "tasks",
                });
                let empty = json!({ "master": { "tasks": [], "metadata": metadata } });
                Ok(fs::write(path, empty.to_string())?)
            }
            Kind::Backlog => {
                let identity = ["-c", "user.email=bench@localhost", "-c", "user.name=bench"];
                let empty = ["commit", "-q", "--allow-empty", "-m", "begin"];
                self.run(Command::new("git").args(["init", "-q", "."]))?;
                self.run(Command::new("git").args(identity).args(empty))?;
                let program = self.backlog()?;
                self.run(Command::new(&program).args(["init", "bench", "--defaults"]))?;
                let local = ["config", "set", "remoteOperations", "false"];
                self.run(Command::new(&program).args(local))
            }
        }
    }

    fn run(&self, command: &mut Command) -> Outcome {
        command.current_dir(&self.directory).stdin(Stdio::null());
        let output = command.output()?;
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(format!("{command:?} ended with {}: {stderr}", output.status).into())
    }

    /// Adds tasks from one process and returns how many were acknowledged.
    pub(crate) fn add(&self, who: u32, load: Load) -> Outcome<u32> {
        if let Kind::Ours = self.kind {
            return ours::start(&self.database(), who, load);
        }
        let arguments = |n| self.arguments(&format!("{who}-{n}"));
        Client::start(self.server()?, Waits::Bounded)?.call(self.tools().0, load, arguments)
    }

    /// The peer's server, configured to find its list.
    pub(crate) fn server(&self) -> Outcome<Command> {
        let mut command = match self.kind {
            Kind::Ours => return Err("the library has no server".into()),
            Kind::Server => {
                let mut command = Command::new(&self.installed);
                command.arg("mcp").arg("--db").arg(self.database());
                command.args(["-c", "store.durability=normal", "-c", "limits.open_items=100000"]);
                // One session id, so that the next server finds the same list.
                command.env("CLAUDE_CODE_SESSION_ID", "bench");
                command
            }
            Kind::TaskMaster => {
                let mut command = self.node("task-master-ai/dist/mcp-server.js");
                command.env("TASK_MASTER_TOOLS", "all").env("TASKMASTER_SKIP_AUTO_UPDATE", "1");
                command
            }
            Kind::Shrimp => {
                let mut command = self.node("mcp-shrimp-task-manager/dist/index.js");
                command.env("DATA_DIR", self.directory.join("data")).env("TEMPLATES_USE", "en");
                command
            }
            Kind::Memory => {
                let mut command = self.node("@modelcontextprotocol/server-memory/dist/index.js");
                command.env("MEMORY_FILE_PATH", self.memory_file());
                command
            }
            Kind::Backlog => {
                let mut command = Command::new(self.backlog()?);
                command.args(["mcp", "start"]);
                command
            }
        };
        command.current_dir(&self.directory);
        Ok(command)
    }

    /// The peer's tools for adding a task and for listing all tasks.
    pub(crate) fn tools(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::Ours | Kind::Server => ("create_todo", "list_todo"),
            Kind::TaskMaster => ("add_task", "get_tasks"),
            Kind::Shrimp => ("split_tasks", "list_tasks"),
            Kind::Memory => ("create_entities", "read_graph"),
            Kind::Backlog => ("task_create", "task_list"),
        }
    }

    /// The arguments of the listing tool.
    pub(crate) fn list_arguments(&self) -> Value {
        match self.kind {
            Kind::TaskMaster => json!({ "projectRoot": self.directory }),
            Kind::Shrimp => json!({ "status": "all" }),
            Kind::Ours | Kind::Server | Kind::Memory | Kind::Backlog => json!({}),
        }
    }

    /// The arguments for adding a task with this name.
    pub(crate) fn arguments(&self, name: &str) -> Value {
        let title = format!("{TITLE} {name}");
        match self.kind {
            // Our processes get a number, not arguments.
            Kind::Ours => Value::Null,
            Kind::Server => json!({ "items": [{ "title": title }] }),
            Kind::TaskMaster => json!({
                "title": title, "description": TITLE, "projectRoot": self.directory,
            }),
            Kind::Shrimp => {
                let task = json!({
                    "name": title, "description": "Write the parser tests for todo lines",
                    "implementationGuide": "Do it step by step", "dependencies": [],
                    "notes": "", "relatedFiles": [], "verificationCriteria": "They pass",
                });
                json!({
                    "updateMode": "append", "globalAnalysisResult": "none",
                    "tasksRaw": json!([task]).to_string(), "tasks": [task],
                })
            }
            Kind::Memory => json!({ "entities": [
                { "name": title, "entityType": "task", "observations": [TITLE] },
            ] }),
            Kind::Backlog => json!({ "title": title }),
        }
    }

    /// The ids of the stored tasks. A list, so that duplicates show.
    pub(crate) fn stored(&self) -> Outcome<Vec<String>> {
        match self.kind {
            Kind::Ours | Kind::Server => ours::stored(&self.database()),
            Kind::TaskMaster => {
                let all: Value = serde_json::from_slice(&fs::read(self.task_master_file())?)?;
                ids(all.pointer("/master/tasks"))
            }
            Kind::Shrimp => {
                let file = find_file(&self.directory.join("data"), "tasks.json", 4);
                let file = file.ok_or("there is no tasks.json")?;
                let all: Value = serde_json::from_slice(&fs::read(file)?)?;
                ids(all.get("tasks"))
            }
            Kind::Memory => {
                let text = fs::read_to_string(self.memory_file())?;
                let mut names = Vec::new();
                for line in text.lines().filter(|line| !line.trim().is_empty()) {
                    let entry: Value = serde_json::from_str(line)?;
                    if entry.get("type").and_then(Value::as_str) == Some("entity") {
                        names.extend(entry.get("name").map(Value::to_string));
                    }
                }
                Ok(names)
            }
            Kind::Backlog => {
                let mut ids = Vec::new();
                for file in fs::read_dir(self.directory.join("backlog/tasks"))? {
                    let text = fs::read_to_string(file?.path())?;
                    ids.extend(text.lines().find(|it| it.starts_with("id:")).map(str::to_owned));
                }
                Ok(ids)
            }
        }
    }

    fn node(&self, script: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(self.installed.join("node_modules").join(script));
        command
    }

    /// Its executable for this machine, which is a package of its own.
    fn backlog(&self) -> Outcome<PathBuf> {
        for package in fs::read_dir(self.installed.join("node_modules"))? {
            let package = package?;
            let program = package.path().join("backlog");
            if package.file_name().to_string_lossy().starts_with("backlog.md-") && program.exists()
            {
                return Ok(program);
            }
        }
        Err("backlog.md has no program for this machine".into())
    }

    fn database(&self) -> PathBuf {
        self.directory.join("plans.db")
    }

    fn memory_file(&self) -> PathBuf {
        self.directory.join("memory.jsonl")
    }

    fn task_master_file(&self) -> PathBuf {
        self.directory.join(".taskmaster/tasks/tasks.json")
    }
}

fn ids(tasks: Option<&Value>) -> Outcome<Vec<String>> {
    let tasks = tasks.and_then(Value::as_array).ok_or("there are no tasks in the file")?;
    Ok(tasks.iter().filter_map(|task| task.get("id")).map(Value::to_string).collect())
}

/// The file with this name, at most `depth` levels deep, and not in a cache of packages.
fn find_file(directory: &Path, name: &str, depth: u32) -> Option<PathBuf> {
    let mut directories = Vec::new();
    for entry in fs::read_dir(directory).ok()?.map_while(Result::ok) {
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            directories.push(entry.path());
        } else if entry.file_name() == name {
            return Some(entry.path());
        }
    }
    let inside = depth.checked_sub(1)?;
    directories
        .iter()
        .filter(|it| !it.ends_with("memory"))
        .find_map(|it| find_file(it, name, inside))
}
