//! The rights of roles, made in the database itself.

use punchlist_model::store::Error;
use tokio_postgres::error::SqlState;

use super::runner::{self, Patience};
use super::{Options, Postgres, block_on, error};

/// What a role may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// Read everything.
    Viewer,
    /// Also do items: claim and complete them, record calls, and ask questions.
    Worker,
    /// Everything but changing the schema.
    Admin,
}

impl Right {
    /// All rights.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Worker, Self::Admin];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Worker => "worker",
            Self::Admin => "admin",
        }
    }

    /// The right with that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }
}

/// What a worker may write besides reading everything. Triggers check what it writes to plans, items, calls
/// and directories. They know a worker by its lack of the right to answer questions.
const OF_WORKERS: [&str; 9] = [
    "UPDATE ON punchlist.plan",
    "INSERT, UPDATE ON punchlist.item",
    "INSERT ON punchlist.journal",
    "INSERT, UPDATE (ended_at) ON punchlist.run",
    "INSERT ON punchlist.call",
    "INSERT (id, run, call, item, asked) ON punchlist.question",
    "INSERT, DELETE ON punchlist.recent_write",
    "INSERT, DELETE ON punchlist.notice",
    "INSERT, UPDATE, DELETE ON punchlist.checkout",
];

/// The statements that give a role exactly one right.
fn statements(role: &str, right: Right) -> String {
    let name = quoted(role);
    let mut sql = format!(
        "BEGIN; REVOKE ALL ON ALL TABLES IN SCHEMA punchlist FROM {name}; \
         REVOKE ALL ON SCHEMA punchlist FROM {name}; \
         GRANT USAGE ON SCHEMA punchlist TO {name}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA punchlist TO {name}; "
    );
    match right {
        Right::Viewer => {}
        Right::Worker => {
            for grant in OF_WORKERS {
                sql.push_str(&format!("GRANT {grant} TO {name}; "));
            }
        }
        Right::Admin => {
            sql.push_str(&format!(
                "GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA punchlist TO {name}; \
                 REVOKE INSERT, UPDATE, DELETE ON punchlist.schema_version FROM {name}; "
            ));
        }
    }
    sql + "COMMIT"
}

/// A name in SQL. A backslash has no meaning in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// What only the owner may do.
const NOT_OWNER: &str = "give rights: only the owner of the tables may";

/// Whether a right was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granted {
    /// It was.
    Yes,
    /// The server has no such role.
    NoRole,
}

/// Gives a role exactly this right. The caller owns the schema, or is a superuser.
pub fn grant(options: &Options, role: &str, right: Right) -> Result<Granted, Error> {
    let store = Postgres::open(options)?;
    let shared = std::sync::Arc::clone(&store.shared);
    let sql = statements(role, right);
    block_on(async move {
        let connection = runner::connection(&shared, &mut Patience::begin(&shared.options)).await?;
        // Without this, the server only warns that a role which is not the owner has given nothing.
        let owner = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class \
                     WHERE oid = 'punchlist.plan'::regclass";
        let owner = connection.client.query_typed(owner, &[]).await;
        let owner = owner.map_err(|why| error::explain(&shared.shown, why))?;
        if !owner.first().is_some_and(|row| row.try_get(0).unwrap_or(false)) {
            return Err(shared.shown.denied(NOT_OWNER));
        }
        let granted = connection.client.batch_execute(&sql).await;
        // After an error a transaction is still open.
        drop(deadpool::managed::Object::take(connection));
        match granted {
            Ok(()) => Ok(Granted::Yes),
            Err(why) if why.code() == Some(&SqlState::UNDEFINED_OBJECT) => Ok(Granted::NoRole),
            Err(why) if why.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                Err(shared.shown.denied(NOT_OWNER))
            }
            Err(why) => Err(error::explain(&shared.shown, why)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_a_name() {
        let sql = statements("a\"; DROP TABLE punchlist.plan; --'", Right::Worker);
        assert!(sql.contains("\"a\"\"; DROP TABLE punchlist.plan; --'\""), "{sql}");
        assert_eq!(Right::ALL.map(|it| Right::parse(it.as_str())), Right::ALL.map(Some));
        assert_eq!(Right::parse("owner"), None);
    }
}
