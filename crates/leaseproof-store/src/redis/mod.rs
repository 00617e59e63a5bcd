//! Redis: `SET NX PX` and a counter in one script; MULTI for one consistent reading.
//!
//! Valkey and KeyDB speak the same protocol. A store may be one server, the primary that Sentinels name
//! (`sentinels`), or a cluster (`slots`): the client finds the server of a key, and the rest is the same.
//! Several independent servers are a store of their own (`quorum`).

mod administrator;
mod allow;
mod answer;
mod batch;
mod client;
mod clients;
mod foreign;
mod info;
mod inspector;
mod link;
mod listing;
mod many;
mod monitor;
mod observer;
mod owner;
mod pipelined;
mod quorum;
mod script;
mod sentinels;
mod server;
mod slots;
mod slow_log;
mod socket;
mod tools;
mod wire;

use crate::error::StoreError;
use crate::inspect::Inspect;
use crate::patience::Patience;
use crate::url::{RedisUrl, Way};
use crate::{Administer, Lease, Observe, Pipelined};
use leaseproof_model::event::Role;
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

use administrator::Administrator;
pub(crate) use allow::ALLOWED;
use inspector::Inspector;
use observer::Observer;
use owner::Owner;

/// See [`usual_facts`](crate::usual_facts).
pub(crate) fn usual(url: &RedisUrl) -> StoreFacts {
    let facts = server::Server::default().facts(url.kind());
    match url.way {
        Way::Quorum => quorum::facts_of(url.kind(), facts),
        _ => facts,
    }
}

/// See [`open_observer`](crate::open_observer).
pub(crate) fn observer(url: &RedisUrl, timeout: Duration) -> Result<Box<dyn Observe>, StoreError> {
    Ok(match url.way {
        Way::Quorum => Box::new(quorum::Observer::open(url, timeout)?),
        _ => Box::new(Observer::open(url, timeout)?),
    })
}

/// See [`open_lease`](crate::open_lease).
pub(crate) fn lease(url: &RedisUrl, connect_timeout: Duration) -> Result<Box<dyn Lease>, StoreError> {
    Ok(match url.way {
        Way::Quorum => Box::new(quorum::Owner::open(url, connect_timeout)?),
        _ => Box::new(Owner::open(url, connect_timeout)?),
    })
}

/// See [`open_pipelined`](crate::open_pipelined).
pub(crate) fn pipelined(url: &RedisUrl, timeout: Duration) -> Result<Box<dyn Pipelined>, StoreError> {
    match url.way {
        Way::Server => Ok(Box::new(pipelined::Line::open(url, timeout)?)),
        // An answer there counts only once others have confirmed it, or comes of several servers.
        _ => Err(crate::pipelined::none(url)),
    }
}

/// See [`early_slack`](crate::early_slack).
pub(crate) fn early_slack(url: &RedisUrl) -> Duration {
    match url.way {
        Way::Quorum => quorum::DRIFT,
        _ => server::EARLY_SLACK,
    }
}

/// See [`open_administrator`](crate::open_administrator).
pub(crate) fn administrator(url: &RedisUrl, timeout: Duration) -> Result<Box<dyn Administer>, StoreError> {
    Ok(match url.way {
        Way::Quorum => Box::new(quorum::Administrator::open(url, timeout)?),
        _ => Box::new(Administrator::open(url, timeout)?),
    })
}

/// See [`role`](crate::role): a server's own word, whatever Sentinels say. Its term is the place in the stream of
/// writes at which it took over, which is further on with each that does.
pub(crate) fn role(url: &RedisUrl, timeout: Duration) -> Result<Role, StoreError> {
    let mut client = client::Client::new(url, timeout)?;
    let server = client.server(&mut Patience::new(timeout))?;
    match (&url.way, server.role.as_deref()) {
        (Way::Server, Some(role)) => Ok(Role {
            leads: role == "master",
            term: server.took_over,
        }),
        _ => Err(StoreError::Unexpected(format!("{url} does not say what it is"))),
    }
}

/// See [`primary`](crate::primary).
pub(crate) fn primary(url: &RedisUrl, timeout: Duration) -> Result<(String, u16), StoreError> {
    match url.way {
        Way::Sentinel { .. } => {
            let place = client::Client::new(url, timeout)?.primary(&mut Patience::new(timeout))?;
            Ok((place.host, place.port))
        }
        _ => Err(StoreError::Unexpected(format!("no Sentinel watches {url}"))),
    }
}

/// See [`open_inspector`](crate::open_inspector).
pub(crate) fn inspector(url: &RedisUrl, timeout: Duration) -> Result<Box<dyn Inspect>, StoreError> {
    Ok(match url.way {
        Way::Quorum => Box::new(quorum::Inspector::open(url, timeout)?),
        _ => Box::new(Inspector::open(url, timeout)?),
    })
}
