//! What owners say, and what the resource, the relay and the shim see of them.

use super::{Ms, Story, about, at};
use leaseproof_model::event::{Fill, OwnerEvent, Said, Source, What, Wire, WireSeen, Within, WithinSeen, Write};
use leaseproof_model::name::{ProcessId, Token};

impl Story {
    pub fn said(&mut self, ms: Ms, owner: &str, event: OwnerEvent) -> &mut Self {
        self.said_with(ms, owner, event, |_| ())
    }

    pub fn said_with(&mut self, ms: Ms, owner: &str, event: OwnerEvent, change: impl FnOnce(&mut Said)) -> &mut Self {
        let mut said = Said {
            event,
            token: None,
            boot: Some(at(ms)),
            wall_ns: None,
            valid_until: None,
            thread: None,
            grant: None,
            attempt: None,
            reason: None,
            definite: None,
        };
        change(&mut said);
        self.push(Source::Owner, Some(owner), about(ms), What::Said(said))
    }

    pub fn attempt(&mut self, ms: Ms, owner: &str, event: OwnerEvent, attempt: u64) -> &mut Self {
        self.said_with(ms, owner, event, |said| said.attempt = Some(attempt))
    }

    pub fn acquired(&mut self, ms: Ms, owner: &str, token: u64) -> &mut Self {
        self.said_with(ms, owner, OwnerEvent::Acquired, |said| said.token = Some(Token(token)))
    }

    pub fn wrote(&mut self, ms: Ms, owner: &str, token: u64) -> &mut Self {
        self.wrote_with(ms, owner, token, |_| ())
    }

    pub fn wrote_with(&mut self, ms: Ms, owner: &str, token: u64, change: impl FnOnce(&mut Write)) -> &mut Self {
        let mut write = Write {
            serial: 0,
            connection: u64::from(owner.as_bytes()[0]),
            token: (token > 0).then_some(Token(token)),
            bad_token: None,
            accepted: true,
            highest: None,
            mode: self.ask.witness,
            claims_owner: None,
            begun: None,
            arrived: None,
            replay: false,
        };
        change(&mut write);
        self.push(Source::Witness, Some(owner), about(ms), What::Write(write))
    }

    /// A fill of the cache with this value, said to have this version (0: none).
    pub fn filled(&mut self, ms: Ms, owner: &str, value: u64, token: u64, accepted: bool) -> &mut Self {
        let fill = Fill {
            after: 0,
            connection: u64::from(owner.as_bytes()[0]),
            value,
            token: (token > 0).then_some(Token(token)),
            bad_token: None,
            accepted,
            highest: None,
            mode: self.ask.witness,
        };
        self.push(Source::Witness, Some(owner), about(ms), What::Fill(fill))
    }

    /// Writes every 50 ms from `from` to before `until`.
    pub fn works(&mut self, from: Ms, until: Ms, owner: &str, token: u64) -> &mut Self {
        let mut ms = from;
        while ms < until {
            self.wrote(ms, owner, token);
            ms += 50.0;
        }
        self
    }

    /// Renews every 250 ms from `from` to before `until`, and says so.
    pub fn renews(&mut self, from: Ms, until: Ms, owner: &str) -> &mut Self {
        let mut ms = from;
        while ms < until {
            self.renewed(ms);
            self.said(ms, owner, OwnerEvent::Renewed);
            ms += 250.0;
        }
        self
    }

    pub fn wire(&mut self, ms: Ms, owner: &str, seen: WireSeen) -> &mut Self {
        self.push(
            Source::Relay,
            Some(owner),
            about(ms),
            What::Wire(Wire {
                connection: 1,
                seen,
                bytes: 40,
            }),
        )
    }

    /// A connection to the part of its tree that stands still, process 31.
    pub fn within(&mut self, ms: Ms, owner: &str, connection: &str, seen: WithinSeen) -> &mut Self {
        let process = |pid| ProcessId { pid, start_ticks: 7 };
        let within = Within {
            from: process(41),
            to: process(31),
            connection: connection.to_owned(),
            seen,
        };
        self.push(Source::Process, Some(owner), about(ms), What::Within(within))
    }

    pub fn shim(&mut self, ms: Ms, owner: &str, count: u64, offset_ns: i64) -> &mut Self {
        self.push(
            Source::Shim,
            Some(owner),
            about(ms),
            What::WallReads {
                count,
                offset_ns,
                mapped: true,
            },
        )
    }
}
