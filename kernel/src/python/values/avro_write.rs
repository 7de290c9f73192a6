//! Python objects into Avro's binary encoding.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyMapping, PySequence, PySet,
    PyString, PyTuple,
};

use crate::formats::write_zigzag;
use crate::python::values::avro_plan::{AvroRecord, Branch, Enum, Meaning, Node, Plain, Plan, Strictness};
use crate::python::values::classes::Classes;
use crate::python::values::models::{fields_of, model_name};
use crate::python::values::outcome::{Done, NotDone, shown};

/// A value that contains itself would have no end.
const DEEPEST: usize = 300;
const EPOCH_ORDINAL: i64 = 719_163;

pub struct Writing<'a> {
    pub plan: &'a Plan,
    pub classes: &'a Classes,
}

impl Writing<'_> {
    pub fn value(
        &self,
        node: &Node,
        value: &Bound<'_, PyAny>,
        output: &mut Vec<u8>,
        depth: usize,
    ) -> Done<()> {
        if depth > DEEPEST {
            return Err(NotDone::wrong(format!("the value is deeper than {DEEPEST} types")));
        }
        match node {
            Node::Plain(plain) => self.plain(*plain, value, output),
            Node::Meant(plain, meaning) => self.meant(*plain, *meaning, value, output),
            Node::Record(number) => self.record(&self.plan.records[*number], value, output, depth),
            Node::Union(branches) => self.union(branches, value, output, depth),
            Node::Enum(found) => self.symbol(found, value, output),
            Node::Array(item) => self.array(item, value, output, depth),
            Node::Map(node) => self.map(node, value, output, depth),
            Node::Mismatch(reason) => Err(NotDone::wrong(reason)),
        }
    }

    fn record(
        &self,
        record: &AvroRecord,
        value: &Bound<'_, PyAny>,
        output: &mut Vec<u8>,
        depth: usize,
    ) -> Done<()> {
        let py = value.py();
        let Some(fields) = fields_of(value)? else {
            return Err(wrong_type(&format!("a record {}", record.name.bind(py)), value));
        };
        let strictness = self.plan.strictness;
        let mut found = 0;
        for field in &record.fields {
            let given = fields.get_item(&field.name)?;
            found += usize::from(given.is_some());
            let outcome = match (given, &field.default) {
                (Some(value), _) => self.value(&field.node, &value, output, depth + 1),
                (None, default) if strictness.wants(default.is_some()) => {
                    Err(NotDone::wrong("it is missing, and records are to have all their fields"))
                }
                (None, Some(default)) => {
                    output.extend_from_slice(default);
                    continue;
                }
                (None, None) => self
                    .value(&field.node, py.None().bind(py), output, depth + 1)
                    .map_err(|_| NotDone::wrong("it is missing, and has no default")),
            };
            outcome.map_err(|error| error.in_field(&field.text))?;
        }
        if strictness != Strictness::None && value.is_exact_instance_of::<PyDict>() && found < fields.len() {
            return no_others(record, &fields);
        }
        Ok(())
    }

    fn array(&self, item: &Node, value: &Bound<'_, PyAny>, output: &mut Vec<u8>, depth: usize) -> Done<()> {
        let write = |index: usize, part: &Bound<'_, PyAny>, output: &mut Vec<u8>| {
            self.value(item, part, output, depth + 1).map_err(|error| error.in_item(index))
        };
        if let Ok(list) = value.cast::<PyList>() {
            if !list.is_empty() {
                write_zigzag(output, list.len() as i64);
                // Whatever its items' methods do to the list meanwhile, as many are written as were said.
                let items = list.iter().collect::<Vec<_>>();
                for (index, part) in items.iter().enumerate() {
                    write(index, part, output)?;
                }
            }
        } else {
            let Some(items) = items_of(value)? else { return Err(wrong_type("an array", value)) };
            if !items.is_empty() {
                write_zigzag(output, items.len() as i64);
                for (index, part) in items.iter().enumerate() {
                    write(index, part, output)?;
                }
            }
        }
        output.push(0);
        Ok(())
    }

    fn map(&self, node: &Node, value: &Bound<'_, PyAny>, output: &mut Vec<u8>, depth: usize) -> Done<()> {
        let Ok(map) = value.cast::<PyMapping>() else { return Err(wrong_type("a map", value)) };
        let pairs = map.items()?;
        if !pairs.is_empty() {
            write_zigzag(output, pairs.len() as i64);
            for pair in pairs.iter() {
                let (key, part): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
                let Ok(key) = key.cast_into::<PyString>() else {
                    return Err(NotDone::wrong("the keys of a map must be strings"));
                };
                write_sized(output, key.to_str()?.as_bytes());
                let outcome = self.value(node, &part, output, depth + 1);
                outcome.map_err(|error| error.in_item(format!("{:?}", key.to_string()).replace('"', "'")))?;
            }
        }
        output.push(0);
        Ok(())
    }

    fn symbol(&self, found: &Enum, value: &Bound<'_, PyAny>, output: &mut Vec<u8>) -> Done<()> {
        if let Some(index) = self.symbol_of(found, value)? {
            write_zigzag(output, index as i64);
            return Ok(());
        }
        match value.cast::<PyString>() {
            Ok(text) => {
                Err(NotDone::wrong(format!("{:?} is none of {}", text.to_str()?, found.texts.join(", "))))
            }
            Err(_) => Err(wrong_type("an enum", value)),
        }
    }

    /// The number of the symbol that a text is, or a member of Python's Enum by its name or value.
    fn symbol_of(&self, found: &Enum, value: &Bound<'_, PyAny>) -> Done<Option<usize>> {
        let position = |text: &Bound<'_, PyAny>| -> PyResult<Option<usize>> {
            let Ok(text) = text.cast::<PyString>() else { return Ok(None) };
            let text = text.to_str()?;
            Ok(found.texts.iter().position(|symbol| symbol == text))
        };
        if value.is_exact_instance_of::<PyString>()
            || !value.is_instance(self.classes.enumeration.bind(value.py()))?
        {
            return Ok(position(value)?);
        }
        let py = value.py();
        match position(&value.getattr(intern!(py, "name"))?)? {
            None => Ok(position(&value.getattr(intern!(py, "value"))?)?),
            index => Ok(index),
        }
    }

    // Unions

    fn union(
        &self,
        branches: &[Branch],
        value: &Bound<'_, PyAny>,
        output: &mut Vec<u8>,
        depth: usize,
    ) -> Done<()> {
        if let Some((index, inner)) = self.named(branches, value)? {
            write_zigzag(output, index as i64);
            return self.value(&branches[index].node, &inner, output, depth + 1);
        }
        let mut best: Option<(usize, usize)> = None;
        for (index, branch) in branches.iter().enumerate() {
            let Some(score) = self.fits(&branch.node, value, depth + 1)? else { continue };
            if !matches!(branch.node, Node::Record(_)) {
                best = Some((double_for_float(branches, index), score));
                break;
            }
            // Of several records the one that has most of the value's fields.
            if best.is_none_or(|(_, most)| score > most) {
                best = Some((index, score));
            }
        }
        let Some((index, _)) = best else {
            // With one branch besides null it is clear what was meant, and so what is wrong.
            let mut others =
                branches.iter().filter(|branch| !matches!(branch.node, Node::Plain(Plain::Null)));
            if let (Some(only), None) = (others.next(), others.next()) {
                self.value(&only.node, value, &mut Vec::new(), depth + 1)?;
            }
            let py = value.py();
            let names = branches.iter().map(|branch| branch.name.bind(py).to_string()).collect::<Vec<_>>();
            return Err(NotDone::wrong(format!(
                "{} is none of the union's types {}",
                shown(value),
                names.join(", ")
            )));
        };
        write_zigzag(output, index as i64);
        self.value(&branches[index].node, value, output, depth + 1)
    }

    /// The branch that `(name, value)` names, that a dict names by "-type", or a model by its class.
    fn named<'py>(
        &self,
        branches: &[Branch],
        value: &Bound<'py, PyAny>,
    ) -> Done<Option<(usize, Bound<'py, PyAny>)>> {
        let py = value.py();
        let (name, inner) = if let Ok(pair) = value.cast::<PyTuple>() {
            if pair.len() != 2 {
                return Ok(None);
            }
            (pair.get_item(0)?, pair.get_item(1)?)
        } else if let Ok(fields) = value.cast::<PyDict>() {
            match fields.get_item(intern!(py, "-type"))? {
                Some(name) => (name, value.clone()),
                None => return Ok(None),
            }
        } else if let Some(name) = model_name(value)? {
            (PyString::new(py, &name).into_any(), value.clone())
        } else {
            return Ok(None);
        };
        let Ok(name) = name.cast_into::<PyString>() else { return Ok(None) };
        let name = name.to_str()?;
        for (index, branch) in branches.iter().enumerate() {
            let full = branch.name.bind(py).to_str()?;
            if full == name || full.rsplit('.').next() == Some(name) {
                return Ok(Some((index, inner)));
            }
        }
        Ok(None)
    }

    /// Whether a value may be of that type; of a record, how many of its fields the value has.
    fn fits(&self, node: &Node, value: &Bound<'_, PyAny>, depth: usize) -> Done<Option<usize>> {
        let does = |fits: bool| Ok(fits.then_some(0));
        if depth > DEEPEST {
            return Err(NotDone::wrong(format!("the value is deeper than {DEEPEST} types")));
        }
        match node {
            Node::Plain(plain) => does(plain_fits(*plain, value)),
            Node::Meant(plain, meaning) => {
                does(self.meaning_fits(*meaning, value)? || plain_fits(*plain, value))
            }
            Node::Enum(found) => does(self.symbol_of(found, value)?.is_some()),
            Node::Array(item) => {
                let Some(items) = items_of(value)? else { return Ok(None) };
                for part in &items {
                    if self.fits(item, part, depth + 1)?.is_none() {
                        return Ok(None);
                    }
                }
                does(true)
            }
            Node::Map(node) => {
                let Ok(map) = value.cast::<PyMapping>() else { return Ok(None) };
                for pair in map.items()?.iter() {
                    let (key, part): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
                    if !key.is_instance_of::<PyString>() || self.fits(node, &part, depth + 1)?.is_none() {
                        return Ok(None);
                    }
                }
                does(true)
            }
            Node::Record(number) => {
                let Some(fields) = fields_of(value)? else { return Ok(None) };
                let mut found = 0;
                for field in &self.plan.records[*number].fields {
                    if let Some(part) = fields.get_item(&field.name)? {
                        if self.fits(&field.node, &part, depth + 1)?.is_none() {
                            return Ok(None);
                        }
                        found += 1;
                    } else if field.default.is_none()
                        && self.fits(&field.node, value.py().None().bind(value.py()), depth + 1)?.is_none()
                    {
                        return Ok(None);
                    }
                }
                Ok(Some(found))
            }
            Node::Union(branches) => {
                for branch in branches {
                    if self.fits(&branch.node, value, depth + 1)?.is_some() {
                        return does(true);
                    }
                }
                does(self.named(branches, value)?.is_some())
            }
            Node::Mismatch(_) => Ok(None),
        }
    }

    fn meaning_fits(&self, meaning: Meaning, value: &Bound<'_, PyAny>) -> Done<bool> {
        let py = value.py();
        let classes = self.classes;
        let class = match meaning {
            // A moment is a date as well, to Python.
            Meaning::Date => {
                let is_date = value.is_instance(classes.date.bind(py))?;
                return Ok(is_date && !value.is_instance(classes.datetime.bind(py))?);
            }
            Meaning::TimeMillis | Meaning::TimeMicros => &classes.time,
            Meaning::TimestampMillis
            | Meaning::TimestampMicros
            | Meaning::LocalMillis
            | Meaning::LocalMicros => &classes.datetime,
            Meaning::Uuid => &classes.uuid,
            Meaning::Duration => return Ok(value.is_instance_of::<PyTuple>()),
            Meaning::Decimal { .. } => &classes.decimal,
        };
        Ok(value.is_instance(class.bind(py))?)
    }

    // What has no parts

    fn plain(&self, plain: Plain, value: &Bound<'_, PyAny>, output: &mut Vec<u8>) -> Done<()> {
        match plain {
            Plain::Null => {
                if !value.is_none() {
                    return Err(wrong_type("null", value));
                }
            }
            Plain::Boolean => match value.cast::<PyBool>() {
                Ok(flag) => output.push(flag.is_true().into()),
                Err(_) => return Err(wrong_type("a boolean", value)),
            },
            Plain::Int => {
                let number = whole(value, "an int")?;
                if i32::try_from(number).is_err() {
                    return Err(NotDone::wrong(format!("{number} has more than 32 bits")));
                }
                write_zigzag(output, number);
            }
            Plain::Long => write_zigzag(output, whole(value, "a long")?),
            Plain::Float => {
                let number = fraction(value, "a float")?;
                let narrow = number as f32;
                if narrow.is_infinite() && number.is_finite() {
                    return Err(NotDone::wrong(format!("{number} is too large for a float")));
                }
                output.extend_from_slice(&narrow.to_le_bytes());
            }
            Plain::Double | Plain::LongAsDouble => {
                output.extend_from_slice(&fraction(value, "a double")?.to_le_bytes());
            }
            Plain::Bytes => with_bytes(value, "bytes", |bytes| {
                write_sized(output, bytes);
                Ok(())
            })?,
            Plain::String => match value.cast::<PyString>() {
                Ok(text) => write_sized(output, text.to_str()?.as_bytes()),
                Err(_) => return Err(wrong_type("a string", value)),
            },
            Plain::Fixed(size) => with_bytes(value, "bytes", |bytes| {
                if bytes.len() != size {
                    return Err(NotDone::wrong(format!("{} bytes for a fixed of {size}", bytes.len())));
                }
                output.extend_from_slice(bytes);
                Ok(())
            })?,
        }
        Ok(())
    }

    fn meant(
        &self,
        plain: Plain,
        meaning: Meaning,
        value: &Bound<'_, PyAny>,
        output: &mut Vec<u8>,
    ) -> Done<()> {
        if !self.meaning_fits(meaning, value)? {
            // The bare value is taken as well.
            return self.plain(plain, value, output);
        }
        let py = value.py();
        match meaning {
            Meaning::Date => {
                let ordinal: i64 = value.call_method0(intern!(py, "toordinal"))?.extract()?;
                write_zigzag(output, ordinal - EPOCH_ORDINAL);
            }
            Meaning::TimeMillis => write_zigzag(output, self.time_micros(value)? / 1000),
            Meaning::TimeMicros => write_zigzag(output, self.time_micros(value)?),
            Meaning::TimestampMillis => write_zigzag(output, self.micros(value)?.div_euclid(1000)),
            Meaning::TimestampMicros => write_zigzag(output, self.micros(value)?),
            Meaning::LocalMillis => write_zigzag(output, self.local_micros(value)?.div_euclid(1000)),
            Meaning::LocalMicros => write_zigzag(output, self.local_micros(value)?),
            Meaning::Uuid if plain == Plain::String => {
                let number: u128 = value.getattr(intern!(py, "int"))?.extract()?;
                write_sized(output, &uuid_text(number));
            }
            Meaning::Uuid => self.plain(plain, &value.getattr(intern!(py, "bytes"))?, output)?,
            Meaning::Duration => {
                let parts: (u32, u32, u32) = value
                    .extract()
                    .map_err(|_| NotDone::wrong("a duration is three whole numbers of up to 32 bits"))?;
                for part in [parts.0, parts.1, parts.2] {
                    output.extend_from_slice(&part.to_le_bytes());
                }
            }
            Meaning::Decimal { precision, scale } => {
                let bytes = unscaled(value, precision, scale)?.to_be_bytes();
                match plain {
                    Plain::Fixed(size) => write_padded(output, &bytes, size)?,
                    _ => write_sized(output, shortest(&bytes)),
                }
            }
        }
        Ok(())
    }

    fn time_micros(&self, value: &Bound<'_, PyAny>) -> Done<i64> {
        let py = value.py();
        if let Some(parts) = self.classes.pickled_time(value)? {
            return Ok(parts);
        }
        let part = |name| -> PyResult<i64> { value.getattr(name)?.extract() };
        let minutes = part(intern!(py, "hour"))? * 60 + part(intern!(py, "minute"))?;
        let seconds = minutes * 60 + part(intern!(py, "second"))?;
        Ok(seconds * 1_000_000 + part(intern!(py, "microsecond"))?)
    }

    /// Since 1970; a moment without a zone is one of this machine's.
    fn micros(&self, value: &Bound<'_, PyAny>) -> Done<i64> {
        let py = value.py();
        if let Some(micros) = self.classes.pickled_utc_moment(value)? {
            return Ok(micros);
        }
        let moment = match value.getattr(intern!(py, "tzinfo"))?.is_none() {
            true => value.call_method0(intern!(py, "astimezone"))?,
            false => value.clone(),
        };
        self.since(&moment, &self.classes.epoch)
    }

    fn local_micros(&self, value: &Bound<'_, PyAny>) -> Done<i64> {
        let py = value.py();
        let bare = match value.getattr(intern!(py, "tzinfo"))?.is_none() {
            true => value.clone(),
            false => {
                let no_zone = PyDict::new(py);
                no_zone.set_item("tzinfo", py.None())?;
                value.call_method("replace", (), Some(&no_zone))?
            }
        };
        self.since(&bare, &self.classes.local_epoch)
    }

    fn since(&self, moment: &Bound<'_, PyAny>, epoch: &Py<PyAny>) -> Done<i64> {
        let py = moment.py();
        let delta = moment.sub(epoch.bind(py))?;
        let part = |name| -> PyResult<i64> { delta.getattr(name)?.extract() };
        let seconds = part(intern!(py, "days"))? * 86_400 + part(intern!(py, "seconds"))?;
        Ok(seconds * 1_000_000 + part(intern!(py, "microseconds"))?)
    }
}

