//! Regular expressions of linear time, matched with whole names.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::name_pattern::NamePattern;

#[pyclass(frozen, name = "NamePattern", module = "barnabas._kernel")]
pub struct PyNamePattern(NamePattern);

#[pymethods]
impl PyNamePattern {
    #[new]
    fn new(py: Python<'_>, pattern: &str) -> PyResult<Self> {
        py.detach(|| NamePattern::new(pattern))
            .map(Self)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn matches(&self, name: &str) -> bool {
        self.0.matches(name)
    }
}
