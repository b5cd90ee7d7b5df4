//! Measures the HTTP server on this machine, beside what the disk can do: `cargo xtask bench serve` runs it.
//!
//! Server and clients are one process, so memory and processor time are those of both.

#![expect(clippy::print_stdout, reason = "the figures are its result")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_engine::access;
use punchlist_engine::doctor::Diagnosis;
use punchlist_engine::fail::Fail;
use punchlist_engine::{Engine, Options as EngineOptions, System};
use punchlist_model::session::Store;
use punchlist_model::store::access::Role;
use punchlist_model::store::{Change, NewPlan};
use punchlist_model::{Ctx, IdSource, Limits, NewItem, Op, PlanId};
use punchlist_serve::BoxFuture;
use punchlist_serve::http::{self, Served, World, listen};
use punchlist_serve::pages::Facts;
use punchlist_store::{Durability, Options, Threaded};
use tokio::runtime::Runtime;

/// How many requests are in flight.
const IN_FLIGHT: usize = 16;

/// How long each rate is measured.
const FOR: Duration = Duration::from_secs(2);

/// How many plans the first view has to do with.
const PLANS: usize = 10_000;

/// What is viewed first: by a program, and by a person in a browser.
const PAGES: [&str; 3] = ["/api/v1/plans", "/site/agents", "/site/plans"];

/// How many streams are open.
const STREAMS: usize = 200;

/// How many changes a second are made while they are open.
const A_SECOND: u32 = 200;

/// How many clients make them.
const WRITERS: usize = 8;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let rounds = std::env::args().nth(1).and_then(|it| it.parse().ok()).unwrap_or(5);
    // Fewer rounds are a trial: everything is done once, at a tenth of its size.
    let share = if rounds < 3 { 10 } else { 1 };
    let directory = tempfile::tempdir_in(".")?;
    let bench = Bench::start(directory.path())?;
    bench.adds(directory.path(), rounds)?;
    bench.reaction(rounds)?;
    bench.load(Duration::from_secs(60) / share)?;
    bench.first_view(PLANS / usize::try_from(share)?)?;
    Ok(())
}

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

struct Bench {
    runtime: Runtime,
    store: Arc<dyn Store>,
    /// Another handle on the database, as another process has it.
    other: Arc<dyn Store>,
    address: SocketAddr,
    token: String,
    plan: PlanId,
}

impl Bench {
    fn start(directory: &Path) -> Result<Self, Failure> {
        let runtime = Runtime::new()?;
        let options = Options { path: directory.join("plans.db"), durability: Durability::Full };
        let store: Arc<dyn Store> = Arc::new(Threaded::open(&options)?);
        let other: Arc<dyn Store> = Arc::new(Threaded::open(&options)?);
        let (address, token, plan) = runtime.block_on(async {
            let listener = listen::bind("127.0.0.1:0".parse()?).await?;
            let address = listener.local_addr()?;
            let (end, ending) = listen::ending();
            // The server runs as long as the process.
            std::mem::forget(end);
            let options = http::Options {
                store: Arc::clone(&store),
                around: Arc::new(System),
                world: Arc::new(Projects(Arc::clone(&store))),
                hosts: vec![address.to_string()],
                scheme: "http",
                site: "site".to_owned(),
                rate: u32::MAX,
                watch: None,
                times: http::guard::Times::default(),
                key: [0; 32],
                version: "0",
            };
            let served = Served::start(options, ending.clone()).await?;
            let (router, places) = (http::router(&served), served.places().clone());
            let patience = listen::Patience::default();
            tokio::spawn(listen::serve(listener, router, places, patience, ending));
            let token = access::create_token(&*store, &System, "bench", Role::Admin, None).await?;
            let plan = create(&*store, 0).await?;
            Ok::<_, Failure>((address, token.expose().to_owned(), plan))
        })?;
        Ok(Self { runtime, store, other, address, token, plan })
    }

