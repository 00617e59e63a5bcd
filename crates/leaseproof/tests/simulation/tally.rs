//! What a run of many schedules came to.

use super::sometimes::{Seen, Sometimes};
use std::fmt::{self, Display};

/// Counts over schedules.
#[derive(Clone, Default)]
pub struct Tally {
    pub schedules: u64,
    pub events: u64,
    pub permits: u64,
    pub grants: u64,
    counts: Vec<u64>,
}

impl Tally {
    pub fn add(&mut self, seen: Seen, events: u64, permits: u64, grants: u64) {
        self.schedules += 1;
        self.events += events;
        self.permits += permits;
        self.grants += grants;
        self.counts.resize(Sometimes::ALL.len(), 0);
        for (count, &it) in self.counts.iter_mut().zip(Sometimes::ALL) {
            *count += u64::from(seen.has(it));
        }
    }

    /// What never happened.
    pub fn never(&self) -> Vec<Sometimes> {
        let all = Sometimes::ALL.iter().enumerate();
        all.filter(|(at, _)| self.counts.get(*at).is_none_or(|&count| count == 0))
            .map(|(_, &it)| it)
            .collect()
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} schedules, {} events, {} grants, {} permits",
            self.schedules, self.events, self.grants, self.permits
        )?;
        for (count, it) in self.counts.iter().zip(Sometimes::ALL) {
            writeln!(f, "{count:>9}  {}", it.says())?;
        }
        Ok(())
    }
}
