//! Why a request does not go on, as the client is told: a status and one JSON object.

use super::key::BadKey;
use crate::marks::NotWritten;
use crate::token::BadToken;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use leaseproof_model::name::Token;
use serde_json::{Map, Value, json};

/// Why a request does not go on.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// A greater token was admitted.
    Stale {
        /// The write's.
        token: Token,
        /// The greatest.
        highest: Token,
    },
    /// A greater token was admitted while this write's body was still coming: its connection was cut.
    Cut {
        /// The write's.
        token: Token,
        /// The greatest.
        highest: Token,
    },
    /// No token, or a bad one.
    Token(BadToken),
    /// No key, or a bad one.
    Key(BadKey),
    /// The request could be read in two ways.
    Unclear(String),
    /// An upgrade, or a method that nobody named.
    NotForwarded(StatusCode, String),
    /// The mark can't be written down.
    NotWritten(NotWritten),
    /// There are too many keys.
    TooManyKeys(usize),
    /// A write with a smaller token is under way and unanswered.
    Blocked {
        /// Its token, where it is known.
        by: Option<Token>,
    },
    /// The upstream can't be reached: nothing was sent.
    Unreachable(String),
    /// The client's body breaks off, or is none.
    Body(String),
    /// The upstream ended the connection without an answer.
    NoAnswer(String),
    /// It did not answer in time.
    Late,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::Stale { .. } | Self::Cut { .. } => StatusCode::CONFLICT,
            Self::Token(BadToken::Missing) => StatusCode::PRECONDITION_REQUIRED,
            Self::Token(_) | Self::Key(_) | Self::Unclear(_) | Self::Body(_) => StatusCode::BAD_REQUEST,
            Self::NotForwarded(status, _) => *status,
            Self::NotWritten(why) if !why.is_full() => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotWritten(_) | Self::TooManyKeys(_) => StatusCode::INSUFFICIENT_STORAGE,
            Self::Unreachable(_) | Self::NoAnswer(_) => StatusCode::BAD_GATEWAY,
            Self::Blocked { .. } | Self::Late => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The error's name, for programs.
    fn name(&self) -> &'static str {
        match self {
            Self::Stale { .. } | Self::Cut { .. } => "stale-token",
            Self::Token(BadToken::Missing) => "token-missing",
            Self::Token(_) => "token-invalid",
            Self::Key(_) => "key-invalid",
            Self::Unclear(_) => "request-unclear",
            Self::NotForwarded(..) => "not-forwarded",
            Self::NotWritten(_) | Self::TooManyKeys(_) => "mark-not-stored",
            Self::Blocked { .. } => "older-write-under-way",
            Self::Unreachable(_) => "upstream-unreachable",
            Self::Body(_) => "body-invalid",
            Self::NoAnswer(_) => "upstream-gone",
            Self::Late => "upstream-late",
        }
    }

    fn says(&self) -> String {
        match self {
            Self::Stale { .. } => {
                "a greater fencing token was admitted: the lease has passed on; do not retry".to_owned()
            }
            Self::Cut { .. } => {
                "a greater fencing token was admitted while this write's body was still coming: it was cut off"
                    .to_owned()
            }
            Self::Token(why) => why.to_string(),
            Self::Key(why) => why.to_string(),
            Self::Unclear(why) | Self::NotForwarded(_, why) => why.clone(),
            Self::NotWritten(why) => format!("{why}: the write was not sent on"),
            Self::TooManyKeys(most) => format!(
                "{most} resource keys have a mark, and a mark is never forgotten: allow more (--most-keys), or use a \
                 coarser key"
            ),
            Self::Blocked { by: Some(token) } => format!(
                "a write with token {token} is under way and the upstream has not answered it: this one would overtake it; \
                 it was not sent on"
            ),
            Self::Blocked { by: None } => {
                "an earlier write may still be under way at the upstream: this one was not sent on".to_owned()
            }
            Self::Unreachable(why) => format!("the upstream can't be reached: {why}: the write was not sent"),
            Self::Body(why) => format!("{why}: the upstream got no more than a part of the request"),
            Self::NoAnswer(why) => format!("the upstream gave no answer: {why}: the write may have been applied"),
            Self::Late => "the upstream has not answered in time: the write may still be applied".to_owned(),
        }
    }

    /// The answer. A request whose body was not read makes its connection useless: hyper closes it.
    #[must_use]
    pub fn answer(&self) -> Response<Bytes> {
        let mut object = Map::new();
        object.insert("error".to_owned(), json!(self.name()));
        object.insert("says".to_owned(), Value::String(self.says()));
        if let Self::Stale { token, highest } | Self::Cut { token, highest } = self {
            object.insert("token".to_owned(), json!(token.0));
            object.insert("highest".to_owned(), json!(highest.0));
        }
        let mut text = Value::Object(object).to_string();
        text.push('\n');
        let mut answer = Response::new(Bytes::from(text));
        *answer.status_mut() = self.status();
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if matches!(self, Self::Blocked { .. }) {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }
}
