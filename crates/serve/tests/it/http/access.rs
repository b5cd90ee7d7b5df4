//! Who may do what: tokens, roles, codes, cookies, hosts and origins.

use punchlist_engine::access as grants;
use punchlist_engine::around::Around;
use punchlist_formats::api::{Method, PREFIX, ROUTES};
use punchlist_model::call::{Asked, CallRecord, CallState, Offer, RunRecord, Standing};
use punchlist_model::store::access::Role;
use punchlist_model::store::turns::Conversation;
use punchlist_model::{Attempt, ConversationId, QuestionId, RunId};
use serde_json::json;

use super::{How, SITE, World};
use punchlist_testkit::http_client::{Got, Request};

/// A request for a route of the table below a path, with an address that exists.
fn request(base: &str, plan: &str, at: usize) -> Request {
    let route = &ROUTES[at];
    let path = route.path.replace("{plan}", plan).replace("{item}", "1");
    let path = path.replace("{question}", plan).replace("{session}", plan).replace("{run}", plan);
    let query = if route.id == "search" { "?q=a" } else { "" };
    let path = format!("{base}{PREFIX}{path}{query}");
    match route.method {
        Method::Get => Request::get(&path),
        Method::Post => Request::post(&path).json(&json!({})),
    }
}

/// The status of an answer that may be a stream.
fn status(world: &World, request: &Request) -> u16 {
    use std::io::Write;
    let mut stream = punchlist_testkit::http_client::connect(world.address);
    stream.write_all(&request.bytes(world.address, true)).unwrap();
    let mut first = [0; 12];
    std::io::Read::read_exact(&mut stream, &mut first).unwrap();
    String::from_utf8_lossy(&first[9..]).parse().unwrap()
}

#[test]
fn every_route_needs_a_token_with_its_role() {
    let world = World::new();
    let plan = world.plan("/p").to_string();
    let tokens = Role::ALL.map(|it| (it, world.token(it.as_str(), it, None)));
    let revoked = world.token("revoked", Role::Admin, None);
    world.runtime.block_on(grants::revoke(&*world.store, "revoked", world.clock.now())).unwrap();
    let cookie = world.cookie();
    for (at, route) in ROUTES.iter().enumerate() {
        let bare = request("", &plan, at);
        for (what, request) in [
            ("nothing", bare.clone()),
            ("a wrong token", bare.clone().token("plt_0_0")),
            ("a revoked token", bare.clone().token(&revoked)),
            ("a cookie outside of its path", bare.clone().header("Cookie", &cookie)),
        ] {
            let got = status(&world, &request);
            assert!(got == 401 || got == 429, "{} with {what}: {got}", route.id);
            // Wrong secrets are limited; this test sends many.
            world.pass(60);
        }
        for (role, token) in &tokens {
            let got = status(&world, &bare.clone().token(token));
            let is_refused = got == 403;
            assert_eq!(is_refused, *role < route.role, "{} as {role:?}: {got}", route.id);
            assert!(got != 401 && got != 405 && got < 500, "{} as {role:?}: {got}", route.id);
        }
    }
}

#[test]
fn only_health_and_signing_in_need_no_secret() {
    let world = World::new();
    for (path, expected) in [
        ("/healthz", 200),
        ("/readyz", 200),
        (&*format!("/{SITE}/login"), 200),
        ("/metrics", 401),
        ("/mcp", 401),
        ("/api/v1/plans", 401),
        (&format!("/{SITE}/"), 401),
        (&format!("/{SITE}/api/v1/plans"), 401),
        ("/", 200),
        ("/other/", 404),
    ] {
        assert_eq!(world.send(Request::get(path)).status, expected, "{path}");
    }
    let page = Request::get(&format!("/{SITE}/")).header("Accept", "text/html");
    let got = world.send(page);
    assert_eq!((got.status, got.header("location")), (303, Some(&*format!("/{SITE}/login"))));
}

#[test]
fn an_address_without_a_page_leads_on_or_says_how_to_sign_in() {
    let world = World::new();
    let got = world.send(Request::get(&format!("/{SITE}")));
    assert_eq!((got.status, got.header("location")), (303, Some(&*format!("/{SITE}/"))));
    let got = world.send(Request::get("/"));
    assert!(got.body.contains("punchlist serve --open") && !got.body.contains(SITE), "{got:?}");
}

