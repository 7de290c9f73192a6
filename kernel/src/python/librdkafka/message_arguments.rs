//! The arguments of produce(), taken as CPython takes those of a function in C, complaints included: callers know the
//! original as one.

use pyo3::Borrowed;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::python::objects::fast_method::Arguments;
use crate::records::{NO_HEADERS, encode_headers};

/// An argument that may be left out, which is not the same as None.
#[derive(Clone, Copy)]
pub enum Argument<'a, 'py> {
    LeftOut,
    Given(Borrowed<'a, 'py, PyAny>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Argument<'a, 'py> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self::Given(object))
    }
}

fn type_name(object: &Bound<'_, PyAny>) -> PyResult<String> {
    match object.is_none() {
        true => Ok("None".to_owned()),
        false => Ok(object.get_type().name()?.to_str()?.to_owned()),
    }
}

impl<'a, 'py> Argument<'a, 'py> {
    /// None where the argument was left out, or is None.
    pub fn object(self) -> Option<Borrowed<'a, 'py, PyAny>> {
        match self {
            Self::LeftOut => None,
            Self::Given(object) => (!object.is_none()).then_some(object),
        }
    }

    /// The first argument, a text.
    pub fn text(self, name: &str) -> PyResult<Borrowed<'a, 'py, PyString>> {
        let Self::Given(object) = self else {
            let message = format!("function missing required argument '{name}' (pos 1)");
            return Err(PyTypeError::new_err(message));
        };
        object.cast::<PyString>().map_err(|_| match type_name(&object) {
            Ok(given) => PyTypeError::new_err(format!("argument 1 must be str, not {given}")),
            Err(error) => error,
        })
    }

    /// A number that fits into an `int` of C.
    pub fn int(self, default: i32) -> PyResult<i32> {
        let Self::Given(object) = self else { return Ok(default) };
        let number: i64 = object.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(object.py()) {
                return PyOverflowError::new_err("Python int too large to convert to C long");
            }
            error
        })?;
        i32::try_from(number).map_err(|_| {
            let edge = if number > 0 { "greater than maximum" } else { "less than minimum" };
            PyOverflowError::new_err(format!("signed integer is {edge}"))
        })
    }

    /// A number that fits into a `long long` of C.
    pub fn long(self, default: i64) -> PyResult<i64> {
        match self {
            Self::LeftOut => Ok(default),
            Self::Given(object) => object.extract().map_err(|error: PyErr| {
                if error.is_instance_of::<PyOverflowError>(object.py()) {
                    return PyOverflowError::new_err("int too big to convert");
                }
                error
            }),
        }
    }

    /// A number of seconds; left out, -1.
    pub fn seconds(self) -> PyResult<f64> {
        match self {
            Self::LeftOut => Ok(-1.0),
            Self::Given(object) => object.extract().map_err(|error: PyErr| {
                if error.is_instance_of::<PyTypeError>(object.py()) {
                    if let Ok(given) = object.get_type().name() {
                        return PyTypeError::new_err(format!("must be real number, not {given}"));
                    }
                }
                error
            }),
        }
    }

    /// The key or the value of a message; `place` is that of the argument.
    #[inline]
    pub fn payload(self, place: usize) -> PyResult<Payload<'a, 'py>> {
        let Some(object) = self.object() else { return Ok(Payload::None) };
        // Without the call that it takes to see whether it is of a subclass.
        if let Ok(bytes) = object.cast_exact::<PyBytes>() {
            return Ok(Payload::Bytes(bytes));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Payload::Bytes(bytes));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Payload::Text(text));
        }
        match PyUntypedBuffer::get(&object) {
            Ok(_) => {
                let given = object.get_type().fully_qualified_name()?;
                let message = format!("argument {place} must be read-only bytes-like object, not {given}");
                Err(PyTypeError::new_err(message))
            }
            Err(_) => {
                let given = type_name(&object)?;
                Err(PyTypeError::new_err(format!("a bytes-like object is required, not '{given}'")))
            }
        }
    }

    /// A list of pairs or a dictionary, in wire format.
    pub fn headers(self) -> PyResult<Headers> {
        let Some(object) = self.object() else { return Ok(Headers(None)) };
        let mut pairs: Vec<(Bound<'py, PyString>, Payload<'_, 'py>)> = Vec::new();
        let items: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;
        if let Ok(list) = object.cast::<PyList>() {
            let pair = |item: Bound<'py, PyAny>| {
                let pair = item.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).ok_or_else(|| {
                    PyTypeError::new_err("Headers are expected to be a list of (key, value) tuples")
                })?;
                Ok((pair.get_item(0)?, pair.get_item(1)?))
            };
            items = list.iter().map(pair).collect::<PyResult<_>>()?;
        } else if let Ok(dictionary) = object.cast::<PyDict>() {
            items = dictionary.iter().collect();
        } else {
            return Err(PyTypeError::new_err(format!(
                "expected headers to be dict or list of (key, value) tuples, not {}",
                type_name(&object)?
            )));
        }
        for (key, value) in &items {
            pairs.push((key.str()?, header_value(value)?));
        }
        if pairs.is_empty() {
            return Ok(Headers(None));
        }
        let mut parts = Vec::with_capacity(pairs.len());
        for (key, value) in &pairs {
            // As in C, a name ends where there is a NUL.
            let name = key.to_str()?.split('\0').next().unwrap_or_default();
            parts.push((name.as_bytes(), value.bytes()?));
        }
        // librdkafka counts a byte for each length.
        let size = parts.iter().map(|(key, value)| key.len() + value.map_or(0, <[u8]>::len) + 2).sum();
        Ok(Headers(Some((encode_headers(parts.into_iter()), size))))
    }
}

