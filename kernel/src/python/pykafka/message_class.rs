//! `MessageClass`: objects of pykafka's Message, a class of Python's with slots, filled without a call of its own.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::c_int;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyType};

use crate::python::consume::record::{RecordMaker, RecordSource};
use crate::python::objects::locked_rc::LockedRc;
use crate::records::{RecordSlices, Span};

const NAMES: [&str; 10] = [
    "value",
    "partition_key",
    "offset",
    "timestamp",
    "partition_id",
    "partition",
    "delivery_report_q",
    "protocol_version",
    "compression_type",
    "produce_attempt",
];
const OFFSET: usize = 2;

type SetSlot = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject, *mut ffi::PyObject) -> c_int;

/// One of the class's slots: its descriptor, and the function that sets by it.
struct Slot {
    descriptor: Py<PyAny>,
    set: SetSlot,
}

impl Slot {
    fn of(class: &Bound<'_, PyType>, name: &str) -> PyResult<Self> {
        let descriptor = class.getattr(name)?;
        // SAFETY: the type of a live object, asked for one of its slots, which is null or a function of this type.
        let set = unsafe {
            let set = ffi::PyType_GetSlot(ffi::Py_TYPE(descriptor.as_ptr()), ffi::Py_tp_descr_set);
            std::mem::transmute::<*mut std::ffi::c_void, Option<SetSlot>>(set)
        };
        let set = set.ok_or_else(|| PyTypeError::new_err(format!("messages have no slot {name:?}")))?;
        Ok(Self { descriptor: descriptor.unbind(), set })
    }

    #[inline]
    fn set(&self, py: Python<'_>, object: *mut ffi::PyObject, value: *mut ffi::PyObject) -> PyResult<()> {
        // SAFETY: both objects are alive; the descriptor itself checks that the object is of its class.
        match unsafe { (self.set)(self.descriptor.as_ptr(), object, value) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(py)),
        }
    }
}

/// What a message is made of that differs from one to the next.
pub struct SlotValues<'a, 'py> {
    pub value: &'a Bound<'py, PyAny>,
    pub key: &'a Bound<'py, PyAny>,
    pub offset: i64,
    pub timestamp: &'a Bound<'py, PyAny>,
    pub partition_id: &'a Py<PyAny>,
    pub partition: &'a Py<PyAny>,
    pub reports: &'a Bound<'py, PyAny>,
}

pub struct MessageClass {
    class: Py<PyType>,
    slots: Vec<Slot>,
    protocol_version: Py<PyAny>,
    zero: Py<PyAny>,
}

impl MessageClass {
    pub fn new(class: &Bound<'_, PyType>, protocol_version: i64) -> PyResult<Self> {
        let py = class.py();
        Ok(Self {
            slots: NAMES.iter().map(|name| Slot::of(class, name)).collect::<PyResult<_>>()?,
            class: class.clone().unbind(),
            protocol_version: PyInt::new(py, protocol_version).into_any().unbind(),
            zero: PyInt::new(py, 0).into_any().unbind(),
        })
    }

    /// `leads_on`: whether the garbage collector has to know of it.
    pub fn object(&self, py: Python<'_>, parts: &SlotValues<'_, '_>, leads_on: bool) -> PyResult<Py<PyAny>> {
        let class = self.class.as_ptr().cast::<ffi::PyTypeObject>();
        // SAFETY: a class with slots only, whose objects are whole with all of them empty.
        let object = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, 0))? };
        let offset = PyInt::new(py, parts.offset);
        let values = [
            parts.value.as_ptr(),
            parts.key.as_ptr(),
            offset.as_ptr(),
            parts.timestamp.as_ptr(),
            parts.partition_id.as_ptr(),
            parts.partition.as_ptr(),
            parts.reports.as_ptr(),
            self.protocol_version.as_ptr(),
            self.zero.as_ptr(),
            self.zero.as_ptr(),
        ];
        for (slot, value) in self.slots.iter().zip(values) {
            slot.set(py, object.as_ptr(), value)?;
        }
        if !leads_on {
            // SAFETY: the collector may track it, and this thread alone has it.
            unsafe { ffi::PyObject_GC_UnTrack(object.as_ptr().cast()) };
        }
        Ok(object.unbind())
    }

    pub fn set_offset(&self, py: Python<'_>, message: &Py<PyAny>, offset: i64) -> PyResult<()> {
        self.slots[OFFSET].set(py, message.as_ptr(), PyInt::new(py, offset).as_ptr())
    }
}

/// A partition, as messages have it.
struct Place {
    partition: Py<PyAny>,
    id: Py<PyAny>,
}

/// Makes the messages of one consumer.
pub struct MessageMaker {
    class: MessageClass,
    has_timestamps: bool,
    places: HashMap<i32, Place>,
    none: Py<PyAny>,
    pub deserializer: Option<Py<PyAny>>,
}

impl MessageMaker {
    pub fn new(
        class: &Bound<'_, PyType>,
        protocol_version: i64,
        partitions: HashMap<i32, Py<PyAny>>,
        deserializer: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let py = class.py();
        let place = |(id, partition): (i32, Py<PyAny>)| {
            (id, Place { partition, id: PyInt::new(py, id).into_any().unbind() })
        };
        Ok(Self {
            class: MessageClass::new(class, protocol_version)?,
            has_timestamps: protocol_version > 0,
            places: partitions.into_iter().map(place).collect(),
            none: py.None(),
            deserializer,
        })
    }
}

impl RecordMaker for MessageMaker {
    type Made = Py<PyAny>;

    fn make(
        &self,
        py: Python<'_>,
        source: &LockedRc<RecordSource>,
        slices: RecordSlices,
    ) -> PyResult<Py<PyAny>> {
        let none = self.none.bind(py);
        let bytes = |span: Option<Span>| match span {
            Some(span) => PyBytes::new(py, span.of(source.payload.as_ref())).into_any(),
            None => none.clone(),
        };
        let place = self.places.get(&source.partition);
        let place = place.ok_or_else(|| PyTypeError::new_err("a message of a partition that is not read"))?;
        let timestamp = if self.has_timestamps { slices.timestamp } else { 0 };
        let parts = SlotValues {
            value: &bytes(slices.value),
            key: &bytes(slices.key),
            offset: slices.offset,
            timestamp: &PyInt::new(py, timestamp).into_any(),
            partition_id: &place.id,
            partition: &place.partition,
            reports: none,
        };
        self.class.object(py, &parts, self.deserializer.is_some())
    }
}
