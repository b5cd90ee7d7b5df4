//! What a program sends, as JSON.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use crate::http::problem::Problem;

/// A body of this type.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let kind = kind.and_then(|it| it.split(';').next()).unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Problem::new(status, "content_type", "the body must be application/json"));
        }
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|why| match why.status() {
            status @ StatusCode::PAYLOAD_TOO_LARGE => {
                Problem::new(status, "too_large", "the body is longer than 1 MiB")
            }
            status => Problem::new(status, "usage", "the body cannot be read"),
        })?;
        let bad = |why: serde_json::Error| {
            Problem::bad_request(format!("the body is not what is expected: {why}"))
                .hint("`/api/v1/openapi.json` describes it.")
        };
        Ok(Self(serde_json::from_slice(&bytes).map_err(bad)?))
    }
}
