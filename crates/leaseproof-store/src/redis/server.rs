//! What a server says about itself.

use crate::error::{Lasts, StoreError};
use crate::url::{RedisUrl, Way};
use leaseproof_model::store::{ExpiryProof, StoreClock, StoreFacts};
use redis::{ServerError, Value};
use std::time::Duration;

/// Expiry is a whole millisecond of the server's clock.
pub(super) const EARLY_SLACK: Duration = Duration::from_millis(1);

/// A server, as INFO describes it. A user who may not ask leaves it empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Server {
    pub(crate) version: Option<String>,
    pub(crate) run_id: Option<String>,
    pub(crate) role: Option<String>,
    /// `standalone`, `cluster` or `sentinel`.
    pub(crate) mode: Option<String>,
    /// The place in the stream of writes at which it took over from another; 0 where it never did.
    pub(crate) took_over: u64,
    /// The primary, if this is a replica.
    pub(crate) primary: Option<String>,
}

impl Server {
    /// Reads the text of INFO.
    pub(crate) fn parse(info: &str) -> Self {
        let field = |name: &str| {
            info.lines()
                .find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
                .map(str::to_owned)
        };
        let role = field("role");
        let primary = (role.as_deref() == Some("slave")).then(|| {
            let host = field("master_host").unwrap_or_else(|| "an unknown primary".to_owned());
            let port = field("master_port").map(|port| format!(":{port}"));
            host + &port.unwrap_or_default()
        });
        Self {
            version: field("redis_version"),
            run_id: field("run_id"),
            mode: field("redis_mode"),
            // -1 where it never took over.
            took_over: field("second_repl_offset").and_then(|at| at.parse().ok()).unwrap_or(0),
            role,
            primary,
        }
    }

    /// Why this server can't be a lock store here.
    pub(crate) fn unusable(&self, way: &Way) -> Option<&'static str> {
        match (self.mode.as_deref(), way) {
            (Some("cluster"), Way::Cluster) => None,
            (Some("cluster"), _) => Some(
                "it is one server of a Redis Cluster, and another may have the key: give redis+cluster:// with its place",
            ),
            (Some("sentinel"), _) => Some(
                "it is a Sentinel, which holds no keys: give redis+sentinel:// with its place and the name of the service",
            ),
            (Some(_), Way::Cluster) => Some("it is no Redis Cluster but a server that stands alone: give redis://"),
            _ => None,
        }
    }

    /// Whether PEXPIRETIME is there (7.0); if the version isn't known, it has to be tried.
    pub(crate) fn has_expire_time(&self) -> Option<bool> {
        let version = self.version.as_ref()?;
        let major: u32 = version.split('.').next()?.parse().ok()?;
        Some(major >= 7)
    }

    /// The store's epoch: the process that answers, and its role.
    pub(crate) fn epoch(&self) -> Option<String> {
        let run_id = self.run_id.as_ref()?;
        let role = match self.role.as_deref() {
            Some("slave") => "replica",
            Some("master") => "primary",
            _ => "unknown",
        };
        Some(format!("{run_id}/{role}"))
    }

    /// Whether it follows another server.
    pub(crate) fn is_replica(&self) -> bool {
        self.role.as_deref() == Some("slave")
    }

    /// The semantics of this server.
    pub(crate) fn facts(&self, kind: &str) -> StoreFacts {
        StoreFacts {
            kind: kind.to_owned(),
            version: self.version.clone().unwrap_or_else(|| "unknown".to_owned()),
            early_slack: EARLY_SLACK,
            // An expired key reads as absent at once, whatever the active expiry does; the server
            // serves one command at a time.
            late_bound: Duration::from_millis(10),
            late_ttls: 0,
            ttl_floor: None,
            ttl_ceiling: None,
            lock_delay: Duration::ZERO,
            clock: StoreClock::ServerWall,
            expired_means: "the key reads as absent, or holds another value: the server's wall clock \
                            has passed its expiry"
                .to_owned(),
            expiry_proof: ExpiryProof::SeenGone,
            consistent_reading: true,
            exact_moments: false,
            writer_can_block: false,
            shows_expiry: true,
            shows_renewals: true,
            renewals_apart: Duration::ZERO,
            ttl_step: Duration::ZERO,
            grants_in_steps: false,
            // It answers before a replica, or its own disk, has it.
            may_lose_grants: Some(true),
        }
    }
}

