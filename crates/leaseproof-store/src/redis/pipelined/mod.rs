//! Many leases of one owner on one connection: requests leave without waiting for the answers to those before, and the
//! answers are matched by their order.
//!
//! - `flight`: what is on its way, and what becomes of it
//! - `call`: an operation as bytes
//! - `running`: the clock of the time-outs

mod call;
mod flight;
mod running;

use crate::clock::boot_now;
use crate::error::StoreError;
use crate::pipelined::{Answered, Operation, Pipelined, Ticket};
use crate::redis::server::refusal_in;
use crate::redis::socket::{Socket, no_redis, refused, unreachable};
use crate::redis::wire::Part;
use crate::url::{RedisUrl, Way};
use crate::value::{holder_id, new_incarnation};
use crate::wire::Tls;
use call::Calls;
use flight::{Flight, Flights, Kind, Said, Wanted};
use leaseproof_model::clock::BootNanos;
use running::Running;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

/// So many may be on their way: a server works on them for a few hundredths of a second, well below any renewal's
/// time-out.
const WINDOW: usize = 2048;

/// The longest turn while anything is on its way: time-outs are looked at between turns.
const SLICE: Duration = Duration::from_millis(10);

/// After a connection that could not be made, so long nothing is tried.
const REST: Duration = Duration::from_millis(50);

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

type Opening = Pin<Box<dyn Future<Output = Result<Socket, StoreError>> + Send>>;

/// See the module.
pub(crate) struct Line {
    url: RedisUrl,
    timeout: Duration,
    tls: Option<Tls>,
    calls: Calls,
    stage: Stage,
    /// What was put and not handed to the socket yet, from `from` on.
    out: Vec<u8>,
    from: usize,
    /// How many bytes were put, and handed to the socket, since the connection before this one ended.
    put: u64,
    handed: u64,
    flights: Flights,
    /// Answers for the next turn.
    ready: Vec<Answered>,
    running: Running,
    /// When the last turn ended.
    turned: BootNanos,
    chunk: Box<[u8]>,
    bell: Arc<Bell>,
    /// Always there until it is dropped in the background: a look-up of a name may hang in it.
    runtime: Option<Runtime>,
}

enum Stage {
    /// Nothing is connected, and nothing was tried yet.
    Closed,
    /// The last try failed, in these words.
    Resting {
        until: BootNanos,
        why: String,
    },
    /// On the way, for so long at most, in running time.
    Opening {
        work: Opening,
        until: Duration,
    },
    Open(Socket),
}

#[derive(Default)]
struct Bell(Notify);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

impl Line {
    pub(crate) fn open(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .map_err(|error| StoreError::Unexpected(format!("no event loop: {error}")))?;
        Ok(Self {
            url: url.clone(),
            timeout,
            tls: url
                .tls
                .then(|| Tls::new(url.ca.as_deref(), url.tls_name(url.place()), url))
                .transpose()?,
            calls: Calls::new(),
            stage: Stage::Closed,
            out: Vec::new(),
            from: 0,
            put: 0,
            handed: 0,
            flights: Flights::default(),
            ready: Vec::new(),
            running: Running::default(),
            turned: boot_now(),
            chunk: vec![0; CHUNK].into_boxed_slice(),
            bell: Arc::new(Bell::default()),
            runtime: Some(runtime),
        })
    }

    /// Begins to connect where something waits for that.
    fn connect(&mut self) {
        if self.flights.len() == 0 {
            return;
        }
        if let Stage::Resting { until, why } = &self.stage {
            if boot_now() < *until {
                let why = why.clone();
                return self.lose(&why);
            }
            self.stage = Stage::Closed;
        }
        if matches!(self.stage, Stage::Closed) {
            self.stage = Stage::Opening {
                work: Box::pin(connected(self.url.clone(), self.tls.clone())),
                until: self.running.now() + self.timeout,
            };
        }
    }

    /// Whatever is on its way comes to nothing known, or certainly to nothing; and nothing of it leaves later.
    fn lose(&mut self, why: &str) {
        self.flights.lose(boot_now(), self.handed, why, &mut self.ready);
        self.out.clear();
        (self.from, self.put, self.handed) = (0, 0, 0);
        self.calls.forget();
    }

    /// Gives the connection up.
    fn cut(&mut self, why: &StoreError) {
        let why = why.to_string();
        // Closed before anybody is told: nothing of it leaves any more.
        self.stage = match self.stage {
            Stage::Open(_) => Stage::Closed,
            _ => Stage::Resting {
                until: boot_now().plus(REST),
                why: why.clone(),
            },
        };
        self.lose(&why);
    }

