//! What a `RecordReader` gives programs for librdkafka: a method of that class, which itself knows nothing of messages.

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::python::consume::reader::RecordReader;
use crate::python::consume::record::ObjectsOf;
use crate::python::librdkafka::message::Message;

#[pymethods]
impl RecordReader {
    fn take_messages<'py>(&mut self, py: Python<'py>, max_messages: usize) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.take_all(py, max_messages, &ObjectsOf::<Message>::new())?)
    }
}
