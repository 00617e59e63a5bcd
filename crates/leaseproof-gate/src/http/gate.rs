//! What the gate does with one request.

use super::aloft::Aloft;
use super::headers;
use super::refusal::Refusal;
use super::settings::{Kind, Settings};
use super::turns::{Flight, Turns};
use super::upload::{Upload, Watch};
use super::upstream::{NoAnswer, Way};
use crate::marks::Wishes;
use crate::token;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, UPGRADE};
use hyper::{Request, Response, StatusCode, Uri};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// What goes back to a client.
pub type Answer = Response<Either<Incoming, Full<Bytes>>>;

/// The gate as one thread has it.
#[derive(Debug)]
pub struct Gate {
    /// What it was told.
    pub settings: Arc<Settings>,
    /// Whose turn it is.
    pub turns: Arc<Turns>,
    /// The marks on disk.
    pub marks: Wishes,
    /// The way to the upstream: this thread's own connections.
    pub way: Way,
}

impl Gate {
    /// The same gate for another thread.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self {
            settings: Arc::clone(&self.settings),
            turns: Arc::clone(&self.turns),
            marks: self.marks.clone(),
            way: self.way.beside(),
        }
    }

    /// Answers one request.
    pub async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let answered = match self.check(&request) {
            Err(refusal) => Err(refusal),
            Ok(Kind::Write) => self.write(request).await,
            Ok(Kind::Read | Kind::Unknown) => self.read(request).await,
        };
        answered.unwrap_or_else(|refusal| refusal.answer().map(|text| Either::Right(Full::new(text))))
    }

    /// What must hold of any request.
    fn check(&self, request: &Request<Incoming>) -> Result<Kind, Refusal> {
        let headers = request.headers();
        let method = request.method();
        let kind = self.settings.kind(method);
        if headers.contains_key(UPGRADE) {
            let says = "an upgrade is not forwarded: no write could be told from another after it".to_owned();
            return Err(Refusal::NotForwarded(StatusCode::NOT_IMPLEMENTED, says));
        }
        if kind == Kind::Unknown {
            let says = format!("{method} may write: name it with --methods if it does");
            return Err(Refusal::NotForwarded(StatusCode::METHOD_NOT_ALLOWED, says));
        }
        if let Some(name) = headers::overriding(headers) {
            return Err(Refusal::Unclear(format!(
                "{name} makes one method out of another: send the method that is meant"
            )));
        }
        if headers::nominated(headers).contains(&self.settings.header) {
            return Err(Refusal::Unclear(format!(
                "connection names {}, which the upstream must get, too",
                self.settings.header
            )));
        }
        for meant in std::iter::once(&self.settings.header).chain(self.settings.key.header()) {
            if let Some(name) = headers::twin(headers, meant) {
                return Err(Refusal::Unclear(format!(
                    "some servers take {name} for {meant}: send {meant} alone"
                )));
            }
        }
        Ok(kind)
    }

    async fn read(&self, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let (request, _) = self.to_upstream(request)?;
        match tokio::time::timeout(self.settings.patience, self.way.send(request)).await {
            Err(_) => Err(Refusal::Late),
            Ok(answered) => {
                let (answer, connection) = answered.map_err(refused)?;
                let answer = to_client(answer)?;
                self.way.keep(connection);
                Ok(answer)
            }
        }
    }

    async fn write(self: &Arc<Self>, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let values = request.headers().get_all(&self.settings.header);
        let token = token::parse(values.iter().map(|value| value.as_bytes())).map_err(Refusal::Token)?;
        let rule = &self.settings.key;
        let key = rule
            .key(request.uri().path(), request.headers())
            .map_err(Refusal::Key)?;
        let (request, upload) = self.to_upstream(request)?;
        let bounds = (self.settings.patience, self.settings.settle);
        let flight = self.turns.admit(&self.marks, &key, token, bounds).await?;
        // Whatever becomes of the client, the write is under way until the upstream answers.
        let (answer, answered) = oneshot::channel();
        let gate = Arc::clone(self);
        let write = async move { gate.fly(request, upload, flight, answer).await };
        Aloft::new(write, answered).await.unwrap_or(Err(Refusal::Late))
    }

    /// Sends a write, and stays with it until its end.
    async fn fly(
        &self,
        request: Request<Upload>,
        mut upload: Watch,
        flight: Flight,
        answer: oneshot::Sender<Result<Answer, Refusal>>,
    ) {
        let mut answer = Some(answer);
        let mut tell = |told: Result<Answer, Refusal>| {
            if let Some(answer) = answer.take() {
                // The client may have gone.
                let _ = answer.send(told);
            }
        };
        let sending = self.way.send(request);
        tokio::pin!(sending);
        let mut body = match upload.over.try_recv() {
            Ok(()) => Sent::Whole(Instant::now()),
            Err(_) => Sent::Part,
        };
        let mut late = false;
        let mut surpassed = None;
        let sent = loop {
            // The clock of the upstream's answer starts once it has the whole request.
            let since = match body {
                Sent::Whole(since) => Some(since),
                Sent::Part | Sent::Torn => None,
            };
            let deadline = since.unwrap_or_else(Instant::now) + self.settings.patience;
            tokio::select! {
                biased;
                sent = &mut sending => break sent,
                over = &mut upload.over, if body == Sent::Part => body = Sent::at_its_end(over.is_ok()),
                highest = flight.surpassed(), if body == Sent::Part && surpassed.is_none() => {
                    // An upstream that gets half a request applies nothing. If all of it was taken meanwhile, this
                    // comes too late, and the answer is waited for.
                    upload.cut();
                    surpassed = Some(highest);
                }
                () = sleep_until(deadline), if since.is_some() && !late => {
                    late = true;
                    tell(Err(Refusal::Late));
                }
            }
        };
        match sent {
            Ok((head, connection)) => {
                tell(to_client(head));
                // It has decided, unless it still gets more of the request.
                if body == Sent::Part {
                    body = tokio::select! {
                        biased;
                        over = &mut upload.over => Sent::at_its_end(over.is_ok()),
                        _ = flight.surpassed() => {
                            upload.cut();
                            Sent::at_its_end((&mut upload.over).await.is_ok())
                        }
                    };
                }
                if matches!(body, Sent::Whole(_)) {
                    flight.answered();
                    self.way.keep(connection);
                }
            }
            Err(NoAnswer::NotSent(why)) => {
                flight.answered();
                tell(Err(Refusal::Unreachable(why)));
            }
            Err(NoAnswer::Body(why)) => {
                // The upstream got a part of it, and may have done something for that.
                drop(flight);
                tell(Err(Refusal::Body(why)));
            }
            Err(NoAnswer::Unknown(why)) => {
                let whole = matches!(body, Sent::Whole(_)) || upload.over.try_recv().is_ok();
                let token = flight.token();
                drop(flight);
                tell(Err(match surpassed {
                    Some(highest) if !whole => Refusal::Cut { token, highest },
                    _ => Refusal::NoAnswer(why),
                }));
            }
        }
    }

    fn to_upstream(&self, request: Request<Incoming>) -> Result<(Request<Upload>, Watch), Refusal> {
        let upstream = &self.settings.upstream;
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |it| it.as_str());
        // `OPTIONS *` asks the server itself.
        let target = if path == "*" {
            path.to_owned()
        } else {
            format!("{}{path}", upstream.prefix)
        };
        head.uri = Uri::try_from(target).map_err(|error| Refusal::Unclear(format!("the path is none: {error}")))?;
        head.version = hyper::Version::HTTP_11;
        let (body, upload) = Upload::new(body, !self.settings.reads_bodies);
        headers::to_upstream(&mut head.headers, body.is_last());
        if head.headers.get_all(HOST).iter().count() > 1 {
            return Err(Refusal::Unclear("the request has more than one host".to_owned()));
        }
        if !head.headers.contains_key(HOST) {
            let value = upstream
                .place
                .parse()
                .map_err(|_| Refusal::Unclear("the upstream's name is none".to_owned()))?;
            head.headers.insert(HOST, value);
        }
        Ok((Request::from_parts(head, body), upload))
    }
}

/// How much of a request's body has gone.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Sent {
    /// More is to come.
    Part,
    /// All, at this moment.
    Whole(Instant),
    /// The rest never will.
    Torn,
}

impl Sent {
    fn at_its_end(whole: bool) -> Self {
        if whole { Self::Whole(Instant::now()) } else { Self::Torn }
    }
}

fn to_client(mut answer: Response<Incoming>) -> Result<Answer, Refusal> {
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Refusal::NoAnswer("it switches protocols unasked".to_owned()));
    }
    headers::to_client(answer.headers_mut());
    *answer.version_mut() = hyper::Version::HTTP_11;
    Ok(answer.map(Either::Left))
}

fn refused(why: NoAnswer) -> Refusal {
    match why {
        NoAnswer::NotSent(why) => Refusal::Unreachable(why),
        NoAnswer::Body(why) => Refusal::Body(why),
        NoAnswer::Unknown(why) => Refusal::NoAnswer(why),
    }
}
