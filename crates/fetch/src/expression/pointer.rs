//! One part of a body of JSON by its pointer (RFC 6901), without building the rest: a few megabytes of brackets would
//! be a gigabyte of values.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Longest part that is taken, in bytes of JSON.
const LONGEST: usize = 1 << 20;

/// The part at this pointer. None if there is none, it is longer than 1 MiB, or the body is no JSON.
pub fn at(body: &[u8], pointer: &str) -> Option<Value> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let tokens: Vec<String> = match pointer {
        "" => Vec::new(),
        pointer => pointer
            .strip_prefix('/')?
            .split('/')
            .map(unescaped)
            .collect(),
    };
    let mut reader = serde_json::Deserializer::from_slice(body);
    let raw = Path(&tokens).deserialize(&mut reader).ok()??;
    reader.end().ok()?;
    let text = raw.get();
    (text.len() <= LONGEST).then(|| serde_json::from_str(text).ok())?
}

/// Whether a body is JSON.
pub fn is_json(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    serde_json::from_slice::<IgnoredAny>(body).is_ok()
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The way that is left to go.
struct Path<'t>(&'t [String]);

impl<'de> DeserializeSeed<'de> for Path<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => <&RawValue as serde::Deserialize>::deserialize(deserializer).map(Some),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Path<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let (token, rest) = self.0.split_first().unzip();
        while let Some(is_it) = members.next_key_seed(Is(token.map(String::as_str)))? {
            match is_it {
                // The last of several members with this name.
                true => found = members.next_value_seed(Path(rest.unwrap_or_default()))?,
                false => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let (index, rest) = match self.0.split_first() {
            Some((token, rest)) => (index(token), rest),
            None => (None, self.0),
        };
        let mut found = None;
        for position in 0_usize.. {
            if index == Some(position) {
                match items.next_element_seed(Path(rest))? {
                    Some(item) => found = item,
                    None => break,
                }
            } else if items.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a name is this one. No name is copied: one may be as long as the body.
struct Is<'t>(Option<&'t str>);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(self.0 == Some(name))
    }
}

/// A position in a list: digits without a zero before them.
fn index(token: &str) -> Option<usize> {
    let plain = token == "0" || !token.starts_with(['0', '+']);
    plain.then(|| token.parse().ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a0/~\u{e9}]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec(("[a0/~]{0,2}", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_what_a_pointer_into_the_whole_finds(json in json(), pointer in "(/[a01+]{0,2}|/~[01]|/0)*") {
            prop_assert_eq!(at(json.to_string().as_bytes(), &pointer), json.pointer(&pointer).cloned(), "{} {}", json, pointer);
        }

        #[test]
        fn no_body_makes_it_panic(body in "[\\[\\]{}\":,a0\u{e9} ]{0,30}", pointer in "(/[a0]?){0,3}") {
            let whole: Option<Value> = serde_json::from_str(&body).ok();
            prop_assert_eq!(at(body.as_bytes(), &pointer), whole.and_then(|json| json.pointer(&pointer).cloned()));
        }
    }

    #[test]
    fn what_is_too_long_or_spoiled_is_nothing() {
        assert_eq!(
            at(b"\xef\xbb\xbf{\"a\":[1,{\"b\":2}]}", "/a/1/b"),
            Some(json!(2))
        );
        assert_eq!(at(b"{\"a\":1,\"a\":2}", "/a"), Some(json!(2)));
        assert_eq!(at(b"{\"a\":1} x", "/a"), None);
        assert_eq!(at(b"{\"a\":1,", "/a"), None);
        assert_eq!(at(b"{\"a\":1}", "a"), None);
        assert_eq!(at(b"{\"a\":\"\xff\"}", "/a"), None);
        let many = format!("{{\"a\":[{}0],\"b\":7}}", "[],".repeat(2_000_000));
        assert_eq!(at(many.as_bytes(), "/b"), Some(json!(7)));
        assert_eq!(at(many.as_bytes(), "/a/5"), Some(json!([])));
        assert_eq!(at(many.as_bytes(), "/a"), None);
    }
}
