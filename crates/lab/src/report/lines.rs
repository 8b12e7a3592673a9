//! Draws charts of lines as SVG: plots above one another over one axis.

use super::geometry::{Position, Span, size, span, xy};
use super::scale::{Spread, Upright, between, tick_label, ticks};
use super::svg::Svg;
use crate::views::form::{Colour, Lines, NARROW, Plot, Point, Series, Stroke};

/// Where plots begin, from the left, and how far from the right they end.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;

/// From a plot's edges to its first and last marker.
const EDGE: f64 = 12.0;

/// About how much of a line one character of small text takes.
const CHARACTER: f64 = 6.6;

/// The same in a chart over the whole width, whose text is larger.
const WIDE_CHARACTER: f64 = 7.2;

/// From the right end of a plot to the names of its lines.
const LEAD: f64 = 26.0;

/// Width of a chart with names at the ends of its lines.
const WIDE: f64 = 940.0;

/// Height of such a name.
const NAME: f64 = 15.0;

/// From a plot to the next one.
const GAP: f64 = 38.0;

/// Where a chart has the names of its lines, and the space that this leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// In a legend above the plots.
    Above,
    /// At the ends of the lines.
    AtEnds,
}

/// The place of a plot: its upper and lower edge, and its right one.
#[derive(Clone, Copy)]
struct Area {
    top: f64,
    bottom: f64,
    right: f64,
}

/// The chart with a legend above it; `id` must be unique in the page.
pub(super) fn lines(chart: &Lines, id: &str) -> String {
    let class = if is_crowded(chart) { "narrow" } else { "panel" };
    drawn(chart, id, Names::Above, class)
}

/// The chart over the whole width of a page, with names at the ends of its lines; none if a legend is short enough.
pub(super) fn wide(chart: &Lines, id: &str) -> Option<String> {
    is_crowded(chart).then(|| drawn(chart, id, Names::AtEnds, "wide"))
}

/// Whether a legend would have more lines than a reader can keep apart.
fn is_crowded(chart: &Lines) -> bool {
    chart.plots.first().is_some_and(has_many)
}

fn drawn(chart: &Lines, id: &str, place: Names, class: &str) -> String {
    let mut svg = Svg::default();
    let (width, right) = widths(chart, place);
    let edge = if chart.across.log { EDGE } else { 0.0 };
    let across = Spread::new(&chart.across, LEFT + edge, right - edge);
    let mut top = match place {
        Names::Above => 30.0 + legend(&mut svg, chart, right),
        Names::AtEnds => 30.0,
    };
    if chart.band.is_some() {
        top += 16.0;
    }
    let heights = chart.plots.iter().map(|plot| height(plot, place));
    let gaps = GAP * chart.plots.len().saturating_sub(1) as f64;
    let bottom = top + heights.sum::<f64>() + gaps;
    if let Some((x, words)) = &chart.band {
        band(&mut svg, across.at(*x), span(top, bottom), words, right);
    }
    for plot in &chart.plots {
        let bottom = top + height(plot, place);
        let area = Area { top, bottom, right };
        let up = draw(&mut svg, plot, across, area);
        if let Some(up) = up.filter(|_| place == Names::AtEnds) {
            let at = |last: &Point| xy(across.at(last.x), up.at(last.y));
            names(&mut svg, plot, at, area);
        }
        top = bottom + GAP;
    }
    ticks_across(&mut svg, chart, across, bottom + 17.0);
    svg.text("axis end", xy(right, bottom + 34.0), chart.across.title);
    let size = size(width, bottom + 42.0);
    svg.finish(size, id, class, &chart.title, &chart.words)
}

/// The width of a chart, and where its plots end.
fn widths(chart: &Lines, place: Names) -> (f64, f64) {
    let all = chart.plots.iter().flat_map(|plot| &plot.series);
    let longest = all.map(|series| series.name.chars().count()).max();
    match place {
        Names::Above => (NARROW, NARROW - RIGHT),
        Names::AtEnds => {
            let names = longest.unwrap_or(0) as f64 * WIDE_CHARACTER + LEAD + 4.0;
            (WIDE, WIDE - names)
        }
    }
}

/// The height of a plot, which has space for all names that stand beside it.
fn height(plot: &Plot, place: Names) -> f64 {
    match place {
        Names::Above => plot.height,
        Names::AtEnds => plot.height.max(NAME * plot.series.len() as f64 + 60.0),
    }
}

/// Writes the name of each line at its end: as high as its last point, or as near to that as other names allow.
fn names(svg: &mut Svg, plot: &Plot, at: impl Fn(&Point) -> Position, area: Area) {
    let end = |series: &'_ &Series| Some(at(series.points.last()?));
    let mut named: Vec<&Series> = plot.series.iter().filter(|it| end(it).is_some()).collect();
    named.sort_by(|a, b| {
        let y = |series| end(series).map_or(0.0, |end| end.y);
        y(a).total_cmp(&y(b))
    });
    let ends: Vec<Position> = named.iter().filter_map(end).collect();
    let wanted: Vec<f64> = ends.iter().map(|end| end.y).collect();
    let places = apart(&wanted, NAME, span(area.top, area.bottom));
    for ((series, end), place) in named.into_iter().zip(ends).zip(places) {
        let beside = area.right + LEAD;
        svg.group(&[("class", &series.colour.class())], |svg| {
            let lead = [
                xy(end.x + 5.0, end.y),
                xy(area.right + 2.0, end.y),
                xy(beside - 4.0, place),
            ];
            svg.path("lead", &lead);
            svg.text("axis", xy(beside, place + 4.0), &series.name);
        });
    }
}

