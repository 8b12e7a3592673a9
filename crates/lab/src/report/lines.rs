//! Draws charts of lines as SVG: plots above one another over one axis.

use super::scale::{Spread, Upright, ticks};
use super::svg::Svg;
use crate::views::form::{Colour, Lines, Plot, Point, Series, Stroke};

/// Where plots begin, from the left, and how far from the right they end.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;

/// From a plot's edges to its first and last marker.
const EDGE: f64 = 12.0;

/// About how much of a line one character of small text takes.
const CHARACTER: f64 = 6.6;

/// The chart; `id` must be unique in the page.
pub(super) fn lines(chart: &Lines, id: &str) -> String {
    let mut svg = Svg::default();
    let right = chart.width - RIGHT;
    let edge = if chart.across.log { EDGE } else { 0.0 };
    let across = Spread::new(&chart.across, LEFT + edge, right - edge);
    let mut top = 30.0 + legend(&mut svg, chart, right);
    if chart.band.is_some() {
        top += 16.0;
    }
    let gaps = 38.0 * chart.plots.len().saturating_sub(1) as f64;
    let bottom = top + chart.plots.iter().map(|plot| plot.height).sum::<f64>() + gaps;
    if let Some((x, words)) = &chart.band {
        band(&mut svg, across.at(*x), (top, bottom), words, right);
    }
    for plot in &chart.plots {
        draw(&mut svg, plot, across, (top, top + plot.height), right);
        top += plot.height + 38.0;
    }
    ticks_across(&mut svg, chart, across, bottom + 17.0);
    svg.text("axis end", (right, bottom + 34.0), chart.across.title);
    svg.finish(
        (chart.width, bottom + 42.0),
        id,
        "panel",
        &chart.title,
        &chart.words,
    )
}

/// Names with their lines above the plots, where there is more than one; returns the height that they take.
fn legend(svg: &mut Svg, chart: &Lines, right: f64) -> f64 {
    let all = chart.plots.iter().take(1).flat_map(|plot| &plot.series);
    let named: Vec<&Series> = all.filter(|series| !series.name.is_empty()).collect();
    if named.len() < 2 {
        return 0.0;
    }
    let many = chart.plots.first().is_some_and(has_many);
    let (mut x, mut y) = (2.0, 14.0);
    for series in named {
        let needed = 30.0 + CHARACTER * series.name.chars().count() as f64;
        if x > 2.0 && x + needed > right {
            (x, y) = (2.0, y + 18.0);
        }
        svg.group(&[("class", &series.colour.class())], |svg| {
            svg.line(stroke(series, many), (x, y - 4.0), (x + 22.0, y - 4.0));
            if series.stroke != Stroke::Bound {
                svg.marker(series.colour, (x + 11.0, y - 4.0), "");
            }
            svg.text("axis", (x + 27.0, y), &series.name);
        });
        x += needed + 12.0;
    }
    y + 6.0
}

/// A highlighted value across all plots, with its words.
fn band(svg: &mut Svg, x: f64, (top, bottom): (f64, f64), words: &str, right: f64) {
    svg.rect("band", (x - 9.0, top - 8.0), (18.0, bottom - top + 8.0));
    let half = words.chars().count() as f64 * CHARACTER / 2.0;
    let middle = x.clamp(LEFT + half, (right - half).max(LEFT + half));
    svg.text("use middle", (middle, 14.0), words);
}

