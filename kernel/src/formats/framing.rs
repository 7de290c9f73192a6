//! What stands before a value: nothing, or the header that Confluent's serializers write, which names a schema.

use super::failure::Failure;
use super::wire::{Input, write_zigzag};

const MAGIC: u8 = 0;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Framing {
    #[default]
    None,
    /// A zero byte and the id of the schema, which must be `schema_id` if that is given; with Protocol Buffers also
    /// the way to the message within its file.
    Confluent { schema_id: Option<u32>, message_index: Option<Vec<i32>> },
}

impl Framing {
    #[inline]
    pub fn strip<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], Box<Failure>> {
        match self {
            Self::None => Ok(bytes),
            Self::Confluent { schema_id, message_index } => {
                strip_confluent(bytes, *schema_id, message_index.as_deref())
            }
        }
    }

    pub fn message_index(&self) -> Option<&[i32]> {
        match self {
            Self::Confluent { message_index, .. } => message_index.as_deref(),
            Self::None => None,
        }
    }

    /// Writes the header, with the schema id 0 where none is given.
    pub fn write(&self, output: &mut Vec<u8>) {
        let Self::Confluent { schema_id, message_index } = self else { return };
        output.push(MAGIC);
        output.extend_from_slice(&schema_id.unwrap_or(0).to_be_bytes());
        match message_index.as_deref() {
            None => {}
            // By far the most frequent index has a form of its own.
            Some([0]) => output.push(0),
            Some(index) => {
                write_zigzag(output, index.len() as i64);
                index.iter().for_each(|&step| write_zigzag(output, step.into()));
            }
        }
    }
}

fn strip_confluent<'a>(
    bytes: &'a [u8],
    schema_id: Option<u32>,
    message_index: Option<&[i32]>,
) -> Result<&'a [u8], Box<Failure>> {
    let (id, rest) = id_of(bytes)?;
    if let Some(wanted) = schema_id.filter(|&wanted| wanted != id) {
        return Err(Failure::new(format!("it has the schema id {id}, not {wanted}")));
    }
    strip_index(rest, message_index)
}

/// The schema's id, and what stands behind it.
#[inline]
pub fn id_of(bytes: &[u8]) -> Result<(u32, &[u8]), Box<Failure>> {
    let Some((&[magic, ref id @ ..], rest)) = bytes.split_first_chunk::<5>() else {
        return Err(Failure::new(format!(
            "{} bytes are too short for the header of a schema registry",
            bytes.len()
        )));
    };
    if magic != MAGIC {
        return Err(Failure::new(format!(
            "it begins with the byte {magic} and not with the zero of a schema registry's header"
        )));
    }
    Ok((u32::from_be_bytes(*id), rest))
}

/// What stands behind the way to the message, which is `wanted`; None: there is no such way.
#[inline]
pub fn strip_index<'a>(bytes: &'a [u8], wanted: Option<&[i32]>) -> Result<&'a [u8], Box<Failure>> {
    let Some(wanted) = wanted else { return Ok(bytes) };
    let mut input = Input::new(bytes);
    let found = read_index(&mut input)?;
    if found != wanted {
        return Err(Failure::new(format!("it is message {found:?} of its schema, not {wanted:?}")));
    }
    Ok(input.rest())
}

fn read_index(input: &mut Input<'_>) -> Result<Vec<i32>, Box<Failure>> {
    let length = input.zigzag()?;
    if length == 0 {
        return Ok(vec![0]);
    }
    let length = usize::try_from(length).ok().filter(|&length| length <= input.len());
    let length = length.ok_or_else(|| Failure::new("the message index in its header is broken"))?;
    (0..length)
        .map(|_| {
            i32::try_from(input.zigzag()?)
                .map_err(|_| Failure::new("the message index in its header is broken"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_was_written_is_read() {
        for message_index in [None, Some(vec![0]), Some(vec![1]), Some(vec![0, 2, 70])] {
            let framing = Framing::Confluent { schema_id: Some(7), message_index };
            let mut bytes = Vec::new();
            framing.write(&mut bytes);
            bytes.extend_from_slice(b"rest");
            assert_eq!(framing.strip(&bytes).unwrap(), b"rest");
        }
    }

    #[test]
    fn the_form_of_a_header_is_that_of_confluents_serializers() {
        let mut bytes = Vec::new();
        Framing::Confluent { schema_id: Some(258), message_index: Some(vec![1, 0]) }.write(&mut bytes);
        assert_eq!(bytes, [0, 0, 0, 1, 2, 4, 2, 0]);
    }

    #[test]
    fn another_schema_or_none_is_an_error() {
        let framing = Framing::Confluent { schema_id: Some(7), message_index: Some(vec![1]) };
        for (bytes, message) in [
            (&b"\0\0"[..], "too short"),
            (b"{\"a\": 1}", "begins with the byte 123"),
            (b"\0\0\0\0\x08\x00", "schema id 8, not 7"),
            (b"\0\0\0\0\x07\x00", "message [0] of its schema, not [1]"),
            (b"\0\0\0\0\x07\x7f", "is broken"),
        ] {
            let failure = framing.strip(bytes).unwrap_err();
            assert!(failure.message().contains(message), "{}", failure.message());
        }
    }
}
