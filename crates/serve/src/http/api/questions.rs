//! Questions to people, and their answers.

use axum::extract::{Path, State};
use axum::response::Json;
use punchlist_engine::answering::{self, With, Word};
use punchlist_engine::{System, overview};
use punchlist_formats::api::AnswerRequest;
use punchlist_formats::view::json;
use punchlist_model::QuestionId;
use punchlist_model::call::{Answered, Question, QuestionFilter};

use super::Answer;
use super::body::Body;
use super::page::{self, Page};
use crate::http::Served;
use crate::http::access::Caller;
use crate::http::pairs::Query;
use crate::http::problem::Problem;

pub(super) async fn list(
    State(served): State<Served>,
    caller: Caller,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let project = page::project(&caller, &query)?;
    let waiting = page::flag(&query, "waiting")?.unwrap_or(false);
    let filter = QuestionFilter { project, waiting, ..QuestionFilter::default() };
    let questions = served.store().questions(filter).await?;
    let (page, next) = page.cut(questions, |it| it.asked.id.to_string());
    Ok(Json(page::json("questions", page.iter().map(json::question).collect(), next)))
}

/// A question that the caller sees.
async fn find(served: &Served, caller: &Caller, id: &str) -> Result<Question, Problem> {
    let missing = || Problem::not_found("there is no such question");
    let id: QuestionId = id.parse().map_err(|_| missing())?;
    let found = overview::question(&**served.store(), id).await?;
    found.filter(|it| caller.sees(&it.project)).ok_or_else(missing)
}

pub(super) async fn one(
    State(served): State<Served>,
    caller: Caller,
    Path(question): Path<String>,
) -> Answer {
    Ok(Json(json::question(&find(&served, &caller, &question).await?)))
}

pub(super) async fn answer(
    State(served): State<Served>,
    caller: Caller,
    Path(question): Path<String>,
    Body(request): Body<AnswerRequest>,
) -> Answer {
    let question = find(&served, &caller, &question).await?;
    let word = Word::parse(request.answer.as_str())
        .ok_or_else(|| Problem::bad_request("this is no answer"))?;
    let with = With { reason: request.reason.as_deref(), everywhere: request.everywhere };
    let edited = || Ok(request.arguments.clone());
    let refused = |fail| Problem::from(fail).refused();
    let answer = answering::answer(word, with, &question.asked, edited).map_err(refused)?;
    answering::check_offered(&question.asked, &answer).map_err(refused)?;
    let answered = Answered { answer, by: caller.actor(), at: served.around().now() };
    let given = answering::give(&**served.store(), &question, answered, &System::host()).await?;
    Ok(Json(json::question(&given.question)))
}
