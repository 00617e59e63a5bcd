//! Redis with Sentinels: who is the primary, after failovers of all kinds, and whom nobody believes.

mod redis_many;
mod redis_server;

use leaseproof_model::event::Outcome;
use leaseproof_store::{
    Hints, Lease, Observe, Refusal, StoreError, StoreUrl, open_administrator, open_inspector, open_lease, open_observer,
};
use redis_many::{Watched, wait_until};
use redis_server::{RedisServer, skip};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/sentinel";

/// So long is a primary silent before it is called down, where a test wants a failover.
const SOON: Duration = Duration::from_millis(500);

/// Where it wants none by itself.
const NEVER: Duration = Duration::from_secs(600);

/// The ensemble, or the end of the test.
macro_rules! watched {
    ($test:expr, $down_after:expr) => {
        watched!($test, $down_after, "")
    };
    ($test:expr, $down_after:expr, $password:expr) => {
        match Watched::start_with($down_after, $password) {
            Ok(watched) => watched,
            Err(why) => return skip($test, &why),
        }
    };
}

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

fn clients(watched: &Watched) -> (Box<dyn Lease>, Box<dyn Observe>) {
    let url = url(&watched.url());
    let owner = open_lease(&url, PATIENT).expect("lazy");
    (owner, open_observer(&url, PATIENT).expect("it opens"))
}

/// Waits until what the primary has is at the replica, too.
fn replicated(watched: &Watched, value: &str) {
    wait_until("it is replicated", || {
        watched
            .servers
            .iter()
            .all(|server| server.cli(&["GET", KEY]).starts_with(value))
    });
}

#[test]
fn a_failover_is_followed_and_seen() {
    let watched = watched!("a_failover_is_followed_and_seen", NEVER);
    let (mut owner, mut observer) = clients(&watched);
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let before = observer.read(KEY).expect("a reading").1;
    replicated(&watched, "a#");
    assert_eq!(
        watched.sentinel(0, &["SENTINEL", "FAILOVER", redis_many::SERVICE]),
        "OK"
    );
    watched.wait_for_primary(1);
    // The old primary is a replica by now, or soon; whichever it is, it is not asked any more.
    wait_until("the owner renews at the new primary", || {
        owner.renew(&grant, LONG, PATIENT).outcome == Outcome::Applied
    });
    let after = observer.read(KEY).expect("a reading").1;
    let (before_epoch, epoch) = (before.epoch.expect("known"), after.epoch.expect("known"));
    assert_ne!(before_epoch, epoch, "another server answers, and it shows");
    assert!(epoch.ends_with("/primary"), "{epoch}");
    assert_eq!(after.held.expect("it is held").holder, grant.holder);
    // The counter went along.
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    let next = owner.acquire(KEY, "b", LONG, PATIENT).value.expect("granted");
    assert_eq!(next.token.0, 2);
    assert!(watched.servers[1].cli(&["GET", KEY]).starts_with("b#"));
}

#[test]
fn a_killed_primary_is_replaced() {
    let mut watched = watched!("a_killed_primary_is_replaced", SOON);
    let (mut owner, mut observer) = clients(&watched);
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    replicated(&watched, "a#");
    watched.servers[0].kill();
    let done = owner.renew(&grant, LONG, BRIEF);
    assert_ne!(done.outcome, Outcome::Applied, "{done:?}");
    assert_eq!(done.refusal, None, "nobody refused: {done:?}");
    wait_until("the owner finds the new primary", || {
        owner.renew(&grant, LONG, PATIENT).outcome == Outcome::Applied
    });
    wait_until("so does the observer", || observer.read(KEY).is_ok());
    assert!(watched.servers[1].cli(&["GET", KEY]).starts_with("a#"));
    // A lab that comes now finds it, too.
    let mut lab = open_administrator(&url(&watched.url()), PATIENT).expect("it opens");
    assert!(!lab.is_replica().expect("an answer"));
    assert_eq!(lab.delete(KEY).outcome, Outcome::Applied);
}

