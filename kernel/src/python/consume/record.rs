//! `Record`: a message that points into the batch it came in.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, PyTypeInfo};

use crate::python::objects::allocation::new_plain;
use crate::python::objects::generic_alias::generic_alias;
use crate::python::objects::input::{InputBytes, InputHeaders};
use crate::python::objects::locked_rc::LockedRc;
use crate::records::{HeaderIter, RecordSlices, Span, read_varint};
use crate::shared_bytes::SharedBytes;

/// What the records of one batch have in common.
pub struct RecordSource {
    pub topic: Py<PyString>,
    pub partition: i32,
    pub leader_epoch: i32,
    pub timestamp_type: i32,
    pub payload: SharedBytes,
}

#[pyclass(frozen, subclass, module = "barnabas._kernel")]
pub struct Record {
    source: LockedRc<RecordSource>,
    #[pyo3(get)]
    offset: i64,
    #[pyo3(get)]
    timestamp: i64,
    key: Option<Span>,
    value: Option<Span>,
    headers: Span,
}

/// Makes something of each record that a reader comes to.
pub trait RecordMaker {
    type Made;

    fn make(
        &self,
        py: Python<'_>,
        source: &LockedRc<RecordSource>,
        slices: RecordSlices,
    ) -> PyResult<Self::Made>;
}

/// Objects of a class that a record becomes without any choice.
pub struct ObjectsOf<T>(PhantomData<T>);

impl<T> ObjectsOf<T> {
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: FromRecord> RecordMaker for ObjectsOf<T> {
    type Made = Py<T>;

    #[inline(always)]
    fn make(&self, py: Python<'_>, source: &LockedRc<RecordSource>, slices: RecordSlices) -> PyResult<Py<T>> {
        T::from_record(py, source, slices)
    }
}

/// What a record of a batch becomes.
pub trait FromRecord: PyTypeInfo {
    fn from_record(
        py: Python<'_>,
        source: &LockedRc<RecordSource>,
        slices: RecordSlices,
    ) -> PyResult<Py<Self>>;
}

impl FromRecord for Record {
    #[inline(always)]
    fn from_record(
        py: Python<'_>,
        source: &LockedRc<RecordSource>,
        slices: RecordSlices,
    ) -> PyResult<Py<Self>> {
        let record = Self {
            source: source.clone_ref(py),
            offset: slices.offset,
            timestamp: slices.timestamp,
            key: slices.key,
            value: slices.value,
            headers: slices.headers,
        };
        new_plain(py, record)
    }
}

impl Record {
    pub fn same(&self, py: Python<'_>) -> Self {
        Self {
            source: self.source.clone_ref(py),
            offset: self.offset,
            timestamp: self.timestamp,
            key: self.key,
            value: self.value,
            headers: self.headers,
        }
    }

    fn bytes_of(&self, span: Option<Span>) -> Option<&[u8]> {
        span.map(|span| span.of(self.source.payload.as_ref()))
    }

    pub fn key_bytes(&self) -> Option<&[u8]> {
        self.bytes_of(self.key)
    }

    pub fn value_bytes(&self) -> Option<&[u8]> {
        self.bytes_of(self.value)
    }

    fn header_bytes(&self) -> &[u8] {
        self.headers.of(self.source.payload.as_ref())
    }

    /// What `repr` shows, with this key and value.
    pub fn shown(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<String> {
        Ok(format!(
            "Record(topic={}, partition={}, offset={}, timestamp={}, key={}, value={}, headers={})",
            self.source.topic.bind(py).repr()?,
            self.source.partition,
            self.offset,
            self.timestamp,
            key.repr()?,
            value.repr()?,
            self.headers(py)?.repr()?,
        ))
    }
}

/// Appends `bytes` to `payload` and says where they are.
fn append(payload: &mut Vec<u8>, bytes: &[u8]) -> Span {
    let start = payload.len();
    payload.extend_from_slice(bytes);
    Span::new(start, payload.len())
}

#[pymethods]
impl Record {
    #[new]
    #[pyo3(signature = (topic, partition, offset, timestamp=-1, key=None, value=None, headers=InputHeaders::None, *, timestamp_type=0, leader_epoch=-1))]
    #[expect(clippy::too_many_arguments, reason = "the constructor of a record")]
    fn py_new(
        py: Python<'_>,
        topic: Py<PyString>,
        partition: i32,
        offset: i64,
        timestamp: i64,
        key: Option<InputBytes>,
        value: Option<InputBytes>,
        headers: InputHeaders,
        timestamp_type: i32,
        leader_epoch: i32,
    ) -> Self {
        let mut payload = Vec::new();
        let key = key.map(|key| append(&mut payload, key.as_ref()));
        let value = value.map(|value| append(&mut payload, value.as_ref()));
        let mut count_end = 0;
        read_varint(headers.as_ref(), &mut count_end);
        let headers = append(&mut payload, &headers.as_ref()[count_end..]);
        let payload = SharedBytes::new(payload);
        let source = RecordSource { topic, partition, leader_epoch, timestamp_type, payload };
        let source = LockedRc::new(py, source);
        Self { source, offset, timestamp, key, value, headers }
    }

    #[classmethod]
    fn __class_getitem__<'py>(
        cls: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        generic_alias(cls, item)
    }

    #[getter]
    fn raw<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    #[getter]
    fn topic(&self, py: Python<'_>) -> Py<PyString> {
        self.source.topic.clone_ref(py)
    }

    #[getter]
    fn partition(&self) -> i32 {
        self.source.partition
    }

    #[getter]
    fn timestamp_type(&self) -> i32 {
        self.source.timestamp_type
    }

    #[getter]
    pub fn key<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.key_bytes().map(|key| PyBytes::new(py, key))
    }

    #[getter]
    pub fn value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.value_bytes().map(|value| PyBytes::new(py, value))
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let pairs: Vec<_> = HeaderIter::new(self.header_bytes())
            .map(|(key, value)| {
                let value = value.map(|value| PyBytes::new(py, value));
                (String::from_utf8_lossy(key), value)
            })
            .collect();
        PyTuple::new(py, pairs)
    }

    #[getter]
    fn leader_epoch(&self) -> Option<i32> {
        Some(self.source.leader_epoch).filter(|&epoch| epoch >= 0)
    }

    #[getter]
    fn serialized_size(&self) -> usize {
        self.key.map_or(0, Span::len) + self.value.map_or(0, Span::len)
    }

    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        Ok(self.offset == other.offset
            && self.timestamp == other.timestamp
            && self.source.partition == other.source.partition
            && self.source.timestamp_type == other.source.timestamp_type
            && self.leader_epoch() == other.leader_epoch()
            && self.key_bytes() == other.key_bytes()
            && self.value_bytes() == other.value_bytes()
            && self.header_bytes() == other.header_bytes()
            && self.source.topic.bind(py).to_str()? == other.source.topic.bind(py).to_str()?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.source.topic.bind(py).to_str()?.hash(&mut hasher);
        (self.source.partition, self.offset, self.timestamp).hash(&mut hasher);
        (self.key_bytes(), self.value_bytes()).hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.shown(py, &self.key(py).into_bound_py_any(py)?, &self.value(py).into_bound_py_any(py)?)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let keywords = PyDict::new(py);
        keywords.set_item("timestamp_type", self.source.timestamp_type)?;
        keywords.set_item("leader_epoch", self.source.leader_epoch)?;
        let arguments = (
            self.topic(py),
            self.source.partition,
            self.offset,
            self.timestamp,
            self.key(py),
            self.value(py),
            self.headers(py)?,
        );
        Ok((arguments.into_pyobject(py)?, keywords))
    }
}
