//! Reading and writing what Avro and Protocol Buffers have in common: varints and bytes of a length.

use super::failure::Failure;

/// Bytes that are still to be read.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    #[inline]
    pub fn byte(&mut self) -> Result<u8, Box<Failure>> {
        let (&first, rest) = self.0.split_first().ok_or_else(ended)?;
        self.0 = rest;
        Ok(first)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Box<Failure>> {
        let (bytes, rest) = self.0.split_first_chunk::<N>().ok_or_else(ended)?;
        self.0 = rest;
        Ok(*bytes)
    }

    #[inline]
    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], Box<Failure>> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(ended)?;
        self.0 = rest;
        Ok(bytes)
    }

    #[inline]
    pub fn varint(&mut self) -> Result<u64, Box<Failure>> {
        let first = self.byte()?;
        if first < 0x80 { Ok(first.into()) } else { self.long_varint(first) }
    }

    fn long_varint(&mut self, first: u8) -> Result<u64, Box<Failure>> {
        let mut value = u64::from(first & 0x7f);
        for shift in (7..70).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Failure::new("a number has more than 64 bits"))
    }

    #[inline]
    pub fn zigzag(&mut self) -> Result<i64, Box<Failure>> {
        Ok(unzigzag(self.varint()?))
    }
}

#[cold]
fn ended() -> Box<Failure> {
    Failure::new("the bytes end too early")
}

#[inline]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

pub fn write_varint(output: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        output.push(value as u8 | 0x80);
        value >>= 7;
    }
    output.push(value as u8);
}

pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub fn write_zigzag(output: &mut Vec<u8>, value: i64) {
    write_varint(output, zigzag(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_were_written_are_read() {
        for value in [0, 1, -1, 63, -64, 64, 1 << 40, i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            write_zigzag(&mut bytes, value);
            let mut input = Input::new(&bytes);
            assert_eq!(input.zigzag().unwrap(), value);
            assert!(input.is_empty());
            assert!(Input::new(&bytes[..bytes.len() - 1]).zigzag().is_err());
        }
    }

    #[test]
    fn a_number_that_does_not_end_is_an_error() {
        assert!(Input::new(&[0xff; 11]).varint().is_err());
        assert!(Input::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).varint().is_err());
    }
}
