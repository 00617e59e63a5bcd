//! The HTTP endpoint: `/metrics`, and `/healthy` for supervisors. Reads only.

use super::board::Board;
use super::page;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use leaseproof_proc::clock::boot_now;
use leaseproof_report::exposition::MEDIA_TYPE;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// So many connections at a time: a scraper needs one.
const CONNECTIONS: usize = 64;

/// How long a client may take to say what it wants, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves for ever.
pub async fn serve(listener: TcpListener, board: Arc<Mutex<Board>>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, for the moment.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let board = Arc::clone(&board);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let answer = answer(&request, &board);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(stream), service);
            // A client that went away is no concern of ours.
            let _ = tokio::time::timeout(PATIENCE * 60, connection).await;
            drop(permit);
        });
    }
}

fn answer(request: &Request<Incoming>, board: &Mutex<Board>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned(), "text/plain");
    }
    match request.uri().path() {
        "/metrics" => {
            let text = {
                let board = board.lock().unwrap_or_else(PoisonError::into_inner);
                page::render(&board, boot_now())
            };
            plain(StatusCode::OK, text, MEDIA_TYPE)
        }
        "/healthy" => {
            let (fresh, text) = {
                let board = board.lock().unwrap_or_else(PoisonError::into_inner);
                let silent = board.own.last_round.map(|stamp| boot_now().since(stamp.boot));
                let bound = (board.terms.interval * 10).max(Duration::from_secs(15));
                match silent {
                    Some(silent) if silent <= bound => (true, "ok\n".to_owned()),
                    _ => (false, "the store has not answered for a while\n".to_owned()),
                }
            };
            let status = if fresh {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            };
            plain(status, text, "text/plain")
        }
        "/" => plain(
            StatusCode::OK,
            "leaseproof watch: /metrics, /healthy\n".to_owned(),
            "text/plain",
        ),
        _ => plain(
            StatusCode::NOT_FOUND,
            "there are /metrics and /healthy\n".to_owned(),
            "text/plain",
        ),
    }
}

fn plain(status: StatusCode, text: String, media_type: &'static str) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    let value = hyper::header::HeaderValue::from_static(media_type);
    answer.headers_mut().insert(CONTENT_TYPE, value);
    answer
}
