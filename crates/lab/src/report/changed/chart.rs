//! The chart of two runs: how many times faster each row became, with its interval, on a scale of ratios.

use super::{Beside, value};
use crate::findings::stats::Estimate;
use crate::findings::words::{interval, times};
use crate::findings::{Change, Direction, SAME_ISH};
use crate::report::svg::Svg;

/// Most rows that are drawn: the largest changes.
const MOST: usize = 40;

/// Ratios that may stand on the axis.
const TICKS: [f64; 17] = [
    0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 50.0,
];

/// Room that the figure of a tick takes.
const TICK: f64 = 34.0;

/// Sizes of a chart in its own units; on the screen it is about as large.
struct Layout {
    width: f64,
    /// Height of a row's share, and where in it the row's line lies.
    step: (f64, f64),
    /// Where ratios begin and end, from the left.
    plot: (f64, f64),
}

const WIDE: Layout = Layout {
    width: 940.0,
    step: (22.0, 11.0),
    plot: (350.0, 700.0),
};

/// On a telephone the words stand above the lines.
const NARROW: Layout = Layout {
    width: 410.0,
    step: (40.0, 27.0),
    plot: (6.0, 404.0),
};

/// Positions of ratios: a doubling is as far as a halving.
struct Scale {
    low: f64,
    high: f64,
    plot: (f64, f64),
}

impl Scale {
    fn at(&self, ratio: f64) -> f64 {
        let share =
            (ratio.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        self.plot.0 + (self.plot.1 - self.plot.0) * share
    }
}

/// The rows that are drawn, in the order of rows; all of them, or the largest changes.
fn drawn<'a>(pair: &'a Beside) -> Vec<(&'a Change, Estimate)> {
    let rows = pair.found.rows.iter();
    let mut rows: Vec<(usize, &Change, Estimate)> = rows
        .enumerate()
        .filter_map(|(place, change)| Some((place, change, change.ratio?)))
        .collect();
    let size = |change: &Change| value(change).ln().abs();
    rows.sort_by(|a, b| size(b.1).total_cmp(&size(a.1)));
    rows.truncate(MOST);
    rows.sort_by_key(|(place, ..)| *place);
    rows.into_iter()
        .map(|(_, change, ratio)| (change, ratio))
        .collect()
}

/// How many rows with a ratio are left out of the chart.
pub(super) fn left_out(pair: &Beside) -> usize {
    let all = pair.found.rows.iter().filter(|row| row.ratio.is_some());
    all.count().saturating_sub(MOST)
}

/// A line for each row; with `wide` the words stand beside it.
pub(super) fn ratios(pair: &Beside, wide: bool, id: &str) -> String {
    let layout = if wide { WIDE } else { NARROW };
    let rows = drawn(pair);
    let ends = || rows.iter().map(|(_, ratio)| ratio);
    let scale = Scale {
        low: ends().map(|ratio| ratio.low).fold(0.9, f64::min) * 0.97,
        high: ends().map(|ratio| ratio.high).fold(1.1, f64::max) * 1.03,
        plot: layout.plot,
    };
    let bottom = 24.0 + layout.step.0 * rows.len() as f64;
    let mut svg = Svg::new();
    axis(&mut svg, &scale, bottom, wide);
    for (place, (change, ratio)) in rows.iter().enumerate() {
        let top = 22.0 + layout.step.0 * place as f64;
        row(&mut svg, change, ratio, &scale, top + layout.step.1);
        let (name, figures) = (pair.name(change), words(change, ratio));
        match wide {
            true => {
                let y = top + layout.step.1 + 4.0;
                svg.text("axis end", (WIDE.plot.0 - 10.0, y), &shortened(&name, 52));
                svg.text("tick", (WIDE.plot.1 + 10.0, y), &figures);
            }
            false => {
                svg.text("axis", (2.0, top + 14.0), &shortened(&name, 34));
                svg.text("tick end", (NARROW.width - 4.0, top + 14.0), &figures);
            }
        }
    }
    let all: Vec<String> = rows
        .iter()
        .map(|(change, ratio)| format!("{}: {}", pair.name(change), words(change, ratio)))
        .collect();
    svg.finish(
        (layout.width, bottom + 4.0),
        id,
        if wide { "wide" } else { "narrow" },
        "How many times faster each row became",
        &(all.join("; ") + "."),
    )
}

/// Ratios at the top; with `through`, their lines from there to the bottom.
fn axis(svg: &mut Svg, scale: &Scale, bottom: f64, through: bool) {
    let bottom = if through { bottom } else { 24.0 };
    let mut free_from = f64::MIN;
    // 1 has its place; the others stand where room is left.
    let one = scale.at(1.0);
    for tick in TICKS {
        let x = scale.at(tick);
        let inside = (scale.low..=scale.high).contains(&tick);
        let crowded = x < free_from || (tick != 1.0 && (x - one).abs() < TICK);
        if !inside || (crowded && tick != 1.0) {
            continue;
        }
        let class = if tick == 1.0 { "base" } else { "grid" };
        svg.line(class, (x, 20.0), (x, bottom));
        let label = format!("{tick}×");
        let middle = x.clamp(scale.plot.0 + 10.0, scale.plot.1 - 10.0);
        svg.text("tick middle", (middle, 14.0), &label);
        free_from = x + TICK;
    }
}

/// The interval and the figure in it, of a shape and a colour that say which way it went.
fn row(svg: &mut Svg, change: &Change, ratio: &Estimate, scale: &Scale, y: f64) {
    let (class, shape) = match change.direction() {
        Direction::Slower => ("c1", 1),
        Direction::Faster => ("c2", 2),
        _ => ("ceil", 4),
    };
    let (low, high) = (scale.at(1.0 - SAME_ISH), scale.at(1.0 + SAME_ISH));
    svg.rect("band", (low, y - 8.0), (high - low, 16.0));
    svg.line("base", (scale.at(1.0), y - 8.0), (scale.at(1.0), y + 8.0));
    svg.open_group(class);
    svg.line("line", (scale.at(ratio.low), y), (scale.at(ratio.high), y));
    svg.marker(shape, (scale.at(ratio.value), y), "");
    svg.close_group();
}

/// What became of a row.
fn words(change: &Change, ratio: &Estimate) -> String {
    let sure = ratio.confidence.map(|_| interval(ratio) + " ");
    format!(
        "{} {}{}",
        times(ratio.value),
        sure.unwrap_or_default(),
        change.direction().words()
    )
}

fn shortened(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room - 1).chain(['…']).collect()
}
