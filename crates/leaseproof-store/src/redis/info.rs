//! INFO and CONFIG, read for what they do to a lease.

use leaseproof_model::inspect::store_view::Attribute;
use std::collections::BTreeMap;

/// Why a setting has no value here, and what to do.
const NOT_SHOWN: &str = "not shown to this user: allow it CONFIG GET (ACL SETUSER NAME +config|get)";

/// The fields of INFO.
pub(crate) struct Info(BTreeMap<String, String>);

impl Info {
    /// Reads the text of INFO.
    pub(crate) fn parse(text: &str) -> Self {
        let fields = text.lines().filter_map(|line| {
            let (name, value) = line.trim_end().split_once(':')?;
            Some((name.to_owned(), value.to_owned()))
        });
        Self(fields.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// The database's keys, in words, and those of others where this one has none.
    pub(crate) fn namespace(&self, db: i64) -> String {
        let mut others = Vec::new();
        let mut own = "no keys".to_owned();
        for (name, value) in &self.0 {
            let Some(number) = name.strip_prefix("db").and_then(|number| number.parse::<i64>().ok()) else {
                continue;
            };
            let field = |name: &str| {
                value
                    .split(',')
                    .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
                    .unwrap_or("?")
            };
            if number == db {
                own = format!("keys {}, with an expiry {}", field("keys"), field("expires"));
            } else {
                others.push(format!("database {number} has {}", field("keys")));
            }
        }
        let mut text = format!("database {db}: {own}");
        if own == "no keys" && !others.is_empty() {
            text.push_str(&format!(" ({})", others.join(", ")));
        }
        text
    }

    /// What matters to a lease.
    pub(crate) fn attributes(&self, save: Option<&str>, fsync: Option<&str>) -> Vec<Attribute> {
        let mut all = vec![
            Attribute::plain("version", self.get("redis_version").unwrap_or("unknown")),
            self.up(),
            self.role(),
            self.persistence(save, fsync),
            self.eviction(),
        ];
        if self.number("loading") == Some(1) {
            let concern = "what it shows before it has loaded all is not what it had";
            all.push(Attribute::plain("state", "loading its data").worrying(concern));
        }
        all
    }

    fn up(&self) -> Attribute {
        let Some(seconds) = self.number("uptime_in_seconds") else {
            return Attribute::not_shown("up");
        };
        let up = Attribute::plain("up", format!("for {seconds} s"));
        if seconds < 60 {
            return up.worrying("it was started a moment ago: leases that it had before may be lost");
        }
        up
    }

    fn role(&self) -> Attribute {
        let role = self.get("role").unwrap_or("unknown");
        if role == "slave" {
            let primary = self.get("master_host").unwrap_or("an unknown host");
            let port = self.get("master_port").unwrap_or("?");
            let link = self.get("master_link_status").unwrap_or("unknown");
            return Attribute::plain("role", format!("replica of {primary}:{port}, link {link}"))
                .worrying("what it shows may be behind the truth: look at the primary");
        }
        let replicas = self.number("connected_slaves").unwrap_or(0);
        let plural = if replicas == 1 { "" } else { "s" };
        let attribute = Attribute::plain("role", format!("primary, {replicas} replica{plural}"));
        if role == "master" && replicas > 0 {
            return attribute
                .worrying("replication is asynchronous: a failover can lose a lease, or give it to two holders");
        }
        attribute
    }

    fn persistence(&self, save: Option<&str>, fsync: Option<&str>) -> Attribute {
        let Some(aof) = self.number("aof_enabled") else {
            return Attribute::not_shown("persistence");
        };
        let snapshots = match save {
            Some("") => "snapshots off".to_owned(),
            Some(save) => format!("snapshots at `{save}`"),
            None => "snapshots not shown to this user".to_owned(),
        };
        if aof == 1 {
            let policy = fsync.unwrap_or("not shown to this user");
            let attribute = Attribute::plain("persistence", format!("append-only file, fsync {policy}; {snapshots}"));
            return match fsync {
                Some("always") => attribute,
                Some(_) => {
                    attribute.worrying("a crash can lose the last writes: a grant, and the counter of its token")
                }
                None => attribute.worrying(format!("what a crash loses depends on fsync, {NOT_SHOWN}")),
            };
        }
        let attribute = Attribute::plain("persistence", format!("append-only file off; {snapshots}"));
        match save {
            Some("") => attribute.worrying("a restart loses every lease and every token counter: tokens begin again"),
            Some(_) => attribute.worrying("a restart goes back to the last snapshot: leases and token counters, too"),
            None => attribute.worrying(format!(
                "a restart loses what is in no snapshot, and whether there are any is {NOT_SHOWN}"
            )),
        }
    }

    fn eviction(&self) -> Attribute {
        let (Some(bound), Some(policy)) = (self.number("maxmemory"), self.get("maxmemory_policy")) else {
            return Attribute::not_shown("eviction");
        };
        let evicted = self.number("evicted_keys").unwrap_or(0);
        if bound == 0 {
            return Attribute::plain("eviction", format!("none: no bound on memory ({policy})"));
        }
        let used = self.number("used_memory").unwrap_or(0);
        let text = format!("{policy}, {used} of {bound} bytes used, {evicted} keys evicted so far");
        let attribute = Attribute::plain("eviction", text);
        match policy {
            "noeviction" => attribute.worrying("when memory is full, grants and renewals are refused"),
            _ => attribute.worrying("when memory is full, it may drop a lease before its TTL is over"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concern(info: &str, save: Option<&str>, name: &str) -> Option<String> {
        let attributes = Info::parse(info).attributes(save, Some("everysec"));
        let found = attributes.into_iter().find(|it| it.name == name);
        found.expect(name).concern
    }

    #[test]
    fn what_endangers_a_lease_is_said() {
        for (info, save, name, part) in [
            (
                "role:slave\r\nmaster_host:h\r\n",
                None,
                "role",
                Some("behind the truth"),
            ),
            ("role:master\r\nconnected_slaves:2\r\n", None, "role", Some("failover")),
            ("role:master\r\nconnected_slaves:0\r\n", None, "role", None),
            ("aof_enabled:0\r\n", Some(""), "persistence", Some("every lease")),
            ("aof_enabled:0\r\n", Some("60 1"), "persistence", Some("last snapshot")),
            ("aof_enabled:1\r\n", None, "persistence", Some("last writes")),
            ("aof_enabled:0\r\n", None, "persistence", Some("+config|get")),
            (
                "maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n",
                None,
                "eviction",
                None,
            ),
            (
                "maxmemory:1\r\nmaxmemory_policy:volatile-ttl\r\n",
                None,
                "eviction",
                Some("drop a lease"),
            ),
            ("uptime_in_seconds:5\r\n", None, "up", Some("a moment ago")),
        ] {
            let said = concern(info, save, name);
            match part {
                Some(part) => assert!(
                    said.as_deref().is_some_and(|said| said.contains(part)),
                    "{info}: {said:?}"
                ),
                None => assert_eq!(said, None, "{info}"),
            }
        }
    }

    #[test]
    fn what_was_not_shown_is_no_fact() {
        for info in ["aof_enabled:0\r\n", "aof_enabled:1\r\n"] {
            let attributes = Info::parse(info).attributes(None, None);
            let found = attributes.into_iter().find(|it| it.name == "persistence");
            let said = found.and_then(|it| it.concern).expect("a concern");
            assert!(said.contains("not shown to this user"), "{info}: {said}");
            assert!(
                !said.contains("goes back to") && !said.contains("the last writes"),
                "{info}: {said}"
            );
        }
    }

    #[test]
    fn another_database_is_named_where_this_one_is_empty() {
        let info = Info::parse("db3:keys=7,expires=1,avg_ttl=0\r\n");
        assert_eq!(info.namespace(0), "database 0: no keys (database 3 has 7)");
        assert_eq!(info.namespace(3), "database 3: keys 7, with an expiry 1");
    }
}
