//! Why a value could not be read or written, and where in it.

use std::fmt::Display;

use crate::arrow::ImportError;
use crate::arrow::tree::Full;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    path: String,
    message: String,
}

pub type Outcome = Result<(), Box<Failure>>;

impl Failure {
    #[cold]
    pub fn new(message: impl Into<String>) -> Box<Self> {
        Box::new(Self { path: String::new(), message: message.into() })
    }

    /// The field, such as `a.b[2].c`; empty where it is the value itself.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same, seen from the struct that has the field `name`.
    #[cold]
    pub fn in_field(mut self: Box<Self>, name: &str) -> Box<Self> {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }

    /// The same, seen from the list or map that has the item.
    #[cold]
    pub fn in_item(self: Box<Self>, item: impl Display) -> Box<Self> {
        self.in_field(&format!("[{item}]"))
    }
}

impl From<Full> for Box<Failure> {
    fn from(_: Full) -> Self {
        Failure::new("the column would hold more than 2 GiB: read fewer records at a time")
    }
}

impl From<ImportError> for Box<Failure> {
    fn from(error: ImportError) -> Self {
        Failure::new(error.0)
    }
}
