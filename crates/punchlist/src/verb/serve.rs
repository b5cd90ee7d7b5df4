//! `punchlist serve`.

use std::net::SocketAddr;

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::server;

/// Serve the dashboard, the HTTP API and MCP for this database
///
/// Prints an address with a code that signs your browser in; the code works once, for five minutes. Programs
/// use tokens: see `punchlist token`. Ctrl-C ends the server. If a server runs already at this address,
/// `--open` gets a new code for it. Without a terminal no code is printed, and below an agent the server does
/// not start.
///
/// The server listens on this machine only. To reach it from others, put a proxy with TLS before it and name
/// its origin with `--behind-proxy`.
#[derive(clap::Args)]
pub(crate) struct Serve {
    /// The address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
    listen: SocketAddr,
    /// Open the dashboard in your browser, signed in
    #[arg(long)]
    open: bool,
    /// The only origin under which browsers reach the server, as in `https://plans.example.org`
    #[arg(long, value_name = "ORIGIN")]
    behind_proxy: Option<String>,
    /// How many requests a second each token or browser may send
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
}

impl Verb for Serve {
    const NAME: &'static str = "serve";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist serve --open
  punchlist serve --listen 127.0.0.1:8080
  punchlist serve --listen 0.0.0.0:7878 --behind-proxy https://plans.example.org";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let ask = server::Ask {
            listen: self.listen,
            opens: self.open,
            behind_proxy: self.behind_proxy,
            rate: self.rate,
        };
        server::run(app, ask)
    }
}
