//! Servers over HTTP, on loopback: one made with rmcp, and some that misbehave.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use punchlist_agent::mcp::{Options, ServerConfig};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig as Info, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::{CANARY, World};

/// A server with one tool, which says what it was called with.
#[derive(Clone)]
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> Info {
        Info::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = Tool::new("echo", "Says what it hears.", JsonObject::new());
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let heard = Value::Object(request.arguments.unwrap_or_default()).to_string();
        Ok(CallToolResult::success(vec![ContentBlock::text(heard)]).into())
    }
}

/// Serves on loopback, and returns the address.
async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/mcp")
}

fn echo(answers_json: bool) -> Router {
    let config = StreamableHttpServerConfig::default().with_json_response(answers_json);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Echo), sessions, config);
    Router::new().nest_service("/mcp", service)
}

fn reached(name: &str, url: &str) -> ServerConfig {
    let headers = json!({"Authorization": "Bearer $CANARY", "X-Plain": "yes"});
    ServerConfig::from_settings(name, &json!({"url": url, "headers": headers}))
}

#[tokio::test]
async fn a_server_over_http_is_called() {
    for answers_json in [false, true] {
        let url = serve(echo(answers_json)).await;
        let world = World::new(vec![reached("web", &url)]);
        assert_eq!(world.call("mcp__web__echo", json!({"a": 1})).await, r#"{"a":1}"#);
        let tool = world.tool("mcp__web__echo").await;
        assert_eq!(tool.description(), "[MCP server web] Says what it hears.");
        assert!(tool.check(&json!({})).unwrap().access.is_free());
        assert_eq!(world.report(), "MCP server web: connected, 1 tool");
        world.servers.shut_down().await;
    }
}

#[tokio::test]
async fn headers_are_sent_with_their_values() {
    let seen: Arc<Mutex<Vec<HeaderMap>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let answer = move |headers: HeaderMap| async move {
        keep.lock().unwrap().push(headers);
        let place = "http://127.0.0.1:9/elsewhere";
        (StatusCode::TEMPORARY_REDIRECT, [("location", place)], CANARY)
    };
    let url = serve(Router::new().fallback(answer)).await;
    let world = World::new(vec![reached("web", &url)]);
    assert!(world.names().await.is_empty());
    let said = "MCP server web: failed: it answered HTTP 307 Temporary Redirect";
    assert_eq!(world.report(), said);
    let seen = seen.lock().unwrap();
    let bearer = format!("Bearer {CANARY}");
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|it| it["authorization"] == bearer && it["x-plain"] == "yes"));
}

/// A server that answers every request like this.
async fn always(answer: impl Fn() -> Response + Clone + Send + Sync + 'static) -> String {
    serve(Router::new().fallback(move |_: Bytes| {
        let response = answer();
        async move { response }
    }))
    .await
}

/// A body of that type without end.
fn endless(kind: &'static str, piece: &'static [u8]) -> Response {
    let pieces = stream::repeat_with(move || Ok::<_, std::io::Error>(Bytes::from_static(piece)));
    ([("content-type", kind)], Body::from_stream(pieces)).into_response()
}

#[tokio::test]
async fn servers_that_misbehave_are_one_line_each() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}/mcp", nobody.local_addr().unwrap());
    drop(nobody);
    let denied = always(|| (StatusCode::UNAUTHORIZED, CANARY).into_response()).await;
    let page = always(|| ([("content-type", "text/html")], "<html>").into_response()).await;
    let broken =
        always(|| ([("content-type", "application/json")], "{\"a\"").into_response()).await;
    let endless_json = always(|| endless("application/json", &[b' '; 65_536])).await;
    let endless_event = always(|| endless("text/event-stream", &[b'x'; 65_536])).await;
    let silent = serve(Router::new().fallback(std::future::pending::<Response>)).await;
    let world = World::with(
        vec![
            reached("gone", &gone),
            reached("denied", &denied),
            reached("page", &page),
            reached("broken", &broken),
            reached("endless-json", &endless_json),
            reached("endless-event", &endless_event),
            reached("silent", &silent),
            reached("ftp", "ftp://127.0.0.1/"),
            reached("password", "http://me:secret@127.0.0.1/"),
        ],
        |it| Options { start_timeout: Duration::from_secs(5), ..it },
    );
    assert!(world.names().await.is_empty());
    insta::assert_snapshot!(world.report());
}
