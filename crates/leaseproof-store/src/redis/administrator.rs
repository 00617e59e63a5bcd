//! The lab's hands on Redis. Each change names its keys; nothing is ever flushed.

use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::client::Client;
use crate::redis::counter_key;
use crate::redis::owner::grant;
use crate::redis::script::STEAL;
use crate::redis::server::{refusal, text};
use crate::url::RedisUrl;
use crate::wire::Failed;
use crate::{Administer, Grant};
use leaseproof_model::moment::Moment;
use redis::{Pipeline, Value, pipe};
use std::time::Duration;

/// SCAN calls of a search for foreign keys, each for about a thousand keys.
const SCANS: usize = 100;

/// So many foreign keys are enough to know.
const ENOUGH: u64 = 1000;

/// The lab's access.
pub(crate) struct Administrator {
    client: Client,
    timeout: Duration,
}

impl Administrator {
    pub(crate) fn open(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut client = Client::new(url, timeout)?;
        let server = client.server(&mut Patience::new(timeout))?;
        if let Some(primary) = server.primary.clone() {
            return Err(StoreError::Replica {
                url: url.to_string(),
                primary,
            });
        }
        Ok(Self { client, timeout })
    }

    fn ask(&mut self, commands: &Pipeline) -> Result<Vec<Value>, StoreError> {
        let answers = self
            .client
            .ask(commands, &mut Patience::new(self.timeout))
            .map_err(Failed::into_error)?;
        match answers.iter().find_map(|answer| match answer {
            Value::ServerError(error) => Some(error),
            _ => None,
        }) {
            Some(error) => Err(refusal(self.client.url(), error)),
            None => Ok(answers),
        }
    }
}

impl Administer for Administrator {
    fn prepare(&mut self) -> Result<(), StoreError> {
        // There is nothing to make; a server that is still loading says so here.
        let mut question = pipe();
        question.cmd("PING");
        self.ask(&question).map(|_| ())
    }

    fn steal(&mut self, key: &str, holder: &str, ttl: Duration) -> Done<Grant> {
        grant(&mut self.client, STEAL, key, holder, ttl, self.timeout)
    }

    fn delete(&mut self, key: &str) -> Done<()> {
        let asked = boot_now();
        let mut command = pipe();
        command.cmd("DEL").arg(key);
        let answer = self.client.ask(&command, &mut Patience::new(self.timeout));
        let during = Moment::between(asked, boot_now());
        match answer {
            Ok(answers) => match &answers[..] {
                [Value::Int(1)] => Done::applied((), during),
                [Value::Int(_)] => Done::refused(Refusal::Gone, during),
                [Value::ServerError(error)] => Done::failed(refusal(self.client.url(), error), during),
                other => Done::unknown(format!("the server answered {other:?}"), during),
            },
            Err(Failed::NotSent(error)) => Done::failed(error, during),
            Err(Failed::Unknown(error)) => Done::unknown(error, during),
        }
    }

    fn clean(&mut self, keys: &[String]) -> Result<u64, StoreError> {
        let mut gone = 0;
        for some in keys.chunks(100) {
            let mut command = pipe();
            command.cmd("DEL");
            for key in some {
                command.arg(key).arg(counter_key(key));
            }
            for answer in self.ask(&command)? {
                if let Value::Int(count) = answer {
                    gone += u64::try_from(count).unwrap_or(0);
                }
            }
        }
        Ok(gone)
    }

    fn foreign_keys(&mut self, prefix: &str) -> Result<u64, StoreError> {
        let mut found = 0;
        let mut cursor = "0".to_owned();
        for _ in 0..SCANS {
            let mut question = pipe();
            question.cmd("SCAN").arg(&cursor).arg("COUNT").arg(1000);
            let answers = self.ask(&question)?;
            let [Value::Array(parts)] = &answers[..] else {
                return Err(StoreError::Unexpected(format!("{answers:?} for SCAN")));
            };
            let [next, Value::Array(keys)] = &parts[..] else {
                return Err(StoreError::Unexpected(format!("{parts:?} for SCAN")));
            };
            let foreign = keys
                .iter()
                .filter(|key| !matches!(key, Value::BulkString(bytes) if bytes.starts_with(prefix.as_bytes())));
            found += foreign.count() as u64;
            cursor = text(next).unwrap_or_default();
            if cursor == "0" || found >= ENOUGH {
                break;
            }
        }
        Ok(found)
    }

    fn replica_of(&mut self) -> Result<Option<String>, StoreError> {
        let server = self.client.server(&mut Patience::new(self.timeout))?;
        Ok(server.primary.clone())
    }
}
