//! Columns of any type, filled value by value, from which a row that fails half-way can be taken out again.

use super::data_type::DataType;

/// Offsets of variable-length columns are of 32 bits.
const MAX_COLUMN_BYTES: usize = i32::MAX as usize;

/// A column and those within it.
#[derive(Debug, Clone)]
pub struct Column {
    rows: usize,
    validity: Validity,
    values: Values,
}

#[derive(Debug, Clone)]
pub enum Values {
    Bits(Vec<u8>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Int128(Vec<i128>),
    Bytes { offsets: Vec<i32>, data: Vec<u8> },
    Struct(Vec<Column>),
    List { offsets: Vec<i32>, item: Box<Column> },
    Map { offsets: Vec<i32>, key: Box<Column>, value: Box<Column> },
}

/// One bit a row, from the first null on.
#[derive(Debug, Clone, Default)]
struct Validity(Option<Vec<u8>>);

fn set_bit(bits: &mut Vec<u8>, row: usize, is_set: bool) {
    if bits.len() <= row / 8 {
        bits.resize(row / 8 + 1, 0);
    }
    let mask = 1 << (row % 8);
    // What a row that was taken out has left there is overwritten.
    bits[row / 8] = (bits[row / 8] & !mask) | (u8::from(is_set) * mask);
}

impl Validity {
    #[inline]
    fn push(&mut self, row: usize, is_valid: bool) {
        match &mut self.0 {
            Some(bits) => set_bit(bits, row, is_valid),
            None if is_valid => {}
            None => {
                let mut bits = vec![0xff; row / 8 + 1];
                set_bit(&mut bits, row, false);
                self.0 = Some(bits);
            }
        }
    }
}

/// A column cannot take more bytes or items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Column {
    pub fn new(data_type: &DataType) -> Self {
        let column = |data_type: &DataType| Box::new(Self::new(data_type));
        let values = match data_type {
            DataType::Boolean => Values::Bits(Vec::new()),
            DataType::Int8 => Values::Int8(Vec::new()),
            DataType::Int16 => Values::Int16(Vec::new()),
            DataType::Int32 | DataType::Date => Values::Int32(Vec::new()),
            DataType::Int64 | DataType::Timestamp { .. } | DataType::Duration => Values::Int64(Vec::new()),
            DataType::Float32 => Values::Float32(Vec::new()),
            DataType::Float64 => Values::Float64(Vec::new()),
            DataType::Decimal { .. } => Values::Int128(Vec::new()),
            DataType::Utf8 | DataType::Binary => Values::Bytes { offsets: vec![0], data: Vec::new() },
            DataType::Struct(fields) => {
                Values::Struct(fields.iter().map(|field| Self::new(&field.data_type)).collect())
            }
            DataType::List(item) => Values::List { offsets: vec![0], item: column(item) },
            DataType::Map(key, value) => {
                Values::Map { offsets: vec![0], key: column(key), value: column(value) }
            }
        };
        Self { rows: 0, validity: Validity::default(), values }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The bitmap and how many nulls it has; None without nulls.
    pub fn validity(&self) -> Option<(&[u8], usize)> {
        let bits = &self.validity.0.as_deref()?[..self.rows.div_ceil(8)];
        let mut valid: usize = bits.iter().map(|byte| byte.count_ones() as usize).sum();
        if self.rows % 8 > 0 {
            let behind = bits[self.rows / 8] >> (self.rows % 8);
            valid -= behind.count_ones() as usize;
        }
        Some((bits, self.rows - valid))
    }

    /// Room for so many more rows, where that can be known.
    pub fn reserve(&mut self, more: usize) {
        match &mut self.values {
            Values::Bits(bits) => bits.reserve(more / 8 + 1),
            Values::Int8(values) => values.reserve(more),
            Values::Int16(values) => values.reserve(more),
            Values::Int32(values) => values.reserve(more),
            Values::Int64(values) => values.reserve(more),
            Values::Float32(values) => values.reserve(more),
            Values::Float64(values) => values.reserve(more),
            Values::Int128(values) => values.reserve(more),
            Values::Bytes { offsets, .. } | Values::List { offsets, .. } | Values::Map { offsets, .. } => {
                offsets.reserve(more);
            }
            Values::Struct(fields) => fields.iter_mut().for_each(|field| field.reserve(more)),
        }
    }

    #[inline]
    fn close(&mut self, is_valid: bool) {
        self.validity.push(self.rows, is_valid);
        self.rows += 1;
    }

    pub fn push_null(&mut self) {
        let row = self.rows;
        match &mut self.values {
            Values::Bits(bits) => set_bit(bits, row, false),
            Values::Int8(values) => values.push(0),
            Values::Int16(values) => values.push(0),
            Values::Int32(values) => values.push(0),
            Values::Int64(values) => values.push(0),
            Values::Float32(values) => values.push(0.0),
            Values::Float64(values) => values.push(0.0),
            Values::Int128(values) => values.push(0),
            Values::Bytes { offsets, .. } | Values::List { offsets, .. } | Values::Map { offsets, .. } => {
                offsets.push(offsets[row]);
            }
            Values::Struct(fields) => fields.iter_mut().for_each(Self::push_null),
        }
        self.close(false);
    }

    /// # Panics
    /// As all that follow, if the column is of another type.
    #[inline]
    pub fn push_bool(&mut self, value: bool) {
        let Values::Bits(bits) = &mut self.values else { unreachable!() };
        set_bit(bits, self.rows, value);
        self.close(true);
    }

    /// A whole number; false if the column's type is too small for it.
    #[inline]
    #[must_use]
    pub fn push_int(&mut self, value: i64) -> bool {
        match &mut self.values {
            Values::Int64(values) => values.push(value),
            Values::Int32(values) => match value.try_into() {
                Ok(value) => values.push(value),
                Err(_) => return false,
            },
            Values::Int16(values) => match value.try_into() {
                Ok(value) => values.push(value),
                Err(_) => return false,
            },
            Values::Int8(values) => match value.try_into() {
                Ok(value) => values.push(value),
                Err(_) => return false,
            },
            _ => unreachable!(),
        }
        self.close(true);
        true
    }

    #[inline]
    pub fn push_float(&mut self, value: f64) {
        match &mut self.values {
            Values::Float64(values) => values.push(value),
            Values::Float32(values) => values.push(value as f32),
            _ => unreachable!(),
        }
        self.close(true);
    }

    #[inline]
    pub fn push_decimal(&mut self, unscaled: i128) {
        let Values::Int128(values) = &mut self.values else { unreachable!() };
        values.push(unscaled);
        self.close(true);
    }

    #[inline]
    pub fn push_bytes(&mut self, value: &[u8]) -> Result<(), Full> {
        let Values::Bytes { offsets, data } = &mut self.values else { unreachable!() };
        if data.len() + value.len() > MAX_COLUMN_BYTES {
            return Err(Full);
        }
        data.extend_from_slice(value);
        offsets.push(data.len() as i32);
        self.close(true);
        Ok(())
    }

    /// The columns of a struct, each of which has to get a value before `close_struct`.
    #[inline]
    pub fn fields(&mut self) -> &mut [Column] {
        let Values::Struct(fields) = &mut self.values else { unreachable!() };
        fields
    }

    #[inline]
    pub fn close_struct(&mut self) {
        debug_assert!(self.fields().iter().all(|field| field.rows > 0));
        self.close(true);
    }

    /// The column of the items of lists, of which those pushed since the last list become the next one.
    #[inline]
    pub fn items(&mut self) -> &mut Column {
        let Values::List { item, .. } = &mut self.values else { unreachable!() };
        item
    }

    /// The columns of the keys and the values of maps, as `items`.
    #[inline]
    pub fn entries(&mut self) -> (&mut Column, &mut Column) {
        let Values::Map { key, value, .. } = &mut self.values else { unreachable!() };
        (key, value)
    }

    #[inline]
    pub fn close_items(&mut self) -> Result<(), Full> {
        let (offsets, items) = match &mut self.values {
            Values::List { offsets, item } => (offsets, item.rows),
            Values::Map { offsets, key, .. } => (offsets, key.rows),
            _ => unreachable!(),
        };
        offsets.push(i32::try_from(items).map_err(|_| Full)?);
        self.close(true);
        Ok(())
    }

    /// Takes out what came after the first `rows` rows, of a row that is not closed too.
    pub fn truncate(&mut self, rows: usize) {
        match &mut self.values {
            Values::Bits(_) => {}
            Values::Int8(values) => values.truncate(rows),
            Values::Int16(values) => values.truncate(rows),
            Values::Int32(values) => values.truncate(rows),
            Values::Int64(values) => values.truncate(rows),
            Values::Float32(values) => values.truncate(rows),
            Values::Float64(values) => values.truncate(rows),
            Values::Int128(values) => values.truncate(rows),
            Values::Bytes { offsets, data } => {
                offsets.truncate(rows + 1);
                data.truncate(offsets[rows] as usize);
            }
            Values::Struct(fields) => fields.iter_mut().for_each(|field| field.truncate(rows)),
            Values::List { offsets, item } => {
                offsets.truncate(rows + 1);
                item.truncate(offsets[rows] as usize);
            }
            Values::Map { offsets, key, value } => {
                offsets.truncate(rows + 1);
                key.truncate(offsets[rows] as usize);
                value.truncate(offsets[rows] as usize);
            }
        }
        self.rows = rows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow::Field;

    fn nested() -> Column {
        let list = DataType::List(Box::new(DataType::Utf8));
        Column::new(&DataType::Struct(vec![
            Field { name: "a".into(), data_type: DataType::Boolean },
            Field { name: "b".into(), data_type: list },
        ]))
    }

    fn push(column: &mut Column, flag: bool, texts: &[&str]) {
        let [a, b] = column.fields() else { unreachable!() };
        a.push_bool(flag);
        for text in texts {
            b.items().push_bytes(text.as_bytes()).unwrap();
        }
        b.close_items().unwrap();
        column.close_struct();
    }

    #[test]
    fn a_row_that_failed_leaves_nothing_behind() {
        let (mut column, mut expected) = (nested(), nested());
        for row in 0..20 {
            push(&mut column, row % 3 == 0, &["x", "y"]);
            push(&mut expected, row % 3 == 0, &["x", "y"]);
            // Half a row: a flag, and an item of a list that is not closed.
            column.fields()[0].push_bool(true);
            column.fields()[1].items().push_bytes(b"half").unwrap();
            column.truncate(row * 2 + 1);
            column.push_null();
            expected.push_null();
        }
        assert_eq!(column.validity(), expected.validity());
        assert_eq!(column.validity().unwrap().1, 20);
        let Values::Struct(fields) = column.values() else { unreachable!() };
        let Values::Struct(expected) = expected.values() else { unreachable!() };
        let Values::List { offsets, item } = fields[1].values() else { unreachable!() };
        let Values::List { offsets: expected_offsets, .. } = expected[1].values() else { unreachable!() };
        assert_eq!(offsets, expected_offsets);
        let Values::Bytes { data, .. } = item.values() else { unreachable!() };
        assert_eq!(data.len(), 40);
        assert_eq!(fields[0].validity(), expected[0].validity());
    }
}
