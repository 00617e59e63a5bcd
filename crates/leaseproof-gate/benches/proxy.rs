//! What the gate costs: `cargo bench -p leaseproof-gate`. The resource, the clients and the gate share this machine;
//! the gate is a process of its own, so that its share of the work can be read from the kernel.

use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use leaseproof_gate::http::{Bound, KeyRule, Settings, WRITING};
use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// Requests of one client for the latency.
const ONE: u32 = 5_000;
/// Clients at once for the throughput.
const CLIENTS: u64 = 64;
/// Requests of each.
const EACH: u64 = 1_500;

fn main() {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some("gate") {
        let words: Vec<String> = words.collect();
        return gate(&words[0], Path::new(&words[1]), words[2] == "sync");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(bench());
}

/// The child: a gate until it is killed.
fn gate(upstream: &str, marks: &Path, sync: bool) {
    let bound = Bound::new(Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        upstream: format!("http://{upstream}").parse().expect("an upstream"),
        roots: None,
        identity: None,
        header: "fencing-token".parse().expect("a name"),
        key: KeyRule::Path(None),
        methods: WRITING.to_vec(),
        marks: marks.to_owned(),
        sync,
        patience: Duration::from_secs(30),
        settle: Duration::from_secs(2),
        // The benchmark's own resource does.
        reads_bodies: std::env::var_os("GATE_CLOSES").is_none(),
        most_keys: 1_000_000,
    })
    .expect("a gate");
    println!("{}", bound.address());
    std::io::stdout().flush().expect("it is read");
    let (_stop, stopped) = oneshot::channel();
    bound.run(stopped).expect("it ends");
}

struct Gate {
    child: Child,
    address: SocketAddr,
}

impl Gate {
    fn start(upstream: SocketAddr, marks: &Path, sync: &str) -> Self {
        let me = std::env::current_exe().expect("a path");
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(me)
            .args(["gate", &upstream.to_string()])
            .arg(marks)
            .arg(sync)
            .stdout(Stdio::piped())
            .spawn()
            .expect("setpriv is there");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("it speaks");
        let address = line.trim().parse().expect("an address");
        Self { child, address }
    }

    /// CPU time so far, in ticks of 10 ms.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it lives");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime");
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn resource() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let service = service_fn(|request: Request<hyper::body::Incoming>| async {
                    let _ = request.into_body().collect().await;
                    Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    address
}

async fn client(address: SocketAddr) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    stream.set_nodelay(true).expect("an option");
    let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("http");
    tokio::spawn(connection);
    sender
}

async fn write(sender: &mut SendRequest<Full<Bytes>>, path: &str, token: u64) {
    let request = Request::put(path)
        .header("host", "x")
        .header("fencing-token", token)
        .body(Full::new(Bytes::from_static(b"new")))
        .expect("a request");
    let answer = sender.send_request(request).await.expect("an answer");
    assert!(answer.status().is_success(), "{}", answer.status());
    let _ = answer.into_body().collect().await;
    sender.ready().await.expect("it is kept");
}

/// Median and 99 of 100 of one client's writes, in ms.
async fn latency(address: SocketAddr, rises: bool) -> (f64, f64) {
    let mut sender = client(address).await;
    let mut took = Vec::new();
    for round in 1..=ONE {
        let began = Instant::now();
        write(&mut sender, "/one", if rises { u64::from(round) } else { 1 }).await;
        took.push(began.elapsed());
    }
    took.sort();
    let at = |part: usize| took[took.len() * part / 100].as_secs_f64() * 1e3;
    (at(50), at(99))
}

/// Writes a second of many clients, each with a key of its own.
async fn throughput(address: SocketAddr, rises: bool) -> f64 {
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            tokio::spawn(async move {
                let mut sender = client(address).await;
                for round in 1..=EACH {
                    write(&mut sender, &format!("/many/{number}"), if rises { round } else { 1 }).await;
                }
            })
        })
        .collect();
    for client in clients {
        client.await.expect("no panic");
    }
    (CLIENTS * EACH) as f64 / began.elapsed().as_secs_f64()
}

async fn bench() {
    let dir = tempfile::tempdir_in(".").expect("a folder on the disk");
    let upstream = resource().await;
    let (median, high) = latency(upstream, false).await;
    let rate = throughput(upstream, false).await;
    println!("direct                      median {median:.3} ms, 99 of 100 {high:.3} ms; {rate:.0}/s");
    for (what, sync, rises) in [
        ("no fsync, the same token", "none", false),
        ("no fsync, rising tokens", "none", true),
        ("fsync, the same token", "sync", false),
        ("fsync, rising tokens", "sync", true),
    ] {
        let gate = Gate::start(upstream, &dir.path().join(what.replace([' ', ','], "-")), sync);
        let (over_median, over_high) = latency(gate.address, rises).await;
        let before = gate.cpu();
        let rate = throughput(gate.address, rises).await;
        let cpu = (gate.cpu() - before).as_secs_f64() * 1e6 / (CLIENTS * EACH) as f64;
        println!(
            "{what:<27} median {over_median:.3} ms (+{:.3}), 99 of 100 {over_high:.3} ms; {rate:.0}/s, {cpu:.0} µs of CPU a write",
            over_median - median
        );
    }
}
