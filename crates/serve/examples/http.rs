//! The HTTP API over a store in memory: a server on a free port of this machine, a token, a request.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use punchlist_engine::doctor::Diagnosis;
use punchlist_engine::fail::Fail;
use punchlist_engine::{Engine, Options as EngineOptions, System, access, item};
use punchlist_model::Limits;
use punchlist_model::session::Store;
use punchlist_model::store::access::Role;
use punchlist_model::store::memory::Memory;
use punchlist_serve::BoxFuture;
use punchlist_serve::http::{self, Served, World, listen};
use punchlist_serve::pages::Facts;

type Failure = Box<dyn Error + Send + Sync>;

/// What the program around the server knows about projects.
struct Projects(Arc<dyn Store>);

impl World for Projects {
    fn engine(&self, project: &str) -> Result<Engine, Fail> {
        let options = EngineOptions { project: project.to_owned(), ..EngineOptions::default() };
        Ok(Engine::with(Arc::clone(&self.0), System, options))
    }

    fn limits(&self, _: &str) -> Result<(Limits, bool), Fail> {
        Ok((Limits::default(), false))
    }

    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn examine(&self) -> BoxFuture<'static, Result<Diagnosis, Fail>> {
        Box::pin(async { Ok(Diagnosis { parts: Vec::new() }) })
    }
}

/// Runs the example.
#[tokio::main]
pub(crate) async fn main() -> Result<(), Failure> {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let projects = Projects(Arc::clone(&store));
    let plan = projects.engine("/project")?.create("Ship it").await?;
    plan.by("worker-1").add([item("Write the notes")]).await?;
    // A program gets its token once; the store keeps a hash of it.
    let token = access::create_token(&*store, &System, "example", Role::Viewer, None).await?;

    let listener = listen::bind("127.0.0.1:0".parse()?).await?;
    let address = listener.local_addr()?;
    let options = http::Options {
        store,
        around: Arc::new(System),
        world: Arc::new(projects),
        hosts: vec![address.to_string()],
        scheme: "http",
        // A real program draws both: the path below which browsers find the pages, and a signing key.
        site: "site".to_owned(),
        key: [0; 32],
        rate: 100,
        watch: None,
        times: http::guard::Times::default(),
        version: "0",
    };
    let (end, ending) = listen::ending();
    let served = Served::start(options, ending.clone()).await?;
    let (router, places) = (http::router(&served), served.places().clone());
    let patience = listen::Patience::default();
    let server = tokio::spawn(listen::serve(listener, router, places, patience, ending));

    let secret = token.expose().to_owned();
    let path = format!("/api/v1/plans/{}/items", plan.id());
    let answer = tokio::task::spawn_blocking(move || get(address, &path, &secret)).await??;
    println!("{answer}");
    end.send(true)?;
    server.await??;
    Ok(())
}

/// The body of the answer to a GET request.
fn get(address: SocketAddr, path: &str, token: &str) -> Result<String, std::io::Error> {
    let mut connection = TcpStream::connect(address)?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    write!(connection, "{head}Authorization: Bearer {token}\r\n\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}
