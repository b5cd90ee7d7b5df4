//! The server over stdin and stdout, one JSON object per line.
//!
//! The server ends when stdin ends: running calls are answered first, and subscriptions are
//! dropped, so that the process exits at once and not after a timeout.

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Server;
use super::pipe::Pipe;

/// Why a server ended, other than by the end of its input.
#[derive(Debug, thiserror::Error)]
#[error("the connection failed: {0}")]
pub struct Failed(String);

/// Serves until stdin ends. Needs a tokio runtime with everything enabled.
pub async fn serve_stdio(server: Server) -> Result<(), Failed> {
    let (read, write) = stdio_pipes();
    serve_streams(server, read, write).await
}

/// Serves two streams until the input ends.
pub async fn serve_streams(
    server: Server,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Failed> {
    let pipe = Pipe::new(server.clone(), read, write);
    match server.serve(pipe).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|why| Failed(why.to_string())),
        // A client that disconnects before the handshake is no error.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(why) => Err(Failed(why.to_string())),
    }
}
