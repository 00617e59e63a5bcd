//! Changes of bytes, all from one seed.

/// A generator that gives the same numbers for the same seed: xorshift64*.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Less than `most`; 0 where that is 0.
    pub fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % most.max(1)
    }

    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.below(all.len());
        &all[at]
    }
}

/// What readers look for, and what does not fit where a number is meant.
const PIECES: &[&str] = &[
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "\"",
    "\\",
    ":",
    ";",
    ",",
    ".",
    "-",
    "+",
    "=",
    "/",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    "µs",
    "é",
    "\u{feff}",
    "\u{1e}",
    "\0",
    "0",
    "-1",
    "9",
    "00",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999",
    "1e308",
    "-1e308",
    "NaN",
    "inf",
    "0.0000000000001",
    "1,5",
    "2199-12-31T23:59:60Z",
    "1970-01-01T00:00:00+1459",
    "Feb 30 23:59:60",
    "Dec 31",
    "Jan  1",
    "GC(",
    "Safepoint \"",
    "Total: ",
    "*2\r\n$",
    "#TS:",
    "[{",
    "{\"",
    "null",
    "{\"log\":\"",
    "ustar",
];

/// One to eight changes. `other` lends parts.
pub fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(8) {
        let at = random.below(input.len() + 1);
        let most = if random.below(4) == 0 { 400 } else { 12 };
        let to = (at + 1 + random.below(most)).min(input.len());
        match random.below(9) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = u8::try_from(random.below(256)).unwrap_or(0),
            2 if at < to => drop(input.drain(at..to)),
            3 if at < to => {
                let again = input[at..to].to_vec();
                input.splice(at..at, again);
            }
            4 if !other.is_empty() => {
                let from = random.below(other.len());
                let until = (from + 1 + random.below(200)).min(other.len());
                input.splice(at..at, other[from..until].iter().copied());
            }
            5 => number(input, at, random),
            6 => lines(input, random),
            7 if random.below(4) == 0 => input.truncate(at),
            _ => {
                let piece = random.of(PIECES);
                input.splice(at..at, piece.bytes());
            }
        }
    }
    input.truncate(256 << 10);
}

/// Puts another number where one is.
fn number(input: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(begin) = (at..input.len()).find(|at| input[*at].is_ascii_digit()) else {
        return;
    };
    let end = (begin..input.len())
        .find(|at| !input[*at].is_ascii_digit())
        .unwrap_or(input.len());
    let piece = random.of(PIECES);
    input.splice(begin..end, piece.bytes());
}

/// Two lines change places.
fn lines(input: &mut Vec<u8>, random: &mut Random) {
    let mut all: Vec<Vec<u8>> = input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, two) = (random.below(all.len()), random.below(all.len()));
    all.swap(one, two);
    *input = all.join(&b'\n');
}
