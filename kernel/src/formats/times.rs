//! Dates and times as text, in the forms of ISO 8601 that Spark reads and writes.

use std::io::Write;

use super::zones;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Days since 1970 of a day in the proleptic Gregorian calendar.
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day, of days since 1970.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn digits(text: &mut &[u8], least: usize, most: usize) -> Option<i64> {
    let count = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    if count < least {
        return None;
    }
    let value = text[..count].iter().fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
    *text = &text[count..];
    Some(value)
}

fn skip(text: &mut &[u8], accepted: &[u8]) -> Option<u8> {
    let (&first, rest) = text.split_first()?;
    if !accepted.contains(&first) {
        return None;
    }
    *text = rest;
    Some(first)
}

/// `yyyy-MM-dd`, where month and day may have one digit or be left out, and the year a sign. Also whether it has a
/// day.
fn read_date(text: &mut &[u8], most_digits: usize) -> Option<(i64, bool)> {
    let sign = if skip(text, b"+-") == Some(b'-') { -1 } else { 1 };
    let year = sign * digits(text, 4, most_digits)?;
    let mut parts = [1, 1];
    let mut count = 0;
    while count < parts.len() && skip(text, b"-").is_some() {
        parts[count] = digits(text, 1, 2)?;
        count += 1;
    }
    let [month, day] = parts;
    if !(1..=12).contains(&month) || day < 1 {
        return None;
    }
    let days = days_of(year, month, day);
    (date_of(days) == (year, month, day)).then_some((days, count == parts.len()))
}

/// Days since 1970. What comes after a day and `T` or a space is passed over, as by Spark. None if the text is no
/// date.
pub fn parse_date(text: &str) -> Option<i32> {
    let mut text = text.trim_ascii().as_bytes();
    let (days, has_day) = read_date(&mut text, 7)?;
    (text.is_empty() || has_day && skip(&mut text, b"T ").is_some()).then(|| days.try_into().ok())?
}

/// Microseconds since 1970. What is finer is cut off, a time that is left out is midnight. A zone counts where
/// `is_utc`, in which case its absence means UTC, and must not be there otherwise.
pub fn parse_timestamp(text: &str, is_utc: bool) -> Option<i64> {
    let mut text = text.trim_ascii().as_bytes();
    let (days, has_day) = read_date(&mut text, 6)?;
    let mut seconds = days * SECONDS_PER_DAY;
    let mut micros = 0;
    if has_day && skip(&mut text, b"T ").is_some() {
        let time;
        (time, micros) = read_time(&mut text)?;
        seconds += time;
    }
    if !text.is_empty() {
        if !(is_utc && has_day) {
            return None;
        }
        seconds = zones::seconds_of(seconds, std::str::from_utf8(text).ok()?.trim_ascii_start())?;
    }
    seconds.checked_mul(MICROS_PER_SECOND)?.checked_add(micros)
}

/// Seconds of the day, and microseconds. Of hours alone nothing may follow: it would look like a zone.
fn read_time(text: &mut &[u8]) -> Option<(i64, i64)> {
    let hours = digits(text, 1, 2)?;
    let (mut minutes, mut seconds, mut micros) = (0, 0, 0);
    if !text.is_empty() {
        skip(text, b":")?;
        minutes = digits(text, 1, 2)?;
        if skip(text, b":").is_some() {
            seconds = digits(text, 1, 2)?;
            if skip(text, b".,").is_some() {
                let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let kept = count.min(6);
                micros = digits(text, kept, kept)? * 10_i64.pow(6 - kept as u32);
                *text = &text[count - kept..];
            }
        }
    }
    (hours <= 23 && minutes <= 59 && seconds <= 59).then_some((hours * 3600 + minutes * 60 + seconds, micros))
}

pub fn write_date(output: &mut Vec<u8>, days: i64) {
    let (year, month, day) = date_of(days);
    // Writing to memory does not fail.
    let _ = write!(output, "{year:04}-{month:02}-{day:02}");
}

/// With milliseconds, or microseconds where there are any; instants end with `Z`.
pub fn write_timestamp(output: &mut Vec<u8>, micros: i64, is_utc: bool) {
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    let fraction = micros.rem_euclid(MICROS_PER_SECOND);
    write_date(output, seconds.div_euclid(SECONDS_PER_DAY));
    let second = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hours, minutes, second) = (second / 3600, second / 60 % 60, second % 60);
    let _ = write!(output, "T{hours:02}:{minutes:02}:{second:02}");
    let _ = if fraction % 1000 == 0 {
        write!(output, ".{:03}", fraction / 1000)
    } else {
        write!(output, ".{fraction:06}")
    };
    if is_utc {
        output.push(b'Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_centuries_is_written_and_read() {
        for days in -719_162..800_000 {
            let mut text = Vec::new();
            write_date(&mut text, days);
            assert_eq!(parse_date(std::str::from_utf8(&text).unwrap()), Some(days as i32));
        }
        assert_eq!(parse_date("1970-01-01"), Some(0));
        assert_eq!(parse_date("2000-02-29"), Some(11_016));
    }

    #[test]
    fn forms_of_a_time_are_read() {
        for (text, micros) in [
            ("1970-01-01T00:00:01Z", 1_000_000),
            ("1970-01-01 00:00:01", 1_000_000),
            ("1970-01-01T00:00:01.5", 1_500_000),
            ("1970-01-01T00:00:00.123456789Z", 123_456),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31T22:30:00-0130", 0),
            ("1970-01-01T05+05", -1),
            ("1970-01-01 05", 18_000_000_000),
            ("1970", 0),
            ("1970-02", 2_678_400_000_000),
            ("1970-01-01T00:00:00.Z", 0),
            ("1970-01-01T00:00:00.1234567890Z", 123_456),
            ("1970-01-01T09:00:00 Asia/Tokyo", 0),
            ("1970-02 Z", -1),
            ("294248-01-01", -1),
            ("1970-01-02", 86_400_000_000),
            ("1970-01-01T00:01", 60_000_000),
        ] {
            let expected = (micros >= 0).then_some(micros);
            assert_eq!(parse_timestamp(text, true), expected, "{text}");
        }
        assert_eq!(parse_timestamp("1970-01-01T00:00:01", false), Some(1_000_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "now", "2013-02-29", "2013-13-01", "2013-01-01T24:00:00", "2013-01-01T00:00:00 XYZ"]
        {
            assert_eq!(parse_timestamp(text, true), None, "{text}");
        }
        assert_eq!(parse_timestamp("1970-01-01T00:00:01Z", false), None);
        for text in ["", "13-01-01", "20130101", "2013-01-01x", "2013-01 x", "9999999-01-01"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        assert_eq!(parse_date("1970-01-02T00:00:00"), Some(1));
    }

    #[test]
    fn a_time_that_was_written_is_read() {
        for micros in [0, 1, -1, 1_372_636_800_123_456, -62_135_596_800_000_000, 253_402_300_799_999_000] {
            let mut text = Vec::new();
            write_timestamp(&mut text, micros, true);
            assert_eq!(parse_timestamp(std::str::from_utf8(&text).unwrap(), true), Some(micros));
        }
    }
}
