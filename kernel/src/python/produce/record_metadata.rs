//! `RecordMetadata`: where a delivered record stands. In Rust since there is one for each record with a callback.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

#[pyclass(frozen, module = "barnabas._kernel", get_all)]
pub struct RecordMetadata {
    pub topic: Py<PyString>,
    pub partition: i32,
    pub offset: i64,
    pub timestamp: i64,
}

type Fields<'a> = (&'a Py<PyString>, i32, i64, i64);

impl RecordMetadata {
    fn fields(&self) -> Fields<'_> {
        (&self.topic, self.partition, self.offset, self.timestamp)
    }

    fn numbers(&self) -> (i32, i64, i64) {
        (self.partition, self.offset, self.timestamp)
    }
}

#[pymethods]
impl RecordMetadata {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str, &'static str) {
        ("topic", "partition", "offset", "timestamp")
    }

    #[new]
    fn new(topic: Py<PyString>, partition: i32, offset: i64, timestamp: i64) -> Self {
        Self { topic, partition, offset, timestamp }
    }

    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        Ok(self.numbers() == other.numbers() && self.topic.to_str(py)? == other.topic.to_str(py)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        (self.topic.to_str(py)?, self.numbers()).hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> (Py<PyType>, (Py<PyString>, i32, i64, i64)) {
        let (topic, partition, offset, timestamp) = slf.get().fields();
        (slf.get_type().unbind(), (topic.clone_ref(slf.py()), partition, offset, timestamp))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let topic = self.topic.bind(py).repr()?;
        let (partition, offset, timestamp) = self.numbers();
        Ok(format!(
            "RecordMetadata(topic={topic}, partition={partition}, offset={offset}, timestamp={timestamp})"
        ))
    }
}
