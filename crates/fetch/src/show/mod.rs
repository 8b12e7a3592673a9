//! What a folder holds, for people: how far the job is (`status`), its records (`lines`), tables of them (`export`), and a page (`page`).

pub mod export;
mod lines;
pub mod page;
mod report;
mod status;

pub use self::lines::{each_line, each_record};
pub use self::report::report;
pub use self::status::{Status, status};
