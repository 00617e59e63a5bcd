//! What a PostgreSQL server shows beside the lease itself.

use crate::Observe;
use crate::error::StoreError;
use crate::inspect::{Allowed, Hints, Inspect, LONGEST_HOLDER};
use crate::patience::Patience;
use crate::postgres::client::{Failed, Value};
use crate::postgres::looks::ALLOWED;
use crate::postgres::observer::Observer;
use crate::postgres::row::row_key;
use crate::postgres::sessions::{Session, connections, row_holder, row_lock};
use crate::postgres::statement::Statements;
use crate::postgres::tools;
use crate::url::PostgresUrl;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{Attribute, Form, KeyForm, StoreView};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// Keys are counted so far.
const COUNTED: i64 = 100_000;

/// A look at a server.
pub(crate) struct Inspector {
    observer: Observer,
    url: PostgresUrl,
}

impl Inspector {
    pub(crate) fn open(url: &PostgresUrl, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            observer: Observer::open_within(url, timeout, timeout)?,
            url: url.clone(),
        })
    }

    fn ask(&mut self, choose: impl Fn(&Statements) -> &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let patience = &mut Patience::new(self.observer.timeout);
        self.observer.client.look(choose, values, patience)
    }

    /// The table's name with its schema: another schema of the search path may have one of this name, too.
    fn table(&self) -> &str {
        let server = self.observer.client.connected_server();
        server.map_or(&self.url.table, |server| server.table_name(&self.url.table))
    }

    /// The same, where a refusal is an answer too: in the server's words.
    fn ask_shown(
        &mut self,
        choose: impl Fn(&Statements) -> &str,
        values: &[Value<'_>],
    ) -> Result<Shown<Vec<Row>>, StoreError> {
        let patience = &mut Patience::new(self.observer.timeout);
        match self.observer.client.ask(choose, values, patience) {
            Ok(rows) => Ok(Shown::Is(rows)),
            Err(Failed::Refused(error)) => Ok(Shown::Withheld(error.message().to_owned())),
            Err(failed) => Err(self.observer.client.in_words(failed)),
        }
    }
}

fn strange(error: &tokio_postgres::Error) -> StoreError {
    StoreError::Unexpected(format!("{error} for a look at the server"))
}

/// What the server is set to.
#[derive(Debug, Default)]
struct Settings {
    fsync: String,
    commit: String,
    standbys: String,
    statement_timeout: String,
    lock_timeout: String,
    idle_timeout: String,
    up_s: i64,
    replicas: i64,
    primary: Option<String>,
    replayed_s: Option<i64>,
}

