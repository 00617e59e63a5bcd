//! What a Redis server shows beside the lease itself.

use crate::Observe;
use crate::error::StoreError;
use crate::inspect::{Allowed, Hints, Inspect, LONGEST_HOLDER, ttl_words};
use crate::patience::Patience;
use crate::redis::allow::ALLOWED;
use crate::redis::clients::connections;
use crate::redis::info::Info;
use crate::redis::observer::Observer;
use crate::redis::server::{refusal, text};
use crate::redis::slow_log::{ASKED, slow_log};
use crate::redis::tools;
use crate::url::{RedisUrl, Way};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{Attribute, Form, KeyForm, Monitored, StoreView};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use redis::{Cmd, Pipeline, Value, cmd};
use std::time::Duration;

/// With more connections than this the list of them is not asked for: it would be megabytes.
const CONNECTIONS: u64 = 10_000;

/// A look at a server.
pub(crate) struct Inspector {
    observer: Observer,
    url: RedisUrl,
}

impl Inspector {
    pub(crate) fn open(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            observer: Observer::open(url, timeout)?,
            url: url.clone(),
        })
    }

    /// Asks the server that has the key.
    fn ask(&mut self, key: &[u8], commands: Vec<Cmd>) -> Result<Vec<Value>, StoreError> {
        let mut pipeline = Pipeline::new();
        for command in commands {
            pipeline.add_command(command);
        }
        let mut patience = Patience::new(self.observer.timeout());
        let client = self.observer.client();
        client
            .ask_about(key, &pipeline, &mut patience)
            .map_err(|failed| failed.into_error())
    }

    /// The text of these sections of INFO, or why there is none.
    fn info(&mut self, key: &[u8], sections: &[&str]) -> Result<Shown<Info>, StoreError> {
        let commands = sections
            .iter()
            .map(|section| cmd("INFO").arg(section).clone())
            .collect();
        let mut whole = String::new();
        for answer in self.ask(key, commands)? {
            match shown(&answer) {
                Shown::Is(answer) => whole += &text(answer).unwrap_or_default(),
                Shown::Withheld(why) => return Ok(Shown::Withheld(why)),
                Shown::NotByThisStore => return Ok(Shown::NotByThisStore),
            }
        }
        Ok(Shown::Is(Info::parse(&whole)))
    }

    /// A key that is no string, in words: its type, its size, its encoding, its TTL, not its content.
    fn foreign(&mut self, key: &[u8], kind: &str) -> Result<Form, StoreError> {
        let size = match kind {
            "hash" => Some(("HLEN", "field")),
            "list" => Some(("LLEN", "element")),
            "set" => Some(("SCARD", "member")),
            "zset" => Some(("ZCARD", "member")),
            "stream" => Some(("XLEN", "entry")),
            _ => None,
        };
        let mut commands = vec![
            cmd("OBJECT").arg("ENCODING").arg(key).clone(),
            cmd("PTTL").arg(key).clone(),
        ];
        commands.extend(size.map(|(command, _)| cmd(command).arg(key).clone()));
        let answers = self.ask(key, commands)?;
        let mut words = format!("a {kind}");
        if let (Some((_, unit)), Some(Value::Int(count))) = (size, answers.get(2)) {
            words.push_str(&format!(" ({unit} count {count})"));
        }
        if let Some(encoding) = answers.first().and_then(text) {
            words.push_str(&format!(", stored as {encoding}"));
        }
        if let Some(Value::Int(left)) = answers.get(1) {
            words.push_str(&format!(", {}", pttl_words(*left)));
        }
        Ok(Form::Foreign(words))
    }
}

/// What PTTL says.
fn pttl_words(left: i64) -> String {
    match left {
        -2 => "PTTL −2: the key is not there".to_owned(),
        -1 => "PTTL −1: the key is there and has no expiry".to_owned(),
        left => format!("PTTL {left}: {left} ms are left"),
    }
}

/// The answer, unless the server refused it.
fn shown(answer: &Value) -> Shown<&Value> {
    match answer {
        Value::ServerError(error) => Shown::Withheld(match error.code() {
            "NOPERM" => "this user may not ask".to_owned(),
            code => format!("{code} {}", error.details().unwrap_or_default())
                .trim_end()
                .to_owned(),
        }),
        answer => Shown::Is(answer),
    }
}

/// The value of the one setting in an answer to CONFIG GET.
fn setting(answer: &Value) -> Shown<String> {
    match shown(answer) {
        Shown::Is(Value::Array(pair)) => pair.get(1).and_then(text).map_or_else(
            || Shown::Withheld("the server has no such setting".to_owned()),
            Shown::Is,
        ),
        Shown::Is(_) | Shown::NotByThisStore => Shown::NotByThisStore,
        Shown::Withheld(why) => Shown::Withheld(why),
    }
}

impl Observe for Inspector {
    fn facts(&self) -> &StoreFacts {
        self.observer.facts()
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(key)
    }
}