#[test]
fn a_code_signs_a_browser_in_once_by_post() {
    let world = World::new();
    let code = world.code();
    for request in [
        Request::get(&format!("/{SITE}/login?code={code}")),
        Request::get(&format!("/{SITE}/?code={code}")),
        Request::of("HEAD", &format!("/{SITE}/login?code={code}")),
    ] {
        assert_eq!(world.send(request).header("set-cookie"), None);
    }
    let got = world.post_code(&code);
    let cookie = got.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", &format!("Path=/{SITE};"), "Max-Age=2592000"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "there is no TLS here");
    let again = world.post_code(&code);
    assert_eq!((again.status, again.header("set-cookie")), (403, None));
    let late = world.code();
    world.pass(5 * 60);
    assert_eq!(world.post_code(&late).status, 403);
    assert_eq!(world.post_code("").status, 403);
    let me = Request::get(&format!("/{SITE}/api/v1/me"));
    let me = world.send(me.header("Cookie", cookie.split(';').next().unwrap())).ok();
    assert_eq!(me, json!({"name": "ann@here", "role": "admin", "project": null}));
}

#[test]
fn what_a_browser_changes_must_come_from_our_own_pages() {
    let world = World::new();
    let (cookie, plan) = (world.cookie(), world.plan("/p"));
    let change = |origin: Option<&str>| -> Got {
        let request = Request::post(&format!("/{SITE}/api/v1/plans/{plan}/changes"))
            .header("Cookie", &format!("a=b; {cookie}"))
            .json(&json!({"ops": [{"op": "add", "title": "a"}]}));
        world.send(match origin {
            Some(origin) => request.header("Origin", origin),
            None => request,
        })
    };
    let ours = format!("http://{}", world.address);
    assert_eq!(change(Some(&ours)).status, 200);
    for origin in [
        None,
        Some("null"),
        Some("https://evil.example"),
        Some(&format!("https://{}", world.address)),
        Some(&format!("{ours}.evil.example")),
        Some("http://localhost:1"),
    ] {
        assert_eq!(change(origin).status, 403, "{origin:?}");
    }
    // The same server under its other name.
    let other = Request::post(&format!("/{SITE}/api/v1/plans/{plan}/changes"))
        .host(&format!("localhost:{}", world.address.port()))
        .header("Origin", &format!("http://localhost:{}", world.address.port()))
        .header("Cookie", &cookie)
        .json(&json!({"ops": [{"op": "add", "title": "b"}]}));
    assert_eq!(world.send(other).status, 200);
    let whole = world.runtime.block_on(world.store.whole(plan)).unwrap();
    assert_eq!(whole.items.len(), 2);
    let entry = world.runtime.block_on(world.store.journal(plan, punchlist_model::Revision(0), 9));
    let actor = entry.unwrap().remove(0).actor;
    assert_eq!(actor, punchlist_model::Actor::person("ann@here"));
}

#[test]
fn a_code_that_another_site_sends_is_refused() {
    let world = World::new();
    let sent = |origin: &str| {
        let request = Request::post(&format!("/{SITE}/login")).header("Origin", origin);
        world.send(request.form(&format!("code={}", world.code()))).status
    };
    assert_eq!(sent("https://evil.example"), 403);
    assert_eq!(sent("null"), 200, "a file that `serve --open` wrote");
    assert_eq!(sent(&format!("http://{}", world.address)), 200);
}

/// The addresses of pages, with what they are for.
fn pages(plan: &str) -> Vec<String> {
    let rest = [
        "",
        "agents",
        "agents/one?key=x",
        "plans",
        "questions",
        "sessions",
        "search",
        "health",
        "events",
        "assets/x",
        "login",
    ];
    let of_plan = ["", "/items/1"].map(|it| format!("plans/{plan}{it}"));
    let of_others = ["sessions"].map(|it| format!("{it}/{plan}"));
    let all = rest.into_iter().map(str::to_owned).chain(of_plan).chain(of_others);
    all.map(|it| format!("/{SITE}/{it}")).collect()
}

/// The addresses of pages that a browser sends forms to.
fn forms(plan: &str, question: &str, session: &str) -> Vec<String> {
    let paths = [
        format!("plans/{plan}/act"),
        format!("questions/{question}"),
        format!("sessions/{session}"),
        "sign-out".to_owned(),
    ];
    paths.iter().map(|it| format!("/{SITE}/{it}")).collect()
}

