//! What the model reads in a long conversation: request and list are never lost.

use punchlist_agent::context::Inject;
use punchlist_agent::session::{Event, Input};
use punchlist_model::remind;
use punchlist_model::store::turns::EntryFilter;
use punchlist_testkit::model::{Message, Script};

use super::front_end::Front;
use super::{REQUEST, complete, each, one, read, supervisor, todos};

#[test]
fn request_and_list_are_there_after_the_window_has_rolled() {
    let script = || {
        let mut script = Script::new();
        for turn in 1..=4 {
            let says = format!("Answer {turn}.");
            script = script.calls_all([todos(&["A"])]).calls_all([complete(1)]).stops(says);
        }
        script
    };
    each(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        for turn in 1..=4 {
            let request = format!("Request {turn}.");
            let ran = stage.turn(&mut session, &request, Front::default()).await;
            assert_eq!(ran.ended.answer, format!("Answer {turn}."), "{}", stage.kind);
        }
        let sent = stage.sent();
        assert_eq!(sent.len(), 12, "{}", stage.kind);
        // Ten messages of earlier turns are left.
        let last = sent[11].text();
        assert!(!last.contains("Request 1.") && last.contains("Request 3."), "{last}");
        for (at, it) in sent.iter().enumerate() {
            let latest = it.news();
            let request = format!("The request of this turn:\nRequest {}.", at / 3 + 1);
            assert!(latest.contains(&request), "{}: {latest}", stage.kind);
            assert_eq!(latest.contains("TODO list (as of now):"), at % 3 > 0, "{}", stage.kind);
        }
    });
}

#[test]
fn request_and_list_are_there_after_compaction() {
    let script = || {
        let (tool, path) = read("long.txt");
        // The provider counts more than the context has.
        let full = Message::new().counting(3000).calls(tool, path);
        Script::new()
            .calls_all([todos(&["Read the long text", "Read it again"])])
            .calls_all([read("long.txt")])
            .calls_all([read("long.txt")])
            .turn(full)
            .stops("SUMMARY: the text was read three times.")
            .calls_all([complete(1), complete(2)])
            .stops("Done.")
    };
    each(script, |mut stage| async move {
        let kind = stage.kind;
        let text = "The beginning.\n".to_owned() + &"All work and no play.\n".repeat(100);
        std::fs::write(stage.path("long.txt"), text).unwrap();
        stage.world.model.context.context_tokens = 2000;
        let ran = stage.run(supervisor()).await;
        assert_eq!((ran.ended.answer.as_str(), ran.ended.exit()), ("Done.", 0), "{kind}");
        let compacted = ran.events.iter().filter(|it| matches!(it, Event::Compacted)).count();
        let sent = stage.sent();
        assert_eq!((compacted, sent.len()), (1, 7), "{kind}");
        // The request for a summary has no tools.
        assert!(sent[4].tools().is_empty(), "{kind}");
        assert!(sent[4].text().contains("```data"), "{kind}: the record is fenced");
        for it in &sent[5..] {
            let text = it.text();
            assert!(text.contains("SUMMARY: the text was read three times."), "{kind}");
            // Of the three results the two newest are left, whole.
            assert_eq!(text.matches("The beginning.").count(), 2, "{kind}: {text}");
            let latest = it.news();
            assert!(latest.contains(&format!("The request of this turn:\n{REQUEST}")), "{kind}");
            assert!(latest.contains("TODO list (as of now):"), "{kind}: {latest}");
            assert!(latest.contains("Read it again"), "{kind}: {latest}");
        }
    });
}

#[test]
fn an_empty_summary_loses_nothing() {
    let (tool, path) = read("long.txt");
    let full = Message::new().counting(3000).calls(tool, path);
    let script = Script::new()
        .calls_all([todos(&["Read the long text", "Read it again"])])
        .calls_all([read("long.txt")])
        .calls_all([read("long.txt")])
        .turn(full)
        .stops(" ")
        .calls_all([complete(1), complete(2)])
        .stops("Done.");
    one(script, |mut stage| async move {
        std::fs::write(stage.path("long.txt"), "All work and no play.\n".repeat(100)).unwrap();
        stage.world.model.context.context_tokens = 2000;
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.answer, "Done.");
        assert!(!ran.events.iter().any(|it| matches!(it, Event::Compacted)));
        let next = stage.sent()[5].text();
        assert!(next.contains("Shortened") && !next.contains("Summary of what was"), "{next}");
    });
}

/// Makes a plan, then reads so many times, then completes the plan.
fn forgets(reads: usize) -> Script {
    let mut script = Script::new().calls_all([todos(&["A"])]);
    for _ in 0..reads {
        script = script.calls_all([read("note.txt")]);
    }
    script.calls_all([complete(1)]).stops("Done.")
}

const NAG: &str = "turns without todo update. Please update todos with";

