//! A terminal UI that is killed leaves a usable terminal, and its conversation goes on with queue and
//! questions.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::place::Place;
use super::transcript::{Transcript, items};
use super::{Round, Tally, scenario};
use crate::pseudo_terminal::PseudoTerminal;

/// How often one conversation is killed at most.
const KILLS_EACH: usize = 5;

/// How long a conversation may take that nobody kills.
const LIMIT: Duration = Duration::from_secs(90);

/// One command asks the person, the other does not.
const RULES: &str = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\n\
                     [[policy]]\ndecision = 'ask'\ncommand = 'sh ask.sh'\n";

/// Logs each real execution of a call.
const LOG: &str = "echo $1 >> log.txt; sleep 0.05\n";

/// How long the person thinks about a question.
const THINKS: Duration = Duration::from_millis(300);

/// What the person says, and what the model answers in the end.
const MESSAGES: [&str; 2] = ["one", "two"];
const ANSWERS: [&str; 2] = ["First is done.", "Second is done."];

#[test]
fn a_killed_ui_leaves_a_usable_terminal_and_its_conversation_queue_and_questions() {
    scenario("terminal UI", killed);
}

fn answers() -> Value {
    let call = |tool: &str, arguments: Value| json!({"tool": tool, "arguments": arguments});
    let shell = |line: &str| call("shell", json!({"command": line}));
    let complete =
        |n: &str| call("complete_todo", json!({"todoId": n, "outcome": format!("outcome of {n}")}));
    let create = call("create_todo", json!({"items": [{"title": "Dig"}, {"title": "Pour"}]}));
    json!({"answers": [
        {"calls": [create], "delay_ms": 150},
        {"calls": [shell("sh log.sh 1")], "delay_ms": 150},
        {"calls": [shell("sh ask.sh 2"), complete("1")], "delay_ms": 50},
        {"calls": [shell("sh log.sh 3"), complete("2")], "delay_ms": 50},
        {"text": ANSWERS[0], "delay_ms": 100},
        {"calls": [shell("sh log.sh 4")], "delay_ms": 50},
        {"text": ANSWERS[1], "delay_ms": 100},
    ]})
}

/// Kills the UI at random times; when a conversation has ended, another one begins.
fn killed(round: &mut Round<'_>) {
    let kills = round.of(6, 100);
    let mut whole = Conversation::new();
    let began = Instant::now();
    whole.live(None, round.tally);
    let took = began.elapsed();
    whole.check(round.tally);
    let expected = whole.plan();
    let mut done = 0;
    // Bounded, so that this ends even if every process is too quick.
    for _ in 0..kills * 2 {
        if done == kills || !round.tally.problems.is_empty() {
            break;
        }
        let mut conversation = Conversation::new();
        let most = KILLS_EACH.min(kills - done);
        let mut own = 0;
        while own < most && round.tally.problems.is_empty() {
            let most = u64::try_from(took.as_micros()).unwrap();
            let after = Duration::from_micros(round.chance.below(most));
            if !conversation.live(Some(after), round.tally) {
                break;
            }
            own += 1;
        }
        done += own;
        round.tally.kills += own;
        if round.tally.problems.is_empty() && !conversation.has_ended {
            conversation.live(None, round.tally);
        }
        conversation.check(round.tally);
        let plan = conversation.plan();
        round.tally.must(plan == expected, || format!("the plan differs: {plan} {expected}"));
    }
}

/// A person with a terminal, and what they have seen.
struct Conversation {
    place: Place,
    terminal: PseudoTerminal,
    /// Messages that were shown as sent or queued.
    shown: [bool; 2],
    /// The question was on the screen, and nobody answered it before the kill.
    is_asked: bool,
    /// The person has answered it. An answer that was stored before a kill still holds.
    has_answered: bool,
    has_ended: bool,
}

/// What the person has done since the UI was started.
#[derive(Default)]
struct Life {
    /// Since when the UI is on the screen.
    ready: Option<Instant>,
    resumed: bool,
    typed: [bool; 2],
    /// Since when the question is on the screen.
    seen: Option<Instant>,
    left: bool,
}

impl Conversation {
    fn new() -> Self {
        let place = Place::new();
        place.world.write("home/.config/punchlist/config.toml", RULES);
        place.world.write("scenario.json", answers().to_string());
        place.world.write("project/log.sh", LOG);
        place.world.write("project/ask.sh", LOG);
        let terminal = PseudoTerminal::open(&place.world, 80);
        Self {
            place,
            terminal,
            shown: [false; 2],
            is_asked: false,
            has_answered: false,
            has_ended: false,
        }
    }

