//! Questions of members: asked on the team's screen, answered there or elsewhere.

use punchlist_agent::workers::WorkerEnd;
use punchlist_model::call::{Answer, Answered, Asked, Question, Reach, Standing};
use punchlist_model::{Actor, IdSource, QuestionId, RunId, Timestamp};

use super::*;
use crate::prompt::PAUSE_MS;
use crate::prompt::tests::asked;

impl Harness {
    fn appears(&mut self, member: usize, number: u32) -> Asked {
        let name = self.model.members[member].shown.name.clone();
        let asked = Asked { title: name, ..asked(number, "shell") };
        self.msg(Msg::Report(Report::Asked { member, asked: Box::new(asked.clone()) }));
        asked
    }

    /// A member asks, and the person has read the question.
    fn asks(&mut self, member: usize, number: u32) -> Asked {
        let asked = self.appears(member, number);
        self.pauses(PAUSE_MS);
        asked
    }

    /// Time passes.
    fn pauses(&mut self, ms: i64) {
        let now = self.model.now.as_millisecond() + ms;
        self.msg(Msg::Tick(Timestamp::from_millisecond(now).unwrap()));
    }

    fn settles(&mut self, asked: &Asked, standing: Standing) -> &mut Self {
        let question = Question {
            run: RunId(IdSource::fixed(at(0), 9).nth(0)),
            project: "/home/me/shop".to_owned(),
            plan: None,
            asked: asked.clone(),
            standing,
        };
        self.msg(Msg::Report(Report::Settled { question: Box::new(question) }))
    }
}

fn answer(id: QuestionId, answer: Answer) -> Intent {
    Intent::Answer(id, answer)
}

#[test]
fn a_question_of_a_member_is_asked_with_its_name_and_every_answer_is_a_key() {
    let mut team = Harness::new(80, 24);
    team.press("@max fix it\r");
    team.intended();
    let keys = [
        ("y", Answer::Once),
        ("n", Answer::Refuse(None)),
        ("rnot today\r", Answer::Refuse(Some("not today".to_owned()))),
        ("q", Answer::RefuseAndStop(None)),
    ];
    for (number, (keys, expected)) in (1..).zip(keys) {
        let asked = team.asks(0, number);
        let screen = team.screen();
        assert!(screen.contains("Max wants to run"), "{screen}");
        assert!(screen.contains("./publish.sh --prod"), "{screen}");
        assert!(screen.contains("● Max") && screen.contains("asks you"), "{screen}");
        team.press(keys);
        assert_eq!(team.intended(), [answer(asked.id, expected)], "{keys}");
        assert!(!team.screen().contains("wants to run"), "{}", team.screen());
    }
    let asked = team.asks(0, 7);
    team.press("a");
    assert!(team.screen().contains("this would be added to /home/me/config.toml:"));
    team.press("p");
    let rules = punchlist_formats::view::questions::sets(&asked)[0].to_vec();
    let always = Answer::Always { rules: rules.clone(), reach: Reach::Project };
    assert_eq!(team.intended(), [answer(asked.id, always)]);
    let asked = team.asks(0, 8);
    team.press("s");
    assert_eq!(team.intended(), [answer(asked.id, Answer::Session(rules))]);
    let asked = team.asks(0, 9);
    team.press("e --dry\r");
    assert_eq!(team.intended(), [], "it is confirmed first");
    team.press("y");
    let changed = json!({"item": 9, "command": "./publish.sh --prod --dry"});
    assert_eq!(team.intended(), [answer(asked.id, Answer::Modify(changed))]);
}

#[test]
fn questions_of_several_members_are_asked_one_after_the_other() {
    let mut team = Harness::new(80, 24);
    team.press("@all go\r");
    team.intended();
    let (first, second) = (team.asks(1, 1), team.asks(0, 2));
    assert!(team.screen().contains("Kim wants to run"), "{}", team.screen());
    assert!(team.screen().contains("1 of 2 waiting"), "{}", team.screen());
    team.press("y");
    assert!(team.screen().contains("Max wants to run"), "{}", team.screen());
    team.press("n");
    assert_eq!(
        team.intended(),
        [answer(first.id, Answer::Once), answer(second.id, Answer::Refuse(None))]
    );
}

