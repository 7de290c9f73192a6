//! Decimals: as text, as JSON's numbers have them, and as big-endian bytes, as Avro's have them.

use std::io::Write;

const MAX_DIGITS: i64 = 38;

/// The number without its point, of so many digits at most; None if it has more before the point. What is beyond
/// the scale is rounded, half away from zero, as Spark does.
pub fn parse_decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (is_negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // How many digits of all are kept: those before the point, wherever that is now, and `scale` more.
    let kept = whole.len() as i64 + i64::from(exponent) + i64::from(scale);
    let (mut value, mut seen) = (0_i128, 0_i64);
    let mut rounds_up = false;
    for byte in whole.bytes().chain(fraction.bytes()) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        if seen < kept {
            value = value.checked_mul(10)?.checked_add(digit.into())?;
        } else if seen == kept {
            rounds_up = digit >= 5;
        }
        seen += 1;
    }
    if seen < kept && value != 0 {
        let missing = (kept - seen).min(MAX_DIGITS + 1) as u32;
        value = value.checked_mul(10_i128.checked_pow(missing)?)?;
    }
    value = value.checked_add(rounds_up.into())?;
    let value = if is_negative { -value } else { value };
    fits(value, precision).then_some(value)
}

pub fn fits(value: i128, precision: u8) -> bool {
    value.unsigned_abs() < 10_u128.pow(precision.min(MAX_DIGITS as u8).into())
}

pub fn write_decimal(output: &mut Vec<u8>, unscaled: i128, scale: u8) {
    let digits = unscaled.unsigned_abs();
    let unit = 10_u128.pow(scale.into());
    let sign = if unscaled < 0 { "-" } else { "" };
    // Writing to memory does not fail.
    let _ = write!(output, "{sign}{}", digits / unit);
    if scale > 0 {
        let _ = write!(output, ".{:0width$}", digits % unit, width = scale.into());
    }
}

/// Two's complement, big-endian; None if it is of more than 16 bytes.
pub fn from_big_endian(bytes: &[u8]) -> Option<i128> {
    let is_negative = bytes.first().is_some_and(|&first| first >= 0x80);
    let filling = if is_negative { 0xff } else { 0 };
    let (extra, bytes) = bytes.split_at(bytes.len().saturating_sub(16));
    // Bytes beyond 16 may only repeat the sign, which the 16 must show too.
    let shows_sign = extra.is_empty() || bytes.first().is_some_and(|&first| (first >= 0x80) == is_negative);
    if !shows_sign || extra.iter().any(|&byte| byte != filling) {
        return None;
    }
    let mut whole = [filling; 16];
    whole[16 - bytes.len()..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(whole))
}

/// The shortest two's complement.
pub fn to_big_endian(value: &[u8; 16]) -> &[u8] {
    let filling = if value[0] >= 0x80 { 0xff } else { 0 };
    let same = value.iter().take(15).take_while(|&&byte| byte == filling).count();
    // A byte with the sign must be left.
    let start = if (value[same] >= 0x80) == (filling == 0xff) { same } else { same - 1 };
    &value[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_exactly() {
        for (text, expected) in [
            ("1.25", Some(125)),
            ("-1.255", Some(-126)),
            ("1.254", Some(125)),
            ("0", Some(0)),
            ("12e1", Some(12_000)),
            ("1234e-3", Some(123)),
            ("5e-3", Some(1)),
            ("4e-9", Some(0)),
            ("1e400000", None),
            ("0e400000", Some(0)),
            ("99999999.994", Some(9_999_999_999)),
            ("99999999.995", None),
            ("123456789", None),
            ("x", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(parse_decimal(text, 10, 2), expected, "{text}");
        }
    }

    #[test]
    fn a_decimal_that_was_written_is_read() {
        let largest = 10_i128.pow(38) - 1;
        for value in [0, 1, -1, 99, -100, 12_345, largest, -largest] {
            for scale in [0, 1, 2, 20, 38] {
                let mut text = Vec::new();
                write_decimal(&mut text, value, scale);
                assert_eq!(parse_decimal(std::str::from_utf8(&text).unwrap(), 38, scale), Some(value));
            }
        }
    }

    #[test]
    fn bytes_are_the_shortest_and_read_back() {
        for value in [0, 1, -1, 127, 128, -128, -129, 255, 256, i128::MAX, i128::MIN] {
            let bytes = value.to_be_bytes();
            let short = to_big_endian(&bytes);
            assert_eq!(from_big_endian(short), Some(value));
            assert!(short.len() == 1 || from_big_endian(&short[1..]) != Some(value));
            let filling = if value < 0 { 0xff } else { 0 };
            let long = [&[filling; 4], short].concat();
            assert_eq!(from_big_endian(&long), Some(value));
        }
        assert_eq!(from_big_endian(&[1; 17]), None);
        assert_eq!(from_big_endian(&[]), Some(0));
    }
}
