//! `PartitionPoller`: `consume()` of pykafka's SimpleConsumer, where the next message is at hand, and `MessageIterator`,
//! which is what `for message in consumer` goes through.
//!
//! Hands out messages of the reader that is lent to it. Everything else is the subclass's: `_consume`, with the
//! arguments of `consume`.

use std::collections::HashMap;
use std::sync::OnceLock;

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::python::consume::poller::Poller;
use crate::python::objects::calls::call_with_two;
use crate::python::pykafka::message_class::MessageMaker;

#[pyclass(frozen, subclass, extends = Poller, module = "barnabas._kernel")]
pub struct PartitionPoller {
    maker: OnceLock<MessageMaker>,
}

impl PartitionPoller {
    fn maker(&self) -> PyResult<&MessageMaker> {
        self.maker.get().ok_or_else(|| PyValueError::new_err("nothing was said of the shape of messages"))
    }

    /// The next message at hand, where nothing else is to be seen to first. What does not go well is met again by the subclass, but for
    /// what a deserializer raises: its message was handed out.
    fn next_at_once(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let py = slf.py();
        let poller = slf.as_super().get();
        let Some(maker) = slf.get().maker.get() else { return Ok(None) };
        if poller.needs_attention() {
            return Ok(None);
        }
        let Ok(Some(message)) = poller.next(py, maker) else { return Ok(None) };
        if let Some(deserializer) = &maker.deserializer {
            deserialize(message.bind(py), deserializer)?;
        }
        Ok(Some(message))
    }
}

fn deserialize(message: &Bound<'_, PyAny>, deserializer: &Py<PyAny>) -> PyResult<()> {
    let py = message.py();
    let (value, key) = (intern!(py, "value"), intern!(py, "partition_key"));
    let (old_value, old_key) = (message.getattr(value)?.unbind(), message.getattr(key)?.unbind());
    let made = call_with_two(py, deserializer, &old_value, &old_key)?;
    let parts = made.bind(py).try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let [new_value, new_key] = parts.as_slice() else {
        let text = format!("a deserializer gives a value and a key, not {} parts", parts.len());
        return Err(PyValueError::new_err(text));
    };
    message.setattr(value, new_value)?;
    message.setattr(key, new_key)
}

#[pymethods]
impl PartitionPoller {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords), text_signature = None)]
    fn new(
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyClassInitializer<Self> {
        Poller::subclassed(Self { maker: OnceLock::new() })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(maker) = self.maker.get() else { return Ok(()) };
        visit.call(&maker.deserializer)
    }

    /// Once, before the first message: its class, the partitions by number, the version of the protocol whose messages
    /// these are (0: without timestamps), and a function of value and key that gives others.
    #[pyo3(signature = (class, partitions, protocol_version, deserializer=None))]
    fn _shape_messages(
        &self,
        class: &Bound<'_, PyType>,
        partitions: HashMap<i32, Py<PyAny>>,
        protocol_version: i64,
        deserializer: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let maker = MessageMaker::new(class, protocol_version, partitions, deserializer)?;
        self.maker.set(maker).map_err(|_| PyValueError::new_err("the shape of messages was said before"))
    }

    /// The next message. `block`: waits for one, for consumer_timeout_ms if there is one; None where none came, or
    /// where `unblock_event` was set meanwhile.
    ///
    /// Raises: ConsumerStoppedException; and what went wrong in the background.
    #[pyo3(signature = (block=None, unblock_event=None), text_signature = "($self, block=True, unblock_event=None)")]
    fn consume<'py>(
        slf: &Bound<'py, Self>,
        block: Option<&Bound<'py, PyAny>>,
        unblock_event: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if let Some(message) = Self::next_at_once(slf)? {
            return Ok(message.into_bound(py));
        }
        match block {
            Some(block) => slf.call_method1(intern!(py, "_consume"), (block, unblock_event)),
            None => slf.call_method1(intern!(py, "_consume"), (true, unblock_event)),
        }
    }

    /// The next message of the reader that is lent, if there is any. Raises: CorruptBatchError, and what the
    /// deserializer raises.
    fn _next_lent(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let maker = slf.get().maker()?;
        let message = slf.as_super().get().next(slf.py(), maker)?;
        if let (Some(message), Some(deserializer)) = (&message, &maker.deserializer) {
            deserialize(message.bind(slf.py()), deserializer)?;
        }
        Ok(message)
    }
}

/// The messages of a consumer, until it has none for consumer_timeout_ms.
#[pyclass(frozen, module = "barnabas._kernel")]
pub struct MessageIterator {
    consumer: Py<PartitionPoller>,
}

#[pymethods]
impl MessageIterator {
    #[new]
    fn new(consumer: Py<PartitionPoller>) -> Self {
        Self { consumer }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.consumer)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let message = PartitionPoller::consume(self.consumer.bind(py), None, None)?;
        Ok((!message.is_none()).then(|| message.unbind()))
    }
}
