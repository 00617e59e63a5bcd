//! Random choices from the run's one printed seed.

use std::time::Duration;

/// A stream of draws that depends on the seed and a scenario's name alone, so that side-by-side
/// scenarios don't disturb each other's. SplitMix64 (Steele, Lea, Flood 2014): nine lines need no crate.
#[derive(Debug)]
pub struct Draw(u64);

impl Draw {
    /// The stream of one scenario.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        Self(name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A length from zero up to, and without, `below`.
    pub fn span(&mut self, below: Duration) -> Duration {
        let nanos = u64::try_from(below.as_nanos()).unwrap_or(u64::MAX).max(1);
        Duration::from_nanos(self.next() % nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_stream() {
        let below = Duration::from_secs(1);
        let draws = |seed, name| (0..4).map(|_| Draw::new(seed, name).span(below)).collect::<Vec<_>>();
        assert_eq!(draws(7, "killed"), draws(7, "killed"));
        assert_ne!(draws(7, "killed"), draws(8, "killed"));
        assert_ne!(draws(7, "killed"), draws(7, "reset"));
        let mut draw = Draw::new(7, "x");
        assert!((0..1000).all(|_| draw.span(below) < below));
    }
}
