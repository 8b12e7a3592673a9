//! Types that documents have as text, in the form in which people write them.

/// Reads the type from its text in a document, and writes it so; its schema is this one.
macro_rules! as_text {
    ($type:ident, $schema:tt) => {
        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<$type, String> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}
