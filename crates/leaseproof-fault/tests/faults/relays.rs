//! The network between an owner and the store.

use crate::Case;
use crate::rig::eventually;
use leaseproof_fault::FaultSink;
use leaseproof_fault::relay::{Relay, WireSink};
use leaseproof_model::event::FaultPhase::{Asked, Confirmed, Undone};
use leaseproof_model::event::{FaultPhase, Wire, WireSeen};
use leaseproof_proc::clock::boot_now;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

pub const ALL: &[Case] = &[
    ("relay-passes-ok", passes),
    ("relay-half-close-ok", half_close),
    ("relay-unreachable-store-bad", unreachable_store),
    ("blackhole-delivers-ok", blackhole),
    ("blackhole-new-connection-ok", blackhole_new_connection),
    ("blackhole-dropped-ok", blackhole_dropped),
    ("delay-requests-ok", delay_requests),
    ("delay-answers-ok", delay_answers),
    ("reset-ok", reset),
    ("reset-of-a-stuck-connection-ok", reset_stuck),
    ("idle-drop-ok", idle_drop),
];

/// How long "nothing comes" is looked at: it may be too short to see a fault of ours, never too
/// long to hold.
const NOTHING: Duration = Duration::from_millis(100);

/// A store that answers each line with the same line, or one that never reads.
struct Net {
    relay: Option<Relay>,
    wire: Arc<Mutex<Vec<Wire>>>,
    phases: Arc<Mutex<Vec<FaultPhase>>>,
    stop: Option<oneshot::Sender<()>>,
    carrier: Option<JoinHandle<()>>,
}

impl Net {
    fn new(serve: fn(TcpStream)) -> Self {
        let store = TcpListener::bind("127.0.0.1:0").expect("binds");
        let upstream = store.local_addr().expect("bound");
        thread::spawn(move || {
            for stream in store.incoming() {
                let stream = stream.expect("accepts");
                thread::spawn(move || serve(stream));
            }
        });
        Self::to(upstream)
    }

    fn to(upstream: std::net::SocketAddr) -> Self {
        let runtime: Runtime = Builder::new_current_thread().enable_all().build().expect("builds");
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let carrier = thread::spawn(move || {
            let _ = runtime.block_on(stopped);
        });
        let wire: Arc<Mutex<Vec<Wire>>> = Arc::default();
        let seen = Arc::clone(&wire);
        let sink = WireSink::new(move |_, event| seen.lock().expect("not poisoned").push(event));
        Self {
            relay: Some(Relay::start(&handle, &[upstream], sink).expect("starts")),
            wire,
            phases: Arc::default(),
            stop: Some(stop),
            carrier: Some(carrier),
        }
    }

    fn relay(&self) -> &Relay {
        self.relay.as_ref().expect("runs")
    }

    fn sink(&self) -> FaultSink {
        let phases = Arc::clone(&self.phases);
        FaultSink::new(move |_, event| phases.lock().expect("not poisoned").push(event.phase))
    }

    fn connect(&self) -> TcpStream {
        let before = self.count(WireSeen::Opened);
        let stream = TcpStream::connect(self.relay().addrs()[0]).expect("connects");
        eventually("the relay knows the connection", || {
            self.count(WireSeen::Opened) > before
        });
        stream
    }

    fn count(&self, seen: WireSeen) -> usize {
        let wire = self.wire.lock().expect("not poisoned");
        wire.iter().filter(|event| event.seen == seen).count()
    }

    fn bytes(&self, seen: WireSeen) -> u64 {
        let wire = self.wire.lock().expect("not poisoned");
        wire.iter()
            .filter(|event| event.seen == seen)
            .map(|event| event.bytes)
            .sum()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.relay = None;
        self.stop.take();
        if let Some(carrier) = self.carrier.take() {
            let _ = carrier.join();
        }
    }
}

fn echo(mut stream: TcpStream) {
    let mut chunk = [0; 1024];
    while let Ok(length) = stream.read(&mut chunk) {
        if length == 0 || stream.write_all(&chunk[..length]).is_err() {
            break;
        }
    }
    // The end comes after a last word, so that a half-close is seen to be passed on.
    let _ = stream.write_all(b".");
}

fn deaf(stream: TcpStream) {
    // It never answers: the process ends before this does.
    thread::sleep(Duration::from_secs(3600));
    drop(stream);
}

fn ask(stream: &mut TcpStream, word: &str) -> String {
    stream.write_all(word.as_bytes()).expect("writable");
    hear(stream, word.len())
}

fn hear(stream: &mut TcpStream, length: usize) -> String {
    let mut answer = vec![0; length];
    stream.set_read_timeout(Some(crate::rig::SOON)).expect("set");
    stream.read_exact(&mut answer).expect("answered");
    String::from_utf8(answer).expect("text")
}

fn nothing_comes(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(NOTHING)).expect("set");
    let error = stream.read(&mut [0]).expect_err("silence");
    assert!(
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{error}"
    );
}

fn passes() {
    let net = Net::new(echo);
    let (mut one, mut two) = (net.connect(), net.connect());
    assert_eq!(ask(&mut one, "one"), "one");
    assert_eq!(ask(&mut two, "second"), "second");
    assert_eq!(net.relay().connections(), [1, 2]);
    drop((one, two));
    eventually("both are closed", || net.count(WireSeen::Closed) == 2);
    assert_eq!(net.bytes(WireSeen::Request), 9);
    assert_eq!(net.bytes(WireSeen::Answer), 9 + 2, "with the two last words");
    assert!(net.relay().connections().is_empty());
}

