//! `RecordColumns` as structs of the Arrow C data interface. The columns stay where they are; each struct holds
//! a share of them until its consumer releases it.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::Arc;

use super::column::{BytesColumn, Validity};
use super::columns::{RecordColumns, TopicColumn};
use super::ffi::{ArrowArray, ArrowSchema};

const NULLABLE: i64 = 2;

/// What an exported schema owns.
struct SchemaParts {
    children: Vec<*mut ArrowSchema>,
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: called once, by the owner of a schema that `schema` below made: `private_data` and the
    // children came out of boxes there.
    unsafe {
        let parts = Box::from_raw((*schema).private_data.cast::<SchemaParts>());
        for &child in &parts.children {
            drop(Box::from_raw(child));
        }
        (*schema).release = None;
    }
}

fn schema(
    format: &'static CStr,
    name: &'static CStr,
    nullable: bool,
    children: Vec<ArrowSchema>,
) -> ArrowSchema {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut parts = Box::new(SchemaParts { children });
    ArrowSchema {
        format: format.as_ptr(),
        name: name.as_ptr(),
        metadata: ptr::null(),
        flags: if nullable { NULLABLE } else { 0 },
        n_children: parts.children.len() as i64,
        children: parts.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(parts).cast(),
    }
}

/// The schema of the columns of Spark's Kafka source.
pub fn export_schema(with_headers: bool) -> ArrowSchema {
    let leaf = |format, name, nullable| schema(format, name, nullable, Vec::new());
    let mut fields = vec![
        leaf(c"z", c"key", true),
        leaf(c"z", c"value", true),
        leaf(c"u", c"topic", true),
        leaf(c"i", c"partition", true),
        leaf(c"l", c"offset", true),
        leaf(c"tsu:UTC", c"timestamp", true),
        leaf(c"i", c"timestampType", true),
    ];
    if with_headers {
        let entry = vec![leaf(c"u", c"key", true), leaf(c"z", c"value", true)];
        let entry = schema(c"+s", c"element", true, entry);
        fields.push(schema(c"+l", c"headers", true, vec![entry]));
    }
    schema(c"+s", c"", false, fields)
}

/// What an exported array owns.
struct ArrayParts {
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    _columns: Arc<RecordColumns>,
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: called once, by the owner of an array that `Exporter::array` made: `private_data` and the
    // children came out of boxes there.
    unsafe {
        let parts = Box::from_raw((*array).private_data.cast::<ArrayParts>());
        for &child in &parts.children {
            drop(Box::from_raw(child));
        }
        (*array).release = None;
    }
}

struct Exporter<'a> {
    columns: &'a Arc<RecordColumns>,
}

fn pointer<T>(values: &[T]) -> *const c_void {
    values.as_ptr().cast()
}

fn bitmap(validity: &Validity) -> *const c_void {
    validity.bits().map_or(ptr::null(), pointer)
}

impl Exporter<'_> {
    /// `buffers` must point into the columns.
    fn array(
        &self,
        length: usize,
        null_count: usize,
        buffers: Vec<*const c_void>,
        children: Vec<ArrowArray>,
    ) -> ArrowArray {
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let mut parts = Box::new(ArrayParts { buffers, children, _columns: Arc::clone(self.columns) });
        ArrowArray {
            length: length as i64,
            null_count: null_count as i64,
            offset: 0,
            n_buffers: parts.buffers.len() as i64,
            n_children: parts.children.len() as i64,
            buffers: parts.buffers.as_mut_ptr(),
            children: parts.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(parts).cast(),
        }
    }

    fn bytes(&self, column: &BytesColumn) -> ArrowArray {
        let buffers = vec![bitmap(&column.validity), pointer(&column.offsets), pointer(&column.data)];
        self.array(column.offsets.len() - 1, column.validity.null_count(), buffers, Vec::new())
    }

    fn topic(&self, column: &TopicColumn) -> ArrowArray {
        let buffers = vec![ptr::null(), pointer(column.offsets()), pointer(column.data())];
        self.array(column.offsets().len() - 1, 0, buffers, Vec::new())
    }

    fn fixed<T>(&self, column: &[T]) -> ArrowArray {
        self.array(column.len(), 0, vec![ptr::null(), pointer(column)], Vec::new())
    }
}

/// The columns as one struct array, which is what a record batch is in the interface.
pub fn export_array(columns: &Arc<RecordColumns>) -> ArrowArray {
    let exporter = Exporter { columns };
    let mut fields = vec![
        exporter.bytes(&columns.key),
        exporter.bytes(&columns.value),
        exporter.topic(&columns.topic),
        exporter.fixed(&columns.partition),
        exporter.fixed(&columns.offset),
        exporter.fixed(&columns.timestamp),
        exporter.fixed(&columns.timestamp_type),
    ];
    if let Some(headers) = &columns.headers {
        let entries = vec![exporter.bytes(&headers.keys), exporter.bytes(&headers.values)];
        let entries = exporter.array(headers.keys.offsets.len() - 1, 0, vec![ptr::null()], entries);
        let buffers = vec![bitmap(&headers.validity), pointer(&headers.offsets)];
        let null_count = headers.validity.null_count();
        fields.push(exporter.array(columns.num_rows(), null_count, buffers, vec![entries]));
    }
    exporter.array(columns.num_rows(), 0, vec![ptr::null()], fields)
}
