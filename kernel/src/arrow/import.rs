//! Rows to be produced, read out of a record batch of the Arrow C data interface.
//!
//! The producer of such structs is trusted to keep to the interface, as it must be: lengths of buffers are not
//! part of it. What can be checked (types, counts, offsets that stay below the last) is.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::fmt;

use super::ffi::{ArrowArray, ArrowSchema};

/// What is wrong with the columns or with a row, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError(pub String);

impl fmt::Display for ImportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BytesType {
    Null,
    Offsets32,
    Offsets64,
    View,
    Fixed(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IntegerType {
    Int8,
    Int16,
    Int32,
    Int64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeadersType {
    offsets_are_64_bits: bool,
    key: BytesType,
    value: BytesType,
}

/// Milliseconds out of a timestamp column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimestampUnit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

/// Which column of a record batch is what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSchema {
    value: (usize, BytesType),
    key: Option<(usize, BytesType)>,
    headers: Option<(usize, HeadersType)>,
    timestamp: Option<(usize, TimestampUnit)>,
    partition: Option<(usize, IntegerType)>,
    column_count: usize,
}

/// # Safety
/// `text` must be null or a string that lives as long as is needed.
unsafe fn string<'a>(text: *const c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

pub(super) fn children(schema: &ArrowSchema) -> Vec<&ArrowSchema> {
    // SAFETY: the interface has `n_children` pointers to valid schemas here, which live with their parent.
    (0..schema.n_children.max(0) as usize).map(|index| unsafe { &**schema.children.add(index) }).collect()
}

pub(super) fn format(schema: &ArrowSchema) -> &str {
    // SAFETY: the interface has a string here that lives with the schema.
    unsafe { string(schema.format) }
}

pub(super) fn name(schema: &ArrowSchema) -> &str {
    // SAFETY: as in `format`.
    unsafe { string(schema.name) }
}

fn wrong_type<T>(column: &str, format: &str, needed: &str) -> Result<T, ImportError> {
    Err(ImportError(format!("column {column} has the Arrow type {format:?}; it must be {needed}: cast it")))
}

impl BytesType {
    fn of(column: &str, schema: &ArrowSchema) -> Result<Self, ImportError> {
        let format = format(schema);
        if !schema.dictionary.is_null() {
            return wrong_type(column, "dictionary", "binary or string");
        }
        Ok(match format {
            "n" => Self::Null,
            "z" | "u" => Self::Offsets32,
            "Z" | "U" => Self::Offsets64,
            "vz" | "vu" => Self::View,
            _ => match format.strip_prefix("w:").and_then(|width| width.parse().ok()) {
                Some(width) => Self::Fixed(width),
                None => return wrong_type(column, format, "binary or string"),
            },
        })
    }
}

impl IntegerType {
    fn of(column: &str, schema: &ArrowSchema) -> Result<Self, ImportError> {
        Ok(match format(schema) {
            _ if !schema.dictionary.is_null() => return wrong_type(column, "dictionary", "int32"),
            "c" => Self::Int8,
            "s" => Self::Int16,
            "i" => Self::Int32,
            "l" => Self::Int64,
            format => return wrong_type(column, format, "int32"),
        })
    }
}

impl TimestampUnit {
    fn of(column: &str, schema: &ArrowSchema) -> Result<Self, ImportError> {
        let format = format(schema);
        Ok(match format.get(..3) {
            _ if format == "l" => Self::Milliseconds,
            Some("tss") => Self::Seconds,
            Some("tsm") => Self::Milliseconds,
            Some("tsu") => Self::Microseconds,
            Some("tsn") => Self::Nanoseconds,
            _ => return wrong_type(column, format, "a timestamp, or milliseconds as int64"),
        })
    }

    fn to_ms(self, value: i64) -> i64 {
        match self {
            Self::Seconds => value.saturating_mul(1000),
            Self::Milliseconds => value,
            Self::Microseconds => value.div_euclid(1000),
            Self::Nanoseconds => value.div_euclid(1_000_000),
        }
    }
}

impl HeadersType {
    fn of(column: &str, schema: &ArrowSchema) -> Result<Self, ImportError> {
        const NEEDED: &str = "a list of structs of key (string) and value (binary)";
        let offsets_are_64_bits = match format(schema) {
            "+l" | "+m" => false,
            "+L" => true,
            format => return wrong_type(column, format, NEEDED),
        };
        let entry = children(schema);
        let [entry] = entry[..] else { return wrong_type(column, format(schema), NEEDED) };
        let parts = children(entry);
        let ("+s", [key, value]) = (format(entry), &parts[..]) else {
            return wrong_type(column, format(entry), NEEDED);
        };
        Ok(Self {
            offsets_are_64_bits,
            key: BytesType::of("headers.key", key)?,
            value: BytesType::of("headers.value", value)?,
        })
    }
}

impl RowSchema {
    /// Columns that records are read with but not written with are passed over.
    pub fn new(schema: &ArrowSchema) -> Result<Self, ImportError> {
        if format(schema) != "+s" {
            return Err(ImportError(format!("not a table or record batch but {:?}", format(schema))));
        }
        let mut value = None;
        let (mut key, mut headers, mut timestamp, mut partition) = (None, None, None, None);
        let columns = children(schema);
        for (index, column) in columns.iter().enumerate() {
            match name(column) {
                "value" => value = Some((index, BytesType::of("value", column)?)),
                "key" => key = Some((index, BytesType::of("key", column)?)),
                "headers" if format(column) == "n" => {}
                "headers" => headers = Some((index, HeadersType::of("headers", column)?)),
                "timestamp" if format(column) == "n" => {}
                "timestamp" => timestamp = Some((index, TimestampUnit::of("timestamp", column)?)),
                "partition" if format(column) == "n" => {}
                "partition" => partition = Some((index, IntegerType::of("partition", column)?)),
                "topic" | "offset" | "timestampType" => {}
                other => {
                    return Err(ImportError(format!(
                        "there is no use for column {other:?}; columns are value, key, headers, timestamp, partition"
                    )));
                }
            }
        }
        let Some(value) = value else { return Err(ImportError("there is no column value".into())) };
        Ok(Self { value, key, headers, timestamp, partition, column_count: columns.len() })
    }
}

/// What every column has: validity, and where its rows begin.
pub(super) struct ColumnRows {
    validity: *const u8,
    pub(super) offset: usize,
    pub(super) length: usize,
}

struct BytesRows {
    rows: ColumnRows,
    values: BytesValues,
}

/// Where the rows' bytes lie. `data_bytes` is what the last offset says, which no other may exceed.
enum BytesValues {
    Null,
    Fixed { data: *const u8, width: usize },
    Offsets32 { offsets: *const c_void, data: *const u8, data_bytes: usize },
    Offsets64 { offsets: *const c_void, data: *const u8, data_bytes: usize },
    View { views: *const u8, buffers: Vec<DataBuffer> },
}

struct DataBuffer {
    data: *const u8,
    bytes: usize,
}

struct IntegerRows {
    rows: ColumnRows,
    integer_type: IntegerType,
    values: *const c_void,
}

struct HeaderRows {
    rows: ColumnRows,
    offsets_are_64_bits: bool,
    offsets: *const c_void,
    keys: BytesRows,
    values: BytesRows,
}

/// A record batch whose rows are to be produced.
pub struct RowBatch {
    value: BytesRows,
    key: Option<BytesRows>,
    headers: Option<HeaderRows>,
    timestamp: Option<(IntegerRows, TimestampUnit)>,
    partition: Option<IntegerRows>,
    length: usize,
    /// Keeps alive what the columns point to.
    _array: ArrowArray,
}

// SAFETY: the pointers lead into what `_array` keeps alive, which is immutable.
unsafe impl Send for RowBatch {}
// SAFETY: as above; nothing is changed through them.
unsafe impl Sync for RowBatch {}

/// One row.
pub struct Row<'a> {
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: Vec<(&'a [u8], Option<&'a [u8]>)>,
    pub timestamp: Option<i64>,
    pub partition: Option<i64>,
}

pub(super) fn broken(column: &str, what: &str) -> ImportError {
    ImportError(format!("column {column} of the Arrow data is broken: {what}"))
}

pub(super) fn buffers(
    column: &str,
    array: &ArrowArray,
    at_least: usize,
) -> Result<Vec<*const c_void>, ImportError> {
    let count = array.n_buffers.max(0) as usize;
    if count < at_least {
        return Err(broken(column, "buffers are missing"));
    }
    // SAFETY: the interface has `n_buffers` pointers here.
    Ok((0..count).map(|index| unsafe { *array.buffers.add(index) }).collect())
}

pub(super) fn child<'a>(
    column: &str,
    array: &'a ArrowArray,
    index: usize,
) -> Result<&'a ArrowArray, ImportError> {
    if index >= array.n_children.max(0) as usize {
        return Err(broken(column, "children are missing"));
    }
    // SAFETY: the interface has `n_children` pointers to valid arrays here, which live with their parent.
    Ok(unsafe { &**array.children.add(index) })
}