    /// One life of the UI. Returns whether it was killed.
    fn live(&mut self, kill_after: Option<Duration>, tally: &mut Tally) -> bool {
        let is_stored = self.is_stored();
        let scenario = self.place.world.path("scenario.json").display().to_string();
        let db = self.place.db.display().to_string();
        self.terminal.starts(&format!("--db {db} --model scripted:{scenario}"));
        let killer = kill_after.map(|after| {
            let kill = self.terminal.killer();
            std::thread::spawn(move || kill(after))
        });
        tally.processes += 1;
        let mut life = Life { resumed: !is_stored, ..Life::default() };
        let until = Instant::now() + LIMIT;
        let end = loop {
            let ended = self.terminal.within(Duration::from_millis(20), |it| it.contains("\nend "));
            let Err(shown) = ended else { break true };
            if Instant::now() > until {
                tally.wrong(format!("it goes on and on:\n{shown}"));
                break false;
            }
            self.acts(&mut life, &shown, tally);
        };
        let killed = killer.is_some_and(|it| it.join().unwrap());
        if !end {
            return false;
        }
        let shown = self.terminal.shows();
        let how = if killed { "end 137" } else { "end 0" };
        tally.must(shown.contains(how), || format!("no {how:?}:\n{shown}"));
        if let Err(wrong) = self.terminal.is_restored() {
            tally.spoil(format!("the terminal is not restored: {wrong}"));
        }
        // Keys that the UI did not read may have reached the shell.
        self.terminal.types(&["Enter", "clear; echo us''able", "Enter"]);
        let is_usable = self.terminal.within(LIMIT, |it| it.contains("usable\n"));
        if let Err(shown) = is_usable {
            tally.spoil(format!("the terminal is not usable:\n{shown}"));
        }
        self.has_ended |= !killed;
        // What was on the screen is stored.
        let stored = self.messages();
        for (n, message) in MESSAGES.iter().enumerate() {
            let is_stored = stored.iter().any(|it| it == message);
            if self.shown[n] && !is_stored {
                tally.lose(format!("{message:?} was shown and is not stored: {stored:?}"));
            }
            self.shown[n] = is_stored;
        }
        killed
    }

    /// What the person does, by what is on the screen.
    fn acts(&mut self, life: &mut Life, shown: &str, tally: &mut Tally) {
        if !shown.contains("? keys") && !shown.contains("Esc ends") && !shown.contains("y once") {
            return;
        }
        if shown.contains("y once") {
            let since = *life.seen.get_or_insert_with(Instant::now);
            self.is_asked |= !self.has_answered;
            if since.elapsed() >= THINKS {
                // Keys do not count if the question has changed meanwhile, so again after a while.
                (life.seen, self.has_answered, self.is_asked) = (None, true, false);
                self.terminal.types(&["C-u", "y"]);
            }
            return;
        }
        life.seen = None;
        if !life.resumed {
            // The person looks first: a question of the last life may appear, and takes keys.
            let since = *life.ready.get_or_insert_with(Instant::now);
            if since.elapsed() < THINKS * 3 {
                return;
            }
            life.resumed = true;
            self.terminal.types(&["C-u", "/resume", "Enter"]);
            return;
        }
        for (n, message) in MESSAGES.iter().enumerate() {
            self.shown[n] |= shown.contains(&format!("> {message}"));
            self.shown[n] |= shown.contains(&format!("queued: {message}"));
        }
        if self.is_asked && shown.contains(ANSWERS[0]) {
            tally.lose(format!("the question is not asked again:\n{shown}"));
            self.is_asked = false;
        }
        let next = self.shown.iter().position(|it| !it);
        match next {
            Some(n) if !life.typed[n] => {
                life.typed[n] = true;
                self.terminal.types(&["C-u", MESSAGES[n], "Enter"]);
            }
            Some(_) => {}
            None => {
                let is_done = ANSWERS.iter().all(|it| shown.contains(it));
                let is_busy = shown.contains("Esc ends") || shown.contains("queued:");
                if is_done && !is_busy && !std::mem::replace(&mut life.left, true) {
                    self.terminal.types(&["C-u", "/quit", "Enter"]);
                }
            }
        }
    }

    fn is_stored(&self) -> bool {
        let all = self.place.run(&["sessions", "--json"]).json();
        all["sessions"].get(0).is_some_and(|it| it["turns"] != 0)
    }

    /// What the person said, as far as it is stored: the turns, and the queue.
    fn messages(&self) -> Vec<String> {
        let text = |it: &Value| it["text"].as_str().map(str::to_owned);
        let mut messages = Transcript::read(&self.place).said;
        let queue = self.place.run(&["sessions", "queue", "--json"]);
        if queue.code == 0 {
            let queue = queue.json();
            messages.extend(queue["messages"].as_array().into_iter().flatten().filter_map(text));
        }
        messages
    }

    fn plan(&self) -> Value {
        items(&self.place)
    }

    /// Checks that each message was worked on once, and that no call ran twice.
    fn check(&self, tally: &mut Tally) {
        if !self.has_ended {
            return;
        }
        let transcript = Transcript::read(&self.place);
        tally.must(transcript.said == MESSAGES, || format!("{:?}", transcript.said));
        transcript.check(7, 4, |tool| (tool == "shell").then_some("command"), tally);
    }
}
