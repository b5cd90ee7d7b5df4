//! A front end that records events and does what a test wants when it sees one.

use std::collections::VecDeque;
use std::future::pending;

use futures_core::future::BoxFuture;
use punchlist_agent::session::{Event, FrontEnd, Input};

/// What is done at an event, once.
type Act = Box<dyn FnMut(&Event) -> Option<Input> + Send>;

/// A front end for tests.
#[derive(Default)]
pub(super) struct Front {
    pub(super) events: Vec<Event>,
    acts: Vec<Act>,
    inputs: VecDeque<Input>,
}

impl Front {
    /// Sends an input at the first event for which the function returns one.
    pub(super) fn at(mut self, act: impl FnMut(&Event) -> Option<Input> + Send + 'static) -> Self {
        self.acts.push(Box::new(act));
        self
    }

    /// Sends an input at the first event that fits.
    pub(super) fn when(self, fits: fn(&Event) -> bool, input: Input) -> Self {
        self.at(move |event| fits(event).then(|| input.clone()))
    }
}

impl Front {
    /// Sends what waits for any event.
    pub(super) fn act(&mut self) {
        self.event(Event::Compacted);
    }
}

impl FrontEnd for Front {
    fn event(&mut self, event: Event) {
        let mut inputs = Vec::new();
        self.acts.retain_mut(|act| match act(&event) {
            Some(input) => {
                inputs.push(input);
                false
            }
            None => true,
        });
        self.inputs.extend(inputs);
        self.events.push(event);
    }

    fn input(&mut self) -> BoxFuture<'_, Input> {
        Box::pin(async move {
            match self.inputs.pop_front() {
                Some(input) => input,
                None => pending().await,
            }
        })
    }
}
