//! `punchlist serve` and `punchlist token`, as processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use punchlist_testkit::http_client::Request;
use serde_json::Value;

use crate::person::{Person, typed};
use crate::world::World;

/// A server that runs.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) site: String,
}

impl Server {
    /// Starts a server without a terminal.
    pub(crate) fn start(world: &World, listen: &str) -> Self {
        let mut command = world.command("project");
        command.args(["serve", "--listen", listen]);
        Self::spawn(command)
    }

    /// Starts a server with this command.
    pub(crate) fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(url) = line.trim().strip_prefix("Punchlist is at http://") else {
            let output = child.wait_with_output().unwrap();
            panic!("{line:?} {}", String::from_utf8_lossy(&output.stderr));
        };
        let (address, site) = url.trim_end_matches('/').split_once('/').unwrap();
        Self { child, address: address.parse().unwrap(), site: site.to_owned() }
    }

    pub(crate) fn get(&self, token: &str, path: &str) -> Value {
        Request::get(path).token(token).send(self.address).ok()
    }

    /// Asks it to end, and returns what it said.
    pub(crate) fn stop(self) -> (i32, String) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub(crate) fn token(world: &World, line: &str) -> String {
    let made = world.person(&format!("token create {line}"));
    assert_eq!(made.code, 0, "{}{}", made.out, made.err);
    made.out.trim().to_owned()
}

#[test]
fn below_an_agent_there_is_no_server_and_no_token() {
    let world = World::new();
    for arguments in
        [&["serve"][..], &["serve", "--open"], &["token", "create", "x", "--role", "admin"]]
    {
        for (name, value) in [("CLAUDECODE", "1"), ("PUNCHLIST_RUN", "7")] {
            let mut command = world.command("project");
            command.args(arguments).env(name, value);
            let output = command.output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(3), "{arguments:?} {name}: {text}");
            assert!(text.contains("by people, and this call is made by"), "{text}");
        }
    }
    // Without a terminal a server may run, but nobody gets a token or a code.
    assert_eq!(world.typed("token create x --role admin").code, 3);
    assert_eq!(world.typed("serve --open").code, 3);
    assert_eq!(world.typed("token list").out, "No token is in force.\n");
}

#[test]
fn without_a_terminal_no_code_is_printed_and_the_server_ends_when_it_is_told_to() {
    let world = World::new();
    let server = Server::start(&world, "127.0.0.1:0");
    assert_eq!(server.site.len(), 32, "{}", server.site);
    let (code, said) = server.stop();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("No code is printed without a terminal"), "{said}");
    assert!(!said.contains("plc_"), "{said}");
}

#[test]
fn a_token_works_over_a_restart_until_it_is_revoked_and_is_nowhere_in_the_database() {
    let world = World::new();
    world.typed("add Build").works();
    let secret = token(&world, "ci --role viewer --project .");
    let project = world.path("project").display().to_string();
    assert_eq!(
        world.typed("token list --json").json()["tokens"][0]["project"],
        Value::from(project.as_str())
    );
    let server = Server::start(&world, "127.0.0.1:0");
    let plans = server.get(&secret, "/api/v1/plans");
    assert_eq!(plans["plans"][0]["project"], Value::from(project));
    let site = server.site.clone();
    assert_eq!(server.stop().0, 0);
    let server = Server::start(&world, "127.0.0.1:0");
    assert_eq!(server.site, site, "the path stays");
    let me = || Request::get("/api/v1/me").token(&secret).send(server.address).status;
    assert_eq!(me(), 200);
    assert_eq!(world.typed("token revoke ci").ok(), "revoked ci\n");
    assert_eq!(me(), 401);
    server.stop();
    let last = secret.rsplit('_').next().unwrap();
    is_in_no_file(&world, last);
}

/// Checks that no file of the data has this secret.
fn is_in_no_file(world: &World, secret: &str) {
    assert!(secret.len() > 20, "{secret} is no secret");
    for entry in fs::read_dir(world.path("home/.local/share/punchlist")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let is_there = bytes.windows(secret.len()).any(|it| it == secret.as_bytes());
            assert!(!is_there, "{} has the secret", path.display());
        }
    }
}

/// How many files wait to sign a browser in.
fn open_files(world: &World) -> usize {
    fs::read_dir(world.path("home/.local/share/punchlist/open")).map_or(0, Iterator::count)
}

