//! Signing a browser in: an address with a code, which is exchanged for a cookie by POST.
//!
//! The code stands after the `#` of the address, which browsers do not send. A small script of the page puts
//! it into the form; without scripts, the person pastes it.

use axum::Router;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use punchlist_engine::access::{self, BROWSER_SECONDS, Secret};

use super::access::{COOKIE, Caller};
use super::pairs::Form;
use super::problem::Problem;
use super::{Served, guard};

const SCRIPT: &str = include_str!("login.js");
const STYLE: &str = include_str!("login.css");

/// The routes, below the site's path. They need no cookie.
pub fn router(served: Served) -> Router {
    Router::new()
        .route("/login", get(page).post(redeem))
        .route("/login.js", get(|| async { ([(header::CONTENT_TYPE, "text/javascript")], SCRIPT) }))
        .route("/login.css", get(|| async { ([(header::CONTENT_TYPE, "text/css")], STYLE) }))
        .layer(guard::body_limit())
        .with_state(served)
}

/// What the address without a path says: the pages are below a path that is not told.
pub(super) async fn how() -> Html<&'static str> {
    Html(HOW)
}

const HOW: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <meta name=\"color-scheme\" content=\"light dark\">\n<title>Punchlist</title>\n</head>\n<body>\n\
    <main>\n<h1>Punchlist runs here</h1>\n\
    <p>To see your agents and plans, run <code>punchlist serve --open</code> at your terminal: it signs \
    your browser in.</p>\n<p>Programs use <code>/api/v1</code> with a token.</p>\n</main>\n</body>\n\
    </html>\n";

/// Signs the browser out: its session ends, and so do its streams.
pub(crate) async fn sign_out(
    State(served): State<Served>,
    caller: Caller,
) -> Result<Response, Problem> {
    if !caller.is_browser {
        return Err(Problem::bad_request("a token is no browser")
            .hint("a person ends it with `punchlist token revoke`."));
    }
    served.store().end_grant(caller.grant, served.around().now()).await?;
    let path = served.site();
    let mut response = Redirect::to(&format!("{path}/login")).into_response();
    let cookie = format!("{COOKIE}=; Path={path}; Max-Age=0; HttpOnly; SameSite=Strict");
    let cookie = HeaderValue::try_from(cookie)
        .map_err(|why| Problem::bad_request(format!("no cookie can be set: {why}")))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

/// The form.
async fn page() -> Html<String> {
    Html(document("Sign in", FORM, true))
}

const FORM: &str = r#"<p>Paste the code that <code>punchlist serve</code> printed. It works once, for five minutes.</p>
<form method="post" action="login" id="login">
<label for="code">Code</label>
<input id="code" name="code" type="password" autocomplete="off" required autofocus>
<button>Sign in</button>
</form>
<p>You need a new one? Run <code>punchlist serve --open</code> at your terminal.</p>"#;

/// Exchanges the code for a cookie.
async fn redeem(State(served): State<Served>, request: Request) -> Result<Response, Problem> {
    // A code from a file that `serve --open` wrote comes without an origin.
    if is_foreign(&served, &request) {
        return Err(Problem::forbidden("the form was sent by another site"));
    }
    let Form(form) = Form::from_request(request, &()).await?;
    let code = form.get("code").unwrap_or_default().trim();
    let session = access::redeem(&**served.store(), &**served.around(), code).await?;
    let Some(session) = session else {
        served.wrong_secret()?;
        let text = document("The code does not work", WRONG, false);
        return Ok((StatusCode::FORBIDDEN, Html(text)).into_response());
    };
    let path = served.site();
    let secure = if served.options().scheme == "https" { "; Secure" } else { "" };
    let cookie = format!(
        "{COOKIE}={}; Path={path}; Max-Age={BROWSER_SECONDS}; HttpOnly; SameSite=Strict{secure}",
        session.expose()
    );
    // A page and not a redirection: a browser that came from a file would not send the new cookie with it.
    let mut response = Html(document("You are signed in", SIGNED_IN, false)).into_response();
    let mut cookie = HeaderValue::try_from(cookie)
        .map_err(|why| Problem::bad_request(format!("no cookie can be set: {why}")))?;
    cookie.set_sensitive(true);
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(header::SET_COOKIE, cookie);
    headers.insert(header::REFRESH, HeaderValue::from_static("0; url=./"));
    Ok(response)
}

const WRONG: &str = r#"<p>It was used, or is older than five minutes, or was not copied whole.</p>
<p>Run <code>punchlist serve --open</code> at your terminal for a new one.</p>"#;

const SIGNED_IN: &str = r#"<p><a href="./">Go on to your agents and plans</a></p>"#;

/// A page for a file that sends a code as soon as it is opened.
pub fn page_that_sends(address: &str, code: &Secret) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Punchlist</title>\n\
         <form method=\"post\" action=\"{address}\">\n\
         <input type=\"hidden\" name=\"code\" value=\"{}\">\n<button>Sign in</button>\n</form>\n\
         <script>document.forms[0].submit()</script>\n</html>\n",
        code.expose()
    )
}

fn is_foreign(served: &Served, request: &Request) -> bool {
    let origin = request.headers().get(header::ORIGIN);
    origin.is_some_and(|it| it != "null") && !super::access::has_our_origin(served, request)
}

fn document(title: &str, body: &str, has_script: bool) -> String {
    let script = if has_script { "<script src=\"login.js\" defer></script>\n" } else { "" };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} - Punchlist</title>\n<link rel=\"stylesheet\" href=\"login.css\">\n{script}\
         </head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )
}