/// An error of the server, in our words.
pub(crate) fn refusal(url: &RedisUrl, error: &ServerError) -> StoreError {
    refusal_in(
        url,
        match error.details() {
            Some(details) => format!("{} {details}", error.code()),
            None => error.code().to_owned(),
        },
    )
}

/// The same, from the words that came off the wire: the first is the error's code.
pub(crate) fn refusal_in(url: &RedisUrl, words: String) -> StoreError {
    if let Some(counter) = words.strip_prefix("TOKENS ") {
        let why = format!(
            "the token counter {counter}: no greater token can come of it, so that nothing is granted. It must be a \
             number from 0 to 9223372036854775806: set it to the greatest token that was ever granted, or take another \
             key"
        );
        return StoreError::refused(url, why, Lasts::Mended);
    }
    let hint = match words.split(' ').next().unwrap_or_default() {
        "NOAUTH" => ": put the password into the URL, redis://:PASSWORD@host",
        "WRONGPASS" => ": user or password of the URL are wrong",
        "NOPERM" => ": this user lacks a permission",
        "READONLY" => ": it is a replica now, give the primary's URL",
        "LOADING" | "BUSY" | "MASTERDOWN" | "TRYAGAIN" => ": try again later",
        "CLUSTERDOWN" => ": the cluster does not serve this key, look at CLUSTER INFO",
        _ => return StoreError::Unexpected(words),
    };
    let lasts = lasts(&words);
    StoreError::refused(url, words + hint, lasts)
}

/// How long the server will say this: by the code, which is its first word.
pub(super) fn lasts(words: &str) -> Lasts {
    match words.split([' ', ':']).next().unwrap_or_default() {
        "LOADING" | "BUSY" | "MASTERDOWN" | "TRYAGAIN" | "CLUSTERDOWN" => Lasts::Moment,
        "READONLY" | "OOM" | "MISCONF" | "NOREPLICAS" => Lasts::Passes,
        // It has no code of its own, and does so since 2.4.
        "ERR" if words.contains("max number of clients") => Lasts::Passes,
        _ => Lasts::Mended,
    }
}

/// A text in an answer.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_lasts_as_its_code_says() {
        for (words, expected) in [
            ("LOADING Redis is loading the dataset in memory", Lasts::Moment),
            ("CLUSTERDOWN The cluster is down", Lasts::Moment),
            ("READONLY You can't write against a read only replica.", Lasts::Passes),
            ("ERR max number of clients reached", Lasts::Passes),
            ("OOM command not allowed when used memory > 'maxmemory'.", Lasts::Passes),
            (
                "NOPERM this user has no permissions to run the 'get' command",
                Lasts::Mended,
            ),
            // No code, but a word that is one elsewhere.
            ("ERR unknown command 'LOADING'", Lasts::Mended),
        ] {
            assert_eq!(lasts(words), expected, "{words}");
        }
    }

    #[test]
    fn info_is_understood() {
        let server =
            Server::parse("# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n# Replication\r\nrole:master\r\n");
        assert_eq!(server.epoch().as_deref(), Some("abc/primary"));
        assert_eq!(server.has_expire_time(), Some(true));
        assert_eq!(server.primary, None);
        let replica =
            Server::parse("redis_version:6.2.1\r\nrun_id:r\r\nrole:slave\r\nmaster_host:h\r\nmaster_port:1\r\n");
        assert_eq!(replica.primary.as_deref(), Some("h:1"));
        assert_eq!(replica.has_expire_time(), Some(false));
        assert_eq!(Server::parse("").has_expire_time(), None);
    }
}
