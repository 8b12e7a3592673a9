//! Positions, sizes and spans of a drawing, in its own units from the upper left corner.

/// A position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Position {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// The extent of a rectangle or of a whole drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// From one coordinate or value to another, in this order: an axis that goes upwards begins at its bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) from: f64,
    pub(super) to: f64,
}

pub(super) const fn xy(x: f64, y: f64) -> Position {
    Position { x, y }
}

pub(super) const fn size(width: f64, height: f64) -> Size {
    Size { width, height }
}

pub(super) const fn span(from: f64, to: f64) -> Span {
    Span { from, to }
}
