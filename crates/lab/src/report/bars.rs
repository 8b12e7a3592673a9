//! The chart of a shootout: a bar for each client, the fastest first, with the figure and the interval on it.

use super::entries::{is_tuned, ratio};
use super::svg::Svg;
use crate::findings::words::{figure, interval, times};
use crate::findings::{Entry, Ranking};
use crate::ledger::Document;

/// Sizes of a chart in its own units; on the screen it is about as large.
struct Layout {
    width: f64,
    /// Height of a client's share.
    step: f64,
    /// Where bars begin and end, from the left.
    bars: (f64, f64),
    /// How far below the top of its share a bar begins, and how thick it is.
    bar: (f64, f64),
    /// Room above the first.
    top: f64,
}

const WIDE: Layout = Layout {
    width: 940.0,
    step: 24.0,
    bars: (214.0, 640.0),
    bar: (4.0, 15.0),
    top: 26.0,
};

/// On a telephone the names stand above the bars.
const NARROW: Layout = Layout {
    width: 410.0,
    step: 40.0,
    bars: (0.0, 386.0),
    bar: (20.0, 11.0),
    top: 4.0,
};

/// The speeds of all that are ranked; with `wide` the names stand beside the bars.
pub(super) fn bars(run: &Document, ranking: &Ranking, wide: bool) -> String {
    let layout = if wide { WIDE } else { NARROW };
    let entries = &ranking.ranked;
    let most = entries
        .iter()
        .map(|entry| range(entry).1)
        .fold(0.0, f64::max);
    let scale = (layout.bars.1 - layout.bars.0) / most.max(f64::MIN_POSITIVE);
    let mut svg = Svg::new();
    if wide {
        heads(&mut svg, run);
    }
    for (place, entry) in entries.iter().enumerate() {
        let y = layout.top + layout.step * place as f64;
        let at = |speed: f64| layout.bars.0 + speed * scale;
        let tuned = is_tuned(run, entry);
        let class = if tuned { "beam hollow" } else { "beam" };
        let speed = entry.row.requests_per_second;
        let (down, thick) = layout.bar;
        svg.rect(
            class,
            (layout.bars.0, y + down),
            (at(speed) - layout.bars.0, thick),
        );
        whisker(&mut svg, range(entry), at, y + down + thick / 2.0);
        let name = shortened(&entry.row.client, if tuned { " *" } else { "" });
        match wide {
            true => beside(&mut svg, entry, &name, y + 16.0),
            false => above(&mut svg, entry, &name, y + 15.0),
        }
    }
    let size = (
        layout.width,
        layout.top + layout.step * entries.len() as f64 + 4.0,
    );
    let (id, class) = if wide {
        ("bw", "wide")
    } else {
        ("bn", "narrow")
    };
    svg.finish(
        size,
        id,
        class,
        "Requests per second of each client",
        &words(ranking),
    )
}

fn heads(svg: &mut Svg, run: &Document) {
    let baseline = run.plan.baseline.as_deref().unwrap_or_default();
    svg.text("axis end", (712.0, 14.0), "requests/s");
    svg.text(
        "axis",
        (728.0, 14.0),
        &shortened(&format!("÷ {baseline}"), ""),
    );
}

fn beside(svg: &mut Svg, entry: &Entry, name: &str, y: f64) {
    svg.text("name end", (WIDE.bars.0 - 8.0, y), name);
    svg.text(
        "axis end",
        (712.0, y),
        &figure(entry.row.requests_per_second),
    );
    svg.text("tick", (728.0, y), &ratio(entry));
    svg.text("tick", (880.0, y), &entry.letters);
}

fn above(svg: &mut Svg, entry: &Entry, name: &str, y: f64) {
    svg.text("name", (0.0, y), name);
    let ratio = entry.ratio.map(|ratio| format!(", {}", times(ratio.value)));
    let speed = figure(entry.row.requests_per_second);
    svg.text(
        "axis end",
        (NARROW.bars.1, y),
        &format!("{speed}{} {}", ratio.unwrap_or_default(), entry.letters),
    );
}

/// The interval of a speed, never excluding the figure that is printed for it.
fn range(entry: &Entry) -> (f64, f64) {
    let speed = entry.row.requests_per_second;
    entry.row.speed.map_or((speed, speed), |own| {
        (own.low.min(speed), own.high.max(speed))
    })
}

/// The interval as a line across the bar's end, with feet; left out where it is narrower than its own lines.
fn whisker(svg: &mut Svg, (low, high): (f64, f64), at: impl Fn(f64) -> f64, y: f64) {
    let (left, right) = (at(low), at(high));
    if right - left < 1.5 {
        return;
    }
    svg.line("line whisker", (left, y), (right, y));
    for x in [left, right] {
        svg.line("line whisker", (x, y - 3.5), (x, y + 3.5));
    }
}

fn shortened(name: &str, mark: &str) -> String {
    const ROOM: usize = 26;
    if name.chars().count() <= ROOM {
        return format!("{name}{mark}");
    }
    let start: String = name.chars().take(ROOM - 1).collect();
    format!("{start}…{mark}")
}

/// What the chart says, for those who do not see it.
fn words(ranking: &Ranking) -> String {
    let one = |entry: &Entry| {
        let speed = figure(entry.row.requests_per_second);
        let ratio = entry.ratio.map_or_else(String::new, |ratio| {
            format!(", {} the baseline {}", times(ratio.value), interval(&ratio))
        });
        format!("{}: {speed}{ratio}.", entry.row.client)
    };
    ranking.ranked.iter().map(one).collect::<Vec<_>>().join(" ")
}
