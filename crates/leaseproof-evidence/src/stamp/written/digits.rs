//! Digits, and what is written with them alone: a time of day, a fraction, a count of seconds.

pub(super) fn digit(bytes: &[u8], at: usize) -> Option<i32> {
    let byte = *bytes.get(at)?;
    byte.is_ascii_digit().then(|| i32::from(byte - b'0'))
}

pub(super) fn two(bytes: &[u8], at: usize) -> Option<i32> {
    Some(digit(bytes, at)? * 10 + digit(bytes, at + 1)?)
}

pub(super) fn four(bytes: &[u8], at: usize) -> Option<i32> {
    Some(two(bytes, at)? * 100 + two(bytes, at + 2)?)
}

pub(super) fn is(bytes: &[u8], at: usize, byte: u8) -> Option<()> {
    (*bytes.get(at)? == byte).then_some(())
}

/// `02:56:54`, as seconds; a leap second counts as the one before it.
pub(super) fn clock(bytes: &[u8], at: usize) -> Option<i32> {
    let hour = two(bytes, at)?;
    is(bytes, at + 2, b':')?;
    let minute = two(bytes, at + 3)?;
    is(bytes, at + 5, b':')?;
    let second = two(bytes, at + 6)?;
    (hour < 24 && minute < 60 && second <= 60).then(|| hour * 3600 + minute * 60 + second.min(59))
}

/// `.123456` or `,123`: nanoseconds, the unit of the last digit, and how many bytes it took (0: there is none).
pub(super) fn fraction(bytes: &[u8], at: usize) -> (i64, i64, usize) {
    if !matches!(bytes.get(at), Some(b'.' | b',')) {
        return (0, 1_000_000_000, 0);
    }
    let (mut nanos, mut unit, mut used) = (0_i64, 1_000_000_000_i64, 1);
    while let Some(value) = digit(bytes, at + used) {
        if unit > 1 {
            unit /= 10;
            nanos += i64::from(value) * unit;
        }
        used += 1;
    }
    if used == 1 {
        (0, 1_000_000_000, 0)
    } else {
        (nanos, unit, used)
    }
}

/// Seconds with a fraction: `4.097`, `30284,932`, `896.606278`: nanoseconds, unit, length. A whole number is none.
pub(crate) fn seconds(bytes: &[u8]) -> Option<(i64, i64, usize)> {
    let (whole, used) = number(bytes)?;
    let (nanos, unit, fraction_used) = fraction(bytes, used);
    if fraction_used == 0 || whole > 9_000_000_000 {
        return None;
    }
    Some((
        i64::try_from(whole).ok()? * 1_000_000_000 + nanos,
        unit,
        used + fraction_used,
    ))
}

/// Digits: the number and its length.
pub(crate) fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    let mut used = 0;
    while let Some(byte) = bytes.get(used).filter(|byte| byte.is_ascii_digit()) {
        value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        used += 1;
    }
    (used > 0).then_some((value, used))
}
