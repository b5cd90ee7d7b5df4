//! A connection, and the statements that it keeps ready.
//!
//! A verb makes a call or two and ends. Statements that are prepared to be kept cost it more than
//! they give, because SQLite takes other memory for them; so they are kept only once a store turns
//! out to be there for longer. The driver's own cache finds a statement by its whole text, which it
//! copies every time: that costs as much as a small query. Here a statement is found by where its text
//! stands in the program, so only texts that are part of it are kept.

use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};

use rusqlite::{Connection, PrepFlags, Statement};
use self_cell::self_cell;

/// How many calls a store answers before it keeps its statements.
pub(crate) const SHORT_STAY: u32 = 8;

/// A connection that is worked with.
pub(crate) struct Session<'c> {
    conn: &'c Connection,
    /// How many calls it was there for.
    calls: Cell<u32>,
    kept: RefCell<Vec<Kept<'c>>>,
    /// The one that was used last.
    last: Cell<usize>,
}

/// A statement that is kept; nothing while it is in use.
struct Kept<'c> {
    text: &'static str,
    statement: Option<Statement<'c>>,
    /// The one that was used after it, and mostly will be again.
    next: usize,
}

impl<'c> Session<'c> {
    /// At the beginning of what may be a short stay.
    pub(crate) fn new(conn: &'c Connection) -> Self {
        Self { conn, calls: Cell::default(), kept: RefCell::default(), last: Cell::default() }
    }

    /// For work that is done again and again.
    #[cfg(test)]
    pub(crate) fn lasting(conn: &'c Connection) -> Self {
        let session = Self::new(conn);
        session.stay();
        session
    }

    /// Another call is answered.
    pub(crate) fn called(&self) {
        self.calls.set(self.calls.get().saturating_add(1));
    }

    /// What is asked once will be asked again.
    pub(crate) fn stay(&self) {
        self.calls.set(self.calls.get().saturating_add(SHORT_STAY + 1));
    }

    /// Whether the store is there for longer.
    pub(crate) fn keeps(&self) -> bool {
        self.calls.get() > SHORT_STAY
    }

    /// A statement, ready to be run.
    pub(crate) fn statement(&self, text: &'static str) -> rusqlite::Result<Prepared<'_, 'c>> {
        if !self.keeps() {
            let statement = Some(self.conn.prepare(text)?);
            return Ok(Prepared { statement, home: None });
        }
        let mut kept = self.kept.borrow_mut();
        let is_it = |it: &Kept<'_>| std::ptr::eq(it.text, text);
        let last = self.last.get();
        let likely = kept.get(last).map(|it| it.next);
        let likely = likely.filter(|n| kept.get(*n).is_some_and(is_it));
        if let Some(n) = likely.or_else(|| kept.iter().position(is_it)) {
            if likely.is_none()
                && let Some(last) = kept.get_mut(last)
            {
                last.next = n;
            }
            self.last.set(n);
            // One that is in use, which is seldom, is prepared once more, and not kept.
            return Ok(match kept[n].statement.take() {
                Some(it) => Prepared { statement: Some(it), home: Some((self, n)) },
                None => Prepared { statement: Some(self.conn.prepare(text)?), home: None },
            });
        }
        let flags = PrepFlags::SQLITE_PREPARE_PERSISTENT;
        let statement = Some(self.conn.prepare_with_flags(text, flags)?);
        let home = Some((self, kept.len()));
        kept.push(Kept { text, statement: None, next: 0 });
        Ok(Prepared { statement, home })
    }
}

impl Deref for Session<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn
    }
}

/// A statement in use. One that is kept goes back to its place.
pub(crate) struct Prepared<'s, 'c> {
    /// Nothing only while it goes back.
    statement: Option<Statement<'c>>,
    home: Option<(&'s Session<'c>, usize)>,
}

impl<'c> Deref for Prepared<'_, 'c> {
    type Target = Statement<'c>;

    fn deref(&self) -> &Statement<'c> {
        present(self.statement.as_ref())
    }
}

