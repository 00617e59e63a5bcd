//! A store of several members: the next is asked once one does not answer, and each says of itself whether it leads.

#![cfg(all(feature = "etcd", feature = "zookeeper"))]

mod etcd_server;
mod redis_server;
mod zookeeper_server;

use etcd_server::EtcdServer;
use leaseproof_model::event::{Outcome, Role};
use leaseproof_store::{StoreUrl, open_lease, open_observer, role};
use redis_server::skip;
use std::time::{Duration, Instant};
use zookeeper_server::ZooKeeperServer;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/members";

/// The members, or the end of the test.
macro_rules! members {
    ($test:expr) => {
        match EtcdServer::start_cluster() {
            Ok(members) => members,
            Err(why) => return skip($test, &why),
        }
    };
}

/// All of them, the one at `first` first.
fn url(members: &[EtcdServer; 3], first: usize) -> StoreUrl {
    let places: Vec<String> = (0..3)
        .map(|place| format!("127.0.0.1:{}", members[(first + place) % 3].port()))
        .collect();
    format!("etcd://{}", places.join(",")).parse().expect("a URL")
}

fn roles(members: &[EtcdServer; 3], silent: Option<usize>) -> Vec<Option<Role>> {
    let asked = members.iter().enumerate().map(|(place, member)| {
        let url = member.url().parse().expect("a URL");
        (Some(place) != silent).then(|| role(&url, PATIENT).expect("it answers"))
    });
    asked.collect()
}

/// Who leads, and in which term.
fn leader(roles: &[Option<Role>]) -> Option<(usize, u64)> {
    let leads = |(place, role): (usize, &Option<Role>)| Some((place, role.filter(|role| role.leads)?.term));
    roles.iter().enumerate().find_map(leads)
}

#[test]
fn the_next_member_is_asked_once_one_does_not_answer() {
    let members = members!("the_next_member_is_asked_once_one_does_not_answer");
    let (leads, _) = leader(&roles(&members, None)).expect("one leads");
    // Not the leader: the others need no election.
    let first = (leads + 1) % 3;
    let url = url(&members, first);
    let mut observer = open_observer(&url, PATIENT / 4).expect("it opens");
    let mut owner = open_lease(&url, BRIEF).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    members[first].freeze();
    let sent = owner.renew(&grant, LONG, BRIEF);
    assert_eq!(sent.outcome, Outcome::Unknown, "{sent:?}");
    let next = owner.renew(&grant, LONG, PATIENT);
    assert_eq!(next.outcome, Outcome::Applied, "{next:?}");
    // A look may be repeated, and is: half of its time is for the one that stands still.
    let (_, reading) = observer.read(KEY).expect("the next one answers");
    assert_eq!(reading.held.map(|held| held.holder), Some(grant.holder.clone()));
    members[first].thaw();
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
}

/// Nothing can have been sent to it.
#[test]
fn a_member_that_is_not_there_costs_nothing() {
    let mut members = members!("a_member_that_is_not_there_costs_nothing");
    let (leads, _) = leader(&roles(&members, None)).expect("one leads");
    let gone = (leads + 2) % 3;
    members[gone].kill();
    let mut owner = open_lease(&url(&members, gone), PATIENT).expect("lazy");
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
}

#[test]
fn another_leads_in_a_later_term_once_the_leader_stands_still() {
    let members = members!("another_leads_in_a_later_term_once_the_leader_stands_still");
    let (leads, term) = leader(&roles(&members, None)).expect("one leads");
    let url = url(&members, leads);
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let before = observer.read(KEY).expect("a reading").1;
    members[leads].freeze();
    let deadline = Instant::now() + PATIENT;
    let (next, later) = loop {
        // A new leader gives the old term until it has applied its first entry: it leads, and not yet in its own.
        let found = leader(&roles(&members, Some(leads)));
        if let Some(found) = found.filter(|(_, later)| *later > term) {
            break found;
        }
        assert!(Instant::now() < deadline, "{found:?} after {leads} in {term}");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_ne!(next, leads, "in {later}");
    // By its place in the URL, which begins with the one that stands still.
    observer.prefer((next + 3 - leads) % 3);
    let after = observer.read(KEY).expect("the leader answers").1;
    assert_ne!(after.epoch, before.epoch);
    let token = |reading: &leaseproof_model::event::Reading| reading.held.as_ref().and_then(|held| held.token);
    assert_eq!(token(&after), token(&before), "the same grant");
    // The one that stood still learns that its time is over.
    members[leads].thaw();
    let deadline = Instant::now() + PATIENT;
    let leaders = |roles: Vec<Option<Role>>| roles.iter().flatten().filter(|role| role.leads).count();
    while leaders(roles(&members, None)) != 1 {
        assert!(Instant::now() < deadline, "{:?}", roles(&members, None));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
}

/// A session is known to all members: it moves, and its grant with it.
#[test]
fn a_session_moves_to_the_next_member() {
    let members = match ZooKeeperServer::start_ensemble() {
        Ok(members) => members,
        Err(why) => return skip("a_session_moves_to_the_next_member", &why),
    };
    let role_of = |member: &ZooKeeperServer| role(&member.url().parse().expect("a URL"), PATIENT).expect("it answers");
    let leads = members.iter().position(|member| role_of(member).leads);
    // Not the leader: the others need no election.
    let first = (leads.expect("one leads") + 1) % 3;
    let places: Vec<String> = (0..3)
        .map(|place| format!("127.0.0.1:{}", members[(first + place) % 3].port()))
        .collect();
    let url: StoreUrl = format!("zookeeper://{}", places.join(",")).parse().expect("a URL");
    let mut owner = open_lease(&url, BRIEF).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    members[first].freeze();
    let sent = owner.renew(&grant, LONG, BRIEF);
    assert_eq!(sent.outcome, Outcome::Unknown, "{sent:?}");
    let next = owner.renew(&grant, LONG, PATIENT);
    assert_eq!(next.outcome, Outcome::Applied, "{next:?}");
    let mut observer = open_observer(&url, PATIENT).expect("another answers");
    let (_, reading) = observer.read(KEY).expect("a reading");
    assert_eq!(reading.held.map(|held| held.token), Some(Some(grant.token)));
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    members[first].thaw();
}