/// A person who starts a server with `--open` and has this browser.
pub(crate) fn opens(world: &World, listen: &str, browser: &str) -> Person {
    let mut command = world.command("project");
    command.args(["serve", "--open", "--listen", listen]).env("BROWSER", browser);
    Person::calls(&command, &typed(&command))
}

/// The address that signs a browser in, from what the person sees.
fn sign_in(person: &Person) -> (SocketAddr, String, String) {
    let word = person.seen.split_whitespace().find(|it| it.contains("/login#"));
    let word = word.unwrap_or_else(|| panic!("no code: {}", person.seen));
    let (address, rest) = word.trim_start_matches("http://").split_once('/').unwrap();
    let (path, code) = rest.split_once('#').unwrap();
    (address.parse().unwrap(), format!("/{path}"), code.to_owned())
}

#[test]
fn without_a_browser_the_address_is_printed_and_no_file_with_the_code_stays() {
    let world = World::new();
    // One that fails, as without a screen, and one that is not there.
    for browser in ["false", "/nonexistent/browser"] {
        let mut person = opens(&world, "127.0.0.1:0", browser);
        assert!(person.sees(|it| it.contains("for five minutes")), "{}", person.seen);
        let (address, path, code) = sign_in(&person);
        let got = Request::post(&path).form(&format!("code={code}")).send(address);
        assert_eq!(got.status, 200, "{got:?}");
        person.types("\u{3}");
        person.ends();
        assert_eq!(open_files(&world), 0);
    }
}

#[test]
fn beside_a_running_server_and_without_a_browser_the_address_is_printed_too() {
    let world = World::new();
    let server = Server::start(&world, "127.0.0.1:0");
    let person = opens(&world, &server.address.to_string(), "false");
    let (code, seen) = person.ends();
    assert_eq!(code, 0, "{seen}");
    let code = seen.split_whitespace().find_map(|it| it.split_once("/login#"));
    let code = code.unwrap_or_else(|| panic!("no code: {seen}")).1;
    let sent = Request::post(&format!("/{}/login", server.site)).form(&format!("code={code}"));
    assert_eq!(sent.send(server.address).status, 200);
    assert_eq!(open_files(&world), 0);
    server.stop();
}

#[test]
fn the_file_with_the_code_goes_when_the_wait_for_the_browser_is_interrupted() {
    let world = World::new();
    let server = Server::start(&world, "127.0.0.1:0");
    // A browser that never signs in; beside a server that runs, and with one of its own.
    for listen in [server.address.to_string(), "127.0.0.1:0".to_owned()] {
        let mut person = opens(&world, &listen, "true");
        assert!(person.sees(|it| it.contains("Your browser opens")), "{}", person.seen);
        assert_eq!(open_files(&world), 1);
        person.types("\u{3}");
        person.ends();
        assert_eq!(open_files(&world), 0);
    }
    server.stop();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the ages of files are those of the real clock")]
fn files_with_codes_of_processes_that_were_killed_go_at_the_next_start() {
    let world = World::new();
    let place = "home/.local/share/punchlist/open";
    for (name, age) in [("old.html", 60), ("new.html", 0)] {
        world.write(&format!("{place}/{name}"), "plc_");
        let file = fs::File::options().write(true).open(world.path(&format!("{place}/{name}")));
        let then = std::time::SystemTime::now() - Duration::from_secs(age);
        file.unwrap().set_modified(then).unwrap();
    }
    Server::start(&world, "127.0.0.1:0").stop();
    let left: Vec<_> =
        fs::read_dir(world.path(place)).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["new.html"], "another process may still wait for its browser");
}

