//! Text that others chose, made safe to show: it may neither steer a terminal nor hide what it is.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` with every control character and every invisible or direction-changing character written out
/// as `\u{..}`, so that a key can't move a cursor, recolour a line or reverse it.
///
/// Line feeds are written out too: one piece of foreign text never becomes two lines.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hides) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hides(c) {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{61c}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_ok() {
        assert!(matches!(visible("canary/démo – 東京"), Cow::Borrowed(_)));
    }

    #[test]
    fn escapes_and_reversals_are_written_out_bad() {
        assert_eq!(visible("a\u{1b}[2Jb\nc\u{202e}d"), "a\\u{1b}[2Jb\\u{a}c\\u{202e}d");
    }
}