#[test]
fn no_form_and_no_change_of_a_browser_is_taken_from_another_origin() {
    let world = World::new();
    let (cookie, plan) = (world.cookie(), world.plan("/p").to_string());
    let ours = format!("http://{}", world.address);
    let api = ROUTES.iter().enumerate().filter(|it| it.1.method == Method::Post);
    let api = api.map(|(at, _)| request(&format!("/{SITE}"), &plan, at));
    let forms = forms(&plan, &plan, &plan);
    let forms = forms.iter().map(|it| Request::post(it).form("act=add&text=x"));
    // The last one signs out.
    for request in api.chain(forms) {
        let request = request.header("Cookie", &cookie);
        for origin in [None, Some("null"), Some("https://evil.example"), Some("http://127.0.0.1:1")]
        {
            let request = match origin {
                Some(origin) => request.clone().header("Origin", origin),
                None => request.clone(),
            };
            let got = world.send(request);
            assert_eq!(got.status, 403, "{origin:?}: {got:?}");
            assert!(got.body.contains("does not come from our own pages"), "{got:?}");
        }
        let got = world.send(request.header("Origin", &ours));
        assert!(!matches!(got.status, 401 | 403 | 405 | 500..), "{got:?}");
    }
    let me = Request::get(&format!("/{SITE}/api/v1/me")).header("Cookie", &cookie);
    assert_eq!(world.send(me).status, 401, "it is signed out");
}

#[test]
fn signing_out_ends_the_session_of_the_browser_and_its_streams() {
    let world = World::new();
    let (cookie, other) = (world.cookie(), world.cookie());
    let get = |cookie: &str, path: &str| {
        Request::get(&format!("/{SITE}/{path}")).header("Cookie", cookie)
    };
    let mut events = get(&cookie, "api/v1/events").stream(world.address);
    assert_eq!(events.event().unwrap().event, "reload");
    let out = Request::post(&format!("/{SITE}/sign-out")).header("Cookie", &cookie);
    let got = world.send(out.header("Origin", &format!("http://{}", world.address)).form(""));
    assert_eq!((got.status, got.header("location")), (303, Some(&*format!("/{SITE}/login"))));
    assert!(got.header("set-cookie").unwrap().contains("Max-Age=0"), "{got:?}");
    while let Some(event) = events.event() {
        assert_eq!(event.event, "reload");
    }
    assert_eq!(world.send(get(&cookie, "api/v1/me")).status, 401);
    assert_eq!(world.send(get(&other, "api/v1/me")).status, 200, "other browsers stay signed in");
    let token = world.token("t", Role::Admin, None);
    let out = Request::post(&format!("/{SITE}/sign-out")).token(&token).form("");
    assert_eq!(world.send(out).status, 400, "a token is no browser");
}

#[test]
fn no_route_answers_under_another_name() {
    let world = World::new();
    let token = world.token("t", Role::Admin, None);
    let plan = world.plan("/p").to_string();
    let paths = ["/", "/healthz", "/readyz", "/metrics", "/mcp", "/nowhere"].map(Request::get);
    let api = (0..ROUTES.len()).map(|at| request("", &plan, at));
    let below = (0..ROUTES.len()).map(|at| request(&format!("/{SITE}"), &plan, at));
    let pages = pages(&plan).into_iter().map(|it| Request::get(&it));
    let forms = forms(&plan, &plan, &plan).into_iter().map(|it| Request::post(&it).form("a=b"));
    for request in paths.into_iter().chain(api).chain(below).chain(pages).chain(forms) {
        for host in ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", ""] {
            let got = world.send(request.clone().token(&token).host(host));
            assert!(got.status == 403 || got.status == 400, "{host:?}: {got:?}");
        }
    }
    let two = Request::get("/healthz").header("Host", "evil.example");
    assert!(matches!(world.send(two).status, 400 | 403));
    let absolute = Request::get("http://evil.example/healthz");
    assert!(matches!(world.send(absolute).status, 400 | 403));
}

