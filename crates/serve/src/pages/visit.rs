//! A visit of a page: who comes, when, to which address.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use maud::Markup;
use punchlist_engine::fail::Fail;
use punchlist_model::Timestamp;
use punchlist_model::call::{Question, QuestionFilter};

use super::view::message::message;
use super::view::shell::{Section, Shell, Told};
use crate::http::Served;
use crate::http::access::Caller;
use crate::http::problem::Problem;

/// A visit of a page.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) served: Served,
    pub(super) caller: Caller,
    pub(super) now: Timestamp,
    /// Whether htmx sends the request: it merges the answer into the page that is shown.
    pub(super) is_partial: bool,
    /// Path and query, as the browser sent them.
    address: String,
}

impl FromRequestParts<Served> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, served: &Served) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, served).await?;
        // The router that this one is nested in has removed the site's path.
        let address = format!("{}{}", served.site(), address(&parts.uri));
        let is_partial = parts.headers.contains_key("hx-request");
        Ok(Self { is_partial, now: served.around().now(), served: served.clone(), caller, address })
    }
}

/// Path and query, without what is only told once.
fn address(uri: &Uri) -> String {
    let query = uri.query().unwrap_or_default();
    let query: Vec<&str> =
        query.split('&').filter(|it| !it.is_empty() && !it.starts_with("done=")).collect();
    match query.is_empty() {
        true => uri.path().to_owned(),
        false => format!("{}?{}", uri.path(), query.join("&")),
    }
}

impl Visit {
    /// What stands around the content of a page.
    pub(super) async fn shell(&self, section: Section) -> Result<Shell, Fail> {
        let base = self.served.site();
        Ok(Shell {
            events: format!("{base}/events"),
            base,
            section,
            address: self.address.clone(),
            waiting: self.waiting().await?.len(),
            person: self.caller.name.clone(),
            now: self.now,
            told: None,
        })
    }

    /// The same, at another address.
    pub(super) fn at(mut self, address: String) -> Self {
        self.address = address;
        self
    }

    /// The questions that wait and that the caller may see, oldest first.
    pub(super) async fn waiting(&self) -> Result<Vec<Question>, Fail> {
        let project = self.caller.project.clone();
        let filter = QuestionFilter { project, waiting: true, ..QuestionFilter::default() };
        Ok(self.served.store().questions(filter).await?)
    }

    /// A page, or a message that says why there is none.
    pub(super) fn answer(&self, page: Result<Markup, Fail>) -> Response {
        match page {
            Ok(page) => Html(page.into_string()).into_response(),
            Err(fail) => self.failed(fail),
        }
    }

    /// The message instead of a page.
    pub(super) fn failed(&self, fail: Fail) -> Response {
        let problem = Problem::from(fail);
        let heading = match problem.status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::FORBIDDEN => "Not allowed",
            _ => "That did not work",
        };
        let page = message(&self.served.site(), heading, &problem.message, problem.hint.as_deref());
        (problem.status, Html(page.into_string())).into_response()
    }
}

/// Why an act did not happen, for the page on which it was tried.
pub(super) fn refused(fail: &Fail) -> Told {
    let details = fail.details.iter().map(|it| format!("\n{it}")).collect::<String>();
    Told::Refused(format!("{}{details}", fail.message), fail.hint.clone())
}

/// The status of a response that says so.
pub(super) fn status(fail: Fail) -> StatusCode {
    Problem::from(fail).status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_but_for_what_is_told_once() {
        for (given, kept) in [
            ("/x/agents", "/x/agents"),
            ("/x/plans/7?view=board&done=12", "/x/plans/7?view=board"),
            ("/x/plans/7?done=12", "/x/plans/7"),
            ("/x/search?q=a%20b", "/x/search?q=a%20b"),
        ] {
            assert_eq!(address(&given.parse().unwrap()), kept);
        }
    }
}
