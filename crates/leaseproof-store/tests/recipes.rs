//! `?recipe=lock`: what an observer shows while the store's own tools hold the lock, and what the lab may do.

#![cfg(all(feature = "etcd", feature = "consul", feature = "zookeeper"))]

mod consul_server;
mod etcd_server;
mod lock_tool;
mod redis_server;
mod zookeeper_server;

use consul_server::ConsulServer;
use etcd_server::EtcdServer;
use leaseproof_model::event::{Held, Outcome};
use leaseproof_model::inspect::store_view::Form;
use leaseproof_model::name::HolderId;
use leaseproof_store::{Observe, Refusal, StoreUrl, open_administrator, open_inspector, open_lease, open_observer};
use lock_tool::LockTool;
use redis_server::skip;
use std::process::Command;
use std::time::Duration;
use zookeeper_server::ZooKeeperServer;

const PATIENT: Duration = Duration::from_secs(20);
const TTL: Duration = Duration::from_secs(30);
const LOCK: &str = "canary/locks/job";

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

/// Tries until it is so; a store that never gets there fails the test.
fn until<T>(mut is: impl FnMut() -> Option<T>) -> T {
    for _ in 0..12_000 {
        if let Some(it) = is() {
            return it;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it never came to it");
}

fn held(observer: &mut dyn Observe) -> Option<Held> {
    observer.read(LOCK).expect("a reading").1.held
}

/// Waits for a holder that is not this one.
fn another(observer: &mut dyn Observe, than: Option<&HolderId>) -> Held {
    until(|| held(observer).filter(|held| Some(&held.holder) != than))
}

/// What a look at a key in one layout says of the other.
fn elsewhere(url: &StoreUrl, key: &str) -> Option<String> {
    let mut inspector = open_inspector(url, PATIENT).expect("it opens");
    let form = inspector.form(key.as_bytes()).expect("it answers");
    assert!(form.form == Form::Absent || form.elsewhere.is_none(), "{form:?}");
    form.elsewhere
}

/// That a look says this of the other layout.
#[track_caller]
fn hints(url: &StoreUrl, key: &str, part: &str) {
    let says = elsewhere(url, key).unwrap_or_default();
    assert!(says.contains(part), "{key}: {says}");
}

fn program(variable: &str, name: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| name.to_owned())
}

fn etcdctl(server: &EtcdServer) -> LockTool {
    let endpoint = format!("http://127.0.0.1:{}", server.port());
    let work = "echo $ETCD_LOCK_REV; exec sleep 300";
    LockTool::start(
        &program("LEASEPROOF_ETCDCTL", "etcdctl"),
        &[
            "--endpoints",
            &endpoint,
            "lock",
            "--ttl",
            "3",
            "--",
            LOCK,
            "sh",
            "-c",
            work,
        ],
        &[("ETCDCTL_API", "3")],
    )
    .expect("the server's own tool is there")
}

/// How many keys the queue has.
fn queued(server: &EtcdServer) -> usize {
    let keys = server.cli(&["get", "--prefix", "--keys-only", &format!("{LOCK}/")]);
    keys.lines().filter(|line| !line.is_empty()).count()
}

fn created(server: &EtcdServer, holder: &HolderId) -> String {
    let (lease, revision) = holder.as_str().split_once('#').expect("both");
    let key = format!("{LOCK}/{}", lease.strip_prefix("lease-").expect("a lease"));
    assert_eq!(server.field(&key, "CreateRevision").as_deref(), Some(revision));
    revision.to_owned()
}

#[test]
fn etcdctl_lock_is_a_queue_whose_eldest_holds() {
    let server = match EtcdServer::start() {
        Ok(server) => server,
        Err(why) => return skip("etcdctl_lock_is_a_queue_whose_eldest_holds", &why),
    };
    let (plain, url) = (url(&server.url()), url(&format!("{}?recipe=lock", server.url())));
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut lab = open_administrator(&url, PATIENT).expect("it opens");
    let mut ours = open_lease(&url, PATIENT).expect("lazy");
    assert_eq!(held(&mut *observer), None);
    assert_eq!(lab.delete(LOCK).refusal, Some(Refusal::Gone));
    assert_eq!((elsewhere(&plain, LOCK), elsewhere(&url, LOCK)), (None, None));
    server.cli(&["put", "canary/plain", "x"]);
    hints(&url, "canary/plain", "look again without ?recipe=lock");
    server.cli(&["del", "canary/plain"]);

    let mut first = etcdctl(&server);
    let revision = first.line();
    hints(
        &plain,
        LOCK,
        "1 key lies below it, as a lock tool's queue has them: look again with ?recipe=lock",
    );
    // What is above the queue is none.
    assert_eq!(elsewhere(&plain, "canary"), None);
    let holds = held(&mut *observer).expect("held");
    assert_eq!(created(&server, &holds.holder), revision, "it did not wait");
    assert_eq!((holds.token, holds.bound), (None, None));
    let expires = holds.expires.expect("a lease has a TTL");
    let read = observer.read(LOCK).expect("a reading").0;
    assert!(expires.earliest.since(read.latest) <= Duration::from_secs(3));
    assert!(expires.latest > read.earliest);

    // Who waits is no holder.
    let mut second = etcdctl(&server);
    until(|| (queued(&server) == 2).then_some(()));
    assert_eq!(held(&mut *observer).map(|it| it.holder), Some(holds.holder.clone()));
    assert_eq!(ours.acquire(LOCK, "a", TTL, PATIENT).refusal, Some(Refusal::Held));
    let stolen = lab.steal(LOCK, "lab", TTL);
    assert_eq!((stolen.outcome, stolen.refusal), (Outcome::NotApplied, None));
    assert!(stolen.reason.expect("a reason").contains("others wait"));

    // The next in the queue holds when the holder's lease is over.
    first.kill();
    let next = another(&mut *observer, Some(&holds.holder));
    let handed: u64 = second.line().parse().expect("a revision");
    let of_its_key: u64 = created(&server, &next.holder).parse().expect("a revision");
    assert!(
        handed > of_its_key,
        "what it is told is no number of its key, since it waited"
    );

    // Removed and stolen.
    assert_eq!(lab.delete(LOCK).outcome, Outcome::Applied);
    assert_eq!(held(&mut *observer), None);
    second.kill();
    let mut third = etcdctl(&server);
    third.line();
    let grant = lab.steal(LOCK, "lab", TTL).value.expect("nobody waits");
    assert_eq!(another(&mut *observer, None).holder, grant.holder);
    third.kill();
    assert_eq!(lab.clean(&[LOCK.to_owned()]).expect("it answers"), 1);
    assert_eq!((held(&mut *observer), queued(&server)), (None, 0));

    // Ours is one of the queue.
    let grant = ours.acquire(LOCK, "a", TTL, PATIENT).value.expect("it is free");
    assert_eq!(held(&mut *observer).map(|it| it.holder), Some(grant.holder.clone()));
    let mut waiter = etcdctl(&server);
    until(|| (queued(&server) == 2).then_some(()));
    assert_eq!(ours.renew(&grant, TTL, PATIENT).outcome, Outcome::Applied);
    assert_eq!(ours.release(&grant, PATIENT).outcome, Outcome::Applied);
    waiter.line();
    assert_ne!(held(&mut *observer).map(|it| it.holder), Some(grant.holder.clone()));
    assert_eq!(ours.renew(&grant, TTL, PATIENT).refusal, Some(Refusal::NotTheHolder));
    assert_eq!(ours.release(&grant, PATIENT).refusal, Some(Refusal::NotTheHolder));
    waiter.kill();
    lab.clean(&[LOCK.to_owned()]).expect("it answers");
    assert_eq!(lab.foreign_keys("canary/").expect("it answers"), 0);
}

fn consul_lock(server: &ConsulServer, more: &[&str]) -> LockTool {
    let address = format!("-http-addr=127.0.0.1:{}", server.port());
    let mut arguments = vec!["lock", &address];
    arguments.extend(more);
    arguments.extend([LOCK, "echo got; exec sleep 300"]);
    // A leader may be elected before its own node is registered, and until then there are no sessions.
    until(|| {
        server
            .http("GET", "/v1/catalog/nodes", "")
            .contains("\"Node\"")
            .then_some(())
    });
    LockTool::start(&program("LEASEPROOF_CONSUL", "consul"), &arguments, &[]).expect("the agent's own tool is there")
}

#[test]
fn consul_lock_is_a_key_below_the_prefix() {
    let server = match ConsulServer::start() {
        Ok(server) => server,
        Err(why) => return skip("consul_lock_is_a_key_below_the_prefix", &why),
    };
    let (reference, url) = (url(&server.url()), url(&format!("{}&recipe=lock", server.url())));
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut lab = open_administrator(&url, PATIENT).expect("it opens");
    let mut ours = open_lease(&url, PATIENT).expect("lazy");
    assert_eq!(held(&mut *observer), None);
    assert_eq!((elsewhere(&reference, LOCK), elsewhere(&url, LOCK)), (None, None));

    let mut first = consul_lock(&server, &[]);
    assert_eq!(first.line(), "got");
    let slash = format!("/{LOCK}");
    hints(
        &reference,
        LOCK,
        "as `consul lock` has it: look again with ?recipe=lock",
    );
    hints(&reference, &slash, &format!("look at {LOCK} with ?recipe=lock"));
    hints(&url, &slash, "without the slash at its front");
    let whole = format!("{LOCK}/.lock");
    hints(&url, &whole, "look again without ?recipe=lock");
    hints(&reference, &format!("/{whole}"), "without the slash at its front");
    let holds = held(&mut *observer).expect("held");
    let plain = server.plain(&format!("{LOCK}/.lock")).expect("the key");
    let session = plain.session.expect("a session");
    assert!(holds.holder.as_str().starts_with(&format!("session-{session}#")));
    // What the tool asks for, whatever the least may be.
    assert_eq!((holds.token, holds.bound), (None, Some(Duration::from_secs(15))));
    assert_eq!(ours.acquire(LOCK, "a", TTL, PATIENT).refusal, Some(Refusal::Held));

    // Removed: the one that waits has it next.
    let mut second = consul_lock(&server, &[]);
    assert_eq!(lab.delete(LOCK).outcome, Outcome::Applied);
    assert_eq!(second.line(), "got");
    let next = another(&mut *observer, Some(&holds.holder));
    assert!(next.holder.as_str().starts_with("session-"));
    first.kill();
    let grant = lab.steal(LOCK, "lab", TTL).value.expect("it is taken");
    assert_eq!(held(&mut *observer).map(|it| it.holder), Some(grant.holder.clone()));
    second.kill();
    assert_eq!(lab.clean(&[LOCK.to_owned()]).expect("it answers"), 1);

    // Ours is one that the tool takes for a lock.
    let grant = ours.acquire(LOCK, "a", TTL, PATIENT).value.expect("it is free");
    let mut waiter = consul_lock(&server, &[]);
    assert_eq!(ours.renew(&grant, TTL, PATIENT).outcome, Outcome::Applied);
    assert_eq!(ours.release(&grant, PATIENT).outcome, Outcome::Applied);
    assert_eq!(waiter.line(), "got");
    assert_eq!(ours.renew(&grant, TTL, PATIENT).refusal, Some(Refusal::NotTheHolder));
    waiter.kill();
    assert_eq!(lab.clean(&[LOCK.to_owned()]).expect("it answers"), 1);
    assert_eq!(lab.foreign_keys("canary/").expect("it answers"), 0);
}

#[test]
fn a_semaphore_is_no_lock() {
    let server = match ConsulServer::start() {
        Ok(server) => server,
        Err(why) => return skip("a_semaphore_is_no_lock", &why),
    };
    let url = url(&format!("{}&recipe=lock", server.url()));
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut holder = consul_lock(&server, &["-n=2"]);
    assert_eq!(holder.line(), "got");
    let error = observer.read(LOCK).expect_err("it has several holders").to_string();
    assert!(error.contains("semaphore"), "{error}");
}

/// Holds or waits with kazoo, whose session has this time-out; `identifier` is what its node says.
fn kazoo(server: &ZooKeeperServer, identifier: &str) -> LockTool {
    let script = "import sys, time, kazoo.client\n\
                  client = kazoo.client.KazooClient(sys.argv[1], timeout=6)\n\
                  client.start()\n\
                  client.Lock(sys.argv[2], sys.argv[3] or None).acquire()\n\
                  print('got', flush=True)\n\
                  time.sleep(300)";
    let place = format!("127.0.0.1:{}", server.port());
    let arguments = ["-c", script, &place, &format!("/{LOCK}"), identifier];
    LockTool::start(&program("LEASEPROOF_PYTHON", "python3"), &arguments, &[]).expect("python3 is there")
}

#[test]
fn kazoo_s_lock_is_a_queue_of_ephemeral_nodes() {
    let test = "kazoo_s_lock_is_a_queue_of_ephemeral_nodes";
    let client = Command::new(program("LEASEPROOF_PYTHON", "python3"))
        .args(["-c", "import kazoo"])
        .output();
    if !client.is_ok_and(|output| output.status.success()) {
        return skip(test, "no python3 with kazoo here: `.ci/tools python` installs it");
    }
    let server = match ZooKeeperServer::start() {
        Ok(server) => server,
        Err(why) => return skip(test, &why),
    };
    let (plain, url) = (url(&server.url()), url(&format!("{}?recipe=lock", server.url())));
    // It asks for the least time-out that there is, 100 ms here: a busy machine may let that pass at once.
    let mut observer = until(|| open_observer(&url, PATIENT).ok());
    let mut lab = open_administrator(&url, PATIENT).expect("it opens");
    assert_eq!(held(&mut *observer), None);
    assert_eq!(lab.delete(LOCK).refusal, Some(Refusal::Gone));

    let mut first = kazoo(&server, "worker-1");
    assert_eq!(first.line(), "got");
    let holds = held(&mut *observer).expect("held");
    let (name, created) = holds.holder.as_str().split_once('#').expect("both");
    assert_eq!(name, "worker-1");
    // What the server tells of the session, and not the most that it grants.
    assert_eq!(
        (holds.token, holds.bound, holds.expires),
        (None, Some(Duration::from_secs(6)), None)
    );
    let places = || -> Vec<String> {
        let listed = server.cli(&format!("ls /{LOCK}"));
        let names = listed.iter().find_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
        let names = names.unwrap_or_default().split(", ").filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let node = server.plain(&format!("/{LOCK}/{}", places()[0])).expect("its place");
    // A slash at the front is the path's own.
    let slash = format!("/{LOCK}");
    assert_eq!(observer.read(&slash).expect("a reading").1.held, held(&mut *observer));
    let mut inspector = until(|| open_inspector(&plain, PATIENT).ok());
    let form = inspector.form(slash.as_bytes()).expect("it answers").form;
    let queue =
        "a node with another below it, as the queues of kazoo and Curator have them: look again with ?recipe=lock";
    assert_eq!(form, Form::Foreign(queue.to_owned()));
    hints(
        &url,
        &format!("{slash}/{}", places()[0]),
        "look again without ?recipe=lock",
    );
    assert_eq!((node.czxid.to_string().as_str(), node.ephemeral), (created, true));

    // Who waits is no holder, and neither can we be.
    let mut second = kazoo(&server, "");
    until(|| (places().len() == 2).then_some(()));
    assert_eq!(held(&mut *observer).map(|it| it.holder), Some(holds.holder.clone()));
    let done = open_lease(&url, PATIENT)
        .expect("lazy")
        .acquire(LOCK, "a", TTL, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None));
    for reason in [done.reason, lab.steal(LOCK, "lab", TTL).reason] {
        let reason = reason.expect("a reason");
        assert!(reason.contains("only looked at"), "{reason}");
    }

    first.kill();
    assert_eq!(second.line(), "got");
    let next = another(&mut *observer, Some(&holds.holder));
    assert!(next.holder.as_str().starts_with("session-"), "{next:?}");
    assert_eq!(lab.delete(LOCK).outcome, Outcome::Applied);
    assert_eq!((held(&mut *observer), places().len()), (None, 0));
    second.kill();
    let mut third = kazoo(&server, "");
    assert_eq!(third.line(), "got");
    third.kill();
    assert_eq!(lab.clean(&[LOCK.to_owned()]).expect("it answers"), 1);
    assert_eq!(held(&mut *observer), None);
    assert_eq!(lab.foreign_keys("canary/").expect("it answers"), 0);
}