/// # Safety
/// `buffer` must hold a `T` at `index`.
pub(super) unsafe fn read<T: Copy>(buffer: *const c_void, index: usize) -> T {
    // SAFETY: the caller's promise; `read_unaligned` asks for nothing more.
    unsafe { buffer.cast::<T>().add(index).read_unaligned() }
}

impl ColumnRows {
    /// The last `length` rows from `parent_offset` on: a parent's offset counts on top of its children's.
    pub(super) fn new(
        column: &str,
        array: &ArrowArray,
        parent_offset: usize,
        length: usize,
    ) -> Result<Self, ImportError> {
        let own_length = usize::try_from(array.length).map_err(|_| broken(column, "negative length"))?;
        let own_offset = usize::try_from(array.offset).map_err(|_| broken(column, "negative offset"))?;
        if parent_offset + length > own_length {
            return Err(broken(column, "it is shorter than the others"));
        }
        let validity = match buffers(column, array, 0)?.first() {
            Some(bits) if array.null_count != 0 => bits.cast(),
            _ => std::ptr::null(),
        };
        Ok(Self { validity, offset: own_offset + parent_offset, length })
    }

    /// The row's index in the buffers; None for a null.
    #[inline]
    pub(super) fn index(&self, row: usize) -> Option<usize> {
        assert!(row < self.length);
        let index = self.offset + row;
        if !self.validity.is_null() {
            // SAFETY: a bitmap has a bit for each of the array's rows, and `index` is one of them.
            let byte = unsafe { *self.validity.add(index / 8) };
            if byte >> (index % 8) & 1 == 0 {
                return None;
            }
        }
        Some(index)
    }
}

