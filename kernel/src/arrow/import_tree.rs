//! Columns of any `DataType`, read out of an array of the Arrow C data interface; trusted and checked as rows to be
//! produced are (`import`).

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ops::{Deref, Range};

use super::data_type::DataType;
use super::ffi::ArrowArray;
use super::import::{ColumnRows, ImportError, broken, buffers, child, read};

/// A column of a known type.
pub struct ImportedColumn {
    rows: ColumnRows,
    kind: Kind,
}

enum Kind {
    Bits(*const c_void),
    /// Values of so many bytes.
    Fixed(*const c_void, usize),
    Bytes {
        offsets: *const c_void,
        data: *const c_void,
        data_bytes: usize,
    },
    Struct(Vec<ImportedColumn>),
    List {
        offsets: *const c_void,
        item: Box<ImportedColumn>,
    },
    Map {
        offsets: *const c_void,
        key: Box<ImportedColumn>,
        value: Box<ImportedColumn>,
    },
}

trait Number: Copy {}
impl Number for i8 {}
impl Number for i16 {}
impl Number for i32 {}
impl Number for i64 {}
impl Number for i128 {}
impl Number for f32 {}
impl Number for f64 {}

impl ImportedColumn {
    fn new(
        column: &str,
        data_type: &DataType,
        array: &ArrowArray,
        parent_offset: usize,
        length: usize,
    ) -> Result<Self, ImportError> {
        let rows = ColumnRows::new(column, array, parent_offset, length)?;
        let end = rows.offset + length;
        let buffer = |index: usize| -> Result<*const c_void, ImportError> {
            let buffer = buffers(column, array, index + 1)?[index];
            if buffer.is_null() && length > 0 {
                return Err(broken(column, "a buffer is missing"));
            }
            Ok(buffer)
        };
        let part = |name: &str, data_type: &DataType, index: usize| {
            Self::new(name, data_type, child(column, array, index)?, rows.offset, length)
        };
        let kind = match data_type {
            DataType::Struct(fields) => {
                let parts = fields
                    .iter()
                    .enumerate()
                    .map(|(index, field)| part(&field.name, &field.data_type, index));
                Kind::Struct(parts.collect::<Result<_, _>>()?)
            }
            DataType::List(item) => {
                let items = child(column, array, 0)?;
                let count = row_count(column, items)?;
                Kind::List { offsets: buffer(1)?, item: Box::new(Self::new(column, item, items, 0, count)?) }
            }
            DataType::Map(key, value) => {
                let entries = child(column, array, 0)?;
                let count = row_count(column, entries)?;
                let entry_offset = ColumnRows::new(column, entries, 0, count)?.offset;
                let part = |data_type, index| {
                    let part = child(column, entries, index)?;
                    Self::new(column, data_type, part, entry_offset, count).map(Box::new)
                };
                Kind::Map { offsets: buffer(1)?, key: part(key, 0)?, value: part(value, 1)? }
            }
            DataType::Utf8 | DataType::Binary => {
                let offsets = buffer(1)?;
                let data = buffers(column, array, 3)?[2];
                // SAFETY: offset buffers have one entry more than rows, and `end` is at most their number.
                let data_bytes = if length > 0 { unsafe { read::<i32>(offsets, end) }.max(0) } else { 0 };
                if data.is_null() && data_bytes > 0 {
                    return Err(broken(column, "a buffer is missing"));
                }
                Kind::Bytes { offsets, data, data_bytes: data_bytes as usize }
            }
            DataType::Boolean => Kind::Bits(buffer(1)?),
            DataType::Int8 => Kind::Fixed(buffer(1)?, 1),
            DataType::Int16 => Kind::Fixed(buffer(1)?, 2),
            DataType::Int32 | DataType::Date | DataType::Float32 => Kind::Fixed(buffer(1)?, 4),
            DataType::Int64 | DataType::Timestamp { .. } | DataType::Duration | DataType::Float64 => {
                Kind::Fixed(buffer(1)?, 8)
            }
            DataType::Decimal { .. } => Kind::Fixed(buffer(1)?, 16),
        };
        Ok(Self { rows, kind })
    }

    pub fn len(&self) -> usize {
        self.rows.length
    }

