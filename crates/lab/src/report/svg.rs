//! Writes SVG: text that stays text, lines, markers. Colours come from the page's style sheet.

use super::geometry::{Position, Size, Span};
use crate::views::form::Colour;

const STYLE: &str = include_str!("page.css");

/// A drawing of fixed inner size that scales with the page.
#[derive(Default)]
pub(super) struct Svg {
    inner: String,
}

/// Makes text safe between tags and inside quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let safe = |c: char| match c {
        '&' => "&amp;".into(),
        '<' => "&lt;".into(),
        '>' => "&gt;".into(),
        '"' => "&quot;".into(),
        '\'' => "&#39;".into(),
        // Control characters are not allowed in HTML, and no shape.
        c if c.is_control() && c != '\n' && c != '\t' => '\u{fffd}'.to_string(),
        c => c.to_string(),
    };
    text.chars().map(safe).collect()
}

/// An element with these attributes, which are left out where they are empty.
pub(super) fn tag(name: &str, attributes: &[(&str, &str)], inner: &str) -> String {
    let given = attributes.iter().filter(|(_, value)| !value.is_empty());
    let given: String = given
        .map(|(key, value)| format!(" {key}=\"{}\"", escape(value)))
        .collect();
    match inner {
        "" => format!("<{name}{given}/>"),
        inner => format!("<{name}{given}>{inner}</{name}>"),
    }
}

/// A coordinate with one decimal, which is finer than a screen.
pub(super) fn n(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

impl Svg {
    /// The element; `id` must be unique in the page.
    pub(super) fn finish(
        self,
        size: Size,
        id: &str,
        class: &str,
        title: &str,
        words: &str,
    ) -> String {
        let inner = format!(
            "<title id=\"{id}t\">{}</title><desc id=\"{id}d\">{}</desc>{}",
            escape(title),
            escape(words),
            self.inner
        );
        let view = format!("0 0 {} {}", n(size.width), n(size.height));
        let named = format!("{id}t {id}d");
        let attributes = [
            ("class", class),
            ("viewBox", &view),
            ("role", "img"),
            ("aria-labelledby", &named),
        ];
        tag("svg", &attributes, &inner)
    }

    fn add(&mut self, name: &str, attributes: &[(&str, &str)], inner: &str) {
        self.inner += &tag(name, attributes, inner);
    }

    pub(super) fn path(&mut self, class: &str, points: &[Position]) {
        let step = |(place, point): (usize, &Position)| {
            let letter = if place == 0 { 'M' } else { 'L' };
            format!("{letter}{} {}", n(point.x), n(point.y))
        };
        let data: String = points.iter().enumerate().map(step).collect();
        if !data.is_empty() {
            self.add("path", &[("class", class), ("d", &data)], "");
        }
    }

    /// A round dot on each point, all in one element.
    pub(super) fn dots(&mut self, points: &[Position]) {
        let data: String = points
            .iter()
            .map(|point| format!("M{} {}h0", n(point.x), n(point.y)))
            .collect();
        if !data.is_empty() {
            self.add("path", &[("class", "dots"), ("d", &data)], "");
        }
    }

    pub(super) fn line(&mut self, class: &str, from: Position, to: Position) {
        self.path(class, &[from, to]);
    }

    /// An interval as an upright line with feet; nothing where it is shorter than its own lines.
    pub(super) fn interval(&mut self, class: &str, x: f64, Span { from, to }: Span) {
        if (to - from).abs() < 1.5 {
            return;
        }
        let mut data = format!("M{} {}V{}", n(x), n(from), n(to));
        for y in [from, to] {
            data += &format!("M{} {}h7", n(x - 3.5), n(y));
        }
        self.add("path", &[("class", class), ("d", &data)], "");
    }

    /// One side of an interval that lies across: a line with a foot at its end; nothing where it is narrower than itself.
    pub(super) fn limb(&mut self, class: &str, end: f64, from: f64, y: f64) {
        if (end - from).abs() < 1.0 {
            return;
        }
        let data = format!("M{} {}H{}M{0} {}v7", n(end), n(y), n(from), n(y - 3.5));
        self.add("path", &[("class", class), ("d", &data)], "");
    }

    pub(super) fn rect(&mut self, class: &str, corner: Position, size: Size) {
        let at = [n(corner.x), n(corner.y), n(size.width), n(size.height)];
        let attributes = [
            ("class", class),
            ("x", &at[0]),
            ("y", &at[1]),
            ("width", &at[2]),
            ("height", &at[3]),
        ];
        self.add("rect", &attributes, "");
    }

    /// `class` decides colour, weight and anchor (`end`, `middle`).
    pub(super) fn text(&mut self, class: &str, Position { x, y }: Position, text: &str) {
        let attributes = [("class", class), ("x", &n(x)), ("y", &n(y))];
        self.add("text", &attributes, &escape(text));
    }

    /// The shape of one of several, with a tooltip when `hint` is not empty.
    pub(super) fn marker(&mut self, colour: Colour, Position { x, y }: Position, hint: &str) {
        let place = colour.place() % Colour::ALL;
        // Colours that are used again have hollow shapes where they had full ones, and full ones where they had hollow
        // ones.
        let again = colour.round() % 2 == 1;
        let is_hollow = colour == Colour::Grey || (place >= 4) != again;
        let class = if is_hollow { "m hollow" } else { "m" };
        self.hinted(class, &format!("M{} {}{}", n(x), n(y), shape(place)), hint);
    }

    /// A cross, for a row that is not ranked.
    pub(super) fn cross(&mut self, Position { x, y }: Position, hint: &str) {
        let data = format!("M{} {}m-4-4l8 8m0-8l-8 8", n(x), n(y));
        self.hinted("cross", &data, hint);
    }

    fn hinted(&mut self, class: &str, data: &str, hint: &str) {
        let title = match hint {
            "" => String::new(),
            hint => tag("title", &[], &escape(hint)),
        };
        self.add("path", &[("class", class), ("d", data)], &title);
    }

    /// Draws `draw` in an element of its own.
    pub(super) fn group(&mut self, attributes: &[(&str, &str)], draw: impl FnOnce(&mut Svg)) {
        let mut inner = Svg::default();
        draw(&mut inner);
        if !inner.inner.is_empty() {
            self.add("g", attributes, &inner.inner);
        }
    }
}

/// Relative path of a marker: disc, square, triangle, diamond, then the hollow ones.
fn shape(place: usize) -> &'static str {
    match place {
        0 | 4 => "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0",
        1 | 5 => "m-3.2-3.2h6.4v6.4h-6.4z",
        2 => "m0-4.2l4 7.2h-8z",
        _ => "m0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",
    }
}

