//! Many calls by gRPC at once, each a stream of its own on one HTTP/2 connection: a question that by the JSON
//! gateway costs the server several times as much, since the gateway is a client of its own in the middle.
//!
//! As little of gRPC as unary calls take: a message behind five bytes of head each way, and the outcome in the
//! trailers. Nothing is retried, compressed or balanced. After a failure the connection is gone.

use crate::clock::boot_now;
use crate::error::StoreError;
use crate::etcd::allow::may_send;
use crate::etcd::message::Refusal;
use crate::http::{LIMIT, Place};
use crate::patience::Patience;
use crate::wire::{Gate, Gated};
use bytes::Bytes;
use h2::client::{Builder as Http2, ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use hyper::HeaderMap;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, TE};
use hyper::http::{Method, Request, Uri, Version};
use leaseproof_model::clock::BootNanos;
use percent_encoding::percent_decode_str;
use std::pin::pin;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};

/// Flag of compression, and length.
const HEAD: usize = 5;

/// What may come before it is read, of one answer and of all.
const WINDOW: u32 = 64 * 1024;
const WINDOWS: u32 = 1024 * 1024;

/// The most that an answer's headers may have.
const HEADERS: u32 = 16 * 1024;

/// gRPC's code of a method that this server does not have.
const UNIMPLEMENTED: i64 = 12;

/// An answer.
pub(super) struct Replied {
    /// The message, or why there is none.
    pub(super) message: Result<Vec<u8>, Refusal>,
    /// When it had been read.
    pub(super) at: BootNanos,
}

/// How many calls together failed.
pub(super) enum Failure {
    /// What is there understands no gRPC: a proxy perhaps, or a port for the gateway alone.
    NotSpoken(String),
    /// It closed a new connection without a word. A server that ends does that as well.
    Closed(StoreError),
    Store(StoreError),
}

/// A connection for calls; nothing is connected before the first use.
pub(super) struct Grpc {
    place: Place,
    link: Option<Link>,
    /// Always there until it is dropped in the background: a look-up of a name may hang in it.
    runtime: Option<Runtime>,
}

/// An open connection.
struct Link {
    sender: SendRequest<Bytes>,
    driver: JoinHandle<()>,
    gate: Arc<Gate>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.gate.shut();
        self.driver.abort();
    }
}

impl Grpc {
    pub(super) fn new(mut place: Place) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .map_err(|error| StoreError::Unexpected(format!("no event loop: {error}")))?;
        place.tls = place.tls.map(|tls| tls.speaking(b"h2"));
        Ok(Self {
            place,
            link: None,
            runtime: Some(runtime),
        })
    }

    /// Whether it goes there.
    pub(super) fn is_to(&self, place: &Place) -> bool {
        (&self.place.host, self.place.port) == (&place.host, place.port)
    }

    /// Calls `path` once for each message, all at once, and reads an answer to each, in the same order.
    pub(super) fn exchange(
        &mut self,
        path: &'static str,
        token: Option<&str>,
        messages: &[Vec<u8>],
        patience: &mut Patience,
    ) -> Result<Vec<Replied>, Failure> {
        if !messages.iter().all(|message| may_send("POST", path, message)) {
            return Err(Failure::Store(StoreError::Unexpected(format!(
                "POST {path} is not among what a look may send: nothing was sent"
            ))));
        }
        let request = self.request(path, token).map_err(Failure::Store)?;
        // Invariant: taken by drop alone.
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the caller");
        let waited = patience.left();
        let (place, link) = (&self.place, &mut self.link);
        let gate = Arc::new(Gate::default());
        let unreachable = |why| StoreError::Unreachable {
            url: place.shown.clone(),
            why,
        };
        let done = runtime.block_on(async {
            let work = pin!(async {
                let mut open = match still_open(link.take()).await {
                    Some(link) => link,
                    None => connected(place, Arc::clone(&gate)).await?,
                };
                let answers = exchange(&mut open, &request, messages).await?;
                *link = Some(open);
                Ok(answers)
            });
            patience.wait(work).await
        });
        done.unwrap_or(Err(Broken::Late)).map_err(|broken| match broken {
            Broken::Late => Failure::Store(StoreError::TimedOut(waited)),
            // A frame of HTTP/2 begins with its length, and none that may come first is so long.
            Broken::Lost(_) if gate.first_heard().is_some_and(|first| first != 0) => {
                Failure::NotSpoken("what answers is no HTTP/2".to_owned())
            }
            Broken::Lost(why) if gate.sent() > 0 && gate.first_heard().is_none() => Failure::Closed(unreachable(why)),
            Broken::Lost(why) => Failure::Store(unreachable(why)),
            Broken::NoGrpc(why) => Failure::NotSpoken(why),
            Broken::Strange(what) => Failure::Store(StoreError::Unexpected(format!(
                "{}: {what}: is it {}?",
                self.place.shown, self.place.what
            ))),
        })
    }

    /// What all calls have before their messages.
    fn request(&self, path: &str, token: Option<&str>) -> Result<Request<()>, StoreError> {
        let strange =
            |error: &dyn std::fmt::Display| StoreError::Unexpected(format!("a call that can't be made: {error}"));
        let scheme = if self.place.tls.is_some() { "https" } else { "http" };
        let uri = Uri::builder()
            .scheme(scheme)
            .authority(self.place.authority())
            .path_and_query(path)
            .build()
            .map_err(|error| strange(&error))?;
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        *request.version_mut() = Version::HTTP_2;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        if let Some(token) = token {
            let value = HeaderValue::from_str(token).map_err(|error| strange(&error))?;
            headers.insert(HeaderName::from_static("token"), value);
        }
        Ok(request)
    }
}

