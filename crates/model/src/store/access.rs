//! Who may use the HTTP server: tokens, one-time codes and browser sessions, the path of the pages, and
//! which servers run.
//!
//! A store keeps the digest of a secret, never the secret. It decides nothing but what must be decided
//! inside one transaction: that a name is free, and that a code is redeemed once.

use futures_core::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Error, kept};
use crate::actor::Process;
use crate::id::GrantId;

/// The store of grants and servers. The promises are those of [`super::PlanStore`]: each method is one
/// transaction. Whoever waits for [`crate::call::CallStore::news`] is woken by each change.
pub trait AccessStore: Send + Sync {
    /// Adds a grant. Returns false, and adds nothing, if it is a token and another token of that name is
    /// in force. Codes and browser sessions that ended or expired more than [`KEPT_DAYS`] days before
    /// `grant.created_at` are deleted; tokens are kept.
    fn add_grant(&self, grant: Grant) -> BoxFuture<'_, Result<bool, Error>>;

    /// One grant, whether or not it is in force.
    fn grant(&self, id: GrantId) -> BoxFuture<'_, Result<Option<Grant>, Error>>;

    /// All grants of a kind, in force or not, in the order of their ids.
    fn grants(&self, kind: GrantKind) -> BoxFuture<'_, Result<Vec<Grant>, Error>>;

    /// Ends a grant. Returns whether this call ended it: false if there is none, or if it had ended.
    fn end_grant(&self, id: GrantId, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>>;

    /// Ends a code and adds the session that is given for it. Returns false, and changes nothing, unless
    /// `code` is a code that is in force at `now`: of many callers, one gets `true`.
    fn redeem(
        &self,
        code: GrantId,
        session: Grant,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, Error>>;

    /// The path below which browsers find the pages. The first caller's proposal is stored; later callers
    /// get that one.
    fn site(&self, proposed: String) -> BoxFuture<'_, Result<String, Error>>;

    /// Records a running server. It replaces the record with the same host and address.
    fn keep_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>>;

    /// The recorded servers, in the order of host and address. A server that was killed is still recorded;
    /// its process tells.
    fn servers(&self) -> BoxFuture<'_, Result<Vec<ServerRecord>, Error>>;

    /// Deletes the record of a server, if it is still the record of this process.
    fn remove_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>>;
}

/// How many days a code or browser session is kept after its end.
pub const KEPT_DAYS: i64 = 1;

/// What somebody may do over HTTP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Also changes plans, as an agent.
    Worker,
    /// A person: also answers questions and approves items.
    Admin,
}

impl Role {
    /// All roles, the weakest first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Worker, Self::Admin];

    /// The name on the command line and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Worker => "worker",
            Self::Admin => "admin",
        }
    }

    /// The role with that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

/// What a grant is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GrantKind {
    /// A bearer token of a program.
    Token,
    /// A code that is exchanged, once, for a browser session.
    Code,
    /// The cookie of a browser.
    Browser,
}

impl GrantKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Token, Self::Code, Self::Browser];

    /// The name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Code => "code",
            Self::Browser => "browser",
        }
    }

    /// The kind with that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// A secret's digest, and what the owner of the secret may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Its id, which is no secret.
    pub id: GrantId,
    /// What it is.
    pub kind: GrantKind,
    /// The name under which its owner acts: the token's name, or the person's.
    pub name: String,
    /// What its owner may do.
    pub role: Role,
    /// The only project that its owner sees; `None` means all projects.
    pub project: Option<String>,
    /// The SHA-256 digest of the secret.
    pub digest: [u8; 32],
    /// When it was created.
    pub created_at: Timestamp,
    /// From when on it is no longer in force.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, redeemed or signed out.
    pub ended_at: Option<Timestamp>,
}

impl Grant {
    /// Whether it is in force.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.ended_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }

    /// Whether a store may delete it.
    pub fn is_old(&self, now: Timestamp) -> bool {
        let over = match (self.ended_at, self.expires_at) {
            (Some(ended), Some(expires)) => Some(ended.min(expires)),
            (ended, expires) => ended.or(expires),
        };
        self.kind != GrantKind::Token && over.is_some_and(|over| over < kept_since(now))
    }

    /// The grant as stores keep it: times to the millisecond.
    #[must_use]
    pub fn kept(self) -> Self {
        Self {
            created_at: kept(self.created_at),
            expires_at: self.expires_at.map(kept),
            ended_at: self.ended_at.map(kept),
            ..self
        }
    }
}

/// Codes and browser sessions that were over before this time are deleted.
pub fn kept_since(now: Timestamp) -> Timestamp {
    let since = now.as_second().saturating_sub(KEPT_DAYS * 24 * 60 * 60);
    kept(Timestamp::from_second(since).unwrap_or(Timestamp::MIN))
}

/// A running server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerRecord {
    /// The address that it listens on: `127.0.0.1:7878`.
    pub address: String,
    /// The origin under which browsers reach it: `http://127.0.0.1:7878`.
    pub origin: String,
    /// Its process.
    pub process: Process,
    /// When it started.
    pub started_at: Timestamp,
}