    pub fn is_empty(&self) -> bool {
        self.rows.length == 0
    }

    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.rows.index(row).is_none()
    }

    /// `T` is a number, which any bytes are one of.
    #[inline]
    fn fixed<T: Number>(&self, row: usize) -> T {
        let Kind::Fixed(values, width) = self.kind else { unreachable!() };
        assert!(row < self.rows.length && width == size_of::<T>());
        // SAFETY: the row is one of the array, whose buffer has a value of this width for each.
        unsafe { read::<T>(values, self.rows.offset + row) }
    }

    /// # Panics
    /// As all that follow, if there is no such row, or if the column is of another type.
    #[inline]
    pub fn bool(&self, row: usize) -> bool {
        let Kind::Bits(values) = self.kind else { unreachable!() };
        assert!(row < self.rows.length);
        let index = self.rows.offset + row;
        // SAFETY: a column of bits has one for each of its rows.
        let byte = unsafe { *values.cast::<u8>().add(index / 8) };
        byte >> (index % 8) & 1 == 1
    }

    #[inline]
    pub fn int(&self, row: usize) -> i64 {
        match self.kind {
            Kind::Fixed(_, 1) => i64::from(self.fixed::<i8>(row)),
            Kind::Fixed(_, 2) => i64::from(self.fixed::<i16>(row)),
            Kind::Fixed(_, 4) => i64::from(self.fixed::<i32>(row)),
            _ => self.fixed::<i64>(row),
        }
    }

    #[inline]
    pub fn float32(&self, row: usize) -> f32 {
        self.fixed::<f32>(row)
    }

    #[inline]
    pub fn float64(&self, row: usize) -> f64 {
        self.fixed::<f64>(row)
    }

    /// Of a column of either floats or doubles.
    #[inline]
    pub fn float_of_any_width(&self, row: usize) -> f64 {
        match self.kind {
            Kind::Fixed(_, 4) => self.float32(row).into(),
            _ => self.float64(row),
        }
    }

    #[inline]
    pub fn decimal(&self, row: usize) -> i128 {
        self.fixed::<i128>(row)
    }

    #[inline]
    pub fn bytes(&self, row: usize) -> Result<&[u8], ImportError> {
        let Kind::Bytes { offsets, data, data_bytes } = self.kind else { unreachable!() };
        let range = self.range(offsets, row, data_bytes)?;
        if range.is_empty() {
            return Ok(&[]);
        }
        // SAFETY: bytes below the last offset exist.
        Ok(unsafe { std::slice::from_raw_parts(data.cast::<u8>().add(range.start), range.len()) })
    }

    #[inline]
    fn range(&self, offsets: *const c_void, row: usize, most: usize) -> Result<Range<usize>, ImportError> {
        assert!(row < self.rows.length);
        let index = self.rows.offset + row;
        // SAFETY: the row is one of the array, whose offsets are one more than its rows.
        let (start, end) = unsafe { (read::<i32>(offsets, index), read::<i32>(offsets, index + 1)) };
        if start < 0 || end < start || end as usize > most {
            return Err(ImportError("a column of the Arrow data is broken: its offsets do not rise".into()));
        }
        Ok(start as usize..end as usize)
    }

    #[inline]
    pub fn fields(&self) -> &[ImportedColumn] {
        let Kind::Struct(fields) = &self.kind else { unreachable!() };
        fields
    }

    /// The items of a list: their column, and which of its rows.
    #[inline]
    pub fn items(&self, row: usize) -> Result<(&ImportedColumn, Range<usize>), ImportError> {
        let Kind::List { offsets, item } = &self.kind else { unreachable!() };
        Ok((item, self.range(*offsets, row, item.len())?))
    }

    /// The entries of a map: the columns of keys and values, and which of their rows.
    #[inline]
    pub fn entries(
        &self,
        row: usize,
    ) -> Result<(&ImportedColumn, &ImportedColumn, Range<usize>), ImportError> {
        let Kind::Map { offsets, key, value } = &self.kind else { unreachable!() };
        Ok((key, value, self.range(*offsets, row, key.len())?))
    }
}

fn row_count(column: &str, array: &ArrowArray) -> Result<usize, ImportError> {
    usize::try_from(array.length).map_err(|_| broken(column, "negative length"))
}

/// A column with what it lies in.
pub struct Imported {
    values: ImportedColumn,
    /// Keeps alive what the column points to.
    _array: ArrowArray,
}

// SAFETY: the pointers lead into what `_array` keeps alive, which is immutable.
unsafe impl Send for Imported {}
// SAFETY: as above; nothing is changed through them.
unsafe impl Sync for Imported {}

impl Imported {
    /// `data_type` must be that of the schema the array came with.
    pub fn new(column: &str, data_type: &DataType, array: ArrowArray) -> Result<Self, ImportError> {
        let length = row_count(column, &array)?;
        Ok(Self { values: ImportedColumn::new(column, data_type, &array, 0, length)?, _array: array })
    }
}

impl Deref for Imported {
    type Target = ImportedColumn;

    fn deref(&self) -> &ImportedColumn {
        &self.values
    }
}
