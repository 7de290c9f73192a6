//! Python's classes of dates, times, decimals and UUIDs, which the stable interface reaches only by calling them.
//!
//! Dates and times are made of the bytes that they are pickled as, which takes half the time of any other way.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::formats::{date_of, days_of};

const MICROS_PER_DAY: i64 = 86_400_000_000;

pub struct Classes {
    pub date: Py<PyAny>,
    pub datetime: Py<PyAny>,
    pub time: Py<PyAny>,
    utc: Py<PyAny>,
    /// 1970 with and without UTC.
    pub epoch: Py<PyAny>,
    pub local_epoch: Py<PyAny>,
    pub decimal: Py<PyAny>,
    pub uuid: Py<PyAny>,
    new_object: Py<PyAny>,
    set_attribute: Py<PyAny>,
    unknown_safety: Py<PyAny>,
    pub duration: Py<PyAny>,
    pub enumeration: Py<PyAny>,
}

impl Classes {
    /// `duration`: what is called with months, days and milliseconds.
    pub fn new(py: Python<'_>, duration: Py<PyAny>) -> PyResult<Self> {
        let module = py.import("datetime")?;
        let datetime = module.getattr("datetime")?;
        let utc = module.getattr("timezone")?.getattr("utc")?;
        let zone = PyDict::new(py);
        zone.set_item("tzinfo", &utc)?;
        let object = py.get_type::<PyAny>();
        let uuid = py.import("uuid")?;
        Ok(Self {
            utc: utc.unbind(),
            new_object: object.getattr("__new__")?.unbind(),
            set_attribute: object.getattr("__setattr__")?.unbind(),
            unknown_safety: uuid.getattr("SafeUUID")?.getattr("unknown")?.unbind(),
            date: module.getattr("date")?.unbind(),
            time: module.getattr("time")?.unbind(),
            epoch: datetime.call((1970, 1, 1), Some(&zone))?.unbind(),
            local_epoch: datetime.call1((1970, 1, 1))?.unbind(),
            datetime: datetime.unbind(),
            decimal: py.import("decimal")?.getattr("Decimal")?.unbind(),
            uuid: uuid.getattr("UUID")?.unbind(),
            duration,
            enumeration: py.import("enum")?.getattr("Enum")?.unbind(),
        })
    }

    /// None where Python's years do not reach.
    pub fn date_of<'py>(&self, py: Python<'py>, days: i64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(date) = date_bytes(days) else { return Ok(None) };
        self.date.bind(py).call1((PyBytes::new(py, &date),)).map(Some)
    }

    /// The microseconds of a day, of Python's own `time`; None of a class of somebody else's.
    pub fn pickled_time(&self, value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        if !value.get_type().is(&self.time) {
            return Ok(None);
        }
        let state = pickled(value)?;
        let bytes: &Bound<'_, PyBytes> = &state.get_item(0)?.cast_into()?;
        Ok(bytes.as_bytes().try_into().ok().map(micros_of))
    }

    /// The microseconds since 1970, of Python's own `datetime` with UTC; None of any other.
    pub fn pickled_utc_moment(&self, value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        if !value.get_type().is(&self.datetime) {
            return Ok(None);
        }
        let state = pickled(value)?;
        if state.len() != 2 || !state.get_item(1)?.is(&self.utc) {
            return Ok(None);
        }
        let bytes: &Bound<'_, PyBytes> = &state.get_item(0)?.cast_into()?;
        let Ok(bytes) = <[u8; 10]>::try_from(bytes.as_bytes()) else { return Ok(None) };
        let days =
            days_of(i64::from(u16::from_be_bytes([bytes[0], bytes[1]])), bytes[2].into(), bytes[3].into());
        let [.., a, b, c, d, e, f] = bytes;
        Ok(Some(days * MICROS_PER_DAY + micros_of([a, b, c, d, e, f])))
    }

    /// `micros`: of a day.
    pub fn time_of<'py>(&self, py: Python<'py>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        self.time.bind(py).call1((PyBytes::new(py, &time_bytes(micros)),))
    }

    /// Since 1970, in UTC or in no zone. None where Python's years do not reach.
    pub fn moment_of<'py>(
        &self,
        py: Python<'py>,
        micros: i64,
        is_local: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(date) = date_bytes(micros.div_euclid(MICROS_PER_DAY)) else { return Ok(None) };
        let mut state = [0; 10];
        state[..4].copy_from_slice(&date);
        state[4..].copy_from_slice(&time_bytes(micros.rem_euclid(MICROS_PER_DAY)));
        let state = PyBytes::new(py, &state);
        let class = self.datetime.bind(py);
        if is_local { class.call1((state,)) } else { class.call1((state, &self.utc)) }.map(Some)
    }

    /// Without its constructor, which takes longer than all the rest of a record.
    pub fn uuid_of<'py>(&self, py: Python<'py>, number: u128) -> PyResult<Bound<'py, PyAny>> {
        let made = self.new_object.bind(py).call1((&self.uuid,))?;
        let set = self.set_attribute.bind(py);
        set.call1((&made, intern!(py, "int"), number))?;
        set.call1((&made, intern!(py, "is_safe"), &self.unknown_safety))?;
        Ok(made)
    }
}

/// What Python would pickle a date or time by: its bytes, and its zone if it has one.
fn pickled<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    let reduced = value.call_method0(intern!(value.py(), "__reduce__"))?.cast_into::<PyTuple>()?;
    Ok(reduced.get_item(1)?.cast_into()?)
}

/// Of a day, by hour, minute, second and three bytes of microseconds.
fn micros_of(bytes: [u8; 6]) -> i64 {
    let [hour, minute, second, high, middle, low] = bytes.map(i64::from);
    ((hour * 60 + minute) * 60 + second) * 1_000_000 + ((high << 16) | (middle << 8) | low)
}

fn date_bytes(days: i64) -> Option<[u8; 4]> {
    // Far enough for Python, and for no sum to overflow.
    let (year, month, day) = date_of(days.clamp(-1_000_000_000, 1_000_000_000));
    let year = u16::try_from(year).ok().filter(|year| (1..=9999).contains(year))?.to_be_bytes();
    Some([year[0], year[1], month as u8, day as u8])
}

fn time_bytes(micros: i64) -> [u8; 6] {
    let (seconds, micros) = (micros / 1_000_000, (micros % 1_000_000) as u32);
    let fraction = micros.to_be_bytes();
    let (minutes, second) = (seconds / 60, (seconds % 60) as u8);
    [(minutes / 60) as u8, (minutes % 60) as u8, second, fraction[1], fraction[2], fraction[3]]
}