#[test]
fn on_change_the_list_is_sent_after_changes_only_and_nags_are_by_policy() {
    each(
        || forgets(7),
        |mut stage| async move {
            stage.world.model.context.inject = Inject::OnChange;
            stage.world.model.reminders =
                remind::Policy { nag_after: 3, ..remind::Policy::default() };
            let ran = stage.run(supervisor()).await;
            assert_eq!(ran.ended.answer, "Done.", "{}", stage.kind);
            let sent = stage.sent();
            let has = |text: &str| -> Vec<usize> {
                let with = sent.iter().enumerate().filter(|(_, it)| it.news().contains(text));
                with.map(|(at, _)| at).collect()
            };
            assert_eq!(has("TODO list (as of now):"), [1, 9], "{}", stage.kind);
            assert_eq!(has(NAG), [4, 7], "{}", stage.kind);
            assert!(sent[4].news().contains("3+ turns"), "{}: {}", stage.kind, sent[4].news());
        },
    );
}

#[test]
fn nags_are_off_by_setting_and_while_every_call_has_the_list() {
    let silent = |inject, off: bool| {
        move |mut stage: super::Stage| async move {
            stage.world.model.context.inject = inject;
            let mut policy = remind::Policy { nag_after: 1, ..remind::Policy::default() };
            policy.off = off.then_some(remind::Kind::Nag).into_iter().collect();
            stage.world.model.reminders = policy;
            stage.run(supervisor()).await;
            assert!(stage.sent().iter().all(|it| !it.text().contains(NAG)));
        }
    };
    one(forgets(3), silent(Inject::Always, false));
    one(forgets(3), silent(Inject::OnChange, true));
}

#[test]
fn the_user_has_the_conversation_summarised_and_the_next_turns_read_the_summary() {
    let script = || {
        Script::new()
            .calls_all([read("long.txt")])
            .stops("It is about play.")
            .stops("SUMMARY: the text is about play.")
            .stops("Blue.")
            .stops("SUMMARY: play, and blue.")
            .stops("Done.")
    };
    each(script, |stage| async move {
        let kind = stage.kind;
        std::fs::write(stage.path("long.txt"), "All work and no play.\n".repeat(100)).unwrap();
        let mut session = stage.session(supervisor()).await;
        stage.turn(&mut session, "What is it about?", Front::default()).await;
        let mut front = Front::default();
        session.compact(Some("the file's name"), &mut front).await.unwrap();
        let told = front.events.iter().find_map(|it| {
            let Event::Info(text) = it else { return None };
            Some(text.clone())
        });
        let told = told.unwrap_or_default();
        assert!(told.starts_with("4 messages of about "), "{kind}: {told}");
        let asked = stage.sent()[2].text();
        assert!(asked.contains("All work and no play."), "{kind}: {asked}");
        assert!(asked.contains("to be kept: the file's name"), "{kind}: {asked}");
        assert!(stage.sent()[2].tools().is_empty(), "{kind}");
        stage.turn(&mut session, "Which colour?", Front::default()).await;
        let next = stage.sent()[3].text();
        assert!(next.contains("SUMMARY: the text is about play."), "{kind}: {next}");
        assert!(!next.contains("All work and no play."), "{kind}: {next}");
        assert!(next.contains("Which colour?"), "{kind}: {next}");
        // A second one covers the first, and what was said since.
        session.compact(None, &mut Front::default()).await.unwrap();
        let asked = stage.sent()[4].text();
        assert!(asked.contains("SUMMARY: the text is about play.") && asked.contains("Blue."));
        stage.turn(&mut session, "Go on.", Front::default()).await;
        let last = stage.sent()[5].text();
        assert!(last.contains("SUMMARY: play, and blue."), "{kind}: {last}");
        assert!(!last.contains("about play.") && !last.contains("Which colour?"), "{kind}: {last}");
    });
}

#[test]
fn there_is_nothing_to_compact_before_the_first_turn_and_right_after_a_compaction() {
    let script = Script::new().stops("One.").stops("SUMMARY");
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let why = session.compact(None, &mut Front::default()).await.unwrap_err();
        assert_eq!(why.message, "there is nothing to compact yet");
        stage.turn(&mut session, "first", Front::default()).await;
        session.compact(None, &mut Front::default()).await.unwrap();
        let why = session.compact(None, &mut Front::default()).await.unwrap_err();
        assert_eq!(why.message, "there is nothing to compact yet");
    });
}

#[test]
fn a_message_that_arrives_during_a_compaction_waits_and_an_abort_changes_nothing() {
    let script = Script::new().stops("One.").turn(Message::new().says("SUMM").hangs());
    one(script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        stage.turn(&mut session, "first", Front::default()).await;
        let begins = |it: &Event| matches!(it, Event::Compacting);
        let queued = |it: &Event| matches!(it, Event::Queued(_));
        let mut front = Front::default()
            .when(begins, Input::Queue("later".to_owned()))
            .when(queued, Input::Abort);
        session.compact(None, &mut front).await.unwrap();
        assert_eq!(stage.waiting(session.id()).await, ["later"]);
        let told =
            |it: &Event| matches!(it, Event::Info(it) if it.contains("nothing was summarised"));
        assert!(front.events.iter().any(told), "{:?}", front.events);
        let store = stage.world.place.engine.store();
        let filter = EntryFilter { kind: Some("summary"), ..EntryFilter::default() };
        assert!(store.entries(session.id(), filter).await.unwrap().is_empty());
    });
}
