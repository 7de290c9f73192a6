//! `RecordShape`: named tuples of records, in whichever fields a generation of kafka-python has for them.
//!
//! The class comes from Python. Here its objects are filled, and the deserializers of a program are called, in the order
//! in which kafka-python calls them.

#![allow(unsafe_code)]

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyTuple, PyType};

use crate::python::consume::record::{RecordMaker, RecordSource};
use crate::python::objects::locked_rc::LockedRc;
use crate::records::{HeaderIter, RecordSlices, Span};

/// Where there is no key, no value, or no header to have a size.
const NO_SIZE: i64 = -1;

/// A record in its batch, of which an object is made later: deserializers may do anything, and are not called while the
/// reader is in use. To be dropped under the interpreter lock.
pub struct FoundRecord {
    source: LockedRc<RecordSource>,
    slices: RecordSlices,
}

impl FoundRecord {
    pub fn offset(&self) -> i64 {
        self.slices.offset
    }

    fn payload(&self) -> &[u8] {
        self.source.payload.as_ref()
    }

    fn bytes<'py>(&self, py: Python<'py>, span: Option<Span>) -> Bound<'py, PyAny> {
        match span {
            Some(span) => PyBytes::new(py, span.of(self.payload())).into_any(),
            None => py.None().into_bound(py),
        }
    }

    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let headers = PyList::empty(py);
        for (name, value) in HeaderIter::new(self.slices.headers.of(self.payload())) {
            let value = value.map(|value| PyBytes::new(py, value));
            headers.append((String::from_utf8_lossy(name), value))?;
        }
        Ok(headers)
    }

    fn header_size(&self) -> i64 {
        if self.slices.headers.is_empty() {
            return NO_SIZE;
        }
        HeaderIter::new(self.slices.headers.of(self.payload()))
            .map(|(name, value)| (name.len() + value.map_or(0, <[u8]>::len)) as i64)
            .sum()
    }
}

/// Makes `FoundRecord`s.
pub struct FoundRecords;

impl RecordMaker for FoundRecords {
    type Made = FoundRecord;

    #[inline(always)]
    fn make(
        &self,
        py: Python<'_>,
        source: &LockedRc<RecordSource>,
        slices: RecordSlices,
    ) -> PyResult<FoundRecord> {
        Ok(FoundRecord { source: source.clone_ref(py), slices })
    }
}

#[derive(Clone, Copy)]
enum Field {
    Topic,
    Partition,
    LeaderEpoch,
    Offset,
    Timestamp,
    TimestampType,
    Key,
    Value,
    Headers,
    Checksum,
    KeySize,
    ValueSize,
    HeaderSize,
}

impl Field {
    fn named(name: &str) -> PyResult<Self> {
        Ok(match name {
            "topic" => Self::Topic,
            "partition" => Self::Partition,
            "leader_epoch" => Self::LeaderEpoch,
            "offset" => Self::Offset,
            "timestamp" => Self::Timestamp,
            "timestamp_type" => Self::TimestampType,
            "key" => Self::Key,
            "value" => Self::Value,
            "headers" => Self::Headers,
            "checksum" => Self::Checksum,
            "serialized_key_size" => Self::KeySize,
            "serialized_value_size" => Self::ValueSize,
            "serialized_header_size" => Self::HeaderSize,
            _ => return Err(PyValueError::new_err(format!("records have no {name:?}"))),
        })
    }
}

/// A program's deserializer, and what it is called with.
struct Deserializer {
    function: Py<PyAny>,
    takes: Arguments,
}

#[derive(Clone, Copy)]
enum Arguments {
    Data,
    TopicAndData,
    TopicHeadersAndData,
}

impl Deserializer {
    fn of(given: Option<(Py<PyAny>, usize)>) -> PyResult<Option<Self>> {
        let Some((function, count)) = given else { return Ok(None) };
        let takes = match count {
            1 => Arguments::Data,
            2 => Arguments::TopicAndData,
            3 => Arguments::TopicHeadersAndData,
            _ => return Err(PyValueError::new_err("deserializers take one, two or three arguments")),
        };
        Ok(Some(Self { function, takes }))
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        record: &FoundRecord,
        headers: &Bound<'py, PyList>,
        data: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let function = self.function.bind(py);
        let topic = record.source.topic.bind(py);
        match self.takes {
            Arguments::Data => function.call1((data,)),
            Arguments::TopicAndData => function.call1((topic, data)),
            Arguments::TopicHeadersAndData => function.call1((topic, headers, data)),
        }
    }
}