#[test]
fn behind_a_proxy_the_server_answers_under_that_name_alone_and_its_cookie_needs_tls() {
    let behind = Some("https://plans.example.org");
    let world = World::with(How { behind, ..How::default() });
    let own = Request::get("/healthz");
    assert_eq!(world.send(own).status, 403, "not under the address that it listens on");
    let through = |request: Request| world.send(request.host("plans.example.org"));
    assert_eq!(through(Request::get("/healthz")).status, 200);
    let code = format!("code={}", world.code());
    let sign_in = Request::post(&format!("/{SITE}/login")).form(&code);
    let got = through(sign_in.clone().header("Origin", "http://plans.example.org"));
    assert_eq!(got.status, 403, "the proxy's origin has TLS");
    let got = through(sign_in.header("Origin", "https://plans.example.org"));
    let cookie = got.header("set-cookie").unwrap().to_owned();
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let add = json!({"ops": [{"op": "add", "title": "a"}]});
    let plan = world.plan("/p");
    let change = |origin: &str| {
        let path = format!("/{SITE}/api/v1/plans/{plan}/changes");
        let request = Request::post(&path).header("Cookie", cookie).header("Origin", origin);
        through(request.json(&add)).status
    };
    assert_eq!(change("https://plans.example.org"), 200);
    assert_eq!(change("http://plans.example.org"), 403);
    assert_eq!(change(&format!("http://{}", world.address)), 403);
}

/// A question, a session and a run of a project.
fn work_of(world: &World, project: &str) -> (String, String, String) {
    let now = world.clock.now();
    let ids = world.clock.ids(now).unwrap();
    let (run, question, session) =
        (RunId(ids.nth(0)), QuestionId(ids.nth(1)), ConversationId(ids.nth(2)));
    let record = RunRecord {
        id: run,
        project: project.to_owned(),
        plan: None,
        what: "a task".to_owned(),
        process: None,
        begun_at: now,
        ended_at: None,
    };
    let call = CallRecord {
        number: 1,
        item: None,
        tool: "shell".to_owned(),
        request: json!({}),
        state: CallState::AwaitingApproval,
        attempt: Attempt(0),
        detail: None,
        at: now,
    };
    let asked = Asked {
        id: question,
        call: 1,
        item: None,
        title: "Publish".to_owned(),
        place: Vec::new(),
        context: String::new(),
        tool: "shell".to_owned(),
        server: None,
        what: "run".to_owned(),
        command: Some("./publish.sh".to_owned()),
        diff: None,
        printed: Vec::new(),
        touches: Vec::new(),
        why: String::new(),
        arguments: json!({}),
        offers: vec![Offer::Once],
        at: now,
    };
    world.runtime.block_on(async {
        world.store.begin_run(record).await.unwrap();
        world.store.record(run, vec![call], vec![asked], None).await.unwrap();
        let session = Conversation::new(session, project.to_owned(), now);
        world.store.create_conversation(session).await.unwrap();
    });
    (question.to_string(), session.to_string(), run.to_string())
}

#[test]
fn a_token_of_one_project_finds_nothing_of_another_by_its_id_on_any_route() {
    let world = World::new();
    let token = world.token("p", Role::Admin, Some("/p"));
    let all = world.token("all", Role::Admin, None);
    let plan = world.plan("/q").to_string();
    let add = Request::post(&format!("/api/v1/plans/{plan}/changes")).token(&all);
    world.send(add.json(&json!({"ops": [{"op": "add", "title": "secret"}]}))).ok();
    let (question, session, run) = work_of(&world, "/q");
    let with_ids = |path: &str| {
        path.replace("{plan}", &plan)
            .replace("{item}", "1")
            .replace("{question}", &question)
            .replace("{session}", &session)
            .replace("{run}", &run)
    };
    let mut requests = Vec::new();
    for route in ROUTES.iter().filter(|it| it.path.contains('{')) {
        let path = format!("{PREFIX}{}", with_ids(route.path));
        requests.push(match route.method {
            Method::Get => Request::get(&path),
            Method::Post if route.id == "changePlan" => {
                Request::post(&path).json(&json!({"ops": [{"op": "add", "title": "x"}]}))
            }
            Method::Post if route.id == "answerQuestion" => {
                Request::post(&path).json(&json!({"answer": "yes"}))
            }
            Method::Post => Request::post(&path).json(&json!({})),
        });
    }
    for path in ["plans/{plan}", "plans/{plan}/items/1", "sessions/{session}"] {
        requests.push(Request::get(&format!("/{SITE}/{}", with_ids(path))));
    }
    for path in forms(&plan, &question, &session).iter().filter(|it| !it.ends_with("sign-out")) {
        requests.push(Request::post(path).form("act=add&text=x&answer=yes"));
    }
    for request in requests {
        let got = world.send(request.token(&token));
        assert_eq!(got.status, 404, "{got:?}");
        assert!(!got.body.contains("secret") && !got.body.contains("publish.sh"), "{got:?}");
    }
    for path in ["agents", "plans", "questions", "sessions", "search?q=secret"] {
        let got = world.get(&token, &format!("/{SITE}/{path}"));
        let has_other = got.body.contains(&plan) || got.body.contains(&question);
        assert!(got.status == 200 && !has_other && !got.body.contains(&session), "{path}: {got:?}");
    }
    assert_eq!(world.get(&token, &format!("/{SITE}/health")).status, 403);
    assert_eq!(world.get(&all, &format!("/{SITE}/health")).status, 200);
    let question = world.runtime.block_on(world.store.questions(Default::default())).unwrap();
    assert_eq!(question[0].standing, Standing::Waiting);
}