fn header_value<'a, 'py>(value: &'a Bound<'py, PyAny>) -> PyResult<Payload<'a, 'py>> {
    if value.is_none() {
        return Ok(Payload::None);
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Payload::Bytes(bytes.as_borrowed()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Payload::Text(text.as_borrowed()));
    }
    Err(PyTypeError::new_err(format!(
        "expected header value to be None, binary, or unicode string, not {}",
        type_name(value)?
    )))
}

/// Bytes of a message that nobody can change.
pub enum Payload<'a, 'py> {
    None,
    Bytes(Borrowed<'a, 'py, PyBytes>),
    Text(Borrowed<'a, 'py, PyString>),
}

impl Payload<'_, '_> {
    #[inline]
    pub fn bytes(&self) -> PyResult<Option<&[u8]>> {
        match self {
            Self::None => Ok(None),
            Self::Bytes(bytes) => Ok(Some(bytes.as_bytes())),
            Self::Text(text) => text.to_str().map(|text| Some(text.as_bytes())),
        }
    }

    /// What to keep until the message is reported.
    pub fn kept(&self) -> Option<Py<PyAny>> {
        match self {
            Self::None => None,
            Self::Bytes(bytes) => Some((**bytes).clone().into_any().unbind()),
            Self::Text(text) => Some((**text).clone().into_any().unbind()),
        }
    }
}

/// Headers in wire format, and what librdkafka takes them to take.
pub struct Headers(Option<(Vec<u8>, usize)>);

impl Headers {
    pub fn none() -> Self {
        Self(None)
    }

    pub fn wire(&self) -> &[u8] {
        self.0.as_ref().map_or(NO_HEADERS, |(wire, _)| wire)
    }

    pub fn size(&self) -> usize {
        self.0.as_ref().map_or(0, |(_, size)| *size)
    }
}

/// The arguments of a call by their parameters, and those that there is none for. CPython counts before it converts any,
/// and looks at names last.
pub struct ByParameter<'a, 'py, const N: usize> {
    pub given: [Argument<'a, 'py>; N],
    parameters: &'static [&'static str; N],
    /// The first one that was given by position, too.
    given_twice: Option<usize>,
    unknown: Option<Bound<'py, PyString>>,
}

impl<'a, 'py, const N: usize> ByParameter<'a, 'py, N> {
    /// Raises where there are more arguments than parameters.
    #[inline]
    pub fn sort(parameters: &'static [&'static str; N], arguments: &Arguments<'a, 'py>) -> PyResult<Self> {
        if arguments.len() > N {
            return Err(too_many(N, arguments));
        }
        let mut sorted = Self { given: [Argument::LeftOut; N], parameters, given_twice: None, unknown: None };
        for place in 0..arguments.positional {
            sorted.given[place] = Argument::Given(arguments.get(place));
        }
        for (name, value) in arguments.by_name() {
            let text = name.to_str()?;
            match parameters.iter().position(|parameter| *parameter == text) {
                Some(place) if place >= arguments.positional => sorted.given[place] = Argument::Given(value),
                Some(place) => {
                    sorted.given_twice = Some(sorted.given_twice.map_or(place, |first| first.min(place)));
                }
                None => sorted.unknown = sorted.unknown.or(Some(name)),
            }
        }
        Ok(sorted)
    }

    /// Raises for a name that is no parameter's, or that of an argument that was given by position.
    #[inline]
    pub fn check_names(&self) -> PyResult<()> {
        if let Some(place) = self.given_twice {
            let (name, position) = (self.parameters[place], place + 1);
            let message = format!("argument for function given by name ('{name}') and position ({position})");
            return Err(PyTypeError::new_err(message));
        }
        match &self.unknown {
            None => Ok(()),
            Some(name) => Err(unexpected_keyword(name, self.parameters)),
        }
    }
}

#[cold]
fn too_many(limit: usize, arguments: &Arguments<'_, '_>) -> PyErr {
    let kind = if arguments.positional == 0 { "keyword " } else { "" };
    let (plural, given) = (if limit == 1 { "" } else { "s" }, arguments.len());
    PyTypeError::new_err(format!("function takes at most {limit} {kind}argument{plural} ({given} given)"))
}

/// What CPython raises for a name that is no parameter's: from 3.13 on in other words, and with the name that may
/// have been meant.
#[cold]
pub fn unexpected_keyword(name: &Bound<'_, PyString>, parameters: &[&str]) -> PyErr {
    let py = name.py();
    if py.version_info() < (3, 13) {
        return PyTypeError::new_err(format!("'{name}' is an invalid keyword argument for this function"));
    }
    let meant = py
        .import("_suggestions")
        .and_then(|module| module.call_method1("_generate_suggestions", (parameters.to_vec(), name)))
        .and_then(|meant| meant.extract::<Option<String>>());
    let hint = match meant {
        Ok(Some(meant)) => format!(". Did you mean '{meant}'?"),
        _ => String::new(),
    };
    PyTypeError::new_err(format!("this function got an unexpected keyword argument '{name}'{hint}"))
}

/// Raises where a text has a NUL in it, which C cannot hold.
pub fn without_nul(text: &str) -> PyResult<&str> {
    match text.as_bytes().contains(&0) {
        true => Err(PyValueError::new_err("embedded null character")),
        false => Ok(text),
    }
}
