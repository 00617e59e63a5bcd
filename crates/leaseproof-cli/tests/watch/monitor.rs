//! The monitor by itself: what it says about its own pauses, about a store that goes away, and over HTTP.

use crate::redis_server::{self, RedisServer};
use crate::rig::{Rig, get, until};
use rustix::process::Signal;
use std::collections::BTreeSet;

#[test]
fn a_paused_monitor_says_so() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("a_paused_monitor_says_so", &why),
    };
    let rig = Rig::new(Some(&server.url()));
    let monitor = rig.monitor(&rig.plan(&["nobody"]));
    let blind = "leaseproof_watch_blind_seconds_total";
    until("a round", || {
        monitor.series("leaseproof_watch_last_round_timestamp_seconds")
    });
    let before = monitor.series(blind).expect("a number");
    monitor.signal(Signal::STOP);
    // Not a wait for it, but the pause itself.
    std::thread::sleep(std::time::Duration::from_secs(2));
    monitor.signal(Signal::CONT);
    until("it says so", || (monitor.series(blind)? >= before + 1.5).then_some(()));
    until("it tells", || {
        monitor.said("this monitor did not run for").then_some(())
    });
    let (status, lines) = monitor.end();
    // Nothing was seen to be wrong, and it was not looking all the time.
    assert_eq!(status.code(), Some(3), "{lines:#?}");
}

#[test]
fn a_store_that_goes_and_comes_back() {
    let mut server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("a_store_that_goes_and_comes_back", &why),
    };
    let rig = Rig::new(Some(&server.url()));
    let owner = rig.owner("sound", &[]);
    let monitor = rig.monitor(&rig.plan(&["sound"]));
    let up = "leaseproof_watch_store_up";
    until("the lease", || {
        (monitor.series("leaseproof_watch_held{lease=\"sound\"}")? == 1.0).then_some(())
    });
    server.kill();
    until("it is down", || (monitor.series(up)? == 0.0).then_some(()));
    server.start_again();
    until("it is up", || (monitor.series(up)? == 1.0).then_some(()));
    until("the new process", || {
        (monitor.series("leaseproof_watch_store_epoch_changes_total")? == 1.0).then_some(())
    });
    // The server came back empty: its counter began anew, which no fence survives.
    until("the token went back", || {
        (monitor.series("leaseproof_watch_fence_back_total{lease=\"sound\"}")? == 1.0).then_some(())
    });
    let (status, lines) = monitor.end();
    assert_eq!(status.code(), Some(1), "{lines:#?}");
    for needle in [
        "the store does not answer",
        "the store answers again",
        "FENCE WENT BACK",
    ] {
        assert!(lines.iter().any(|line| line.contains(needle)), "{needle}: {lines:#?}");
    }
    drop(owner);
}

#[test]
fn http_ok_and_bad() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("http_ok_and_bad", &why),
    };
    let rig = Rig::new(Some(&server.url()));
    let monitor = rig.monitor(&rig.plan(&["nobody"]));
    until("it is healthy", || {
        let (status, _) = get(&monitor.address, "/healthy")?;
        status.contains("200").then_some(())
    });
    let (status, _) = get(&monitor.address, "/nope").expect("it answers");
    assert!(status.contains("404"), "{status}");
    let page = monitor.page();
    assert!(page.contains("leaseproof_watch_held{lease=\"nobody\"} 0"), "{page}");
    assert!(!page.contains("127.0.0.1"), "no address is told: {page}");
    server.freeze();
    // The store is gone; the monitor's own door stays open.
    until("the store is down", || {
        (monitor.series("leaseproof_watch_store_up")? == 0.0).then_some(())
    });
    server.thaw();
}