/// What the records of one consumer look like.
pub struct RecordShape {
    class: Py<PyType>,
    fields: Vec<Field>,
    key_deserializer: Option<Deserializer>,
    value_deserializer: Option<Deserializer>,
}

impl RecordShape {
    /// `class`: a named tuple. A deserializer comes with the number of arguments that it takes: the bytes; or the topic
    /// and the bytes; or the topic, the headers and the bytes.
    pub fn new(
        class: &Bound<'_, PyType>,
        key_deserializer: Option<(Py<PyAny>, usize)>,
        value_deserializer: Option<(Py<PyAny>, usize)>,
    ) -> PyResult<Self> {
        if !class.is_subclass_of::<PyTuple>()? {
            return Err(PyValueError::new_err("the class of records is a named tuple"));
        }
        let names: Vec<String> = class.getattr("_fields")?.extract()?;
        Ok(Self {
            class: class.clone().unbind(),
            fields: names.iter().map(|name| Field::named(name)).collect::<PyResult<_>>()?,
            key_deserializer: Deserializer::of(key_deserializer)?,
            value_deserializer: Deserializer::of(value_deserializer)?,
        })
    }

    /// Whether no code of a program runs when objects are made.
    pub fn calls_nothing(&self) -> bool {
        self.key_deserializer.is_none() && self.value_deserializer.is_none()
    }

    /// Raises: what a deserializer raises.
    pub fn object(&self, py: Python<'_>, record: &FoundRecord) -> PyResult<Py<PyAny>> {
        let headers = record.headers(py)?;
        let mut key = record.bytes(py, record.slices.key);
        let mut value = record.bytes(py, record.slices.value);
        if let Some(deserializer) = &self.key_deserializer {
            key = deserializer.call(py, record, &headers, key)?;
        }
        if let Some(deserializer) = &self.value_deserializer {
            value = deserializer.call(py, record, &headers, value)?;
        }
        let class = self.class.as_ptr().cast::<ffi::PyTypeObject>();
        // SAFETY: the class is a subclass of tuple without fields of its own, as named tuples are; so this allocates
        // room for as many items, all of them null.
        let object = unsafe {
            Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, self.fields.len() as isize))?
        };
        let size = |span: Option<Span>| span.map_or(NO_SIZE, |span| span.len() as i64);
        let number = |value: i64| PyInt::new(py, value).into_any();
        let has_timestamp = record.source.timestamp_type >= 0;
        let none = || py.None().into_bound(py);
        for (place, field) in self.fields.iter().enumerate() {
            let item = match field {
                Field::Topic => record.source.topic.bind(py).clone().into_any(),
                Field::Partition => number(record.source.partition.into()),
                Field::LeaderEpoch => number(record.source.leader_epoch.into()),
                Field::Offset => number(record.slices.offset),
                // Messages of the oldest format have none.
                Field::Timestamp if !has_timestamp => none(),
                Field::TimestampType if !has_timestamp => none(),
                Field::Timestamp => number(record.slices.timestamp),
                Field::TimestampType => number(record.source.timestamp_type.into()),
                Field::Key => key.clone(),
                Field::Value => value.clone(),
                Field::Headers => headers.clone().into_any(),
                // The format of today has one for each batch only.
                Field::Checksum => none(),
                Field::KeySize => number(size(record.slices.key)),
                Field::ValueSize => number(size(record.slices.value)),
                Field::HeaderSize => number(record.header_size()),
            };
            // SAFETY: nobody else has seen the tuple, and the item is given away to it.
            if unsafe { ffi::PyTuple_SetItem(object.as_ptr(), place as isize, item.into_ptr()) } != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        if self.calls_nothing() {
            // Bytes and numbers lead nowhere: the collector would look at each record in vain, and at its headers.
            // SAFETY: both are objects that the collector may track, and this thread alone has them.
            unsafe {
                ffi::PyObject_GC_UnTrack(object.as_ptr().cast());
                ffi::PyObject_GC_UnTrack(headers.as_ptr().cast());
            }
        }
        Ok(object.unbind())
    }
}
