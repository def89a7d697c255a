//! Properties that hold for all values.

use proptest::prelude::*;

use super::{
    Key, MAX_DURATION, MAX_TIMESTAMP, MIN_TIMESTAMP, Map, Order, Value, parse_duration,
    parse_timestamp,
};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-3_i64..4).prop_map(Value::Int),
        any::<u64>().prop_map(Value::Uint),
        any::<f64>().prop_map(Value::Double),
        (-3_i32..4).prop_map(|number| Value::Double(f64::from(number) / 2.0)),
        any::<String>().prop_map(Value::from),
        any::<Vec<u8>>().prop_map(|bytes| Value::Bytes(bytes.into())),
        (MIN_TIMESTAMP..=MAX_TIMESTAMP).prop_map(Value::Timestamp),
        (-MAX_DURATION..=MAX_DURATION).prop_map(Value::Duration),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        any::<String>().prop_map(Key::from),
        any::<i64>().prop_map(Key::Int),
        any::<u64>().prop_map(Key::from),
        any::<bool>().prop_map(Key::Bool),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|entries| Value::from(Map::from_iter(entries))),
        ]
    })
}

proptest! {
    #[test]
    fn typed_json_loses_nothing(value in value()) {
        let back = Value::from_typed_json(&value.to_typed_json()).unwrap();
        prop_assert_eq!(back.to_typed_json(), value.to_typed_json());
    }

    #[test]
    fn json_and_its_text_are_one(value in value()) {
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&value.to_json_text()).unwrap(), value.to_json());
    }

    #[test]
    fn what_is_plain_json_comes_back_as_it_was(value in value()) {
        if value.is_plain_json() {
            let json: serde_json::Value = serde_json::from_str(&value.to_json_text()).unwrap();
            prop_assert_eq!(Value::from_json(&json).to_typed_json(), value.to_typed_json());
        }
    }

    #[test]
    fn what_came_as_json_goes_as_json(value in value()) {
        let json: serde_json::Value = serde_json::from_str(&value.to_json_text()).unwrap();
        prop_assert_eq!(Value::from_json(&json).to_json(), json);
    }

    #[test]
    fn order_is_the_same_from_both_sides(a in scalar(), b in scalar()) {
        prop_assert_eq!(a == b, b == a);
        match (a.order(&b), b.order(&a)) {
            (Order::Known(one), Order::Known(other)) => {
                prop_assert_eq!(one, other.reverse());
                prop_assert_eq!(one.is_eq(), a == b);
            }
            (one, other) => prop_assert_eq!(one, other),
        }
    }

    #[test]
    fn order_carries_over(a in scalar(), b in scalar(), c in scalar()) {
        if let (Order::Known(one), Order::Known(two)) = (a.order(&b), b.order(&c))
            && one == two
        {
            prop_assert_eq!(a.order(&c), Order::Known(one));
        }
    }

    #[test]
    fn equal_numbers_find_the_same_entry(number in any::<i64>()) {
        for other in [Value::Int(number), u64::try_from(number).map_or(Value::Int(number), Value::Uint)] {
            prop_assert_eq!(Key::lookup(&other), Some(Key::Int(number)));
        }
    }

    #[test]
    fn times_print_as_they_read(time in MIN_TIMESTAMP..=MAX_TIMESTAMP, length in -MAX_DURATION..=MAX_DURATION) {
        prop_assert_eq!(parse_timestamp(&super::timestamp_text(time)), Some(time));
        prop_assert_eq!(parse_duration(&super::duration_text(length)), Some(length));
    }

    #[test]
    fn no_text_is_too_odd(text in any::<String>(), digits in "[-+0-9.:TZzhmsundµ]{0,30}") {
        for text in [text, digits] {
            let _ = (parse_timestamp(&text), parse_duration(&text), super::parse_offset(&text));
        }
    }
}

#[test]
fn depth_is_seen_without_going_deeper() {
    let nested = (0..300).fold(Value::Null, |inner, _| Value::list([inner]));
    assert!(nested.deeper_than(256));
    assert!(!nested.deeper_than(300));
    assert!(!Value::Int(1).deeper_than(0));
}
