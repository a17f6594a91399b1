//! JSON as protobuf's `Struct`.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde_json::{Map, Value as Json};

/// The object as a `Struct`, whose numbers are doubles: an integer beyond 2^53 loses its last digits.
pub(crate) fn to_struct(object: Map<String, Json>) -> Struct {
    Struct { fields: object.into_iter().map(|(key, value)| (key, to_value(value))).collect() }
}

fn to_value(json: Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(value) => Kind::BoolValue(value),
        // Only serde_json's `arbitrary_precision` knows numbers that are no double; they are beyond a Struct.
        Json::Number(value) => Kind::NumberValue(value.as_f64().unwrap_or(f64::NAN)),
        Json::String(value) => Kind::StringValue(value),
        Json::Array(values) => Kind::ListValue(ListValue { values: values.into_iter().map(to_value).collect() }),
        Json::Object(object) => Kind::StructValue(to_struct(object)),
    };
    Value { kind: Some(kind) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kind_of_value_is_carried() {
        let Json::Object(object) = json!({"a": null, "b": true, "c": 1.5, "d": "x", "e": [1], "f": {"g": 2}}) else {
            unreachable!()
        };
        let fields = to_struct(object).fields;
        let kind = |key: &str| fields[key].kind.clone().unwrap();
        assert_eq!(kind("a"), Kind::NullValue(0));
        assert_eq!(kind("b"), Kind::BoolValue(true));
        assert_eq!(kind("c"), Kind::NumberValue(1.5));
        assert_eq!(kind("d"), Kind::StringValue("x".into()));
        assert_eq!(kind("e"), Kind::ListValue(ListValue { values: vec![Kind::NumberValue(1.0).into()] }));
        assert!(
            matches!(kind("f"), Kind::StructValue(inner) if inner.fields["g"].kind == Some(Kind::NumberValue(2.0)))
        );
    }
}
