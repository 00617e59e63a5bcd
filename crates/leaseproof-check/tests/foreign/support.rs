//! What the tests of other systems' settings share: facts of stores, and a file judged.

use leaseproof_check::foreign::{self, Kind};
use leaseproof_check::report::Judged;
use leaseproof_check::{Demands, Given, judge};
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

pub const SECOND: Duration = Duration::from_secs(1);

pub fn facts(url: &str) -> Result<StoreFacts, String> {
    let kind = url.split(':').next().unwrap_or_default();
    Ok(StoreFacts {
        early_slack: Duration::from_millis(u64::from(kind == "redis")),
        late_bound: SECOND,
        late_ttls: u32::from(kind == "consul"),
        ttl_floor: match kind {
            "etcd" => Some(SECOND * 2),
            "consul" => Some(SECOND * 10),
            _ => None,
        },
        ..StoreFacts::of(kind)
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
