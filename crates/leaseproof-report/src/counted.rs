//! Numbers with what they count, in the singular where it is one.

/// `1 renewal`, `2 renewals`.
#[must_use]
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(0, "reading"), "0 readings");
        assert_eq!(counted(1, "reading"), "1 reading");
        assert_eq!(counted(2, "reading"), "2 readings");
    }
}
