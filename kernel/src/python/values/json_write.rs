//! Python objects into JSON's text, as `json.dumps` writes it without spaces and with characters as they are.

use std::io::Write;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::python::values::json_read::DEEPEST;
use crate::python::values::outcome::{Done, NotDone, shown};

/// The JSON of a value, behind `header`. Raises: SerializationError.
#[pyfunction]
#[pyo3(signature = (value, header=None))]
pub fn write_json<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
    header: Option<&Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut output = Vec::with_capacity(512);
    output.extend_from_slice(header.map_or(&[], |header| header.as_bytes()));
    write(value, &mut output, 0).map_err(|error| error.into_error(py))?;
    Ok(PyBytes::new(py, &output))
}

fn write(value: &Bound<'_, PyAny>, output: &mut Vec<u8>, depth: usize) -> Done<()> {
    if let Ok(text) = value.cast::<PyString>() {
        string(text, output)?;
    } else if value.is_none() {
        output.extend_from_slice(b"null");
    } else if let Ok(flag) = value.cast::<PyBool>() {
        output.extend_from_slice(if flag.is_true() { b"true" } else { b"false" });
    } else if let Ok(number) = value.cast::<PyInt>() {
        whole(number, output)?;
    } else if let Ok(number) = value.cast::<PyFloat>() {
        fraction(number.value(), output)?;
    } else if let Ok(fields) = value.cast::<PyDict>() {
        check(depth)?;
        object(fields, output, depth + 1)?;
    } else if let Ok(items) = value.cast::<PyList>() {
        check(depth)?;
        array(items.iter(), output, depth + 1)?;
    } else if let Ok(items) = value.cast::<PyTuple>() {
        check(depth)?;
        array(items.iter(), output, depth + 1)?;
    } else {
        return Err(NotDone::wrong(format!(
            "{} is no JSON value: give a str, int, float, bool, None, dict, list or tuple",
            shown(value)
        )));
    }
    Ok(())
}

/// Whether all who go down a value by recursion may. Raises: SerializationError.
#[pyfunction]
pub fn check_json_depth(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    go_down(value, 0).map_err(|error| error.into_error(py))
}

fn go_down(value: &Bound<'_, PyAny>, depth: usize) -> Done<()> {
    if let Ok(fields) = value.cast::<PyDict>() {
        check(depth)?;
        fields.iter().try_for_each(|(_, part)| go_down(&part, depth + 1))
    } else if let Ok(items) = value.cast::<PyList>() {
        check(depth)?;
        items.iter().try_for_each(|part| go_down(&part, depth + 1))
    } else if let Ok(items) = value.cast::<PyTuple>() {
        check(depth)?;
        items.iter().try_for_each(|part| go_down(&part, depth + 1))
    } else {
        Ok(())
    }
}

/// A value that contains itself would have no end.
fn check(depth: usize) -> Done<()> {
    if depth == DEEPEST {
        return Err(NotDone::wrong(format!("the value is deeper than {DEEPEST} objects and arrays")));
    }
    Ok(())
}

fn object(fields: &Bound<'_, PyDict>, output: &mut Vec<u8>, depth: usize) -> Done<()> {
    output.push(b'{');
    for (index, (name, value)) in fields.iter().enumerate() {
        let Ok(name) = name.cast::<PyString>() else {
            return Err(NotDone::wrong(format!("{} is no name: those of JSON are strings", shown(&name))));
        };
        if index > 0 {
            output.push(b',');
        }
        string(name, output)?;
        output.push(b':');
        write(&value, output, depth).map_err(|error| error.in_field(&name.to_string_lossy()))?;
    }
    output.push(b'}');
    Ok(())
}

fn array<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    output: &mut Vec<u8>,
    depth: usize,
) -> Done<()> {
    output.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            output.push(b',');
        }
        write(&item, output, depth).map_err(|error| error.in_item(index))?;
    }
    output.push(b']');
    Ok(())
}

fn whole(number: &Bound<'_, PyInt>, output: &mut Vec<u8>) -> Done<()> {
    if let Ok(small) = number.extract::<i64>() {
        return written(write!(output, "{small}"));
    }
    // The class's own, whatever a class under it makes of it.
    let text = number.py().get_type::<PyInt>().call_method1("__repr__", (number,));
    let text = text.map_err(|_| NotDone::wrong("the number has too many digits"))?;
    output.extend_from_slice(text.extract::<PyBackedStr>()?.as_bytes());
    Ok(())
}

fn fraction(number: f64, output: &mut Vec<u8>) -> Done<()> {
    if number.is_nan() {
        output.extend_from_slice(b"NaN");
    } else if number.is_infinite() {
        output.extend_from_slice(if number > 0.0 { b"Infinity" } else { b"-Infinity" });
    } else {
        return written(serde_json::to_writer(output, &number).map_err(Into::into));
    }
    Ok(())
}

fn written(outcome: std::io::Result<()>) -> Done<()> {
    outcome.map_err(|error| NotDone::wrong(error.to_string()))
}

fn string(text: &Bound<'_, PyString>, output: &mut Vec<u8>) -> Done<()> {
    output.push(b'"');
    match text.to_str() {
        Ok(text) => escaped(text, output),
        Err(_) => with_halves(text, output)?,
    }
    output.push(b'"');
    Ok(())
}

fn escaped(text: &str, output: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20) {
        output.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => output.extend_from_slice(&[b'\\', byte]),
            0x08 => output.extend_from_slice(b"\\b"),
            0x0c => output.extend_from_slice(b"\\f"),
            b'\n' => output.extend_from_slice(b"\\n"),
            b'\r' => output.extend_from_slice(b"\\r"),
            b'\t' => output.extend_from_slice(b"\\t"),
            byte => output.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = &rest[at + 1..];
    }
    output.extend_from_slice(rest);
}

/// Of a string that has halves of surrogate pairs: UTF-8 has no form for them.
#[cold]
fn with_halves(text: &Bound<'_, PyString>, output: &mut Vec<u8>) -> Done<()> {
    let class = text.py().get_type::<PyString>();
    let encoded = class.call_method1("encode", (text, "utf-16-le", "surrogatepass"))?;
    let encoded = encoded.extract::<PyBackedBytes>().map_err(PyErr::from)?;
    let units = encoded.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(character) => escaped(character.encode_utf8(&mut [0; 4]), output),
            Err(half) => output.extend_from_slice(format!("\\u{:04x}", half.unpaired_surrogate()).as_bytes()),
        }
    }
    Ok(())
}