impl BytesRows {
    fn new(
        column: &str,
        bytes_type: BytesType,
        array: &ArrowArray,
        parent_offset: usize,
        length: usize,
    ) -> Result<Self, ImportError> {
        let rows = ColumnRows::new(column, array, parent_offset, length)?;
        let needed = match bytes_type {
            BytesType::Null => 0,
            BytesType::Fixed(_) => 2,
            BytesType::Offsets32 | BytesType::Offsets64 | BytesType::View => 3,
        };
        let buffers = buffers(column, array, needed)?;
        if length == 0 || bytes_type == BytesType::Null {
            return Ok(Self { rows, values: BytesValues::Null });
        }
        if buffers[1].is_null() {
            return Err(broken(column, "a buffer is missing"));
        }
        let end = rows.offset + length;
        // SAFETY: offset buffers have one entry more than rows, and `end` is at most the number of rows; the last
        // buffer of a view column holds the sizes of the data buffers before it.
        let values = unsafe {
            match bytes_type {
                BytesType::Null => BytesValues::Null,
                BytesType::Fixed(width) => BytesValues::Fixed { data: buffers[1].cast(), width },
                BytesType::Offsets32 => BytesValues::Offsets32 {
                    offsets: buffers[1],
                    data: buffers[2].cast(),
                    data_bytes: read::<i32>(buffers[1], end).max(0) as usize,
                },
                BytesType::Offsets64 => BytesValues::Offsets64 {
                    offsets: buffers[1],
                    data: buffers[2].cast(),
                    data_bytes: read::<i64>(buffers[1], end).max(0) as usize,
                },
                BytesType::View => {
                    let (views, sizes) = (buffers[1].cast(), buffers[buffers.len() - 1]);
                    let data = &buffers[2..buffers.len() - 1];
                    let buffers = data.iter().enumerate().map(|(index, data)| DataBuffer {
                        data: data.cast(),
                        bytes: read::<i64>(sizes, index).max(0) as usize,
                    });
                    BytesValues::View { views, buffers: buffers.collect() }
                }
            }
        };
        Ok(Self { rows, values })
    }