#[test]
fn an_old_primary_that_woke_is_not_believed() {
    let watched = watched!("an_old_primary_that_woke_is_not_believed", SOON);
    let (mut owner, mut observer) = clients(&watched);
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let old = observer.read(KEY).expect("a reading").1;
    replicated(&watched, "a#");
    watched.servers[0].freeze();
    watched.wait_for_primary_without(0);
    // The new primary gives it to somebody else, meanwhile.
    let mut lab = open_administrator(&url(&watched.url()), PATIENT).expect("it opens");
    let thief = lab.steal(KEY, "b", LONG).value.expect("it is given");
    watched.servers[0].thaw();
    // For some seconds it still says that it is the primary, and takes what is sent to it.
    assert!(watched.servers[0].cli(&["ROLE"]).starts_with("master"));
    assert!(watched.servers[0].cli(&["GET", KEY]).starts_with("a#"));
    // These connections are as old as the grant, and nothing was lost on them.
    let (_, reading) = observer.read(KEY).expect("a reading");
    assert_ne!(reading.epoch, old.epoch);
    assert_eq!(reading.held.expect("it is held").holder, thief.holder);
    // Silent for so long, it is not even asked: the right one refuses.
    assert_eq!(owner.renew(&grant, LONG, PATIENT).refusal, Some(Refusal::NotTheHolder));
}

#[test]
fn an_answer_of_a_server_that_is_no_primary_any_more_does_not_count() {
    let test = "an_answer_of_a_server_that_is_no_primary_any_more_does_not_count";
    let watched = watched!(test, NEVER);
    let other = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return skip(test, &why),
    };
    let (mut owner, _) = clients(&watched);
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let done = std::thread::scope(|scope| {
        // It renews without a break: no pause makes it look who is the primary.
        let renews = scope.spawn(|| {
            for _ in 0..1_000_000 {
                let done = owner.renew(&grant, LONG, PATIENT);
                if done.outcome != Outcome::Applied {
                    return done;
                }
            }
            panic!("it was never told");
        });
        let port = other.port().to_string();
        for number in 0..3 {
            watched.sentinel(number, &["SENTINEL", "REMOVE", redis_many::SERVICE]);
            watched.sentinel(
                number,
                &["SENTINEL", "MONITOR", redis_many::SERVICE, "127.0.0.1", &port, "2"],
            );
        }
        renews.join().expect("it ends")
    });
    // The old one has applied it, as ever, and that is worth nothing.
    assert_eq!((done.outcome, done.refusal), (Outcome::Unknown, None), "{done:?}");
    assert_eq!(owner.renew(&grant, LONG, PATIENT).refusal, Some(Refusal::Gone));
}

#[test]
fn silent_sentinels_are_borne_as_long_as_one_speaks() {
    let mut watched = watched!("silent_sentinels_are_borne_as_long_as_one_speaks", NEVER);
    let (mut owner, mut observer) = clients(&watched);
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    watched.kill_sentinel(0);
    watched.kill_sentinel(1);
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    observer.read(KEY).expect("a reading");
    open_observer(&url(&watched.url()), PATIENT).expect("the third knows it");
    watched.kill_sentinel(2);
    // It may have been applied, and nobody says that it counts.
    let done = owner.renew(&grant, LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::Unknown, None), "{done:?}");
    let error = observer.read(KEY).expect_err("nobody knows").to_string();
    assert!(error.contains("no Sentinel says who the primary is"), "{error}");
}

#[test]
fn what_a_look_sends_is_in_its_list() {
    let watched = watched!("what_a_look_sends_is_in_its_list", NEVER);
    watched.servers[0].cli(&[
        "ACL",
        "SETUSER",
        "eye",
        "on",
        ">pw",
        "~canary/*",
        "-@all",
        "+@read",
        "+@transaction",
        "+time",
    ]);
    let text = watched.url().replace("redis+sentinel://", "redis+sentinel://eye:pw@");
    let error = open_observer(&url(&text), PATIENT)
        .err()
        .expect("neither ROLE nor INFO")
        .to_string();
    assert!(
        error.contains("allow it one of them") && !error.contains("pw@"),
        "{error}"
    );
    watched.servers[0].cli(&["ACL", "SETUSER", "eye", "+role", "+info"]);
    watched.servers[0].cli(&["CONFIG", "RESETSTAT"]);
    let mut observer = open_observer(&url(&text), PATIENT).expect("it opens");
    observer.read(KEY).expect("a reading");
    let stats = watched.servers[0].cli(&["INFO", "commandstats"]);
    for name in ["role", "multi", "exec", "pexpiretime"] {
        assert!(stats.contains(&format!("cmdstat_{name}:")), "{name}: {stats}");
    }
    // A whole look, through the same list.
    let mut inspector = open_inspector(&url(&watched.url()), PATIENT).expect("it opens");
    let form = inspector.form(KEY.as_bytes()).expect("a form");
    let view = inspector
        .look(KEY.as_bytes(), &form, &Hints::default())
        .expect("a look");
    assert_eq!(view.kind, "redis-sentinel");
    let server = view
        .attributes
        .iter()
        .find(|it| it.name == "server")
        .expect("it names the server");
    assert!(
        format!("{server:?}").contains(&watched.servers[0].port().to_string()),
        "{server:?}"
    );
    let by_hand = inspector.by_hand(KEY.as_bytes());
    assert!(
        by_hand[0].ends_with("SENTINEL GET-MASTER-ADDR-BY-NAME 'canary service'"),
        "{by_hand:?}"
    );
    let keys = ["canary/1", KEY];
    assert_eq!(observer.read_many(&keys).expect("an answer").len(), 2);
}

