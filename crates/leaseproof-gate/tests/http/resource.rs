//! The resource behind the gate: it writes down what reached it, and does as it is told with an answer.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long any wait of these tests may take: far more than a busy host needs.
pub const LONG: Duration = Duration::from_secs(20);

/// One request as it reached the resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    /// Whether the body came to its end.
    pub whole: bool,
}

impl Seen {
    pub fn token(&self) -> u64 {
        self.headers["fencing-token"].parse().expect("a number")
    }
}

/// What it does with writes of one token.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Manner {
    /// It keeps the answer back until it is told otherwise.
    Hold,
    /// It closes the connection without an answer.
    HangUp,
    /// It answers before it has read the body.
    Early,
    /// It says that it switches protocols.
    Switch,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    /// How many requests have begun to come.
    begun: usize,
    /// How many connections are open.
    open: usize,
    manners: BTreeMap<String, Manner>,
    /// Requests that have come and are not answered: their key and token.
    under_way: Vec<(String, u64)>,
    /// Whether two of one key and of different tokens ever were at once, or a smaller token came after a greater.
    fault: Option<String>,
    greatest: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// A running resource; its threads end with the test's process.
pub struct Resource {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Resource {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::<Shared>::default();
        let inner = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&inner);
                shared.lock().open += 1;
                std::thread::spawn(move || {
                    serve(stream, &shared);
                    shared.lock().open -= 1;
                    shared.changed.notify_all();
                });
            }
        });
        Self { address, shared }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.lock().seen.clone()
    }

    /// The tokens of the writes that reached it whole, in its own order.
    pub fn tokens(&self) -> Vec<u64> {
        let seen = self.seen();
        let whole = seen
            .iter()
            .filter(|it| it.whole && it.headers.contains_key("fencing-token"));
        whole.map(Seen::token).collect()
    }

    pub fn fault(&self) -> Option<String> {
        self.shared.lock().fault.clone()
    }

    /// What it does from now on with requests of this token, or of this path.
    pub fn treat(&self, which: &str, manner: Manner) {
        self.shared.lock().manners.insert(which.to_owned(), manner);
    }

    /// It answers them again.
    pub fn release(&self, which: &str) {
        self.shared.lock().manners.remove(which);
        self.shared.changed.notify_all();
    }

    /// Waits until so many requests have reached it.
    pub fn wait_for(&self, count: usize) {
        self.wait_until(count, |state| state.seen.len());
    }

    /// Waits until it has read every connection that was ever made to its end: whoever made them is gone.
    pub fn wait_for_the_last(&self) {
        // Connections are accepted in their order: once this one is answered, none from before waits any more.
        let mut last = TcpStream::connect(self.address).expect("it listens");
        last.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it reads");
        let mut answer = [0; 1];
        std::io::Read::read_exact(&mut last, &mut answer).expect("it answers");
        drop(last);
        let until = Instant::now() + LONG;
        let mut state = self.shared.lock();
        while state.open > 0 {
            assert!(Instant::now() < until, "{} connections stay open", state.open);
            let waited = self.shared.changed.wait_timeout(state, Duration::from_millis(100));
            state = waited.expect("not poisoned").0;
        }
    }

    /// Waits until so many have begun to.
    pub fn wait_for_heads(&self, count: usize) {
        self.wait_until(count, |state| state.begun);
    }

    fn wait_until(&self, count: usize, so_far: impl Fn(&State) -> usize) {
        let until = Instant::now() + LONG;
        let mut state = self.shared.lock();
        while so_far(&state) < count {
            assert!(
                Instant::now() < until,
                "only {} of {count} requests came",
                so_far(&state)
            );
            state = self
                .shared
                .changed
                .wait_timeout(state, Duration::from_millis(100))
                .expect("not poisoned")
                .0;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("not poisoned")
    }
}

fn serve(stream: TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream.try_clone().expect("it can be cloned"));
    let mut writer = stream;
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line == "\r\n" => break,
                Ok(_) => lines.push(line.trim_end().to_owned()),
            }
        }
        let words: Vec<&str> = lines[0].split(' ').collect();
        let headers: BTreeMap<String, String> = lines[1..]
            .iter()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut seen = Seen {
            method: words[0].to_owned(),
            path: words[1].to_owned(),
            headers,
            body: Vec::new(),
            whole: false,
        };
        let token = seen.headers.get("fencing-token").cloned().unwrap_or_default();
        let manner = {
            let mut state = shared.lock();
            state.begun += 1;
            shared.changed.notify_all();
            state.manners.get(&token).or(state.manners.get(&seen.path)).copied()
        };
        if manner == Some(Manner::Early) {
            shared.lock().seen.push(seen.clone());
            shared.changed.notify_all();
            let _ = writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nearly");
        }
        seen.whole = read_body(&mut reader, &mut seen);
        let write = (!token.is_empty()).then(|| (seen.path.clone(), seen.token()));
        {
            let mut state = shared.lock();
            state.seen.push(seen.clone());
            if let Some((path, token)) = write.clone().filter(|_| seen.whole) {
                if let Some(other) = state.under_way.iter().find(|it| it.0 == path && it.1 != token) {
                    state.fault = Some(format!("{token} came while {} was under way", other.1));
                }
                let greatest = state.greatest.entry(path.clone()).or_default();
                let before = *greatest;
                *greatest = before.max(token);
                if token < before {
                    state.fault = Some(format!("{token} came after {before}"));
                }
                state.under_way.push((path, token));
            }
            shared.changed.notify_all();
            let until = Instant::now() + LONG * 2;
            let which = |state: &State| state.manners.get(&token).or(state.manners.get(&seen.path)).copied();
            while which(&state) == Some(Manner::Hold) && Instant::now() < until {
                state = shared
                    .changed
                    .wait_timeout(state, Duration::from_millis(100))
                    .expect("not poisoned")
                    .0;
            }
            state.under_way.retain({
                let mut gone = false;
                move |it| {
                    let this = !gone && Some(it) == write.as_ref();
                    gone |= this;
                    !this
                }
            });
        }
        if !seen.whole || manner == Some(Manner::HangUp) {
            return;
        }
        let answer = match manner {
            Some(Manner::Early) => continue,
            Some(Manner::Switch) => "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n".to_owned(),
            _ if seen.method == "HEAD" => "HTTP/1.1 200 OK\r\ncontent-length: 1234\r\n\r\n".to_owned(),
            _ if seen.path == "/echo" => {
                let _ = write!(writer, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", seen.body.len());
                let _ = writer.write_all(&seen.body);
                continue;
            }
            _ => "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: keep-alive, x-secret\r\nx-secret: hop\r\nx-kept: yes\r\n\r\ndone"
                .to_owned(),
        };
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads the body as the request's framing says; false if it is cut short.
fn read_body(reader: &mut impl BufRead, seen: &mut Seen) -> bool {
    if seen.headers.get("transfer-encoding").is_some_and(|it| it == "chunked") {
        loop {
            let mut size = String::new();
            if reader.read_line(&mut size).unwrap_or(0) == 0 {
                return false;
            }
            let Ok(size) = usize::from_str_radix(size.trim(), 16) else {
                return false;
            };
            let mut chunk = vec![0; size + 2];
            if reader.read_exact(&mut chunk).is_err() {
                return false;
            }
            if size == 0 {
                return true;
            }
            seen.body.extend(&chunk[..size]);
        }
    }
    let length = seen
        .headers
        .get("content-length")
        .map_or(0, |it| it.parse().expect("a number"));
    seen.body.resize(length, 0);
    reader.read_exact(&mut seen.body).is_ok()
}