fn plain_fits(plain: Plain, value: &Bound<'_, PyAny>) -> bool {
    let is_flag = value.is_instance_of::<PyBool>();
    let is_whole = !is_flag && value.is_instance_of::<PyInt>();
    match plain {
        Plain::Null => value.is_none(),
        Plain::Boolean => is_flag,
        Plain::Int => is_whole && value.extract::<i32>().is_ok(),
        Plain::Long => is_whole && value.extract::<i64>().is_ok(),
        Plain::Float | Plain::Double | Plain::LongAsDouble => is_whole || value.is_instance_of::<PyFloat>(),
        Plain::Bytes => value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>(),
        Plain::String => value.is_instance_of::<PyString>(),
        Plain::Fixed(size) => value.cast::<PyBytes>().is_ok_and(|bytes| bytes.as_bytes().len() == size),
    }
}

fn whole(value: &Bound<'_, PyAny>, what: &str) -> Done<i64> {
    if value.is_instance_of::<PyBool>() || !value.is_instance_of::<PyInt>() {
        return Err(wrong_type(what, value));
    }
    value.extract().map_err(|_| NotDone::wrong(format!("{value} has more than 64 bits")))
}

fn fraction(value: &Bound<'_, PyAny>, what: &str) -> Done<f64> {
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.value());
    }
    if value.is_instance_of::<PyBool>() || !value.is_instance_of::<PyInt>() {
        return Err(wrong_type(what, value));
    }
    value.extract().map_err(|_| NotDone::wrong(format!("{value} is too large for {what}")))
}

