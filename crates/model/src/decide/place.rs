//! Positions: where new items go, moving items, and taking items off the list.

use super::{Draft, Step, Stop};
use crate::command::{ItemRef, Mode, Place};
use crate::event::{Event, What};
use crate::id::{Number, Position};

impl Draft<'_> {
    /// The position that a new item gets.
    pub(super) fn position(&self, place: &Place) -> Result<Position, Stop> {
        let back = self.plan.back();
        Ok(match place {
            Place::Front => Position(1),
            Place::Back => back,
            Place::At(position) => Position(position.0.clamp(1, back.0)),
            Place::Before(item) => self.anchor(item)?.unwrap_or(back),
            Place::After(item) => {
                self.anchor(item)?.map_or(back, |position| Position(position.0 + 1))
            }
        })
    }

    /// The position of another item. In recorded mode an unknown item means the end of the list.
    fn anchor(&self, item: &ItemRef) -> Result<Option<Position>, Stop> {
        match self.resolve(item) {
            Ok(number) => Ok(self.position_of(number)),
            Err(_) if self.ctx.mode == Mode::Recorded => Ok(None),
            Err(stop) => Err(stop),
        }
    }

    pub(super) fn move_to(&mut self, number: Number, place: &Place) -> Step {
        let Some(from) = self.position_of(number) else { return Ok(()) };
        let slot = self.position(place)?;
        // `slot` is counted before the item leaves its old position. When it leaves, later
        // positions go down by one. `Place::At` names the final position, so it is not adjusted.
        let to = match place {
            Place::At(_) => Position(slot.0.min(self.plan.placed)),
            Place::Front | Place::Back | Place::Before(_) | Place::After(_) if slot > from => {
                Position(slot.0 - 1)
            }
            Place::Front | Place::Back | Place::Before(_) | Place::After(_) => slot,
        };
        self.reposition(number, to);
        Ok(())
    }

    pub(super) fn reposition(&mut self, number: Number, to: Position) {
        let Some(from) = self.position_of(number) else { return };
        if from != to {
            self.apply(Event::Moved { number, from, to });
        }
    }

    pub(super) fn supersede(&mut self, number: Number) {
        let Some(from) = self.position_of(number) else { return };
        self.change(number, What::Released, |item| item.claim = None);
        self.apply(Event::Superseded { number, from, at: self.ctx.now });
    }

    fn position_of(&self, number: Number) -> Option<Position> {
        self.plan.get(number)?.position
    }
}
