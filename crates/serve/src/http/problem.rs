//! Errors of the API, as RFC 9457 has them.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use punchlist_engine::fail::{Code, Fail};
use punchlist_model::Number;
use punchlist_model::store::Error;
use serde_json::{Value, json};

/// An error for a program.
#[derive(Debug)]
pub struct Problem {
    /// The status of the response.
    pub status: StatusCode,
    /// A word that programs compare, such as `not_found`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What belongs to it, line by line.
    pub details: Vec<String>,
    /// The items that it is about.
    pub items: Vec<Number>,
    /// What to do next.
    pub hint: Option<String>,
}

impl Problem {
    /// An error with this status.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, code, message, details: Vec::new(), items: Vec::new(), hint: None }
    }

    /// What was asked for does not exist, or the caller may not see it.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// The request is wrong.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "usage", message)
    }

    /// The caller is unknown.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    /// The caller may not do this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// The same for a request that is well-formed but cannot be done: 422 and not 400.
    #[must_use]
    pub fn refused(self) -> Self {
        match self.status {
            StatusCode::BAD_REQUEST => Self { status: StatusCode::UNPROCESSABLE_ENTITY, ..self },
            _ => self,
        }
    }

    /// With what to do next.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The body.
    pub fn json(&self) -> Value {
        let mut body = json!({
            "type": format!("urn:punchlist:problem:{}", self.code),
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.message,
            "code": self.code,
        });
        if !self.details.is_empty() {
            body["details"] = json!(self.details);
        }
        if !self.items.is_empty() {
            body["items"] = json!(self.items);
        }
        if let Some(hint) = &self.hint {
            body["hint"] = json!(hint);
        }
        body
    }
}

impl From<Fail> for Problem {
    fn from(fail: Fail) -> Self {
        let status = match fail.code {
            Code::Usage => StatusCode::BAD_REQUEST,
            Code::Refused | Code::ItemFailed | Code::ItemsLeft => StatusCode::UNPROCESSABLE_ENTITY,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::Conflict => StatusCode::CONFLICT,
            Code::Unusable => StatusCode::SERVICE_UNAVAILABLE,
            Code::Failure | Code::Interrupted => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self {
            details: fail.details,
            items: fail.items,
            hint: fail.hint,
            ..Self::new(status, fail.code.word(), fail.message)
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Fail::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = self.json().to_string();
        let mut response = (self.status, body).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
        }
        response
    }
}