fn with_bytes(value: &Bound<'_, PyAny>, what: &str, take: impl FnOnce(&[u8]) -> Done<()>) -> Done<()> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return take(bytes.as_bytes());
    }
    match value.cast::<PyByteArray>() {
        Ok(bytes) => take(&bytes.to_vec()),
        Err(_) => Err(wrong_type(what, value)),
    }
}

fn write_sized(output: &mut Vec<u8>, bytes: &[u8]) {
    write_zigzag(output, bytes.len() as i64);
    output.extend_from_slice(bytes);
}

/// A decimal times ten to the power of its scale, exactly.
fn unscaled(value: &Bound<'_, PyAny>, precision: usize, scale: usize) -> Done<i128> {
    let text = value.str()?;
    let text = text.to_str()?;
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    // With an exponent, or no number at all.
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return unscaled_of_any(value, precision, scale);
    }
    unscaled_digits(text, is_negative, digits, precision, scale)
}

#[cold]
fn unscaled_of_any(value: &Bound<'_, PyAny>, precision: usize, scale: usize) -> Done<i128> {
    let py = value.py();
    if !value.call_method0(intern!(py, "is_finite"))?.extract::<bool>()? {
        return Err(NotDone::wrong(format!("{value} is no decimal number")));
    }
    let text = value.call_method1(intern!(py, "__format__"), ("f",))?;
    let text = text.extract::<String>()?;
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.as_str()),
    };
    unscaled_digits(&text, is_negative, digits, precision, scale)
}

