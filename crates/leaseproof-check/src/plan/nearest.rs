//! "Did you mean": the known word that a mistyped one is nearest to.

/// The nearest of `known`, if any is near enough to be meant.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let meant = |candidate: &&str| {
        let apart = distance(word, candidate);
        let begins = word.len() >= 3 && candidate.starts_with(word);
        // One who leaves out a word of the name knows what it means.
        let is_in = word.len() >= 4 && candidate.contains(word);
        (begins || is_in || apart * 3 <= candidate.len().max(3)).then_some(apart)
    };
    known
        .into_iter()
        .filter_map(|candidate| Some((meant(&candidate)?, candidate)))
        .min_by_key(|(apart, _)| *apart)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be put in, left out or changed (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["heartbeat", "pause-over-ttl", "pause-waiting", "ttl"];

    #[test]
    fn nearest_ok() {
        for (word, meant) in [
            ("hartbeat", "heartbeat"),
            ("pause-over", "pause-over-ttl"),
            ("pauseoverttl", "pause-over-ttl"),
            ("tll", "ttl"),
            ("waiting", "pause-waiting"),
        ] {
            assert_eq!(nearest(word, KNOWN), Some(meant), "{word}");
        }
    }

    #[test]
    fn nearest_bad() {
        for word in ["", "x", "xyz", "lease"] {
            assert_eq!(nearest(word, KNOWN), None, "{word}");
        }
    }
}
