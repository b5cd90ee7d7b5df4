//! The engine over the store in memory, event by event.
