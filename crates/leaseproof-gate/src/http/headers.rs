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
pub const OVERRIDES: [HeaderName; 3] = [
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
/// this hop's framing is never the next one's.
pub fn to_upstream(headers: &mut HeaderMap) {
    strip(headers);
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
        to_upstream(&mut headers);
        let left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left.len(), 3, "{left:?}");
        for name in ["fencing-token", "x-other", "via"] {
            assert!(headers.contains_key(name), "{name}");
        }
    }
}
