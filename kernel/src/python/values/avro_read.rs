//! Avro's binary encoding into Python objects.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::formats::Input;
use crate::python::values::avro_plan::{AvroRecord, Meaning, Node, Plain, Plan};
use crate::python::values::classes::Classes;
use crate::python::values::outcome::{Done, NotDone};

/// Bytes that were made up would lead deeper and deeper into a type that contains itself.
const DEEPEST: usize = 300;
/// Of an array whose items take no bytes.
const MOST_EMPTY_ITEMS: u64 = 1 << 20;

pub struct Reading<'a> {
    pub plan: &'a Plan,
    pub classes: &'a Classes,
}

impl Reading<'_> {
    pub fn value<'py>(
        &self,
        py: Python<'py>,
        node: &Node,
        input: &mut Input<'_>,
        depth: usize,
    ) -> Done<Bound<'py, PyAny>> {
        match node {
            Node::Plain(plain) => self.plain(py, *plain, input),
            Node::Meant(plain, meaning) => self.meant(py, *plain, *meaning, input),
            Node::Record(number) => {
                if depth > DEEPEST {
                    return Err(NotDone::wrong(format!("the value is deeper than {DEEPEST} records")));
                }
                self.record(py, &self.plan.records[*number], input, depth + 1)
            }
            Node::Union(branches) => {
                let index = input.zigzag()?;
                let Some(branch) = usize::try_from(index).ok().and_then(|index| branches.get(index)) else {
                    return Err(NotDone::wrong(format!(
                        "{index} is none of the {} types of its union",
                        branches.len()
                    )));
                };
                let value = self.value(py, &branch.node, input, depth)?;
                if branch.is_told {
                    return Ok(PyTuple::new(py, [branch.name.bind(py).as_any(), &value])?.into_any());
                }
                Ok(value)
            }
            Node::Enum(found) => {
                let index = input.zigzag()?;
                match usize::try_from(index).ok().and_then(|index| found.symbols.get(index)) {
                    Some(Ok(symbol)) => Ok(symbol.bind(py).clone().into_any()),
                    Some(Err(reason)) => Err(NotDone::wrong(reason)),
                    None => {
                        Err(NotDone::wrong(format!("{index} is none of the {} symbols", found.symbols.len())))
                    }
                }
            }
            Node::Array(item) => self.array(py, item, input, depth),
            Node::Map(value) => self.map(py, value, input, depth),
            Node::Mismatch(reason) => Err(NotDone::wrong(reason)),
        }
    }

    fn record<'py>(
        &self,
        py: Python<'py>,
        record: &AvroRecord,
        input: &mut Input<'_>,
        depth: usize,
    ) -> Done<Bound<'py, PyAny>> {
        let found = PyDict::new(py);
        for field in &record.fields {
            let value = match &field.default {
                None => self.value(py, &field.node, input, depth),
                Some(default) => self.value(py, &field.node, &mut Input::new(default), depth),
            };
            let value = value.map_err(|error| error.in_field(&field.text))?;
            if !field.is_skipped {
                found.set_item(&field.name, value)?;
            }
        }
        Ok(found.into_any())
    }

    fn array<'py>(
        &self,
        py: Python<'py>,
        item: &Node,
        input: &mut Input<'_>,
        depth: usize,
    ) -> Done<Bound<'py, PyAny>> {
        let found = PyList::empty(py);
        let mut empty = 0;
        while let Some(count) = block(input)? {
            for _ in 0..count {
                let before = input.len();
                if before == 0 && count > MOST_EMPTY_ITEMS {
                    return Err(NotDone::wrong(format!("{count} items in no bytes")));
                }
                let value = self.value(py, item, input, depth);
                let value = value.map_err(|error| error.in_item(found.len()))?;
                if input.len() == before {
                    empty += 1;
                    if empty > MOST_EMPTY_ITEMS {
                        return Err(NotDone::wrong("an array of too many items that take no bytes"));
                    }
                }
                found.append(value)?;
            }
        }
        Ok(found.into_any())
    }

    fn map<'py>(
        &self,
        py: Python<'py>,
        node: &Node,
        input: &mut Input<'_>,
        depth: usize,
    ) -> Done<Bound<'py, PyAny>> {
        let found = PyDict::new(py);
        while let Some(count) = block(input)? {
            for _ in 0..count {
                let key = text(py, sized(input)?)?;
                let value = self.value(py, node, input, depth);
                found.set_item(&key, value.map_err(|error| error.in_item(format!("{key:?}")))?)?;
            }
        }
        Ok(found.into_any())
    }

    fn plain<'py>(&self, py: Python<'py>, plain: Plain, input: &mut Input<'_>) -> Done<Bound<'py, PyAny>> {
        Ok(match plain {
            Plain::Null => py.None().into_bound(py),
            Plain::Boolean => match input.byte()? {
                value @ 0..=1 => PyBool::new(py, value == 1).to_owned().into_any(),
                other => return Err(NotDone::wrong(format!("{other} is no boolean"))),
            },
            Plain::Int => PyInt::new(py, int(input)?).into_any(),
            Plain::Long => PyInt::new(py, input.zigzag()?).into_any(),
            Plain::LongAsDouble => PyFloat::new(py, input.zigzag()? as f64).into_any(),
            Plain::Float => PyFloat::new(py, f32::from_le_bytes(input.array()?).into()).into_any(),
            Plain::Double => PyFloat::new(py, f64::from_le_bytes(input.array()?)).into_any(),
            Plain::Bytes => PyBytes::new(py, sized(input)?).into_any(),
            Plain::String => text(py, sized(input)?)?.into_any(),
            Plain::Fixed(size) => PyBytes::new(py, input.bytes(size)?).into_any(),
        })
    }

    fn meant<'py>(
        &self,
        py: Python<'py>,
        plain: Plain,
        meaning: Meaning,
        input: &mut Input<'_>,
    ) -> Done<Bound<'py, PyAny>> {
        let classes = self.classes;
        match meaning {
            Meaning::Date => classes.date_of(py, int(input)?)?.ok_or_else(out_of_range),
            Meaning::TimeMillis => self.time(py, int(input)? * 1000),
            Meaning::TimeMicros => self.time(py, input.zigzag()?),
            Meaning::TimestampMillis => self.moment(py, input.zigzag()?.checked_mul(1000), false),
            Meaning::TimestampMicros => self.moment(py, Some(input.zigzag()?), false),
            Meaning::LocalMillis => self.moment(py, input.zigzag()?.checked_mul(1000), true),
            Meaning::LocalMicros => self.moment(py, Some(input.zigzag()?), true),
            Meaning::Uuid => {
                let bytes = raw(plain, input)?;
                let number = match plain {
                    Plain::String => uuid_in(bytes),
                    _ => bytes.try_into().ok().map(u128::from_be_bytes),
                };
                match number {
                    Some(number) => Ok(classes.uuid_of(py, number)?),
                    None => Err(NotDone::wrong(format!("{:?} is no UUID", text(py, bytes)?.to_str()?))),
                }
            }
            Meaning::Duration => {
                let mut part = || -> Done<u32> { Ok(u32::from_le_bytes(input.array()?)) };
                let parts = (part()?, part()?, part()?);
                Ok(classes.duration.bind(py).call1(parts)?)
            }
            Meaning::Decimal { scale, .. } => {
                let bytes = raw(plain, input)?;
                // Exact, whatever the context's precision is.
                let text = match big_endian(bytes) {
                    Some(unscaled) => format!("{unscaled}E-{scale}"),
                    None => {
                        let all = PyBytes::new(py, bytes);
                        let signed = PyDict::new(py);
                        signed.set_item("signed", true)?;
                        let int =
                            py.get_type::<PyInt>().call_method("from_bytes", (all, "big"), Some(&signed))?;
                        format!("{int}E-{scale}")
                    }
                };
                Ok(classes.decimal.bind(py).call1((text,))?)
            }
        }
    }

    fn time<'py>(&self, py: Python<'py>, micros: i64) -> Done<Bound<'py, PyAny>> {
        if !(0..86_400_000_000).contains(&micros) {
            return Err(NotDone::wrong("the time is none of a day"));
        }
        Ok(self.classes.time_of(py, micros)?)
    }

    fn moment<'py>(&self, py: Python<'py>, micros: Option<i64>, is_local: bool) -> Done<Bound<'py, PyAny>> {
        let micros = micros.ok_or_else(out_of_range)?;
        self.classes.moment_of(py, micros, is_local)?.ok_or_else(out_of_range)
    }
}

