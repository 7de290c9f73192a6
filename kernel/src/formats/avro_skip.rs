//! What is in Avro's bytes and in no column: a field that the reader's schema does not have. Its type may contain
//! itself, unlike what goes into columns.

use std::sync::Arc;

use serde_json::Value;

use super::avro_wire::{block, branch, sized};
use super::failure::{Failure, Outcome};
use super::plan;
use super::wire::Input;

/// Bytes that were made up would lead deeper and deeper into a type that contains itself.
const DEEPEST: usize = 300;

/// The fields of all records of a plan, by the record's number.
pub struct Skipping {
    records: Vec<Vec<Node>>,
}

/// One type.
pub struct Skipped {
    node: Node,
    plan: Arc<Skipping>,
}

enum Node {
    Bytes(usize),
    /// A whole number of any width.
    Number,
    /// Bytes behind their length.
    Sized,
    Array(Box<Node>),
    Map(Box<Node>),
    Record(usize),
    Union(Vec<Node>),
}

impl Skipping {
    pub fn new(records: &[Value]) -> Result<Self, String> {
        let fields = |record: &Value| {
            let fields = plan::list(record, "fields")?.iter();
            fields.filter(|field| is_written(field)).map(|field| node(&field["node"])).collect()
        };
        Ok(Self { records: records.iter().map(fields).collect::<Result<_, String>>()? })
    }

    fn takes_no_bytes(&self, node: &Node, depth: usize) -> bool {
        match node {
            Node::Bytes(size) => *size == 0,
            Node::Record(number) => {
                depth < DEEPEST
                    && self.records[*number].iter().all(|field| self.takes_no_bytes(field, depth + 1))
            }
            _ => false,
        }
    }

    fn skip(&self, node: &Node, input: &mut Input<'_>, depth: usize) -> Outcome {
        if depth > DEEPEST {
            return Err(Failure::new(format!("the value is deeper than {DEEPEST} types")));
        }
        match node {
            Node::Bytes(size) => input.bytes(*size).map(|_| ()),
            Node::Number => input.varint().map(|_| ()),
            Node::Sized => sized(input).map(|_| ()),
            Node::Array(item) if self.takes_no_bytes(item, 0) => {
                while input.zigzag()? != 0 {}
                Ok(())
            }
            Node::Array(item) => self.skip_items(input, |input| self.skip(item, input, depth + 1)),
            Node::Map(value) => self.skip_items(input, |input| {
                sized(input)?;
                self.skip(value, input, depth + 1)
            }),
            Node::Record(number) => {
                self.records[*number].iter().try_for_each(|field| self.skip(field, input, depth + 1))
            }
            Node::Union(branches) => {
                let branch = branch(input, branches)?;
                self.skip(branch, input, depth + 1)
            }
        }
    }

    fn skip_items(&self, input: &mut Input<'_>, mut skip: impl FnMut(&mut Input<'_>) -> Outcome) -> Outcome {
        while let Some(count) = block(input)? {
            for _ in 0..count {
                skip(input)?;
            }
        }
        Ok(())
    }
}

impl Skipped {
    pub fn new(given: &Value, plan: Arc<Skipping>) -> Result<Self, String> {
        Ok(Self { node: node(given)?, plan })
    }

    pub fn takes_no_bytes(&self) -> bool {
        self.plan.takes_no_bytes(&self.node, 0)
    }

    pub fn skip(&self, input: &mut Input<'_>) -> Outcome {
        self.plan.skip(&self.node, input, 0)
    }
}

/// A field with a default has no bytes: nobody wrote it.
fn is_written(field: &Value) -> bool {
    field["default"].is_null()
}

fn node(given: &Value) -> Result<Node, String> {
    Ok(match plan::text(given, "kind")? {
        // What is a mismatch is in no field that is skipped.
        "null" | "mismatch" => Node::Bytes(0),
        "boolean" => Node::Bytes(1),
        "int" | "long" | "long_as_double" | "enum" => Node::Number,
        "float" => Node::Bytes(4),
        "double" => Node::Bytes(8),
        "bytes" | "string" => Node::Sized,
        "fixed" => Node::Bytes(plan::size(given, "size")?),
        "array" => Node::Array(Box::new(node(&given["items"])?)),
        "map" => Node::Map(Box::new(node(&given["values"])?)),
        "record" => Node::Record(plan::size(given, "number")?),
        "union" => {
            let branches = plan::list(given, "branches")?.iter();
            Node::Union(branches.map(|branch| node(&branch["node"])).collect::<Result<_, _>>()?)
        }
        other => return Err(format!("unknown kind {other:?}")),
    })
}
