//! A fencing token as a header brings it.

use leaseproof_model::name::Token;
use thiserror::Error;

/// The greatest token: what a signed 64-bit number of a database can hold.
pub const GREATEST: Token = Token(i64::MAX as u64);

/// Why there is no token.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadToken {
    /// The write carries none.
    #[error("the write carries no fencing token: send the token of the lease that it is done under")]
    Missing,
    /// More than one header, or a list in one.
    #[error("the write carries more than one fencing token: send exactly one")]
    Duplicated,
    /// A number below zero.
    #[error("the fencing token is negative: tokens are whole numbers from 0 to {GREATEST}")]
    Negative,
    /// A number above the greatest.
    #[error("the fencing token is above {GREATEST}, the greatest that every database can hold")]
    TooGreat,
    /// Anything else.
    #[error("the fencing token is not a number: tokens are decimal digits only, from 0 to {GREATEST}")]
    NotANumber,
}

/// The token in the values of its header, of which there must be exactly one.
///
/// # Errors
/// Which of the ways to be wrong it is. Nothing is guessed: a token that two readers could read differently
/// (a sign, a space inside, an exponent) is none.
pub fn parse<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Result<Token, BadToken> {
    let text = values.next().ok_or(BadToken::Missing)?;
    if values.next().is_some() {
        return Err(BadToken::Duplicated);
    }
    match text {
        [] => Err(BadToken::Missing),
        _ if text.contains(&b',') => Err(BadToken::Duplicated),
        [b'-', digits @ ..] if all_digits(digits) => Err(BadToken::Negative),
        _ if !all_digits(text) => Err(BadToken::NotANumber),
        _ => number(text).filter(|it| *it <= GREATEST).ok_or(BadToken::TooGreat),
    }
}

fn all_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// None where it doesn't fit 64 bits.
fn number(digits: &[u8]) -> Option<Token> {
    std::str::from_utf8(digits).ok()?.parse().ok().map(Token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_be_wrong() {
        let cases: &[(&[&str], Result<u64, BadToken>)] = &[
            (&["7"], Ok(7)),
            (&["0"], Ok(0)),
            (&["9223372036854775807"], Ok(i64::MAX as u64)),
            (&["0000000000000000000000042"], Ok(42)),
            (&[], Err(BadToken::Missing)),
            (&[""], Err(BadToken::Missing)),
            (&["5", "5"], Err(BadToken::Duplicated)),
            (&["5, 6"], Err(BadToken::Duplicated)),
            (&["-1"], Err(BadToken::Negative)),
            (&["-"], Err(BadToken::NotANumber)),
            (&["+5"], Err(BadToken::NotANumber)),
            (&["5.0"], Err(BadToken::NotANumber)),
            (&["1e3"], Err(BadToken::NotANumber)),
            (&["0x10"], Err(BadToken::NotANumber)),
            (&["1 2"], Err(BadToken::NotANumber)),
            (&["\u{665}"], Err(BadToken::NotANumber)),
            (&["9223372036854775808"], Err(BadToken::TooGreat)),
            (&["18446744073709551616"], Err(BadToken::TooGreat)),
        ];
        for (values, expected) in cases {
            let got = parse(values.iter().map(|it| it.as_bytes()));
            assert_eq!(got, expected.clone().map(Token), "{values:?}");
        }
    }
}
