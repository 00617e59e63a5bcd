//! Decides writes and fills, by the fence, in the order in which they are taken.

use super::{Server, Value};
use crate::connection::Arrived;
use crate::fence::Decision;
use crate::request::Request;
use leaseproof_model::event::{Fill, What, Write as Written};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::boot_now;
use std::io;

impl Server {
    /// Decides one fill of the cache. It changes no mark: no value is newer than the write that made it.
    pub(super) fn fill(&mut self, number: u64, owner: OwnerName, arrived: &Arrived) -> io::Result<()> {
        let request = &arrived.request;
        let Some(value) = filled(request).filter(|value| *value <= self.serial) else {
            let body =
                r#"{"error":"a fill names the value that was read: PUT $LEASEPROOF_RESOURCE/cache?value=NUMBER"}"#;
            self.answer(number, 400, body, request.keep_alive);
            return Ok(());
        };
        let accepted = self.fence.decide(self.mode, &owner, request.token) == Decision::Accepted;
        let highest = self.fence.highest();
        let what = What::Fill(Fill {
            after: self.serial,
            connection: number,
            value,
            token: request.token,
            bad_token: request.bad_token.clone(),
            accepted,
            highest,
            mode: self.mode,
        });
        self.saw(arrived.whole, Some(owner), what)?;
        self.decided(number, accepted, highest, request.keep_alive);
        Ok(())
    }

    /// Decides one write, and answers it after it was written down.
    pub(super) fn write(
        &mut self,
        number: u64,
        owner: &OwnerName,
        arrived: &Arrived,
        was_held: bool,
    ) -> io::Result<()> {
        let before = boot_now();
        let request = &arrived.request;
        let highest = self.fence.highest();
        let accepted = self.fence.decide(self.mode, owner, request.token) == Decision::Accepted;
        if accepted && self.fence.accept(owner, request.token) {
            let mark = request.token.unwrap_or(Token(0));
            self.journal.raise(mark, self.mode == WitnessMode::Enforce)?;
        }
        self.serial += 1;
        if accepted {
            self.newest = Value {
                number: self.serial,
                version: request.token,
            };
        }
        let at = if was_held {
            Moment::between(before, boot_now())
        } else {
            arrived.whole
        };
        let what = What::Write(Written {
            serial: self.serial,
            connection: number,
            token: request.token,
            bad_token: request.bad_token.clone(),
            accepted,
            highest,
            mode: self.mode,
            claims_owner: request.owner.clone().filter(|claimed| claimed != owner.as_str()),
            begun: arrived.begun,
            arrived: was_held.then_some(arrived.whole),
            replay: owner.is_lab() && request.replay,
        });
        // The record first: an owner that has its answer can act on it at once.
        self.saw(at, Some(owner.clone()), what)?;
        if let Some(connection) = self.connection(number) {
            connection.held = false;
        }
        self.decided(number, accepted, highest, request.keep_alive);
        Ok(())
    }

    /// Answers a write, or a fill.
    fn decided(&mut self, number: u64, accepted: bool, highest: Option<Token>, keep_alive: bool) {
        if accepted {
            self.answer(number, 200, r#"{"accepted":true}"#, keep_alive);
        } else {
            let highest = highest.map_or_else(|| "null".to_owned(), |mark| mark.to_string());
            let body = format!(r#"{{"accepted":false,"reason":"stale fence","highest":{highest}}}"#);
            self.answer(number, 409, &body, keep_alive);
        }
    }
}

/// The value that a fill names in its query.
fn filled(request: &Request) -> Option<u64> {
    let (_, query) = request.path.split_once('?')?;
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("value="))?
        .parse()
        .ok()
}