    #[inline(always)]
    fn get(&self, column: &str, row: usize) -> Result<Option<&[u8]>, ImportError> {
        let Some(index) = self.rows.index(row) else { return Ok(None) };
        // SAFETY: `index` is a row of the array, so that its entries exist in the buffers; there are bytes up to the
        // last offset, and in a view's buffers as many as they say.
        unsafe {
            match &self.values {
                BytesValues::Null => Ok(None),
                BytesValues::Fixed { data, width } => {
                    Ok(Some(std::slice::from_raw_parts(data.add(index * width), *width)))
                }
                BytesValues::Offsets32 { offsets, data, data_bytes } => {
                    let (start, end) = (read::<i32>(*offsets, index), read::<i32>(*offsets, index + 1));
                    between(column, *data, *data_bytes, i64::from(start), i64::from(end)).map(Some)
                }
                BytesValues::Offsets64 { offsets, data, data_bytes } => {
                    let (start, end) = (read::<i64>(*offsets, index), read::<i64>(*offsets, index + 1));
                    between(column, *data, *data_bytes, start, end).map(Some)
                }
                BytesValues::View { views, buffers } => {
                    view(column, views.add(index * VIEW_BYTES), buffers).map(Some)
                }
            }
        }
    }
}

/// # Safety
/// `data` must hold `data_bytes` bytes, and live as long as is needed.
#[inline]
unsafe fn between<'a>(
    column: &str,
    data: *const u8,
    data_bytes: usize,
    start: i64,
    end: i64,
) -> Result<&'a [u8], ImportError> {
    if start < 0 || end < start || end as usize > data_bytes {
        return Err(broken(column, "its offsets do not rise"));
    }
    if start == end {
        return Ok(&[]);
    }
    // SAFETY: the caller's promise, and the bytes lie below the last.
    Ok(unsafe { std::slice::from_raw_parts(data.add(start as usize), (end - start) as usize) })
}

const VIEW_BYTES: usize = 16;

/// # Safety
/// `view` must be a view, and `buffers` the data buffers of its column, which live as long as is needed.
unsafe fn view<'a>(column: &str, view: *const u8, buffers: &[DataBuffer]) -> Result<&'a [u8], ImportError> {
    const INLINE_BYTES: usize = 12;
    // SAFETY: a view is its length, then its bytes if they are 12 at most, else four bytes, the number of a data
    // buffer and where in it they begin. That they lie inside is checked.
    unsafe {
        let length = usize::try_from(read::<i32>(view.cast(), 0))
            .map_err(|_| broken(column, "a view has a negative length"))?;
        if length <= INLINE_BYTES {
            return Ok(std::slice::from_raw_parts(view.add(4), length));
        }
        let buffer = buffers.get(read::<i32>(view.cast(), 2) as usize);
        let start = read::<i32>(view.cast(), 3) as usize;
        match buffer.filter(|buffer| start.saturating_add(length) <= buffer.bytes) {
            Some(buffer) => Ok(std::slice::from_raw_parts(buffer.data.add(start), length)),
            None => Err(broken(column, "a view leads outside its buffer")),
        }
    }
}

impl IntegerRows {
    fn new(
        column: &str,
        integer_type: IntegerType,
        array: &ArrowArray,
        parent_offset: usize,
        length: usize,
    ) -> Result<Self, ImportError> {
        let rows = ColumnRows::new(column, array, parent_offset, length)?;
        let values = buffers(column, array, 2)?[1];
        if values.is_null() && length > 0 {
            return Err(broken(column, "a buffer is missing"));
        }
        Ok(Self { rows, integer_type, values })
    }

    fn get(&self, row: usize) -> Option<i64> {
        let index = self.rows.index(row)?;
        // SAFETY: `index` is a row of the array, and `values` has one number of this type for each.
        unsafe {
            Some(match self.integer_type {
                IntegerType::Int8 => i64::from(read::<i8>(self.values, index)),
                IntegerType::Int16 => i64::from(read::<i16>(self.values, index)),
                IntegerType::Int32 => i64::from(read::<i32>(self.values, index)),
                IntegerType::Int64 => read::<i64>(self.values, index),
            })
        }
    }
}

