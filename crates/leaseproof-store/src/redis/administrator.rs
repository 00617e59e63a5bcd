//! The lab's hands on Redis. Each change names its keys; nothing is ever flushed.

use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::client::Client;
use crate::redis::owner::grant;
use crate::redis::script::STEAL;
use crate::redis::server::{refusal, text};
use crate::url::{Place, RedisUrl, Way};
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
        let mut lab = Self::lazy(url, timeout)?;
        lab.refuse_replica()?;
        Ok(lab)
    }

    /// Without a connection yet.
    pub(crate) fn lazy(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            client: Client::new(url, timeout)?,
            timeout,
        })
    }

    /// A replica is no store for a lab.
    pub(crate) fn refuse_replica(&mut self) -> Result<(), StoreError> {
        let server = self.client.server(&mut Patience::new(self.timeout))?;
        let primary = server.primary.clone();
        match primary {
            Some(primary) => Err(StoreError::Replica {
                url: self.client.url().to_string(),
                primary,
            }),
            None => Ok(()),
        }
    }

    /// The connection, for more than this.
    pub(crate) fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Asks the server that has this key, or this one.
    fn ask(&mut self, of: Of<'_>, commands: &Pipeline) -> Result<Vec<Value>, StoreError> {
        let mut patience = Patience::new(self.timeout);
        let answers = match of {
            Of::Any => self.client.ask(commands, &mut patience),
            Of::Key(key) => self.client.ask_about(key.as_bytes(), commands, &mut patience),
            Of::Server(place) => self.client.ask_at(place, commands, &mut patience),
        };
        let answers = answers.map_err(Failed::into_error)?;
        match answers.iter().find_map(|answer| match answer {
            Value::ServerError(error) => Some(error),
            _ => None,
        }) {
            Some(error) => Err(refusal(self.client.url(), error)),
            None => Ok(answers),
        }
    }
}

/// Whom to ask.
enum Of<'a> {
    Any,
    Key(&'a str),
    Server(&'a Place),
}

impl Administer for Administrator {
    fn prepare(&mut self) -> Result<(), StoreError> {
        // There is nothing to make; a server that is still loading says so here.
        let mut question = pipe();
        question.cmd("PING");
        self.ask(Of::Any, &question).map(|_| ())
    }

    fn steal(&mut self, key: &str, holder: &str, ttl: Duration) -> Done<Grant> {
        grant(&mut self.client, STEAL, key, holder, ttl, self.timeout)
    }

    fn delete(&mut self, key: &str) -> Done<()> {
        let asked = boot_now();
        let mut command = pipe();
        command.cmd("DEL").arg(key);
        let mut patience = Patience::new(self.timeout);
        let answer = self.client.ask_about(key.as_bytes(), &command, &mut patience);
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
        // A cluster removes together what is in one slot alone.
        let at_once = if self.client.url().way == Way::Cluster { 1 } else { 100 };
        for some in keys.chunks(at_once) {
            let mut command = pipe();
            command.cmd("DEL");
            for key in some {
                command.arg(key).arg(self.client.counter(key.as_bytes()));
            }
            for answer in self.ask(Of::Key(&some[0]), &command)? {
                if let Value::Int(count) = answer {
                    gone += u64::try_from(count).unwrap_or(0);
                }
            }
        }
        Ok(gone)
    }

    fn foreign_keys(&mut self, prefix: &str) -> Result<u64, StoreError> {
        let mut found = 0;
        for place in self.client.servers(&mut Patience::new(self.timeout))? {
            found += self.foreign_keys_at(&place, prefix)?;
        }
        Ok(found)
    }

    fn replica_of(&mut self) -> Result<Option<String>, StoreError> {
        let server = self.client.server(&mut Patience::new(self.timeout))?;
        Ok(server.primary.clone())
    }
}

impl Administrator {
    fn foreign_keys_at(&mut self, place: &Place, prefix: &str) -> Result<u64, StoreError> {
        let mut found = 0;
        let mut cursor = "0".to_owned();
        for _ in 0..SCANS {
            let mut question = pipe();
            question.cmd("SCAN").arg(&cursor).arg("COUNT").arg(1000);
            let answers = self.ask(Of::Server(place), &question)?;
            let [Value::Array(parts)] = &answers[..] else {
                return Err(StoreError::Unexpected(format!("{answers:?} for SCAN")));
            };
            let [next, Value::Array(keys)] = &parts[..] else {
                return Err(StoreError::Unexpected(format!("{parts:?} for SCAN")));
            };
            let client = &self.client;
            let ours = |key: &&Value| match key {
                // The counter of one of ours may begin with a brace.
                Value::BulkString(bytes) => client.counted(bytes).unwrap_or(bytes).starts_with(prefix.as_bytes()),
                _ => false,
            };
            found += keys.iter().filter(|key| !ours(key)).count() as u64;
            cursor = text(next).unwrap_or_default();
            if cursor == "0" || found >= ENOUGH {
                break;
            }
        }
        Ok(found)
    }
}
