//! The MCP client against real servers: programs, and a server over HTTP on loopback.

mod hostile;
mod http;
mod programs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use punchlist_agent::mcp::{self, Lookup, Options, ServerConfig, Servers};
use punchlist_sched::call::Ended;
use punchlist_sched::process;
use punchlist_sched::{Processes, Tool, Work, output};
use serde_json::{Value, json};

/// A value that must not be seen in any message.
const CANARY: &str = "mcp-canary-77c1";

/// The example, which is a server, and the guardian of servers.
fn example() -> PathBuf {
    // Beside this test's own program, where cargo puts examples.
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples/mcp_server");
    assert!(program.exists(), "`cargo build -p punchlist-agent --examples`");
    program
}

fn processes() -> Processes {
    Processes::new(process::Options::new(example(), ["guardian".into()]))
}

fn lookup() -> Lookup {
    let variables = BTreeMap::from([("CANARY", CANARY), ("SHORT", "ab")]);
    let variable = move |name: &str| variables.get(name).map(|it| (*it).to_owned());
    let command = |command: &str| match command {
        "print-key" => Ok(format!("{CANARY}\n")),
        other => Err(format!("there is no {other}")),
    };
    Lookup { variable: Arc::new(variable), command: Arc::new(command) }
}

fn options(root: &Path) -> Options {
    let environment = [("PATH", "/usr/bin:/bin"), ("LANG", "C"), ("ANTHROPIC_API_KEY", CANARY)];
    let environment = environment.map(|(name, value)| (name.into(), value.into())).to_vec();
    Options {
        environment,
        first_wait: Duration::from_secs(30),
        ..Options::new(root.to_owned(), processes(), lookup())
    }
}

/// A server that is the example in one of its kinds, with further settings.
fn server(name: &str, kind: &str, further: &Value) -> ServerConfig {
    let mut entry = json!({"command": [example(), kind]});
    let further = further.as_object().cloned().unwrap_or_default();
    entry.as_object_mut().unwrap().extend(further);
    ServerConfig::from_settings(name, &entry)
}

/// Servers in a project of their own.
struct World {
    root: tempfile::TempDir,
    servers: Servers,
}

impl World {
    fn new(configs: Vec<ServerConfig>) -> Self {
        Self::with(configs, |it| it)
    }

    fn with(configs: Vec<ServerConfig>, change: impl Fn(Options) -> Options) -> Self {
        let root = tempfile::tempdir().unwrap();
        let servers = mcp::connect(configs, change(options(root.path())));
        Self { root, servers }
    }

    async fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tools = self.servers.tools().await;
        let found = tools.iter().find(|it| it.name() == name);
        Arc::clone(found.unwrap_or_else(|| panic!("no {name}; {}", self.report())))
    }

    async fn call(&self, name: &str, arguments: Value) -> String {
        run(&self.tool(name).await, arguments).await
    }

    /// The names of the tools.
    async fn names(&self) -> Vec<String> {
        self.servers.tools().await.iter().map(|it| it.name().to_owned()).collect()
    }

    fn report(&self) -> String {
        let lines: Vec<String> = self.servers.report().iter().map(ToString::to_string).collect();
        let lines = lines.join("\n");
        assert!(!lines.contains(CANARY), "{lines}");
        lines
    }
}

/// The result of a call, in words.
async fn run(tool: &Arc<dyn Tool>, arguments: Value) -> String {
    let work = Work::alone(Processes::none(), output::Options::default());
    let said = match tool.run(arguments, work).await {
        Ended::Well(output) => output.text,
        Ended::Badly { what, output } if output.text.is_empty() => format!("failed: {what}"),
        Ended::Badly { what, output } => format!("failed: {what}: {}", output.text),
        Ended::Declined(what) | Ended::Panicked(what) => format!("panicked: {what}"),
    };
    assert!(!said.contains(CANARY), "{said}");
    said
}

/// Waits until something is true; fails after a while.
async fn until(mut is_true: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if is_true() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not become true");
}