impl Settings {
    fn parse(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            fsync: row.try_get("fsync")?,
            commit: row.try_get("commit")?,
            standbys: row.try_get("standbys")?,
            statement_timeout: row.try_get("statement_timeout")?,
            lock_timeout: row.try_get("lock_timeout")?,
            idle_timeout: row.try_get("idle_timeout")?,
            up_s: row.try_get("up")?,
            replicas: row.try_get("replicas")?,
            primary: row.try_get("primary")?,
            replayed_s: row.try_get("replayed")?,
        })
    }

    /// What matters to a lease.
    fn attributes(&self, replica: bool) -> Vec<Attribute> {
        vec![
            Attribute::plain("up", format!("for {} s", self.up_s)),
            self.role(replica),
            self.persistence(),
            Attribute::plain("eviction", "none"),
            self.timeouts(),
        ]
    }

    fn role(&self, replica: bool) -> Attribute {
        if replica {
            let primary = self.primary.as_deref().unwrap_or("a primary not shown to this user");
            let replayed = self
                .replayed_s
                .map_or_else(String::new, |it| format!(", last change of it {it} s old"));
            return Attribute::plain("role", format!("standby of {primary}{replayed}"))
                .worrying("what it shows may be behind the truth: look at the primary");
        }
        let names = match self.standbys.as_str() {
            "" => "synchronous_standby_names empty".to_owned(),
            names => format!("synchronous_standby_names `{names}`"),
        };
        let attribute = Attribute::plain("role", format!("primary, {} standbys, {names}", self.replicas));
        if self.replicas > 0 && self.standbys.is_empty() {
            return attribute
                .worrying("replication is asynchronous: a failover can lose a lease, or give it to two holders");
        }
        attribute
    }

    fn persistence(&self) -> Attribute {
        let text = format!("fsync {}, synchronous_commit {}", self.fsync, self.commit);
        let attribute = Attribute::plain("persistence", text);
        if self.fsync != "on" {
            return attribute
                .worrying("a crash of the machine can lose or garble everything: grants, and the counters of tokens");
        }
        if self.commit == "off" {
            return attribute.worrying(
                "a crash can lose the last commits, and the same token is granted again; a session may set another",
            );
        }
        attribute
    }

    fn timeouts(&self) -> Attribute {
        let text = format!(
            "statement {}, lock {}, idle in transaction {} (0: never; of this user's sessions)",
            self.statement_timeout, self.lock_timeout, self.idle_timeout
        );
        let attribute = Attribute::plain("time-outs", text);
        if self.idle_timeout == "0" {
            return attribute
                .worrying("a client that stands still inside a transaction keeps its row locked for as long");
        }
        attribute
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
        let key = row_key(key)?;
        let rows = self.ask(|it| &it.form, &[(&key, Type::TEXT)])?;
        let row = rows
            .first()
            .ok_or_else(|| StoreError::Unexpected("no row for a look at a key".to_owned()))?;
        let there: bool = row.try_get("there").map_err(|error| strange(&error))?;
        let size: i64 = row.try_get("size").map_err(|error| strange(&error))?;
        let keys: i64 = row.try_get("keys").map_err(|error| strange(&error))?;
        let keys = match keys > COUNTED {
            true => format!("more than {COUNTED} rows"),
            false if keys == 1 => "1 row".to_owned(),
            false => format!("{keys} rows"),
        };
        Ok(KeyForm {
            elsewhere: None,
            namespace: format!("table {}: {keys}", self.table()),
            form: match there {
                false => Form::Absent,
                true if usize::try_from(size).is_ok_and(|size| size > LONGEST_HOLDER) => {
                    Form::Foreign(format!("a holder of {size} bytes, too long for a name: not read"))
                }
                true => Form::Lease,
            },
        })
    }

    fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(row_key(key)?)
    }

    fn look(&mut self, key: &[u8], form: &KeyForm, hints: &Hints) -> Result<StoreView, StoreError> {
        let key = row_key(key)?;
        let replica = self
            .observer
            .client
            .connected_server()
            .is_some_and(|server| server.replica);
        let mut refused = Vec::new();
        let mut attributes = vec![Attribute::plain("version", self.facts().version.clone())];
        match self.ask_shown(|it| &it.settings, &[])? {
            Shown::Is(rows) => {
                let settings = rows.first().map(Settings::parse).transpose();
                let settings = settings.map_err(|error| strange(&error))?.unwrap_or_default();
                attributes.extend(settings.attributes(replica));
            }
            Shown::Withheld(why) => {
                refused.push("current_setting, pg_stat_replication".to_owned());
                let names = ["up", "role", "persistence", "eviction", "time-outs"];
                attributes.extend(names.map(|name| Attribute::withheld(name, why.clone())));
            }
            Shown::NotByThisStore => {}
        }
        let table = self
            .url
            .table
            .split('.')
            .next_back()
            .unwrap_or(&self.url.table)
            .to_owned();
        let row = self.ask_shown(|it| &it.row_lock, &[(&key, Type::TEXT)])?;
        let sessions = self.ask_shown(|it| &it.sessions, &[(&table, Type::TEXT)])?;
        let mut row_held_by = None;
        let connections = match sessions {
            Shown::Is(rows) => {
                let sessions: Result<Vec<Session>, _> = rows.iter().map(Session::parse).collect();
                let sessions = sessions.map_err(|error| strange(&error))?;
                let pids = match row {
                    Shown::Is(rows) => {
                        let pids: Vec<i32> = rows.iter().filter_map(|row| row.try_get("pid").ok()).collect();
                        attributes.push(row_lock(&sessions, &pids));
                        row_held_by = row_holder(&sessions, &pids);
                        pids
                    }
                    Shown::Withheld(why) => {
                        refused.push("pg_locks".to_owned());
                        attributes.push(Attribute::withheld("row", why));
                        Vec::new()
                    }
                    Shown::NotByThisStore => Vec::new(),
                };
                connections(&sessions, &pids, hints)
            }
            Shown::Withheld(why) => Shown::Withheld(why),
            Shown::NotByThisStore => Shown::NotByThisStore,
        };
        if matches!(connections, Shown::Withheld(_)) {
            refused.push("pg_stat_activity of other users".to_owned());
        }
        Ok(StoreView {
            connections,
            may_be_behind: replica,
            row_held_by,
            refused,
            ..StoreView::plain(&self.facts().kind, attributes, form)
        })
    }

    fn ttl_words(&self, held: Option<&Held>, now: BootNanos) -> String {
        match held {
            None => "no row, or a row without a holder: nobody holds it".to_owned(),
            Some(held) if held.expired => {
                "expires_at has passed by the server's clock, and no transaction that may renew it is open: it is \
                 over, and the row stays until the next grant"
                    .to_owned()
            }
            Some(held) => match held.expires {
                None => "expires_at is empty or infinite: it stays until somebody deletes it".to_owned(),
                Some(expires) if expires.latest <= now => {
                    "expires_at has passed by the server's clock, and a transaction that may yet renew it is open, or \
                     this user can't see that none is: it is not proven to be over"
                        .to_owned()
                }
                Some(expires) => format!("{} ms are left", expires.latest.since(now).as_millis()),
            },
        }
    }

    fn by_hand(&self, key: &[u8]) -> Vec<String> {
        tools::commands(&self.url, self.table(), key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(fsync: &str, commit: &str, standbys: &str, replicas: i64, idle: &str) -> Vec<Attribute> {
        let settings = Settings {
            fsync: fsync.to_owned(),
            commit: commit.to_owned(),
            standbys: standbys.to_owned(),
            idle_timeout: idle.to_owned(),
            replicas,
            ..Settings::default()
        };
        settings.attributes(false)
    }

    #[test]
    fn what_endangers_a_lease_is_said() {
        for (attributes, name, part) in [
            (settings("on", "on", "", 0, "1s"), "persistence", None),
            (
                settings("off", "on", "", 0, "1s"),
                "persistence",
                Some("lose or garble"),
            ),
            (
                settings("on", "off", "", 0, "1s"),
                "persistence",
                Some("the same token"),
            ),
            (settings("on", "on", "", 1, "1s"), "role", Some("failover")),
            (settings("on", "on", "one", 1, "1s"), "role", None),
            (
                settings("on", "on", "", 0, "0"),
                "time-outs",
                Some("keeps its row locked"),
            ),
            (settings("on", "on", "", 0, "1s"), "time-outs", None),
        ] {
            let found = attributes.iter().find(|it| it.name == name).expect(name);
            match part {
                Some(part) => assert!(found.concern.as_ref().is_some_and(|it| it.contains(part)), "{found:?}"),
                None => assert_eq!(found.concern, None, "{found:?}"),
            }
        }
    }
}
