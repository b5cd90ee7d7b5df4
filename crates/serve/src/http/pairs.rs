//! Names and values: the query of an address, or a form that a page sends.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Method, header};

use super::problem::Problem;

/// The pairs of a query.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query(pub Pairs);

/// The pairs of a form that was sent by POST.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Form(pub Pairs);

/// Names and values, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pairs(Vec<(String, String)>);

impl Pairs {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// One pair.
    pub fn one(name: &str, value: &str) -> Self {
        Self(vec![(name.to_owned(), value.to_owned())])
    }

    /// The first value of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
    }

    /// The first value of that name, unless it is empty.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|it| !it.is_empty())
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|it| it.0.as_str())
    }

    /// The value as a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        let bad = || Problem::bad_request(format!("{name} must be a number that is not negative"));
        self.get(name).map(|it| it.parse().map_err(|_| bad())).transpose()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(Pairs::parse(parts.uri.query().unwrap_or_default().as_bytes())))
    }
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let is_form = kind.is_some_and(|it| it.starts_with("application/x-www-form-urlencoded"));
        if request.method() != Method::POST || !is_form {
            return Err(Problem::bad_request("a form that is sent by POST is expected"));
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|why| Problem::new(why.status(), "usage", why.body_text()))?;
        Ok(Self(Pairs::parse(&body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded_and_found_by_name() {
        let pairs = Pairs::parse(b"q=a+b%26c&most=12&q=second&empty=&bad=-1");
        assert_eq!(pairs.get("q"), Some("a b&c"));
        assert_eq!(pairs.given("empty"), None);
        assert_eq!(pairs.number::<u32>("most").unwrap(), Some(12));
        assert_eq!(pairs.number::<u32>("absent").unwrap(), None);
        assert!(pairs.number::<u32>("bad").is_err());
    }
}
