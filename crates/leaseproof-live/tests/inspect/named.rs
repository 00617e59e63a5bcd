//! The processes that were named, and their connections.

use crate::answered::waited;
use crate::seen::renewals;
use crate::sim::{Deed, redis, span};
use leaseproof_live::inspect::holder::suspects;
use leaseproof_live::inspect::side::{Evidence, first_look};
use leaseproof_live::inspect::view::{Span, view};
use leaseproof_model::inspect::lease_view::LeaseView;
use leaseproof_model::inspect::owner_view::{OwnerState, OwnerView, Socket};
use leaseproof_model::inspect::{FirstLook, Shown, Side};

fn watched(until: f64) -> LeaseView {
    let deeds: Vec<(f64, Deed)> = renewals(1000.0, 3, until);
    let samples = span(&deeds, 4000, 200, 10_000, Some(1000));
    view(&samples, &redis(), Span::default(), &|_, _| String::new())
        .expect("a reading")
        .0
}

fn process(pid: u32, state: OwnerState, sockets: Vec<Socket>) -> OwnerView {
    let mut owner = waited(0.0);
    owner.process.pid = pid;
    owner.says = format!("process {pid} is {state:?}");
    owner.sockets = Shown::Is(sockets);
    if state != OwnerState::Running {
        owner.ran_ms = Shown::Is(0.0);
    }
    owner.state = state;
    owner
}

fn socket(unread: u64, retransmits: u64, received_ms: u64) -> Socket {
    Socket {
        local: "127.0.0.1:4000".to_owned(),
        remote: "127.0.0.1:6379".to_owned(),
        state: "established".to_owned(),
        unacknowledged_bytes: retransmits * 30,
        unread_bytes: unread,
        retransmits,
        timer: "none".to_owned(),
        retransmits_ever: Shown::Is(retransmits),
        last_sent_ms: Shown::Is(20),
        last_received_ms: Shown::Is(received_ms),
        round_trip_ms: Shown::Is(0.1),
    }
}

fn looked(lease: &LeaseView, mut owners: Vec<OwnerView>) -> FirstLook {
    suspects(&mut owners, Some(lease), None);
    let (first, others) = owners.split_first().expect("one at least");
    first_look(&Evidence {
        lease: Some(lease),
        owner: Some(first),
        others,
        ..Evidence::default()
    })
}

/// Who did not run at all while the lease was renewed is hardly its holder, whatever connections it has.
#[test]
fn a_stopped_stranger_beside_a_holder_that_renews_does_not_lead() {
    let named = || {
        vec![
            process(7, OwnerState::Stopped, vec![socket(0, 0, 20)]),
            process(8, OwnerState::Running, vec![socket(0, 0, 20)]),
        ]
    };
    let renewed = looked(&watched(5000.0), named());
    assert_eq!(renewed.side, Side::Neither, "{:?}", renewed.why);
    assert!(
        renewed.why.iter().any(|it| it.contains("process 7")),
        "it is told: {:?}",
        renewed.why
    );
    // Nobody renews: the one that is stopped may be the holder.
    let left = looked(&watched(-500.0), named());
    assert_eq!(left.side, Side::Owner, "{:?}", left.why);
    assert!(left.why[0].contains("process 7"), "{:?}", left.why);
}

/// What has just come is read in a moment, and what lies unread may do so because the rest does not arrive.
#[test]
fn bytes_that_lie_unread_come_after_a_cut_network() {
    let lease = watched(5000.0);
    for (sockets, side) in [
        (vec![socket(30, 0, 5)], Side::Neither),
        (vec![socket(30, 0, 900)], Side::Owner),
        (vec![socket(30, 0, 900), socket(0, 4, 900)], Side::Network),
        (vec![socket(30, 4, 900)], Side::Network),
    ] {
        let first = looked(&lease, vec![process(7, OwnerState::Running, sockets)]);
        assert_eq!(first.side, side, "{:?}", first.why);
    }
}