/// What docs/watch.md says that it sends; a user that may do no more is enough.
#[test]
fn it_sends_only_what_is_on_the_list() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("it_sends_only_what_is_on_the_list", &why),
    };
    let allowed = ["info", "multi", "exec", "getrange", "pexpiretime", "time", "scan"];
    let mut rules: Vec<String> = ["ACL", "SETUSER", "eye", "on", ">geheim", "~*", "-@all"]
        .map(str::to_owned)
        .into();
    rules.extend(allowed.iter().map(|command| format!("+{command}")));
    server.cli(&rules.iter().map(String::as_str).collect::<Vec<_>>());
    server.cli(&["SET", "shards/1", "a#9f#1", "PX", "60000"]);
    server.cli(&["CONFIG", "RESETSTAT"]);
    let rig = Rig::new(Some(&format!("redis://eye:geheim@127.0.0.1:{}", server.port())));
    let plan = rig.plan(&["nobody"]);
    let text = std::fs::read_to_string(&plan).expect("the plan") + "[[watch.lease]]\nprefix = \"shards/\"\n";
    std::fs::write(&plan, text).expect("a file");
    let monitor = rig.monitor(&plan);
    until("some rounds", || {
        (monitor.series("leaseproof_watch_rounds_total")? >= 3.0).then_some(())
    });
    assert_eq!(monitor.series("leaseproof_watch_held{lease=\"shards/1\"}"), Some(1.0));
    let (_, lines) = monitor.end();
    assert!(!lines.join("\n").contains("geheim"), "{lines:#?}");
    let stats = server.cli(&["INFO", "commandstats"]);
    let sent: BTreeSet<&str> = stats
        .lines()
        .filter_map(|line| line.strip_prefix("cmdstat_")?.split(':').next())
        .filter(|command| !["config|resetstat", "auth"].contains(command))
        .collect();
    assert!(sent.iter().all(|command| allowed.contains(command)), "{sent:?}");
    assert_eq!(server.cli(&["DBSIZE"]), "1", "nothing is written");
}

/// A key that nobody ever held beside one that is: a look at one of two leases is no look at both.
#[test]
fn a_free_key_beside_a_held_one_bad() {
    let rig = Rig::new(None);
    let _owner = rig.owner("sound", &[]);
    let monitor = rig.monitor(&rig.plan(&["sound", "free"]));
    until("both sides of the one", || {
        let held = monitor.series("leaseproof_watch_held{lease=\"sound\"}")?;
        let known = monitor.series("leaseproof_watch_belief_known{lease=\"sound\"}")?;
        (held == 1.0 && known == 1.0).then_some(())
    });
    let (status, lines) = monitor.end();
    assert_eq!(status.code(), Some(3), "{lines:#?}");
    for says in [
        "cannot tell: no reading shows it held: free",
        "cannot tell: its owner never said what it believes: free",
    ] {
        assert!(lines.iter().any(|line| line == says), "{says}: {lines:#?}");
    }
}

/// The other side of it. A host too busy to look all the time may end with 3, for that reason alone.
#[test]
fn a_held_key_ok() {
    let rig = Rig::new(None);
    let _owner = rig.owner("sound", &[]);
    let monitor = rig.monitor(&rig.plan(&["sound"]));
    until("both sides", || {
        let held = monitor.series("leaseproof_watch_held{lease=\"sound\"}")?;
        let known = monitor.series("leaseproof_watch_belief_known{lease=\"sound\"}")?;
        (held == 1.0 && known == 1.0).then_some(())
    });
    let (status, lines) = monitor.end();
    let busy = |line: &&String| {
        ["did not run for", "is not known now", "were due"]
            .iter()
            .any(|it| line.contains(it))
    };
    let why = lines.iter().filter(|line| line.starts_with("cannot tell"));
    assert!(why.clone().all(|line| busy(&line)), "{lines:#?}");
    assert_eq!(status.code(), Some(if why.count() > 0 { 3 } else { 0 }), "{lines:#?}");
}

