//! Grants, the path of the pages, and running servers.

use punchlist_model::store::access::{Grant, GrantKind, KEPT_DAYS, Role, ServerRecord};
use punchlist_model::{GrantId, Process};

use super::World;
use crate::support::{at, heard, ids, wait};

fn grant(kind: GrantKind, name: &str, seconds: i64) -> Grant {
    Grant {
        id: GrantId(ids(&format!("{kind:?} {name}"), seconds).nth(0)),
        kind,
        name: name.to_owned(),
        role: Role::Worker,
        project: Some("/p".to_owned()),
        digest: [7; 32],
        created_at: at(seconds),
        expires_at: (kind != GrantKind::Token).then(|| at(seconds + 300)),
        ended_at: None,
    }
}

pub(crate) fn every_field_of_a_grant_is_kept(world: &World) {
    let store = world.handle();
    for (seconds, kind) in GrantKind::ALL.into_iter().enumerate() {
        for role in Role::ALL {
            let name = format!("{kind:?} {role:?}");
            let seconds = i64::try_from(seconds).unwrap();
            let project = (role == Role::Viewer).then(|| "/elsewhere".to_owned());
            let new = Grant { role, project, ..grant(kind, &name, seconds) };
            assert!(wait(store.add_grant(new.clone())).unwrap());
            assert_eq!(wait(world.handle().grant(new.id)).unwrap(), Some(new));
        }
        let all = wait(store.grants(kind)).unwrap();
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|it| it.kind == kind) && all.is_sorted_by_key(|it| it.id));
    }
    assert_eq!(wait(store.grant(GrantId::NIL)).unwrap(), None);
}

pub(crate) fn one_token_of_a_name_is_in_force(world: &World) {
    let store = world.handle();
    let (first, second) = (
        grant(GrantKind::Token, "ci", 1),
        Grant { project: None, ..grant(GrantKind::Token, "ci", 2) },
    );
    assert!(wait(store.add_grant(first.clone())).unwrap());
    assert!(!wait(store.add_grant(second.clone())).unwrap());
    assert_eq!(wait(store.grant(second.id)).unwrap(), None);
    assert!(wait(store.end_grant(first.id, at(5))).unwrap());
    assert!(!wait(store.end_grant(first.id, at(6))).unwrap(), "it has ended already");
    assert!(!wait(store.end_grant(GrantId::NIL, at(6))).unwrap());
    assert!(wait(store.add_grant(second)).unwrap());
    let ended = wait(store.grant(first.id)).unwrap().unwrap();
    assert_eq!(ended.ended_at, Some(at(5)));
    assert!(!ended.is_in_force(at(5)));
}

pub(crate) fn of_many_that_redeem_a_code_one_gets_a_session(world: &World) {
    let code = grant(GrantKind::Code, "ann", 0);
    assert!(wait(world.handle().add_grant(code.clone())).unwrap());
    let redeem = |seconds: i64| {
        let session = grant(GrantKind::Browser, "ann", 10 + seconds);
        wait(world.handle().redeem(code.id, session, at(9))).unwrap()
    };
    let redeemed = std::thread::scope(|scope| {
        let browsers: Vec<_> = (0..6).map(|it| scope.spawn(move || redeem(it))).collect();
        browsers.into_iter().map(|it| it.join().unwrap()).filter(|it| *it).count()
    });
    assert_eq!(redeemed, 1);
    assert_eq!(wait(world.handle().grants(GrantKind::Browser)).unwrap().len(), 1);
}

pub(crate) fn a_code_is_redeemed_before_it_expires_or_not_at_all(world: &World) {
    let store = world.handle();
    let code = grant(GrantKind::Code, "ann", 0);
    let token = grant(GrantKind::Token, "ci", 0);
    for it in [&code, &token] {
        assert!(wait(store.add_grant(it.clone())).unwrap());
    }
    let session = || grant(GrantKind::Browser, "ann", 1);
    assert!(!wait(store.redeem(code.id, session(), at(300))).unwrap(), "five minutes are over");
    assert!(!wait(store.redeem(token.id, session(), at(1))).unwrap(), "a token is no code");
    assert!(!wait(store.redeem(GrantId::NIL, session(), at(1))).unwrap());
    assert_eq!(wait(store.grants(GrantKind::Browser)).unwrap(), []);
    assert!(wait(store.redeem(code.id, session(), at(299))).unwrap());
}

