//! Reading the numbers and lengths of Kafka's flexible message versions (KIP-482). Nothing where they are not what
//! their reader is for.

/// The bytes of a frame's length.
pub const LENGTH_BYTES: usize = 4;

/// What is left of a frame.
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub fn array<const SIZE: usize>(&mut self) -> Option<[u8; SIZE]> {
        self.take(SIZE)?.try_into().ok()
    }

    pub fn i16(&mut self) -> Option<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// An array's length, or that of bytes; None is null.
    pub fn length(&mut self) -> Option<Option<usize>> {
        let mut value = 0_usize;
        for shift in [0, 7, 14, 21] {
            let [byte] = self.array()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value.checked_sub(1));
            }
        }
        // As long as this nothing is in the ordinary course.
        None
    }

    pub fn expect(&mut self, value: i32) -> Option<()> {
        (self.i32()? == value).then_some(())
    }

    /// No tagged fields: each of those in an answer is about something out of the ordinary.
    pub fn no_tags(&mut self) -> Option<()> {
        (self.take(1)? == [0]).then_some(())
    }
}
