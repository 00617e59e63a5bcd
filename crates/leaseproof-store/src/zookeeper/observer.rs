//! Looking at a lease in ZooKeeper, on a session of its own: the server reads for nobody else.

use super::net::Net;
use super::node::{Look, Node, look};
use super::server::{Server, Start};
use super::session::{Broken, Session};
use crate::Observe;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::seen::Seen;
use crate::url::ZooKeeperUrl;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::sync::Arc;
use std::time::Duration;

/// So long after a session was not told of, it is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// An observer.
pub(crate) struct Observer {
    net: Arc<Net>,
    timeout: Duration,
    session: Option<Session>,
    facts: StoreFacts,
    server: Server,
    start: Start,
    /// The session that was asked about last, when, and its time-out.
    asked_about: Option<(i64, BootNanos, Option<Duration>)>,
    seen: Seen<(Option<Node>, String)>,
}

impl Observer {
    pub(crate) fn open(url: &ZooKeeperUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut patience = Patience::new(timeout);
        let net = Net::new(url, timeout)?;
        let server = Server::ask(&net, &mut patience);
        let (facts, session) = server.clone().facts(&net, &mut patience)?;
        Ok(Self {
            net,
            timeout,
            start: Start::of(&session),
            session: Some(session),
            facts,
            server,
            asked_about: None,
            seen: Seen::new(),
        })
    }

    /// A session on an open connection. A new connection means a new session: its number tells
    /// whether the same start of the same server answers.
    fn connected(&mut self, patience: &mut Patience) -> Result<&mut Session, StoreError> {
        if self.session.as_mut().is_some_and(|session| !session.is_connected()) {
            self.session = None;
        }
        match &mut self.session {
            Some(session) => Ok(session),
            empty => {
                let session = Session::open(&self.net, self.facts.ttl_ceiling.unwrap_or(self.timeout), patience)?;
                let start = Start::of(&session);
                if !start.is(self.start) {
                    self.start = start;
                    self.server = Server::ask(&self.net, patience);
                }
                Ok(empty.insert(session))
            }
        }
    }

    fn look(&mut self, key: &str, patience: &mut Patience) -> Result<(BootNanos, Look), StoreError> {
        let mut repeated = false;
        loop {
            let session = self.connected(patience)?;
            let asked = boot_now();
            match look(session, key, patience) {
                Ok(look) => return Ok((asked, look)),
                // A read may be repeated, on a new session too.
                Err(Broken::Over) if !repeated => self.session = None,
                Err(broken) => return Err(broken.into_error()),
            }
            repeated = true;
        }
    }
}

impl Observer {
    /// The time-out of a session, where this server has its connection and is allowed to tell (`cons`). It never
    /// changes; what was not told is asked for again later.
    fn timeout_of(&mut self, session: i64, patience: &mut Patience) -> Option<Duration> {
        if let Some((last, at, timeout)) = self.asked_about
            && last == session
            && (timeout.is_some() || boot_now() < at.plus(ASK_AGAIN))
        {
            return timeout;
        }
        let connections = self.net.word("cons", patience);
        let timeout = connections.and_then(|text| timeout_in(&text, session));
        self.asked_about = Some((session, boot_now(), timeout));
        timeout
    }
}

/// The time-out of a session in an answer to `cons`, which has a line for each connection:
/// `/127.0.0.1:41838[1](queued=0,recved=4,sent=4,sid=0x10000d4224a0000,…,to=4000,…)`.
fn timeout_in(cons: &str, session: i64) -> Option<Duration> {
    let sid = format!("sid=0x{session:x}");
    let line = cons.lines().find(|line| line.split(',').any(|part| part == sid))?;
    let millis = line.split(',').find_map(|part| part.strip_prefix("to="))?;
    millis.trim_end_matches(')').parse().ok().map(Duration::from_millis)
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        let mut patience = Patience::new(self.timeout);
        let (asked, look) = self.look(key, &mut patience)?;
        let moment = Moment::between(asked, boot_now());
        let recipe = self.net.url.layout.is_recipe();
        let told = match &look.node {
            Some(node) if recipe && node.stat.is_ephemeral() => self.timeout_of(node.stat.owner(), &mut patience),
            _ => None,
        };
        // An election raises the upper half of the transactions' numbers.
        let epoch = format!("{}/{}/{}", self.server.mode(), look.zxid >> 32, self.start.label());
        let previous = self.seen.note(key, asked, (look.node.clone(), epoch.clone()));
        let reading = Reading {
            previous,
            held: look.node.map(|node| Held {
                // Clients of the recipe may take another number, such as that of their place in the queue.
                token: node.stat.token().filter(|_| !recipe),
                expires: None,
                // A foreign client's session is at most as long as the server allows.
                bound: match node.stat.is_ephemeral() {
                    true => node.bound.or(told).or(self.facts.ttl_ceiling),
                    false => None,
                },
                holder: node.holder,
                expired: false,
                granted: None,
                renewed: None,
                write_lock: false,
            }),
            counter: None,
            server_ns: None,
            epoch: Some(epoch),
        };
        Ok((moment, reading))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_s_time_out_is_its_connection_s() {
        // From ZooKeeper 3.8.0.
        let cons = " /127.0.0.1:41838[0](queued=0,recved=1,sent=0)\n \
                    /127.0.0.1:41840[1](queued=0,recved=4,sent=4,sid=0x10000d4224a0001,lop=PING,est=1796027716720,\
                    to=4000,lcxid=0x2,lzxid=0x5,lresp=15,llat=0,minlat=0,avglat=0,maxlat=1)\n";
        let told = timeout_in(cons, 0x0100_00d4_224a_0001);
        assert_eq!(told, Some(Duration::from_secs(4)));
        assert_eq!(timeout_in(cons, 0x0100_00d4_224a_0000), None);
    }
}
