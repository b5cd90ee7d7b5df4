//! A server with its database, and what happens around it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use pollster::block_on;
use punchlist_model::call::{
    Asked, CallRecord, CallState, CallStore, Offer, Permit, QuestionFilter, RunRecord, Standing,
};
use punchlist_model::{Attempt, IdSource, QuestionId, RunId, Timestamp};
use punchlist_store::{Durability, Options, Sqlite};
use punchlist_testkit::person::{Person, typed};
use serde_json::{Value, json};

use crate::browser::{Browser, Kind};
use crate::web_driver::until;

/// A home directory and a project.
pub(crate) struct Site {
    dir: tempfile::TempDir,
}

/// A server that a person started at a terminal. It ends with this value.
pub(crate) struct Server {
    person: Option<Person>,
    /// The address that signs a browser in, once.
    pub(crate) sign_in: String,
    /// The address of the pages, without a slash at its end.
    pub(crate) pages: String,
}

impl Site {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let site = Self { dir };
        for path in ["home", "web-shop/.git/objects", "web-shop/.git/refs"] {
            fs::create_dir_all(site.path(path)).unwrap();
        }
        fs::write(site.path("web-shop/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        site
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Adds text to the end of a file.
    pub(crate) fn append(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::options().create(true).append(true).open(path).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    }

    /// The program in the project, without the caller's environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punchlist"));
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PUNCHLIST_HOME", self.path("home"))
            .env("USER", "ann")
            .env("PUNCHLIST_HOST", "atlas")
            .env("PUNCHLIST_ANCESTORS", "0")
            .env("PATH", "/usr/bin:/bin")
            .env("COLUMNS", "200")
            .args(arguments)
            .current_dir(self.path("web-shop"))
            .stdin(Stdio::null());
        command
    }

    /// A call that succeeds. Returns what it printed.
    #[track_caller]
    pub(crate) fn call(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {err}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The list as JSON.
    pub(crate) fn list(&self) -> Value {
        serde_json::from_str(&self.call(&["list", "--json"])).unwrap()
    }

    /// The id of the project's plan.
    pub(crate) fn plan(&self) -> String {
        self.list()["plan"]["id"].as_str().unwrap().to_owned()
    }

    /// A person who runs this at a terminal.
    pub(crate) fn person(&self, arguments: &[&str]) -> Person {
        let command = self.command(arguments);
        Person::calls(&command, &typed(&command))
    }

    fn store(&self) -> Sqlite {
        let path = self.path("home/.local/share/punchlist/punchlist.db");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        Sqlite::open(&Options { path, durability: Durability::Normal }).unwrap()
    }

    /// Two questions of a run: about a command that a rule could allow, and about an edit.
    pub(crate) fn asks(&self) {
        self.asks_to_edit("@@ -1 +1 @@\n-hello\n+HELLO\n");
    }

    /// The same, with this diff.
    #[expect(clippy::disallowed_methods, reason = "the server that is tested reads the real clock")]
    pub(crate) fn asks_to_edit(&self, diff: &str) {
        let (store, now) = (self.store(), Timestamp::now());
        let ids = |n: u8| IdSource::fixed(now, n).nth(0);
        let run = RunRecord {
            id: RunId(ids(9)),
            project: self.path("web-shop").display().to_string(),
            plan: None,
            what: "a task".to_owned(),
            process: None,
            begun_at: now,
            ended_at: None,
        };
        block_on(store.begin_run(run)).unwrap();
        let call = |number| CallRecord {
            number,
            item: None,
            tool: "shell".to_owned(),
            request: json!({}),
            state: CallState::AwaitingApproval,
            attempt: Attempt(0),
            detail: None,
            at: now,
        };
        let words = Permit {
            tool: Some("shell".to_owned()),
            command: Some(vec!["make".to_owned()]),
            ..Permit::default()
        };
        let make = Asked {
            id: QuestionId(ids(1)),
            call: 1,
            item: None,
            title: "punchlist".to_owned(),
            place: Vec::new(),
            context: String::new(),
            tool: "shell".to_owned(),
            server: None,
            what: "run".to_owned(),
            command: Some("make test".to_owned()),
            diff: None,
            printed: Vec::new(),
            touches: Vec::new(),
            why: "no rule allows it".to_owned(),
            arguments: json!({"command": "make test"}),
            offers: vec![Offer::Once, Offer::Always(vec![words]), Offer::Modify],
            at: now,
        };
        let edit = Asked {
            id: QuestionId(ids(2)),
            call: 2,
            tool: "edit".to_owned(),
            what: "edit src/a.rs".to_owned(),
            command: None,
            diff: Some(diff.to_owned()),
            arguments: json!({"path": "src/a.rs"}),
            offers: vec![Offer::Once, Offer::Modify],
            ..make.clone()
        };
        block_on(store.record(RunId(ids(9)), vec![call(1), call(2)], vec![make, edit], None))
            .unwrap();
    }

    /// The answers of all questions: `-` for one that waits.
    pub(crate) fn answers(&self) -> Vec<String> {
        let questions = block_on(self.store().questions(QuestionFilter::default())).unwrap();
        let one = |standing: Standing| match standing {
            Standing::Waiting => "-".to_owned(),
            Standing::Answered(it) => format!("{:?} by {}", it.answer, it.by),
            Standing::Settled => "settled".to_owned(),
        };
        questions.into_iter().map(|it| one(it.standing)).collect()
    }

    /// Runs a line of shell in the project.
    pub(crate) fn call_shell(&self, line: &str) {
        let mut shell = Command::new("/bin/sh");
        let status = shell.args(["-c", line]).current_dir(self.path("web-shop")).status();
        assert!(status.unwrap().success(), "{line}");
    }

    /// A new address that signs a browser in at a server that runs: `serve --open` asks for it, and
    /// a browser that only copies its file stands in for the person's.
    pub(crate) fn code(&self, server: &Server) -> String {
        self.write("open.sh", "#!/bin/sh\ncp \"$1\" \"$HOME/opened.html\"\n");
        let open = self.path("open.sh");
        let mut permissions = fs::metadata(&open).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        fs::set_permissions(&open, permissions).unwrap();
        let opened = self.path("home/opened.html");
        fs::remove_file(&opened).ok();
        let listen = format!("127.0.0.1:{}", server.port());
        let mut command = self.command(&["serve", "--open", "--listen", &listen]);
        command.env("BROWSER", &open);
        let person = Person::calls(&command, &typed(&command));
        let text = until("the browser is opened", || {
            fs::read_to_string(&opened)
                .ok()
                .filter(|it| it.contains("</form>") || it.contains("</html>"))
        });
        let code = text.split('"').find(|it| it.starts_with("plc_"));
        let code = code.unwrap_or_else(|| panic!("no code: {text}"));
        person.is_killed();
        format!("{}/login#{code}", server.pages)
    }

    /// Starts a server at this port; 0 for any.
    #[track_caller]
    pub(crate) fn serve(&self, port: u16) -> Server {
        let mut person = self.person(&["serve", "--listen", &format!("127.0.0.1:{port}")]);
        assert!(person.sees(|it| it.contains("Ctrl-C ends")), "{}", person.seen);
        let word = person.seen.split_whitespace().find(|it| it.contains("/login#"));
        let sign_in = word.unwrap_or_else(|| panic!("no code: {}", person.seen)).to_owned();
        let pages = sign_in.split_once("/login#").unwrap().0.to_owned();
        Server { person: Some(person), sign_in, pages }
    }

    /// A server, and a browser that is signed in.
    #[track_caller]
    pub(crate) fn browse(&self, kind: Kind) -> (Server, Browser) {
        let server = self.serve(0);
        let browser = Browser::start(kind);
        server.let_in(&browser, kind);
        (server, browser)
    }
}

impl Server {
    /// Signs the browser in.
    #[track_caller]
    pub(crate) fn let_in(&self, browser: &Browser, kind: Kind) {
        if kind.has_scripts {
            browser.open(&self.sign_in);
        } else {
            let (page, code) = self.sign_in.split_once('#').unwrap();
            browser.open(page);
            browser.write("#code", code);
            browser.click("button");
        }
        browser.sees("h1", "Agents");
    }

    /// The address of a page.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}/{path}", self.pages)
    }

    pub(crate) fn port(&self) -> u16 {
        let host = self.pages.trim_start_matches("http://").split('/').next().unwrap();
        host.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Ends the server, as closing its terminal does.
    pub(crate) fn end(mut self) {
        self.person.take().map(Person::is_killed);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.person.take().map(Person::is_killed);
    }
}
