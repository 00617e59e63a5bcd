//! The URL of a Consul agent.

use super::layout::Layout;
use super::refuse;
use super::server::Server;
use crate::error::StoreError;
use std::fmt;
use std::time::Duration;

/// `consul://[:token@]host[:port][,host[:port]…][/prefix][?lock_delay=15s][&recipe=lock]`; `consuls://` for TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct ConsulUrl {
    pub(crate) server: Server,
    pub(crate) token: Option<String>,
    /// What all keys begin with, with a slash at its end where there is one.
    pub(crate) prefix: String,
    /// How long a key is refused to the next after its holder's session ended.
    pub(crate) lock_delay: Duration,
    /// Whose layout the keys have.
    pub(crate) layout: Layout,
}

/// The server's own default.
const LOCK_DELAY: Duration = Duration::from_secs(15);

/// The most that the server takes.
const MOST_DELAY: Duration = Duration::from_secs(60);

const HOW: &str = "give consul://[:token@]host[:port][,host[:port]…][/prefix], or consuls:// for TLS";

pub(super) fn parse(text: &str, tls: bool) -> Result<ConsulUrl, StoreError> {
    let (server, options) = Server::parse(text, tls, if tls { 8501 } else { 8500 }, HOW)?;
    let (mut lock_delay, mut layout) = (LOCK_DELAY, Layout::default());
    for (name, value) in &options {
        match name.as_str() {
            "lock_delay" => {
                lock_delay = delay(value).filter(|&delay| delay <= MOST_DELAY).ok_or_else(|| {
                    refuse(
                        text,
                        format!("lock_delay={value} is none: write 0s to 60s, as 15s or 500ms"),
                    )
                })?;
            }
            "recipe" => layout = Layout::parse(text, value)?,
            _ => {
                return Err(refuse(
                    text,
                    format!(
                        "the option {name} is not known: lock_delay and recipe are, and with TLS ca and server_name"
                    ),
                ));
            }
        }
    }
    let (user, token) = server.login(text)?;
    if user.is_some() {
        return Err(refuse(text, "a token has no user: consul://:token@host".to_owned()));
    }
    let prefix = server.given.path().trim_matches('/').to_owned();
    if prefix.contains('%') {
        return Err(refuse(
            text,
            format!("the prefix {prefix} has more than letters, digits, - and _ in it"),
        ));
    }
    Ok(ConsulUrl {
        server,
        token,
        prefix: if prefix.is_empty() { prefix } else { prefix + "/" },
        lock_delay,
        layout,
    })
}

fn delay(text: &str) -> Option<Duration> {
    match text.strip_suffix("ms") {
        Some(millis) => millis.parse().ok().map(Duration::from_millis),
        None => text.strip_suffix('s')?.parse().ok().map(Duration::from_secs),
    }
}

impl fmt::Display for ConsulUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.server.fmt(f)
    }
}

impl fmt::Debug for ConsulUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::StoreUrl;

    fn url(text: &str) -> StoreUrl {
        text.parse().expect(text)
    }

    #[test]
    fn urls_ok() {
        for (text, shown, place) in [
            ("consul://127.0.0.1", "consul://127.0.0.1", ("127.0.0.1", 8500)),
            (
                "consul://:s%23cret@localhost:1/a/b?lock_delay=500ms",
                "consul://:***@localhost:1/a/b?lock_delay=500ms",
                ("localhost", 1),
            ),
            (
                "consuls://c.example?ca=/ca.pem&lock_delay=0s",
                "consuls://c.example?ca=/ca.pem&lock_delay=0s",
                ("c.example", 8501),
            ),
        ] {
            let parsed = url(text);
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(format!("{parsed:?}"), shown);
            assert_eq!(parsed.host_port(), Some(place));
            assert_eq!(parsed.kind(), "consul");
            assert_eq!(url(&parsed.with_secrets()), parsed);
        }
        let StoreUrl::Consul(parsed) = url("consul://:s%23cret@h/a/b/?lock_delay=500ms") else {
            panic!("it is Consul");
        };
        assert_eq!(parsed.token.as_deref(), Some("s#cret"));
        assert_eq!(parsed.prefix, "a/b/");
        assert_eq!(parsed.lock_delay, Duration::from_millis(500));
        let StoreUrl::Consul(parsed) = url("consul://h") else {
            panic!("it is Consul");
        };
        assert_eq!((parsed.prefix.as_str(), parsed.lock_delay), ("", LOCK_DELAY));
        assert!(!parsed.layout.is_recipe());
        let StoreUrl::Consul(parsed) = url("consul://h?recipe=lock&lock_delay=1s") else {
            panic!("it is Consul");
        };
        assert!(parsed.layout.is_recipe());
    }

    #[test]
    fn urls_bad() {
        for (text, part) in [
            ("consul://", "host"),
            ("consul://me:hunter2@h", "no user"),
            ("consul://h?lock_delay=15", "lock_delay=15 is none"),
            ("consul://h?lock_delay=61s", "0s to 60s"),
            ("consul://h?ca=/x", "consuls"),
            ("consul://:hunter2@h?ttl=1", "not known"),
            ("consul://:hunter2@h?recipe=semaphore", "lock is"),
        ] {
            let error = text.parse::<StoreUrl>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
