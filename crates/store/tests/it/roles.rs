//! The rights of roles on a server, and who published a command.

mod postgres {
    use std::sync::Arc;

    use punchlist_model::call::{Answer, Answered, CallState};
    use punchlist_model::session::Store;
    use punchlist_model::store::Error;
    use punchlist_model::{
        Check, Evidence, ItemRef, Level, NewItem, Number, Op, Origin, Patch, PlanPatch, Rules, Run,
    };
    use punchlist_store::postgres::{Clock, Located, Options, Place, Postgres, Right, grant};
    use punchlist_testkit::postgres::query;

    use crate::support::{
        Desk, add, asked, at, call, ctx, database, done, new_plan, plan_id, question_id, run,
        run_id, start, wait,
    };

    /// The store at an address, as another role.
    fn as_role(address: &str, role: &str) -> (String, Arc<dyn Store>) {
        let address = address.replacen("postgres@", &format!("{role}@"), 1);
        let options = Options { clock: Clock::Caller, ..Options::new(address.parse().unwrap()) };
        (address, Arc::new(Postgres::open(&options).unwrap()))
    }

    /// A shared plan of the role `ann`, and a role with a right. Names are unique on the server.
    fn shared(right: Right) -> (String, Desk, Desk, String) {
        let owner = database();
        let database = owner.split(['/', '?']).nth(3).unwrap().to_owned();
        let (ann, bob) = (format!("ann_{database}"), format!("bob_{database}"));
        let options = Options { clock: Clock::Caller, ..Options::new(owner.parse().unwrap()) };
        drop(Postgres::open(&options).unwrap());
        for role in [&ann, &bob] {
            query(&owner, &format!("CREATE ROLE {role} LOGIN")).unwrap();
        }
        grant(&options, &ann, Right::Admin).unwrap();
        grant(&options, &bob, right).unwrap();
        let desk = Desk::new(as_role(&owner, &ann).1, "ann");
        let run = Run { command: "make".to_owned(), origin: Origin::Person };
        let rules = Rules { shared: true, max_in_progress: Some(9), ..Rules::default() };
        let share = PlanPatch { rules: Some(rules), ..PlanPatch::default() };
        desk.must(vec![
            Op::Add(Box::new(NewItem { run: Some(run), ..NewItem::titled("a") })),
            add("b"),
            Op::Plan(Box::new(share)),
        ]);
        let (address, store) = as_role(&owner, &bob);
        let other = Desk::at(store, plan_id(1), "bob");
        other.wait_seconds(10);
        (address, desk, other, ann)
    }

    fn edit(patch: Patch) -> Op {
        Op::Edit { item: ItemRef::Number(Number(1)), patch: Box::new(patch) }
    }

    fn command(text: &str) -> Op {
        let run = Run { command: text.to_owned(), origin: Origin::Person };
        edit(Patch { run: Some(Some(run)), ..Patch::default() })
    }

    #[track_caller]
    fn denied<T: std::fmt::Debug>(result: Result<T, Error>) {
        let Err(error) = result else { panic!("not denied: {result:?}") };
        let words = format!("{error} {:?}", std::error::Error::source(&error));
        assert!(matches!(error, Error::Denied { .. }), "{words}");
    }

    #[track_caller]
    fn denied_by_sql(address: &str, sql: &str) {
        let why = query(address, sql).expect_err(sql);
        let words = ["permission denied", "is a worker", "must be owner"];
        assert!(words.iter().any(|it| why.contains(it)), "{sql}: {why}");
    }

