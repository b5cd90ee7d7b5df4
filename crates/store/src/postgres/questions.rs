//! Questions to a person, one row each.

use punchlist_model::call::{AnswerOutcome, Answered, Asked, Question, QuestionFilter, Standing};
use punchlist_model::store::Error;
use punchlist_model::{Number, QuestionId, RunId};

use super::calls::RunKey;
use super::error::Failure;
use super::tx::Tx;
use super::values::params;
use crate::columns::{self, Columns, string};
use crate::questions::question;
use crate::rows::{self, PlanKey};

/// The columns of a question, in the order in which [`question`] reads them.
macro_rules! select_question {
    ($rest:literal) => {
        concat!(
            "SELECT q.id, run.id, run.project, plan.id, s.state, q.answer, q.asked \
             FROM punchlist.question q JOIN punchlist.run ON run.key = q.run \
             LEFT JOIN punchlist.plan ON plan.key = run.plan CROSS JOIN LATERAL ( \
             SELECT c.state FROM punchlist.call c WHERE c.run = q.run AND c.number = q.call \
             ORDER BY c.seq DESC LIMIT 1) s ",
            $rest
        )
    };
}

/// Stores a question. Its call must exist.
pub(crate) async fn ask(tx: &Tx, id: RunId, run: RunKey, asked: Asked) -> Result<(), Failure> {
    let row = tx.first(
        "INSERT INTO punchlist.question(id, run, call, item, asked) SELECT $1, $2, $3, $4, $5 \
         WHERE EXISTS (SELECT 1 FROM punchlist.call WHERE run = $2 AND number = $3) \
         RETURNING 1::int8",
        params![asked.id.to_string(), run.0, asked.call, asked.item, rows::json(&asked)],
    );
    match row.await? {
        Some(_) => Ok(()),
        None => Err(Error::NoCall { run: id, call: asked.call }.into()),
    }
}

/// The questions that match, oldest first.
pub(crate) async fn list(tx: &Tx, filter: &QuestionFilter) -> Result<Vec<Question>, Failure> {
    let answer = tx.query(
        select_question!(
            "WHERE ($1::text IS NULL OR run.project = $1) AND ($2::text IS NULL OR run.id = $2) \
             AND NOT ($3 AND (q.answer IS NOT NULL OR s.state <> 'awaiting_approval')) \
             ORDER BY q.id DESC"
        ),
        params![&filter.project, filter.run.map(|it| it.to_string()), filter.waiting],
    );
    let most = filter.most.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX));
    let mut found = Vec::new();
    for row in answer.await? {
        if found.len() >= most {
            break;
        }
        if filter.names(columns::parsed(&row, 0, str::parse::<QuestionId>)?) {
            found.push(question(&row)?);
        }
    }
    found.reverse();
    Ok(found)
}

/// Answers a question, unless it has an answer.
pub(crate) async fn answer(
    tx: &Tx,
    id: QuestionId,
    answered: Answered,
) -> Result<AnswerOutcome, Failure> {
    // Locked first: of several that answer at once, each later one sees the first answer.
    let lock = "SELECT 1::int8 FROM punchlist.question WHERE id = $1 FOR NO KEY UPDATE";
    tx.run(lock, params![id.to_string()]);
    let now = tx.now(answered.at);
    let row = tx.first(select_question!("WHERE q.id = $1"), params![id.to_string()]).await?;
    let question = question(&row.ok_or(Error::NoQuestion(id))?)?;
    let outcome = question.answered(Answered { at: now.get().await?, ..answered });
    if let AnswerOutcome::Taken(question) = &outcome
        && let Standing::Answered(answered) = &question.standing
    {
        let sql = "UPDATE punchlist.question SET answer = $2 WHERE id = $1";
        tx.run(sql, params![id.to_string(), rows::json(answered)]);
    }
    Ok(outcome)
}

/// Erases the texts of the questions for one item, or of all runs on a plan.
pub(crate) async fn forget(tx: &Tx, plan: PlanKey, item: Option<Number>) -> Result<(), Failure> {
    let answer = tx.query(
        "SELECT q.id, q.answer, q.asked FROM punchlist.question q \
         JOIN punchlist.run ON run.key = q.run \
         WHERE run.plan = $1 AND ($2::int8 IS NULL OR q.item = $2)",
        params![plan.0, item],
    );
    for row in answer.await? {
        let asked: Option<Asked> = rows::from_json(&row, 2)?;
        let mut asked =
            asked.ok_or_else(|| tokio_postgres::Row::strange(2, "a question without content"))?;
        asked.forget();
        let mut answer: Option<Answered> = rows::from_json(&row, 1)?;
        if let Some(answer) = &mut answer {
            answer.forget();
        }
        tx.run(
            "UPDATE punchlist.question SET answer = $2, asked = $3 WHERE id = $1",
            params![string(&row, 0)?, answer.as_ref().map(rows::json), rows::json(&asked)],
        );
    }
    Ok(())
}