/// Places in ascending order, as near to those that are wanted as they can be, with this distance between them.
fn apart(wanted: &[f64], distance: f64, within: Span) -> Vec<f64> {
    let mut free_from = within.from;
    let mut places = wanted.to_vec();
    for place in &mut places {
        *place = place.max(free_from);
        free_from = *place + distance;
    }
    let mut free_to = within.to;
    for place in places.iter_mut().rev() {
        *place = place.min(free_to);
        free_to = *place - distance;
    }
    places
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
            let start = xy(x, y - 4.0);
            svg.line(stroke(series, many), start, xy(x + 22.0, y - 4.0));
            if series.stroke != Stroke::Bound {
                svg.marker(series.colour, xy(x + 11.0, y - 4.0), "");
            }
            svg.text("axis", xy(x + 27.0, y), &series.name);
        });
        x += needed + 12.0;
    }
    y + 6.0
}

/// A highlighted value across all plots, with its words.
fn band(svg: &mut Svg, x: f64, plots: Span, words: &str, right: f64) {
    let height = plots.to - plots.from + 8.0;
    svg.rect("band", xy(x - 9.0, plots.from - 8.0), size(18.0, height));
    let half = words.chars().count() as f64 * CHARACTER / 2.0;
    let middle = x.clamp(LEFT + half, (right - half).max(LEFT + half));
    svg.text("use middle", xy(middle, 14.0), words);
}

/// Draws a plot and returns its upright axis; none if it has nothing to draw.
fn draw(svg: &mut Svg, plot: &Plot, across: Spread, area: Area) -> Option<Upright> {
    let Area { top, bottom, right } = area;
    svg.text("axis", xy(2.0, top - 14.0), &plot.title);
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let highest = points().map(|point| point.range.1.max(point.y));
    let most = highest.fold(plot.most, f64::max);
    if most <= 0.0 {
        return None;
    }
    let lowest = points().map(|point| point.range.0.min(point.y));
    let least = lowest.fold(most, f64::min);
    let up = Upright::new(span(least, most), plot.ticks, plot.log, span(bottom, top));
    for (place, tick) in up.ticks.iter().enumerate() {
        let (y, class) = (up.at(*tick), if place == 0 { "base" } else { "grid" });
        svg.line(class, xy(LEFT, y), xy(right, y));
        svg.text("tick end", xy(LEFT - 6.0, y + 4.0), &up.label(*tick));
    }
    let many = has_many(plot);
    // Bounds first, so that they lie behind what they bound.
    let is_bound = |series: &&Series| series.stroke == Stroke::Bound;
    let (bounds, others): (Vec<&Series>, Vec<&Series>) = plot.series.iter().partition(is_bound);
    for series in bounds.into_iter().chain(others) {
        svg.group(&[("class", &series.colour.class())], |svg| {
            draw_series(svg, series, across, &up, many)
        });
    }
    Some(up)
}

fn draw_series(svg: &mut Svg, series: &Series, across: Spread, up: &Upright, many: bool) {
    let at = |point: &Point| xy(across.at(point.x), up.at(point.y));
    if series.stroke != Stroke::Marks {
        let line: Vec<Position> = series.points.iter().map(at).collect();
        svg.path(stroke(series, many), &line);
    }
    if series.stroke != Stroke::Bound {
        let (hinted, plain): (Vec<&Point>, Vec<&Point>) =
            series.points.iter().partition(|it| !it.hint.is_empty());
        svg.dots(&plain.into_iter().map(at).collect::<Vec<_>>());
        for point in hinted {
            let range = span(up.at(point.range.0), up.at(point.range.1));
            svg.interval("bar", across.at(point.x), range);
            svg.marker(series.colour, at(point), &point.hint);
        }
    }
    for point in &series.crosses {
        svg.cross(xy(across.at(point.x), up.bottom() - 8.0), &point.hint);
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
    let grid = &chart.across.grid;
    let last = grid.last().copied().unwrap_or(1.0);
    let places = match (chart.across.round, chart.across.log) {
        (true, _) => between(grid.first().copied().unwrap_or(last), last),
        (false, true) => grid.clone(),
        (false, false) => ticks(last, 4),
    };
    let mut free_from = f64::MIN;
    for place in places.into_iter().filter(|place| *place <= last) {
        let text = match chart.across.round {
            true => tick_label(place, place),
            false => chart.across.label(place),
        };
        let half = text.chars().count() as f64 * 3.3 + 2.0;
        if across.at(place) - half >= free_from {
            svg.text("tick middle", xy(across.at(place), y), &text);
            free_from = across.at(place) + half;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_at_the_ends_of_lines_do_not_overlap() {
        let whole = span(0.0, 90.0);
        assert_eq!(apart(&[10.0, 50.0], 15.0, whole), [10.0, 50.0]);
        assert_eq!(apart(&[10.0, 12.0], 15.0, whole), [10.0, 25.0]);
        assert_eq!(apart(&[85.0, 86.0, 90.0], 15.0, whole), [60.0, 75.0, 90.0]);
    }

    #[test]
    fn no_two_of_eighteen_lines_look_alike() {
        let look = |place: usize| {
            let colour = Colour::Of(place);
            let series = Series {
                colour,
                ..Series::default()
            };
            let mut svg = Svg::default();
            svg.marker(colour, xy(0.0, 0.0), "");
            let marker = svg.finish(size(1.0, 1.0), "", "", "", "");
            (colour.class(), stroke(&series, true), marker)
        };
        let looks: std::collections::HashSet<_> = (0..18).map(look).collect();
        assert_eq!(looks.len(), 18);
    }
}
