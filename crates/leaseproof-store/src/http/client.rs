//! One connection to one server, or to one of several members, hidden behind blocking calls that end in running time.

use super::LIMIT;
use super::answer::Answer;
use super::request::Request;
use super::socket::Socket;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::wire::{Failed, Gate, Gated, Tls};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{Builder as Http, SendRequest};
use std::net::Ipv6Addr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};

/// The most that status line and headers may have.
const HEAD: usize = 64 * 1024;

/// How an answer of more than that is told.
pub(crate) fn too_long(limit: usize) -> String {
    format!("an answer of more than {} MiB", limit / (1024 * 1024))
}

/// Where a server is, and how errors name it.
#[derive(Clone)]
pub(crate) struct Place {
    /// The URL for errors, password redacted.
    pub(crate) shown: String,
    /// What answers there if all is well: `an etcd server`.
    pub(crate) what: &'static str,
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: Option<Tls>,
}

impl Place {
    /// What stands in the `Host` header.
    pub(crate) fn authority(&self) -> String {
        match self.host.parse::<Ipv6Addr>() {
            Ok(_) => format!("[{}]:{}", self.host, self.port),
            Err(_) => format!("{}:{}", self.host, self.port),
        }
    }
}

/// A client of one server, or of several members of which one is asked.
pub(crate) struct Client {
    /// One at least.
    places: Vec<Place>,
    /// Which of them is asked, until it does not answer.
    at: usize,
    connect_timeout: Duration,
    link: Option<Link>,
    connections: u64,
    /// What may be sent; none: everything.
    may: Option<fn(&Request) -> bool>,
    /// Always there until it is dropped in the background: a look-up of a name may hang in it.
    runtime: Option<Runtime>,
}

/// An open connection.
struct Link {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    gate: Arc<Gate>,
    /// The first byte of the first answer.
    first: Arc<OnceLock<u8>>,
}

