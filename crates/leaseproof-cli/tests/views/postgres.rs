//! A look at PostgreSQL.

use crate::look::{KEY, look, look_for, only_listed, room, says, worries};
use crate::owner::Owner;
use crate::postgres_server::{PostgresServer, skip};
use crate::tap::Tap;
use crate::wire::postgres;
use leaseproof_store::{StoreUrl, open_administrator};
use std::io::BufRead as _;
use std::time::Duration;

fn prepared(settings: &[&str]) -> Result<PostgresServer, String> {
    let server = PostgresServer::start_with(settings)?;
    let url: StoreUrl = server.url().parse().expect("a URL");
    let mut store = open_administrator(&url, Duration::from_secs(10)).map_err(|error| error.to_string())?;
    store.prepare().map_err(|error| error.to_string())?;
    Ok(server)
}

fn listed(tap: &Tap) {
    only_listed("postgres", tap, postgres, |listed, sent| {
        listed.replace("{table}", "\"leaseproof_lease\"") == sent
    });
}

#[test]
fn postgres_as_a_user_who_may_only_read() {
    let server = match prepared(&[]) {
        Ok(server) => server,
        Err(why) => return skip("postgres_as_a_user_who_may_only_read", &why),
    };
    server.psql("CREATE ROLE reader LOGIN PASSWORD 'geheim'; GRANT SELECT ON leaseproof_lease TO reader");
    let room = room();
    let _owner = Owner::start(&room, &server.url(), KEY, 30_000, 300);
    server.psql(
        "INSERT INTO leaseproof_lease (key, holder, token) VALUES ('forever', 'geheim', 7), \
         ('long', repeat('geheim', 1000), 8), ('over', 'geheim', 9), ('free', NULL, 3); \
         UPDATE leaseproof_lease SET expires_at = now() - interval '1 hour' WHERE key = 'over'",
    );
    for (key, part) in [
        (KEY, "renewals"),
        ("forever", "expires_at is empty"),
        ("over", "it is over, and the row stays"),
        ("free", "nobody holds it"),
        ("absent", "no row, or a row without a holder"),
        ("long", "a holder of 6000 bytes"),
    ] {
        let tap = Tap::start(server.port());
        let url = format!("postgres://reader:geheim@127.0.0.1:{}/postgres", tap.port());
        let ran = look(&room, &url, key);
        assert!(matches!(ran.code, Some(0 | 1 | 3)), "{key}: {ran:#?}");
        assert!(ran.stdout.contains(part), "{key}: {part} is missing in {}", ran.stdout);
        listed(&tap);
        let json = ran.json();
        says(&json, "version", "15.");
        says(&json, "role", "primary, 0 standbys");
        // Other users' sessions are hidden from it, and that is said.
        let why = json["store"]["connections"]["withheld"]
            .as_str()
            .expect("it is withheld");
        assert!(why.contains("pg_read_all_stats"), "{why}");
    }
    server.psql("GRANT pg_read_all_stats TO reader");
    let url = format!("postgres://reader:geheim@127.0.0.1:{}/postgres", server.port());
    let json = look(&room, &url, KEY).json();
    let candidate = &json["store"]["connections"]["is"]["candidates"][0];
    assert_eq!(candidate["last_command"], "with", "{json:#}");
}

#[test]
fn postgres_shows_what_matters_to_a_lease() {
    let server = match prepared(&["synchronous_commit=off"]) {
        Ok(server) => server,
        Err(why) => return skip("postgres_shows_what_matters_to_a_lease", &why),
    };
    let room = room();
    let owner = Owner::start(&room, &server.url(), KEY, 30_000, 500);
    let pid = owner.pid().to_string();
    let json = look_for(&room, &server.url(), KEY, "2s").json();
    // Nothing is flushed in a test, which is the greater danger.
    worries(&json, "persistence", "lose or garble");
    worries(&json, "time-outs", "keeps its row locked");
    says(&json, "row", "no open transaction holds it");
    let seen = json["lease"]["renewals"]["is"]["seen"].as_array().expect("renewals");
    assert!(seen.len() >= 2, "{json:#}");
    assert_ne!(json["first"]["side"], "store", "{json:#}");
    // The owner's own session, by the near end of its connection.
    let ran = room.run(&[
        "inspect",
        &server.url(),
        KEY,
        "--json",
        "--quiet",
        "--for",
        "300ms",
        "--owner-pid",
        &pid,
    ]);
    let candidate = ran.json()["store"]["connections"]["is"]["candidates"][0].clone();
    assert_eq!(candidate["certain"], true, "{ran:#?}");
    drop(owner);
    // A client that stands still inside its transaction.
    let statements =
        format!("BEGIN;\nSELECT 'locked' FROM leaseproof_lease WHERE key = '{KEY}' FOR UPDATE;\n\\! sleep 600\n");
    let mut holder = server.session(&[], &statements);
    let mut line = String::new();
    let mut lines = std::io::BufReader::new(holder.stdout.take().expect("its output"));
    while !line.contains("locked") {
        assert_ne!(lines.read_line(&mut line).expect("its output"), 0, "it ended");
    }
    let json = look(&room, &server.url(), KEY).json();
    let _ = holder.kill();
    let _ = holder.wait();
    says(&json, "row", "held by session");
    says(&json, "row", "idle in transaction");
    worries(&json, "row", "nobody else can renew");
    assert_eq!(json["first"]["side"], "store", "{json:#}");
    let first = json["first"]["why"][0].as_str().expect("a reason");
    for part in [
        "session ",
        "of user ",
        "is idle in transaction for ",
        "its transaction, open for ",
    ] {
        assert!(first.contains(part), "{part} is missing in {first}");
    }
    assert_eq!(json["store"]["row_held_by"]["state"], "idle in transaction");
    let why = json["store"]["connections"]["is"]["candidates"][0]["why"]
        .as_str()
        .expect("a reason");
    assert!(why.contains("its open transaction holds the row"), "{why}");
}

#[test]
fn a_standby_may_be_behind() {
    let primary = match prepared(&[]) {
        Ok(server) => server,
        Err(why) => return skip("a_standby_may_be_behind", &why),
    };
    let standby = match primary.start_standby() {
        Ok(server) => server,
        Err(why) => return skip("a_standby_may_be_behind", &why),
    };
    let room = room();
    let json = look(&room, &standby.url(), KEY).json();
    says(&json, "role", "standby of ");
    worries(&json, "role", "behind the truth");
    assert_eq!(json["store"]["may_be_behind"], true);
    primary.wait_until("SELECT count(*) = 1 FROM pg_stat_replication");
    let json = look(&room, &primary.url(), KEY).json();
    worries(&json, "role", "replication is asynchronous");
}
