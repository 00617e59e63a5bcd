//! Looking at a lease in Redis: holder, token, TTL and the server's time in one reading.
//!
//! MULTI rather than a script: a read-only user may use it, and it writes nothing.

use crate::Observe;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::client::{Client, Failed};
use crate::redis::counter_key;
use crate::redis::server::{Server, refusal, text};
use crate::seen::Seen;
use crate::url::RedisUrl;
use crate::value::parse_stored;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_model::store::StoreFacts;
use redis::{Pipeline, ServerError, Value, pipe};
use std::collections::HashMap;
use std::time::Duration;

const MS: i128 = 1_000_000;

/// An observer.
pub(crate) struct Observer {
    client: Client,
    timeout: Duration,
    expire_time: bool,
    facts: StoreFacts,
    seen: Seen<State>,
    /// The expiry last computed for a key, where the server only has PTTL.
    computed: HashMap<String, i64>,
}

/// The state of a key, free of what differs from reading to reading by itself.
type State = (Option<(HolderId, Option<Token>, Expiry)>, Option<Token>, Option<String>);

/// When a key ends, in ms of the server's clock.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Expiry {
    Never,
    At(i64),
}

impl Observer {
    pub(crate) fn open(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut client = Client::new(url, timeout)?;
        let server = client.server(&mut Patience::new(timeout))?.clone();
        let mut observer = Self {
            client,
            timeout,
            expire_time: server.has_expire_time().unwrap_or(true),
            facts: server.facts(),
            seen: Seen::new(),
            computed: HashMap::new(),
        };
        if server.has_expire_time().is_none() {
            observer.try_expire_time()?;
        }
        Ok(observer)
    }

    /// Finds out whether the server has PEXPIRETIME, where INFO may not be asked.
    fn try_expire_time(&mut self) -> Result<(), StoreError> {
        let mut question = pipe();
        question.cmd("PEXPIRETIME").arg("");
        let answers = self
            .client
            .ask(&question, &mut Patience::new(self.timeout))
            .map_err(Failed::into_error)?;
        self.expire_time = !matches!(&answers[..], [Value::ServerError(_)]);
        Ok(())
    }

    fn commands(&self, key: &str) -> Pipeline {
        let expiry = if self.expire_time { "PEXPIRETIME" } else { "PTTL" };
        let mut commands = pipe();
        commands
            .cmd("MULTI")
            .cmd("GET")
            .arg(key)
            .cmd("GET")
            .arg(counter_key(key))
            .cmd(expiry)
            .arg(key)
            .cmd("TIME")
            .cmd("EXEC");
        commands
    }

