//! Every order of events in a small world: the properties hold in each state, and fail where something is broken.

mod exhaustive;

use exhaustive::{Bounds, Broken, Found, search};
use leaseproof::Policy;

/// All that can happen, but one request under way at a time.
const WIDE: Bounds = Bounds {
    flights: 1,
    doubles: true,
    drift: true,
    crashes: true,
    looks: true,
};

/// Requests that overtake one another.
const DEEP: Bounds = Bounds {
    flights: 2,
    doubles: false,
    drift: true,
    crashes: false,
    looks: false,
};

/// The same without drift.
const STEADY: Bounds = Bounds { drift: false, ..DEEP };

/// The counts are asserted, so that no change of the protocol or of the model goes unseen.
#[test]
fn no_state_breaks_the_protocol() {
    let counts = |states, live, over, refused, orphaned| Found {
        states,
        live,
        over,
        refused,
        orphaned,
        failure: None,
    };
    let table = [
        (Policy::Strict, WIDE, counts(320_308, 32_194, 97_355, 139_486, 140_614)),
        (Policy::Patient, WIDE, counts(167_830, 25_292, 67_213, 91_280, 96_130)),
        (Policy::Strict, STEADY, counts(306_513, 11_036, 71_187, 0, 121_406)),
        (Policy::Patient, DEEP, counts(338_049, 29_416, 124_605, 0, 177_810)),
    ];
    let found = table
        .each_ref()
        .map(|(policy, bounds, _)| search(*policy, 1, Broken::Nothing, *bounds));
    assert_eq!(found, table.map(|(.., counts)| counts));
}

#[test]
fn what_is_broken_is_found() {
    let gone = "the store does not have what is permitted";
    let given = "a permit was given for a grant that the store did not have any more";
    let table = [
        (0, Broken::Nothing, gone),
        (1, Broken::ValidityFromAnswer, gone),
        (1, Broken::UnknownExtends, gone),
        (1, Broken::RefusalIgnored, gone),
        (1, Broken::OneLook, given),
        (1, Broken::ReleaseFirst, gone),
    ];
    for (reserve, broken, says) in table {
        let found = search(Policy::Strict, reserve, broken, WIDE);
        println!("{broken:?} with a reserve of {reserve}: {:?}", found.failure);
        assert_eq!(found.failure.map(|(says, _)| says), Some(says), "{broken:?}");
    }
}
