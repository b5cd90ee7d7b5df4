//! The server over stdin and stdout, one JSON object a line.
//!
//! It ends when stdin does: calls that are under way are answered first, and whatever only listens is
//! let go, so that the process is gone at once and not when a timer says so.

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Server;
use super::pipe::Pipe;

/// Why a server ended other than by the end of what it reads.
#[derive(Debug, thiserror::Error)]
#[error("the connection failed: {0}")]
pub struct Failed(String);

/// Serves until stdin ends. Needs a tokio runtime with everything enabled.
pub async fn serve_stdio(server: Server) -> Result<(), Failed> {
    let (read, write) = stdio_pipes();
    serve_streams(server, read, write).await
}

/// Serves two streams until the first one ends.
pub async fn serve_streams(
    server: Server,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Failed> {
    let pipe = Pipe::new(server.clone(), read, write);
    match server.serve(pipe).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|why| Failed(why.to_string())),
        // A client that looks and goes away again is none of our business.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(why) => Err(Failed(why.to_string())),
    }
}