impl Client {
    /// A client that is not connected yet. `places` has one at least.
    pub(crate) fn new(places: Vec<Place>, connect_timeout: Duration) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .map_err(|error| StoreError::Unexpected(format!("no event loop: {error}")))?;
        Ok(Self {
            places,
            at: 0,
            connect_timeout,
            link: None,
            connections: 0,
            may: None,
            runtime: Some(runtime),
        })
    }

    /// From now on a request that `may` does not allow is refused, before its first byte.
    pub(crate) fn only(&mut self, may: fn(&Request) -> bool) {
        self.may = Some(may);
    }

    pub(crate) fn place(&self) -> &Place {
        &self.places[self.at]
    }

    /// How many members there are to ask.
    pub(crate) fn members(&self) -> usize {
        self.places.len()
    }

    /// Asks another member from the next use on; where there is one only, that one again.
    pub(crate) fn move_on(&mut self) {
        self.prefer(self.at + 1);
    }

    /// Asks this member from the next use on.
    pub(crate) fn prefer(&mut self, place: usize) {
        let place = place % self.places.len();
        if place != self.at {
            self.disconnect();
            self.at = place;
        }
    }

    /// How many connections there were so far: another one may be to another process.
    #[cfg_attr(
        not(feature = "consul"),
        expect(dead_code, reason = "etcd names itself in each answer")
    )]
    pub(crate) fn connections(&self) -> u64 {
        self.connections
    }

    /// Drops the connection; nothing of it reaches the server any more.
    pub(crate) fn disconnect(&mut self) {
        if let Some(link) = self.link.take() {
            link.gate.shut();
            link.driver.abort();
        }
    }

    /// Connects if need be, so that a request's own time is the request's alone.
    pub(crate) fn connect(&mut self, patience: &mut Patience) -> Result<(), StoreError> {
        self.connected(patience).map(|_| ())
    }

    /// Sends a request and reads its answer, whatever its status.
    ///
    /// After a failure the connection is gone: an answer that comes late must not be taken for that
    /// of the next request.
    pub(crate) fn ask(&mut self, request: &Request, patience: &mut Patience) -> Result<Answer, Failed> {
        if self.may.is_some_and(|may| !may(request)) {
            let what = format!("{} {}", request.method(), request.path());
            return Err(Failed::NotSent(StoreError::Unexpected(format!(
                "{what} is not among what a look may send: nothing was sent"
            ))));
        }
        let limit = request.most();
        let request = request.to_http(&self.place().authority()).map_err(|error| {
            Failed::NotSent(StoreError::Unexpected(format!("a request that can't be sent: {error}")))
        })?;
        let (runtime, link) = self.connected(patience).map_err(Failed::NotSent)?;
        let before = link.gate.sent();
        let waited = patience.left();
        let sender = &mut link.sender;
        let answer = runtime.block_on(async {
            let work = pin!(async {
                let (head, body) = sender.send_request(request).await.map_err(Broken::Http)?.into_parts();
                // Not collected first and then copied: a long one would be there twice.
                let (mut parts, mut body) = (Limited::new(body, limit), Vec::new());
                while let Some(part) = parts.frame().await {
                    if let Ok(bytes) = part.map_err(Broken::Body)?.into_data() {
                        body.extend_from_slice(&bytes);
                    }
                }
                Ok::<_, Broken>(Answer {
                    status: head.status.as_u16(),
                    headers: head.headers,
                    body,
                })
            });
            patience.wait(work).await
        });
        let unsent = link.gate.sent() == before;
        let first = link.first.get().copied();
        let error = match answer {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(broken)) => broken.named(self.place(), first, limit),
            None => StoreError::TimedOut(waited),
        };
        self.disconnect();
        // What was sent stays unknown, whoever is asked next.
        self.move_on();
        Err(if unsent {
            Failed::NotSent(error)
        } else {
            Failed::Unknown(error)
        })
    }

    /// The runtime and a link that was open a moment ago.
    fn connected(&mut self, patience: &mut Patience) -> Result<(&Runtime, &mut Link), StoreError> {
        // Invariant: taken by drop alone.
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        if let Some(link) = &self.link {
            // Between calls nobody looks at the socket. A close that already lies there is found
            // here, before a request is lost in it: one yield lets the socket be polled, the next
            // lets the driver read it.
            runtime.block_on(async {
                for _ in 0..3 {
                    yield_now().await;
                }
            });
            if link.driver.is_finished() || !link.sender.is_ready() {
                self.disconnect();
            }
        }
        let mut others = self.places.len() - 1;
        while self.link.is_none() {
            let mut part = Patience::new(self.connect_timeout.min(patience.left()));
            let allowed = part.left();
            let link = self.open_within(&mut part);
            patience.take(allowed.saturating_sub(part.left()));
            match link {
                Ok(link) => {
                    self.link = Some(link);
                    self.connections += 1;
                }
                // Nothing was asked of it yet: another may be asked at once.
                Err(_) if others > 0 && !patience.left().is_zero() => {
                    others -= 1;
                    self.move_on();
                }
                Err(error) => {
                    self.move_on();
                    return Err(error);
                }
            }
        }
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        // Invariant: set above.
        Ok((runtime, self.link.as_mut().expect("the link was just made")))
    }

    fn open_within(&self, patience: &mut Patience) -> Result<Link, StoreError> {
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        let allowed = patience.left();
        let link = runtime.block_on(async {
            let work = pin!(self.open());
            patience.wait(work).await
        });
        link.unwrap_or_else(|| Err(unreachable(self.place(), format!("no answer within {allowed:?}"))))
    }

    async fn open(&self) -> Result<Link, StoreError> {
        let gate = Arc::new(Gate::default());
        let place = self.place();
        let stream = Gated::connect(&place.host, place.port, place.tls.as_ref(), Arc::clone(&gate))
            .await
            .map_err(|error| unreachable(place, error))?;
        let first = Arc::new(OnceLock::new());
        let socket = Socket {
            stream,
            first: Arc::clone(&first),
        };
        let (sender, connection) = Http::new()
            .max_buf_size(HEAD)
            .handshake(socket)
            .await
            .map_err(|error| Broken::Http(error).named(place, None, LIMIT))?;
        let driver = tokio::spawn(async {
            // Its error is told to the request that meets it.
            let _ = connection.await;
        });
        Ok(Link {
            sender,
            driver,
            gate,
            first,
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.disconnect();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What broke while a request was under way.
enum Broken {
    Http(hyper::Error),
    Body(Box<dyn std::error::Error + Send + Sync>),
}

impl Broken {
    /// In our words; `first` is the first byte that ever came, `limit` what the answer might have.
    fn named(&self, place: &Place, first: Option<u8>, limit: usize) -> StoreError {
        let asked_whether = |what: &str| format!("{}: {what}: is it {}?", place.shown, place.what);
        let unexpected = |what: &str| StoreError::Unexpected(asked_whether(what));
        match self {
            Self::Http(error) if error.is_parse() => match first {
                Some(b'-' | b'+') => StoreError::OtherProtocol(asked_whether("it answers as Redis does")),
                Some(0x15 | 0x16) => StoreError::OtherProtocol(asked_whether(
                    "it answers in TLS, which an s more at the end of the URL's scheme asks for; if that is not it",
                )),
                _ => unexpected("what came is no HTTP, or has a head of more than 64 KiB"),
            },
            Self::Http(error) if error.is_incomplete_message() && place.tls.is_none() => {
                let what = place.what;
                unreachable(
                    place,
                    format!("it closed without an answer: does it want TLS? is it {what}? (Redis closes so)"),
                )
            }
            Self::Http(error) if error.is_incomplete_message() => unreachable(place, "it closed without an answer"),
            Self::Http(error) => unreachable(place, chain(error)),
            Self::Body(error) if error.is::<http_body_util::LengthLimitError>() => unexpected(&too_long(limit)),
            Self::Body(error) => unreachable(place, format!("the answer broke off: {}", chain(&**error))),
        }
    }
}

/// The words of an error and of its causes; the library's own say little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn unreachable(place: &Place, why: impl ToString) -> StoreError {
    StoreError::Unreachable {
        url: place.shown.clone(),
        why: why.to_string(),
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
