//! Shows what was found: as one JSON document, in a terminal, and as one HTML page.

mod chart;
mod comparison;
mod csv;
mod drawings;
mod embedded;
mod figures;
mod html;
mod json;
mod markdown;
mod scale;
mod side_by_side;
mod style;
mod svg;
mod terminal;
mod view;

pub use comparison::{comparison, heading, list};
pub use csv::csv;
pub use drawings::drawings;
pub use html::html;
pub use json::{BenchDocument, FullDocument, JudgedGoal, PartDocument, document};
pub use markdown::markdown;
pub use side_by_side::side_by_side;
pub use style::Style;
pub use terminal::terminal;
