//! A request, before it is on a wire.

use super::LIMIT;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::http;

/// A request. Its headers may hold a password or token: it is never shown.
pub(crate) struct Request {
    method: &'static str,
    /// Path and query, percent-encoded, from `/` on.
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    most: usize,
}

impl Request {
    /// A request without a body. `path` is percent-encoded by who makes it.
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            headers: Vec::new(),
            body: Vec::new(),
            most: LIMIT,
        }
    }

    /// Lets the answer be longer than [`LIMIT`].
    #[cfg_attr(not(feature = "consul"), expect(dead_code, reason = "etcd's are had in pages"))]
    pub(crate) fn up_to(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// A POST of a JSON text.
    pub(crate) fn post_json(path: impl Into<String>, json: String) -> Self {
        Self::new("POST", path)
            .header(CONTENT_TYPE.as_str(), "application/json")
            .body(json)
    }

    /// Adds a header; `name` in lower case.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn method(&self) -> &'static str {
        self.method
    }

    /// The path, without its query.
    pub(crate) fn path(&self) -> &str {
        self.path.split('?').next().unwrap_or(&self.path)
    }

    /// The most that the answer's body may have.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.body
    }

    pub(super) fn to_http(&self, authority: &str) -> Result<http::Request<Full<Bytes>>, http::Error> {
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(&self.path)
            .header(HOST, authority);
        for (name, value) in &self.headers {
            let mut value = HeaderValue::from_str(value)?;
            value.set_sensitive(true);
            request = request.header(HeaderName::from_static(name), value);
        }
        request.body(Full::new(Bytes::from(self.body.clone())))
    }
}
