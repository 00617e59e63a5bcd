//! Numbers as people read them.

use leaseproof_evidence::record::Record;
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
            None => taken_over(story, &name, loss.taken),
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
    let looked = grant.end.filter(|end| crate::story::grant::is_look(end.by));
    if let Some(seen) = looked.and_then(|end| story.at(end.by)) {
        text.push_str(&format!(" by {}, when somebody looked: it ended before", clock(seen)));
    } else if let Some(ended) = loss.ended {
        text.push_str(&format!(" at {}", clock(ended)));
    }
    if let (Some(renewed), Some(ended)) = (loss.renewed, loss.ended)
        && !grant.renewals.is_empty()
        && looked.is_none()
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

/// No line tells of the end: that another has it, or writes, shows that it was over by then.
fn taken_over(story: &crate::story::Story<'_>, name: &str, taken: Option<&Record>) -> String {
    let Some(taken) = taken else {
        return format!("the lease of {name} was over; no line tells when");
    };
    let says = |owner: &crate::story::owner::Owner<'_>| owner.says.iter().any(|it| it.place == taken.place);
    let by_word = story.owners.iter().position(says);
    let at = story
        .at(taken)
        .map(|at| format!(" at {}", clock(at)))
        .unwrap_or_default();
    match (by_word, crate::story::grant::writer(story, taken)) {
        (Some(next), _) => format!(
            "{} says that it acquired the lease{at}: that {name} had lost it by then is inferred, and no line tells when",
            story.owner_name(Some(next))
        ),
        (None, next) => format!(
            "{} began to write{at}, where {name} had written: that {name} had lost its lease by then is inferred, and no line tells when",
            story.owner_name(next)
        ),
    }
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
