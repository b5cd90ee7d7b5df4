//! What every request passes: the host that it names, limits of size and time, and the headers that every
//! response has.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use punchlist_engine::fail::Fail;
use punchlist_model::GrantId;

use super::Served;
use super::problem::Problem;

/// The longest body of a request, in bytes.
pub const MOST_BODY: usize = 1024 * 1024;

/// How long requests may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// A request, its body included. A stream of events begins within this time.
    pub request: Duration,
    /// How long a request waits for a check. The check goes on afterwards.
    pub check: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self { request: Duration::from_secs(30), check: Duration::from_secs(20) }
    }
}

/// Waits for a check that runs in a task of its own, so that it does not end with the request. `None` if it
/// takes longer than a request waits: it goes on.
pub(crate) async fn check<T: Send + 'static>(
    longest: Duration,
    check: impl Future<Output = Result<T, Fail>> + Send + 'static,
) -> Result<Option<T>, Fail> {
    let task = tokio::spawn(check);
    match tokio::time::timeout(longest, task).await {
        Ok(Ok(checked)) => checked.map(Some),
        Ok(Err(why)) => Err(Fail::ours(format!("the check ended: {why}"))),
        Err(_) => Ok(None),
    }
}

/// Refuses a request that names another host: a page elsewhere may have made its name point here.
pub async fn host(State(served): State<Served>, request: Request, next: Next) -> Response {
    let mut named = request.headers().get_all(header::HOST).iter();
    let is_ours = match (named.next().map(HeaderValue::to_str), named.next()) {
        (Some(Ok(host)), None) => {
            served.options().hosts.iter().any(|it| host.eq_ignore_ascii_case(it))
        }
        _ => false,
    };
    // An absolute address in the request line must agree.
    let is_same = request.uri().authority().is_none_or(|it| {
        served.options().hosts.iter().any(|host| host.eq_ignore_ascii_case(it.as_str()))
    });
    if is_ours && is_same {
        return next.run(request).await;
    }
    let status = StatusCode::FORBIDDEN;
    Problem::new(status, "host", "this server does not answer under that name").into_response()
}

/// Refuses bodies that are too long, and ends requests that take too long.
pub async fn limits(State(served): State<Served>, request: Request, next: Next) -> Response {
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|it| it > MOST_BODY as u64) {
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        let problem = Problem::new(status, "too_large", "the body is longer than 1 MiB");
        return problem.into_response();
    }
    let longest = served.options().times.request;
    match tokio::time::timeout(longest, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let status = StatusCode::REQUEST_TIMEOUT;
            let what = format!("the request took longer than {} s", longest.as_secs());
            Problem::new(status, "timeout", what).into_response()
        }
    }
}

/// The limit of bodies whose length nobody declared.
pub fn body_limit() -> DefaultBodyLimit {
    DefaultBodyLimit::max(MOST_BODY)
}

/// Adds the headers that every response has: nothing is loaded from elsewhere, no other site frames a page,
/// nothing is guessed or kept by a cache.
pub async fn headers(request: Request, next: Next) -> Response<Body> {
    const ALWAYS: [(header::HeaderName, &str); 7] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
             connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer` browsers would send forms without the origin that we ask for.
        (header::REFERRER_POLICY, "same-origin"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (
            header::HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        ),
    ];
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// A token bucket: each request takes one token, and tokens come back with time.
pub struct Rate {
    most: f64,
    per_second: f64,
    left: Mutex<(f64, Instant)>,
}

impl Rate {
    /// A bucket of `most` tokens that gets `per_second` back each second.
    pub fn new(most: u32, per_second: u32) -> Self {
        let most = f64::from(most);
        Self { most, per_second: per_second.into(), left: Mutex::new((most, Instant::now())) }
    }

    /// How often somebody may send a wrong secret.
    pub fn failures() -> Self {
        Self::new(30, 1)
    }

    /// Takes one, or says that there were too many.
    pub fn take(&self) -> Result<(), Problem> {
        if self.has_one(Instant::now()) {
            return Ok(());
        }
        let status = StatusCode::TOO_MANY_REQUESTS;
        Err(Problem::new(status, "too_many", "too many requests").hint("wait a few seconds."))
    }

    fn has_one(&self, now: Instant) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let since = now.saturating_duration_since(left.1).as_secs_f64();
        let filled = (left.0 + since * self.per_second).min(self.most);
        *left = if filled >= 1.0 { (filled - 1.0, now) } else { (filled, now) };
        filled >= 1.0
    }
}

/// A token bucket for each grant.
pub struct Rates {
    per_second: u32,
    by_grant: Mutex<HashMap<GrantId, Rate>>,
}

impl Rates {
    /// `per_second` requests for each grant, and twice as many at once.
    pub fn new(per_second: u32) -> Self {
        Self { per_second, by_grant: Mutex::default() }
    }

    /// Takes one, or says that there were too many.
    pub fn take(&self, grant: GrantId) -> Result<(), Problem> {
        let mut rates = self.by_grant.lock().unwrap_or_else(PoisonError::into_inner);
        // A new bucket is full, so nobody is refused because all of them were forgotten.
        if rates.len() > MOST_RATES {
            rates.clear();
        }
        let new = || Rate::new(self.per_second.saturating_mul(2), self.per_second);
        rates.entry(grant).or_insert_with(new).take()
    }
}

/// How many grants have a bucket.
const MOST_RATES: usize = 10_000;

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_check_that_takes_longer_than_a_request_waits_goes_on() {
        let ((go, may_go), (end, ended)) = (oneshot::channel::<()>(), oneshot::channel());
        let long = async move {
            may_go.await.ok();
            end.send("passed").ok();
            Ok(())
        };
        assert_eq!(check(Duration::from_millis(10), long).await.unwrap(), None);
        go.send(()).unwrap();
        assert_eq!(ended.await, Ok("passed"), "the check was killed with its request");
        assert_eq!(check(Duration::from_secs(60), async { Ok(7) }).await.unwrap(), Some(7));
        assert!(
            check(Duration::from_secs(60), async { Err::<(), _>(Fail::refused("no")) })
                .await
                .is_err()
        );
    }

    #[test]
    fn a_rate_allows_a_burst_and_then_as_many_as_fill_up_again() {
        let rate = Rate::new(3, 2);
        let start = Instant::now();
        let taken = |at: u64| rate.has_one(start + Duration::from_millis(at));
        assert!(taken(0) && taken(0) && taken(0));
        assert!(!taken(0) && !taken(400));
        assert!(taken(1000) && taken(1001) && !taken(1002));
    }
}