pub(crate) fn old_codes_and_sessions_are_deleted_and_tokens_are_not(world: &World) {
    let store = world.handle();
    let day = KEPT_DAYS * 24 * 60 * 60;
    for kind in GrantKind::ALL {
        assert!(wait(store.add_grant(grant(kind, "old", 0))).unwrap());
    }
    let ended = grant(GrantKind::Browser, "ended", 0);
    let ended = Grant { expires_at: Some(at(10 * day)), ..ended };
    assert!(wait(store.add_grant(ended.clone())).unwrap());
    assert!(wait(store.end_grant(ended.id, at(1))).unwrap());
    assert!(wait(store.add_grant(grant(GrantKind::Code, "new", day + 300))).unwrap());
    assert_eq!(wait(store.grants(GrantKind::Code)).unwrap().len(), 2, "not yet a day old");
    assert!(wait(store.add_grant(grant(GrantKind::Code, "newer", day + 301))).unwrap());
    let left = GrantKind::ALL.map(|it| wait(store.grants(it)).unwrap().len());
    assert_eq!(left, [1, 2, 0]);
}

pub(crate) fn the_first_path_of_the_pages_stays(world: &World) {
    assert_eq!(wait(world.handle().site("abc".to_owned())).unwrap(), "abc");
    assert_eq!(wait(world.handle().site("def".to_owned())).unwrap(), "abc");
}

pub(crate) fn a_server_is_recorded_by_host_and_address(world: &World) {
    let store = world.handle();
    let server = |host: &str, address: &str, pid| ServerRecord {
        address: address.to_owned(),
        origin: format!("http://{address}"),
        process: Process {
            host: host.to_owned(),
            boot_id: "boot".to_owned(),
            pid_namespace: 1,
            pid,
            start_time: 7,
        },
        started_at: at(i64::from(pid)),
    };
    let (a, b, c) = (
        server("h", "127.0.0.1:1", 1),
        server("h", "127.0.0.1:2", 2),
        server("i", "127.0.0.1:1", 3),
    );
    for it in [&c, &b, &a] {
        wait(store.keep_server(it.clone())).unwrap();
    }
    assert_eq!(wait(store.servers()).unwrap(), [a.clone(), b.clone(), c.clone()]);
    let again = server("h", "127.0.0.1:1", 4);
    wait(store.keep_server(again.clone())).unwrap();
    // The old process removes only its own record.
    wait(store.remove_server(a)).unwrap();
    wait(store.remove_server(c)).unwrap();
    assert_eq!(wait(store.servers()).unwrap(), [again, b]);
}

pub(crate) fn a_change_of_grants_wakes_those_who_listen(world: &World) {
    let store = world.handle();
    // The store must exist before it can be listened to.
    wait(store.site("abc".to_owned())).unwrap();
    let mut news = wait(store.news()).unwrap();
    let token = grant(GrantKind::Token, "ci", 1);
    wait(world.handle().add_grant(token.clone())).unwrap();
    heard(&mut news);
    wait(world.handle().end_grant(token.id, at(2))).unwrap();
    heard(&mut news);
}

pub(crate) fn the_grants_of_a_moved_project_move_with_it(world: &World) {
    let store = world.handle();
    let (token, other) = (
        grant(GrantKind::Token, "ci", 1),
        Grant { project: Some("/other".to_owned()), ..grant(GrantKind::Token, "cd", 1) },
    );
    for it in [&token, &other] {
        assert!(wait(store.add_grant(it.clone())).unwrap());
    }
    wait(store.move_project("/p".to_owned(), "/q".to_owned())).unwrap();
    let project = |id| wait(store.grant(id)).unwrap().unwrap().project.unwrap();
    assert_eq!((project(token.id).as_str(), project(other.id).as_str()), ("/q", "/other"));
}
