//! Whether the named process is seen to be the holder, and what is missing to say so.

#[allow(dead_code, reason = "each test file uses a part of this fixture")]
mod sim;

use leaseproof_live::inspect::side::{Evidence, first_look};
use leaseproof_live::inspect::view::{Span, view};
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::lease_view::LeaseView;
use leaseproof_model::inspect::owner_view::{OwnerState, OwnerView, Socket};
use leaseproof_model::inspect::store_view::{Connection, Connections, Form, KeyForm, StoreView};
use leaseproof_model::name::ProcessId;
use sim::{Deed, redis, span};

const UNSEEN: &str = "is not seen to be the holder";

/// A process that runs, with connections from these addresses.
fn owner(pid: u32, addresses: &[&str]) -> OwnerView {
    let unknown = || Shown::Withheld("it is of no interest here".to_owned());
    let socket = |address: &&str| Socket {
        local: (*address).to_owned(),
        remote: "127.0.0.1:6379".to_owned(),
        state: "established".to_owned(),
        unacknowledged_bytes: 0,
        unread_bytes: 0,
        retransmits: 0,
        timer: "none".to_owned(),
        retransmits_ever: Shown::Is(0),
        last_sent_ms: Shown::Is(1),
        last_received_ms: Shown::Is(1),
        round_trip_ms: Shown::Is(0.1),
    };
    OwnerView {
        process: ProcessId { pid, start_ticks: 1 },
        program: "worker".to_owned(),
        state: OwnerState::Running,
        says: format!("process {pid} runs"),
        threads: Vec::new(),
        thread_count: 1,
        freezer: Shown::Withheld("none".to_owned()),
        throttled: Shown::Withheld("none".to_owned()),
        pressure: Shown::Withheld("none".to_owned()),
        ran_ms: unknown().map(|()| 0.0),
        waited_for_cpu_ms: unknown().map(|()| 0.0),
        sockets: Shown::Is(addresses.iter().map(socket).collect()),
        holds: None,
        resets: Shown::Is(0),
    }
}

/// A store that lists connections from these addresses as those that may be the holder's.
fn store(kind: &str, listed: &[&str]) -> StoreView {
    let connection = |address: &&str| Connection {
        address: (*address).to_owned(),
        name: None,
        age_s: 9,
        idle_s: 0,
        last_command: "pexpire".to_owned(),
        why: "it is a connection of the process that was named".to_owned(),
        certain: true,
        holds: false,
    };
    let key = KeyForm {
        namespace: "database 0".to_owned(),
        form: Form::Lease,
        elsewhere: None,
    };
    StoreView {
        connections: Shown::Is(Connections {
            all: 3,
            candidates: listed.iter().map(connection).collect(),
            means: String::new(),
        }),
        ..StoreView::plain(kind, Vec::new(), &key)
    }
}

fn lease() -> LeaseView {
    let mut deeds = vec![(-500.0, Deed::Grant("a#1", 7))];
    deeds.extend((0..6).map(|beat| (f64::from(beat) * 500.0, Deed::Renew)));
    let samples = span(&deeds, 3000, 200, 3000, None);
    view(&samples, &redis(), Span::default(), &|_, _| String::new())
        .expect("a reading")
        .0
}

/// What is missing to say who holds, with what the process had and has, and what the server listed.
fn missing(at_list: &[&str], listed: &[&str], now: &[&str]) -> String {
    let (owner, store, lease) = (owner(7, now), store("redis", listed), lease());
    let addresses: Vec<String> = at_list.iter().map(|it| (*it).to_owned()).collect();
    let first = first_look(&Evidence {
        store: Some(&store),
        lease: Some(&lease),
        owner: Some(&owner),
        addresses: &addresses,
        ..Evidence::default()
    });
    let all: Vec<String> = first.missing.into_iter().map(|it| it.what).collect();
    all.join("\n")
}

#[test]
fn a_connection_that_the_server_lists_ok() {
    for (at_list, listed, now) in [
        (&["h:1"][..], &["h:1"][..], &["h:1"][..]),
        // It connects anew for each renewal: by the end that one is gone, or another is there.
        (&["h:1"], &["h:1"], &["h:2"]),
        (&["h:1"], &["h:1"], &[]),
        // It had none when the list was asked for: that says nothing of the one that it has now.
        (&[], &[], &["h:2"]),
    ] {
        let said = missing(at_list, listed, now);
        assert!(!said.contains(UNSEEN), "{at_list:?} {listed:?} {now:?}: {said}");
    }
}

#[test]
fn a_connection_that_the_server_does_not_list_bad() {
    for (at_list, listed, now) in [
        (&["h:1"][..], &["other:9"][..], &["h:1"][..]),
        (&["h:1"], &[], &["h:1"]),
        (&[], &[], &[]),
        (&[], &["other:9"], &[]),
    ] {
        let said = missing(at_list, listed, now);
        assert!(said.contains(UNSEEN), "{at_list:?} {listed:?} {now:?}: {said}");
    }
}

/// Only what a store's clients have is advised.
#[test]
fn a_name_of_its_own_is_advised_where_clients_have_names() {
    let lease = lease();
    let (one, others) = (owner(7, &["h:1"]), [owner(8, &["h:2"])]);
    for (kind, advice) in [
        (
            "redis",
            "look at their logs, or let each connect by a name of its own (CLIENT SETNAME)",
        ),
        (
            "postgres",
            "look at their logs, or let each connect by a name of its own (application_name)",
        ),
        ("etcd", "look at their logs"),
        ("zookeeper", "look at their logs"),
        ("consul", "look at their logs"),
        ("sqlite", "look at their logs"),
    ] {
        let store = store(kind, &[]);
        let first = first_look(&Evidence {
            store: Some(&store),
            lease: Some(&lease),
            owner: Some(&one),
            others: &others,
            ..Evidence::default()
        });
        let which = first
            .missing
            .iter()
            .find(|it| it.what.starts_with("which of the processes"));
        assert_eq!(which.map(|it| it.how.as_str()), Some(advice), "{kind}");
    }
}

/// That its settings are hidden is missing, and said with the right that shows them.
#[test]
fn settings_that_are_not_shown_are_missing() {
    let lease = lease();
    let mut store = store("redis", &[]);
    let how = |store: &StoreView| {
        let first = first_look(&Evidence {
            store: Some(store),
            lease: Some(&lease),
            ..Evidence::default()
        });
        first
            .missing
            .into_iter()
            .map(|it| it.how)
            .find(|how| how.contains("+config|get"))
    };
    assert_eq!(how(&store), None);
    store.refused = vec!["CONFIG GET".to_owned()];
    assert!(how(&store).is_some());
}