impl<'c> DerefMut for Prepared<'_, 'c> {
    fn deref_mut(&mut self) -> &mut Statement<'c> {
        present(self.statement.as_mut())
    }
}

fn present<T>(statement: Option<T>) -> T {
    statement.expect("a statement in use is there until it is dropped")
}

impl Drop for Prepared<'_, '_> {
    fn drop(&mut self) {
        if let (Some(mut statement), Some((home, n))) = (self.statement.take(), self.home) {
            // A long text would be held until the next use.
            statement.clear_bindings();
            if let Some(kept) = home.kept.borrow_mut().get_mut(n) {
                kept.statement = Some(statement);
            }
        }
    }
}

/// A connection with its session.
pub(crate) struct Connected(Bound);

self_cell!(
    struct Bound {
        owner: Connection,
        #[not_covariant]
        dependent: Movable,
    }
);

struct Movable<'c>(Session<'c>);

#[expect(unsafe_code, reason = "a connection and its statements go to another thread together")]
// SAFETY: statements and their connection are used by one thread at a time, which is all that SQLite
// asks for. There is none of these but in a `Bound`, whose connection moves with it and can be had
// by reference only, by whoever has the `Bound`, which is not `Sync`.
unsafe impl Send for Movable<'_> {}

impl Connected {
    pub(crate) fn new(conn: Connection) -> Self {
        Self(Bound::new(conn, |conn| Movable(Session::new(conn))))
    }

    /// Does a piece of work with it.
    pub(crate) fn session<T>(&self, work: impl FnOnce(&Session<'_>) -> T) -> T {
        self.0.with_dependent(|_, Movable(session)| work(session))
    }
}

impl Deref for Connected {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0.borrow_owner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "SELECT ?1 + 1";

    fn runs(session: &Session<'_>) -> i32 {
        session.statement(TWO).unwrap().get_status(rusqlite::StatementStatus::Run)
    }

    fn two(session: &Session<'_>) -> i64 {
        session.statement(TWO).unwrap().query_row([1], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_short_stay_keeps_nothing_and_a_long_one_keeps_its_statements() {
        let connected = Connected::new(Connection::open_in_memory().unwrap());
        for n in 1..=SHORT_STAY + 3 {
            connected.session(|session| {
                session.called();
                assert_eq!(two(session), 2);
                // What has run is the same one as the last time, or a new one that has not.
                let kept = n.saturating_sub(SHORT_STAY);
                assert_eq!(runs(session), i32::try_from(kept).unwrap(), "call {n}");
            });
        }
    }

    #[test]
    fn a_statement_that_is_in_use_can_be_used_once_more() {
        let conn = Connection::open_in_memory().unwrap();
        let session = Session::lasting(&conn);
        let mut outer = session.statement(TWO).unwrap();
        let mut rows = outer.query([2]).unwrap();
        let row = rows.next().unwrap().unwrap();
        assert_eq!(two(&session), 2);
        assert_eq!(row.get::<_, i64>(0), Ok(3));
        drop(rows);
        drop(outer);
        assert_eq!((two(&session), runs(&session)), (2, 2));
    }

    #[test]
    fn nothing_is_left_of_what_a_statement_was_run_with() {
        let conn = Connection::open_in_memory().unwrap();
        let session = Session::lasting(&conn);
        assert_eq!(two(&session), 2);
        let mut again = session.statement(TWO).unwrap();
        let rows = again.raw_query().next().unwrap().unwrap().get::<_, Option<i64>>(0);
        assert_eq!(rows, Ok(None));
    }

    #[test]
    fn a_connection_goes_to_another_thread_with_its_statements() {
        let connected = Connected::new(Connection::open_in_memory().unwrap());
        connected.session(|session| session.stay());
        assert_eq!(connected.session(two), 2);
        let there = std::thread::spawn(move || (connected.session(two), connected.session(runs)));
        assert_eq!(there.join().unwrap(), (2, 2));
    }
}
