//! What the tests of other systems' settings share: facts of stores, and a file judged.

use leaseproof_check::foreign::{self, Kind};
use leaseproof_check::report::Judged;
use leaseproof_check::{Demands, Given, judge};
use leaseproof_model::store::{ExpiryProof, StoreClock, StoreFacts};
use std::time::Duration;

pub const SECOND: Duration = Duration::from_secs(1);

pub fn facts(url: &str) -> Result<StoreFacts, String> {
    let kind = url.split(':').next().unwrap_or_default();
    Ok(StoreFacts {
        kind: kind.to_owned(),
        version: "1".to_owned(),
        early_slack: Duration::from_millis(u64::from(kind == "redis")),
        late_bound: SECOND,
        late_ttls: u32::from(kind == "consul"),
        ttl_floor: match kind {
            "etcd" => Some(SECOND * 2),
            "consul" => Some(SECOND * 10),
            _ => None,
        },
        ttl_ceiling: None,
        lock_delay: Duration::ZERO,
        clock: StoreClock::ServerSteady,
        expired_means: String::new(),
        expiry_proof: ExpiryProof::SeenGone,
        consistent_reading: true,
        exact_moments: false,
        writer_can_block: false,
        shows_expiry: true,
        shows_renewals: true,
        renewals_apart: Duration::ZERO,
        ttl_step: Duration::ZERO,
        grants_in_steps: false,
        may_lose_grants: None,
    })
}

pub fn given() -> Given {
    Given {
        worst_pause: Some(Duration::from_millis(2500)),
        longest_run: Some(Duration::from_secs(240)),
        ..Given::default()
    }
}

pub fn judged(file: &str, text: &str, kind: Option<Kind>, given: &Given) -> Result<Vec<Judged>, String> {
    let subjects = foreign::read(file, text, kind, given, &facts)?;
    Ok(subjects.iter().map(|it| judge(it, None, Demands::default())).collect())
}

pub fn said(judged: &Judged) -> String {
    judged
        .checks
        .iter()
        .map(|it| format!("{:?} {}: {}\n", it.answer, it.id, it.says))
        .collect()
}
