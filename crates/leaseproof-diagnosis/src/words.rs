//! Numbers as people read them.

use leaseproof_evidence::when::Interval;
use leaseproof_model::diagnosis::Span;
use std::time::Duration;

/// `3.02 s`, `83 ms`.
#[must_use]
pub fn span(span: Duration) -> String {
    let ms = span.as_secs_f64() * 1000.0;
    if ms < 10.0 {
        format!("{ms:.1} ms")
    } else if ms < 1000.0 {
        format!("{ms:.0} ms")
    } else if ms < 100_000.0 {
        format!("{:.2} s", ms / 1000.0)
    } else {
        format!("{:.0} s", ms / 1000.0)
    }
}

/// `03:02:27.442 UTC`: a moment within a day, to the ms.
#[must_use]
pub fn clock(at: Interval) -> String {
    let ms = at.middle().div_euclid(1_000_000);
    let of_day = ms.rem_euclid(86_400_000);
    let (hours, minutes, seconds) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    let unsure = at.uncertainty() / 2;
    let mut text = format!("{hours:02}:{minutes:02}:{seconds:02}.{:03} UTC", of_day % 1000);
    if unsure >= Duration::from_millis(2) {
        text.push_str(&format!(" ±{}", span(unsure)));
    }
    text
}

/// The interval as the document has it.
#[must_use]
pub fn document(at: Interval) -> Span {
    Span {
        earliest: at.earliest,
        latest: at.latest,
    }
}

/// The loss that is explained, in one sentence.
#[must_use]
pub fn loss(story: &crate::story::Story<'_>) -> Option<String> {
    use crate::story::grant::EndKind;
    let loss = story.loss.as_ref()?;
    let name = story.owner_name(loss.owner);
    let Some(grant) = loss.grant.and_then(|index| story.grants.get(index)) else {
        let told = loss.told.and_then(|record| story.at(record)).map(clock);
        return Some(match told {
            Some(told) => {
                format!("{name} says that its lease was over at {told}; no store's record shows when it ended")
            }
            None => format!("{name} says that its lease was over; no line tells when"),
        });
    };
    let how = match grant.end.map(|end| end.kind) {
        Some(EndKind::Expired) => "expired",
        Some(EndKind::Overtaken) => "had been lost",
        _ => "was gone",
    };
    let what = if grant.is_session { "session" } else { "lease" };
    let mut text = format!(
        "the {what} of {} {how}",
        if loss.owner.is_some() {
            name
        } else {
            grant.holder.as_deref().unwrap_or("its holder").to_owned()
        }
    );
    if let Some(ended) = loss.ended {
        text.push_str(&format!(" at {}", clock(ended)));
    }
    if let (Some(renewed), Some(ended)) = (loss.renewed, loss.ended)
        && !grant.renewals.is_empty()
    {
        let apart = Duration::from_nanos(ended.middle().saturating_sub(renewed.middle()).max(0).unsigned_abs());
        text.push_str(&format!(", {} after its last renewal", span(apart)));
    }
    if let Some(next) = loss.successor.and_then(|index| story.grants.get(index)) {
        let to = next.owner.map_or_else(
            || next.holder.as_deref().unwrap_or("another").to_owned(),
            |owner| story.owner_name(Some(owner)),
        );
        text.push_str(&format!("; {to} was granted it next"));
        if let Some(token) = next.token {
            text.push_str(&format!(" with token {token}"));
        }
    }
    Some(text)
}

/// Whether a reason is the store's refusal, and not a client's own clock.
#[must_use]
pub fn is_refusal(why: &str) -> bool {
    let why = why.to_ascii_lowercase();
    [
        "not the holder",
        "no longer owned",
        "not owned",
        "not held",
        "not found",
    ]
    .iter()
    .any(|words| why.contains(words))
}
