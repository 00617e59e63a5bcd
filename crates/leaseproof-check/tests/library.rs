//! One artifact: what `check` lets through, the library starts with, and what it refuses, the library refuses.

use leaseproof::Budget;
use leaseproof_check::plan::PlanFile;
use leaseproof_check::report::Answer;
use leaseproof_check::{Demands, Given, from_plan, judge};
use leaseproof_model::store::{StoreClock, StoreFacts};

fn facts(_: &str) -> Result<StoreFacts, String> {
    Ok(StoreFacts {
        clock: StoreClock::Boot,
        exact_moments: true,
        ..StoreFacts::of("store")
    })
}

#[test]
fn check_and_library_agree_ok() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("leaseproof.toml");
    let (mut seed, mut held, mut refused) = (7_u64, 0, 0);
    let mut below = |most: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    for _ in 0..500 {
        let ttl = 200 + below(1000);
        let heartbeat = 10 + below(ttl - 10);
        let (timeout, drift, pause) = (1 + below(400), below(100), below(600));
        let text = format!(
            "[budget]\nttl = \"{ttl}ms\"\nheartbeat = \"{heartbeat}ms\"\nrenew_timeout = \"{timeout}ms\"\nmax_clock_drift = \
             \"{drift}ms\"\nworst_pause = \"{pause}ms\"\n"
        );
        std::fs::write(&path, &text).expect("written");
        let library = Budget::load(&path).expect("it reads").assert();
        let plan: PlanFile = toml::from_str(&text).expect("it reads");
        let subjects = from_plan(&plan, &path, &text, &Given::default(), &facts).expect("a subject");
        let judged = judge(&subjects[0], None, Demands::default());
        assert_eq!(judged.verdict == Answer::Holds, library.is_ok(), "{text}{judged:#?}");
        match library {
            Ok(_) => held += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(held > 50 && refused > 50, "{held} held, {refused} were refused");
}
