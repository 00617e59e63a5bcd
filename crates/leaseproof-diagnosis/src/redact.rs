//! Lines as they are shown: short, and without what may be a secret.

/// The longest text of a line that is shown.
const LONGEST: usize = 240;

/// Names whose value is a secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "secret",
    "apikey",
    "api_key",
    "authorization",
    "access_token",
    "masterauth",
    "requirepass",
];

/// Stands where something was cut out.
const CUT: &str = "***";

/// The line, short and redacted.
#[must_use]
pub fn shown(line: &str) -> String {
    let mut text = redact(line.trim_end());
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Passwords of URLs (`//user:secret@`), values of fields that are named as secrets, and the words after AUTH.
fn redact(line: &str) -> String {
    let mut text = line.to_owned();
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("://")) {
        let start = from + found + 3;
        let rest = text.get(start..).unwrap_or_default();
        let end = rest
            .find(|c: char| c == '/' || c.is_whitespace() || c == '"')
            .unwrap_or(rest.len());
        let login = rest.get(..end).unwrap_or_default();
        if let Some(at) = login.rfind('@')
            && let Some(colon) = login.get(..at).and_then(|login| login.find(':'))
        {
            text.replace_range(start + colon + 1..start + at, CUT);
        }
        from = start;
    }
    let mut from = 0;
    loop {
        let lower = text.to_ascii_lowercase();
        let Some((at, name)) = NAMES
            .iter()
            .filter_map(|name| Some((from + lower.get(from..)?.find(name)?, name)))
            .min()
        else {
            break;
        };
        let start = at + name.len();
        let rest = text.get(start..).unwrap_or_default();
        let gap = rest.len() - rest.trim_start_matches(['"', '\'', '=', ':', ' ']).len();
        let value = rest.get(gap..).unwrap_or_default();
        let end = value.find(['"', '\'', ' ', ',', ';', '&', '}']).unwrap_or(value.len());
        let is_field = rest.get(..gap).is_some_and(|gap| gap.contains(['=', ':', '"']));
        if is_field && end > 0 {
            text.replace_range(start + gap..start + gap + end, CUT);
        }
        from = start;
    }
    let lower = text.to_ascii_lowercase();
    if let Some(at) = lower.find("\"auth\" ") {
        text.truncate(at + "\"auth\" ".len());
        text.push_str(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_cut_out() {
        for (line, shown_as) in [
            (
                "connect redis://me:hunter2@10.0.0.5/0 ok",
                "connect redis://me:***@10.0.0.5/0 ok",
            ),
            ("password=hunter2 user=me", "password=*** user=me"),
            (r#"{"password":"hunter2","a":1}"#, r#"{"password":"***","a":1}"#),
            (
                r#"17.1 [0 1.1.1.1:1] "AUTH" "hunter2""#,
                r#"17.1 [0 1.1.1.1:1] "AUTH" ***"#,
            ),
            ("token=41 accepted", "token=41 accepted"),
            ("the password was wrong", "the password was wrong"),
        ] {
            assert_eq!(shown(line), shown_as);
        }
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let shown = shown(&"é".repeat(400));
        assert!(shown.ends_with('…') && shown.len() <= LONGEST + 3);
    }
}
