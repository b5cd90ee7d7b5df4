//! A server on the process's own stdin and stdout, one message a line.
//!
//! It ends when stdin does: calls that are under way are answered first, and whatever only listens is
//! let go, so that the process is gone at once and not when a timer says so.

use rmcp::ServiceExt;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{StdioReader, StdioWriter, stdio_pipes};
use tokio::sync::watch as signal;

use super::Server;

/// The longest message that is read; a longer one is passed over.
const LONGEST: usize = 16 * 1024 * 1024;

/// Why a server on stdio ended other than by the end of stdin.
#[derive(Debug, thiserror::Error)]
#[error("the connection failed: {0}")]
pub struct Failed(String);

/// Serves until stdin ends. Needs a tokio runtime with everything enabled.
pub async fn serve_stdio(server: Server) -> Result<(), Failed> {
    let (read, write) = stdio_pipes();
    let pipe = Pipe {
        inner: AsyncRwTransport::new_server(read, write).with_max_line_length(LONGEST),
        begun: false,
        ended: server.inner.ended.clone(),
    };
    match server.serve(pipe).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|why| Failed(why.to_string())),
        // A client that looks and goes away again is none of our business.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(why) => Err(Failed(why.to_string())),
    }
}

/// Stdin and stdout, and a word to the others when stdin ends.
struct Pipe {
    inner: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    /// Whether a request has come.
    begun: bool,
    ended: signal::Sender<bool>,
}

impl Transport<RoleServer> for Pipe {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.ended.send_replace(true);
                return None;
            };
            // What comes before the first request belongs to nothing; it must not end the server.
            self.begun |= matches!(message, JsonRpcMessage::Request(_));
            if self.begun {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
