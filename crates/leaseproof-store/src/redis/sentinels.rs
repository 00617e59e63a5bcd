//! Which server is the primary, by the word of the Sentinels.
//!
//! After a failover the Sentinels learn of it one after the other, for up to two seconds. So all are
//! asked, and the word of the newest configuration counts.

use crate::clock::boot_now;
use crate::error::{Lasts, StoreError};
use crate::patience::Patience;
use crate::redis::link::{connect, failed, unreachable};
use crate::redis::server::text;
use crate::url::{Place, RedisUrl, Way};
use crate::wire::{Gate, Tls};
use leaseproof_model::clock::BootNanos;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisConnectionInfo, Value, cmd};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// For how long all are waited for, where most of them are known to have nothing new to say.
const EACH: Duration = Duration::from_millis(200);

/// For how long a Sentinel that was silent is not asked again for a confirmation.
const APART: Duration = Duration::from_secs(1);

/// What the primary is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum For {
    /// A new connection: it is worth a wait, since the one that leads a failover knows first, and writes it down before
    /// it answers again.
    Connection,
    /// A confirmation of an answer.
    Confirmation,
}

/// The Sentinels of a URL.
pub(super) struct Sentinels {
    desks: Vec<Desk>,
}

/// A connection, and what passed on it.
type Connection = (MultiplexedConnection, Arc<Gate>);

struct Desk {
    place: Place,
    connection: Option<Connection>,
    /// It is not asked before this.
    silent_until: BootNanos,
}

/// What one Sentinel said.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Word {
    /// The primary, and the epoch of the configuration that says so.
    Primary(Place, u64),
    /// It watches no such service.
    NoSuchService,
    /// Why it said neither.
    Refused(String),
}

impl Sentinels {
    pub(super) fn new(url: &RedisUrl) -> Self {
        let desks = url.places.iter().map(|place| Desk {
            place: place.clone(),
            connection: None,
            silent_until: BootNanos(0),
        });
        Self { desks: desks.collect() }
    }

    /// The questions to a Sentinel.
    pub(super) fn questions(service: &str) -> [Cmd; 2] {
        let question = |what: &str| cmd("SENTINEL").arg(what).arg(service).clone();
        [question("GET-MASTER-ADDR-BY-NAME"), question("MASTER")]
    }

    /// The primary by the newest word. To be called inside the runtime of the connections.
    pub(super) async fn primary(
        &mut self,
        url: &RedisUrl,
        tls: Option<&Tls>,
        purpose: For,
        patience: &mut Patience,
    ) -> Result<Place, StoreError> {
        let Way::Sentinel { service, .. } = &url.way else {
            return Err(StoreError::Unexpected("no Sentinel is named".to_owned()));
        };
        let now = boot_now();
        let ask_all = purpose == For::Connection || self.desks.iter().all(|desk| desk.silent_until > now);
        let mut questions = Pipeline::new();
        for question in Self::questions(service) {
            questions.add_command(question);
        }
        let mut asked = JoinSet::new();
        for (number, desk) in self.desks.iter().enumerate() {
            if desk.silent_until > now && !ask_all {
                continue;
            }
            let (url, place, tls) = (url.clone(), desk.place.clone(), tls.cloned());
            let (connection, questions) = (desk.connection.clone(), questions.clone());
            asked.spawn(async move { (number, ask(&url, &place, tls.as_ref(), connection, &questions).await) });
        }
        let part = if ask_all { patience.left() / 2 } else { EACH };
        let mut heard = vec![None; self.desks.len()];
        let mut waiting: Vec<usize> = Vec::new();
        let mut wait = Patience::new(part.min(patience.left()));
        let whole = wait.left();
        wait.wait(pin!(async {
            while let Some(answer) = asked.join_next().await {
                if let Ok((number, answer)) = answer {
                    heard[number] = Some(answer);
                }
            }
        }))
        .await;
        patience.take(whole.saturating_sub(wait.left()));
        let mut words = Vec::new();
        let mut why = Vec::new();
        for (number, (desk, heard)) in self.desks.iter_mut().zip(heard).enumerate() {
            match heard {
                Some(Ok((connection, word))) => {
                    desk.connection = Some(connection);
                    desk.silent_until = BootNanos(0);
                    words.push(word);
                }
                Some(Err(error)) => {
                    desk.connection = None;
                    desk.silent_until = now.plus(APART);
                    why.push(error);
                }
                None if desk.silent_until > now && !ask_all => {}
                None => {
                    desk.connection = None;
                    desk.silent_until = now.plus(APART);
                    waiting.push(number);
                }
            }
        }
        why.extend(
            waiting
                .iter()
                .map(|&number| format!("{} does not answer", self.desks[number].place)),
        );
        newest(url, service, words, &why)
    }

    /// Forgets the connections.
    pub(super) fn disconnect(&mut self) {
        for desk in &mut self.desks {
            desk.connection = None;
        }
    }
}

