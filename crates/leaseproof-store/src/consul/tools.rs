//! The same questions for `curl` and `consul`, so that a reader can check by hand.

use crate::inspect::shell_word;
use crate::url::ConsulUrl;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in a path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A key as a part of a path.
pub(super) fn in_path(key: &str) -> String {
    utf8_percent_encode(key, PLAIN).to_string()
}

/// The commands, in the order of the page; `session` is the key's, where it is known; `place` is the whole key.
pub(super) fn commands(url: &ConsulUrl, place: &str, session: Option<&str>) -> Vec<String> {
    let server = &url.server;
    let mut curl = "curl -s".to_owned();
    if url.token.is_some() {
        // Never on a command line, where every user of the machine can read it.
        curl.push_str(" -H @TOKEN_FILE");
    }
    if let Some(ca) = &server.ca {
        curl.push_str(&format!(" --cacert {}", shell_word(ca.as_os_str().as_encoded_bytes())));
    }
    let scheme = if server.tls { "https" } else { "http" };
    let host = match server.host.contains(':') {
        true => format!("[{}]", server.host),
        false => server.host.clone(),
    };
    let key = in_path(place);
    let session = session.unwrap_or("SESSION");
    [
        format!("kv/{key}?consistent"),
        format!("session/info/{session}"),
        "status/leader".to_owned(),
        "status/peers".to_owned(),
        "agent/self".to_owned(),
        "health/node/NODE".to_owned(),
    ]
    .into_iter()
    .map(|path| {
        let place = shell_word(format!("{scheme}://{host}:{}/v1/{path}", server.port).as_bytes());
        let remark = if path.starts_with("kv/") {
            "   # prints the holder's secret, in base64"
        } else {
            ""
        };
        format!("{curl} {place}{remark}")
    })
    .collect()
}
