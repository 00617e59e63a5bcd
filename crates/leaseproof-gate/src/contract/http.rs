//! An HTTP resource: a status says yes or no.

use super::target::{Outcome, Target, Template, Writer};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{HOST, HeaderName};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use url::Url;

/// No more of an answer is read.
const MOST: usize = 1 << 20;

/// An HTTP resource.
#[derive(Clone, Debug)]
pub struct HttpTarget {
    /// Where writers write; the second holder takes the second one, where there is one.
    pub urls: Vec<Template>,
    /// How they write.
    pub method: Method,
    /// The token's header.
    pub header: HeaderName,
    /// What they send.
    pub body: Template,
    /// Where the value is read.
    pub read: Option<Template>,
    /// The statuses that refuse a stale token; 2xx accepts, and anything else says neither.
    pub refused: Vec<StatusCode>,
    /// How long an answer may take.
    pub patience: Duration,
}

struct HttpWriter {
    target: HttpTarget,
    holder: usize,
    runtime: Result<Runtime, String>,
}

impl Target for HttpTarget {
    fn writer(&self, holder: usize) -> Box<dyn Writer> {
        Box::new(HttpWriter {
            target: self.clone(),
            holder,
            runtime: Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string()),
        })
    }

    fn reads(&self) -> bool {
        self.read.is_some()
    }
}

impl HttpWriter {
    fn ask(
        &self,
        url: &str,
        request: hyper::http::request::Builder,
        body: String,
    ) -> Result<(StatusCode, String), String> {
        let runtime = self.runtime.as_ref().map_err(Clone::clone)?;
        let asked = async { timeout(self.target.patience, ask(url, request, body)).await };
        runtime
            .block_on(asked)
            .map_err(|_| format!("no answer within {:?}", self.target.patience))?
    }
}

impl Writer for HttpWriter {
    fn write(&mut self, token: u64, value: &str) -> Outcome {
        let target = &self.target;
        let url = target.urls[self.holder % target.urls.len()].fill(token, value);
        let holder = ["a", "b"][self.holder % 2];
        let request = Request::builder()
            .method(&target.method)
            .header(&target.header, token)
            .header("lease-owner", holder);
        match self.ask(&url, request, target.body.fill(token, value)) {
            Ok((status, _)) if status.is_success() => Outcome::Accepted,
            Ok((status, says)) if target.refused.contains(&status) => {
                Outcome::Refused(format!("{status}: {}", says.trim()))
            }
            Ok((status, says)) => Outcome::Unknown(format!("{status} is neither 2xx nor --refused: {}", says.trim())),
            Err(why) => Outcome::Unknown(why),
        }
    }

    fn read(&mut self) -> Result<String, String> {
        let url = self.target.read.as_ref().ok_or("there is no --read")?.plain();
        let (status, text) = self.ask(&url, Request::builder(), String::new())?;
        if status.is_success() {
            Ok(text)
        } else {
            Err(format!("{status}"))
        }
    }
}

async fn ask(url: &str, request: hyper::http::request::Builder, body: String) -> Result<(StatusCode, String), String> {
    let url = Url::parse(url).map_err(|error| format!("{url}: {error}"))?;
    let (Some(host), "http") = (url.host_str(), url.scheme()) else {
        return Err(format!("{url} is no http://HOST URL"));
    };
    let place = format!("{host}:{}", url.port_or_known_default().unwrap_or(80));
    let stream = TcpStream::connect(&place)
        .await
        .map_err(|error| format!("{place}: {error}"))?;
    let failed = |error: hyper::Error| format!("{place}: {error}");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(failed)?;
    tokio::spawn(connection);
    let request = request
        .uri(&url[url::Position::BeforePath..url::Position::AfterQuery])
        .header(HOST, &place)
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(failed)?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), MOST)
        .collect()
        .await
        .map_err(|error| error.to_string())?;
    Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
}