#[test]
fn a_question_that_is_answered_elsewhere_vanishes_with_a_line_that_says_by_whom() {
    let mut team = Harness::new(80, 24);
    team.press("@max go\r");
    team.intended();
    let asked = team.asks(0, 1);
    let by = Actor::person("ann".to_owned());
    let answered = Answered { answer: Answer::Once, by, at: at(1) };
    team.settles(&asked, Standing::Answered(answered));
    let screen = team.screen();
    assert!(screen.contains("Max was answered by ann: yes, once"), "{screen}");
    assert!(!screen.contains("wants to run"), "{screen}");
    // One that is answered here is not told twice.
    let asked = team.asks(0, 2);
    team.press("y");
    let answered = Answered { answer: Answer::Once, by: Actor::person("me".to_owned()), at: at(1) };
    team.settles(&asked, Standing::Answered(answered));
    assert!(!team.screen().contains("answered by me"), "{}", team.screen());
}

#[test]
fn a_question_goes_with_the_turn_of_its_member() {
    let mut team = Harness::new(80, 24);
    team.press("@all go\r");
    team.intended();
    team.asks(0, 1);
    let kims = team.asks(1, 2);
    team.ends(0, WorkerEnd::Failed("ended by signal 9 (SIGKILL)".to_owned()), "");
    assert!(team.screen().contains("Kim wants to run"), "{}", team.screen());
    team.press("y");
    assert_eq!(team.intended(), [answer(kims.id, Answer::Once)]);
    team.asks(2, 3);
    team.press("\u{1b}");
    let cancelled: Vec<Intent> = vec![Intent::Cancel(1), Intent::Cancel(2)];
    assert_eq!(team.intended(), cancelled, "Esc ends the turns");
}

#[test]
fn a_question_takes_no_keys_from_somebody_who_types() {
    let mut team = Harness::new(80, 24);
    team.press("@max go\r");
    team.intended();
    team.press("@kim wh");
    let asked = team.appears(0, 1);
    team.press("y not");
    assert_eq!(team.intended(), []);
    assert!(team.screen().contains("@kim why not"), "{}", team.screen());
    assert!(team.screen().contains("stop typing to answer"), "{}", team.screen());
    // After a pause, it does; the text stays.
    team.pauses(PAUSE_MS);
    team.press("y");
    assert_eq!(team.intended(), [answer(asked.id, Answer::Once)]);
    assert!(team.screen().contains("@kim why not"), "{}", team.screen());
}

#[test]
fn a_question_fits_every_size() {
    for (columns, rows) in [(40, 10), (80, 24), (120, 40), (200, 60)] {
        let mut team = Harness::new(columns, rows);
        team.press("@all go\r").lists(0, &[("A", "pending"), ("B", "pending")]);
        let asked = team.asks(0, 1);
        assert!(team.screen().contains("y "), "{columns}×{rows}\n{}", team.screen());
        team.intended();
        team.press("y");
        assert_eq!(team.intended(), [answer(asked.id, Answer::Once)]);
    }
}

#[test]
fn a_message_can_be_written_while_a_question_waits() {
    let mut team = Harness::new(80, 24);
    team.press("@max go\r");
    team.intended();
    let asked = team.asks(0, 1);
    team.press("@kim ");
    // However long the person thinks, the letters are the message's.
    team.pauses(60_000);
    team.press("yes, no\r");
    assert_eq!(team.intended(), [Intent::Send(1, "yes, no".to_owned())]);
    team.pauses(PAUSE_MS);
    team.press("y");
    assert_eq!(team.intended(), [answer(asked.id, Answer::Once)]);
}
