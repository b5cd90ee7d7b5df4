//! Tests of states and rows.

use std::collections::BTreeSet;

use punchlist_model::agents::{Listed, NoList, Row, State};
use punchlist_model::session::{Session, SessionKey};
use punchlist_model::store::AttachmentKey;
use punchlist_model::{IdSource, Item, ItemId, Number, Plan, PlanId, Position, Status, Timestamp};

use super::*;
use crate::event::{AgentType, Event, owned};
use crate::{Options as Reading, Source, Stream};

/// The present time: a minute after the last of the events below.
const NOW: i64 = 1_767_322_860_000;

fn at(seconds_ago: i64) -> i64 {
    NOW - seconds_ago * 1000
}

fn stamp(ms: i64) -> String {
    Timestamp::from_millisecond(ms).unwrap().to_string()
}

/// The state after lines of a transcript; `$N` in them is the time N seconds ago.
fn fold(source: Source, lines: &[&str]) -> Fold {
    let mut fold = Fold::default();
    let mut stream = Stream::new(source, Reading::default());
    for line in lines {
        let mut line = (*line).to_owned();
        while let Some((before, rest)) = line.split_once('$') {
            let end = rest.find(|it: char| !it.is_ascii_digit() && it != '-').unwrap_or(rest.len());
            let ago = rest[..end].parse().unwrap();
            line = format!("{before}{}{}", stamp(at(ago)), &rest[end..]);
        }
        stream.push(format!("{line}\n").as_bytes(), &mut |event: &Event<'_>| {
            fold.event(event, NOW);
        });
    }
    fold
}