impl Drop for Grpc {
    fn drop(&mut self) {
        self.link = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What broke.
enum Broken {
    Late,
    /// The connection.
    Lost(String),
    /// It speaks, but not gRPC.
    NoGrpc(String),
    /// It speaks gRPC, and not as it should.
    Strange(&'static str),
}

impl From<h2::Error> for Broken {
    fn from(error: h2::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

/// The connection, if nothing was heard of its end. Between calls nobody looks at the socket: two yields let what
/// lies there be read.
async fn still_open(link: Option<Link>) -> Option<Link> {
    let link = link?;
    for _ in 0..3 {
        yield_now().await;
    }
    (!link.driver.is_finished()).then_some(link)
}

async fn connected(place: &Place, gate: Arc<Gate>) -> Result<Link, Broken> {
    let stream = Gated::connect(&place.host, place.port, place.tls.as_ref(), Arc::clone(&gate))
        .await
        .map_err(|error| match error.get_ref().and_then(|it| it.downcast_ref()) {
            Some(rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol)) => {
                Broken::NoGrpc("it offers no HTTP/2 by its TLS".to_owned())
            }
            _ => Broken::Lost(error.to_string()),
        })?;
    let (sender, connection) = Http2::new()
        .enable_push(false)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOWS)
        .max_header_list_size(HEADERS)
        // Until the server has said how many it allows: what is beyond that it would refuse.
        .initial_max_send_streams(1)
        .handshake(stream)
        .await?;
    let driver = tokio::spawn(async {
        // Its error is told to each call that it meets.
        let _ = connection.await;
    });
    Ok(Link { sender, driver, gate })
}

async fn exchange(link: &mut Link, request: &Request<()>, messages: &[Vec<u8>]) -> Result<Vec<Replied>, Broken> {
    let mut waiting = Vec::with_capacity(messages.len());
    for message in messages {
        // Where the server allows fewer streams at a time, this waits for one to end.
        let mut sender = link.sender.clone().ready().await?;
        let (answer, mut body): (ResponseFuture, SendStream<Bytes>) = sender.send_request(request.clone(), false)?;
        body.send_data(framed(message), true)?;
        waiting.push(answer);
    }
    let mut answers = Vec::with_capacity(waiting.len());
    for answer in waiting {
        let (head, mut body) = answer.await?.into_parts();
        if head.status != 200 {
            return Err(Broken::NoGrpc(format!(
                "a call was answered with HTTP status {}",
                head.status.as_u16()
            )));
        }
        let is_grpc = |it: &HeaderValue| it.as_bytes().starts_with(b"application/grpc");
        if !head.headers.get(CONTENT_TYPE).is_some_and(is_grpc) {
            return Err(Broken::NoGrpc(
                "a call was answered with something else than gRPC".to_owned(),
            ));
        }
        let framed = whole(&mut body).await?;
        let trailers = body.trailers().await?;
        // An answer without a message has its outcome in the headers.
        let refusal = outcome(trailers.as_ref().unwrap_or(&head.headers))?;
        if refusal.code == UNIMPLEMENTED {
            return Err(Broken::NoGrpc("it does not know this call".to_owned()));
        }
        let message = match refusal.code {
            0 => Ok(unframed(framed)?),
            _ => Err(refusal),
        };
        answers.push(Replied {
            message,
            at: boot_now(),
        });
    }
    Ok(answers)
}

async fn whole(body: &mut RecvStream) -> Result<Vec<u8>, Broken> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        if bytes.len() + chunk.len() > LIMIT {
            return Err(Broken::Strange("an answer of more than 1 MiB"));
        }
        bytes.extend_from_slice(&chunk);
        body.flow_control().release_capacity(chunk.len())?;
    }
    Ok(bytes)
}

fn framed(message: &[u8]) -> Bytes {
    // Invariant: ours are a number, or 128 keys.
    let length = u32::try_from(message.len()).expect("a short message");
    [&[0][..], &length.to_be_bytes(), message].concat().into()
}

fn unframed(mut bytes: Vec<u8>) -> Result<Vec<u8>, Broken> {
    let (head, message) = bytes
        .split_at_checked(HEAD)
        .ok_or(Broken::Strange("an answer that is cut off"))?;
    if head[0] != 0 {
        return Err(Broken::Strange("an answer that is compressed, which nobody asked for"));
    }
    if usize::try_from(u32::from_be_bytes([head[1], head[2], head[3], head[4]])) != Ok(message.len()) {
        return Err(Broken::Strange("an answer of another length than it says"));
    }
    bytes.drain(..HEAD);
    Ok(bytes)
}

/// gRPC's code and words; 0 is success.
fn outcome(headers: &HeaderMap) -> Result<Refusal, Broken> {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let code = text("grpc-status")
        .and_then(|text| text.parse().ok())
        .ok_or(Broken::Strange("an answer without an outcome"))?;
    let message = text("grpc-message").unwrap_or_default();
    Ok(Refusal {
        code,
        message: percent_decode_str(message).decode_utf8_lossy().into_owned(),
    })
}
