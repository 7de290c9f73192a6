//! What Avro's values are made of: lengths, blocks of items, numbers of a union's types.

use super::failure::Failure;
use super::wire::Input;

pub fn sized<'a>(input: &mut Input<'a>) -> Result<&'a [u8], Box<Failure>> {
    let length = input.zigzag()?;
    match usize::try_from(length) {
        Ok(length) => input.bytes(length),
        Err(_) => Err(Failure::new(format!("a length of {length} bytes"))),
    }
}

/// The number of items that follow; None at the end of an array or map.
pub fn block(input: &mut Input<'_>) -> Result<Option<u64>, Box<Failure>> {
    let count = input.zigzag()?;
    if count < 0 {
        // The block's bytes, for readers that skip it.
        input.zigzag()?;
    }
    let items = count.unsigned_abs();
    // Each takes at least a byte.
    if items > input.len() as u64 {
        return Err(Failure::new(format!("{items} items in {} bytes", input.len())));
    }
    Ok((items > 0).then_some(items))
}

pub fn branch<'a, T>(input: &mut Input<'_>, branches: &'a [T]) -> Result<&'a T, Box<Failure>> {
    let index = input.zigzag()?;
    let branch = usize::try_from(index).ok().and_then(|index| branches.get(index));
    branch
        .ok_or_else(|| Failure::new(format!("{index} is none of the {} types of its union", branches.len())))
}
