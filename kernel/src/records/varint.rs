//! Zigzag variable-length integers, as in Protocol Buffers.

/// Reads an int32 at `position` and moves it past; None where the bytes end or the number is too long.
#[inline(always)]
pub fn read_varint(data: &[u8], position: &mut usize) -> Option<i32> {
    let raw = u32::try_from(read_raw(data, position, 5)?).ok()?;
    Some((raw >> 1) as i32 ^ -((raw & 1) as i32))
}

/// As `read_varint`, for an int64.
#[inline(always)]
pub fn read_varlong(data: &[u8], position: &mut usize) -> Option<i64> {
    let raw = read_raw(data, position, 10)?;
    Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

/// One and two bytes, which nearly all numbers in records have, without a call.
#[inline(always)]
fn read_raw(data: &[u8], position: &mut usize, max_bytes: usize) -> Option<u64> {
    let first = *data.get(*position)?;
    if first < 0x80 {
        *position += 1;
        return Some(u64::from(first));
    }
    let second = *data.get(*position + 1)?;
    if second < 0x80 {
        *position += 2;
        return Some(u64::from(first & 0x7f) | u64::from(second) << 7);
    }
    read_long_raw(data, position, max_bytes)
}

#[inline(never)]
fn read_long_raw(data: &[u8], position: &mut usize, max_bytes: usize) -> Option<u64> {
    let mut value = 0_u64;
    for index in 0..max_bytes {
        let byte = *data.get(*position + index)?;
        let bits = u64::from(byte & 0x7f);
        if index == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            *position += index + 1;
            return Some(value);
        }
    }
    None
}

#[inline]
pub fn write_varint(output: &mut Vec<u8>, value: i32) {
    write_varlong(output, i64::from(value));
}

#[inline]
pub fn write_varlong(output: &mut Vec<u8>, value: i64) {
    let mut raw = ((value << 1) ^ (value >> 63)) as u64;
    while raw >= 0x80 {
        output.push(raw as u8 | 0x80);
        raw >>= 7;
    }
    output.push(raw as u8);
}

/// Writes at the front of `output`, which has room for it; gives what lies behind. One and two bytes without a call.
#[inline(always)]
pub fn put_varlong(output: &mut [u8], value: i64) -> &mut [u8] {
    let raw = ((value << 1) ^ (value >> 63)) as u64;
    let size = raw_size(raw);
    let (front, rest) = output.split_at_mut(size);
    match front {
        [only] => *only = raw as u8,
        [first, second] => {
            *first = raw as u8 | 0x80;
            *second = (raw >> 7) as u8;
        }
        _ => put_long_raw(front, raw),
    }
    rest
}

#[inline(never)]
fn put_long_raw(output: &mut [u8], mut raw: u64) {
    if let Some((last, others)) = output.split_last_mut() {
        for byte in others {
            *byte = raw as u8 | 0x80;
            raw >>= 7;
        }
        *last = raw as u8;
    }
}

/// Bytes that `write_varlong` makes of `value`.
#[inline(always)]
pub fn varlong_size(value: i64) -> usize {
    raw_size(((value << 1) ^ (value >> 63)) as u64)
}

#[inline(always)]
fn raw_size(raw: u64) -> usize {
    if raw < 0x80 {
        1
    } else if raw < 0x4000 {
        2
    } else {
        (70 - raw.leading_zeros() as usize) / 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_with_the_size_foretold() {
        let mut values = vec![0, 1, -1, 63, -64, 64, -65, i64::MAX, i64::MIN];
        values.extend((0..63).flat_map(|shift| [1 << shift, (1 << shift) - 1, -(1 << shift)]));
        for value in values {
            let mut bytes = Vec::new();
            write_varlong(&mut bytes, value);
            assert_eq!(bytes.len(), varlong_size(value), "{value}");
            let mut room = [0; 11];
            assert_eq!(put_varlong(&mut room, value).len(), room.len() - bytes.len());
            assert_eq!(room[..bytes.len()], bytes);
            let mut position = 0;
            assert_eq!(read_varlong(&bytes, &mut position), Some(value));
            assert_eq!(position, bytes.len());
            position = 0;
            assert_eq!(read_varint(&bytes, &mut position), i32::try_from(value).ok());
            assert_eq!(read_varlong(&bytes[..bytes.len() - 1], &mut 0), None);
        }
    }

    #[test]
    fn a_number_without_end_is_refused() {
        assert_eq!(read_varint(&[0xff; 20], &mut 0), None);
        assert_eq!(read_varlong(&[0xff; 20], &mut 0), None);
    }
}
