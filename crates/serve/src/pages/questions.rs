//! The page of questions, and its answers.

use axum::extract::Path;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::Markup;
use punchlist_engine::fail::Fail;
use punchlist_engine::{answering, overview};
use punchlist_formats::view::questions as words;
use punchlist_model::Timestamp;
use punchlist_model::call::{Answered, Question, QuestionFilter, Standing};
use punchlist_model::id::QuestionId;
use punchlist_model::store::access::Role;

use super::form;
use super::view::questions::{self as view, QuestionsPage};
use super::view::shell::{Section, Told};
use super::visit::{Visit, refused, status};
use crate::http::pairs::{Form, Query};

/// How many questions are looked at, the newest ones.
const MOST: u32 = 300;
/// How many answered ones are shown.
const MOST_ANSWERED: usize = 20;

/// The questions.
pub(super) async fn questions(visit: Visit, Query(query): Query) -> Response {
    // The page is loaded again at this address, so that questions that were answered since it was
    // opened stay where they are.
    let since = query.number::<i64>("since").ok().flatten();
    visit.answer(page(&visit, since, None).await)
}

async fn page(visit: &Visit, since: Option<i64>, told: Option<Told>) -> Result<Markup, Fail> {
    let since = since.and_then(|it| Timestamp::from_millisecond(it).ok()).unwrap_or(visit.now);
    let project = visit.caller.project.clone();
    let filter = QuestionFilter { project, most: Some(MOST), ..QuestionFilter::default() };
    let all = visit.served.store().questions(filter).await?;
    let mut page = QuestionsPage {
        rules_file: visit.served.facts().rules_file.display().to_string(),
        ..QuestionsPage::default()
    };
    for question in all {
        match &question.standing {
            Standing::Waiting => page.questions.push(question),
            Standing::Answered(answered) if answered.at >= since => page.questions.push(question),
            Standing::Answered(_) => page.answered.push(question),
            // When a call stopped waiting is not recorded.
            Standing::Settled if question.asked.at >= since => page.questions.push(question),
            Standing::Settled => {}
        }
    }
    page.answered.reverse();
    page.answered.truncate(MOST_ANSWERED);
    let address = format!("{}/questions?since={}", visit.served.site(), since.as_millisecond());
    let mut shell = visit.clone().at(address).shell(Section::Questions).await?;
    shell.told = told;
    Ok(view::questions(&shell, &page))
}

/// Answers a question in the name of the person who is signed in.
pub(super) async fn answer(
    visit: Visit,
    Path(id): Path<String>,
    Query(query): Query,
    Form(form): Form,
) -> Response {
    if let Err(problem) = visit.caller.needs(Role::Admin) {
        return problem.into_response();
    }
    let since = query.number::<i64>("since").ok().flatten();
    match give(&visit, &id, &form).await {
        Ok(_) if !visit.is_partial => {
            let since = since.unwrap_or_else(|| visit.now.as_millisecond());
            Redirect::to(&format!("{}/questions?since={since}", visit.served.site()))
                .into_response()
        }
        Ok(question) => {
            visit.answer(page(&visit, since, Some(Told::Done(words::given(&question)))).await)
        }
        Err(fail) => match page(&visit, since, Some(refused(&fail))).await {
            Ok(page) => (status(fail), Html(page.into_string())).into_response(),
            Err(fail) => visit.failed(fail),
        },
    }
}

async fn give(visit: &Visit, id: &str, form: &crate::http::pairs::Pairs) -> Result<Question, Fail> {
    let nothing = || answering::nothing_waits(Some(id));
    let id: QuestionId = id.parse().map_err(|_| nothing())?;
    let store = visit.served.store();
    let question = overview::question(&**store, id).await?;
    let question = question.filter(|it| visit.caller.sees(&it.project)).ok_or_else(nothing)?;
    if !answering::is_waiting(&question) {
        return Err(answering::late(&question, visit.now));
    }
    let answer = form::answer(&question.asked, form)?;
    let answered = Answered { answer, by: visit.caller.actor(), at: visit.now };
    let host = visit.served.facts().host;
    Ok(answering::give(&**store, &question, answered, &host).await?.question)
}
