//! `take_arrow`: records of many readers as Arrow columns, built without the interpreter lock.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::reader::RecordReader;
use crate::arrow::{RecordColumns, export_array, export_schema};
use crate::error::CorruptBatch;
use crate::records::RecordCursor;

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct ArrowRecords(Arc<RecordColumns>);

#[pymethods]
impl ArrowRecords {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn num_bytes(&self) -> usize {
        self.0.num_bytes()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface lets a producer disregard the request.
        drop(requested_schema);
        let array = PyCapsule::new_with_value(py, export_array(&self.0), c"arrow_array")?;
        Ok((self.__arrow_c_schema__(py)?, array))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, export_schema(self.0.headers.is_some()), c"arrow_schema")
    }
}

/// One reader's share in a call of `take_arrow`.
struct Source<'a> {
    cursor: &'a mut RecordCursor,
    topic: &'a Arc<str>,
    partition: i32,
    end_offset: i64,
}

impl Source<'_> {
    /// Takes what there is; false when the columns are full.
    fn take(&mut self, columns: &mut RecordColumns, max_records: usize) -> Result<bool, CorruptBatch> {
        while self.cursor.open_next(self.end_offset)? {
            let room = (max_records - columns.num_rows()).min(columns.topic_room(self.topic));
            let Some(open) = self.cursor.open_batch() else { return Ok(true) };
            if room == 0 {
                return Ok(false);
            }
            let timestamp_type = open.timestamp_type;
            let records = open.records_left_at_most();
            let share = records.min(room);
            columns.reserve(share, open.payload.len() / records.max(1) * share, share == records);
            let mut full = false;
            let taken = self.cursor.take_from_open(room, self.end_offset, |payload, record| {
                full = !columns.push(payload, record);
                !full
            });
            columns.finish_run(self.topic, self.partition, timestamp_type);
            taken?;
            if full {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[pyfunction]
#[pyo3(signature = (readers, max_records, *, headers=true, end_offsets=None, max_bytes=1 << 30))]
pub fn take_arrow(
    py: Python<'_>,
    readers: Vec<Bound<'_, RecordReader>>,
    max_records: usize,
    headers: bool,
    end_offsets: Option<Vec<i64>>,
    max_bytes: usize,
) -> PyResult<ArrowRecords> {
    let end_offsets = end_offsets.unwrap_or_else(|| vec![i64::MAX; readers.len()]);
    if end_offsets.len() != readers.len() {
        let message = format!("{} end offsets for {} readers", end_offsets.len(), readers.len());
        return Err(PyValueError::new_err(message));
    }
    let mut topics = Vec::with_capacity(readers.len());
    let mut borrowed = Vec::with_capacity(readers.len());
    for reader in &readers {
        let reader = reader.try_borrow_mut()?;
        topics.push(Arc::<str>::from(reader.place().0.bind(py).to_str()?));
        borrowed.push(reader);
    }
    let mut sources: Vec<_> = borrowed
        .iter_mut()
        .zip(&topics)
        .zip(end_offsets)
        .map(|((reader, topic), end_offset)| {
            let partition = reader.place().1;
            Source { cursor: reader.cursor(), topic, partition, end_offset }
        })
        .collect();
    let taken = py.detach(|| {
        let waiting_bytes = sources.iter().map(|source| source.cursor.remaining_bytes()).sum();
        let mut columns = RecordColumns::new(headers, max_bytes, waiting_bytes);
        for (index, source) in sources.iter_mut().enumerate() {
            match source.take(&mut columns, max_records) {
                Ok(true) => {}
                Ok(false) => break,
                // What was read before is handed over; the reader stands still, so a later call raises.
                Err(_) if columns.num_rows() > 0 => break,
                Err(error) => return Err((index, error)),
            }
        }
        columns.finish();
        Ok(columns)
    });
    match taken {
        Ok(columns) => Ok(ArrowRecords(Arc::new(columns))),
        Err((index, error)) => Err(borrowed[index].error(py, &error)),
    }
}
