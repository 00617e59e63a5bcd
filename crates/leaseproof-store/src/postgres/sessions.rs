//! Which of the server's sessions may be the holder's, and which holds the row.

use crate::inspect::{Hints, shown_key};
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{Attribute, Connection, Connections, RowHolder};
use tokio_postgres::{Error, Row};

/// So many candidates are shown.
const SHOWN: usize = 12;

/// A session, as far as this user may see it.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pid: i32,
    user: String,
    name: String,
    address: Option<String>,
    state: String,
    age_s: Option<i64>,
    idle_s: Option<i64>,
    /// For how long its transaction has been open.
    open_s: Option<i64>,
    waits: String,
    /// The first word of its last statement.
    word: String,
    names_table: bool,
    /// Whether all but its user is hidden.
    hidden: bool,
    /// Whether its transaction may write to the table.
    writes: bool,
}

impl Session {
    pub(super) fn parse(row: &Row) -> Result<Self, Error> {
        let host: Option<String> = row.try_get("host")?;
        let port: Option<i32> = row.try_get("port")?;
        Ok(Self {
            pid: row.try_get("pid")?,
            user: row.try_get("usename")?,
            name: row.try_get("name")?,
            address: host.zip(port).map(|(host, port)| match host.contains(':') {
                true => format!("[{host}]:{port}"),
                false => format!("{host}:{port}"),
            }),
            state: row.try_get("state")?,
            age_s: row.try_get("age")?,
            idle_s: row.try_get("idle")?,
            open_s: row.try_get("open")?,
            waits: row.try_get("waits")?,
            word: row.try_get("word")?,
            names_table: row.try_get::<_, Option<bool>>("names_table")?.unwrap_or(false),
            hidden: row.try_get::<_, Option<bool>>("hidden")?.unwrap_or(false),
            writes: row.try_get("writes")?,
        })
    }

    /// What it does now.
    fn doing(&self) -> String {
        if self.hidden {
            return "what it does is hidden from this user".to_owned();
        }
        let mut text = self.state.clone();
        if let Some(open) = self.open_s {
            text.push_str(&format!(", its transaction open for {open} s"));
        }
        // A session that is idle waits for its client, always.
        if !self.waits.is_empty() && self.waits != "Client ClientRead" {
            text.push_str(&format!(", waiting for {}", self.waits));
        }
        text
    }

    fn place(&self) -> String {
        self.address
            .clone()
            .unwrap_or_else(|| format!("session {} of user {}", self.pid, shown_key(self.user.as_bytes())))
    }

    /// How likely it is the holder's, and why.
    fn reason(&self, hints: &Hints, holds_row: bool) -> Option<(u8, &'static str)> {
        if self.address.as_ref().is_some_and(|it| hints.addresses.contains(it)) {
            return Some((0, "it is a connection of the process that was named"));
        }
        if holds_row {
            return Some((1, "its open transaction holds the row"));
        }
        // Holder and incarnation: a client may give the first as its name.
        let holder = hints.holder.as_ref().map(|it| it.as_str());
        let owner = holder.map(|it| it.split('#').next().unwrap_or(it));
        if owner.is_some_and(|it| it != "value" && it == self.name) {
            return Some((2, "its application name is the holder's"));
        }
        if self.writes {
            return Some((3, "its open transaction may write to the table"));
        }
        let writing = ["WITH", "UPDATE", "INSERT"].contains(&self.word.as_str());
        (self.names_table && writing).then_some((4, "its last statement writes to the table, or may"))
    }
}

