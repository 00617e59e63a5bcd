//! What the store granted, as its readings show it: for the picture only, the judge has its own.

use leaseproof_model::event::{Event, EventId, Held, What};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};

/// One span in which the readings show one holder.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) holder: HolderId,
    pub(crate) token: Option<Token>,
    /// The owner behind the holder, where that can be known.
    pub(crate) owner: Option<String>,
    pub(crate) from: Moment,
    pub(crate) until: Moment,
    pub(crate) first: EventId,
    pub(crate) last: EventId,
    expires: Option<Moment>,
    seen: Moment,
}

impl Grant {
    /// Whether the store surely had it granted throughout this moment.
    pub(crate) fn surely_at(&self, at: Moment) -> bool {
        self.from.latest <= at.earliest && at.latest <= self.until.earliest
    }
}

/// The grants of a record, in order.
pub(crate) fn grants(events: &[Event]) -> Vec<Grant> {
    let mut done: Vec<Grant> = Vec::new();
    let mut now: Option<Grant> = None;
    for event in events {
        let What::Reading(reading) = &event.what else { continue };
        let held = reading.held.as_ref();
        let same = |it: &Grant| held.is_some_and(|held| it.holder == held.holder && it.token == held.token);
        if let Some(mut grant) = now.take() {
            if same(&grant) {
                let held = held.expect("it is the same holder");
                grant.last = event.id;
                grant.seen = event.at;
                if held.expires.is_some() {
                    grant.expires = held.expires;
                }
                if held.expired {
                    grant.until = grant.expires.unwrap_or(event.at).min(event.at);
                    done.push(grant);
                } else {
                    now = Some(grant);
                }
                continue;
            }
            let seen_gone = Moment::between(
                reading.previous.unwrap_or(grant.seen.earliest).min(event.at.latest),
                held.and_then(|it| it.granted).unwrap_or(event.at.latest),
            );
            grant.until = grant.expires.map_or(seen_gone, |expires| expires.min(seen_gone));
            grant.last = event.id;
            done.push(grant);
        }
        if let Some(held) = held.filter(|it| !it.expired) {
            now = Some(begun(event, held, reading.previous, events));
        }
    }
    if let Some(mut grant) = now {
        let end = events.iter().map(|it| it.at.latest).max().unwrap_or(grant.seen.latest);
        grant.until = Moment::exact(end);
        done.push(grant);
    }
    done
}

fn begun(event: &Event, held: &Held, previous: Option<leaseproof_model::clock::BootNanos>, events: &[Event]) -> Grant {
    let from = match held.granted {
        Some(at) => Moment::exact(at),
        None => Moment::between(previous.unwrap_or(event.at.earliest), event.at.latest),
    };
    Grant {
        holder: held.holder.clone(),
        token: held.token,
        owner: owner_of(&held.holder, held.token, events),
        from,
        until: from,
        first: event.id,
        last: event.id,
        expires: held.expires,
        seen: event.at,
    }
}

/// The holder's name often begins with the owner's; else the token that an owner claims tells.
fn owner_of(holder: &HolderId, token: Option<Token>, events: &[Event]) -> Option<String> {
    let holder = holder.as_str();
    let owners = || events.iter().filter_map(|it| it.owner.as_ref());
    let named = owners().find(|owner| {
        holder
            .strip_prefix(owner.as_str())
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    });
    let by_token = || {
        let token = token?;
        events.iter().find_map(|event| match &event.what {
            What::Said(said) if said.token == Some(token) => event.owner.as_ref(),
            What::Write(write) if write.token == Some(token) && !write.replay => event.owner.as_ref(),
            _ => None,
        })
    };
    named.or_else(by_token).map(|it| it.as_str().to_owned())
}
