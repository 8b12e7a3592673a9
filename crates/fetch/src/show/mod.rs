//! What a folder holds, for people: how far the job is (`status`, and by worker `workers`), its records (`lines`), tables of them (`export`), and a page (`page`).

pub mod export;
mod lines;
mod matching;
pub mod page;
mod report;
mod status;
mod workers;

pub use self::lines::{each_line, each_record, record};
pub use self::matching::matching;
pub use self::report::report;
pub use self::status::{Status, status};
pub use self::workers::{Worker, workers};
