//! The wrong statements on Redis.

use super::{Answer, Wrong};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_store::{Grant, Refusal};
use redis::{Client, Connection, RedisResult, Script};
use std::time::Duration;

const GRANT_WITHOUT_TTL: &str = "\
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local token = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1] .. '#' .. string.format('%.0f', token))
return token";

const GRANT_WITH_OLD_TOKEN: &str = "\
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[2], 1, 'NX')
local token = tonumber(redis.call('GET', KEYS[2]))
redis.call('SET', KEYS[1], ARGV[1] .. '#' .. string.format('%.0f', token), 'PX', ARGV[2])
return token";

const REVIVE: &str = "\
local value = redis.call('GET', KEYS[1])
if value and value ~= ARGV[1] then return -1 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1";

/// A Redis server.
#[derive(Debug)]
pub(super) struct Redis(Client);

impl Redis {
    pub(super) fn new(url: &str) -> Result<Self, String> {
        if url.starts_with("rediss:") {
            return Err("flaws that send statements of their own speak no TLS: give a redis:// store".to_owned());
        }
        Client::open(url)
            .map(Self)
            .map_err(|error| format!("the store's URL is not understood: {error}"))
    }

    fn ask<T>(&self, timeout: Duration, work: impl FnOnce(&mut Connection) -> RedisResult<T>) -> Result<T, String> {
        let asked = || {
            let mut connection = self.0.get_connection_with_timeout(timeout)?;
            connection.set_read_timeout(Some(timeout))?;
            connection.set_write_timeout(Some(timeout))?;
            work(&mut connection)
        };
        asked().map_err(|error: redis::RedisError| error.to_string())
    }
}

fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1)
}

fn counter(key: &str) -> String {
    format!("{key}:token")
}

fn granted(token: u64) -> Result<Token, Refusal> {
    if token == 0 {
        Err(Refusal::Held)
    } else {
        Ok(Token(token))
    }
}

fn found(number: i64) -> Result<(), Refusal> {
    if number == 0 { Err(Refusal::Gone) } else { Ok(()) }
}

impl Wrong for Redis {
    fn grant_without_ttl(&self, key: &str, holder: &HolderId, timeout: Duration) -> Answer<Token> {
        let script = Script::new(GRANT_WITHOUT_TTL);
        self.ask(timeout, |connection| {
            script
                .key(key)
                .key(counter(key))
                .arg(holder.as_str())
                .invoke(connection)
        })
        .map(granted)
    }

    fn grant_with_old_token(&self, key: &str, holder: &HolderId, ttl: Duration, timeout: Duration) -> Answer<Token> {
        let script = Script::new(GRANT_WITH_OLD_TOKEN);
        self.ask(timeout, |connection| {
            script
                .key(key)
                .key(counter(key))
                .arg(holder.as_str())
                .arg(millis(ttl))
                .invoke(connection)
        })
        .map(granted)
    }

    fn expire(&self, key: &str, ttl: Duration, timeout: Duration) -> Answer<()> {
        self.ask(timeout, |connection| {
            redis::cmd("PEXPIRE").arg(key).arg(millis(ttl)).query(connection)
        })
        .map(found)
    }

    fn revive(&self, grant: &Grant, _granted: BootNanos, ttl: Duration, timeout: Duration) -> Answer<()> {
        let script = Script::new(REVIVE);
        let answer: i64 = self.ask(timeout, |connection| {
            script
                .key(&grant.key)
                .arg(format!("{}#{}", grant.holder, grant.token))
                .arg(millis(ttl))
                .invoke(connection)
        })?;
        Ok(if answer == 1 {
            Ok(())
        } else {
            Err(Refusal::NotTheHolder)
        })
    }

    fn remove(&self, key: &str, timeout: Duration) -> Answer<()> {
        self.ask(timeout, |connection| redis::cmd("DEL").arg(key).query(connection))
            .map(found)
    }
}