/// The word of the newest configuration.
fn newest(url: &RedisUrl, service: &str, words: Vec<Word>, why: &[String]) -> Result<Place, StoreError> {
    let refused = |why: String| StoreError::refused(url, why, Lasts::Mended);
    let mut newest: Option<(Place, u64)> = None;
    let (mut unknown, mut refusals) = (false, Vec::new());
    for word in words {
        match word {
            Word::Primary(place, epoch) => {
                if newest.as_ref().is_none_or(|(_, other)| epoch > *other) {
                    newest = Some((place, epoch));
                }
            }
            Word::NoSuchService => unknown = true,
            Word::Refused(why) => refusals.push(why),
        }
    }
    match newest {
        Some((place, _)) => Ok(place),
        None if unknown => Err(refused(format!(
            "the Sentinels watch no service `{service}`: `redis-cli -p PORT SENTINEL MASTERS` lists those that they watch"
        ))),
        None if !refusals.is_empty() => Err(refused(refusals.join("; "))),
        None => Err(unreachable(
            url,
            &format!("no Sentinel says who the primary is: {}", why.join("; ")),
        )),
    }
}

async fn ask(
    url: &RedisUrl,
    place: &Place,
    tls: Option<&Tls>,
    connection: Option<Connection>,
    questions: &Pipeline,
) -> Result<(Connection, Word), String> {
    let Way::Sentinel { user, password, .. } = &url.way else {
        return Err("no Sentinel is named".to_owned());
    };
    let (mut connection, gate) = match connection {
        Some(connection) => connection,
        None => match connect(url, place, tls, RedisConnectionInfo::default(), (user, password)).await {
            Ok((connection, _, gate)) => (connection, gate),
            Err(StoreError::Unreachable { why, .. }) => return Err(why),
            Err(StoreError::Refused { .. }) => {
                return Err(format!("{place} refuses sentinel_user or sentinel_password"));
            }
            Err(error) => return Err(format!("{place}: {error}")),
        },
    };
    let answers = connection
        .send_packed_commands(questions, 0, 2)
        .await
        .map_err(|error| format!("{place}: {}", failed(url, &error, &gate)))?;
    let word = word(&answers, place);
    Ok(((connection, gate), word))
}

fn word(answers: &[Value], asked: &Place) -> Word {
    match answers {
        [Value::ServerError(error), _] => Word::Refused(match error.code() {
            "NOAUTH" => format!("the Sentinel at {asked} wants a password: add ?sentinel_password=PASSWORD"),
            "NOPERM" => format!(
                "this sentinel_user may not ask {asked} for SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL MASTER"
            ),
            code => format!(
                "{asked} is no Sentinel ({code} {}): give the Sentinels' places, or redis:// for a server that stands alone",
                error.details().unwrap_or_default()
            ),
        }),
        [Value::Nil, _] => Word::NoSuchService,
        [Value::Array(parts), master] => match &parts[..] {
            [host, port] => match (text(host), text(port).and_then(|port| port.parse().ok())) {
                (Some(host), Some(port)) => Word::Primary(Place { host, port }, epoch(master).unwrap_or(0)),
                _ => Word::Refused(format!("{asked} names a primary that is no place")),
            },
            _ => Word::Refused(format!("{asked} names a primary that is no place")),
        },
        _ => Word::Refused(format!("{asked} answers something else than a Sentinel does")),
    }
}

/// The epoch of a Sentinel's configuration.
fn epoch(master: &Value) -> Option<u64> {
    let Value::Array(fields) = master else { return None };
    let pair = fields
        .chunks_exact(2)
        .find(|pair| text(&pair[0]).as_deref() == Some("config-epoch"))?;
    text(&pair[1])?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::StoreUrl;

    fn url() -> RedisUrl {
        match "redis+sentinel://h:1/s".parse() {
            Ok(StoreUrl::Redis(url)) => *url,
            other => panic!("{other:?}"),
        }
    }

    fn primary(port: u16, epoch: u64) -> Word {
        let host = "h".to_owned();
        Word::Primary(Place { host, port }, epoch)
    }

    #[test]
    fn the_newest_configuration_counts() {
        let place = newest(&url(), "s", vec![primary(1, 3), primary(2, 4), primary(1, 3)], &[]);
        assert_eq!(place.expect("a place").port, 2);
        let place = newest(&url(), "s", vec![Word::NoSuchService, primary(1, 0)], &[]);
        assert_eq!(place.expect("a place").port, 1);
    }

    #[test]
    fn what_is_no_word_is_told() {
        for (words, why, part) in [
            (vec![Word::NoSuchService], vec![], "watch no service `s`"),
            (
                vec![Word::Refused("x is no Sentinel".to_owned())],
                vec![],
                "no Sentinel",
            ),
            (vec![], vec!["h:1 does not answer".to_owned()], "h:1 does not answer"),
        ] {
            let error = newest(&url(), "s", words, &why).expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn answers_are_understood() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let master = Value::Array(vec![text("name"), text("s"), text("config-epoch"), text("7")]);
        let place = Value::Array(vec![text("h"), text("2")]);
        let asked = Place {
            host: "h".to_owned(),
            port: 1,
        };
        assert_eq!(word(&[place, master.clone()], &asked), primary(2, 7));
        assert_eq!(word(&[Value::Nil, Value::Nil], &asked), Word::NoSuchService);
        assert!(matches!(word(&[master, Value::Nil], &asked), Word::Refused(_)));
    }
}
