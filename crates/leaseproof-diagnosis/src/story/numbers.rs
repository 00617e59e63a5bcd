//! TTL, heartbeat and the rest, and who says so.

use super::Story;
use crate::words::span;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{OwnerSays, Says, SettingName, StoreSays};
use leaseproof_model::budget::Budget;
use std::time::Duration;

/// One number, and who says so.
#[derive(Clone, Debug)]
pub struct Number<'e> {
    /// Its value.
    pub value: Duration,
    /// The line.
    pub by: Option<&'e Record>,
    /// In words: `leaseproof.toml`, `as granted`.
    pub from: String,
}

/// The configured numbers, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Numbers<'e> {
    /// The TTL in force.
    pub ttl: Option<Number<'e>>,
    /// How often the owner renews.
    pub heartbeat: Option<Number<'e>>,
    /// How long a renewal may take.
    pub renew_timeout: Option<Number<'e>>,
    /// The plan's, where there is one.
    pub plan: Option<Budget>,
    /// The threshold of the store's slow log.
    pub slowlog: Option<Number<'e>>,
}

const NEGOTIATED: &str = "as negotiated";

impl Numbers<'_> {
    /// What is left of the TTL for a pause, by what is known.
    #[must_use]
    pub fn margin(&self) -> Option<Duration> {
        if let Some(plan) = self.plan {
            return Some(plan.margin());
        }
        let ttl = self.ttl.as_ref()?.value;
        let heartbeat = self.heartbeat.as_ref()?.value;
        let rest = self.renew_timeout.as_ref().map_or(Duration::ZERO, |it| it.value);
        Some(ttl.saturating_sub(heartbeat + rest))
    }

    /// `ttl 3.00 s − heartbeat 1.00 s`, with who says each.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut parts = Vec::new();
        let mut add = |name: &str, number: Option<&Number<'_>>| {
            if let Some(number) = number {
                parts.push(format!("{name} {} ({})", span(number.value), number.from));
            }
        };
        add("ttl", self.ttl.as_ref());
        add("heartbeat", self.heartbeat.as_ref());
        add("renew timeout", self.renew_timeout.as_ref());
        parts.join(", ")
    }
}

/// The numbers: the plan's first, then what texts say, then what the records show.
#[must_use]
pub fn numbers<'e>(story: &Story<'e>) -> Numbers<'e> {
    let mut numbers = Numbers::default();
    if let Some((budget, from)) = &story.asked.plan {
        let number = |value| {
            Some(Number {
                value,
                by: None,
                from: from.clone(),
            })
        };
        numbers.plan = Some(*budget);
        numbers.ttl = number(budget.ttl);
        numbers.heartbeat = number(budget.heartbeat);
        numbers.renew_timeout = number(budget.renew_timeout);
    }
    for record in &story.evidence.records {
        let said = |value: Duration, from: &str| Number {
            value,
            by: Some(record),
            from: from.to_owned(),
        };
        match &record.says {
            Says::Setting(setting) => {
                let slot = match setting.name {
                    SettingName::Ttl => &mut numbers.ttl,
                    SettingName::Heartbeat => &mut numbers.heartbeat,
                    SettingName::RenewTimeout => &mut numbers.renew_timeout,
                    SettingName::SlowlogThreshold => &mut numbers.slowlog,
                    _ => continue,
                };
                if slot.is_none() {
                    *slot = Some(said(setting.value, "as its text says"));
                }
            }
            Says::Owner(OwnerSays::SessionOpened {
                timeout: Some(timeout), ..
            })
            | Says::Store(
                StoreSays::SessionExpired {
                    timeout: Some(timeout), ..
                }
                | StoreSays::SessionOpened {
                    timeout: Some(timeout), ..
                },
            ) if numbers.ttl.is_none() => {
                numbers.ttl = Some(said(*timeout, NEGOTIATED));
            }
            Says::Owner(OwnerSays::Acquired { ttl: Some(ttl), .. }) if numbers.ttl.is_none() => {
                numbers.ttl = Some(said(*ttl, "as the owner says"));
            }
            _ => {}
        }
    }
    // Any client has sessions: that of an owner says more than the first on record.
    if numbers.ttl.as_ref().is_some_and(|ttl| ttl.from == NEGOTIATED)
        && let Some(grant) = story
            .grants
            .iter()
            .find(|grant| grant.is_session && grant.owner.is_some())
        && let Some(ttl) = grant.ttl
    {
        numbers.ttl = Some(Number {
            value: ttl,
            by: Some(grant.begun),
            from: NEGOTIATED.to_owned(),
        });
    }
    if numbers.plan.is_none()
        && let Some(grant) = story
            .grants
            .iter()
            .find(|grant| grant.ttl.is_some() && !grant.is_session)
        && let Some(ttl) = grant.ttl
    {
        numbers.ttl = Some(Number {
            value: ttl,
            by: Some(grant.begun),
            from: "as granted".to_owned(),
        });
    }
    if numbers.heartbeat.is_none() {
        numbers.heartbeat = cadence(story);
    }
    numbers
}

/// The usual distance of renewals: of those at the store, else of those that an owner claims.
fn cadence<'e>(story: &Story<'e>) -> Option<Number<'e>> {
    let mut best: Option<(Vec<i64>, &'e Record, &str)> = None;
    for grant in &story.grants {
        let apart = distances(story, grant.renewals.iter().copied());
        if let Some(last) = grant.renewals.last()
            && apart.len() > best.as_ref().map_or(1, |(known, ..)| known.len())
        {
            best = Some((apart, last, "as the store saw it renewed"));
        }
    }
    if best.is_none() {
        for owner in &story.owners {
            let renewed = |record: &&&'e Record| {
                matches!(
                    record.says,
                    Says::Owner(OwnerSays::Renewed { .. } | OwnerSays::RenewSent { .. })
                )
            };
            let apart = distances(story, owner.says.iter().filter(renewed).copied());
            if let Some(last) = owner.says.last()
                && apart.len() > best.as_ref().map_or(1, |(known, ..)| known.len())
            {
                best = Some((apart, last, "as the owner logs its renewals"));
            }
        }
    }
    let (mut apart, by, from) = best?;
    apart.sort_unstable();
    let median = *apart.get(apart.len() / 2)?;
    Some(Number {
        value: Duration::from_nanos(median.max(0).unsigned_abs()),
        by: Some(by),
        from: from.to_owned(),
    })
}

/// How far apart the moments of some records are.
pub fn distances<'e>(story: &Story<'e>, records: impl Iterator<Item = &'e Record>) -> Vec<i64> {
    let moments: Vec<i64> = records.filter_map(|record| Some(story.at(record)?.middle())).collect();
    moments
        .windows(2)
        .filter_map(|pair| Some(pair.get(1)?.saturating_sub(*pair.first()?)))
        .collect()
}
