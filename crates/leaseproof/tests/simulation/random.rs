//! Numbers by seed: splitmix64, whose whole state is one word.

/// A stream of numbers.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        // Seeds that follow one another are to have nothing in common.
        let mut random = Self(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1));
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `end`, which must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The bias is far below anything that shows here.
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in so many of a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        per_mille > 0 && self.below(1000) < per_mille
    }

    /// From 1 µs to `most`, each magnitude as often as any other.
    pub fn span(&mut self, most: u64) -> u64 {
        let least: u64 = 1_000;
        let doublings = u64::from((most / least).max(2).ilog2());
        let low = least << self.below(doublings + 1);
        self.between(low, low * 2).min(most)
    }
}