fn unscaled_digits(
    text: &str,
    is_negative: bool,
    digits: &str,
    precision: usize,
    scale: usize,
) -> Done<i128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > scale {
        return Err(NotDone::wrong(format!("{text} has more than {scale} digits behind the point")));
    }
    let digits = format!("{whole}{fraction:0<scale$}");
    let digits = digits.trim_start_matches('0');
    if digits.len() > precision {
        return Err(NotDone::wrong(format!("{text} has more than {precision} digits")));
    }
    let number = if digits.is_empty() { Ok(0) } else { digits.parse::<i128>() };
    let number = number.map_err(|_| NotDone::wrong(format!("{text} has more than 38 digits")))?;
    Ok(if is_negative { -number } else { number })
}

/// As Python writes it: 8-4-4-4-12 hexadecimal digits.
fn uuid_text(number: u128) -> [u8; 36] {
    let mut text = [b'-'; 36];
    let mut place = 0;
    for nibble in 0..32 {
        if matches!(place, 8 | 13 | 18 | 23) {
            place += 1;
        }
        let digit = (number >> (124 - 4 * nibble)) as u8 & 0xf;
        text[place] = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
        place += 1;
    }
    text
}

/// Without bytes that only repeat the sign.
fn shortest(bytes: &[u8; 16]) -> &[u8] {
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { 0xff };
    let mut first = 0;
    while first < 15 && bytes[first] == sign && (bytes[first + 1] ^ sign) & 0x80 == 0 {
        first += 1;
    }
    &bytes[first..]
}