#[test]
fn of_two_servers_that_see_a_question_one_tells_the_user() {
    let world = World::new();
    let told = world.path("told.jsonl");
    let config = format!("[notify]\ncommand = 'cat >> {}'\n", told.display());
    world.write("home/.config/punchlist/config.toml", config);
    let secret = token(&world, "v --role viewer");
    let servers = [(); 2].map(|()| Server::start(&world, "127.0.0.1:0"));
    // What was so when they began is no news.
    for server in &servers {
        server.get(&secret, "/api/v1/agents");
    }
    world.write("project/release.md", "# R\n- [ ] Publish\n  run: echo hi\n  approve: yes\n");
    let mut command = world.command("project");
    command.args(["run", "release.md"]);
    // This person is at the terminal, so `run` itself tells nobody.
    let mut person = Person::calls(&command, &typed(&command));
    assert!(person.sees(|it| it.contains("echo hi")), "{}", person.seen);
    let until = Instant::now() + Duration::from_secs(60);
    let lines = || fs::read_to_string(&told).unwrap_or_default();
    while !lines().ends_with('\n') {
        assert!(Instant::now() < until, "nobody was told");
        std::thread::yield_now();
    }
    // Both have seen it by now: both show it.
    for server in &servers {
        while !server.get(&secret, "/api/v1/agents").to_string().contains("echo hi") {
            assert!(Instant::now() < until, "{}", server.get(&secret, "/api/v1/agents"));
        }
    }
    person.is_killed();
    servers.into_iter().for_each(|it| drop(it.stop()));
    let all: Vec<Value> = lines().lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(all.len(), 1, "{all:#?}");
    assert_eq!(all[0]["kind"], "question");
    assert!(all[0]["text"].as_str().unwrap().contains("echo hi"), "{}", all[0]);
}

#[test]
fn open_beside_a_running_server_signs_a_browser_in_there_without_showing_the_code_to_others() {
    let world = World::new();
    let server = Server::start(&world, "127.0.0.1:0");
    let again = world.typed(&format!("serve --listen {}", server.address));
    assert_eq!(again.code, 3);
    assert!(again.err.contains("a server runs at"), "{}", again.err);
    // A browser that keeps the page that it is given, its argument list and its environment.
    let (browser, page) = (world.path("browser"), world.path("page.html"));
    let script = format!(
        "#!/bin/sh\n(printf '%s\\n' \"$*\"; env) > {0}.args\ncp \"$1\" {0}.new && mv {0}.new {0}\n",
        page.display()
    );
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = world.command("project");
    command.args(["serve", "--open", "--listen", &server.address.to_string()]);
    command.env("BROWSER", &browser);
    let cookie = std::thread::scope(|scope| {
        let opening = scope.spawn(|| world.answering(&command, &[]).0);
        let until = Instant::now() + Duration::from_secs(20);
        while !page.exists() {
            assert!(Instant::now() < until, "the browser was not opened");
            std::thread::yield_now();
        }
        let text = fs::read_to_string(&page).unwrap();
        let code = text.split("value=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(code.starts_with("plc_"));
        assert!(
            text.contains(&format!("action=\"http://{}/{}/login\"", server.address, server.site))
        );
        let sent = Request::post(&format!("/{}/login", server.site)).header("Origin", "null");
        let got = sent.form(&format!("code={code}")).send(server.address);
        assert_eq!(got.status, 200, "{got:?}");
        let ran = opening.join().unwrap();
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(!ran.out.contains("plc_") && !ran.err.contains("plc_"), "{} {}", ran.out, ran.err);
        got.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    });
    let arguments = fs::read_to_string(page.with_extension("html.args")).unwrap();
    assert!(!arguments.contains("plc_"), "{arguments}");
    assert_eq!(open_files(&world), 0, "the file is removed when the code was used");
    let page = fs::read_to_string(&page).unwrap();
    let code = page.split('"').find(|it| it.starts_with("plc_")).unwrap();
    for secret in [code, &cookie] {
        is_in_no_file(&world, secret.rsplit('_').next().unwrap());
    }
    // The browser stays signed in with another server of the same database.
    server.stop();
    let other = Server::start(&world, "127.0.0.1:0");
    let me = Request::get(&format!("/{}/api/v1/me", other.site)).header("Cookie", &cookie);
    assert_eq!(me.send(other.address).ok()["name"], "me@host");
    other.stop();
}

#[test]
fn listening_beyond_this_machine_needs_a_proxy_and_answers_under_its_name_alone() {
    let world = World::new();
    let refused = world.typed("serve --listen 0.0.0.0:0");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--behind-proxy"), "{}", refused.err);
    let mut command = world.command("project");
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--behind-proxy",
        "https://plans.example.org",
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("Punchlist is at https://plans.example.org/"), "{line}");
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("can read all plans of this database"), "{said}");
}
