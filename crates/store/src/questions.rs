//! Questions to a person, one row each.
//!
//! The content is written once and changes only by `forget`. The state is not stored: it is derived
//! from the answer and from the state of the call.

use punchlist_model::call::{AnswerOutcome, Answered, Asked, Question, QuestionFilter, Standing};
use punchlist_model::store::Error;
use punchlist_model::{PlanId, QuestionId, RunId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::calls::{self, RunKey};
use crate::columns::{Columns, optional_parsed, string};
use crate::load::Failure;
use crate::rows::{self, PlanKey};

/// The columns of a question, in the order in which [`question`] reads them.
macro_rules! select_question {
    ($rest:literal) => {
        concat!(
            "SELECT question.id, run.id, run.project, plan.id, (SELECT state FROM call \
             WHERE run = question.run AND number = question.call ORDER BY seq DESC LIMIT 1) \
             AS state, answer, asked FROM question JOIN run ON run.key = question.run \
             LEFT JOIN plan ON plan.key = run.plan ",
            $rest
        )
    };
}

/// Stores a question. Its call must exist.
pub(crate) fn ask(conn: &Connection, id: RunId, run: RunKey, asked: Asked) -> Result<(), Failure> {
    let mut select = conn.prepare_cached("SELECT 1 FROM call WHERE run = ?1 AND number = ?2")?;
    if !select.exists(params![run.0, asked.call])? {
        return Err(Error::NoCall { run: id, call: asked.call }.into());
    }
    let mut insert = conn.prepare_cached(
        "INSERT INTO question(id, run, call, item, asked) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    insert.execute(params![
        asked.id.to_string(),
        run.0,
        asked.call,
        asked.item.map(|it| it.0),
        rows::json(&asked),
    ])?;
    Ok(())
}

/// The questions that match, oldest first.
pub(crate) fn list(conn: &Connection, filter: &QuestionFilter) -> Result<Vec<Question>, Failure> {
    // For one run, only that run's rows are read: a running process asks after every change.
    let mut select = conn.prepare_cached(if filter.run.is_some() {
        select_question!(
            "WHERE (?1 IS NULL OR run.project = ?1) AND run.id = ?2 \
             AND NOT (?3 AND (answer IS NOT NULL OR state <> 'awaiting_approval')) \
             ORDER BY question.id DESC"
        )
    } else {
        select_question!(
            "WHERE (?1 IS NULL OR run.project = ?1) AND ?2 IS NULL \
             AND NOT (?3 AND (answer IS NOT NULL OR state <> 'awaiting_approval')) \
             ORDER BY question.id DESC"
        )
    })?;
    let most = filter.most.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX));
    let run = filter.run.map(|run| run.to_string());
    let mut rows = select.query(params![filter.project, run, filter.waiting])?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.next()?
    {
        let id = rows::parsed(row, 0, str::parse::<QuestionId>)?;
        if filter.names(id) {
            found.push(question(row)?);
        }
    }
    found.reverse();
    Ok(found)
}

/// Answers a question, unless it has an answer.
pub(crate) fn answer(
    conn: &Connection,
    id: QuestionId,
    answered: Answered,
) -> Result<AnswerOutcome, Failure> {
    let mut select = conn.prepare_cached(select_question!("WHERE question.id = ?1"))?;
    let found = select.query_row([id.to_string()], |row| question(row)).optional()?;
    let outcome = found.ok_or(Error::NoQuestion(id))?.answered(answered);
    if let AnswerOutcome::Taken(question) = &outcome
        && let Standing::Answered(answered) = &question.standing
    {
        let mut update = conn.prepare_cached("UPDATE question SET answer = ?2 WHERE id = ?1")?;
        update.execute(params![id.to_string(), rows::json(answered)])?;
    }
    Ok(outcome)
}

pub(crate) fn question<R: Columns>(row: &R) -> Result<Question, R::Error> {
    let content = rows::from_json(row, 6)?;
    Ok(Question {
        run: rows::parsed(row, 1, str::parse::<RunId>)?,
        project: string(row, 2)?,
        plan: optional_parsed(row, 3, str::parse::<PlanId>)?,
        asked: content.ok_or_else(|| R::strange(6, "a question without content"))?,
        standing: Standing::of(rows::from_json(row, 5)?, calls::state(row, 4)?),
    })
}

/// Erases the texts of the questions for one item, or of all runs on a plan.
pub(crate) fn forget(conn: &Connection, plan: PlanKey, item: Option<u32>) -> Result<(), Failure> {
    let mut select = conn.prepare_cached(
        "SELECT question.id, answer, asked FROM question JOIN run ON run.key = question.run \
         WHERE run.plan = ?1 AND (?2 IS NULL OR item = ?2)",
    )?;
    let found = select.query_map(params![plan.0, item], |row| {
        let asked: Option<Asked> = rows::from_json(row, 2)?;
        Ok((row.get::<_, String>(0)?, rows::from_json::<_, Answered>(row, 1)?, asked))
    })?;
    let found = found.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut update =
        conn.prepare_cached("UPDATE question SET answer = ?2, asked = ?3 WHERE id = ?1")?;
    for (id, mut answer, asked) in found {
        let mut asked = asked.ok_or_else(|| Row::strange(2, "a question without content"))?;
        asked.forget();
        if let Some(answer) = &mut answer {
            answer.forget();
        }
        update.execute(params![id, answer.as_ref().map(rows::json), rows::json(&asked)])?;
    }
    Ok(())
}