/// A transcript of Claude Code: a prompt, and texts and calls of the model, each so many seconds
/// ago.
fn claude(id: &str, directory: &str, said: &[(i64, &str)]) -> Fold {
    let head = format!(r#""sessionId":"{id}","cwd":"{directory}","version":"2.1.197""#);
    let lines: Vec<String> = said
        .iter()
        .map(|(ago, what)| {
            let begin = format!(r#"{{"parentUuid":null,"isSidechain":false,{head},"timestamp":"${ago}","#);
            let (word, rest) = what.split_once(' ').unwrap_or((what, ""));
            begin.clone() + &match word {
                "user" => format!(r#""type":"user","message":{{"role":"user","content":"{rest}"}}}}"#),
                "says" => format!(
                    r#""type":"assistant","message":{{"id":"m{ago}","role":"assistant","model":"opus","content":[{{"type":"text","text":"{rest}"}}],"stop_reason":"end_turn"}}}}"#
                ),
                "asks" => format!(
                    r#""type":"assistant","message":{{"id":"m{ago}","role":"assistant","model":"opus","content":[{{"type":"tool_use","id":"t{ago}","name":"AskUserQuestion","input":{{"questions":[{{"question":"{rest}"}}]}}}}],"stop_reason":"tool_use"}}}}"#
                ),
                "todos" => {
                    let todos: Vec<String> = rest.split(';').filter(|it| !it.is_empty()).map(|it| {
                        let (status, text) = it.split_once(':').unwrap();
                        let status = match status { "x" => "completed", ">" => "in_progress", _ => "pending" };
                        format!(r#"{{"content":"{text}","status":"{status}","activeForm":"Doing {text}"}}"#)
                    }).collect();
                    let todos = todos.join(",");
                    format!(
                        r#""type":"assistant","message":{{"id":"m{ago}","role":"assistant","model":"opus","content":[{{"type":"tool_use","id":"t{ago}","name":"TodoWrite","input":{{"todos":[{todos}]}}}}],"stop_reason":"tool_use"}}}}"#
                    ) + "\n" + &begin + &format!(
                        r#""type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{ago}","content":"ok"}}]}},"toolUseResult":{{"oldTodos":[],"newTodos":[{todos}]}}}}"#
                    )
                }
                other => unreachable!("{other}"),
            }
        })
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    fold(Source::ClaudeCode, &lines)
}

/// The short form of a row.
fn line(row: &Row) -> String {
    let mut words = vec![row.agent.clone(), row.place.clone()];
    if let Some(sub) = &row.sub_agent {
        words[1] = format!("{}/{sub}", row.place);
    }
    words.extend(row.is_plan().then(|| row.model.clone()));
    words.extend(row.list.as_ref().map(|it| format!("{}/{}", it.done, it.total)));
    let open = row.list.as_ref().map_or(0, |it| it.open);
    words.push(match &row.state {
        State::Asks(question) => format!("asks: {question}"),
        State::Waits(on) => format!("waits for {on}"),
        State::Working => "working".to_owned(),
        State::Silent => "no news".to_owned(),
        State::Failed(why) => format!("failed: {why}"),
        State::Idle => "idle".to_owned(),
        State::Died if open == 0 => "died".to_owned(),
        State::Died => format!("died with {open} open"),
    });
    let current = row.list.as_ref().and_then(Listed::current);
    if let Some(current) = current.filter(|_| row.state == State::Working) {
        words.push(format!("\"{}\"", current.label));
    }
    words.join("  ")
}

fn only(fold: &Fold) -> &Seen {
    assert_eq!(fold.agents().len(), 1, "{fold:?}");
    &fold.agents()[0]
}

#[test]
fn a_session_is_what_its_events_come_to() {
    let fold = claude(
        "s1",
        "/home/me/web-shop",
        &[(90, "user go"), (80, "todos >:A; :B"), (60, "todos x:A;>:B")],
    );
    let seen = only(&fold);
    assert_eq!((seen.names(), seen.agent_type), (("s1", None), AgentType::ClaudeCode));
    assert_eq!(seen.directory.as_deref(), Some("/home/me/web-shop"));
    assert_eq!((seen.phase, seen.last, seen.turn_began), (Phase::Working, at(60), Some(at(90))));
    let list = seen.list.as_ref().unwrap();
    let items: Vec<(&str, Status, i64)> =
        list.items.iter().map(|it| (it.text.as_str(), it.status, it.since)).collect();
    assert_eq!(items, [("A", Status::Completed, at(60)), ("B", Status::InProgress, at(60))]);
}

#[test]
fn a_todo_that_did_not_move_stands_so_since_it_did() {
    let said = [(90, "user go"), (80, "todos >:A; :B"), (60, "todos >:A;x:B")];
    let fold = claude("s1", "/p", &said);
    let list = only(&fold).list.clone().unwrap();
    assert_eq!(list.items.iter().map(|it| it.since).collect::<Vec<_>>(), [at(80), at(60)]);
}

#[test]
fn whoever_asks_waits_until_it_is_answered() {
    let mut said = vec![(90, "user go"), (80, "asks Which one?")];
    assert_eq!(only(&claude("s1", "/p", &said)).asks(), Some("Which one?"));
    said.push((70, "user the first"));
    assert_eq!(only(&claude("s1", "/p", &said)).asks(), None);
}

#[test]
fn a_time_that_is_yet_to_come_counts_as_now() {
    let fold = claude("s1", "/p", &[(-9000, "user go")]);
    assert_eq!(only(&fold).last, NOW);
}

#[test]
fn memory_is_bounded_whatever_a_stream_says() {
    let text = "x".repeat(1 << 13);
    let todos: Vec<String> = (0..600).map(|n| format!(" :{n}{text}")).collect();
    let fold = claude("s1", "/p", &[(9, &format!("todos {}", todos.join(";")))]);
    let list = only(&fold).list.clone().unwrap();
    let bytes: usize = list.items.iter().map(|it| it.text.len()).sum();
    assert!(bytes <= 1 << 20 && list.left_out > 0, "{bytes} {}", list.left_out);
    assert_eq!(list.items.len() + list.left_out, 600);
    let mut fold = Fold::default();
    for n in 0..1000 {
        let id = crate::event::AgentId::new(format!("s{n}"));
        let kind = crate::event::Kind::TurnStarted { prompt: None, turn_id: None };
        let event = Event {
            agent: &id,
            agent_type: AgentType::Acp,
            timestamp: None,
            line: 1,
            index: 0,
            kind,
        };
        fold.event(&event, NOW);
    }
    assert_eq!(fold.agents().len(), 64);
}

/// Checks the state of a stream's only agent, for a state of its process.
#[track_caller]
fn check(said: &[(i64, &str)], life: Life, expected: &str) {
    let fold = claude("s1", "/home/me/web-shop", said);
    let known = Known { streams: vec![(only(&fold), life)], ..Known::default() };
    let rows = rows(&known, NOW);
    assert_eq!(line(&rows[0]), format!("claude  web-shop  {expected}"), "{said:?} {life:?}");
}

#[test]
fn how_an_agent_stands_follows_from_its_turn_and_its_process() {
    let runs = Life::Runs { busy: None };
    let works = [(90, "user go"), (80, "todos >:A; :B")];
    check(&works, Life::Unknown, "0/2  working  \"Doing A\"");
    check(&works, runs, "0/2  working  \"Doing A\"");
    check(&works, Life::Died, "0/2  died with 2 open");
    check(&works, Life::Ended, "0/2  idle");
    check(&works, Life::Runs { busy: Some(false) }, "0/2  idle");
    // After a long silence, only a visible process shows that the agent works.
    let long = [(900, "user go"), (800, "todos >:A; :B")];
    check(&long, Life::Unknown, "0/2  no news");
    check(&long, runs, "0/2  working  \"Doing A\"");
    let done = [(90, "user go"), (80, "todos x:A;x:B"), (70, "says Done.")];
    check(&done, Life::Unknown, "2/2  idle");
    check(&done, Life::Died, "2/2  idle");
    check(&[(9, "user go"), (8, "asks Really?")], runs, "asks: Really?");
    check(&[(9, "user go"), (8, "asks Really?")], Life::Died, "died");
    check(&[(9, "user go")], runs, "working");
}

#[test]
fn a_sub_agent_stands_below_its_agent_unless_it_wants_something() {
    let row = |id: &str, began: i64| {
        let mut seen = Seen::new(id, AgentType::OpenaiCodex, at(began));
        seen.phase = Phase::Working;
        seen.last = at(1);
        seen.directory = Some(format!("/p/{id}"));
        let todo = Todo {
            id: None,
            text: "A".to_owned(),
            status: Status::Pending,
            active_form: None,
            waiting_on: None,
            since: at(1),
        };
        let list =
            Todos { id: String::new(), items: vec![todo], left_out: 0, at: 0, unconfirmed: false };
        seen.list = Some(list);
        seen
    };
    let all = [row("b/sub", 90), row("b", 50), row("a", 60), row("c", 40)];
    let keys = |all: &[Seen]| {
        let streams = all.iter().map(|it| (it, Life::Unknown)).collect();
        let rows = rows(&Known { streams, ..Known::default() }, NOW);
        rows.into_iter().map(|it| it.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(&all), ["codex/a/", "codex/b/", "codex/b/sub", "codex/c/"]);
    // A sub-agent whose agent is idle works for itself.
    let mut all = all;
    all[1].phase = Phase::Done(crate::event::Outcome::Success);
    assert_eq!(keys(&all), ["codex/b/sub", "codex/a/", "codex/c/", "codex/b/"]);
}

/// Checks the state of a session with a sub-agent, each with a phase and seconds since the last
/// event.
#[track_caller]
fn with_helper(own: (Phase, i64), sub: (Phase, i64), life: Life, expected: State) {
    let seen = |id: &str, (phase, ago): (Phase, i64)| {
        let mut seen = Seen::new(id, AgentType::ClaudeCode, at(ago));
        (seen.phase, seen.turn_began) = (phase, Some(at(ago)));
        seen
    };
    let all = [seen("s", own), seen("s/a", sub)];
    let streams = all.iter().map(|it| (it, life)).collect();
    let rows = rows(&Known { streams, ..Known::default() }, NOW);
    let [row] = &rows[..] else { panic!("a sub-agent without a list has no row: {rows:?}") };
    assert_eq!(row.state, expected, "{own:?} {sub:?} {life:?}");
    let last = own.1.min(sub.1);
    let works = if own.0 == Phase::Working { own.1 } else { sub.1 };
    assert_eq!(row.at, at(if expected == State::Working { works } else { last }));
}

#[test]
fn an_agent_works_while_its_sub_agent_does() {
    use crate::event::Outcome::{Cancelled, Success};
    let (works, done) = (Phase::Working, Phase::Done(Success));
    let runs = Life::Runs { busy: None };
    with_helper((works, 600), (works, 9), Life::Unknown, State::Working);
    with_helper((works, 600), (works, 500), Life::Unknown, State::Silent);
    with_helper((works, 600), (done, 9), Life::Unknown, State::Silent);
    with_helper((works, 600), (works, 500), runs, State::Working);
    // In the background.
    with_helper((done, 30), (works, 9), runs, State::Working);
    with_helper((done, 9), (works, 30), runs, State::Working);
    with_helper((done, 600), (works, 500), runs, State::Idle);
    with_helper((done, 30), (done, 9), runs, State::Idle);
    // A sub-agent is stopped with its agent, and does not report that.
    with_helper((Phase::Done(Cancelled), 9), (works, 10), runs, State::Idle);
    with_helper((Phase::Done(Cancelled), 30), (works, 9), runs, State::Working);
    with_helper((works, 9), (works, 9), Life::Ended, State::Idle);
    with_helper((works, 9), (works, 9), Life::Died, State::Died);
}

#[test]
fn of_many_sub_agents_those_that_were_heard_of_last_are_kept_and_their_agent_is() {
    let mut fold = Fold::default();
    let mut take = |id: &str, ago: i64| {
        let id = crate::event::AgentId::new(id.to_owned());
        let kind = crate::event::Kind::TurnStarted { prompt: None, turn_id: None };
        let (agent_type, timestamp) = (AgentType::ClaudeCode, Some(at(ago)));
        fold.event(&Event { agent: &id, agent_type, timestamp, line: 1, index: 0, kind }, NOW);
    };
    take("s", 9999);
    for n in 0..100 {
        take(&format!("s/a{n}"), 200 - n);
    }
    // An event that is older than all others.
    take("s/old", 5000);
    let ids: Vec<&str> = fold.agents().iter().map(|it| it.agent_id.as_str()).collect();
    assert_eq!((ids.len(), ids[0], ids[1], ids[63]), (64, "s", "s/a37", "s/a99"));
}

#[test]
fn two_witnesses_know_what_the_better_one_knows() {
    let runs = |busy| Life::Runs { busy };
    for (one, other, expected) in [
        (Life::Unknown, Life::Died, Life::Died),
        (Life::Died, Life::Unknown, Life::Died),
        (Life::Died, runs(None), runs(None)),
        (runs(Some(true)), Life::Ended, runs(Some(true))),
        (runs(None), runs(Some(false)), runs(Some(false))),
        (Life::Unknown, Life::Unknown, Life::Unknown),
    ] {
        assert_eq!(one.or(other), expected, "{one:?} {other:?}");
    }
}

fn plan(project: &str, items: &[(&str, Status)]) -> Plan {
    let time = Timestamp::from_millisecond(at(300)).unwrap();
    let ids = IdSource::fixed(time, 7);
    let mut plan = Plan::new(PlanId(ids.nth(99)), project, time);
    for (n, (title, status)) in items.iter().enumerate() {
        let number = Number(n as u32 + 1);
        let mut item = Item::new(ItemId(ids.nth(n as u32)), number, *title, time);
        item.position = Some(Position(n as u32 + 1));
        item.status = *status;
        item.started_at = Some(time);
        plan.open += u32::from(status.is_open());
        plan.items.insert(number, item);
    }
    plan.placed = items.len() as u32;
    plan
}

fn attached(agent: &str, conversation: &str) -> AttachmentKey {
    SessionKey { agent: agent.to_owned(), id: conversation.to_owned() }
        .attachment("/home/me/shop", "")
}

#[test]
fn a_session_whose_list_is_kept_as_a_plan_shows_the_plan_and_nothing_twice() {
    let fold = claude("s1", "/home/me/web-shop", &[(90, "user go"), (80, "todos >:A; :B")]);
    let plan = plan("/home/me/shop", &[("A, kept", Status::Completed), ("B", Status::InProgress)]);
    let key = attached("claude", "s1");
    let time = Timestamp::from_millisecond(at(400)).unwrap();
    let session =
        Session::new(SessionKey { agent: "claude".to_owned(), id: "s1".to_owned() }, "/p", time);
    let known = Known {
        streams: vec![(only(&fold), Life::Unknown)],
        sessions: vec![(&session, Life::Runs { busy: None })],
        plans: vec![(Some(&key), &plan)],
        ..Known::default()
    };
    let rows = rows(&known, NOW);
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["claude  shop  1/2  working  \"B\""]);
}

#[test]
fn plans_that_no_session_works_on_and_sessions_without_a_file_have_rows_too() {
    let by_hand = plan("/home/me/garden", &[("Dig", Status::Pending)]);
    let mcp = plan("/home/me/shop", &[("Sell", Status::InProgress)]);
    let key = attached("zed", "c1");
    let known = Known { plans: vec![(None, &by_hand), (Some(&key), &mcp)], ..Known::default() };
    let rows: Vec<String> = rows(&known, NOW).iter().map(line).collect();
    let short = by_hand.id.to_string();
    let short = &short[short.len() - 4..];
    assert_eq!(rows, [&format!("plan  garden  {short}  0/1  idle"), "zed  shop  0/1  idle"]);
}

#[test]
fn finished_plans_are_no_agents() {
    let done = plan("/home/me/garden", &[("Dig", Status::Completed), ("Rest", Status::Cancelled)]);
    let empty = plan("/home/me/garden", &[]);
    let key = attached("zed", "c1");
    let plans = vec![(None, &done), (None, &empty), (Some(&key), &done)];
    assert!(rows(&Known { plans, ..Known::default() }, NOW).is_empty());
    // An agent with a finished plan is still shown.
    let fold = claude("s1", "/home/me/shop", &[(90, "user go"), (80, "says Done.")]);
    let key = attached("claude", "s1");
    let known = Known {
        streams: vec![(only(&fold), Life::Unknown)],
        plans: vec![(Some(&key), &done)],
        ..Known::default()
    };
    assert_eq!(
        rows(&known, NOW).iter().map(line).collect::<Vec<_>>(),
        ["claude  garden  1/1  idle"]
    );
}

#[test]
fn plans_of_one_title_are_told_apart_by_their_ids() {
    let named = |name: &str, seed: u8| {
        let mut plan = plan("/home/me/shop", &[("Dig", Status::Pending)]);
        plan.id = PlanId(uuid::Uuid::from_bytes([seed; 16]));
        plan.title = name.to_owned();
        plan
    };
    let plans = [
        named("Release 1.2 of the shop", 1),
        named("Release 1.3 of the shop", 2),
        named("Release notes for everybody, part A", 3),
        named("Release notes for everybody, part B", 4),
        named("Twins", 0xa5),
        named("Twins", 0xb6),
        named("", 0xc7),
    ];
    let known = Known { plans: plans.iter().map(|it| (None, it)).collect(), ..Known::default() };
    let rows = rows(&known, NOW);
    assert!(rows.iter().all(Row::is_plan), "{rows:#?}");
    let titles: BTreeSet<&str> = rows.iter().map(|it| it.model.as_str()).collect();
    assert_eq!(titles.len(), plans.len(), "{titles:?}");
    assert!(titles.contains("Twins a5a5") && titles.contains("c7c7"), "{titles:?}");
}

/// A recording of `acp-tap`.
fn tapped(session: &str, lines: &[&str]) -> Fold {
    let lines: Vec<String> = lines.iter().map(|it| it.replace("SESSION", session)).collect();
    fold(Source::Acp, &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn one_tapped_agent_is_one_row() {
    let own = claude("s1", "/home/me/shop", &[(90, "user go")]);
    let asked = r#"{"jsonrpc":"2.0","id":3,"method":"session/request_permission","params":{"sessionId":"SESSION","toolCall":{"toolCallId":"c","title":"rm -rf build"}}}"#;
    let planned = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"plan","entries":[{"content":"A","priority":"medium","status":"in_progress"}]}}}"#;
    let heard = tapped("s1", &[planned, asked]);
    let other = tapped("s2", &[planned]);
    let kept = plan("/home/me/shop", &[("Kept", Status::Pending)]);
    let key = attached("acp", "s2");
    let known = Known {
        streams: vec![
            (only(&own), Life::Unknown),
            (only(&heard), Life::Unknown),
            (only(&other), Life::Unknown),
        ],
        plans: vec![(Some(&key), &kept)],
        ..Known::default()
    };
    let rows: Vec<String> = rows(&known, NOW).iter().map(line).collect();
    assert_eq!(rows, ["claude  shop  0/1  asks: rm -rf build", "acp  shop  0/1  idle"]);
}

#[test]
fn who_was_last_heard_of_too_long_ago_is_left_out_unless_it_runs() {
    let old = claude("s1", "/home/me/old", &[(9_000, "user go"), (8_000, "says Done.")]);
    let runs = claude("s2", "/home/me/runs", &[(9_000, "user go")]);
    let new = claude("s3", "/home/me/new", &[(900, "user go"), (800, "says Done.")]);
    let streams = vec![
        (only(&old), Life::Unknown),
        (only(&runs), Life::Runs { busy: Some(false) }),
        (only(&new), Life::Unknown),
    ];
    let known = Known { streams, since: Some(at(3_600)), ..Known::default() };
    let places: BTreeSet<String> = rows(&known, NOW).into_iter().map(|it| it.place).collect();
    assert_eq!(places, BTreeSet::from(["new".to_owned(), "runs".to_owned()]));
    // A line that cannot be parsed does not count as an event, whenever it is read.
    let mut spoilt = claude("s1", "/home/me/old", &[(9_000, "user go"), (8_000, "says Done.")]);
    let mut stream = Stream::new(Source::ClaudeCode, Reading::default());
    let line = format!(r#"{{"type":"user","sessionId":"s1","timestamp":"{}"}}"#, stamp(at(8_000)));
    stream.push(format!("{line}\n{{broken\n").as_bytes(), &mut |event: &Event<'_>| {
        spoilt.event(event, NOW);
    });
    let streams = vec![(only(&spoilt), Life::Unknown)];
    let known = Known { streams, since: Some(at(3_600)), ..Known::default() };
    assert!(rows(&known, NOW).is_empty());
}

#[test]
fn why_an_agent_has_no_list_is_known() {
    let quiet = claude("s1", "/home/me/shop", &[(90, "user go")]);
    let cleared =
        claude("s2", "/home/me/shop", &[(90, "user go"), (80, "todos >:A"), (70, "todos ")]);
    let hooked = claude("s3", "/home/me/shop", &[(90, "user go")]);
    let time = Timestamp::from_millisecond(at(400)).unwrap();
    let key = SessionKey { agent: "claude".to_owned(), id: "s3".to_owned() };
    let session = Session::new(key, "/p", time);
    let known = Known {
        streams: [&quiet, &cleared, &hooked].map(|it| (only(it), Life::Unknown)).to_vec(),
        sessions: vec![(&session, Life::Unknown)],
        ..Known::default()
    };
    let rows = rows(&known, NOW);
    let why = |id: &str| rows.iter().find(|it| it.key.contains(id)).map(|it| it.no_list);
    assert_eq!(why("s1"), Some(NoList::Never));
    assert_eq!(why("s2"), Some(NoList::Cleared));
    assert_eq!(why("s3"), Some(NoList::NotYet));
}

/// Six agents in all states.
fn folds() -> Vec<(Fold, Life)> {
    let runs = Life::Runs { busy: None };
    let shop =
        "todos x:Read the schema;x:Write the migration;>:Migrate the orders table; :Backfill";
    vec![
        (claude("a", "/home/me/web-shop", &[(360, "user go"), (72, shop)]), runs),
        (
            claude("b", "/home/me/api", &[(120, "user go"), (60, "todos x:One; :Two; :Three")]),
            Life::Unknown,
        ),
        (
            claude(
                "c",
                "/home/me/docs",
                &[
                    (100, "user go"),
                    (90, "asks Shall I run rm -rf build/ and begin anew from the very beginning?"),
                ],
            ),
            runs,
        ),
        (
            claude(
                "d",
                "/home/me/landing",
                &[(900, "user go"), (890, "todos x:A;x:B"), (840, "says Done.")],
            ),
            runs,
        ),
        (
            claude(
                "e",
                "/home/me/old-branch",
                &[(4000, "user go"), (3900, "todos >:Left alone; :Never begun")],
            ),
            Life::Died,
        ),
        (
            claude(
                "f",
                "/home/me/a-very-long-name-of-a-project-that-does-not-fit",
                &[(700, "user go"), (690, "todos >:Wait and see")],
            ),
            Life::Unknown,
        ),
        (claude("g", "/home/me/plain", &[(50, "user go")]), runs),
    ]
}

#[test]
fn what_we_tell_ourselves_are_events_like_all_others() {
    let mut plan =
        plan("/home/me/shop", &[("", Status::Pending), ("B\n\u{1b}[2J", Status::InProgress)]);
    plan.items.get_mut(&Number(1)).unwrap().depends_on = BTreeSet::from([Number(2)]);
    let mut out = Vec::new();
    tell::plan(Some(&attached("claude", "s1")), &plan, &mut out);
    tell::plan(None, &plan, &mut out);
    let folds = folds();
    let streams = folds.iter().map(|(fold, life)| (only(fold), *life)).collect();
    let rows = rows(&Known { streams, ..Known::default() }, NOW);
    let died = rows.iter().find(|it| it.state == State::Died).unwrap();
    tell::died(died, NOW, &mut out);
    let schema = jsonschema::validator_for(&owned::schema()).unwrap();
    let text = String::from_utf8(out).unwrap();
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let errors: Vec<String> = schema.iter_errors(&value).map(|it| it.to_string()).collect();
        assert!(errors.is_empty(), "{line}: {errors:?}");
        serde_json::from_value::<owned::AgentEvent>(value).unwrap();
    }
    insta::assert_snapshot!(text);
}