/// A lease that lapses while it is looked at, and whose owner stands still: who believed what is not known, and nobody
/// may call that nothing.
#[test]
fn a_lapse_bad() {
    let rig = Rig::new(None);
    let owner = rig.owner("sound", &[]);
    let plan = rig.plan(&["sound"]);
    // No word of the owner's: there is no belief that is unknown, either.
    let text = std::fs::read_to_string(&plan).expect("the plan");
    let silent: String = text
        .lines()
        .filter(|line| !line.starts_with("owner ="))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&plan, silent).expect("a file");
    let monitor = rig.monitor(&plan);
    until("the lease", || {
        (monitor.series("leaseproof_watch_held{lease=\"sound\"}")? == 1.0).then_some(())
    });
    owner.signal(Signal::STOP);
    until("it lapses", || {
        (monitor.series("leaseproof_watch_lapses_total{lease=\"sound\"}")? >= 1.0).then_some(())
    });
    owner.signal(Signal::CONT);
    until("it is held again", || {
        (monitor.series("leaseproof_watch_held{lease=\"sound\"}")? == 1.0).then_some(())
    });
    let (status, lines) = monitor.end();
    assert_eq!(status.code(), Some(3), "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.contains("jobs/sound: LAPSED: ")),
        "{lines:#?}"
    );
    let says =
        "cannot tell: its TTL ran out without a renewal, and nothing proves that its owner stopped in time: sound";
    assert!(lines.iter().any(|line| line == says), "{lines:#?}");
}

/// The TTL in force against the plan's: told once, on the page, and no finding by itself.
#[test]
fn a_ttl_that_is_not_the_plan_s_bad() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("a_ttl_that_is_not_the_plan_s_bad", &why),
    };
    let rig = Rig::new(Some(&server.url()));
    let _owner = rig.owner("sound", &[]);
    let plan = rig.plan(&["sound"]);
    let text = std::fs::read_to_string(&plan).expect("the plan");
    std::fs::write(&plan, text.replace("ttl = \"2s\"", "ttl = \"8s\"")).expect("a file");
    let monitor = rig.monitor(&plan);
    until("it is told", || {
        (monitor.series("leaseproof_watch_ttl_differs{lease=\"sound\"}")? == 1.0).then_some(())
    });
    until("in words", || monitor.said("jobs/sound: TTL DIFFERS: ").then_some(()));
    let (_, lines) = monitor.end();
    let told: Vec<_> = lines.iter().filter(|line| line.contains("TTL DIFFERS")).collect();
    let [told] = &told[..] else { panic!("{lines:#?}") };
    assert!(
        told.contains("and the plan says 8000 ms") && told.ends_with("(LP022)"),
        "{told}"
    );
}

#[test]
fn a_ttl_that_is_the_plan_s_ok() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("a_ttl_that_is_the_plan_s_ok", &why),
    };
    let rig = Rig::new(Some(&server.url()));
    let _owner = rig.owner("sound", &[]);
    let monitor = rig.monitor(&rig.plan(&["sound"]));
    until("renewals", || {
        (monitor.series("leaseproof_watch_renewals_total{lease=\"sound\"}")? >= 6.0).then_some(())
    });
    let differs = monitor.series("leaseproof_watch_ttl_differs{lease=\"sound\"}");
    assert_eq!(differs, Some(0.0));
    let (_, lines) = monitor.end();
    assert!(!lines.iter().any(|line| line.contains("TTL DIFFERS")), "{lines:#?}");
}

/// What a replica shows may be old, however well all looks in it.
#[test]
fn a_replica_bad() {
    let (primary, replica) = match (RedisServer::start(), RedisServer::start()) {
        (Ok(primary), Ok(replica)) => (primary, replica),
        (Err(why), _) | (_, Err(why)) => return redis_server::skip("a_replica_bad", &why),
    };
    let rig = Rig::new(Some(&primary.url()));
    let _owner = rig.owner("sound", &[]);
    replica.cli(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    let plan = rig.plan(&["sound"]);
    let text = std::fs::read_to_string(&plan).expect("the plan");
    std::fs::write(&plan, text.replace(&primary.url(), &replica.url())).expect("a file");
    let monitor = rig.monitor(&plan);
    until("the lease, by the replica", || {
        (monitor.series("leaseproof_watch_held{lease=\"sound\"}")? == 1.0).then_some(())
    });
    assert_eq!(monitor.series("leaseproof_watch_store_may_be_behind"), Some(1.0));
    let (status, lines) = monitor.end();
    assert_eq!(status.code(), Some(3), "{lines:#?}");
    let says = "cannot tell: a replica answered, which may be behind: give the URL of its primary";
    assert!(lines.iter().any(|line| line == says), "{lines:#?}");
}