fn half_close() {
    let net = Net::new(echo);
    let mut owner = net.connect();
    owner.write_all(b"last").expect("writable");
    owner.shutdown(Shutdown::Write).expect("open");
    let mut all = String::new();
    owner.read_to_string(&mut all).expect("readable");
    assert_eq!(all, "last.");
}

fn unreachable_store() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .expect("binds")
        .local_addr()
        .expect("bound");
    let net = Net::to(nobody);
    let mut owner = net.connect();
    assert!(!matches!(owner.read(&mut [0]), Ok(length) if length > 0));
    eventually("it is closed", || net.count(WireSeen::Closed) == 1);
}

fn blackhole() {
    let net = Net::new(echo);
    let mut owner = net.connect();
    assert_eq!(ask(&mut owner, "before"), "before");
    let hole = net.relay().blackhole(1, &net.sink());
    owner.write_all(b"within").expect("writable");
    eventually("the request is swallowed", || net.relay().requests_swallowed() == 1);
    nothing_comes(&mut owner);
    hole.heal();
    assert_eq!(hear(&mut owner, 6), "within", "what was swallowed is delivered");
    assert_eq!(ask(&mut owner, "after"), "after");
    assert_eq!(*net.phases.lock().expect("not poisoned"), [Asked, Confirmed, Undone]);
    assert_eq!(net.bytes(WireSeen::RequestSwallowed), 6);
    assert_eq!(net.bytes(WireSeen::Delivered), 6);
}

fn blackhole_new_connection() {
    let net = Net::new(echo);
    let hole = net.relay().blackhole(1, &net.sink());
    let mut owner = net.connect();
    owner.write_all(b"hello").expect("writable");
    owner.shutdown(Shutdown::Write).expect("open");
    eventually("the request is swallowed", || {
        net.bytes(WireSeen::RequestSwallowed) == 5
    });
    nothing_comes(&mut owner);
    hole.heal();
    assert_eq!(hear(&mut owner, 6), "hello.");
}

fn blackhole_dropped() {
    let net = Net::new(echo);
    let mut owner = net.connect();
    drop(net.relay().blackhole(1, &net.sink()));
    assert_eq!(ask(&mut owner, "after"), "after");
}

fn delay_requests() {
    let net = Net::new(echo);
    let mut owner = net.connect();
    assert_eq!(ask(&mut owner, "before"), "before");
    let outer = net.relay().delay_requests(1, &net.sink());
    let inner = net.relay().blackhole(2, &net.sink());
    owner.write_all(b"late").expect("writable");
    eventually("it is held back", || net.relay().requests_swallowed() == 1);
    inner.heal();
    nothing_comes(&mut owner);
    outer.heal();
    assert_eq!(hear(&mut owner, 4), "late");
}

fn delay_answers() {
    let net = Net::new(echo);
    let mut owner = net.connect();
    assert_eq!(ask(&mut owner, "before"), "before");
    let held = net.relay().delay_answers(1, &net.sink());
    owner.write_all(b"late").expect("writable");
    eventually("the answer is held back", || net.count(WireSeen::AnswerSwallowed) == 1);
    assert_eq!(net.relay().requests_swallowed(), 0, "the request has passed");
    nothing_comes(&mut owner);
    held.heal();
    assert_eq!(hear(&mut owner, 4), "late");
}

fn reset() {
    let net = Net::new(echo);
    let mut owner = net.connect();
    assert_eq!(ask(&mut owner, "before"), "before");
    let cut = net.relay().reset(1, &net.sink());
    assert_eq!(cut.connections, [1]);
    let error = owner.read(&mut [0]).expect_err("it is reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(net.count(WireSeen::Reset), 1);
    assert_eq!(ask(&mut net.connect(), "after"), "after");
}

fn reset_stuck() {
    let net = Net::new(deaf);
    let mut owner = net.connect();
    owner.set_write_timeout(Some(NOTHING)).expect("set");
    while owner.write(&[0; 1 << 16]).is_ok() {}
    let cut = net.relay().reset(1, &net.sink());
    assert_eq!(cut.connections, [1]);
    assert_eq!(net.count(WireSeen::Reset), 1, "a full pump doesn't keep it from that");
}

fn idle_drop() {
    let net = Net::new(echo);
    let mut owner = net.connect();
    assert_eq!(ask(&mut owner, "before"), "before");
    let cut = net.relay().idle_drop(1, &net.sink());
    assert_eq!(cut.connections, [1]);
    owner.write_all(b"lost").expect("nobody has told us");
    eventually("the request is swallowed", || {
        net.bytes(WireSeen::RequestSwallowed) == 4
    });
    nothing_comes(&mut owner);
    assert_eq!(ask(&mut net.connect(), "after"), "after");
    cut.over(leaseproof_model::moment::Moment::exact(boot_now()));
    assert_eq!(net.bytes(WireSeen::Delivered), 0);
    assert_eq!(net.count(WireSeen::Closed), 0);
    assert_eq!(net.count(WireSeen::Reset), 0);
}
