//! Looking at a lease in Redis: holder, token, TTL and the server's time in one reading.
//!
//! MULTI rather than a script: a read-only user may use it, and it writes nothing.

use crate::clock::boot_now;
use crate::error::StoreError;
use crate::inspect::{LONGEST_HOLDER, names_a_holder, shown_key};
use crate::patience::Patience;
use crate::redis::allow::ALLOWED;
use crate::redis::answer::{Answer, Expiry, Strange};
use crate::redis::client::Client;
use crate::redis::listing::leases_below;
use crate::redis::many::Many;
use crate::redis::server::{Server, refusal, text};
use crate::seen::Seen;
use crate::url::{Place, RedisUrl, Way};
use crate::value::parse_stored;
use crate::{Listing, Observe, OneOfMany, one_by_one};
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_model::store::StoreFacts;
use redis::{Pipeline, Value, pipe};
use std::collections::HashMap;
use std::time::Duration;

/// An observer.
pub(crate) struct Observer {
    client: Client,
    timeout: Duration,
    expire_time: bool,
    facts: StoreFacts,
    seen: Seen<State>,
    /// The expiry last computed for a key, where the server only has PTTL.
    computed: HashMap<String, i64>,
    /// The connection of readings of many keys, where one server has them all.
    many: Option<Many>,
}

/// The state of a key, free of what differs from reading to reading by itself.
pub(crate) type State = (Option<(HolderId, Option<Token>, Expiry)>, Option<Token>, Option<String>);

impl Observer {
    pub(crate) fn open(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut client = Client::new(url, timeout)?.only(ALLOWED);
        let server = client.server(&mut Patience::new(timeout))?.clone();
        Ok(Self {
            client,
            timeout,
            // Where the version may not be asked, the first reading finds out.
            expire_time: server.has_expire_time().unwrap_or(true),
            facts: server.facts(url.kind()),
            seen: Seen::new(),
            computed: HashMap::new(),
            many: (url.way == Way::Server).then(|| Many::new(url, timeout)).transpose()?,
        })
    }

    /// Sends the reading's commands, and again where a repeat helps: a read may be repeated.
    fn ask(&mut self, key: &[u8], patience: &mut Patience) -> Result<(Moment, Vec<Value>), StoreError> {
        let mut repeated = false;
        loop {
            let commands = self.commands(key);
            let asked = boot_now();
            match self.client.ask_about(key, &commands, patience) {
                // Older than it says, or the command was renamed, or this user may not use it.
                Ok(answers) if self.expire_time && Answer::lacks_expiry_alone(&answers) => {
                    self.expire_time = false;
                }
                Ok(answers) => return Ok((Moment::between(asked, self.client.answered()), answers)),
                Err(failed) => match failed.into_error() {
                    // A restarted server is seen at once.
                    error if repeated || matches!(error, StoreError::TimedOut(_)) => return Err(error),
                    _ => repeated = true,
                },
            }
        }
    }

    fn commands(&self, key: &[u8]) -> Pipeline {
        let expiry = if self.expire_time { "PEXPIRETIME" } else { "PTTL" };
        let mut commands = pipe();
        // One byte more than a name has, so that a longer value shows as one.
        commands
            .cmd("MULTI")
            .cmd("GETRANGE")
            .arg(key)
            .arg(0)
            .arg(LONGEST_HOLDER)
            .cmd("GETRANGE")
            .arg(self.client.counter(key))
            .arg(0)
            .arg(LONGEST_HOLDER)
            .cmd(expiry)
            .arg(key)
            .cmd("TIME")
            .cmd("EXEC");
        commands
    }

    /// The error of a key that is no string, with its type.
    fn wrong_type(&mut self, key: &[u8], patience: &mut Patience) -> StoreError {
        let mut question = pipe();
        question.cmd("TYPE").arg(key);
        match self.client.ask_about(key, &question, patience) {
            Ok(answers) => {
                let kind = answers.first().and_then(text);
                StoreError::Unexpected(format!(
                    "the key {} holds a {}, where a lock is a string",
                    shown_key(key),
                    kind.as_deref().unwrap_or("value of another type")
                ))
            }
            Err(failed) => failed.into_error(),
        }
    }
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.read_key(key.as_bytes())
    }

    fn read_keys(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
        match &mut self.many {
            Some(many) => many.read(keys),
            None => one_by_one(keys, |key| self.read_key(key)),
        }
    }

    fn may_be_behind(&self) -> bool {
        match &self.many {
            Some(many) => many.of_replica(),
            None => self.client.connected_server().is_some_and(Server::is_replica),
        }
    }

    fn leases_below(&mut self, prefix: &str, most: usize) -> Result<Option<Listing>, StoreError> {
        leases_below(&mut self.client, self.timeout, prefix, most).map(Some)
    }
}

impl Observer {
    /// The connection, for more than a reading.
    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// The state that the last reading of a key showed.
    pub(crate) fn state(&self, key: &[u8]) -> Option<State> {
        self.seen.state(&shown_key(key)).cloned()
    }

    /// Where the server is that answered last.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.client.place()
    }

    /// How long a call may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// A reading of a key that may be no UTF-8.
    pub(crate) fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        let mut patience = Patience::new(self.timeout);
        let (moment, answers) = self.ask(key, &mut patience)?;
        let answer = match Answer::parse(&answers) {
            Ok(answer) => answer,
            Err(Strange::Error(error)) if error.code() == "WRONGTYPE" => {
                return Err(self.wrong_type(key, &mut patience));
            }
            Err(Strange::Error(error)) => return Err(refusal(self.client.url(), error)),
            Err(Strange::Shape) => {
                return Err(StoreError::Unexpected(format!(
                    "{answers:?} for a reading of {}",
                    shown_key(key)
                )));
            }
        };
        let name = shown_key(key);
        names_a_holder(&name, answer.value.map_or(0, <[u8]>::len))?;
        let epoch = self.client.connected_server().and_then(Server::epoch);
        let expiry = answer.expiry.map(|raw| {
            if self.expire_time {
                Expiry::of(raw)
            } else {
                self.steady(&name, Expiry::of(raw), answer.server_ns)
            }
        });
        let held = answer.value.zip(expiry).map(|(value, expiry)| {
            let (holder, token) = parse_stored(value);
            (holder, token, expiry)
        });
        let counter = answer.counter;
        let previous = self
            .seen
            .note(&name, moment.earliest, (held.clone(), counter, epoch.clone()));
        let reading = Reading {
            previous,
            held: held.map(|(holder, token, expiry)| Held {
                holder,
                token,
                expires: expiry.moment(answer.server_ns, moment),
                bound: None,
                ttl: None,
                expired: false,
                granted: None,
                renewed: None,
                write_lock: false,
            }),
            counter,
            server_ns: Some(answer.server_ns),
            epoch,
        };
        Ok((moment, reading))
    }

    /// An expiry from PTTL jitters by the rounding; a step that small is none.
    fn steady(&mut self, key: &str, left: Expiry, server_ns: i64) -> Expiry {
        let Expiry::At(left) = left else {
            return left;
        };
        let now = server_ns / 1_000_000 + left;
        let last = self.computed.entry(key.to_owned()).or_insert(now);
        if (*last - now).abs() > 2 {
            *last = now;
        }
        Expiry::At(*last)
    }
}
