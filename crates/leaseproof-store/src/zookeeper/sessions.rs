//! The time-outs of sessions of others, which a server tells in its answer to `cons`: of those whose connection it has.

use leaseproof_model::clock::BootNanos;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// So long after it was asked it is asked of other sessions.
const OF_OTHERS: Duration = Duration::from_millis(500);

/// So long after sessions were asked for and not told of, they are asked for again: another server may have them.
const AGAIN: Duration = Duration::from_secs(5);

/// So many sessions that were not told of are remembered.
const MANY: usize = 100_000;

/// What was told of sessions. A session's time-out never changes.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    told: HashMap<i64, Duration>,
    /// Those that were asked for and not told of.
    untold: HashSet<i64>,
    asked: Option<BootNanos>,
}

impl Sessions {
    pub(super) fn timeout_of(&self, session: i64) -> Option<Duration> {
        self.told.get(&session).copied()
    }

    /// Whether one of these is not known, and an answer may tell it.
    pub(super) fn should_ask(&self, wanted: &[i64], now: BootNanos) -> bool {
        let passed = self.asked.map_or(Duration::MAX, |asked| now.since(asked));
        let mut unknown = wanted.iter().filter(|it| !self.told.contains_key(it));
        unknown.any(|session| match self.untold.contains(session) {
            true => passed >= AGAIN,
            false => passed >= OF_OTHERS,
        })
    }

    /// Takes in an answer, which is empty where this user may not ask. It has a line for each connection:
    /// `/127.0.0.1:41838[1](queued=0,recved=4,sent=4,sid=0x10000d4224a0000,…,to=4000,…)`.
    pub(super) fn told(&mut self, cons: &str, wanted: &[i64], now: BootNanos) {
        self.asked = Some(now);
        // Who has just connected elsewhere keeps its time-out; those that nobody asks for any more are forgotten.
        self.told.retain(|session, _| wanted.contains(session));
        self.told.extend(cons.lines().filter_map(line));
        if self.untold.len() > MANY {
            self.untold.clear();
        }
        self.untold.retain(|session| !self.told.contains_key(session));
        self.untold
            .extend(wanted.iter().filter(|it| !self.told.contains_key(it)));
    }
}

/// The session of a connection, and its time-out.
fn line(line: &str) -> Option<(i64, Duration)> {
    let part = |name| line.split(',').find_map(|part| part.strip_prefix(name));
    let session = u64::from_str_radix(part("sid=0x")?, 16).ok()?;
    let millis = part("to=")?.trim_end_matches(')').parse().ok()?;
    Some((session.cast_signed(), Duration::from_millis(millis)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // From ZooKeeper 3.8.0.
    const CONS: &str = " /127.0.0.1:41838[0](queued=0,recved=1,sent=0)\n \
                        /127.0.0.1:41840[1](queued=0,recved=4,sent=4,sid=0x10000d4224a0001,lop=PING,est=1796027716720,\
                        to=4000,lcxid=0x2,lzxid=0x5,lresp=15,llat=0,minlat=0,avglat=0,maxlat=1)\n";

    const TOLD: i64 = 0x0100_00d4_224a_0001;
    const ELSEWHERE: i64 = 0x0200_00d4_224a_0000;

    fn at(millis: u64) -> BootNanos {
        BootNanos((1000 + millis) * 1_000_000)
    }

    #[test]
    fn a_session_s_time_out_is_its_connection_s() {
        let mut sessions = Sessions::default();
        sessions.told(CONS, &[TOLD, ELSEWHERE], at(0));
        assert_eq!(sessions.timeout_of(TOLD), Some(Duration::from_secs(4)));
        assert_eq!(sessions.timeout_of(ELSEWHERE), None);
    }

    #[test]
    fn what_is_known_is_not_asked_for_and_the_rest_rarely() {
        let mut sessions = Sessions::default();
        assert!(!sessions.should_ask(&[], at(0)));
        assert!(sessions.should_ask(&[TOLD], at(0)));
        sessions.told(CONS, &[TOLD, ELSEWHERE], at(0));
        assert!(!sessions.should_ask(&[TOLD], at(60_000)));
        assert!(!sessions.should_ask(&[TOLD, ELSEWHERE], at(4000)));
        assert!(sessions.should_ask(&[ELSEWHERE], at(5000)));
        assert!(!sessions.should_ask(&[7], at(100)) && sessions.should_ask(&[7], at(500)));
    }
}