#[test]
fn a_token_of_one_project_sees_no_other() {
    let world = World::new();
    let (own, other) = (world.plan("/p"), world.plan("/q"));
    let token = world.token("p", Role::Admin, Some("/p"));
    assert_eq!(world.get(&token, &format!("/api/v1/plans/{own}")).status, 200);
    for path in [
        format!("/api/v1/plans/{other}"),
        format!("/api/v1/plans/{other}/items"),
        format!("/api/v1/plans/{other}/items/1"),
        format!("/api/v1/plans/{other}/journal"),
        "/api/v1/plans?project=/q".to_owned(),
        "/api/v1/questions?project=/q".to_owned(),
        "/api/v1/search?q=a&project=/q".to_owned(),
    ] {
        assert_eq!(world.get(&token, &path).status, 404, "{path}");
    }
    let change = Request::post(&format!("/api/v1/plans/{other}/changes")).token(&token);
    let change = change.json(&json!({"ops": [{"op": "add", "title": "a"}]}));
    assert_eq!(world.send(change).status, 404);
    let create = Request::post("/api/v1/plans").token(&token);
    assert_eq!(
        world.send(create.clone().json(&json!({"title": "x", "project": "/q"}))).status,
        403
    );
    assert_eq!(world.send(create.json(&json!({"title": "x"}))).ok()["plan"]["project"], "/p");
    let plans = world.get(&token, "/api/v1/plans").ok();
    let projects: Vec<_> =
        plans["plans"].as_array().unwrap().iter().map(|it| &it["project"]).collect();
    assert_eq!(projects, ["/p", "/p"]);
    let projects = world.get(&token, "/api/v1/projects").ok();
    assert_eq!(projects["projects"].as_array().unwrap().len(), 1);
    assert_eq!(world.get(&token, "/metrics").status, 403);
}

#[test]
fn the_command_of_a_worker_is_an_agents_and_that_of_an_admin_a_persons() {
    let world = World::new();
    let plan = world.plan("/p");
    for (role, expected) in [(Role::Worker, "agent"), (Role::Admin, "person")] {
        let token = world.token(role.as_str(), role, None);
        let add = json!({"op": "add", "title": "a", "check": {"command": "true"}, "run": "false"});
        let change = Request::post(&format!("/api/v1/plans/{plan}/changes")).token(&token);
        let changed = world.send(change.json(&json!({"ops": [add]}))).ok();
        let item = &changed["changed"][0];
        assert_eq!(item["check"]["origin"], expected);
        assert_eq!(item["run"]["origin"], expected);
        let number = &item["number"];
        let edit = json!({"op": "edit", "item": number, "check": {"command": "id"}});
        let change = Request::post(&format!("/api/v1/plans/{plan}/changes")).token(&token);
        let changed = world.send(change.json(&json!({"ops": [edit]}))).ok();
        assert_eq!(changed["changed"][0]["check"]["origin"], expected);
    }
    let journal =
        world.get(&world.token("v", Role::Viewer, None), &format!("/api/v1/plans/{plan}/journal"));
    let kinds: Vec<_> = journal.ok()["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["actor"]["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["agent", "agent", "person", "person"]);
}
