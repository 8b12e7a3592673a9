//! A folder for people: the progress (`status`, `workers`), its records (`lines`), tables (`export`), and a page
//! (`page`). The progress line of a running job is drawn by the command: `crates/cli/src/cmd/fetch/live.rs`.

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
