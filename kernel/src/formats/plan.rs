//! Reading plans: JSON that `barnabas.formats` makes out of schemas.

use serde_json::Value;

pub fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("the plan is no JSON: {error}"))
}

fn missing(name: &str) -> String {
    format!("the plan has no {name}")
}

pub fn text<'a>(plan: &'a Value, name: &str) -> Result<&'a str, String> {
    plan[name].as_str().ok_or_else(|| missing(name))
}

pub fn size(plan: &Value, name: &str) -> Result<usize, String> {
    plan[name].as_u64().and_then(|size| size.try_into().ok()).ok_or_else(|| missing(name))
}

pub fn list<'a>(plan: &'a Value, name: &str) -> Result<&'a [Value], String> {
    plan[name].as_array().map(Vec::as_slice).ok_or_else(|| missing(name))
}

pub fn flag(plan: &Value, name: &str) -> bool {
    plan[name].as_bool().unwrap_or(false)
}
