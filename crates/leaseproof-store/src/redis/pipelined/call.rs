//! An operation as bytes. The scripts are those of an owner of one lease.

use crate::pipelined::Operation;
use crate::redis::batch::command;
use crate::redis::script::{ACQUIRE, RELEASE, RENEW_TIMED, millis};
use crate::value::stored;
use leaseproof_model::name::HolderId;
use redis::Script;

/// One of the three scripts, and whether the server has it.
#[derive(Debug)]
pub(super) struct Call {
    code: &'static str,
    hash: String,
    /// It was put on this connection in full: the server runs one command after the other, so that it has the text
    /// before it is called by its hash.
    told: bool,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) acquire: Call,
    pub(super) renew: Call,
    pub(super) release: Call,
}

impl Calls {
    pub(super) fn new() -> Self {
        let call = |code| Call {
            code,
            hash: Script::new(code).get_hash().to_owned(),
            told: false,
        };
        Self {
            acquire: call(ACQUIRE),
            renew: call(RENEW_TIMED),
            release: call(RELEASE),
        }
    }

    /// A new connection may be one to a server that was restarted; or the server has said that it lacks one.
    pub(super) fn forget(&mut self) {
        for call in [&mut self.acquire, &mut self.renew, &mut self.release] {
            call.told = false;
        }
    }

    /// Appends an operation; `holder` is the whole one of an acquire.
    pub(super) fn write(&mut self, into: &mut Vec<u8>, operation: &Operation<'_>, holder: Option<&HolderId>) {
        match operation {
            Operation::Acquire { key, ttl, .. } => {
                let counter = [key.as_bytes(), b":token"].concat();
                let holder = holder.map_or("", HolderId::as_str);
                let ttl = millis(*ttl).to_string();
                self.acquire
                    .write(into, &[key.as_bytes(), &counter], &[holder.as_bytes(), ttl.as_bytes()]);
            }
            Operation::Renew { grant, ttl } => {
                let value = stored(&grant.holder, grant.token);
                let ttl = millis(*ttl).to_string();
                self.renew
                    .write(into, &[grant.key.as_bytes()], &[value.as_bytes(), ttl.as_bytes()]);
            }
            Operation::Release { grant } => {
                let value = stored(&grant.holder, grant.token);
                self.release.write(into, &[grant.key.as_bytes()], &[value.as_bytes()]);
            }
        }
    }
}

impl Call {
    fn write(&mut self, into: &mut Vec<u8>, keys: &[&[u8]], arguments: &[&[u8]]) {
        let first: [&[u8]; 2] = if std::mem::replace(&mut self.told, true) {
            [b"EVALSHA", self.hash.as_bytes()]
        } else {
            [b"EVAL", self.code.as_bytes()]
        };
        let count: &[u8] = if keys.len() == 1 { b"1" } else { b"2" };
        let [verb, script] = first;
        match (keys, arguments) {
            ([lease], [value]) => command(into, &[verb, script, count, lease, value]),
            ([lease], [value, ttl]) => command(into, &[verb, script, count, lease, value, ttl]),
            _ => command(into, &[&[verb, script, count], keys, arguments].concat()),
        }
    }
}