    /// The error of a key that is no string, with its type.
    fn wrong_type(&mut self, key: &str, patience: &mut Patience) -> StoreError {
        let mut question = pipe();
        question.cmd("TYPE").arg(key);
        match self.client.ask(&question, patience) {
            Ok(answers) => {
                let kind = answers.first().and_then(text);
                StoreError::Unexpected(format!(
                    "the key {key} holds a {}, where a lock is a string",
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
        let mut patience = Patience::new(self.timeout);
        let commands = self.commands(key);
        let mut asked = boot_now();
        let answers = match self.client.ask(&commands, &mut patience) {
            Ok(answers) => answers,
            Err(failed) => match failed.into_error() {
                error @ StoreError::TimedOut(_) => return Err(error),
                // A read may be repeated: a restarted server is seen at once.
                _ => {
                    asked = boot_now();
                    self.client.ask(&commands, &mut patience).map_err(Failed::into_error)?
                }
            },
        };
        let answered = boot_now();
        let answer = match Answer::parse(&answers) {
            Ok(answer) => answer,
            Err(Strange::Error(error)) if error.code() == "WRONGTYPE" => {
                return Err(self.wrong_type(key, &mut patience));
            }
            Err(Strange::Error(error)) => return Err(refusal(self.client.url(), error)),
            Err(Strange::Shape) => {
                return Err(StoreError::Unexpected(format!("{answers:?} for a reading of {key}")));
            }
        };
        let epoch = self.client.server(&mut patience).ok().and_then(Server::epoch);
        let expiry = answer.expiry.map(|raw| {
            if self.expire_time {
                Expiry::of(raw)
            } else {
                self.steady(key, Expiry::of(raw), answer.server_ns)
            }
        });
        let held = answer.value.zip(expiry).map(|(value, expiry)| {
            let (holder, token) = parse_stored(value);
            (holder, token, expiry)
        });
        let counter = answer.counter;
        let previous = self.seen.note(key, asked, (held.clone(), counter, epoch.clone()));
        let moment = Moment::between(asked, answered);
        let reading = Reading {
            previous,
            held: held.map(|(holder, token, expiry)| Held {
                holder,
                token,
                expires: expiry.moment(answer.server_ns, moment),
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
}

impl Observer {
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

impl Expiry {
    fn of(raw: i64) -> Self {
        if raw == -1 { Self::Never } else { Self::At(raw) }
    }

    /// The moment on our clock: the server read its own somewhere between asked and answered.
    ///
    /// The key ends when the server's clock has passed the millisecond, so somewhere in it.
    fn moment(self, server_ns: i64, during: Moment) -> Option<Moment> {
        let Self::At(ms) = self else {
            return None;
        };
        let left = i128::from(ms) * MS - i128::from(server_ns);
        // TIME is cut to the microsecond.
        Some(Moment {
            earliest: shift(during.earliest, left - 1000),
            latest: shift(during.latest, left + MS),
        })
    }
}

fn shift(at: BootNanos, by: i128) -> BootNanos {
    BootNanos(u64::try_from((i128::from(at.0) + by).max(0)).unwrap_or(u64::MAX))
}

/// The answer to one reading.
#[derive(Debug)]
struct Answer<'a> {
    value: Option<&'a [u8]>,
    counter: Option<Token>,
    /// PEXPIRETIME or PTTL, if the key is there.
    expiry: Option<i64>,
    server_ns: i64,
}

/// An answer that is none.
#[derive(Debug)]
enum Strange<'a> {
    Error(&'a ServerError),
    Shape,
}

impl<'a> Answer<'a> {
    fn parse(answers: &'a [Value]) -> Result<Self, Strange<'a>> {
        // The first error tells most: a command that was refused makes EXEC fail too.
        if let Some(error) = answers.iter().find_map(error) {
            return Err(Strange::Error(error));
        }
        let Some(Value::Array(inside)) = answers.last() else {
            return Err(Strange::Shape);
        };
        let [value, counter, expiry, time] = &inside[..] else {
            return Err(Strange::Shape);
        };
        if let Some(error) = [value, expiry, time].into_iter().find_map(error) {
            return Err(Strange::Error(error));
        }
        let value = match value {
            Value::BulkString(bytes) => Some(&bytes[..]),
            Value::Nil => None,
            _ => return Err(Strange::Shape),
        };
        let Value::Int(expiry) = expiry else {
            return Err(Strange::Shape);
        };
        Ok(Self {
            value,
            // Anything else under the counter's key is a foreign client's, and no counter.
            counter: text(counter).and_then(|text| text.parse().ok()).map(Token),
            // The key may end between two commands of the transaction.
            expiry: (*expiry != -2).then_some(*expiry),
            server_ns: time_ns(time).ok_or(Strange::Shape)?,
        })
    }
}

fn error(value: &Value) -> Option<&ServerError> {
    match value {
        Value::ServerError(error) => Some(error),
        _ => None,
    }
}

fn time_ns(value: &Value) -> Option<i64> {
    let Value::Array(parts) = value else {
        return None;
    };
    let [seconds, micros] = &parts[..] else {
        return None;
    };
    let number = |value| text(value)?.parse::<i64>().ok();
    number(seconds)?
        .checked_mul(1_000_000_000)?
        .checked_add(number(micros)?.checked_mul(1000)?)
}
