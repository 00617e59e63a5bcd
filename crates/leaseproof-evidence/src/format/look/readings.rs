//! One reading of a look: who held the lease at that moment, by the store's own answer.

use super::{BY, wall};
use crate::evidence::ProblemKind;
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{Says, StoreSays};
use crate::when::StampMeans;
use leaseproof_model::event::What;
use leaseproof_model::history;
use serde_json::Value;
use std::sync::Arc;

pub(super) fn read(line_of: Value, line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let event = match serde_json::from_value::<history::Line>(line_of) {
        Ok(history::Line::Event { event, .. }) => event,
        Ok(_) => return Some(BY),
        Err(error) => {
            let says = format!("a reading is broken: {error}");
            reading.problem(Some(line.number), ProblemKind::Other, says);
            return Some(BY);
        }
    };
    let (What::Reading(seen), Some(stamp)) = (event.what, event.stamp) else {
        return Some(BY);
    };
    // The clocks were read together right after the answer: the wall clock at the answer lies back by what the other says.
    let ago = |at: leaseproof_model::clock::BootNanos| {
        stamp
            .wall
            .0
            .saturating_sub(i64::try_from(stamp.boot.since(at).as_nanos()).unwrap_or(0))
    };
    let mut line = line.clone();
    line.when = Some(wall(ago(event.at.earliest), ago(event.at.latest)));
    line.continued = false;
    // How far apart readings are says nothing of the store.
    reading.cover_only(&line);
    let key = reading.state.look.key.clone()?;
    let held = seen.held.filter(|held| !held.expired);
    let says = StoreSays::Held {
        key: Arc::clone(&key),
        token: held.as_ref().and_then(|held| held.token),
        left: held
            .as_ref()
            .and_then(|held| held.expires)
            .map(|expires| expires.earliest.since(event.at.latest)),
        holder: held.map(|held| reading.name(&held.holder.to_string())),
    };
    reading.say(&line, SourceKind::Store, BY, StampMeans::Observed, Says::Store(says));
    if let Some(server) = seen.server_ns.filter(|_| !reading.state.look.timed)
        // Some stores count from their own begin: that is no time of day.
        && server > 1_000_000_000_000_000_000
    {
        reading.state.look.timed = true;
        let says = Says::Store(StoreSays::Time { wall: server });
        reading.say(&line, SourceKind::Store, BY, StampMeans::Observed, says);
    }
    Some(BY)
}
