//! Time zones by the names that Java takes, as Spark reads them in JSON: regions of the time zone database, Java's
//! short names, and offsets.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const MOST_SECONDS: i64 = 18 * 3600;

/// Java's `ZoneId.SHORT_IDS`.
const SHORT_NAMES: [(&str, &str); 28] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("EST", "-05:00"),
    ("HST", "-10:00"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("MST", "-07:00"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

/// Seconds since 1970 of a time that the clocks of a zone show. `local_seconds`: what they would be in UTC. A time
/// that the clocks show twice is the first of both; one that they skip is as much later as they skip, as in Java.
/// None for an unknown zone.
pub fn seconds_of(local_seconds: i64, zone: &str) -> Option<i64> {
    let name = SHORT_NAMES.iter().find(|(short, _)| *short == zone).map_or(zone, |(_, name)| name);
    if let Some(offset) = read_offset(name) {
        return Some(local_seconds - offset);
    }
    let zone = jiff::tz::db().get(name).ok()?;
    // It finds them in any case, and Java as they are written.
    if zone.iana_name() != Some(name) {
        return None;
    }
    // Beyond year 9999 is beyond jiff, too.
    let local = jiff::Timestamp::from_second(local_seconds).ok()?;
    let shown: DateTime = TimeZone::UTC.to_datetime(local);
    zone.to_timestamp(shown).ok().map(|timestamp| timestamp.as_second())
}

/// Seconds east of Greenwich: `Z`, `UTC`, `+01:00`, `+0100`, `+1`, `+01:00:30`, `GMT+1`.
fn read_offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z" | "UTC" | "GMT" | "UT") {
        return Some(0);
    }
    let text = ["UTC", "GMT", "UT"].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    let (sign, text) = match text.split_at_checked(1)? {
        ("+", text) => (1, text),
        ("-", text) => (-1, text),
        _ => return None,
    };
    let parts: Vec<_> = if text.contains(':') {
        text.split(':').collect()
    } else if text.is_ascii() && text.len() > 2 {
        text.as_bytes().chunks(2).map(|part| std::str::from_utf8(part).unwrap_or_default()).collect()
    } else {
        vec![text]
    };
    let is_last = |index| index + 1 == parts.len();
    let mut seconds = 0;
    for (index, (part, unit)) in parts.iter().zip([3600, 60, 1]).enumerate() {
        // Of one digit may be the hours, and minutes that are last: Spark takes `+1:00` and `+01:0`.
        let may_be_short = text.contains(':') && (index == 0 || index == 1 && is_last(index));
        let is_short = part.len() == 1 && (may_be_short || parts.len() == 1);
        if !(part.len() == 2 || is_short) || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let value: i64 = part.parse().ok()?;
        if index > 0 && value > 59 {
            return None;
        }
        seconds += value * unit;
    }
    (parts.len() <= 3 && seconds <= MOST_SECONDS).then_some(sign * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_as_java_and_spark_do() {
        for (text, expected) in [
            ("Z", Some(0)),
            ("UTC", Some(0)),
            ("UT+1", Some(3600)),
            ("GMT-0230", Some(-9000)),
            ("+01", Some(3600)),
            ("+1", Some(3600)),
            ("+1:00", Some(3600)),
            ("+01:0", Some(3600)),
            ("+2:0", Some(7200)),
            ("+0130", Some(5400)),
            ("-01:02:03", Some(-3723)),
            ("-010203", Some(-3723)),
            ("+18:00", Some(64_800)),
            ("+18:01", None),
            ("+19", None),
            ("+130", None),
            ("+01:60", None),
            ("+01:02:3", None),
            ("+01:02:03:04", None),
            ("+", None),
            ("+é1", None),
            ("1", None),
            ("", None),
        ] {
            assert_eq!(read_offset(text), expected, "{text}");
        }
    }

    #[test]
    fn clocks_of_regions_are_believed() {
        // 2024-03-31T02:30 is skipped in Berlin, and 2024-10-27T02:30 is there twice.
        for (local, zone, expected) in [
            (1_711_852_200, "Europe/Berlin", Some(1_711_848_600)),
            (1_729_996_200, "Europe/Berlin", Some(1_729_989_000)),
            (0, "Asia/Tokyo", Some(-32_400)),
            (0, "JST", Some(-32_400)),
            (0, "Etc/GMT+5", Some(18_000)),
            (0, "europe/berlin", None),
            (0, "Europe/Nowhere", None),
            (i64::MAX / 2, "Europe/Berlin", None),
        ] {
            assert_eq!(seconds_of(local, zone), expected, "{zone}");
        }
    }
}
