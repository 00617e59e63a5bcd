//! `watch` with a plan, a store or an address that is wrong: refused before anything starts.

use crate::redis_server::{self, RedisServer};
use crate::rig::Room;
use std::net::TcpListener;

const OK: &str = "[[watch.lease]]\nkey = \"jobs/daily\"\n";

#[test]
fn plan_bad() {
    for (plan, needles) in [
        (
            "",
            &[
                "plan.toml: watch.lease: the plan names no lease to watch",
                "[[watch.lease]]",
            ][..],
        ),
        (
            "[watch]\nintervall = \"1s\"",
            &["plan.toml:2:1: unknown field `intervall`", "did you mean `interval`?"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nownr = {}",
            &["plan.toml:3:1: unknown field `ownr`", "did you mean `owner`?"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nowner = { logg = \"x\" }",
            &["plan.toml:3:11: unknown field `logg`", "did you mean `log`?"],
        ),
        (
            "[watch]\ninterval = 1\n",
            &["plan.toml:2:12:", "a duration is a text with a unit"],
        ),
        (
            "[watch]\ninterval = \"5ms\"\n",
            &["plan.toml:2:12: interval: 5ms is not between"],
        ),
        (
            "[watch]\nlisten = \"9774\"\n",
            &["plan.toml:2:10: watch.listen: `9774` is no address and port"],
        ),
        (
            "[watch]\nlabels = 100000\n",
            &["plan.toml:2:10: watch.labels: 100000 is not between 0 and 10000"],
        ),
        (
            "[watch]\nalert_share = 7.5\n",
            &["plan.toml:2:15: watch.alert_share: 7.5 is not between"],
        ),
        (
            "[watch]\nalert_share = \"a\"\n",
            &["plan.toml:2:15: alert_share: write a number without quotes"],
        ),
        (
            "[watch]\nworst_window = \"1s\"\n",
            &["plan.toml:2:16: worst_window: 1s is shorter"],
        ),
        (
            "[watch]\nrescan = \"1ms\"\n",
            &["plan.toml:2:10: rescan: 1ms would list keys all the time"],
        ),
        (
            "[[watch.lease]]\nmax = 3",
            &["plan.toml:1:1: watch.lease: it has neither a key nor a prefix"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nprefix = \"b\"",
            &["plan.toml:3:10: watch.lease: it has a key and a prefix"],
        ),
        (
            "[[watch.lease]]\nkey = \"\"",
            &["plan.toml:2:7: watch.lease.key: it is empty"],
        ),
        (
            "[[watch.lease]]\nkey = \"other\"",
            &["plan.toml:2:7: watch.lease.name: `other` can't be a label"],
        ),
        (
            "[[watch.lease]]\nprefix = \"\"",
            &["plan.toml:2:10: watch.lease.prefix: it is empty"],
        ),
        (
            "[[watch.lease]]\nprefix = \"a/\"\nmax = 1000000",
            &["plan.toml:3:7: watch.lease.max: 1000000 is not between 1 and 100000"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\n[[watch.lease]]\nkey = \"a\"",
            &["plan.toml:4:7: watch.lease: `a` labels two entries: give one a name of its own"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nowner = { name = \"me\" }",
            &["plan.toml:3:9: watch.lease.owner: name exactly one source: log, metrics, json or export"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nowner = { log = \"x\", json = \"http://h/\" }",
            &["plan.toml:3:9: watch.lease.owner: name exactly one source"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nowner = { metrics = \"127.0.0.1:9100\", holds = \"x\" }",
            &["plan.toml:3:21: watch.lease.owner: it is no URL of an endpoint"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nowner = { metrics = \"http://127.0.0.1:9100/\" }",
            &["plan.toml:3:9: watch.lease.owner: holds is missing"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nowner = { metrics = \"http://127.0.0.1:9100/\", holds = \"x{\" }",
            &["plan.toml:3:55: watch.lease.owner: `x{` is no series"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nowner = { json = \"http://127.0.0.1:9100/\", holds = \"held\" }",
            &["watch.lease.owner: `held` is no JSON pointer"],
        ),
        (
            "[[watch.lease]]\nkey = \"a\"\nowner = { log = \"x\", holds = \"y\" }",
            &["watch.lease.owner: holds and token are for metrics and json"],
        ),
        (
            "[owner.lines]\nlost = \"(\"\n[[watch.lease]]\nkey = \"a\"",
            &["plan.toml:2:8: owner.lines.lost: the regular expression `(` is wrong"],
        ),
        (
            "[budget]\nheartbeat = \"2s\"\n[[watch.lease]]\nkey = \"a\"",
            &["plan.toml:2:13: LP019 budget-invalid"],
        ),
        (
            "[store]\nurl = \"redis://127.0.0.1:1\"\nalso = [\"redis://x:geheim@h\"]\n[[watch.lease]]\nkey = \"a\"",
            &["plan.toml:3:9: watch looks at one store: make a plan for each, and give each its --listen"],
        ),
        (
            "[store]\nstart = [\"redis\"]\n[[watch.lease]]\nkey = \"a\"",
            &["plan.toml:2:10: watch looks at one store"],
        ),
        (
            "[store]\nurl = \"mysql://x:geheim@h\"\n[[watch.lease]]\nkey = \"a\"",
            &["mysql is no store"],
        ),
    ] {
        let room = Room::new();
        room.write("plan.toml", plan);
        let ran = room.run(&["watch", "plan.toml"]);
        ran.refused(needles);
        assert!(!ran.stderr.contains("geheim"), "a password is shown: {ran:#?}");
    }
}

/// `--store` names the one: what else the plan has is no question then.
#[test]
fn one_store_of_several_ok() {
    let room = Room::new();
    room.write(
        "plan.toml",
        &format!("[store]\nalso = [\"redis://h\"]\nstart = [\"redis\"]\n{OK}"),
    );
    room.run(&["watch", "plan.toml", "--store", "sqlite:no/such.db"])
        .refused(&["no store answers at sqlite:no/such.db"]);
}

/// `verify` takes the table, and refuses what is unknown in it.
#[test]
fn verify_knows_the_table() {
    let room = Room::new();
    room.write("leaseproof.toml", &format!("[watch]\ninterval = \"2s\"\n{OK}"));
    room.quick_proven(&[]);
    room.write("leaseproof.toml", "[watch]\ninterva = \"2s\"\n");
    room.run(&["verify"])
        .refused(&["leaseproof.toml:2:1: unknown field `interva`"]);
}

#[test]
fn store_bad() {
    let room = Room::new();
    room.write("plan.toml", OK);
    room.run(&["watch", "plan.toml"])
        .refused(&["no store answers at sqlite:.leaseproof/locks.db"]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let url = format!("redis://:geheim@127.0.0.1:{port}");
    let ran = room.run(&["watch", "plan.toml", "--store", &url]);
    ran.refused(&["no store answers at redis://"]);
    assert!(!ran.stderr.contains("geheim"), "{ran:#?}");
}

#[test]
fn call_bad() {
    let room = Room::new();
    room.write("plan.toml", OK);
    room.run(&["watch", "nope.toml"])
        .refused(&["the plan nope.toml can't be read"]);
    room.run(&["watch", "plan.toml", "--for", "7"])
        .refused(&["--for: `7` has no unit"]);
    #[cfg(not(feature = "tui"))]
    room.run(&["watch", "plan.toml", "--tui"])
        .refused(&["this build has no terminal view"]);
    room.run(&[
        "verify",
        "--metrics",
        "no/such/file.prom",
        "--scenario",
        "clean-release",
    ])
    .refused(&["the metrics file no/such/file.prom can't be written", "--metrics FILE"]);
}

#[test]
fn address_taken_bad() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("address_taken_bad", &why),
    };
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let room = Room::new();
    room.write("plan.toml", OK);
    room.run(&["watch", "plan.toml", "--store", &server.url(), "--listen", &address])
        .refused(&[&format!("metrics can't be served at {address}"), "--listen"]);
}
