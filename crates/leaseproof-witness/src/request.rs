//! Bytes to requests. Pure and bounded: an owner is any program, so any bytes may come.

use leaseproof_model::name::Token;

/// The longest head and body that are read; more ends the connection.
pub const MAX_HEAD: usize = 16 * 1024;
/// The longest body.
pub const MAX_BODY: usize = 4 << 20;

/// The header by which the lab marks a replay.
pub const REPLAY: &str = "leaseproof-replay";

/// One request, as far as the witness cares. Its body is read and dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The fencing token, if it is one number.
    pub token: Option<Token>,
    /// The token's text, if it isn't.
    pub bad_token: Option<String>,
    /// The `Lease-Owner` header.
    pub owner: Option<String>,
    /// Whether it says that it is a replay (believed only of the lab itself).
    pub replay: bool,
    /// Whether the connection stays open afterwards.
    pub keep_alive: bool,
}

/// What a buffer holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parsed {
    /// Not a whole request yet.
    Partial {
        /// The client wants to hear "100 Continue", and sends no body until then.
        waits: bool,
        /// Where the body begins, if its length is known: none of it need be kept.
        body: Option<usize>,
    },
    /// A request, and how many of these bytes it took.
    Whole(Request, usize),
    /// No request will come of it: the status to answer and why.
    Bad(u16, &'static str),
}

/// Reads the first request of `bytes`, of whose body `skipped` bytes are not among them any more.
#[must_use]
pub fn parse(bytes: &[u8], skipped: usize) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Request::new(&mut headers);
    let head_len = match head.parse(bytes) {
        Ok(httparse::Status::Complete(len)) if len <= MAX_HEAD => len,
        Ok(httparse::Status::Partial) if bytes.len() <= MAX_HEAD => {
            return Parsed::Partial {
                waits: false,
                body: None,
            };
        }
        Ok(_) => return Parsed::Bad(431, "head too long"),
        Err(_) => return Parsed::Bad(400, "not HTTP/1"),
    };
    let all = |name: &'static str| {
        head.headers
            .iter()
            .filter(move |it| it.name.eq_ignore_ascii_case(name))
            .map(|it| String::from_utf8_lossy(it.value).trim().to_owned())
    };
    let one = |name| all(name).next();
    let says =
        |name, word: &str| all(name).any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)));
    let rest = &bytes[head_len..];
    let is_chunked = says("transfer-encoding", "chunked");
    let body = if is_chunked {
        chunked(rest)
    } else {
        match one("content-length").map_or(Ok(0), |text| text.parse::<usize>()) {
            Ok(length) if length > MAX_BODY => Body::Bad(413, "body too long"),
            Ok(length) if rest.len() + skipped >= length => Body::Whole(length - skipped),
            Ok(_) => Body::Partial,
            Err(_) => Body::Bad(400, "content-length is no number"),
        }
    };
    let body_len = match body {
        Body::Whole(length) => length,
        Body::Partial => {
            let waits = says("expect", "100-continue") && rest.is_empty() && skipped == 0;
            let body = (!is_chunked).then_some(head_len);
            return Parsed::Partial { waits, body };
        }
        Body::Bad(status, why) => return Parsed::Bad(status, why),
    };
    let (token, bad_token) = token(all("fencing-token").collect());
    let keep_alive = match head.version {
        Some(0) => says("connection", "keep-alive"),
        _ => !says("connection", "close"),
    };
    let request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        path: head.path.unwrap_or_default().to_owned(),
        token,
        bad_token,
        owner: one("lease-owner").map(cut),
        replay: one(REPLAY).is_some(),
        keep_alive,
    };
    Parsed::Whole(request, head_len + body_len)
}

/// The path in the first line of bytes that hold no readable request.
#[must_use]
pub fn path(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\r' || *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line.get(..line.len().min(MAX_HEAD))?)
        .ok()?
        .split(' ');
    let _method = words.next()?;
    words.next().map(|path| cut(path.to_owned()))
}

/// One header with one number is a token; anything else is bad, and two headers are too: which of
/// them would the fence compare?
fn token(values: Vec<String>) -> (Option<Token>, Option<String>) {
    match values.as_slice() {
        [] => (None, None),
        [one] if one.bytes().all(|byte| byte.is_ascii_digit()) => match one.parse() {
            Ok(number) => (Some(Token(number)), None),
            Err(_) => (None, Some(cut(one.clone()))),
        },
        many => (None, Some(cut(many.join(", ")))),
    }
}

fn cut(text: String) -> String {
    text.chars().take(256).collect()
}

enum Body {
    Whole(usize),
    Partial,
    Bad(u16, &'static str),
}

fn chunked(bytes: &[u8]) -> Body {
    let mut at = 0;
    loop {
        let Some(line) = bytes[at..].windows(2).position(|two| two == b"\r\n") else {
            return if bytes.len() - at > MAX_HEAD {
                Body::Bad(400, "a chunk's head is too long")
            } else {
                Body::Partial
            };
        };
        let head = String::from_utf8_lossy(&bytes[at..at + line]);
        let Ok(size) = usize::from_str_radix(head.split(';').next().unwrap_or("").trim(), 16) else {
            return Body::Bad(400, "a chunk's size is no number");
        };
        at += line + 2;
        if size == 0 {
            // Trailers end with an empty line.
            let trailers = &bytes[at..];
            if trailers.starts_with(b"\r\n") {
                return Body::Whole(at + 2);
            }
            return match trailers.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(end) => Body::Whole(at + end + 4),
                None if trailers.len() > MAX_HEAD => Body::Bad(400, "trailers too long"),
                None => Body::Partial,
            };
        }
        if size > MAX_BODY || at + size > MAX_BODY + MAX_HEAD {
            return Body::Bad(413, "body too long");
        }
        if bytes.len() < at + size + 2 {
            return Body::Partial;
        }
        at += size + 2;
    }
}

/// One answer, whole.
#[must_use]
pub fn answer(status: u16, body: &str, keep_alive: bool) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Bad Request",
    };
    let connection = if keep_alive { "keep-alive" } else { "close" };
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: {connection}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
