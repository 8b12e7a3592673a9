//! What a folder holds, for people: how far the job is (`status`), its records (`lines`), and tables of them (`export`).

pub mod export;
mod lines;
mod status;

pub use self::lines::{each_line, each_record};
pub use self::status::{Status, status};
