//! A folder for people: the progress (`status`, `workers`), its records (`lines`), tables (`export`), and a page
//! (`page`).

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
