//! JSON's text into Python objects, as `json.loads` reads it: numbers of any length, the last of equal names,
//! NaN and infinities, and halves of surrogate pairs.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::python::objects::input::BorrowedInput;
use crate::python::values::outcome::{Done, NotDone};

/// What follows (validators, rules) goes down a value by recursion, in stacks of unknown size.
pub const DEEPEST: usize = 300;

/// The value of the JSON behind the first `offset` bytes. Raises: SerializationError.
#[pyfunction]
#[pyo3(signature = (data, offset=0))]
pub fn read_json<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    offset: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let input = BorrowedInput::of(data)?;
    whole(py, input.as_ref().get(offset..).unwrap_or_default()).map_err(|error| error.into_error(py))
}

fn whole<'py>(py: Python<'py>, bytes: &[u8]) -> Done<Bound<'py, PyAny>> {
    let text = std::str::from_utf8(bytes).map_err(|error| NotDone::wrong(format!("not UTF-8: {error}")))?;
    let mut reader = Reader { text, bytes, at: 0 };
    let value = reader.value(py, 0)?;
    reader.skip_space();
    if reader.at < bytes.len() {
        return Err(reader.unexpected("the end"));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn value<'py>(&mut self, py: Python<'py>, depth: usize) -> Done<Bound<'py, PyAny>> {
        self.skip_space();
        match self.bytes.get(self.at) {
            Some(b'"') => Ok(self.string(py)?.into_any()),
            Some(b'{' | b'[') if depth == DEEPEST => {
                Err(NotDone::wrong(format!("the value is deeper than {DEEPEST} objects and arrays")))
            }
            Some(b'{') => self.object(py, depth + 1),
            Some(b'[') => self.array(py, depth + 1),
            Some(b'-' | b'0'..=b'9') => self.number(py),
            _ => self.word(py),
        }
    }

    fn object<'py>(&mut self, py: Python<'py>, depth: usize) -> Done<Bound<'py, PyAny>> {
        let found = PyDict::new(py);
        self.at += 1;
        if self.takes(b'}') {
            return Ok(found.into_any());
        }
        loop {
            self.skip_space();
            if self.bytes.get(self.at) != Some(&b'"') {
                return Err(self.unexpected("a name in quotation marks"));
            }
            let name = self.string(py)?;
            if !self.takes(b':') {
                return Err(self.unexpected("':'"));
            }
            let value = self.value(py, depth).map_err(|error| error.in_field(&name.to_string_lossy()))?;
            found.set_item(name, value)?;
            if self.takes(b'}') {
                return Ok(found.into_any());
            }
            if !self.takes(b',') {
                return Err(self.unexpected("',' or '}'"));
            }
        }
    }

    fn array<'py>(&mut self, py: Python<'py>, depth: usize) -> Done<Bound<'py, PyAny>> {
        let found = PyList::empty(py);
        self.at += 1;
        if self.takes(b']') {
            return Ok(found.into_any());
        }
        loop {
            let value = self.value(py, depth).map_err(|error| error.in_item(found.len()))?;
            found.append(value)?;
            if self.takes(b']') {
                return Ok(found.into_any());
            }
            if !self.takes(b',') {
                return Err(self.unexpected("',' or ']'"));
            }
        }
    }

    fn word<'py>(&mut self, py: Python<'py>) -> Done<Bound<'py, PyAny>> {
        let rest = &self.bytes[self.at..];
        let (length, value) = if rest.starts_with(b"true") {
            (4, PyBool::new(py, true).to_owned().into_any())
        } else if rest.starts_with(b"false") {
            (5, PyBool::new(py, false).to_owned().into_any())
        } else if rest.starts_with(b"null") {
            (4, py.None().into_bound(py))
        } else if rest.starts_with(b"NaN") {
            (3, PyFloat::new(py, f64::NAN).into_any())
        } else if rest.starts_with(b"Infinity") {
            (8, PyFloat::new(py, f64::INFINITY).into_any())
        } else {
            return Err(self.unexpected("a value"));
        };
        self.at += length;
        Ok(value)
    }

    fn number<'py>(&mut self, py: Python<'py>) -> Done<Bound<'py, PyAny>> {
        let start = self.at;
        self.skip_one(b"-");
        if self.bytes[self.at..].starts_with(b"Infinity") {
            self.at += "Infinity".len();
            return Ok(PyFloat::new(py, f64::NEG_INFINITY).into_any());
        }
        // A zero is alone before the point.
        if !self.skip_one(b"0") && self.skip_digits() == 0 {
            return Err(self.unexpected("a digit"));
        }
        let mut is_whole = true;
        if self.skip_one(b".") {
            is_whole = false;
            if self.skip_digits() == 0 {
                return Err(self.unexpected("a digit"));
            }
        }
        if self.skip_one(b"eE") {
            is_whole = false;
            self.skip_one(b"+-");
            if self.skip_digits() == 0 {
                return Err(self.unexpected("a digit"));
            }
        }
        let text = &self.text[start..self.at];
        if !is_whole {
            let value: f64 = text.parse().map_err(|_| NotDone::wrong(format!("{text} is no number")))?;
            return Ok(PyFloat::new(py, value).into_any());
        }
        match text.parse::<i64>() {
            Ok(value) => Ok(PyInt::new(py, value).into_any()),
            Err(_) => py.get_type::<PyInt>().call1((text,)).map_err(|_| {
                // Python's own limit, against numbers that take hours.
                NotDone::wrong(format!("a number of {} digits is too long", text.len()))
            }),
        }
    }

    fn string<'py>(&mut self, py: Python<'py>) -> Done<Bound<'py, PyString>> {
        self.at += 1;
        let start = self.at;
        let mut decoded: Option<Decoded> = None;
        let mut run = start;
        loop {
            let rest = &self.bytes[self.at..];
            let plain = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
            let Some(plain) = plain else {
                self.at = self.bytes.len();
                return Err(self.unexpected("'\"'"));
            };
            self.at += plain;
            match self.bytes[self.at] {
                b'"' => {
                    let last = &self.text[run..self.at];
                    self.at += 1;
                    return match decoded {
                        None => Ok(PyString::new(py, last)),
                        Some(decoded) => decoded.with(last.as_bytes()).into_string(py),
                    };
                }
                b'\\' => {
                    let before = &self.bytes[run..self.at];
                    let decoded = decoded.get_or_insert_default();
                    decoded.bytes.extend_from_slice(before);
                    self.escape(decoded)?;
                    run = self.at;
                }
                _ => return Err(self.unexpected("no control character in a string")),
            }
        }
    }

    fn escape(&mut self, decoded: &mut Decoded) -> Done<()> {
        self.at += 1;
        let byte = match self.bytes.get(self.at) {
            Some(&byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode(decoded),
            _ => return Err(self.unexpected("an escape")),
        };
        self.at += 1;
        decoded.bytes.push(byte);
        Ok(())
    }

    fn unicode(&mut self, decoded: &mut Decoded) -> Done<()> {
        let first = self.unit()?;
        if let 0xd800..=0xdbff = first {
            let before = self.at;
            if self.bytes[self.at..].starts_with(b"\\u") {
                self.at += 1;
                let second = self.unit()?;
                if let Some(Ok(pair)) = char::decode_utf16([first, second]).next() {
                    decoded.push(pair);
                    return Ok(());
                }
                self.at = before;
            }
        }
        match char::from_u32(first.into()) {
            Some(character) => decoded.push(character),
            None => decoded.push_half(first),
        }
        Ok(())
    }

    /// Of `uXXXX`.
    fn unit(&mut self) -> Done<u16> {
        let digits = self.bytes.get(self.at + 1..self.at + 5).unwrap_or_default();
        let mut unit = 0;
        for &digit in digits {
            match char::from(digit).to_digit(16) {
                Some(value) => unit = unit << 4 | value as u16,
                None => return Err(self.unexpected("four hexadecimal digits")),
            }
        }
        if digits.len() < 4 {
            return Err(self.unexpected("four hexadecimal digits"));
        }
        self.at += 5;
        Ok(unit)
    }

    /// Whether the next character, behind spaces, is that one; it is taken then.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn skip_one(&mut self, of: &[u8]) -> bool {
        let is_there = self.bytes.get(self.at).is_some_and(|byte| of.contains(byte));
        self.at += usize::from(is_there);
        is_there
    }

    fn skip_digits(&mut self) -> usize {
        let rest = &self.bytes[self.at..];
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += count;
        count
    }

    #[cold]
    fn unexpected(&self, wanted: &str) -> NotDone {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = match rest.chars().next() {
            Some(character) => format!("{character:?}"),
            None => "the end".to_owned(),
        };
        NotDone::wrong(format!("no JSON: {wanted} is missing before {found} at byte {}", self.at))
    }
}

/// A string that had escapes: UTF-8, but for halves of surrogate pairs.
#[derive(Default)]
struct Decoded {
    bytes: Vec<u8>,
    has_half: bool,
}

impl Decoded {
    fn push(&mut self, character: char) {
        self.bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn push_half(&mut self, unit: u16) {
        self.has_half = true;
        let low_bits = |shift: u16| 0x80 | (unit >> shift & 0x3f) as u8;
        self.bytes.extend_from_slice(&[0xe0 | (unit >> 12) as u8, low_bits(6), low_bits(0)]);
    }

    fn with(mut self, more: &[u8]) -> Self {
        self.bytes.extend_from_slice(more);
        self
    }

    fn into_string(self, py: Python<'_>) -> Done<Bound<'_, PyString>> {
        if self.has_half {
            let bytes = PyBytes::new(py, &self.bytes);
            return Ok(PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogatepass"))?);
        }
        Ok(PyString::new(py, &String::from_utf8_lossy(&self.bytes)))
    }
}
