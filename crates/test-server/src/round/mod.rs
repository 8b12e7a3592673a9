//! The content of a round: prepared responses, delays, variations and random faults.

pub(crate) mod chaos;
pub(crate) mod check_value;
pub(crate) mod delay;
pub(crate) mod document;
pub(crate) mod draw;
pub(crate) mod gate;
pub(crate) mod permutation;
pub(crate) mod plain;
pub(crate) mod script;
pub(crate) mod split;
pub(crate) mod varied;
