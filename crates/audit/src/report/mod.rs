//! How findings are shown: as a page, as Markdown, CSV and JUnit, and as the wire of one run; how two runs differ.

mod audited;
mod changes;
mod described;
mod drawing;
mod expectations;
mod html;
mod markdown;
mod matrix;
mod summary;
mod tables;
mod wire;

pub use audited::Audited;
pub use changes::{Change, Direction, changes, verdicts};
pub use described::{Library, published};
pub use expectations::Expectations;
pub use html::html;
pub use markdown::{markdown, table_of_cases};
pub use tables::{csv, junit};
pub use wire::wire;
