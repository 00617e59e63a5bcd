//! The protected resource: takes writes by HTTP, one at a time, and remembers each for its log.

use super::stage::{lock, wall_now};
use std::io::{BufRead, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A write that reached it.
#[derive(Clone, Debug)]
pub struct Write {
    pub wall_ns: i64,
    pub owner: String,
    pub token: Option<u64>,
    pub accepted: bool,
    pub peer: SocketAddr,
}

#[derive(Default)]
struct Hold {
    /// Whose next write is to be held.
    wanted: Option<String>,
    caught: bool,
}

struct Shared {
    fenced: bool,
    writes: Mutex<(Vec<Write>, Option<u64>)>,
    hold: Mutex<Hold>,
    changed: Condvar,
}

/// The running resource. Its threads end with their connections.
pub struct Resource {
    place: SocketAddr,
    shared: Arc<Shared>,
}

impl Resource {
    /// Starts it on a free port. `fenced`: whether it rejects a token that is smaller than one that it saw.
    ///
    /// # Errors
    /// When no port can be bound.
    pub fn start(fenced: bool) -> Result<Self, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        let place = listener.local_addr().map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared {
            fenced,
            writes: Mutex::new((Vec::new(), None)),
            hold: Mutex::new(Hold::default()),
            changed: Condvar::new(),
        });
        let theirs = Arc::downgrade(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(shared) = theirs.upgrade() else { return };
                std::thread::spawn(move || serve(&shared, &stream));
            }
        });
        Ok(Self { place, shared })
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.place)
    }

    /// What it took so far, in its own order.
    pub fn writes(&self) -> Vec<Write> {
        lock(&self.shared.writes).0.clone()
    }

    /// Holds the next write of this owner in flight, and waits until there is one.
    pub fn hold_next(&self, owner: &str, patience: Duration) -> bool {
        let mut hold = lock(&self.shared.hold);
        hold.wanted = Some(owner.to_owned());
        let waited = self
            .shared
            .changed
            .wait_timeout_while(hold, patience, |hold| !hold.caught);
        waited.unwrap_or_else(PoisonError::into_inner).0.caught
    }

    /// Lets it go on.
    pub fn release(&self) {
        *lock(&self.shared.hold) = Hold::default();
        self.shared.changed.notify_all();
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        self.release();
        // The listener's thread looks whether anybody is left.
        let (place, shared) = (self.place, Arc::downgrade(&self.shared));
        std::thread::spawn(move || {
            while shared.strong_count() > 0 {
                std::thread::sleep(Duration::from_millis(50));
            }
            let _ = TcpStream::connect(place);
        });
    }
}

fn serve(shared: &Shared, stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    let Ok(peer) = stream.peer_addr() else { return };
    let Ok(clone) = stream.try_clone() else { return };
    let mut from = BufReader::new(clone);
    while let Some((owner, token)) = request(&mut from) {
        let accepted = take(shared, owner, token, peer);
        let answer = if accepted {
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"accepted\":true}"
        } else {
            "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n{\"accepted\":false}"
        };
        let mut to = stream;
        if to.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads a request: whose it is, and its token.
fn request(from: &mut impl BufRead) -> Option<(String, Option<u64>)> {
    let (mut owner, mut token, mut length) = (String::new(), None, 0);
    let mut first = true;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() && !first {
            break;
        }
        first = false;
        if let Some((name, value)) = line.split_once(':') {
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "lease-owner" => value.clone_into(&mut owner),
                "fencing-token" => token = value.parse().ok(),
                "content-length" => length = value.parse().ok()?,
                _ => {}
            }
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some((owner, token))
}

fn take(shared: &Shared, owner: String, token: Option<u64>, peer: SocketAddr) -> bool {
    let mut hold = lock(&shared.hold);
    if hold.wanted.as_deref() == Some(owner.as_str()) && !hold.caught {
        hold.caught = true;
        shared.changed.notify_all();
        while hold.caught {
            hold = shared.changed.wait(hold).unwrap_or_else(PoisonError::into_inner);
        }
    }
    drop(hold);
    let mut writes = lock(&shared.writes);
    let greatest = writes.1.unwrap_or(0);
    let accepted = !shared.fenced || token.is_none_or(|token| token >= greatest);
    if let Some(token) = token {
        writes.1 = Some(token.max(greatest));
    }
    writes.0.push(Write {
        wall_ns: wall_now(),
        owner,
        token,
        accepted,
        peer,
    });
    accepted
}
