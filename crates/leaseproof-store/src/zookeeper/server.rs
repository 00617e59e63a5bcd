//! The server that answers: version, role, and the bounds that it sets to sessions.

use super::net::Net;
use super::session::{Session, least_timeout};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::url::ZooKeeperUrl;
use leaseproof_model::event::Role;
use leaseproof_model::store::{ExpiryProof, StoreClock, StoreFacts};
use std::sync::Arc;
use std::time::Duration;

/// Ask for this and get the most that there is.
const MOST: Duration = Duration::from_millis(i32::MAX as u64);

/// The tick of `zoo_sample.cfg`.
const SAMPLE_TICK: Duration = Duration::from_secs(2);

/// The end of a session is a transaction: so long it takes on a server with work to do.
const CLOSING: Duration = Duration::from_millis(100);

/// Session numbers rise by the ms of the server's start, and by one with each 65,536 sessions; no
/// server is back within so many ms.
const SAME_START: i64 = 100;

/// What a server says of itself.
pub(crate) fn role(url: &ZooKeeperUrl, timeout: Duration) -> Result<Role, StoreError> {
    let net = Net::new(url, timeout)?;
    let patience = &mut Patience::new(timeout);
    let text = net.word("srvr", patience);
    let text = text.ok_or_else(|| net.unreachable("it does not answer to `srvr`"))?;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if text.contains("not currently serving requests") {
        // It answers, and takes part in no quorum: between two leaders all do so.
        return Ok(Role { leads: false, term: 0 });
    }
    let mode = value("Mode:").ok_or_else(|| net.unreachable("it allows no `srvr`"))?;
    // The upper half of a transaction's number is that of the election before it.
    let zxid = value("Zxid: 0x").and_then(|zxid| u64::from_str_radix(zxid, 16).ok());
    Ok(Role {
        leads: mode == "leader",
        term: zxid.unwrap_or_default() >> 32,
    })
}

/// What is known of the server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Server {
    version: Option<String>,
    mode: Option<String>,
}

impl Server {
    /// Asks by four-letter words; a server that allows none tells nothing.
    pub(crate) fn ask(net: &Net, patience: &mut Patience) -> Self {
        net.word("srvr", patience)
            .map_or_else(Self::default, |text| Self::parse(&text))
    }

    fn parse(srvr: &str) -> Self {
        let value = |name: &str| {
            let line = srvr.lines().find_map(|line| line.strip_prefix(name))?;
            line.split([',', '-']).next().map(|text| text.trim().to_owned())
        };
        Self {
            version: value("Zookeeper version:"),
            mode: value("Mode:"),
        }
    }

    pub(crate) fn mode(&self) -> &str {
        self.mode.as_deref().unwrap_or("unknown")
    }

    /// The semantics of this server, and the session by which its greatest time-out was found.
    pub(crate) fn facts(self, net: &Arc<Net>, patience: &mut Patience) -> Result<(StoreFacts, Session), StoreError> {
        let floor = least_timeout(net, patience)?;
        let most = Session::open(net, MOST, patience)?;
        let ceiling = most.timeout();
        let tick = net.word("conf", patience).and_then(|conf| tick(&conf));
        let tick = tick.unwrap_or_else(|| guess(floor, ceiling));
        let version = self.version.unwrap_or_else(|| "unknown".to_owned());
        let facts = facts(version, floor, ceiling, tick);
        Ok((facts, most))
    }
}

/// The semantics of a server with these bounds.
fn facts(version: String, floor: Duration, ceiling: Duration, tick: Duration) -> StoreFacts {
    StoreFacts {
        kind: "zookeeper".to_owned(),
        version,
        early_slack: Duration::ZERO,
        // Sessions are looked at once a tick, and a session's end waits for the next look after it.
        late_bound: tick * 2 + CLOSING,
        late_ttls: 0,
        ttl_floor: Some(floor),
        ttl_ceiling: Some(ceiling),
        lock_delay: Duration::ZERO,
        clock: StoreClock::ServerSteady,
        expired_means: "the node is gone, or is another's: the server has ended the session of its \
                        holder, up to two ticks after the time-out; before that nothing shows"
            .to_owned(),
        expiry_proof: ExpiryProof::SeenGone,
        consistent_reading: true,
        exact_moments: false,
        writer_can_block: false,
        shows_expiry: false,
        shows_renewals: false,
        renewals_apart: Duration::ZERO,
        ttl_step: Duration::ZERO,
        grants_in_steps: false,
        // A majority has it in its logs before it is answered.
        may_lose_grants: Some(false),
    }
}

/// The semantics of a server whose configuration is the one that ZooKeeper comes with (`zoo_sample.cfg`).
pub(crate) fn usual() -> StoreFacts {
    facts("unknown".to_owned(), SAMPLE_TICK * 2, SAMPLE_TICK * 20, SAMPLE_TICK)
}

fn tick(conf: &str) -> Option<Duration> {
    let millis = conf.lines().find_map(|line| line.strip_prefix("tickTime="))?;
    millis.trim().parse().ok().map(Duration::from_millis)
}

/// The tick by the bounds that it gives to sessions, 2 and 20 ticks where nobody set others. Where
/// somebody did, the greater guess is the safe one: it only makes us wait longer.
fn guess(floor: Duration, ceiling: Duration) -> Duration {
    (floor / 2).max(ceiling / 20)
}

/// One start of one server, by the numbers that it gives to new sessions.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Start(i64);

impl Start {
    /// Of the server that opened this session.
    pub(crate) fn of(session: &Session) -> Self {
        Self(session.id() >> 16)
    }

    /// Whether it is the same start, seen later.
    pub(crate) fn is(self, earlier: Self) -> bool {
        (0..=SAME_START).contains(&(self.0 - earlier.0))
    }

    /// As a part of the epoch.
    pub(crate) fn label(self) -> String {
        format!("{:x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood() {
        let server = Server::parse(
            "Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC\nLatency min/avg/max: \
             0/0.0/0\nZxid: 0x6\nMode: standalone\nNode count: 5\n",
        );
        assert_eq!(server.version.as_deref(), Some("3.8.0"));
        assert_eq!(server.mode(), "standalone");
        let closed = Server::parse("srvr is not executed because it is not in the whitelist.\n");
        assert_eq!((closed.version.as_deref(), closed.mode()), (None, "unknown"));
        assert_eq!(tick("clientPort=1\ntickTime=100\n"), Some(Duration::from_millis(100)));
        assert_eq!(tick("conf is not executed"), None);
    }

    #[test]
    fn a_tick_is_never_guessed_too_short() {
        let ms = Duration::from_millis;
        assert_eq!(guess(ms(4000), ms(40_000)), ms(2000));
        assert_eq!(guess(ms(100), ms(40_000)), ms(2000));
        assert_eq!(guess(ms(4000), ms(600_000)), ms(30_000));
    }

    #[test]
    fn a_restart_is_another_start() {
        let first = Start(0x1_0000_0000);
        assert!(first.is(first));
        assert!(Start(first.0 + 3).is(first));
        assert!(!Start(first.0 + 1500).is(first));
        assert!(!Start(first.0 - 1).is(first), "another server");
    }
}