/// Picks the candidates; `row` are the sessions that hold the row.
pub(super) fn connections(sessions: &[Session], row: &[i32], hints: &Hints) -> Shown<Connections> {
    let mut found: Vec<(u8, Connection)> = Vec::new();
    for session in sessions {
        let Some((rank, why)) = session.reason(hints, row.contains(&session.pid)) else {
            continue;
        };
        let seconds = |it: Option<i64>| it.and_then(|it| u64::try_from(it).ok()).unwrap_or(0);
        let connection = Connection {
            address: session.place(),
            name: (!session.name.is_empty()).then(|| shown_key(session.name.as_bytes())),
            age_s: seconds(session.age_s),
            idle_s: seconds(session.idle_s),
            last_command: match session.hidden {
                true => "hidden".to_owned(),
                false => shown_key(session.word.to_lowercase().as_bytes()),
            },
            why: format!("{why}; {}", session.doing()),
            certain: rank == 0,
            holds: false,
        };
        found.push((rank, connection));
    }
    let hidden = sessions.iter().filter(|it| it.hidden).count();
    if found.is_empty() && hidden > 0 {
        return Shown::Withheld(format!(
            "{} hidden from this one: GRANT pg_read_all_stats TO it",
            match hidden {
                1 => "a session of another user is".to_owned(),
                _ => format!("{hidden} sessions of other users are"),
            }
        ));
    }
    // Among equals the one that spoke last.
    found.sort_by_key(|(rank, it)| (*rank, it.idle_s, std::cmp::Reverse(it.age_s)));
    let means = if found.first().is_some_and(|(rank, _)| *rank == 0) {
        "the first is the named process's, by its address"
    } else {
        "this store ties no session to a key: these may be the holder's, by lock, name or last statement"
    };
    Shown::Is(Connections {
        all: sessions.len() as u64,
        candidates: found.into_iter().take(SHOWN).map(|(_, it)| it).collect(),
        means: means.to_owned(),
    })
}

/// The session whose open transaction holds the row.
pub(super) fn row_holder(sessions: &[Session], row: &[i32]) -> Option<RowHolder> {
    let pid = row.first()?;
    let session = sessions.iter().find(|it| it.pid == *pid)?;
    let seconds = |it: Option<i64>| it.and_then(|it| u64::try_from(it).ok());
    Some(RowHolder {
        pid: i64::from(session.pid),
        user: shown_key(session.user.as_bytes()),
        address: session.place(),
        state: session.state.clone(),
        open_s: seconds(session.open_s),
        idle_s: seconds(session.idle_s),
    })
}

/// Whether an open transaction holds the row, and whose.
pub(super) fn row_lock(sessions: &[Session], row: &[i32]) -> Attribute {
    let Some(pid) = row.first() else {
        return Attribute::plain("row", "no open transaction holds it, as far as the server shows");
    };
    let text = match sessions.iter().find(|it| it.pid == *pid) {
        Some(it) => format!(
            "held by session {pid}, user {}, {}: {}",
            shown_key(it.user.as_bytes()),
            it.place(),
            it.doing()
        ),
        None => format!("held by session {pid}, which is in another database or has just ended"),
    };
    Attribute::plain("row", text)
        .worrying("until that transaction ends nobody else can renew, release or take the lease")
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseproof_model::name::HolderId;

    fn session(pid: i32, address: &str, name: &str, word: &str) -> Session {
        Session {
            pid,
            user: "app".to_owned(),
            name: name.to_owned(),
            address: Some(address.to_owned()),
            state: "idle".to_owned(),
            word: word.to_owned(),
            names_table: true,
            ..Session::default()
        }
    }

    #[test]
    fn the_likeliest_first() {
        let sessions = [
            session(1, "h:1", "", "UPDATE"),
            session(2, "h:2", "a1", "SELECT"),
            session(3, "h:3", "", "BEGIN"),
            session(4, "h:4", "", "SELECT"),
        ];
        let mut hints = Hints {
            holder: Some(HolderId::from("a1#0123")),
            addresses: Vec::new(),
        };
        let order = |hints: &Hints| {
            let shown = connections(&sessions, &[3], hints);
            let found = shown.get().expect("they are shown").clone();
            let order: Vec<String> = found.candidates.iter().map(|it| it.address.clone()).collect();
            (order.join(" "), found.candidates[0].certain)
        };
        assert_eq!(order(&hints), ("h:3 h:2 h:1".to_owned(), false));
        hints.addresses.push("h:4".to_owned());
        assert_eq!(order(&hints), ("h:4 h:3 h:2 h:1".to_owned(), true));
    }

    #[test]
    fn hidden_sessions_are_not_guessed_at() {
        let hidden = Session {
            hidden: true,
            address: None,
            word: "<INSUFFICIEN".to_owned(),
            ..session(7, "", "", "")
        };
        let shown = connections(std::slice::from_ref(&hidden), &[], &Hints::default());
        assert!(matches!(shown, Shown::Withheld(why) if why.contains("pg_read_all_stats")));
        // The lock's holder is named even so: its number is no secret.
        let lock = row_lock(&[hidden], &[7]);
        assert!(lock.value.get().is_some_and(|it| it.contains("session 7, user app")));
        assert!(lock.concern.is_some());
    }
}
