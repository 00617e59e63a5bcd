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

/// The counts are asserted, so that no change of the protocol or of the model goes unseen.
#[test]
fn no_state_breaks_the_protocol() {
    let table = [
        (
            Policy::Strict,
            WIDE,
            Found {
                states: 178584,
                live: 22844,
                over: 80485,
                refused: 107294,
                orphaned: 105684,
                failure: None,
            },
        ),
        (
            Policy::Patient,
            WIDE,
            Found {
                states: 163059,
                live: 24796,
                over: 62442,
                refused: 90026,
                orphaned: 93008,
                failure: None,
            },
        ),
        (
            Policy::Strict,
            DEEP,
            Found {
                states: 290817,
                live: 21966,
                over: 108617,
                refused: 0,
                orphaned: 160514,
                failure: None,
            },
        ),
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
