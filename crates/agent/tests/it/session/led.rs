//! Sessions that the program of another agent leads, with a clock that tests can advance. The binary's tests
//! have the rest.

use std::fs;
use std::sync::Arc;

use jiff::tz::TimeZone;
use punchlist_agent::leader::{Leader, LeaderPlace, LeadingProgram};
use punchlist_agent::session::Event;
use punchlist_agent::turn::{Abort, Ending};
use punchlist_engine::Around;
use punchlist_engine::workers::Agent;
use punchlist_testkit::model::Script;

use super::front_end::Front;
use super::{Stage, one};

/// Says something twice and never ends. The usage of a message is known when the next one begins.
const SPENDS: &str = r#"
echo began >> began.txt
echo '{"type":"system","subtype":"init","cwd":"/p","session_id":"s-1","tools":[],"model":"m","claude_code_version":"2.1.197"}'
for id in 1 2; do
  echo '{"type":"assistant","message":{"id":"'$id'","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Still."}],"usage":{"input_tokens":100,"output_tokens":10}},"parent_tool_use_id":null,"session_id":"s-1"}'
done
sleep 600
"#;

/// A leader whose program is this script.
fn leader(stage: &Stage, script: &'static str, budget: &str) -> Leader {
    let place = &stage.world.place;
    let words = move |_: Option<&str>, _: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
    Leader {
        program: LeadingProgram {
            agent: Agent::Claude,
            command_line: Arc::new(words),
            model: None,
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            processes: stage.world.tools.processes.clone(),
        },
        place: LeaderPlace {
            engine: place.engine.clone(),
            around: Arc::clone(&place.around),
            time_zone: TimeZone::UTC,
            project: place.project.clone(),
            directory: place.directory.clone(),
            process: None,
            person: stage.world.user.person.clone(),
        },
        plan: None,
        goal: None,
        continues: None,
        budget: budget.parse().unwrap(),
        wait_for_quota: true,
    }
}

/// Why the budget ended a led session.
async fn reached(leader: &Leader, mut front: Front) -> String {
    let led = leader.lead("Build it", "Build it", &mut front).await.unwrap();
    let Ending::Aborted(Abort::Budget(why)) = led.ended.ending else {
        panic!("{:?}: {}", led.ended.ending, led.said)
    };
    why
}

#[test]
fn minutes_of_a_day_end_the_program_and_the_next_does_not_begin() {
    one(Script::new(), |stage| async move {
        // Not over midnight.
        let minute = stage.clock.now().as_second() / 60 % (24 * 60);
        stage.clock.advance(24 * 60 - minute + 1);
        let clock = stage.clock.clone();
        let front = Front::default().at(move |it| {
            if matches!(it, Event::Text(_)) {
                clock.advance(40);
            }
            None
        });
        let leader = leader(&stage, SPENDS, "day.minutes=60");
        for front in [front, Front::default()] {
            let why = reached(&leader, front).await;
            assert!(why.starts_with("the budget of this day is used up: 8"), "{why}");
            assert!(why.ends_with(" of 60 minutes are over"), "{why}");
        }
        let began = fs::read_to_string(stage.path("began.txt")).unwrap();
        assert_eq!(began, "began\n", "the second was not started");
        // Another day.
        stage.clock.advance(24 * 60);
        let other = self::leader(&stage, SPENDS, "day.minutes=60,tokens=100");
        assert_eq!(reached(&other, Front::default()).await, "110 of 100 tokens are used");
    });
}