impl HeaderRows {
    fn new(
        headers_type: HeadersType,
        array: &ArrowArray,
        parent_offset: usize,
        length: usize,
    ) -> Result<Self, ImportError> {
        let column = "headers";
        let rows = ColumnRows::new(column, array, parent_offset, length)?;
        let offsets = buffers(column, array, 2)?[1];
        if offsets.is_null() && length > 0 {
            return Err(broken(column, "a buffer is missing"));
        }
        let entries = child(column, array, 0)?;
        // What the offsets count are entries, from the start of the child.
        let count = usize::try_from(entries.length).map_err(|_| broken(column, "negative length"))?;
        let entry_rows = ColumnRows::new(column, entries, 0, count)?;
        let part = |index, part_type| {
            let part = child(column, entries, index)?;
            BytesRows::new(column, part_type, part, entry_rows.offset, count)
        };
        Ok(Self {
            rows,
            offsets_are_64_bits: headers_type.offsets_are_64_bits,
            offsets,
            keys: part(0, headers_type.key)?,
            values: part(1, headers_type.value)?,
        })
    }

    fn get<'a>(
        &'a self,
        row: usize,
        headers: &mut Vec<(&'a [u8], Option<&'a [u8]>)>,
    ) -> Result<(), ImportError> {
        let Some(index) = self.rows.index(row) else { return Ok(()) };
        // SAFETY: `index` is a row of the array, and offset buffers have one entry more than rows.
        let (start, end) = unsafe {
            if self.offsets_are_64_bits {
                (read::<i64>(self.offsets, index), read::<i64>(self.offsets, index + 1))
            } else {
                (i64::from(read::<i32>(self.offsets, index)), i64::from(read::<i32>(self.offsets, index + 1)))
            }
        };
        if start < 0 || end < start || end as usize > self.keys.rows.length {
            return Err(broken("headers", "its offsets do not rise"));
        }
        for entry in start as usize..end as usize {
            let key = self.keys.get("headers.key", entry)?;
            let key = key.ok_or_else(|| ImportError(format!("a header's key is null in row {row}")))?;
            headers.push((key, self.values.get("headers.value", entry)?));
        }
        Ok(())
    }
}

impl RowBatch {
    pub fn new(schema: &RowSchema, array: ArrowArray) -> Result<Self, ImportError> {
        let length = usize::try_from(array.length).map_err(|_| broken("batch", "negative length"))?;
        let offset = usize::try_from(array.offset).map_err(|_| broken("batch", "negative offset"))?;
        if array.n_children != schema.column_count as i64 {
            return Err(broken("batch", "it has not the columns of its schema"));
        }
        let bytes = |column: &str, (index, bytes_type): (usize, BytesType)| {
            BytesRows::new(column, bytes_type, child(column, &array, index)?, offset, length)
        };
        let integers = |column: &str, index: usize, integer_type: IntegerType| {
            IntegerRows::new(column, integer_type, child(column, &array, index)?, offset, length)
        };
        Ok(Self {
            value: bytes("value", schema.value)?,
            key: schema.key.map(|key| bytes("key", key)).transpose()?,
            headers: match schema.headers {
                Some((index, headers_type)) => {
                    Some(HeaderRows::new(headers_type, child("headers", &array, index)?, offset, length)?)
                }
                None => None,
            },
            timestamp: match schema.timestamp {
                Some((index, unit)) => Some((integers("timestamp", index, IntegerType::Int64)?, unit)),
                None => None,
            },
            partition: match schema.partition {
                Some((index, integer_type)) => Some(integers("partition", index, integer_type)?),
                None => None,
            },
            length,
            _array: array,
        })
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, row: usize) -> Result<Row<'_>, ImportError> {
        let mut headers = Vec::new();
        if let Some(column) = &self.headers {
            column.get(row, &mut headers)?;
        }
        Ok(Row {
            key: match &self.key {
                Some(key) => key.get("key", row)?,
                None => None,
            },
            value: self.value.get("value", row)?,
            headers,
            timestamp: self.timestamp.as_ref().and_then(|(rows, unit)| Some(unit.to_ms(rows.get(row)?))),
            partition: self.partition.as_ref().and_then(|rows| rows.get(row)),
        })
    }
}
