//! Keys that no text can hold, in hex.

/// The bytes of a key in hex.
///
/// # Errors
/// What is wrong with it, and what would be right.
pub fn key_from_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()),
        _ => Err(format!(
            "`{text}` is not hex: write two digits a byte, such as 6c6f636b for `lock`"
        )),
    }
}
