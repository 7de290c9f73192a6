//! A `tree::Column` as an array of the Arrow C data interface. The column stays where it is; each struct holds a
//! share of it until its consumer releases it.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::ffi::ArrowArray;
use super::tree::{Column, Values};

/// What an exported array owns.
struct ArrayParts {
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    _tree: Arc<Column>,
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: called once, by the owner of an array that `array` below made: `private_data` and the children
    // came out of boxes there.
    unsafe {
        let parts = Box::from_raw((*array).private_data.cast::<ArrayParts>());
        for &child in &parts.children {
            drop(Box::from_raw(child));
        }
        (*array).release = None;
    }
}

fn pointer<T>(values: &[T]) -> *const c_void {
    values.as_ptr().cast()
}

/// `buffers` must point into the tree.
fn array(
    tree: &Arc<Column>,
    length: usize,
    null_count: usize,
    buffers: Vec<*const c_void>,
    children: Vec<ArrowArray>,
) -> ArrowArray {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut parts = Box::new(ArrayParts { buffers, children, _tree: Arc::clone(tree) });
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

/// `column` must be in `tree`.
fn export(tree: &Arc<Column>, column: &Column) -> ArrowArray {
    let (bits, null_count) = column.validity().unzip();
    let bits = bits.map_or(ptr::null(), pointer);
    let (buffers, children) = match column.values() {
        Values::Bits(values) => (vec![bits, pointer(values)], Vec::new()),
        Values::Int8(values) => (vec![bits, pointer(values)], Vec::new()),
        Values::Int16(values) => (vec![bits, pointer(values)], Vec::new()),
        Values::Int32(values) => (vec![bits, pointer(values)], Vec::new()),
        Values::Int64(values) => (vec![bits, pointer(values)], Vec::new()),
        Values::Float32(values) => (vec![bits, pointer(values)], Vec::new()),
        Values::Float64(values) => (vec![bits, pointer(values)], Vec::new()),
        Values::Int128(values) => (vec![bits, pointer(values)], Vec::new()),
        Values::Bytes { offsets, data } => (vec![bits, pointer(offsets), pointer(data)], Vec::new()),
        Values::Struct(fields) => (vec![bits], fields.iter().map(|field| export(tree, field)).collect()),
        Values::List { offsets, item } => (vec![bits, pointer(offsets)], vec![export(tree, item)]),
        Values::Map { offsets, key, value } => {
            let parts = vec![export(tree, key), export(tree, value)];
            let entries = array(tree, key.rows(), 0, vec![ptr::null()], parts);
            (vec![bits, pointer(offsets)], vec![entries])
        }
    };
    array(tree, column.rows(), null_count.unwrap_or(0), buffers, children)
}

/// The column, of the type that it was made for.
pub fn export_tree(tree: &Arc<Column>) -> ArrowArray {
    export(tree, tree)
}