#[cold]
fn out_of_range() -> NotDone {
    NotDone::wrong("the year is not between 1 and 9999, which Python's are")
}

fn int(input: &mut Input<'_>) -> Done<i64> {
    let value = input.zigzag()?;
    if i32::try_from(value).is_err() {
        return Err(NotDone::wrong(format!("{value} is too large for its type")));
    }
    Ok(value)
}

fn sized<'a>(input: &mut Input<'a>) -> Done<&'a [u8]> {
    let length = input.zigzag()?;
    match usize::try_from(length) {
        Ok(length) => Ok(input.bytes(length)?),
        Err(_) => Err(NotDone::wrong(format!("a length of {length} bytes"))),
    }
}

fn raw<'a>(plain: Plain, input: &mut Input<'a>) -> Done<&'a [u8]> {
    match plain {
        Plain::Fixed(size) => Ok(input.bytes(size)?),
        _ => sized(input),
    }
}

fn text<'py>(py: Python<'py>, bytes: &[u8]) -> Done<Bound<'py, PyString>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text)),
        Err(error) => Err(NotDone::wrong(format!("not UTF-8: {error}"))),
    }
}

/// The number of items that follow; None at the end of an array or map.
fn block(input: &mut Input<'_>) -> Done<Option<u64>> {
    let count = input.zigzag()?;
    if count < 0 {
        // The block's bytes, for readers that skip it.
        input.zigzag()?;
    }
    let items = count.unsigned_abs();
    Ok((items > 0).then_some(items))
}

/// Of 32 hexadecimal digits, with hyphens anywhere.
fn uuid_in(text: &[u8]) -> Option<u128> {
    let mut number = 0;
    let mut count = 0;
    for &byte in text.iter().filter(|&&byte| byte != b'-') {
        number = (number << 4) | u128::from(char::from(byte).to_digit(16)?);
        count += 1;
    }
    (count == 32).then_some(number)
}

/// None for more bytes than a number of the machine has.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    if bytes.len() > 16 {
        return None;
    }
    let sign = if bytes.first().is_some_and(|first| first & 0x80 != 0) { -1 } else { 0 };
    Some(bytes.iter().fold(sign, |value: i128, &byte| (value << 8) | i128::from(byte)))
}

pub fn to_object<'py>(py: Python<'py>, reading: &Reading<'_>, bytes: &[u8]) -> Done<Bound<'py, PyAny>> {
    let mut input = Input::new(bytes);
    let value = reading.value(py, &reading.plan.root, &mut input, 0)?;
    if !input.is_empty() {
        return Err(NotDone::wrong(format!(
            "{} bytes are left over: it was written with another schema",
            input.len()
        )));
    }
    Ok(value.into_bound_py_any(py)?)
}
