//! A plan file, run by a program that answers its questions.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::collections::VecDeque;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_engine::fail::Fail;
use punchlist_engine::run::{
    Board, Caller, Event, FrontEnd, Input, Options, Permissions, Person, Source, Surroundings, run,
};
use punchlist_engine::{Around, System};
use punchlist_model::call::Answer;
use punchlist_model::{Actor, Ctx, Limits, Timestamp};
use punchlist_sched::policy::Policy;
use punchlist_sched::process;

/// Answers every question with yes and prints what happens.
#[derive(Default)]
struct Yes(VecDeque<Input>);

impl FrontEnd for Yes {
    fn warn(&mut self, text: &str) {
        println!("warning: {text}");
    }

    fn say(&mut self, text: &str, _: Timestamp) -> Result<(), Fail> {
        println!("{text}");
        Ok(())
    }

    fn confirm<'a>(&'a mut self, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(true))
    }

    fn event(&mut self, event: Event<'_>, board: &Board, now: Timestamp) -> Result<(), Fail> {
        if let Event::Question(asked) = event {
            println!("{}: {}", asked.title, asked.what);
            self.0.push_back(Input::Answer(asked.id, Answer::Once));
        }
        if let Event::Completed { item, .. } = event
            && let Some(step) = board.step(item, now.as_millisecond())
        {
            println!("{}: {:?}", step.title, step.state);
        }
        Ok(())
    }

    fn draw(&mut self, _: &Board, _: Timestamp) -> Result<(), Fail> {
        Ok(())
    }

    fn input(&mut self) -> BoxFuture<'_, Result<Input, Fail>> {
        match self.0.pop_front() {
            Some(input) => Box::pin(std::future::ready(Ok(input))),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A plan with commands also needs `guardian::enter_if_called()` as the first line of `main`.
    let place = tempfile::tempdir()?;
    let file = place.path().join("soup.md");
    std::fs::write(&file, "# Soup\n\n- [ ] Cook\n- [ ] Taste\n  after: Cook\n")?;
    let now = System.now();
    let ctx = Ctx { actor: Actor::person("ann"), ..Ctx::new("ann", now, System.ids(now)?) };
    let caller = Caller {
        ctx,
        process: None,
        project: "kitchen".to_owned(),
        person: Person { is_there: true, is_agent: false },
        around: Arc::new(System),
    };
    let surroundings = Surroundings {
        store: punchlist_store::sqlite(place.path().join("plans.db"))?,
        caller,
        data: place.path().to_owned(),
        rules_file: place.path().join("rules.toml"),
        environment: Vec::new(),
        processes: process::Options::this_program()?,
    };
    let nothing = || Policy::new(Vec::new(), Vec::new());
    let permissions = Permissions { steps: nothing(), checks: nothing(), is_consent_given: false };
    let options = Options::default();
    let source = Source::read(&file, &Limits::default()).map_err(|why| why.message)?;
    let ended = run(source, &options, &surroundings, &permissions, &mut Yes::default()).await;
    let ended = ended.map_err(|why| why.message)?;
    println!("{}", ended.words());
    let text = std::fs::read_to_string(&file)?;
    assert_eq!((ended.code(), text.matches("[x]").count()), (None, 2), "{text}");
    Ok(())
}
