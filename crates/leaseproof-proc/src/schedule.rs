//! Turns on the CPU: how long threads ran, and how long they waited for it.

use crate::threads;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// What each thread had, since it began: time on a CPU, and time in which it could have run and had none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Turns(BTreeMap<u32, (Duration, Duration)>);

/// Reads them; none where the kernel keeps no `schedstat`, or the process is gone.
#[must_use]
pub fn turns(pid: u32) -> Option<Turns> {
    let mut all = BTreeMap::new();
    for tid in threads::tids(pid) {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")) else {
            continue;
        };
        let mut numbers = text.split_ascii_whitespace().filter_map(|text| text.parse().ok());
        if let (Some(ran), Some(waited)) = (numbers.next(), numbers.next()) {
            all.insert(tid, (Duration::from_nanos(ran), Duration::from_nanos(waited)));
        }
    }
    (!all.is_empty()).then_some(Turns(all))
}

impl Turns {
    /// What was added since `earlier`, all threads together: ran, waited. A thread that began since
    /// counts from its begin; one that has ended is left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> (Duration, Duration) {
        let mut sum = (Duration::ZERO, Duration::ZERO);
        for (tid, (ran, waited)) in &self.0 {
            let (ran_before, waited_before) = earlier.0.get(tid).copied().unwrap_or_default();
            sum.0 += ran.saturating_sub(ran_before);
            sum.1 += waited.saturating_sub(waited_before);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added() {
        let turns = |rows: &[(u32, u64, u64)]| {
            let row = |&(tid, ran, waited)| (tid, (Duration::from_nanos(ran), Duration::from_nanos(waited)));
            Turns(rows.iter().map(row).collect())
        };
        let added = turns(&[(1, 50, 7), (3, 4, 2)]).since(&turns(&[(1, 40, 5), (2, 100, 100)]));
        assert_eq!(added, (Duration::from_nanos(14), Duration::from_nanos(4)));
    }
}
