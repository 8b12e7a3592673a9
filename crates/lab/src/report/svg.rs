//! Writes SVG: text that stays text, lines, markers. Colours come from the page's style sheet.

use std::fmt::Write;

/// A drawing of fixed inner size that scales with the page.
pub(super) struct Svg {
    inner: String,
}

/// Makes text safe between tags and inside quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters have no place in HTML, and no shape.
            c if c.is_control() && c != '\n' && c != '\t' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A coordinate with one decimal, which is finer than a screen.
fn n(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

impl Svg {
    pub(super) fn new() -> Svg {
        Svg {
            inner: String::new(),
        }
    }

    /// The element. `id` must be unique in the page; `class` and `title` and `description` are any text.
    pub(super) fn finish(
        self,
        size: (f64, f64),
        id: &str,
        class: &str,
        title: &str,
        description: &str,
    ) -> String {
        format!(
            "<svg class=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}t {id}d\">\
             <title id=\"{id}t\">{}</title><desc id=\"{id}d\">{}</desc>{}</svg>",
            escape(class),
            n(size.0),
            n(size.1),
            escape(title),
            escape(description),
            self.inner
        )
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = write!(
            self.inner,
            "<path class=\"{class}\" d=\"M{} {}L{} {}\"/>",
            n(x1),
            n(y1),
            n(x2),
            n(y2)
        );
    }

    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.is_empty() {
            return;
        }
        let mut data = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let _ = write!(
                data,
                "{}{} {}",
                if index == 0 { 'M' } else { 'L' },
                n(*x),
                n(*y)
            );
        }
        let _ = write!(self.inner, "<path class=\"{class}\" d=\"{data}\"/>");
    }

    /// A round dot on each point, all in one element.
    pub(super) fn dots(&mut self, class: &str, points: &[(f64, f64)]) {
        let dot = |(x, y): &(f64, f64)| format!("M{} {}h0", n(*x), n(*y));
        let data: String = points.iter().map(dot).collect();
        let _ = write!(self.inner, "<path class=\"{class}\" d=\"{data}\"/>");
    }

    /// A vertical bar from a point up to `top`, with feet.
    pub(super) fn error_bar(&mut self, (x, bottom): (f64, f64), top: f64) {
        let (left, x, bottom, top) = (n(x - 3.0), n(x), n(bottom), n(top));
        let _ = write!(
            self.inner,
            "<path class=\"bar\" d=\"M{x} {bottom}V{top}M{left} {bottom}h6M{left} {top}h6\"/>"
        );
    }

    pub(super) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let (x, y, width, height) = (n(x), n(y), n(width), n(height));
        let _ = write!(
            self.inner,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    /// `class` decides colour, weight and anchor (`end`, `middle`).
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let _ = write!(
            self.inner,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
            n(x),
            n(y),
            escape(text)
        );
    }

    /// The shape of client number `place`, with a tooltip when `hint` is not empty.
    pub(super) fn marker(&mut self, place: usize, (x, y): (f64, f64), hint: &str) {
        let hollow = if place % 6 >= 4 { " hollow" } else { "" };
        let _ = write!(
            self.inner,
            "<path class=\"m{hollow}\" d=\"M{} {}{}\"",
            n(x),
            n(y),
            shape(place)
        );
        self.close(hint);
    }

    /// A cross, for a row that is not ranked.
    pub(super) fn cross(&mut self, (x, y): (f64, f64), hint: &str) {
        let _ = write!(
            self.inner,
            "<path class=\"cross\" d=\"M{} {}m-4-4l8 8m0-8l-8 8\"",
            n(x),
            n(y)
        );
        self.close(hint);
    }

    fn close(&mut self, hint: &str) {
        let _ = match hint {
            "" => write!(self.inner, "/>"),
            hint => write!(self.inner, "><title>{}</title></path>", escape(hint)),
        };
    }

    pub(super) fn open_group(&mut self, class: &str) {
        let _ = write!(self.inner, "<g class=\"{class}\">");
    }

    pub(super) fn close_group(&mut self) {
        self.inner.push_str("</g>");
    }
}

/// Relative path of a marker: disc, square, triangle, diamond, then the hollow ones.
fn shape(place: usize) -> &'static str {
    match place % 6 {
        0 | 4 => "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0",
        1 | 5 => "m-3.2-3.2h6.4v6.4h-6.4z",
        2 => "m0-4.2l4 7.2h-8z",
        _ => "m0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",
    }
}

/// The marker alone, for a legend in HTML.
pub(super) fn legend_marker(place: usize, ceiling: bool) -> String {
    let mut svg = Svg::new();
    if ceiling {
        svg.line("line ceiling", (0.0, 7.0), (22.0, 7.0));
    } else {
        svg.line("line", (0.0, 7.0), (22.0, 7.0));
        svg.marker(place, (11.0, 7.0), "");
    }
    format!(
        "<svg class=\"key c{}\" viewBox=\"0 0 22 14\" aria-hidden=\"true\">{}</svg>",
        place % 6,
        svg.inner
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_stays_text() {
        assert_eq!(
            escape("<b a=\"1\" c='2'>&\u{0}"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd}"
        );
        let mut svg = Svg::new();
        svg.text("x", (1.0, 2.25), "<script>");
        svg.marker(0, (1.0, 1.0), "\"><script>");
        let text = svg.finish((10.0, 10.0), "a", "c", "</title>", "<desc>");
        assert!(
            !text.contains("<script>") && !text.contains("</title></title>"),
            "{text}"
        );
        assert!(text.contains("&lt;/title&gt;"));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(
            (n(1.0), n(0.25), n(-0.04)),
            ("1".into(), "0.2".into(), "-0".into())
        );
    }
}
