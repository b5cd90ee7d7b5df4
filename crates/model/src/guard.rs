//! May this turn end? The governor, as a pure machine.
