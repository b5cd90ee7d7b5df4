//! Requests to a server: its list of tools, and calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, PaginatedRequestParams,
    ServerResult, Tool,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{CLOSED, hide, words};
use crate::mcp::announced::MOST_TOOLS;
use crate::provider::Secret;

/// Most pages of a list of tools.
const MOST_PAGES: usize = 50;
/// How long telling a server that a call is cancelled may take.
const CANCEL: Duration = Duration::from_secs(1);

/// The other side of a connection, for requests at the same time.
#[derive(Clone)]
pub(in crate::mcp) struct Line {
    pub(super) peer: Peer<RoleClient>,
    pub(super) changed: Arc<AtomicBool>,
    /// Whether the server is a program that was started for the connection.
    pub(super) is_program: bool,
    /// Whether the server says nothing when its tools change.
    pub(super) is_quiet: bool,
    pub(super) secrets: Vec<Secret>,
}

/// Why a call has no result.
pub(in crate::mcp) enum CallFailure {
    /// The connection is closed.
    Closed,
    /// Anything else, in words.
    Other(String),
}

impl Line {
    /// Whether the tools have to be asked for again. Answers so once for each change.
    pub(in crate::mcp) fn has_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed) || self.is_quiet
    }

    /// Says that the tools have to be asked for again.
    pub(in crate::mcp) fn note_change(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// The tools, and whether there are more than were read.
    pub(in crate::mcp) async fn tools(
        &self,
        deadline: Instant,
    ) -> Result<(Vec<Tool>, bool), String> {
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let page =
                self.peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor)));
            let page = tokio::time::timeout_at(deadline, page).await;
            let page = page.map_err(|_| "it did not list its tools in time".to_owned())?;
            let page = page.map_err(|why| match self.failure(&why) {
                CallFailure::Closed => CLOSED.to_owned(),
                CallFailure::Other(why) => format!("it did not list its tools: {why}"),
            })?;
            all.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || all.len() > MOST_TOOLS {
                break;
            }
        }
        Ok((all, cursor.is_some()))
    }

    /// Calls a tool. Tells the server if the call is stopped or takes too long.
    pub(in crate::mcp) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        stopping: impl Future<Output = ()>,
        deadline: Instant,
    ) -> Result<CallToolResult, CallFailure> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let late = || CallFailure::Other("it did not answer in time".to_owned());
        let sent = tokio::time::timeout_at(deadline, sent).await.map_err(|_| late())?;
        let mut sent = sent.map_err(|why| self.failure(&why))?;
        let (failure, reason) = tokio::select! {
            answer = &mut sent.rx => {
                let answer = answer.map_err(|_| CallFailure::Closed)?;
                return result(answer.map_err(|why| self.failure(&why))?);
            }
            () = stopping => (CallFailure::Other("stopped".to_owned()), "stopped by the user"),
            () = tokio::time::sleep_until(deadline) => (late(), "timed out"),
        };
        drop(tokio::time::timeout(CANCEL, sent.cancel(Some(reason.to_owned()))).await);
        Err(failure)
    }

    fn failure(&self, why: &ServiceError) -> CallFailure {
        let words = match why {
            ServiceError::TransportClosed => return CallFailure::Closed,
            // A program that cannot be written to has ended.
            ServiceError::TransportSend(_) if self.is_program => return CallFailure::Closed,
            ServiceError::TransportSend(why) => self.words(&why.error.to_string()),
            ServiceError::McpError(error) => self.words(&error.message),
            ServiceError::UnexpectedResponse
            | ServiceError::SubscriptionLagged { .. }
            | ServiceError::Cancelled { .. }
            | ServiceError::Timeout { .. }
            | ServiceError::InputRequiredRoundsExceeded { .. }
            | _ => self.words(&why.to_string()),
        };
        CallFailure::Other(words)
    }

    fn words(&self, text: &str) -> String {
        words(&self.secrets, text)
    }

    /// The text without values that were looked up for the server.
    pub(in crate::mcp) fn hide(&self, text: &str) -> String {
        hide(&self.secrets, text)
    }
}

/// The result of a call, if the answer is one.
fn result(answer: ServerResult) -> Result<CallToolResult, CallFailure> {
    if let ServerResult::CallToolResult(result) = answer {
        return Ok(result);
    }
    let what = if matches!(answer, ServerResult::InputRequiredResult(_)) {
        "it asks for input of a person, which punchlist does not pass on"
    } else {
        "its answer is not the result of a call"
    };
    Err(CallFailure::Other(what.to_owned()))
}
