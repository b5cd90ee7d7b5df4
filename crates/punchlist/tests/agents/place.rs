//! A home directory, a project and the program, for one test; and access to the stored plans.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use punchlist_testkit::person::{Person, typed};
use serde_json::Value;

/// The environment variables with the paths of the installed agents.
const AGENTS: [&str; 3] = [crate::claude::PROGRAM, crate::codex::PROGRAM, crate::gemini::PROGRAM];

/// An empty home directory, and a project with a repository.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    /// The program that is installed into the agent.
    pub(crate) punchlist: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        assert_enclosed();
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let place = Self { dir, punchlist: env!("CARGO_BIN_EXE_punchlist").into() };
        for name in ["home", "project", "tmp"] {
            fs::create_dir_all(place.path(name)).unwrap();
        }
        fs::write(place.path("project/README.md"), "# A project\n").unwrap();
        for arguments in ["init -q -b main .", "add -A", "commit -q -m begin"] {
            place.git(&arguments.split(' ').collect::<Vec<_>>());
        }
        place
    }

    /// A place with Punchlist installed into Claude Code.
    pub(crate) fn installed() -> Self {
        let place = Self::new();
        place.install();
        place
    }

    /// Installs Punchlist into Claude Code.
    pub(crate) fn install(&self) {
        self.punchlist(&["install", "claude", "--yes"]);
    }

    /// Sets the gate in the user's configuration: `off` lets a session end with open items.
    pub(crate) fn gate(&self, setting: &str) {
        fs::create_dir_all(self.path("home/.config/punchlist")).unwrap();
        let text = format!("gate = \"{setting}\"\n");
        fs::write(self.path("home/.config/punchlist/config.toml"), text).unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(path)
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = self.command(Path::new("git"));
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "me");
            command.env(format!("GIT_{who}_EMAIL"), "me@example.invalid");
        }
        assert!(command.args(arguments).status().unwrap().success(), "git {arguments:?}");
    }

    /// A command in the project, with this home and no other environment variables.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // The agent is on the search path, as in a real installation.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let agents = AGENTS.iter().filter_map(std::env::var_os).map(PathBuf::from);
        let agents = agents.filter_map(|it| it.parent().map(Path::to_owned));
        let path = agents.chain(std::env::split_paths(&path));
        command
            .env_clear()
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", self.path("home"))
            // Replaces the password database, which counts for calls of agents.
            .env("PUNCHLIST_HOME", self.path("home"))
            .env("USER", "me")
            .env("LANG", "C.UTF-8")
            .current_dir(self.path("project"))
            .stdin(Stdio::null());
        command
    }

    /// The output of a call by a person.
    #[track_caller]
    pub(crate) fn punchlist(&self, arguments: &[&str]) -> String {
        let output = self.command(&self.punchlist).args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "punchlist {arguments:?}: {}: {error}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The terminal of a person who runs the program and says yes.
    pub(crate) fn person(&self, arguments: &[&str]) -> impl Fn() -> String + Send + 'static {
        let mut command = self.command(&self.punchlist);
        command.args(arguments);
        move || {
            let mut person = Person::calls(&command, &typed(&command));
            if person.sees_question() {
                person.types("y\n");
            }
            person.ends().1
        }
    }

    /// Every file below a directory whose name ends like this.
    pub(crate) fn files(&self, under: &str, ending: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut left = vec![self.path(under)];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    left.push(path);
                } else if path.to_string_lossy().ends_with(ending) {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.punchlist(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
    }

    /// Every plan of the project.
    pub(crate) fn plans(&self) -> Vec<Value> {
        self.json(&["plans", "--all"])["plans"].as_array().unwrap().clone()
    }

    /// The plan of one session.
    #[track_caller]
    pub(crate) fn plan_of(&self, session: &str) -> Plan {
        let plans = self.plans();
        let own = plans.iter().find(|it| it["conversation"] == session);
        self.plan(own.unwrap_or_else(|| panic!("no plan of {session} among {plans:#?}")))
    }

    /// The only plan that there is.
    #[track_caller]
    pub(crate) fn only_plan(&self) -> Plan {
        let plans = self.plans();
        let [only] = plans.as_slice() else { panic!("not one plan: {plans:#?}") };
        self.plan(only)
    }

    /// The plan of this summary.
    pub(crate) fn plan(&self, summary: &Value) -> Plan {
        let id = summary["id"].as_str().unwrap();
        let list = self.json(&["list", "--all", "--plan", id]);
        let journal = self.punchlist(&["log", "--plan", id, "--json"]);
        let journal = journal.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        let items = list["items"].as_array().unwrap().clone();
        Plan { end: summary["end"].as_str().unwrap().to_owned(), items, journal }
    }
}

/// A plan, as the verbs show it.
pub(crate) struct Plan {
    /// How it ended: `open`, `drained` or `stopped`.
    pub(crate) end: String,
    pub(crate) items: Vec<Value>,
    /// The oldest entry comes first.
    pub(crate) journal: Vec<Value>,
}

impl Plan {
    /// The items as lines: number, status, title. What left the list is `superseded`.
    pub(crate) fn list(&self) -> String {
        self.items.iter().fold(String::new(), |mut lines, it| {
            let left = !it["supersededAt"].is_null();
            let status = if left { "superseded" } else { it["status"].as_str().unwrap() };
            let number = &it["number"];
            writeln!(lines, "{number} {status}: {}", it["title"].as_str().unwrap()).unwrap();
            lines
        })
    }

    /// How many events of this kind the journal has.
    pub(crate) fn happened(&self, event: &str) -> usize {
        let events = self.journal.iter().flat_map(|it| it["events"].as_array().unwrap());
        events.filter(|it| it["event"] == event).count()
    }

    /// Who did this to items, for each time.
    pub(crate) fn who(&self, what: &str) -> Vec<String> {
        let mut names = Vec::new();
        for entry in &self.journal {
            let events = entry["events"].as_array().unwrap().iter();
            let name = entry["actor"]["name"].as_str().unwrap();
            names.extend(events.filter(|it| it["what"] == what).map(|_| name.to_owned()));
        }
        names
    }

    /// Who made the changes.
    pub(crate) fn actors(&self) -> Vec<String> {
        let names = self.journal.iter().map(|it| it["actor"]["name"].as_str().unwrap().to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Fails unless loopback is the only network: the tests must reach nobody.
fn assert_enclosed() {
    let interfaces = fs::read_to_string("/proc/net/dev").unwrap();
    let names: Vec<&str> =
        interfaces.lines().skip(2).filter_map(|it| Some(it.split_once(':')?.0.trim())).collect();
    assert_eq!(names, ["lo"], "run `cargo xtask test agents`: it takes the network away");
}