    fn publisher(desk: &Desk) -> String {
        let found = wait(desk.store.publishers(plan_id(1), [Number(1)].into())).unwrap();
        assert_eq!(found.own, None);
        found.of[&Number(1)].clone()
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn the_server_records_who_wrote_a_command_last_and_no_client_can_set_it() {
        let (address, ann, bob, name) = shared(Right::Admin);
        assert_eq!(publisher(&bob), name);
        // What is not the command does not matter.
        bob.must(vec![edit(Patch { title: Some("other".to_owned()), ..Patch::default() })]);
        bob.must(vec![start(1)]);
        assert_eq!(publisher(&bob), name);
        bob.must(vec![command("make evil")]);
        let other = publisher(&bob);
        assert_ne!(other, name);
        let set = format!("UPDATE punchlist.item SET publisher = '{name}'");
        query(&address, &set).unwrap();
        assert_eq!(publisher(&ann), other, "it stays what the server recorded");
        let check = Check { command: "true".to_owned(), covers: vec![], origin: Origin::Person };
        ann.wait_seconds(60);
        ann.must(vec![edit(Patch { check: Some(Some(check)), ..Patch::default() })]);
        assert_eq!(publisher(&ann), name);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_worker_does_items_and_cannot_write_commands_change_plans_approve_or_answer() {
        let (address, ann, bob, name) = shared(Right::Worker);
        bob.must(vec![start(1)]);
        denied(bob.change(vec![command("make evil")]));
        let check = Check { command: "true".to_owned(), covers: vec![], origin: Origin::Person };
        denied(bob.change(vec![edit(Patch { check: Some(Some(check)), ..Patch::default() })]));
        denied(bob.change(vec![edit(Patch { approve: Some(true), ..Patch::default() })]));
        let agent = Patch { agent_type: Some(Some("claude".to_owned())), ..Patch::default() };
        denied(bob.change(vec![edit(agent)]));
        let run = Run { command: "make evil".to_owned(), origin: Origin::Person };
        let new = NewItem { run: Some(run), ..NewItem::titled("evil") };
        denied(bob.change(vec![Op::Add(Box::new(new))]));
        let title = PlanPatch { title: Some("mine".to_owned()), ..PlanPatch::default() };
        denied(bob.change(vec![Op::Plan(Box::new(title))]));
        let evidence =
            Evidence { level: Level::Approved, at: at(1), by: "me".to_owned(), run: None };
        let mut ctx = bob.ctx();
        ctx.actor.kind = punchlist_model::ActorKind::Engine;
        let prove = Op::Prove { item: ItemRef::Number(Number(1)), evidence: Box::new(evidence) };
        let change = punchlist_model::store::Change::new(vec![prove], ctx);
        denied(wait(bob.store.change(plan_id(1), change)));
        denied(wait(bob.store.create(new_plan(2))));
        for sql in [
            "UPDATE punchlist.question SET answer = 'yes'",
            "DELETE FROM punchlist.journal",
            "UPDATE punchlist.journal SET actor = 'ann'",
            "UPDATE punchlist.item SET extra = '{\"run\":{\"command\":\"x\",\"origin\":\"person\"}}'",
            "UPDATE punchlist.plan SET rules = NULL",
            "ALTER TABLE punchlist.item DISABLE TRIGGER ALL",
        ] {
            denied_by_sql(&address, sql);
        }
        bob.must(vec![done(1)]);
        assert_eq!(ann.list(), "1:a completed, 2:b pending");
        assert_eq!(publisher(&bob), name);
    }

    /// Asks a question in a run, and has a person answer it.
    fn answered_question(of: &dyn Store, by: &dyn Store, n: u8, plan: u8) {
        wait(of.begin_run(run(n, Some(plan_id(plan))))).unwrap();
        let waits = vec![call(1, CallState::AwaitingApproval, 1)];
        wait(of.record(run_id(n), waits, vec![asked(n, 1)], None)).unwrap();
        let answered = Answered { answer: Answer::Once, by: ctx("ann", 1).actor, at: at(2) };
        wait(by.answer(question_id(n), answered)).unwrap();
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_worker_asks_and_cannot_write_an_answer_by_sql_or_use_one_again() {
        let (address, ann, bob, _) = shared(Right::Worker);
        answered_question(&*bob.store, &*ann.store, 1, 1);
        let forge = "INSERT INTO punchlist.question(id, run, call, item, asked, answer) \
                     SELECT 'x' || id, run, call, item, asked, answer FROM punchlist.question";
        denied_by_sql(&address, forge);
        denied_by_sql(&address, "UPDATE punchlist.question SET call = 2");
        denied_by_sql(&address, "UPDATE punchlist.run SET plan = NULL");
        denied_by_sql(&address, "UPDATE punchlist.run SET project = 'x'");
        // The call goes on, and ends. Its answer was used.
        for state in [CallState::Scheduled, CallState::Executing, CallState::Success] {
            wait(bob.store.record(run_id(1), vec![call(1, state, 3)], Vec::new(), None)).unwrap();
        }
        let again = |item: &str| {
            format!(
                "INSERT INTO punchlist.call(run, number, item, tool, state, attempt, at) SELECT run, \
                 number, {item}, tool, 'awaiting_approval', attempt, at FROM punchlist.call LIMIT 1"
            )
        };
        denied_by_sql(&address, &again("item"));
        // Nor does an answer count for another item.
        answered_question(&*bob.store, &*ann.store, 2, 1);
        query(&address, "DELETE FROM punchlist.notice").unwrap();
        let other = again("7").replace(" LIMIT 1", " ORDER BY seq DESC LIMIT 1");
        denied_by_sql(&address, &other);
        wait(bob.store.end_run(run_id(2), at(9))).unwrap();
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_worker_changes_only_shared_plans_and_not_when_their_commands_run() {
        let (address, ann, bob, _) = shared(Right::Worker);
        wait(ann.store.create(new_plan(2))).unwrap();
        let private = Desk::at(Arc::clone(&ann.store), plan_id(2), "ann");
        private.must(vec![add("private")]);
        let same = Desk::at(Arc::clone(&bob.store), plan_id(2), "bob");
        denied(same.change(vec![start(1)]));
        let private = format!("(SELECT key FROM punchlist.plan WHERE id = '{}')", plan_id(2));
        for sql in [
            format!("UPDATE punchlist.item SET status = 'completed' WHERE plan = {private}"),
            format!("UPDATE punchlist.item SET plan = {private} WHERE number = 2"),
            format!("UPDATE punchlist.plan SET revision = 7 WHERE key = {private}"),
            format!(
                "INSERT INTO punchlist.journal(plan, revision, at, actor_kind, actor, kind, events) \
                 VALUES ({private}, 9, 1, 'person', 'ann', 'edit', '[]')"
            ),
            format!(
                "INSERT INTO punchlist.run(id, project, plan, what, begun_at) \
                 VALUES ('x', 'p', {private}, 'x', 1)"
            ),
            "UPDATE punchlist.item SET depends_on = '[2]' WHERE extra IS NOT NULL".to_owned(),
            "UPDATE punchlist.item SET extra = (extra::jsonb || '{\"retry\": 9}')::text \
             WHERE extra IS NOT NULL"
                .to_owned(),
            "UPDATE punchlist.item SET number = number + 10".to_owned(),
        ] {
            denied_by_sql(&address, &sql);
        }
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn an_approval_cannot_be_rewritten_by_a_worker() {
        let (address, _, _, ann) = shared(Right::Worker);
        let (user, _) = address.trim_start_matches("postgres://").split_once('@').unwrap();
        let approve = "UPDATE punchlist.item SET extra = (extra::jsonb || \
                       '{\"evidence\": [{\"level\": \"approved\", \"by\": \"ann\"}]}')::text \
                       WHERE extra IS NOT NULL";
        query(&address.replacen(user, &ann, 1), approve).unwrap();
        let set = "UPDATE punchlist.item SET extra = replace(extra, '\"ann\"', '\"eve\"') \
                   WHERE extra LIKE '%approved%'";
        denied_by_sql(&address, set);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_worker_records_its_own_directories_and_no_others() {
        let (address, _, _, ann) = shared(Right::Worker);
        let place = |host: &str| Place {
            host: host.to_owned(),
            directory: "/srv/p".to_owned(),
            project: None,
            repository: &|| Some("abc".to_owned()),
            now: at(1),
        };
        let (user, _) = address.trim_start_matches("postgres://").split_once('@').unwrap();
        let anns = address.replacen(user, &ann, 1);
        let options = |address: &str| Options::new(address.parse().unwrap());
        Located::open(&options(&anns), &place("laptop")).unwrap();
        // A new machine, and the one that another role recorded.
        Located::open(&options(&address), &place("builder")).unwrap();
        Located::open(&options(&address), &place("laptop")).unwrap();
        for sql in [
            "UPDATE punchlist.checkout SET project = 'evil' WHERE host = 'laptop'",
            "UPDATE punchlist.checkout SET host = 'laptop', project = 'evil'",
            "DELETE FROM punchlist.checkout WHERE host = 'laptop'",
            "INSERT INTO punchlist.checkout VALUES ('evil', 'laptop', '/srv/p', 99999999999999)",
        ] {
            denied_by_sql(&address, sql);
        }
        let named = Place { project: Some("own".to_owned()), ..place("builder") };
        let own = Located::open(&options(&address), &named).unwrap();
        assert_eq!(own.name_of("/srv/p"), "own");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn the_members_of_a_workers_role_are_workers_too() {
        let (address, _, _, _) = shared(Right::Worker);
        let (user, _) = address.trim_start_matches("postgres://").split_once('@').unwrap();
        let owner = address.replacen(user, "postgres", 1);
        query(&owner, &format!("CREATE ROLE member_of_{user} LOGIN IN ROLE {user}")).unwrap();
        let member = address.replacen(user, &format!("member_of_{user}"), 1);
        denied_by_sql(&member, "UPDATE punchlist.item SET extra = NULL WHERE extra IS NOT NULL");
        query(&member, "UPDATE punchlist.item SET outcome = 'x'").unwrap();
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_role_that_lacks_a_right_is_told_which() {
        let (_, ann, bob, _) = shared(Right::Worker);
        wait(bob.store.begin_run(run(1, Some(plan_id(1))))).unwrap();
        let waits = vec![call(1, CallState::AwaitingApproval, 1)];
        wait(bob.store.record(run_id(1), waits, vec![asked(1, 1)], None)).unwrap();
        let answered = Answered { answer: Answer::Once, by: ctx("bob", 1).actor, at: at(2) };
        let words = |error: Error| {
            let Error::Denied { role, what } = error else { panic!("{error:?}") };
            assert!(role.starts_with("bob_"), "{role}");
            what
        };
        let refused = wait(bob.store.answer(question_id(1), answered.clone())).unwrap_err();
        assert_eq!(words(refused), "answer questions");
        let refused = wait(bob.store.forget(plan_id(1), None, bob.ctx())).unwrap_err();
        assert_eq!(words(refused), "erase texts");
        let refused = bob.change(vec![command("make evil")]).unwrap_err();
        assert_eq!(words(refused), "write commands");
        let (_, _, viewer, _) = shared(Right::Viewer);
        let refused = wait(viewer.store.answer(question_id(1), answered)).unwrap_err();
        assert_eq!(words(refused), "change anything: it may only read");
        drop(ann);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_viewer_reads_and_changes_nothing() {
        let (_, _, bob, _) = shared(Right::Viewer);
        assert_eq!(bob.list(), "1:a pending, 2:b pending");
        denied(bob.change(vec![start(1)]));
    }
}