#[test]
fn bad_input_is_told() {
    let watched = watched!("bad_input_is_told", NEVER, "geheim");
    open_observer(&url(&watched.url()), PATIENT).expect("it opens");
    let plain = &watched.servers[0];
    let places = watched.url_of("x", "").replace("/x", "");
    let sentinel = places
        .split(',')
        .next()
        .expect("one")
        .replace("redis+sentinel", "redis");
    for (text, part) in [
        (watched.url_of("yours", "geheim"), "watch no service `yours`"),
        (
            watched.url_of(redis_many::SERVICE, ""),
            "add ?sentinel_password=PASSWORD",
        ),
        (
            watched.url_of(redis_many::SERVICE, "falsch"),
            "refuses sentinel_user or sentinel_password",
        ),
        (
            format!("redis+sentinel://127.0.0.1:{}/s", plain.port()),
            "is no Sentinel",
        ),
        (
            format!("redis+cluster://127.0.0.1:{}", plain.port()),
            "no Redis Cluster",
        ),
        ("redis+sentinel://127.0.0.1:1,127.0.0.1:2/s".to_owned(), "127.0.0.1:2"),
        (
            sentinel.replace("redis://", "redis://:geheim@"),
            "give redis+sentinel://",
        ),
    ] {
        let error = open_observer(&url(&text), PATIENT).err().expect(&text);
        let words = error.to_string();
        assert!(words.contains(part), "{text}: {words}");
        assert!(!words.contains("geheim") && !words.contains("falsch"), "{words}");
        if !matches!(error, StoreError::Unreachable { .. } | StoreError::Refused { .. }) {
            panic!("{error:?}");
        }
    }
}

/// The Sentinels name one that was a replica a moment ago, and is not ready: an error, and no belief.
#[test]
fn a_server_must_say_itself_that_it_is_the_primary() {
    let replica_of_nobody = match RedisServer::start_with(&["--replicaof", "127.0.0.1 1"]) {
        Ok(server) => server,
        Err(why) => return skip("a_server_must_say_itself_that_it_is_the_primary", &why),
    };
    let watched = watched!("a_server_must_say_itself_that_it_is_the_primary", NEVER);
    for number in 0..3 {
        watched.sentinel(number, &["SENTINEL", "REMOVE", redis_many::SERVICE]);
        let port = replica_of_nobody.port().to_string();
        watched.sentinel(
            number,
            &["SENTINEL", "MONITOR", redis_many::SERVICE, "127.0.0.1", &port, "2"],
        );
    }
    let error = open_observer(&url(&watched.url()), PATIENT)
        .err()
        .expect("a replica")
        .to_string();
    assert!(error.contains("does not say so itself"), "{error}");
}

#[test]
fn an_answer_without_end_is_cut() {
    for beginning in [&b"$2000000000\r\n"[..], b"*100000000\r\n$2000000000\r\n", b"+"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.read(&mut [0; 512]);
                let _ = stream.write_all(beginning);
                let much = vec![b'x'; 1 << 20];
                while stream.write_all(&much).is_ok() {}
            }
        });
        for text in [
            format!("redis+sentinel://127.0.0.1:{port}/s"),
            format!("redis://127.0.0.1:{port}"),
        ] {
            let error = open_observer(&url(&text), PATIENT)
                .err()
                .expect("no answer")
                .to_string();
            assert!(error.contains("more than 64 MiB"), "{text}: {error}");
        }
    }
}
