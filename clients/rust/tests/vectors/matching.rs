//! How an answer is held against an expectation of the vectors; the rules stand in the vectors' README.
//!
//! Pure: it knows neither the wire nor the service.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Whether a missing key counts as its type's default, as in protobuf JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    IsNothing,
    IsDefault,
}

/// Holds `actual` against `expected`; the error says where they differ. `None` is a key that the answer doesn't have.
pub fn matches(expected: &Value, actual: Option<&Value>, place: &str, absent: Absent) -> Result<(), String> {
    if let Some(operators) = operators_of(expected) {
        return operators.iter().try_for_each(|(name, argument)| apply(name, argument, actual, place, absent));
    }
    match (expected, actual) {
        (_, None) => require(absent == Absent::IsDefault && is_default(expected), expected, actual, place),
        (Value::Object(keys), Some(Value::Object(found))) => {
            keys.iter().try_for_each(|(key, value)| matches(value, found.get(key), &format!("{place}.{key}"), absent))
        }
        (Value::Array(wanted), Some(Value::Array(found))) => match_list(wanted, found, place, absent),
        (_, Some(found)) => require(same_scalar(expected, found), expected, actual, place),
    }
}

fn require(holds: bool, expected: &Value, actual: Option<&Value>, place: &str) -> Result<(), String> {
    if holds {
        return Ok(());
    }
    let found = actual.map_or_else(|| "nothing".to_owned(), short);
    Err(format!("{place}: expected {}, got {found}", short(expected)))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

fn operators_of(expected: &Value) -> Option<&Map<String, Value>> {
    expected.as_object().filter(|object| !object.is_empty() && object.keys().all(|key| key.starts_with('$')))
}

fn is_default(expected: &Value) -> bool {
    match expected {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

fn match_list(wanted: &[Value], found: &[Value], place: &str, absent: Absent) -> Result<(), String> {
    let enough = if wanted.is_empty() { found.is_empty() } else { found.len() >= wanted.len() };
    if !enough {
        return Err(format!("{place}: expected {} elements, got {}", wanted.len(), found.len()));
    }
    let mut pairs = wanted.iter().zip(found).enumerate();
    pairs.try_for_each(|(index, (value, inner))| matches(value, Some(inner), &format!("{place}[{index}]"), absent))
}

fn same_scalar(expected: &Value, actual: &Value) -> bool {
    let comparable = |value: &Value| value.is_string() || value.is_number();
    match (expected, actual) {
        (Value::Bool(_) | Value::Null, _) | (_, Value::Bool(_) | Value::Null) => expected == actual,
        _ if !comparable(expected) || !comparable(actual) => false,
        _ => expected == actual || number(expected).is_some_and(|value| number(actual) == Some(value)),
    }
}

/// Protobuf JSON prints 64-bit integers as text; nothing else that is text counts as a number.
fn number(value: &Value) -> Option<f64> {
    let Some(text) = value.as_str() else { return value.as_f64() };
    let digits = text.strip_prefix('-').unwrap_or(text);
    let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| integer)
}

fn apply(name: &str, argument: &Value, actual: Option<&Value>, place: &str, absent: Absent) -> Result<(), String> {
    match name {
        "$each" => elements(actual, place)?
            .iter()
            .enumerate()
            .try_for_each(|(index, inner)| matches(argument, Some(inner), &format!("{place}[{index}]"), absent)),
        "$last" => matches(argument, elements(actual, place)?.last(), &format!("{place}[-1]"), absent),
        "$json" => matches(argument, Some(&parsed(actual, place)?), &format!("{place} parsed"), absent),
        "$json_base64" => {
            let text = decoded(actual, place)?;
            matches(argument, Some(&parsed(Some(&text), place)?), &format!("{place} parsed"), absent)
        }
        _ => require(holds(name, argument, actual, place)?, argument, actual, &format!("{place} {name}")),
    }
}

fn elements<'a>(actual: Option<&'a Value>, place: &str) -> Result<&'a Vec<Value>, String> {
    let list = actual.and_then(Value::as_array).filter(|list| !list.is_empty());
    list.ok_or_else(|| format!("{place}: expected a list with elements, got {actual:?}"))
}

fn parsed(actual: Option<&Value>, place: &str) -> Result<Value, String> {
    let text = actual.and_then(Value::as_str).ok_or_else(|| format!("{place}: expected JSON text, got {actual:?}"))?;
    serde_json::from_str(text).map_err(|error| format!("{place}: expected JSON text, got {text:?}: {error}"))
}

fn decoded(actual: Option<&Value>, place: &str) -> Result<Value, String> {
    let bytes = actual.and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Value::String).ok_or_else(|| format!("{place}: expected base64 of text, got {actual:?}"))
}

/// The operators that look at one value.
fn holds(name: &str, argument: &Value, actual: Option<&Value>, place: &str) -> Result<bool, String> {
    let text = actual.and_then(Value::as_str);
    let each = || argument.as_array().map_or_else(|| vec![argument], |list| list.iter().collect());
    let contains = |part: &Value| text.is_some_and(|text| text.contains(part.as_str().unwrap_or("\0")));
    Ok(match name {
        "$any" => !matches!(actual, None | Some(Value::Null)) && text != Some(""),
        "$contains" => each().into_iter().all(contains),
        "$not_contains" => text.is_some() && !each().into_iter().any(contains),
        "$prefix" => text.zip(argument.as_str()).is_some_and(|(text, start)| text.starts_with(start)),
        "$ends_with" => text.zip(argument.as_str()).is_some_and(|(text, end)| text.ends_with(end)),
        "$max_bytes" => text.zip(argument.as_u64()).is_some_and(|(text, most)| text.len() as u64 <= most),
        "$length" => actual.and_then(length).is_some_and(|length| argument.as_u64() == Some(length)),
        "$in" => each().into_iter().any(|choice| actual.is_some_and(|actual| same_scalar(choice, actual))),
        _ => return Err(format!("{place}: the vectors use an operator that nobody knows: {name}")),
    })
}

fn length(actual: &Value) -> Option<u64> {
    let length = match actual {
        Value::Array(list) => list.len(),
        Value::String(text) => text.chars().count(),
        _ => return None,
    };
    length.try_into().ok()
}
