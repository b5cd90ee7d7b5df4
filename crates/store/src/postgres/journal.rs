//! The journal: one row per change.

use punchlist_model::store::Entry;
use punchlist_model::{PlanId, Revision, WriteId};

use super::error::Failure;
use super::load::{self, plan_key};
use super::tx::{Answer, Tx};
use super::values::{Value, params, texts};
use crate::journal::{entry, entry_columns};
use crate::rows::{self, PlanKey, signed};

/// Appends an entry with the id of its write.
pub(crate) fn append(tx: &Tx, key: PlanKey, write: WriteId, entry: &Entry) {
    append_all(tx, key, Some(write), std::slice::from_ref(entry));
}

/// Appends entries. Imported entries have no write id.
pub(crate) fn append_all(tx: &Tx, key: PlanKey, write: Option<WriteId>, entries: &[Entry]) {
    let ints = |of: fn(&Entry) -> Option<i64>| Value::Ints(entries.iter().map(of).collect());
    let all = |of: fn(&Entry) -> String| texts(entries.iter().map(of));
    tx.run(
        "INSERT INTO punchlist.journal(plan, write_id, revision, at, actor_kind, actor, kind, undoes, \
         events) SELECT $1, $2, n.revision, n.at, n.actor_kind, n.actor, n.kind, n.undoes, n.events \
         FROM unnest($3::int8[], $4::int8[], $5::text[], $6::text[], $7::text[], $8::int8[], \
         $9::text[]) AS n(revision, at, actor_kind, actor, kind, undoes, events) ORDER BY n.revision",
        vec![
            Value::from(key.0),
            Value::from(write.map(|it| it.to_string())),
            ints(|it| Some(signed(it.revision))),
            ints(|it| Some(rows::millis(it.at))),
            all(|it| it.actor.kind.as_str().to_owned()),
            all(|it| it.actor.name.clone()),
            all(|it| it.kind.as_str().to_owned()),
            ints(|it| it.undoes.map(signed)),
            all(|it| rows::json(&it.events)),
        ],
    );
}

/// The entry of one of some writes, asked for.
pub(crate) struct Repeated {
    plan: PlanId,
    answer: Option<Answer>,
}

/// Asks for the entry of one of these writes.
pub(crate) fn of_writes(tx: &Tx, plan: PlanId, writes: &[WriteId]) -> Repeated {
    const SQL: &str = concat!(
        "SELECT ",
        entry_columns!(),
        " FROM punchlist.journal AS journal WHERE plan = ",
        plan_key!(),
        " AND write_id = ANY($2)"
    );
    let answer = (!writes.is_empty()).then(|| {
        let writes = texts(writes.iter().map(ToString::to_string));
        tx.query(SQL, vec![Value::from(plan.to_string()), writes])
    });
    Repeated { plan, answer }
}

impl Repeated {
    /// The entry, if there is one.
    pub(crate) async fn get(self) -> Result<Option<Entry>, Failure> {
        let Some(answer) = self.answer else { return Ok(None) };
        answer.await?.first().map(|row| entry(row, self.plan)).transpose()
    }
}

/// Entries that were asked for.
pub(crate) struct Entries {
    plan: PlanId,
    after: Revision,
    most: u32,
    answer: Answer,
}

/// Asks for the entries of a plan after a revision, oldest first.
pub(crate) fn after(tx: &Tx, plan: PlanId, after: Revision, most: u32) -> Entries {
    const SQL: &str = concat!(
        "SELECT ",
        entry_columns!(),
        " FROM punchlist.journal AS journal WHERE plan = ",
        plan_key!(),
        " AND journal.revision > $2 ORDER BY journal.revision LIMIT $3"
    );
    let answer = tx.query(SQL, params![plan.to_string(), signed(after), most]);
    Entries { plan, after, most, answer }
}

impl Entries {
    /// The entries, without gaps up to `revision`, which the plan has.
    pub(crate) async fn get(self, revision: Revision) -> Result<Vec<Entry>, Failure> {
        let (mut entries, mut last) = (Vec::new(), self.after);
        // A gap must not look as if nothing had happened.
        let missing = |last: Revision| {
            Failure::Strange(format!("the entry after {last} of the journal is missing"))
        };
        for row in self.answer.await? {
            let entry = entry(&row, self.plan)?;
            if entry.revision.0 != last.0.saturating_add(1) {
                return Err(missing(last));
            }
            last = entry.revision;
            entries.push(entry);
        }
        let is_all = u32::try_from(entries.len()).is_ok_and(|it| it < self.most);
        if is_all && last < revision { Err(missing(last)) } else { Ok(entries) }
    }
}

/// The journal of a plan.
pub(crate) async fn list(
    tx: &Tx,
    plan: PlanId,
    after: Revision,
    most: u32,
) -> Result<Vec<Entry>, Failure> {
    let (header, entries) = (load::header(tx, plan), self::after(tx, plan, after, most));
    let (_, plan) = header.get().await?;
    entries.get(plan.revision).await
}

/// Replaces the events of an entry. Only `forget` does this.
pub(crate) fn rewrite(tx: &Tx, key: PlanKey, entry: &Entry) {
    tx.run(
        "UPDATE punchlist.journal SET events = $3 WHERE plan = $1 AND revision = $2",
        params![key.0, signed(entry.revision), rows::json(&entry.events)],
    );
}