    /// Goes on wherever it can; ready once there is something to look at.
    fn pass(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Stage::Opening { work, .. } = &mut self.stage {
            match work.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(socket)) => self.stage = Stage::Open(socket),
                Poll::Ready(Err(error)) => {
                    self.cut(&error);
                    return Poll::Ready(());
                }
            }
        }
        let passed = self.write(context).and_then(|()| self.read(context));
        match passed {
            Ok(true) => Poll::Ready(()),
            Ok(false) => Poll::Pending,
            Err(error) => {
                let error = unreachable(&self.url, &error);
                self.cut(&error);
                Poll::Ready(())
            }
        }
    }

    /// Hands on as much as the socket takes.
    fn write(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let Stage::Open(socket) = &mut self.stage else {
            return Ok(());
        };
        while self.from < self.out.len() {
            match Pin::new(&mut socket.stream).poll_write(context, &self.out[self.from..]) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => {
                    self.from += count;
                    self.handed += count as u64;
                }
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        self.out.clear();
        self.from = 0;
        match Pin::new(&mut socket.stream).poll_flush(context) {
            Poll::Ready(flushed) => flushed,
            Poll::Pending => Ok(()),
        }
    }

    /// Takes whatever was answered; whether anything was.
    fn read(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        let mut any = false;
        loop {
            let Stage::Open(socket) = &mut self.stage else {
                return Ok(any);
            };
            let mut buffer = ReadBuf::new(&mut self.chunk);
            match Pin::new(&mut socket.stream).poll_read(context, &mut buffer) {
                Poll::Pending => return Ok(any),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Ready(Ok(())) => {}
            }
            let came = buffer.filled();
            if came.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            socket.scanner.take(came).map_err(|_| no_redis())?;
            any |= self.take_answers()?;
        }
    }

    /// Matches what the scanner found.
    fn take_answers(&mut self) -> io::Result<bool> {
        let Stage::Open(socket) = &mut self.stage else {
            return Ok(false);
        };
        let any = !socket.scanner.parts.is_empty();
        let now = boot_now();
        for part in &socket.scanner.parts {
            let said = match *part {
                Part::Int(number) => Said::Number(number),
                Part::Error(place) => {
                    let words = String::from_utf8_lossy(socket.scanner.text(place)).into_owned();
                    if words.starts_with("NOSCRIPT") {
                        self.calls.forget();
                    }
                    Said::Error(refusal_in(&self.url, words))
                }
                // A token comes as its text.
                Part::Bulk(place) => std::str::from_utf8(socket.scanner.text(place))
                    .ok()
                    .and_then(|text| text.parse().ok())
                    .map_or(Said::Strange, Said::Number),
                // Its parts would be taken for answers to others.
                Part::Array(_) => return Err(no_redis()),
                _ => Said::Strange,
            };
            if !self.flights.answered(now, said, &mut self.ready) {
                return Err(no_redis());
            }
        }
        if any {
            socket.scanner.forget_parts();
            self.running.answered();
        }
        Ok(any)
    }

    /// Looks at the time-outs.
    fn time_out(&mut self) {
        if let Stage::Opening { until, .. } = self.stage
            && self.running.is_past(until)
        {
            let why = format!("no answer within {:?}", self.timeout);
            let error = unreachable(&self.url, &why);
            return self.cut(&error);
        }
        if self.flights.time_out(&self.running, boot_now(), &mut self.ready) {
            self.cut(&StoreError::TimedOut(self.timeout));
        }
    }
}

/// A connection to a server that an owner can use.
async fn connected(url: RedisUrl, tls: Option<Tls>) -> Result<Socket, StoreError> {
    let mut socket = Socket::open(&url, tls.as_ref()).await?;
    let server = socket.server(&url).await?;
    if let Some(why) = server.unusable(&Way::Server) {
        return Err(refused(&url, why.as_bytes()));
    }
    if let Some(primary) = server.primary {
        return Err(StoreError::Replica {
            url: url.to_string(),
            primary,
        });
    }
    socket.scanner.clear();
    Ok(socket)
}

impl Pipelined for Line {
    fn room(&self) -> usize {
        WINDOW.saturating_sub(self.flights.len())
    }

    fn put(&mut self, ticket: Ticket, operation: Operation<'_>, timeout: Duration) {
        let asked = boot_now();
        let before = self.out.len();
        let kind = match operation {
            Operation::Acquire { key, holder, .. } => Kind::Acquire(Box::new(Wanted {
                key: key.to_owned(),
                holder: holder_id(holder, &new_incarnation()),
            })),
            Operation::Renew { .. } => Kind::Renew,
            Operation::Release { .. } => Kind::Release,
        };
        let holder = match &kind {
            Kind::Acquire(wanted) => Some(&wanted.holder),
            _ => None,
        };
        self.calls.write(&mut self.out, &operation, holder);
        let start = self.put;
        self.put += (self.out.len() - before) as u64;
        self.flights.push(Flight {
            ticket,
            kind,
            asked,
            start,
            patience: self.running.now() + timeout,
            silence: self.running.now() + timeout.max(self.timeout),
            told: false,
        });
    }

    fn turn(&mut self, wait: Duration, answers: &mut Vec<Answered>) {
        self.connect();
        let wait = match self.flights.len() {
            _ if !self.ready.is_empty() => Duration::ZERO,
            0 => wait,
            _ => wait.min(SLICE),
        };
        // Invariant: taken by drop alone.
        let runtime = self.runtime.take().expect("the runtime lives as long as the line");
        let bell = Arc::clone(&self.bell);
        runtime.block_on(async {
            let mut rung = pin!(bell.0.notified());
            let work = poll_fn(|context| {
                let rung = rung.as_mut().poll(context).is_ready();
                match self.pass(context) {
                    Poll::Pending if rung => Poll::Ready(()),
                    passed => passed,
                }
            });
            // Over or not: what came of it is in `ready`.
            let _ = tokio::time::timeout(wait, work).await;
        });
        self.runtime = Some(runtime);
        let now = boot_now();
        self.running.spend(wait, now.since(self.turned));
        self.turned = now;
        self.time_out();
        answers.append(&mut self.ready);
    }

    fn bell(&self) -> Waker {
        Waker::from(Arc::clone(&self.bell))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.stage = Stage::Closed;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
