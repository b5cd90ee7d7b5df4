//! When to remind an agent of its list, and what that cost: a pure policy with a ledger.
