//! How the database is reached.

use std::time::Duration;

use punchlist_model::store::Durability;

use super::address::Address;

/// The options of a store on PostgreSQL.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the database is.
    pub address: Address,
    /// Whose clock decides when leases end.
    pub clock: Clock,
    /// What an acknowledged change survives. `Full` is whatever the server's `synchronous_commit` says.
    pub durability: Durability,
    /// How many connections a process opens at most.
    pub connections: usize,
    /// How long a call tries again while the server is away, if not as long as this process is set to
    /// wait.
    pub patience: Option<Duration>,
}

impl Options {
    /// The options for an address, with the server's clock.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            clock: Clock::Server,
            durability: Durability::Full,
            connections: 16,
            patience: None,
        }
    }
}

/// Whose clock decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// The server's: the store replaces the time that a caller gives, inside the transaction.
    #[default]
    Server,
    /// The caller's, for tests.
    Caller,
}
