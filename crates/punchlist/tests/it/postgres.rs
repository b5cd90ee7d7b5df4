//! The program with its plans on a PostgreSQL server: `cargo xtask test postgres` runs these.

mod machines;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use punchlist_testkit::http_client::{Event, Request};
use punchlist_testkit::postgres::{Server, Setup, database, free_port};
use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::serve;
use crate::world::{Ran, World, finish};

pub(crate) fn programs() -> PathBuf {
    let programs = std::env::var_os("PUNCHLIST_TEST_POSTGRES");
    PathBuf::from(programs.expect("run by `cargo xtask test postgres`"))
}

/// A world whose user has plans on a server.
fn on_server() -> World {
    at(&database(&programs()))
}

pub(crate) fn at(address: &str) -> World {
    let world = World::new();
    world.write("home/.config/punchlist/config.toml", format!("[store]\nurl = \"{address}\"\n"));
    world
}

/// The titles and statuses of the list.
pub(crate) fn items(world: &World) -> Vec<String> {
    let list = world.run(&["list", "--all", "--json"]).json();
    let item = |it: &Value| {
        format!("{} {}", it["title"].as_str().unwrap(), it["status"].as_str().unwrap())
    };
    list["items"].as_array().unwrap().iter().map(item).collect()
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn everyday_verbs_work_on_a_server() {
    let world = on_server();
    world.typed("add Build Test Publish").ok();
    world.typed("start 1").ok();
    world.typed("done 1").ok_with_warnings();
    world.typed("skip 3").ok_with_warnings();
    assert_eq!(items(&world), ["Build completed", "Test pending", "Publish cancelled"]);
    world.typed("undo").ok_with_warnings();
    assert_eq!(items(&world), ["Build completed", "Test pending", "Publish pending"]);
    let log = world.typed("log").ok();
    assert!(log.contains("added 1 \"Build\"") && log.contains("undid"), "{log}");
    assert!(
        world.typed("plans").ok().contains("project"),
        "the directory is named, not the server's name"
    );
    let next = world.typed("next").ok_with_warnings();
    assert!(next.contains("Test"), "{next}");
    let stays = fs::read_dir(world.path("home/.local/share/punchlist")).into_iter().flatten();
    let files: Vec<_> =
        stays.flatten().map(|it| it.file_name()).filter(|it| it == "punchlist.db").collect();
    assert_eq!(files, [""; 0], "there is no file with plans");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn an_export_goes_through_a_pipe_from_a_file_to_a_server_and_back() {
    let file = World::new();
    file.typed("add a b --plan one").ok_with_warnings();
    file.typed("add c").ok();
    file.typed("done 1").ok_with_warnings();
    let exported = file.typed("export --all").ok();
    let world = on_server();
    assert_eq!(world.run_with(&["import", "-"], exported.as_bytes()).code, 0);
    let again = world.typed("export --all").ok();
    let back = World::new();
    assert_eq!(back.run_with(&["import", "-"], again.as_bytes()).code, 0);
    let lines = |text: &str| text.lines().count();
    assert_eq!((lines(&exported), lines(&again)), (lines(&exported), lines(&exported)));
    let journals = |text: &str| -> Vec<Value> {
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|it| it["journal"].clone()).collect()
    };
    assert_eq!(journals(&again), journals(&exported));
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_person_who_forgets_is_told_what_the_server_keeps() {
    let world = on_server();
    world.typed("add \"a secret\" plain").ok();
    let ran = world.person("forget 1");
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains("WAL archives, replicas and backups"), "{said}");
    assert!(items(&world)[0].starts_with("[forgotten]"));
    assert!(!world.typed("export --all").ok().contains("secret"));
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_follower_hears_of_another_process() {
    follower_hears(&on_server(), || ());
}

/// A follower in a process of its own hears of each change of others. `meanwhile` runs when the follower
/// has seen what was there before.
pub(crate) fn follower_hears(world: &World, meanwhile: impl FnOnce()) {
    world.typed("add a").ok();
    let mut command = world.command("project");
    command.args(["log", "--follow"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().ends_with("added 1 \"a\""));
    meanwhile();
    for n in 2..5 {
        world.typed(&format!("--as you add b{n}")).ok();
        let line = lines.next().unwrap().unwrap();
        assert!(line.ends_with(&format!("added {n} \"b{n}\"")), "{line}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn tools_over_mcp_and_verbs_share_the_plan_on_the_server() {
    let world = on_server();
    let mut client = Client::older(&world, &[]);
    let created = client.create(&["A", "B"]);
    assert_eq!(created["created"][1]["title"], "B");
    assert_eq!(client.titles(), ["A", "B"]);
    assert!(client.end().0.success());
    let plans = world.run(&["plans", "--all", "--json"]).json();
    assert_eq!(plans["plans"].as_array().unwrap().len(), 1, "{plans}");
}

pub(crate) fn hook(world: &World, event: &Value) -> Ran {
    hook_of(world.command("home"), event)
}

fn hook_of(mut command: Command, event: &Value) -> Ran {
    command.args(["hook", "claude"]).env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    finish(command, event.to_string().as_bytes())
}

pub(crate) fn wrote(world: &World) -> Value {
    wrote_in(&world.path("project"), "12345678-aaaa-bbbb", "From the agent")
}

/// The event of an agent that has added a task to its own list.
fn wrote_in(directory: &Path, session: &str, title: &str) -> Value {
    json!({
        "session_id": session, "cwd": directory,
        "hook_event_name": "PostToolUse", "tool_name": "TaskCreate",
        "tool_input": {"subject": title, "description": "d"},
        "tool_response": {"task": {"id": "1", "subject": title}},
    })
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_hook_mirrors_the_agents_list_onto_the_server() {
    let world = on_server();
    let ran = hook(&world, &wrote(&world));
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    assert_eq!(items(&world), ["From the agent pending"]);
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_hook_lets_the_agent_go_on_when_the_server_is_away_and_the_event_is_kept() {
    let mut server = Server::start(&programs(), Setup::default());
    let world = at(&server.database());
    world.typed("add a").ok();
    server.kill();
    let began = Instant::now();
    let ran = hook(&world, &wrote(&world));
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    // Not a measurement: an agent gives a hook two seconds, and this would be far beyond.
    assert!(began.elapsed() < Duration::from_secs(10));
    server.run();
    let plans = world.run(&["plans", "--all", "--json"]).json();
    assert_eq!(plans["plans"].as_array().unwrap().len(), 2, "{plans}");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_hook_lets_the_agent_go_on_when_the_server_says_nothing_and_the_event_is_kept() {
    // It accepts connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("postgres://ann@{}/plans", silent.local_addr().unwrap());
    let world = at(&address);
    // That the call ends at all is what is shown.
    let ran = hook(&world, &wrote(&world));
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let data = world.path("home/.local/share/punchlist");
    let failures = fs::read_to_string(data.join("hook-failures.jsonl")).unwrap();
    assert!(failures.contains("\"event\":\"PostToolUse\""), "{failures}");
    let kept: Vec<PathBuf> = fs::read_dir(data.join("servers"))
        .unwrap()
        .flatten()
        .flat_map(|it| fs::read_dir(it.path()).unwrap().flatten())
        .map(|it| it.path())
        .collect();
    assert!(!kept.is_empty(), "the event is kept");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_server_that_is_away_is_said_with_its_address_and_without_its_password() {
    let world = World::new();
    let address = format!("postgres://ann:hush@127.0.0.1:{}/plans", free_port());
    let mut command = world.command("project");
    command.args(["list", "--db", &address]).env("PUNCHLIST_WAIT_MS", "60000,300");
    let ran = finish(command, b"");
    assert_eq!(ran.code, 8, "{}", ran.err);
    assert!(
        ran.err.contains("ann@127.0.0.1") && ran.err.contains("cannot be reached"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("hush"), "{}", ran.err);
    // Also if its characters are not encoded.
    for password in ["hu/sh", "hu?sh", "hu#sh", "hu@sh", "hu/s?h@x"] {
        let address = address.replacen("hush", password, 1);
        let mut command = world.command("project");
        command.args(["list", "--db", &address]).env("PUNCHLIST_WAIT_MS", "60000,300");
        let ran = finish(command, b"");
        assert!(ran.code != 0 && ran.err.contains("ann@127.0.0.1"), "{}", ran.err);
        assert!(!ran.err.contains("hu") && !ran.err.contains("sh@"), "{password}: {}", ran.err);
    }
    let bad = world.typed("list --db postgres://h/d?sslmode=maybe");
    assert!(bad.code != 0 && bad.err.contains("sslmode is disable"), "{}", bad.err);
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn the_password_is_found_in_pgpass_or_printed_by_a_command_and_never_shown() {
    let server = Server::start(&programs(), Setup { on_loopback: true, ..Setup::default() });
    server.query("postgres", "CREATE ROLE ann LOGIN SUPERUSER PASSWORD 'hush'").unwrap();
    let address = format!("postgres://ann@127.0.0.1:{}/postgres", server.port());
    let world = at(&address);
    let refused = world.typed("list");
    assert!(refused.code != 0 && refused.err.contains(".pgpass"), "{}", refused.err);
    world.write("home/.pgpass", "127.0.0.1:*:*:ann:hush\n");
    let pgpass = world.path("home/.pgpass");
    fs::set_permissions(&pgpass, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(world.typed("list").code != 0, "others may read the file");
    fs::set_permissions(&pgpass, fs::Permissions::from_mode(0o600)).unwrap();
    world.typed("add a").ok();
    fs::remove_file(&pgpass).unwrap();
    let config = format!("[store]\nurl = \"{address}\"\npassword_command = \"echo hush\"\n");
    world.write("home/.config/punchlist/config.toml", config);
    assert_eq!(items(&world), ["a pending"]);
    let given = world.typed("-c store.password_command=evil list");
    assert!(given.code == 2 && given.err.contains("only read from files"), "{}", given.err);
    let doctor = world.typed("doctor");
    let said = format!("{}{}", doctor.out, doctor.err);
    assert!(said.contains("PostgreSQL") && said.contains("owns the tables"), "{said}");
    assert!(!said.contains("hush"), "{said}");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn an_agents_settings_get_the_address_without_the_password() {
    let world = World::new();
    let mut command = world.command("project");
    let address = "postgres://ann:hush@db.example/plans";
    command.args(["install", "claude", "--dry-run", "--db", address]);
    let ran = finish(command, b"");
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains("postgres://ann@db.example/plans") && !said.contains("hush"), "{said}");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_project_that_gets_its_own_file_is_told_about_its_plans_on_the_server() {
    let world = on_server();
    world.typed("add Build").ok();
    let init = world.typed("init").err;
    assert!(init.contains("this project's plan stays in postgres://"), "{init}");
    assert!(init.contains("export | punchlist import -"), "{init}");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_plan_file_is_worked_off_on_the_server() {
    let world = on_server();
    world.write(
        "project/plan.md",
        "# Release\n- [ ] Build\n  run: echo built > built\n- [ ] Test\n  after: Build\n  run: test -e built\n",
    );
    let mut command = world.command("project");
    command.args(["run", "plan.md"]);
    let ran = finish(command, b"");
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    let list = world.run(&["list", "--plan", "plan.md", "--json", "--all"]).json();
    let done = list["items"].as_array().unwrap().iter().all(|it| it["status"] == "completed");
    assert!(done, "{list}");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_question_is_answered_by_another_process() {
    let world = on_server();
    world.write(
        "project/plan.md",
        "# Release\n- [ ] Publish\n  run: echo published > published\n  approve: yes\n",
    );
    let mut command = world.command("project");
    command.args(["run", "plan.md", "--wait"]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut run = command.spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let id = loop {
        let questions = world.run(&["questions", "--json"]).json();
        if let Some(question) = questions["questions"].get(0) {
            break question["id"].as_str().unwrap().to_owned();
        }
        assert!(Instant::now() < deadline, "nobody asks");
    };
    let answered = world.person(&format!("answer {id} yes"));
    assert_eq!(answered.code, 0, "{} {}", answered.out, answered.err);
    let code = run.wait().unwrap().code();
    assert_eq!(code, Some(0));
    assert!(world.path("project/published").exists());
}

/// A real repository, and a clone of it elsewhere.
fn git(world: &World, dir: &str, arguments: &[&str]) {
    let done = Command::new("git")
        .current_dir(world.path(dir))
        .args(["-c", "user.name=me", "-c", "user.email=me@example.org"])
        .args(["-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn two_checkouts_of_a_repository_on_two_machines_share_their_plan() {
    let world = on_server();
    fs::create_dir_all(world.path("here")).unwrap();
    git(&world, "here", &["init", "-q"]);
    git(&world, "here", &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&world, "", &["clone", "-q", "here", "there"]);
    let call = |dir: &str, host: &str, line: &[&str]| {
        let mut command = world.command(dir);
        command.env("PUNCHLIST_HOST", host).env("PATH", std::env::var_os("PATH").unwrap());
        command.args(line);
        finish(command, b"")
    };
    call("here", "ann", &["add", "a"]).ok();
    call("there", "bob", &["add", "b"]).ok();
    let list = call("here", "ann", &["list", "--json"]).json();
    let titles: Vec<&str> =
        list["items"].as_array().unwrap().iter().filter_map(|it| it["title"].as_str()).collect();
    assert_eq!(titles, ["a", "b"]);
    // The same path on another machine is another project.
    let list = call("project", "ann", &["list", "--json"]);
    assert!(!list.out.contains("\"a\""), "{}", list.out);
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn two_servers_on_one_database_share_sign_ins_and_streams_go_on_at_the_other() {
    let world = on_server();
    world.typed("add Build").ok();
    let token = serve::token(&world, "v --role viewer");
    let one = serve::Server::start(&world, "127.0.0.1:0");
    let two = serve::Server::start(&world, "127.0.0.1:0");
    assert_eq!(one.site, two.site);
    // Signed in at one of them.
    let (_, seen) = serve::opens(&world, &one.address.to_string(), "false").ends();
    let code = seen.split_whitespace().find_map(|it| it.split_once("/login#"));
    let code = code.unwrap_or_else(|| panic!("no code: {seen}")).1;
    let login = Request::post(&format!("/{}/login", one.site)).form(&format!("code={code}"));
    let got = login.send(one.address);
    let cookie = got.header("set-cookie").unwrap_or_else(|| panic!("{got:?}"));
    let cookie = cookie.split(';').next().unwrap().to_owned();
    for server in [&one, &two] {
        let me = Request::get(&format!("/{}/api/v1/me", server.site)).header("Cookie", &cookie);
        assert_eq!(me.send(server.address).ok()["name"], "me@host");
    }
    assert_eq!(login.send(two.address).status, 403, "the code was used at the other");
    // A stream that began at one of them goes on at the other.
    let stream = |server: &serve::Server, after: Option<&str>| {
        let request = Request::get("/api/v1/events").token(&token);
        let request = match after {
            Some(id) => request.header("Last-Event-ID", id),
            None => request,
        };
        request.stream(server.address)
    };
    let title = |event: &Event| event.data["events"][0]["item"]["title"].clone();
    let mut events = stream(&one, None);
    assert_eq!(events.event().unwrap().event, "reload");
    world.typed("add Test").ok();
    let event = events.entry();
    assert_eq!(title(&event), "Test");
    drop(events);
    one.stop();
    world.typed("add Publish").ok();
    let mut events = stream(&two, event.id.as_deref());
    assert_eq!(title(&events.entry()), "Publish", "nothing is missed and nothing comes twice");
    world.typed("add Announce").ok();
    assert_eq!(title(&events.entry()), "Announce");
    two.stop();
}