/// A chart of a page as a document of its own, with the page's colours, which follow the reader's choice there too.
pub(super) fn standalone(chart: &str) -> String {
    let (start, rest) = chart.split_once('>').unwrap_or(("<svg", "</svg>"));
    let ground = "svg{background:var(--bg);font-family:system-ui,sans-serif}.wide,.narrow{display:block;max-width:none}";
    format!("{start} xmlns=\"http://www.w3.org/2000/svg\"><style>{STYLE}{ground}</style>{rest}\n")
}

#[cfg(test)]
mod tests {
    use super::super::geometry::{size, xy};
    use super::*;

    #[test]
    fn text_from_outside_stays_text() {
        let safe = "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd}";
        assert_eq!(escape("<b a=\"1\" c='2'>&\u{0}"), safe);
        let mut svg = Svg::default();
        svg.text("x", xy(1.0, 2.25), "<script>");
        svg.marker(Colour::Of(0), xy(1.0, 1.0), "\"><script>");
        svg.group(&[("data-language", "\"><script>")], |svg| {
            svg.rect("a", xy(0.0, 0.0), size(1.0, 1.0))
        });
        let text = svg.finish(size(10.0, 10.0), "a", "c", "</title>", "<desc>");
        assert!(
            !text.contains("<script>") && !text.contains("</title></title>"),
            "{text}"
        );
        assert!(text.contains("&lt;/title&gt;"));
        assert_eq!((n(1.0), n(0.25)), ("1".into(), "0.2".into()));
    }
}
