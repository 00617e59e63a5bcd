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