    /// Goal 6: durable adds over HTTP beside the rate of write and fdatasync.
    fn adds(&self, directory: &Path, rounds: usize) -> Result<(), Failure> {
        let (mut ours, mut disk) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            disk.push(disk_rate(directory)?);
            // A plan of its own each time, so that no list grows long.
            let plan = self.runtime.block_on(create(&*self.store, round + 1))?;
            ours.push(self.add_rate(plan)?);
        }
        let (ours, disk) = (median(ours), median(disk));
        println!("durable adds, {IN_FLIGHT} in flight over HTTP      {ours:>8.0} /s");
        println!("write and fdatasync, same disk               {disk:>8.0} /s");
        println!("ratio                                        {:>8.2}×   goal ≥ 6×", ours / disk);
        Ok(())
    }

    fn add_rate(&self, plan: PlanId) -> Result<f64, Failure> {
        let (done, began) = (AtomicUsize::new(0), Instant::now());
        thread::scope(|scope| -> Result<(), Failure> {
            let workers: Vec<_> = (0..IN_FLIGHT)
                .map(|_| {
                    scope.spawn(|| -> Result<(), Failure> {
                        let mut client = Client::new(self.address, &self.token)?;
                        while began.elapsed() < FOR {
                            client.add(plan)?;
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|it| it.join().map_err(|_| "a client died")?)
        })?;
        Ok(to_f64(done.load(Ordering::Relaxed)) / began.elapsed().as_secs_f64())
    }

    /// Goal 14: from the acknowledgement in another store handle to the event of a stream.
    fn reaction(&self, rounds: usize) -> Result<(), Failure> {
        let mut events = self.stream()?;
        let mut took = Vec::new();
        for _ in 0..rounds.max(5) * 40 {
            self.runtime.block_on(add(&*self.other, self.plan))?;
            let committed = Instant::now();
            events.entry()?;
            took.push(committed.elapsed());
        }
        took.sort_unstable();
        let at = |share: usize| took[(took.len() - 1) * share / 100];
        println!(
            "committed elsewhere → event, p50             {:>8.2} ms  goal ≤ 5 ms",
            ms(at(50))
        );
        println!(
            "the same, p99                                {:>8.2} ms  goal ≤ 50 ms",
            ms(at(99))
        );
        Ok(())
    }

    /// Goal 18 and the load: many open streams, many changes a second. Every stream must see every change.
    fn load(&self, time: Duration) -> Result<(), Failure> {
        let plan = self.runtime.block_on(create(&*self.store, 0))?;
        let changes = time.as_secs() * u64::from(A_SECOND);
        let began = Instant::now();
        let (missed, late, memory) = thread::scope(|scope| -> Result<_, Failure> {
            let mut readers = Vec::new();
            for _ in 0..STREAMS {
                let mut events = self.stream()?;
                readers.push(scope.spawn(move || {
                    (1..=changes).map(|_| events.revision()).collect::<Result<Vec<u64>, Failure>>()
                }));
            }
            let first = Instant::now();
            let writers: Vec<_> = (0..WRITERS as u64)
                .map(|writer| {
                    scope.spawn(move || -> Result<Duration, Failure> {
                        let mut client = Client::new(self.address, &self.token)?;
                        let mut late = Duration::ZERO;
                        for at in (writer..changes).step_by(WRITERS) {
                            let due =
                                Duration::from_secs(1).mul_f64(at as f64 / f64::from(A_SECOND));
                            thread::sleep(due.saturating_sub(first.elapsed()));
                            client.add(plan)?;
                            late = late.max(first.elapsed().saturating_sub(due));
                        }
                        Ok(late)
                    })
                })
                .collect();
            let mut late = Duration::ZERO;
            for writer in writers {
                late = late.max(writer.join().map_err(|_| "a writer died")??);
            }
            let memory = resident()?;
            let mut missed = 0;
            for reader in readers {
                let seen = reader.join().map_err(|_| "a reader died")??;
                missed += usize::from(!seen.into_iter().eq(1..=changes));
            }
            Ok((missed, late, memory))
        })?;
        let took = began.elapsed().as_secs_f64();
        println!(
            "{STREAMS} streams, {A_SECOND} changes a second for {:>3} s    {took:>8.1} s",
            time.as_secs()
        );
        println!("streams that missed one of {changes:<8} changes  {missed:>8}     goal 0");
        println!("a change was acknowledged late by at most    {:>8.2} ms", ms(late));
        println!(
            "memory with {STREAMS} streams, clients included    {memory:>8} MB  goal ≤ 150 MB"
        );
        Ok(())
    }

    /// Goal 18: the first page of plans among many.
    fn first_view(&self, plans: usize) -> Result<(), Failure> {
        // Many at once are confirmed by the disk together.
        self.runtime.block_on(futures_util::future::try_join_all((0..IN_FLIGHT).map(
            async |part| {
                for at in (part..plans).step_by(IN_FLIGHT) {
                    let plan = create(&*self.store, 1000 + at).await?;
                    if at % 10 == 0 {
                        add(&*self.store, plan).await?;
                    }
                }
                Ok::<_, Failure>(())
            },
        )))?;
        let mut client = Client::new(self.address, &self.token)?;
        let mut took = Vec::new();
        for path in PAGES.repeat(7) {
            let began = Instant::now();
            client.get(path)?;
            took.push((path, began.elapsed()));
        }
        for path in PAGES {
            let of = took.iter().filter(|it| it.0 == path).map(|it| ms(it.1)).collect();
            let name = format!("{path} with {plans} plans");
            println!("{name:<44} {:>8.2} ms  goal < 100 ms", median(of));
        }
        Ok(())
    }

    fn stream(&self) -> Result<Events, Failure> {
        let mut stream = TcpStream::connect(self.address)?;
        let head = head("GET", "/api/v1/events", self.address, &self.token, 0);
        stream.write_all(head.as_bytes())?;
        let mut events = Events(BufReader::new(stream));
        events.until("event: reload")?;
        Ok(events)
    }
}

async fn create(store: &dyn Store, at: usize) -> Result<PlanId, Failure> {
    use punchlist_engine::Around;
    let now = System.now();
    let id = PlanId(System.ids(now)?.nth(0));
    let title = format!("plan {at}");
    store.create(NewPlan { title, ..NewPlan::new(id, format!("/p{}", at % 50), now) }).await?;
    Ok(id)
}

async fn add(store: &dyn Store, plan: PlanId) -> Result<(), Failure> {
    use punchlist_engine::Around;
    let now = System.now();
    let ids: IdSource = System.ids(now)?;
    let limits = Limits { open_items: u32::MAX, ..Limits::default() };
    let ctx = Ctx { limits, ..Ctx::new("bench", now, ids) };
    let ops = vec![Op::Add(Box::new(NewItem::titled("measured")))];
    store.change(plan, Change::new(ops, ctx)).await?;
    Ok(())
}

fn head(method: &str, path: &str, address: SocketAddr, token: &str, length: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// A connection that stays open.
struct Client {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    token: String,
}

impl Client {
    fn new(address: SocketAddr, token: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), address, token: token.to_owned() })
    }

    fn add(&mut self, plan: PlanId) -> Result<(), Failure> {
        const BODY: &str = "{\"ops\":[{\"op\":\"add\",\"title\":\"measured\"}]}";
        self.send("POST", &format!("/api/v1/plans/{plan}/changes"), BODY)
    }

    fn get(&mut self, path: &str) -> Result<(), Failure> {
        self.send("GET", path, "")
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> Result<(), Failure> {
        let head = head(method, path, self.address, &self.token, body.len());
        self.stream.get_mut().write_all([head.as_str(), body].concat().as_bytes())?;
        let (mut length, mut status) = (0, String::new());
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let line = line.trim_end().to_ascii_lowercase();
            if status.is_empty() {
                status.clone_from(&line);
            }
            if let Some(found) = line.strip_prefix("content-length: ") {
                length = found.parse()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        if status.contains(" 200 ") {
            return Ok(());
        }
        Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into())
    }
}

struct Events(BufReader<TcpStream>);

impl Events {
    fn until(&mut self, line: &str) -> Result<(), Failure> {
        let mut read = String::new();
        while read.trim_end() != line {
            read.clear();
            if self.0.read_line(&mut read)? == 0 {
                return Err("the stream ended".into());
            }
        }
        Ok(())
    }

    fn entry(&mut self) -> Result<(), Failure> {
        self.until("event: entry")
    }

    /// The revision of the next entry.
    fn revision(&mut self) -> Result<u64, Failure> {
        self.entry()?;
        let mut data = String::new();
        self.0.read_line(&mut data)?;
        // Not parsed: 200 clients would measure the parser.
        let (_, rest) = data.split_once("\"revision\":").ok_or("an entry has no revision")?;
        let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
        Ok(rest[..end].parse()?)
    }
}

/// How often a second a line can be written and confirmed by the disk.
fn disk_rate(directory: &Path) -> Result<f64, Failure> {
    let mut file = File::create(directory.join("baseline"))?;
    let (line, began) = ([b'x'; 300], Instant::now());
    let mut done = 0;
    while began.elapsed() < FOR / 2 {
        file.write_all(&line)?;
        file.sync_data()?;
        done += 1;
    }
    Ok(to_f64(done) / began.elapsed().as_secs_f64())
}

/// The resident memory of this process in megabytes.
fn resident() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes / 1024)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn to_f64(count: usize) -> f64 {
    count as f64
}
