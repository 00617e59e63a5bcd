//! The cluster that answers: version, leader, and what it sets to sessions.

use super::api::Api;
use super::go_duration;
use crate::error::{Lasts, StoreError};
use crate::patience::Patience;
use crate::url::ConsulUrl;
use leaseproof_model::event::Role;
use leaseproof_model::inspect::store_view::Attribute;
use leaseproof_model::store::{ExpiryProof, StoreClock, StoreFacts};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// The least TTL that a server grants, where nobody set `session_ttl_min`.
pub(crate) const LEAST_TTL: Duration = Duration::from_secs(10);

/// The greatest, always.
pub(crate) const MOST_TTL: Duration = Duration::from_secs(86_400);

/// The end of a session goes through the log before its keys are free, and the lock-delay is a timer
/// that begins with it.
const INVALIDATING: Duration = Duration::from_millis(500);

/// What a server says of itself.
pub(crate) fn role(url: &ConsulUrl, timeout: Duration) -> Result<Role, StoreError> {
    let mut api = Api::new(url, timeout)?;
    let agent: Agent = api
        .get("/v1/agent/self", &mut Patience::new(timeout))
        .map_err(|failed| failed.into_error())?;
    let raft = &agent.stats["raft"];
    let term = raft["term"].as_str().and_then(|term| term.parse().ok());
    Ok(Role {
        leads: raft["state"] == "Leader",
        term: term.unwrap_or_default(),
    })
}

/// The semantics of a cluster that is as Consul comes.
pub(crate) fn usual(url: &ConsulUrl) -> StoreFacts {
    Server::default().facts(url.lock_delay)
}

/// What is known of the agent and its cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Server {
    version: Option<String>,
    least_ttl: Option<Duration>,
    leader: String,
    term: Option<String>,
    node: Option<String>,
    /// Whether the agent is a server, and what it is to the others.
    role: Option<String>,
    /// Whether it keeps everything in memory.
    in_memory: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Agent {
    config: Value,
    debug_config: Value,
    stats: Value,
}

impl Server {
    /// Asks for it; what the token may not ask for stays unknown.
    pub(crate) fn ask(api: &mut Api, patience: &mut Patience) -> Result<Self, StoreError> {
        let leader: String = api
            .get("/v1/status/leader", patience)
            .map_err(|failed| failed.into_error())?;
        if leader.is_empty() {
            let why = "it has no leader: try again later";
            return Err(StoreError::refused(&api.url, why, Lasts::Moment));
        }
        let agent: Agent = match api
            .get("/v1/agent/self", patience)
            .map_err(|failed| failed.into_error())
        {
            Ok(agent) => agent,
            Err(StoreError::Refused { .. }) => Agent::default(),
            Err(error) => return Err(error),
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Ok(Self {
            version: text(&agent.config["Version"]),
            least_ttl: agent.debug_config["SessionTTLMin"]
                .as_str()
                .and_then(go_duration::parse)
                .filter(|least| !least.is_zero()),
            leader,
            term: text(&agent.stats["raft"]["term"]),
            node: text(&agent.config["NodeID"]),
            role: match agent.config["Server"].as_bool() {
                Some(true) => {
                    text(&agent.stats["raft"]["state"]).map(|state| format!("server, {}", state.to_lowercase()))
                }
                Some(false) => Some("client: it passes everything on to a server".to_owned()),
                None => None,
            },
            in_memory: agent.debug_config["DevMode"].as_bool().unwrap_or(false),
        })
    }

    /// What matters to a lease, as far as the token may know.
    pub(crate) fn attributes(&self) -> Vec<Attribute> {
        const WHY: &str = "this token may not ask: it lacks agent:read";
        let mut all = vec![match &self.version {
            Some(version) => Attribute::plain("version", version.clone()),
            None => Attribute::withheld("version", WHY),
        }];
        let term = self.term.as_deref().unwrap_or("unknown");
        all.push(match &self.role {
            Some(role) => Attribute::plain("role", role.clone()),
            None => Attribute::withheld("role", WHY),
        });
        all.push(Attribute::plain("leader", format!("{}, term {term}", self.leader)));
        let persistence = match (&self.role, self.in_memory) {
            (None, _) => Attribute::withheld("persistence", WHY),
            (_, false) => Attribute::plain("persistence", "a log, on the disks of a majority before it answers"),
            (_, true) => Attribute::plain("persistence", "none: a dev agent keeps everything in memory")
                .worrying("a restart loses every lease, and its indexes, the tokens, begin again"),
        };
        all.extend([persistence, Attribute::plain("eviction", "none")]);
        all
    }

    /// Whether the token may not ask the agent about itself.
    pub(crate) fn is_hidden(&self) -> bool {
        self.version.is_none()
    }

    /// The store's epoch: leader, term, and the agent that answers. A server that lost its data may have
    /// itself elected in the same term again, but under another name.
    pub(crate) fn epoch(&self) -> String {
        let part = |part: &Option<String>| part.clone().unwrap_or_else(|| "unknown".to_owned());
        format!("{}/{}/{}", self.leader, part(&self.term), part(&self.node))
    }

    /// The semantics of this cluster.
    pub(crate) fn facts(&self, lock_delay: Duration) -> StoreFacts {
        StoreFacts {
            kind: "consul".to_owned(),
            version: self.version.clone().unwrap_or_else(|| "unknown".to_owned()),
            early_slack: Duration::ZERO,
            late_bound: lock_delay + INVALIDATING,
            // The leader lets twice the TTL pass before it ends a session.
            late_ttls: 1,
            ttl_floor: Some(self.least_ttl.unwrap_or(LEAST_TTL)),
            ttl_ceiling: Some(MOST_TTL),
            lock_delay,
            clock: StoreClock::ServerSteady,
            expired_means: "the key is there without a session, or with another, or is gone: the leader has ended \
                            the session of its holder, up to twice the TTL after its last renewal; before that \
                            nothing shows"
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
            // A majority has it in its logs before it is answered, unless nothing is kept at all.
            may_lose_grants: Some(self.in_memory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_be_asked_stays_unknown() {
        let server = Server {
            leader: "10.0.0.1:8300".to_owned(),
            ..Server::default()
        };
        assert_eq!(server.epoch(), "10.0.0.1:8300/unknown/unknown");
        let facts = server.facts(Duration::from_secs(15));
        assert_eq!((facts.version.as_str(), facts.ttl_floor), ("unknown", Some(LEAST_TTL)));
        assert!(facts.late_bound > facts.lock_delay);
    }
}
