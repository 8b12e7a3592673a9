//! The columns of an input.

/// The columns of an input, in its order; a plain list of URLs has one, `url`.
pub type Columns = indexmap::IndexMap<String, String>;

/// The column of a plain list of URLs.
pub const URL: &str = "url";