fn draw(svg: &mut Svg, plot: &Plot, across: Spread, (top, bottom): (f64, f64), right: f64) {
    svg.text("axis", (2.0, top - 14.0), &plot.title);
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let most = points()
        .map(|point| point.range.1.max(point.y))
        .fold(plot.most, f64::max);
    if most <= 0.0 {
        return;
    }
    let least = points()
        .map(|point| point.range.0.min(point.y))
        .fold(most, f64::min);
    let up = Upright::new((least, most), plot.ticks, plot.log, (bottom, top));
    for (place, tick) in up.ticks.iter().enumerate() {
        let (y, class) = (up.at(*tick), if place == 0 { "base" } else { "grid" });
        svg.line(class, (LEFT, y), (right, y));
        svg.text("tick end", (LEFT - 6.0, y + 4.0), &up.label(*tick));
    }
    let many = has_many(plot);
    // Bounds first, so that they lie behind what they bound.
    let (bounds, others): (Vec<&Series>, Vec<&Series>) = plot
        .series
        .iter()
        .partition(|series| series.stroke == Stroke::Bound);
    for series in bounds.into_iter().chain(others) {
        svg.group(&[("class", &series.colour.class())], |svg| {
            draw_series(svg, series, across, &up, many)
        });
    }
}

fn draw_series(svg: &mut Svg, series: &Series, across: Spread, up: &Upright, many: bool) {
    let at = |point: &Point| (across.at(point.x), up.at(point.y));
    if series.stroke != Stroke::Marks {
        svg.path(
            stroke(series, many),
            &series.points.iter().map(at).collect::<Vec<_>>(),
        );
    }
    let (hinted, plain): (Vec<&Point>, Vec<&Point>) =
        series.points.iter().partition(|it| !it.hint.is_empty());
    if series.stroke != Stroke::Bound {
        svg.dots(&plain.into_iter().map(at).collect::<Vec<_>>());
    }
    for point in hinted
        .into_iter()
        .filter(|_| series.stroke != Stroke::Bound)
    {
        let x = across.at(point.x);
        svg.interval("bar", x, (up.at(point.range.0), up.at(point.range.1)));
        svg.marker(series.colour, at(point), &point.hint);
    }
    for point in &series.crosses {
        svg.cross((across.at(point.x), up.bottom() - 8.0), &point.hint);
    }
}

/// Whether a plot has more series than there are colours.
fn has_many(plot: &Plot) -> bool {
    plot.series.len() > Colour::ALL
}

/// Colours repeat after six series. In a plot of `many`, the seventh and its successors are dashed, so that each line
/// differs from the others.
fn stroke(series: &Series, many: bool) -> &'static str {
    let round = if many { series.colour.round() } else { 0 };
    match (series.stroke, round) {
        (Stroke::Dashed, _) => "line dashed",
        (Stroke::Bound, _) => "line loader",
        (Stroke::Line | Stroke::Marks, 0) => "line",
        (Stroke::Line | Stroke::Marks, 1) => "line again",
        (Stroke::Line | Stroke::Marks, _) => "line anew",
    }
}

/// Labels of the values across; labels without room are left out.
fn ticks_across(svg: &mut Svg, chart: &Lines, across: Spread, y: f64) {
    let round = ticks(chart.across.grid.last().copied().unwrap_or(1.0), 4);
    let places = if chart.across.log {
        &chart.across.grid
    } else {
        &round
    };
    let mut free_from = f64::MIN;
    for place in places
        .iter()
        .filter(|place| **place <= chart.across.grid.last().copied().unwrap_or(1.0))
    {
        let text = chart.across.label(*place);
        let half = text.chars().count() as f64 * 3.3 + 2.0;
        if across.at(*place) - half >= free_from {
            svg.text("tick middle", (across.at(*place), y), &text);
            free_from = across.at(*place) + half;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_eighteen_lines_look_alike() {
        let look = |place: usize| {
            let colour = Colour::Of(place);
            let series = Series {
                colour,
                ..Series::default()
            };
            let mut svg = Svg::default();
            svg.marker(colour, (0.0, 0.0), "");
            let marker = svg.finish((1.0, 1.0), "", "", "", "");
            (colour.class(), stroke(&series, true), marker)
        };
        let looks: std::collections::HashSet<_> = (0..18).map(look).collect();
        assert_eq!(looks.len(), 18);
    }
}
