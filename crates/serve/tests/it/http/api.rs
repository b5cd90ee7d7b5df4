//! The API: plans, changes with an expected revision, pages, questions, errors.

use punchlist_formats::api;
use punchlist_model::call::{Asked, CallRecord, CallState, Offer, RunRecord};
use punchlist_model::store::access::Role;
use punchlist_model::store::turns::Conversation;
use punchlist_model::{Attempt, ConversationId, PlanId, QuestionId, RunId};
use serde_json::{Value, json};

use super::World;
use punchlist_engine::around::Around;
use punchlist_testkit::http_client::{Got, Request};

fn change(world: &World, token: &str, plan: PlanId, body: &Value) -> Got {
    let request = Request::post(&format!("/api/v1/plans/{plan}/changes")).token(token);
    world.send(request.json(body))
}

#[test]
fn a_plan_is_made_changed_read_and_undone() {
    let world = World::new();
    let token = world.token("w", Role::Worker, None);
    let create = Request::post("/api/v1/plans").token(&token);
    let made =
        create.clone().json(&json!({"title": "Release", "name": "release", "project": "/p"}));
    let got = world.send(made.clone());
    assert_eq!(got.status, 201);
    let plan: PlanId = got.json()["plan"]["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(world.send(made).status, 422, "the name is taken");
    assert_eq!(world.send(create.json(&json!({"title": "x"}))).status, 422, "no project");

    let ops = json!({"ops": [
        {"op": "add", "title": "Build", "context": "on Linux"},
        {"op": "add", "title": "Test", "dependsOn": [{"entry": 1}]},
        {"op": "start", "item": 1},
    ]});
    let changed = change(&world, &token, plan, &ops).ok();
    assert_eq!(changed["revision"], 1);
    assert_eq!(changed["changed"][1]["blocked"], true);

    let refused = change(&world, &token, plan, &json!({"ops": [{"op": "complete", "item": 2}]}));
    assert_eq!((refused.status, refused.json()["code"].as_str()), (422, Some("refused")));
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert_eq!(refused.json()["items"], json!([2]));

    let stale = change(&world, &token, plan, &json!({"expect": 0, "ops": [{"op": "next"}]}));
    assert_eq!((stale.status, stale.json()["code"].as_str()), (409, Some("conflict")));
    let done = json!({"expect": 1, "ops": [{"op": "complete", "item": 1, "outcome": "built"}]});
    assert_eq!(change(&world, &token, plan, &done).ok()["revision"], 2);

    let item = world.get(&token, &format!("/api/v1/plans/{plan}/items/1")).ok();
    assert_eq!(
        (item["status"].as_str(), item["outcome"].as_str()),
        (Some("completed"), Some("built"))
    );
    let undo = Request::post(&format!("/api/v1/plans/{plan}/undo")).token(&token).json(&json!({}));
    assert_eq!(world.send(undo).ok()["changed"][0]["status"], "in_progress");
    let header = world.get(&token, &format!("/api/v1/plans/{plan}")).ok();
    assert_eq!((&header["plan"]["revision"], &header["progress"]["total"]), (&json!(3), &json!(2)));
    assert_eq!(world.get(&token, &format!("/api/v1/plans/{plan}/items/9")).status, 404);
    assert_eq!(world.get(&token, &format!("/api/v1/plans/{}", PlanId::NIL)).status, 404);
    assert_eq!(world.get(&token, "/api/v1/plans/x").status, 404);
}

#[test]
fn a_repeated_write_changes_nothing_twice() {
    let world = World::new();
    let (plan, token) = (world.plan("/p"), world.token("w", Role::Worker, None));
    let body = json!({
        "write": "0199aaaa-0000-7000-8000-000000000001",
        "ops": [{"op": "add", "title": "once"}],
    });
    let first = change(&world, &token, plan, &body).ok();
    let second = change(&world, &token, plan, &body).ok();
    assert_eq!(first["revision"], second["revision"]);
    assert_eq!(world.runtime.block_on(world.store.whole(plan)).unwrap().items.len(), 1);
}

#[test]
fn lists_come_in_pages_with_every_entry_once() {
    let world = World::new();
    let (plan, token) = (world.plan("/p"), world.token("w", Role::Admin, None));
    for at in 0..7 {
        let body = json!({"ops": [{"op": "add", "title": format!("item {at}")}]});
        change(&world, &token, plan, &body).ok();
        world.pass(1);
        world.plan(&format!("/project {at}"));
    }
    let all = |path: &str, list: &str| {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = world.get(&token, &format!("{path}?limit=3{cursor}")).ok();
            let page_found = page[list].as_array().unwrap().clone();
            assert!(page_found.len() <= 3);
            found.extend(page_found);
            let Some(next) = page["next"].as_str() else { return found };
            cursor = format!("&cursor={}", next.replace(' ', "%20"));
        }
    };
    let numbers: Vec<Value> = all(&format!("/api/v1/plans/{plan}/items"), "items")
        .iter()
        .map(|it| it["number"].clone())
        .collect();
    assert_eq!(json!(numbers), json!([1, 2, 3, 4, 5, 6, 7]));
    let revisions: Vec<Value> = all(&format!("/api/v1/plans/{plan}/journal"), "entries")
        .iter()
        .map(|it| it["revision"].clone())
        .collect();
    assert_eq!(json!(revisions), json!([1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(all("/api/v1/projects", "projects").len(), 8);
    let plans = all("/api/v1/plans", "plans");
    let times: Vec<&str> = plans.iter().map(|it| it["updatedAt"].as_str().unwrap()).collect();
    assert_eq!(plans.len(), 8);
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    let made_up = world.get(&token, "/api/v1/plans?cursor=nobody");
    assert_eq!(made_up.status, 422, "a text, but not one of the list");
    for bad in ["limit=0", "limit=201", "limit=x", "limit=-1"] {
        assert_eq!(world.get(&token, &format!("/api/v1/plans?{bad}")).status, 400, "{bad}");
    }
}

#[test]
fn a_search_comes_in_pages_with_every_item_and_every_session_once() {
    let world = World::new();
    let token = world.token("w", Role::Admin, None);
    for at in 0..3 {
        let plan = world.plan("/p");
        let ops: Vec<Value> =
            (0..3).map(|it| json!({"op": "add", "title": format!("Item {at} {it}")})).collect();
        change(&world, &token, plan, &json!({"ops": ops})).ok();
        world.pass(1);
    }
    for at in 0..4 {
        let now = world.clock.now();
        let id = ConversationId(world.clock.ids(now).unwrap().nth(0));
        let new = Conversation { title: format!("Item {at}"), ..Conversation::new(id, "/p", now) };
        world.runtime.block_on(world.store.create_conversation(new)).unwrap();
        world.pass(1);
    }
    let (mut items, mut sessions, mut pages) = (Vec::new(), Vec::new(), Vec::new());
    let mut cursor = String::new();
    loop {
        let page = world.get(&token, &format!("/api/v1/search?q=item&limit=2{cursor}")).ok();
        let titles = |list: &str| -> Vec<String> {
            let list = page[list].as_array().unwrap();
            list.iter().map(|it| it["title"].as_str().unwrap().to_owned()).collect()
        };
        pages.push((titles("items").len(), titles("sessions").len()));
        items.extend(titles("items"));
        sessions.extend(titles("sessions"));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let newest_first = [2, 1, 0].into_iter().flat_map(|at| (0..3).map(move |it| (at, it)));
    let expected: Vec<String> = newest_first.map(|(at, it)| format!("Item {at} {it}")).collect();
    assert_eq!(items, expected);
    assert_eq!(sessions, ["Item 3", "Item 2", "Item 1", "Item 0"]);
    assert_eq!(pages, [(2, 2), (2, 2), (2, 0), (2, 0), (1, 0)]);
    let made_up = world.get(&token, "/api/v1/search?q=item&cursor=nobody");
    assert_eq!(made_up.status, 422, "a text, but not one of the list");
}

#[test]
fn items_are_found_by_status_and_by_text() {
    let world = World::new();
    let (plan, token) = (world.plan("/p"), world.token("w", Role::Worker, None));
    let ops = json!({"ops": [
        {"op": "add", "title": "Write the README"}, {"op": "add", "title": "Other"},
        {"op": "complete", "item": {"entry": 1}},
    ]});
    change(&world, &token, plan, &ops).ok();
    let done = world.get(&token, &format!("/api/v1/plans/{plan}/items?status=completed")).ok();
    assert_eq!(done["items"].as_array().unwrap().len(), 1);
    assert_eq!(world.get(&token, &format!("/api/v1/plans/{plan}/items?status=odd")).status, 400);
    let found = world.get(&token, "/api/v1/search?q=readme").ok();
    assert_eq!(found["items"][0]["title"], "Write the README");
    assert_eq!(world.get(&token, "/api/v1/search").status, 400);
}

/// A question that waits, in a run of its own.
fn ask(world: &World) -> QuestionId {
    let now = world.clock.now();
    let ids = world.clock.ids(now).unwrap();
    let (run, question) = (RunId(ids.nth(0)), QuestionId(ids.nth(1)));
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
    let asked: Asked = serde_json::from_value(json!({
        "id": question, "call": 1, "title": "Publish", "tool": "shell", "what": "run",
        "command": "./publish.sh", "why": "no rule allows it", "arguments": {"command": "./publish.sh"},
        "offers": [Offer::Once, Offer::Modify], "at": now,
    }))
    .unwrap();
    let begun = RunRecord {
        id: run,
        project: "/p".to_owned(),
        plan: None,
        what: "release.md".to_owned(),
        process: None,
        begun_at: now,
        ended_at: None,
    };
    world.runtime.block_on(async {
        world.store.begin_run(begun).await.unwrap();
        world.store.record(run, vec![call], vec![asked], None).await.unwrap();
    });
    question
}

#[test]
fn a_person_answers_a_question_once_and_nobody_else_can() {
    let world = World::new();
    let question = ask(&world);
    let [viewer, worker, admin] = Role::ALL.map(|it| world.token(it.as_str(), it, None));
    let listed = world.get(&viewer, "/api/v1/questions?waiting=true").ok();
    assert_eq!(listed["questions"][0]["command"], "./publish.sh");
    let answer = |token: &str, body: Value| {
        let request = Request::post(&format!("/api/v1/questions/{question}/answer")).token(token);
        world.send(request.json(&body))
    };
    for token in [&viewer, &worker] {
        assert_eq!(answer(token, json!({"answer": "yes"})).status, 403);
    }
    assert_eq!(answer(&admin, json!({"answer": "perhaps"})).status, 400);
    assert_eq!(answer(&admin, json!({"answer": "always"})).status, 422, "it is not offered");
    let given = answer(&admin, json!({"answer": "no", "reason": "not on a Friday"})).ok();
    assert_eq!(given["answer"]["by"], json!({"kind": "person", "name": "admin"}));
    assert_eq!(given["answer"]["reason"], "not on a Friday");
    assert_eq!(answer(&admin, json!({"answer": "yes"})).status, 409);
    let run = listed["questions"][0]["run"].as_str().unwrap();
    let run = world.get(&viewer, &format!("/api/v1/runs/{run}")).ok();
    assert_eq!(run["calls"][0]["tool"], "shell");
    assert_eq!(
        world.get(&viewer, "/api/v1/runs?running=true").ok()["runs"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn an_item_is_approved_by_a_person() {
    let world = World::new();
    let (plan, admin) = (world.plan("/p"), world.token("ann", Role::Admin, None));
    let worker = world.token("w", Role::Worker, None);
    let ops = json!({"ops": [{"op": "add", "title": "Publish", "approve": true}]});
    change(&world, &worker, plan, &ops).ok();
    let approve = |token: &str| {
        let path = format!("/api/v1/plans/{plan}/items/1/approve");
        world.send(Request::post(&path).token(token))
    };
    assert_eq!(approve(&worker).status, 403);
    let approved = approve(&admin).ok();
    assert_eq!(approved["changed"][0]["evidence"][0]["level"], "approved");
    assert_eq!(approved["changed"][0]["evidence"][0]["by"], "ann");
}

#[test]
fn a_body_that_is_not_what_is_expected_is_refused_with_a_reason() {
    let world = World::new();
    let (plan, token) = (world.plan("/p"), world.token("w", Role::Worker, None));
    for bad in [
        json!({}),
        json!([]),
        json!({"ops": []}),
        json!({"ops": [{"op": "erase"}]}),
        json!({"ops": [{"op": "add", "title": "a", "unknown": true}]}),
        json!({"ops": [{"op": "start", "item": "x"}]}),
        json!({"ops": [{"op": "start", "item": -1}]}),
        json!({"ops": [{"op": "next"}], "write": "x"}),
    ] {
        let got = change(&world, &token, plan, &bad);
        assert_eq!(
            (got.status, got.json()["code"].as_str()),
            (400, Some("usage")),
            "{bad}: {got:?}"
        );
    }
    let path = format!("/api/v1/plans/{plan}/changes");
    let text = Request::post(&path).token(&token).header("Content-Type", "text/plain");
    assert_eq!(world.send(text.body(b"{}".to_vec())).status, 415);
    let broken = Request::post(&path).token(&token).header("Content-Type", "application/json");
    assert_eq!(world.send(broken.body(b"{\"ops\":".to_vec())).status, 400);
    let got = world.send(Request::of("DELETE", &path).token(&token));
    assert_eq!((got.status, got.header("allow")), (405, Some("POST")), "{got:?}");
    assert_eq!(world.runtime.block_on(world.store.whole(plan)).unwrap().revision.0, 0);
}

#[test]
fn the_document_is_that_of_the_routes() {
    let world = World::new();
    let token = world.token("v", Role::Viewer, None);
    assert_eq!(world.get(&token, "/api/v1/openapi.json").ok(), api::document("0"));
}
