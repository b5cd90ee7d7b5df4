//! The smallest MCP server with a database: the baseline of `cargo xtask bench mcp`.
//!
//! It uses the same library, transport and pragmas as ours. `create_todo` is one insert,
//! `list_todo` one select. It has no journal, no rules and no sessions, and does not look up its
//! caller.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::stdio_pipes;
use rmcp::{ServerHandler, ServiceExt};
use rusqlite::Connection;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else { return ExitCode::from(2) };
    let Ok(conn) = open(Path::new(&path)) else { return ExitCode::from(3) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return ExitCode::from(4) };
    let served = runtime.block_on(async {
        let server = Server { conn: Mutex::new(conn), tools: tools() };
        server.serve(stdio_pipes()).await.ok()?.waiting().await.ok()
    });
    runtime.shutdown_background();
    if served.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open(path)?;
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; \
         CREATE TABLE IF NOT EXISTS todo(id INTEGER PRIMARY KEY, title TEXT NOT NULL, \
         status TEXT NOT NULL) STRICT;",
    )?;
    Ok(conn)
}

fn tools() -> Vec<Tool> {
    ["create_todo", "list_todo"]
        .into_iter()
        .filter_map(|name| {
            let schema = json!({"type": "object"}).as_object().cloned()?;
            Some(Tool::new(name, "a tool", schema))
        })
        .collect()
}

struct Server {
    conn: Mutex<Connection>,
    tools: Vec<Tool>,
}

impl Server {
    fn answer(&self, params: &CallToolRequestParams) -> Option<Value> {
        let conn = self.conn.lock().ok()?;
        match &*params.name {
            "create_todo" => {
                let title = params.arguments.as_ref()?["items"][0]["title"].as_str()?;
                let insert = "INSERT INTO todo(title, status) VALUES (?1, 'pending')";
                conn.prepare_cached(insert).ok()?.execute([title]).ok()?;
                let id = conn.last_insert_rowid();
                Some(json!({"created": [{"id": id, "title": title, "order": id}]}))
            }
            _ => {
                let select = "SELECT id, title, status FROM todo ORDER BY id LIMIT 20";
                let mut select = conn.prepare_cached(select).ok()?;
                let row = |row: &rusqlite::Row<'_>| {
                    let (id, title) = (row.get::<_, i64>(0)?, row.get::<_, String>(1)?);
                    Ok(json!({"id": id, "title": title, "status": row.get::<_, String>(2)?}))
                };
                let items = select.query_map([], row).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
                Some(json!({"items": items}))
            }
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.answer(&params) {
            Some(value) => Ok(CallToolResult::structured(value).into()),
            None => Err(ErrorData::invalid_params("no", None)),
        }
    }
}
