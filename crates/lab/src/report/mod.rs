//! Shows what was found: as one JSON document, in a terminal, and as one HTML page.

mod chart;
mod embedded;
mod figures;
mod html;
mod json;
mod scale;
mod style;
mod svg;
mod terminal;
mod view;

pub use html::html;
pub use json::{FullDocument, document};
pub use style::Style;
pub use terminal::terminal;
