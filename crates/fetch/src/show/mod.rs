//! What a folder holds, for people: how far the job is, and its records.

mod lines;
mod status;

pub use self::lines::each_line;
pub use self::status::{Status, status};