impl Inspect for Inspector {
    fn allowed(&self) -> &'static [Allowed] {
        ALLOWED
    }

    fn form(&mut self, key: &[u8]) -> Result<KeyForm, StoreError> {
        let db = self.url.db;
        let namespace = match self.info(key, &["keyspace"])? {
            Shown::Is(info) => info.namespace(db),
            _ => format!("database {db}; its keys are not shown to this user"),
        };
        let answers = self.ask(key, vec![cmd("TYPE").arg(key).clone()])?;
        let form = match answers.first() {
            Some(Value::ServerError(error)) => return Err(refusal(&self.url, error)),
            answer => match answer.and_then(text).as_deref() {
                Some("none") => Form::Absent,
                Some("string") => match self.ask(key, vec![cmd("STRLEN").arg(key).clone()])?.first() {
                    Some(Value::Int(length)) if usize::try_from(*length).is_ok_and(|it| it > LONGEST_HOLDER) => {
                        Form::Foreign(format!(
                            "a string of {length} bytes, too long for a holder's name: not read"
                        ))
                    }
                    _ => Form::Lease,
                },
                Some(kind) => self.foreign(key, kind)?,
                None => return Err(StoreError::Unexpected(format!("{answer:?} for TYPE"))),
            },
        };
        Ok(KeyForm {
            namespace,
            form,
            elsewhere: None,
        })
    }

    fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        self.observer.read_key(key)
    }

    fn look(&mut self, key: &[u8], form: &KeyForm, hints: &Hints) -> Result<StoreView, StoreError> {
        let mut refused = Vec::new();
        let sections = ["server", "clients", "memory", "persistence", "stats", "replication"];
        let info = self.info(key, &sections)?;
        let config = |name: &str| cmd("CONFIG").arg("GET").arg(name).clone();
        let answers = self.ask(
            key,
            vec![
                config("slowlog-log-slower-than"),
                config("save"),
                config("appendfsync"),
                cmd("SLOWLOG").arg("GET").arg(ASKED).clone(),
            ],
        )?;
        let [threshold, save, fsync, slow] = &answers[..] else {
            return Err(StoreError::Unexpected(format!(
                "{} answers for four questions",
                answers.len()
            )));
        };
        let mut attributes = match &info {
            Shown::Is(info) => info.attributes(
                setting(save).get().map(String::as_str),
                setting(fsync).get().map(String::as_str),
            ),
            _ => ["version", "role", "persistence", "eviction"]
                .into_iter()
                .map(|name| Attribute::withheld(name, "this user may not run INFO"))
                .collect(),
        };
        if self.url.way != Way::Server {
            let place = self.observer.client().place().map(ToString::to_string);
            attributes.insert(0, Attribute::plain("server", place.unwrap_or_default()));
        }
        let many = info.get().and_then(|info| info.number("connected_clients"));
        let connections = match many.filter(|many| *many > CONNECTIONS) {
            Some(many) => Shown::Withheld(format!("not asked: the list of {many} connections is megabytes")),
            None => {
                let answers = self.ask(key, vec![cmd("CLIENT").arg("LIST").clone()])?;
                let answer = answers.first().unwrap_or(&Value::Nil);
                shown(answer).map(|answer| connections(&text(answer).unwrap_or_default(), hints))
            }
        };
        let threshold = setting(threshold).map(|text| text.parse().unwrap_or(-1));
        let slow_log = match shown(slow) {
            Shown::Is(answer) => slow_log(answer, threshold, key).map_or(Shown::NotByThisStore, Shown::Is),
            Shown::Withheld(why) => Shown::Withheld(why),
            Shown::NotByThisStore => Shown::NotByThisStore,
        };
        for (name, is_refused) in [
            ("INFO", is_withheld(&info)),
            ("CONFIG GET", is_withheld(&setting(save))),
            ("CLIENT LIST", is_withheld(&connections)),
            ("SLOWLOG GET", is_withheld(&slow_log)),
        ] {
            if is_refused {
                refused.push(name.to_owned());
            }
        }
        Ok(StoreView {
            kind: self.facts().kind.clone(),
            attributes,
            key: form.clone(),
            connections,
            slow_log,
            monitored: None,
            may_be_behind: info.get().is_some_and(|info| info.get("role") == Some("slave")),
            row_held_by: None,
            refused,
        })
    }

    fn ttl_words(&self, held: Option<&Held>, now: BootNanos) -> String {
        match held {
            None => pttl_words(-2),
            Some(held) if held.expires.is_none() => pttl_words(-1),
            Some(held) => ttl_words(Some(held), now),
        }
    }

    fn monitor(&mut self, key: &[u8], span: Duration, lines: u64) -> Result<Shown<Monitored>, StoreError> {
        // Refused, or cut off: the readings are still worth having.
        let watched = self.observer.client().monitor(key, span, lines);
        Ok(watched.map_or_else(|error| Shown::Withheld(error.to_string()), Shown::Is))
    }

    fn by_hand(&self, key: &[u8]) -> Vec<String> {
        tools::commands(&self.url, self.observer.place(), key)
    }
}

fn is_withheld<T>(shown: &Shown<T>) -> bool {
    matches!(shown, Shown::Withheld(_))
}
