//! The answer to one reading, and what it means on our clock.

use crate::redis::server::text;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use redis::{ServerError, Value};

const MS: i128 = 1_000_000;

/// What PEXPIRETIME and PTTL answer of a key that is not there. Its value is the empty text then, as that of one that is
/// there may be.
const GONE: i64 = -2;

/// When a key ends, in ms of the server's clock.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    Never,
    At(i64),
}

impl Expiry {
    pub(crate) fn of(raw: i64) -> Self {
        if raw == -1 { Self::Never } else { Self::At(raw) }
    }

    /// The moment on our clock: the server read its own somewhere between asked and answered.
    ///
    /// The key ends when the server's clock has passed the millisecond, so somewhere in it.
    pub(crate) fn moment(self, server_ns: i64, during: Moment) -> Option<Moment> {
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
pub(crate) struct Answer<'a> {
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) counter: Option<Token>,
    /// PEXPIRETIME or PTTL, if the key is there.
    pub(crate) expiry: Option<i64>,
    pub(crate) server_ns: i64,
}

/// An answer that is none.
#[derive(Debug)]
pub(crate) enum Strange<'a> {
    Error(&'a ServerError),
    Shape,
}

impl<'a> Answer<'a> {
    /// Whether the command for the expiry was refused, and the others were not.
    pub(crate) fn lacks_expiry_alone(answers: &[Value]) -> bool {
        let [_multi, value, counter, expiry, time, _exec] = answers else {
            return false;
        };
        error(expiry).is_some() && [value, counter, time].into_iter().all(|other| error(other).is_none())
    }

    pub(crate) fn parse(answers: &'a [Value]) -> Result<Self, Strange<'a>> {
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
            value: value.filter(|_| *expiry != GONE),
            // Anything else under the counter's key is a foreign client's, and no counter.
            counter: text(counter).and_then(|text| text.parse().ok()).map(Token),
            // The key may end between two commands of the transaction.
            expiry: (*expiry != GONE).then_some(*expiry),
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
