//! What of a message is for the next hop only, and does not go on. Pure.

use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA,
};

/// Headers that belong to one connection.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Headers by which a server may take one method for another.
const OVERRIDES: [HeaderName; 3] = [
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-method-override"),
];

/// The headers that `Connection` names.
pub fn nominated(headers: &HeaderMap) -> Vec<HeaderName> {
    headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect()
}

/// Whether some servers take one name for the other: behind CGI and its heirs (WSGI, PHP) `Fencing_Token` and
/// `Fencing-Token` are one variable.
fn reads_as(name: &HeaderName, other: &HeaderName) -> bool {
    let (name, other) = (name.as_str().as_bytes(), other.as_str().as_bytes());
    let alike = |(a, b): (&u8, &u8)| a == b || !(a.is_ascii_alphanumeric() || b.is_ascii_alphanumeric());
    name.len() == other.len() && name.iter().zip(other).all(alike)
}

/// The header that has another name than this one, and may be taken for it.
pub fn twin<'a>(headers: &'a HeaderMap, of: &HeaderName) -> Option<&'a HeaderName> {
    headers.keys().find(|name| *name != of && reads_as(name, of))
}

/// The header by which a server may take the request's method for another.
pub fn overriding(headers: &HeaderMap) -> Option<&HeaderName> {
    headers
        .keys()
        .find(|name| OVERRIDES.iter().any(|it| reads_as(name, it)))
}

/// Takes away what is for this hop only.
fn strip(headers: &mut HeaderMap) {
    for name in nominated(headers) {
        // A length that is nominated away would change what the message is.
        if name != CONTENT_LENGTH {
            headers.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// A request's headers as the upstream gets them. The length is derived anew from the body that is sent, so that
/// this hop's framing is never the next one's. With `last` the upstream is told that nothing follows on the
/// connection.
pub fn to_upstream(headers: &mut HeaderMap, last: bool) {
    strip(headers);
    if last {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    headers.remove(CONTENT_LENGTH);
    // It was answered here.
    headers.remove(EXPECT);
    headers.append(VIA, HeaderValue::from_static("1.1 leaseproof-gate"));
}

/// An answer's headers as the client gets them.
pub fn to_client(headers: &mut HeaderMap) {
    strip(headers);
    headers.append(VIA, HeaderValue::from_static("1.1 leaseproof-gate"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_this_hop_goes_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("expect", "100-continue"),
            ("content-length", "3"),
            ("fencing-token", "7"),
            ("x-other", "2"),
        ] {
            headers.append(name, value.parse().expect("a value"));
        }
        to_upstream(&mut headers, false);
        let left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left.len(), 3, "{left:?}");
        for name in ["fencing-token", "x-other", "via"] {
            assert!(headers.contains_key(name), "{name}");
        }
    }
}
