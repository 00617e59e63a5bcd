//! The scripts: each change of a lease is one atomic step on the server.

use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::client::Client;
use crate::redis::server::refusal;
use crate::wire::Failed;
use leaseproof_model::moment::Moment;
use redis::{Pipeline, Script, Value, pipe};
use std::time::Duration;

/// Counts [`KEYS[2]`](self) up: `token` is the new count, as its text. Lua's numbers are exact to 2^53 only, so that the
/// number that INCR answers would give one token to several grants; the text that GET answers is exact to 2^63.
///
/// A counter from which no greater token can come is refused here, before the first write: nothing was granted.
macro_rules! count {
    () => {
        "\
local count = redis.call('GET', KEYS[2]) or '0'
if not string.find(count, '^%d+$') or #count > 19 or (#count == 19 and count >= '9223372036854775807') then
return redis.error_reply('TOKENS ' .. KEYS[2] .. ' holds ' .. string.sub(count, 1, 40)) end
redis.call('INCR', KEYS[2])
local token = redis.call('GET', KEYS[2])
"
    };
}
pub(super) use count;

/// Keys: lease, counter. Arguments: holder and incarnation, TTL in ms. Gives the token as text, 0 where another has it,
/// and [`ENDLESS`] where that never ends.
///
/// The counter comes first: if it fails, nothing was granted.
pub(crate) const ACQUIRE: &str = concat!(
    "if redis.call('EXISTS', KEYS[1]) == 1 then
if redis.pcall('PTTL', KEYS[1]) == -1 then return -1 end
return 0 end\n",
    count!(),
    "redis.call('SET', KEYS[1], ARGV[1] .. '#' .. token, 'NX', 'PX', ARGV[2])
return token"
);

/// An acquire: the key has no TTL.
pub(crate) const ENDLESS: i64 = -1;

/// As [`ACQUIRE`], whoever holds it.
pub(crate) const STEAL: &str = concat!(
    count!(),
    "redis.call('SET', KEYS[1], ARGV[1] .. '#' .. token, 'PX', ARGV[2])
return token"
);

/// Key: lease. Arguments: the whole value, TTL in ms. Gives 1, -1 for another's, -2 for none.
pub(crate) const RENEW: &str = "\
local value = redis.call('GET', KEYS[1])
if not value then return -2 end
if value ~= ARGV[1] then return -1 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])";

/// As [`RENEW`], but gives the server's time in microseconds instead of 1. The time is asked for last: before a
/// write, old servers refuse a command whose answer differs from server to server.
pub(crate) const RENEW_TIMED: &str = "\
local value = redis.call('GET', KEYS[1])
if not value then return -2 end
if value ~= ARGV[1] then return -1 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]";

/// Key: lease. Argument: the whole value. Gives 1, -1 for another's, -2 for none.
pub(crate) const RELEASE: &str = "\
local value = redis.call('GET', KEYS[1])
if not value then return -2 end
if value ~= ARGV[1] then return -1 end
return redis.call('DEL', KEYS[1])";

/// A TTL in the server's unit; zero would be refused.
pub(crate) fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1)
}

/// Runs a script that answers a number; `judge` says what it means.
pub(crate) fn run<T>(
    client: &mut Client,
    code: &str,
    keys: &[&[u8]],
    arguments: &[String],
    timeout: Duration,
    judge: impl FnOnce(i64) -> Result<T, Refusal>,
) -> Done<T> {
    let asked = boot_now();
    let mut patience = Patience::new(timeout);
    let answer = writable(client, &mut patience).and_then(|()| ask(client, code, keys, arguments, &mut patience));
    let during = Moment::between(asked, boot_now());
    match answer {
        // An error of the server comes before the first write of a script.
        Ok(Value::ServerError(error)) => Done::failed(refusal(client.url(), &error), during),
        Ok(answer) => match number(&answer).map(judge) {
            Some(Ok(value)) => Done::applied(value, during),
            Some(Err(refusal)) => Done::refused(refusal, during),
            None => Done::unknown(format!("the server answered {answer:?}"), during),
        },
        Err(Failed::NotSent(error)) => Done::failed(error, during),
        Err(Failed::Unknown(error)) => Done::unknown(error, during),
    }
}

/// The number of an answer; a token comes as its text.
fn number(answer: &Value) -> Option<i64> {
    match answer {
        Value::Int(number) => Some(*number),
        Value::BulkString(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// A replica is refused before anything is sent to it.
fn writable(client: &mut Client, patience: &mut Patience) -> Result<(), Failed> {
    let url = client.url().to_string();
    let server = client.server(patience).map_err(Failed::NotSent)?;
    match &server.primary {
        Some(primary) => Err(Failed::NotSent(StoreError::Replica {
            url,
            primary: primary.clone(),
        })),
        None => Ok(()),
    }
}

/// By its hash, since a lease is renewed for ever; a server that was restarted gets the text again.
fn ask(
    client: &mut Client,
    code: &str,
    keys: &[&[u8]],
    arguments: &[String],
    patience: &mut Patience,
) -> Result<Value, Failed> {
    let key = keys.first().copied().unwrap_or_default();
    let hash = Script::new(code).get_hash().to_owned();
    let answer = one(client.ask_about(key, &call("EVALSHA", &hash, keys, arguments), patience)?);
    match &answer {
        Value::ServerError(error) if error.code() == "NOSCRIPT" => client
            .ask_about(key, &call("EVAL", code, keys, arguments), patience)
            .map(one),
        _ => Ok(answer),
    }
}

fn one(mut answers: Vec<Value>) -> Value {
    answers.pop().unwrap_or_default()
}

fn call(command: &str, script: &str, keys: &[&[u8]], arguments: &[String]) -> Pipeline {
    let mut commands = pipe();
    commands
        .cmd(command)
        .arg(script)
        .arg(keys.len())
        .arg(keys)
        .arg(arguments);
    commands
}
