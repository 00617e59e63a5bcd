//! Owners that are asked over HTTP.

use super::{Shared, WatchError};
use crate::watch::belief::{Claim, Report};
use crate::watch::board::Place;
use crate::watch::settings::{ReadAnswer, Settings, SourceSettings};
use crate::watch::sources::http::Fetcher;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use leaseproof_proc::clock::boot_now;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use url::Url;

/// A lease, and how an endpoint's answer is read for it.
type Reader = (Place, Arc<dyn ReadAnswer>);

/// Asks each endpoint once an interval, for all leases that it tells about.
pub(super) fn poll_endpoints(
    runtime: &Runtime,
    shared: &Shared,
    settings: &Settings,
    places: &[Place],
) -> Result<(), WatchError> {
    let mut endpoints: BTreeMap<&str, Vec<Reader>> = BTreeMap::new();
    for (place, lease) in places.iter().zip(&settings.leases) {
        if let Some(SourceSettings::Endpoint { url, reader }) = lease.owner.as_ref().map(|owner| &owner.source) {
            endpoints.entry(url).or_default().push((*place, Arc::clone(reader)));
        }
    }
    if endpoints.is_empty() {
        return Ok(());
    }
    let patience = settings
        .interval
        .clamp(Duration::from_millis(500), Duration::from_secs(5));
    let fetcher = Fetcher::new(patience).map_err(WatchError::System)?;
    for (url, readers) in endpoints {
        let parsed = Url::parse(url).map_err(|error| WatchError::Endpoint(url.to_owned(), error.to_string()))?;
        runtime.spawn(poll(
            fetcher.clone(),
            parsed,
            readers,
            shared.clone(),
            settings.interval,
        ));
    }
    Ok(())
}

async fn poll(fetcher: Fetcher, url: Url, readers: Vec<Reader>, shared: Shared, interval: Duration) {
    let mut beat = tokio::time::interval(interval);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let asked = boot_now();
        let body = fetcher.get(&url).await;
        let at = Moment::between(asked, boot_now());
        let now_ms = wall_ms();
        let heard: Vec<_> = readers
            .iter()
            .map(|(place, reader)| {
                (
                    *place,
                    body.as_ref().map_err(Clone::clone).and_then(|body| reader.read(body)),
                )
            })
            .collect();
        let mut notices = Vec::new();
        {
            let mut board = shared.board();
            for (place, answer) in heard {
                match answer {
                    Err(why) => board.belief_failed(place, &why),
                    Ok(answer) => {
                        let at = match said_at(at, answer.stamp_ms, now_ms) {
                            Ok(at) => at,
                            Err(why) => {
                                board.belief_failed(place, &why);
                                continue;
                            }
                        };
                        let report = Report {
                            at,
                            claim: if answer.holds { Claim::Holds } else { Claim::Free },
                            token: answer.token.map(Token),
                            since: None,
                        };
                        board.reported(place, report, &mut notices);
                    }
                }
            }
        }
        shared.tell(notices);
    }
}

/// A sample with an older stamp is somebody's memory (a gateway that pushes, a federation), and no word of now; hosts'
/// clocks may be apart by as much, too.
const REMEMBERED: i64 = 5_000;

/// When the owner said it: where the answer has a stamp, not after that; two hosts' clocks are only about the same.
fn said_at(at: Moment, stamp_ms: Option<i64>, now_ms: i64) -> Result<Moment, String> {
    let Some(stamp) = stamp_ms else { return Ok(at) };
    let age = now_ms.saturating_sub(stamp);
    if age.saturating_abs() > REMEMBERED {
        return Err(format!(
            "its sample is stamped {:.1} s {} now: it is no word of the present",
            age.saturating_abs() as f64 / 1000.0,
            if age > 0 { "before" } else { "after" }
        ));
    }
    let age = Duration::from_millis(age.max(0).unsigned_abs());
    Ok(Moment::between(at.earliest.minus(age), at.latest))
}

fn wall_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseproof_model::clock::BootNanos;

    #[test]
    fn a_sample_of_now_ok_and_one_of_six_years_ago_bad() {
        let at = Moment::between(BootNanos(10_000_000_000), BootNanos(10_100_000_000));
        assert_eq!(said_at(at, None, 50_000), Ok(at));
        let second = Moment::between(BootNanos(9_000_000_000), at.latest);
        assert_eq!(said_at(at, Some(49_000), 50_000), Ok(second));
        assert_eq!(said_at(at, Some(51_000), 50_000), Ok(at));
        for stamp in [0, 44_000, 56_000] {
            assert!(said_at(at, Some(stamp), 50_000).is_err(), "{stamp}");
        }
    }
}
