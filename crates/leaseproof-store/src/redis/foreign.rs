//! Commands of others, with all that may be a secret left out: what SLOWLOG and MONITOR show.

use crate::inspect::shown_key;

/// SLOWLOG cuts an argument after so many bytes.
const CUT: usize = 128;

/// Words that say how an expiry is set; all other arguments but the key may be a secret.
const OPTIONS: [&str; 11] = [
    "PX", "EX", "PXAT", "EXAT", "NX", "XX", "GT", "LT", "KEEPTTL", "GET", "PERSIST",
];

/// Whether one of the arguments is the key.
pub(crate) fn names(arguments: &[Vec<u8>], key: &[u8]) -> bool {
    arguments.iter().skip(1).any(|argument| is_key(argument, key))
}

fn is_key(argument: &[u8], key: &[u8]) -> bool {
    argument == key || key.len() > CUT && argument.len() > CUT && argument.starts_with(&key[..CUT])
}

/// The command with its key and the numbers of its expiry; the rest is `…`.
pub(crate) fn redacted(arguments: &[Vec<u8>], key: &[u8]) -> String {
    let upper = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_ascii_uppercase();
    let command = arguments.first().map(|name| upper(name)).unwrap_or_default();
    let known = !command.is_empty() && command.len() < 32 && command.bytes().all(|b| b.is_ascii_graphic());
    let mut shown = if known { command.clone() } else { "…".to_owned() };
    let mut skipped = false;
    let mut option = String::new();
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let word = upper(argument);
        let number = !argument.is_empty() && argument.len() < 20 && argument.iter().all(u8::is_ascii_digit);
        let is_ttl = number
            && (matches!(option.as_str(), "PX" | "EX" | "PXAT" | "EXAT")
                || at == 2
                    && matches!(
                        command.as_str(),
                        "PEXPIRE" | "EXPIRE" | "PEXPIREAT" | "EXPIREAT" | "SETEX" | "PSETEX"
                    ));
        let text = if is_key(argument, key) {
            shown_key(key)
        } else if is_ttl || at > 1 && OPTIONS.contains(&word.as_str()) {
            word.clone()
        } else {
            String::new()
        };
        option = word;
        if !text.is_empty() {
            shown.push(' ');
            shown.push_str(&text);
        } else if !skipped {
            shown.push_str(" …");
        }
        skipped = text.is_empty();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<u8>> {
        text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn nothing_but_key_and_ttl_is_shown() {
        for (command, shown) in [
            ("set k hunter2 px 3000 nx", "SET k … PX 3000 NX"),
            ("PEXPIRE k 3000 GT", "PEXPIRE k 3000 GT"),
            ("EVALSHA abc 1 k hunter2 3000", "EVALSHA … k …"),
            ("SETEX k 30 hunter2", "SETEX k 30 …"),
            ("SET k 1234 EX 30", "SET k … EX 30"),
            ("GET k", "GET k"),
        ] {
            assert_eq!(redacted(&words(command), b"k"), shown);
            assert!(names(&words(command), b"k"));
        }
        assert!(!names(&words("get other"), b"k"));
    }

    #[test]
    fn a_long_key_is_known_by_what_the_slow_log_keeps() {
        let key = vec![b'k'; 300];
        let kept = [vec![b'k'; CUT], b"... (172 more bytes)".to_vec()].concat();
        assert!(names(&[b"GET".to_vec(), kept], &key));
    }
}
