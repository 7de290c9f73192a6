//! Why a value was not read or written: it is wrong in a place, or Python raised.

use std::fmt::Display;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::formats::Failure;
use crate::python::objects::errors::error_with_message;

pub enum NotDone {
    Wrong(Box<Failure>),
    Raised(PyErr),
}

pub type Done<T> = Result<T, NotDone>;

impl From<Box<Failure>> for NotDone {
    fn from(failure: Box<Failure>) -> Self {
        Self::Wrong(failure)
    }
}

impl From<PyErr> for NotDone {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl NotDone {
    #[cold]
    pub fn wrong(message: impl Into<String>) -> Self {
        Self::Wrong(Failure::new(message))
    }

    /// The same, seen from the record that has the field.
    #[cold]
    pub fn in_field(self, name: &str) -> Self {
        match self {
            Self::Wrong(failure) => Self::Wrong(failure.in_field(name)),
            raised @ Self::Raised(_) => raised,
        }
    }

    /// The same, seen from the array or map that has the item.
    #[cold]
    pub fn in_item(self, item: impl Display) -> Self {
        match self {
            Self::Wrong(failure) => Self::Wrong(failure.in_item(item)),
            raised @ Self::Raised(_) => raised,
        }
    }

    #[cold]
    pub fn into_error(self, py: Python<'_>) -> PyErr {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        match self {
            Self::Wrong(failure) => {
                let place = if failure.path().is_empty() { "" } else { ": " };
                let message = format!("{}{place}{}", failure.path(), failure.message());
                error_with_message(py, &CLASS, "SerializationError", message)
            }
            Self::Raised(error) => error,
        }
    }
}

/// A value in messages, with its class.
#[cold]
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let text = value.repr().map_or_else(|_| String::new(), |text| text.to_string());
    if text.chars().count() > 60 {
        let start: String = text.chars().take(60).collect();
        return format!("{start}... ({kind})");
    }
    format!("{text} ({kind})")
}