fn write_padded(output: &mut Vec<u8>, bytes: &[u8; 16], size: usize) -> Done<()> {
    let short = shortest(bytes);
    let Some(padding) = size.checked_sub(short.len()) else {
        return Err(NotDone::wrong(format!("the decimal does not go into {size} bytes")));
    };
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { 0xff };
    output.extend(std::iter::repeat_n(sign, padding));
    output.extend_from_slice(short);
    Ok(())
}

/// A record has no fields but its schema's.
#[cold]
fn no_others(record: &AvroRecord, fields: &Bound<'_, PyDict>) -> Done<()> {
    let py = fields.py();
    for name in fields.keys() {
        let text = name.str()?;
        let text = text.to_str()?;
        if text != "-type" && !record.fields.iter().any(|field| field.text == text) {
            let record = record.name.bind(py);
            return Err(NotDone::wrong(format!("the record {record} has no field {text:?} in its schema")));
        }
    }
    Ok(())
}

/// Of a sequence or a set; a text is none.
fn items_of<'py>(value: &Bound<'py, PyAny>) -> Done<Option<Vec<Bound<'py, PyAny>>>> {
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Ok(None);
    }
    if value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>() {
        return Ok(Some(value.try_iter()?.collect::<PyResult<_>>()?));
    }
    match value.cast::<PySequence>() {
        Ok(sequence) => Ok(Some(sequence.to_list()?.iter().collect())),
        Err(_) => Ok(None),
    }
}

#[cold]
/// Python's floats are doubles: in a union of both, a float would be less than what was given.
fn double_for_float(branches: &[Branch], index: usize) -> usize {
    if !matches!(branches[index].node, Node::Plain(Plain::Float)) {
        return index;
    }
    branches.iter().position(|branch| matches!(branch.node, Node::Plain(Plain::Double))).unwrap_or(index)
}

fn wrong_type(wanted: &str, value: &Bound<'_, PyAny>) -> NotDone {
    NotDone::wrong(format!("{} is not {wanted}", shown(value)))
}
