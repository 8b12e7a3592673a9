//! The charts, as SVG whose text stays text.

use std::fmt::Write;

use super::histogram::Histogram;
use super::tally::{PHASES, Part, ReportData};
use super::text::{count, milliseconds};

const WIDTH: f64 = 960.0;
/// The width of a drawing for a telephone.
const NARROW: f64 = 400.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 12.0;
/// The top and the bottom of the timeline.
const TOP: f64 = 12.0;
const BOTTOM: f64 = 190.0;

/// Bars of what ended when.
pub(super) fn timeline(tally: &ReportData) -> String {
    if tally.span().is_none() {
        return String::new();
    }
    format!(
        "<figure>{}{}{}<figcaption>Requests a second, by when they began; each bar is {} s.</figcaption></figure>",
        legend(tally),
        bars(tally, "broad", WIDTH),
        bars(tally, "narrow", NARROW),
        tally.timeline.seconds()
    )
}

/// The bars of the timeline, as wide as a screen or a telephone.
fn bars(tally: &ReportData, class: &str, width: f64) -> String {
    let Some((from, to)) = tally.span() else {
        return String::new();
    };
    let (slots, seconds) = (tally.timeline.slots(), tally.timeline.seconds());
    let sums = slots.iter().map(|slot| slot.iter().sum::<u64>());
    let scale = round_up(sums.max().unwrap_or(1) as f64 / seconds);
    let height = 216.0;
    let mut svg = format!(
        "<svg class={class} viewBox=\"0 0 {width} {height}\" role=img aria-label=\"Requests a second over time, by what became of them\">"
    );
    for line in 0..=4 {
        let rate = scale * f64::from(line) / 4.0;
        let _ = write!(
            svg,
            "<path class=grid d=\"M{LEFT} {at:.1}H{}\"/><text class=end x={} y={:.1}>{}</text>",
            width - RIGHT,
            LEFT - 8.0,
            y(rate, scale) + 4.0,
            figure(rate),
            at = y(rate, scale)
        );
    }
    let step = (width - LEFT - RIGHT) / slots.len() as f64;
    let thick = (step - if step > 4.0 { 1.0 } else { 0.0 }).clamp(0.5, 40.0);
    for (index, slot) in slots.iter().enumerate() {
        let x = LEFT + step * index as f64 + (step - thick) / 2.0;
        svg += &bar(slot, seconds, scale, x, thick);
    }
    let _ = write!(
        svg,
        "<text x={LEFT} y={0}>{1}</text><text class=end x={2} y={0}>{3}</text></svg>",
        BOTTOM + 20.0,
        from.shown(),
        width - RIGHT,
        to.shown()
    );
    svg
}

/// Where a rate is in the timeline.
fn y(rate: f64, scale: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * rate / scale
}

/// A bar of the timeline, so many seconds of it, with its parts above one another.
fn bar(slot: &[u64], seconds: f64, scale: f64, x: f64, thick: f64) -> String {
    let (mut svg, mut below) = (String::new(), 0.0);
    for (part, number) in Part::ALL.into_iter().zip(slot) {
        let rate = *number as f64 / seconds;
        if *number > 0 {
            let high = y(below + rate, scale);
            let _ = write!(
                svg,
                "<rect class={} x={x:.1} y={high:.2} width={thick:.1} height={:.2} />",
                part.class(),
                (y(below, scale) - high).max(0.5)
            );
        }
        below += rate;
    }
    svg
}

fn legend(tally: &ReportData) -> String {
    let mut items = String::new();
    let slots = tally.timeline.slots();
    for part in Part::ALL {
        if slots.iter().any(|slot| slot[part as usize] > 0) {
            let _ = write!(
                items,
                "<li><span class=\"key {}\"></span>{}</li>",
                part.class(),
                part.words()
            );
        }
    }
    format!("<ul class=legend>{items}</ul>")
}

/// For each phase a bar over its middle nine tenths, with marks at the median and the longest, and a table.
pub(super) fn phases(tally: &ReportData) -> String {
    let known: Vec<_> = PHASES
        .iter()
        .zip(&tally.phases)
        .filter(|(_, times)| times.count() > 0)
        .map(|((name, _), times)| (*name, times))
        .collect();
    if known.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for (name, times) in &known {
        let _ = write!(
            rows,
            "<tr><td class=word>{name}<td>{}",
            count(times.count())
        );
        for share in [0.5, 0.9, 0.99] {
            let quantile = times.quantile(share).unwrap_or_default();
            let _ = write!(rows, "<td>{}", milliseconds(quantile));
        }
        let _ = write!(rows, "<td>{}</tr>", milliseconds(times.longest()));
    }
    format!(
        "<figure>{}{}<figcaption>From the 5th to the 95th percentile; the line is the median, the dot the longest. Requests on a connection \
         that was open already have no time to resolve and connect.</figcaption></figure>\
         <div class=scroll tabindex=0><table><thead><tr><th class=word>phase<th>requests<th>median<th>90 %<th>99 %<th>longest</tr></thead><tbody>{rows}</tbody></table></div>",
        ranges(&known, "broad", WIDTH),
        ranges(&known, "narrow", NARROW)
    )
}

/// The bars of the phases, as wide as a screen or a telephone.
fn ranges(known: &[(&str, &Histogram)], class: &str, width: f64) -> String {
    let quantile = |times: &Histogram, share| times.quantile(share).unwrap_or_default();
    let (low, high) = decades(known);
    let x = |ms: f64| {
        LEFT + (width - LEFT - RIGHT - 30.0) * ((ms.log10() - low) / (high - low)).clamp(0.0, 1.0)
    };
    let bottom = 14.0 + 34.0 * known.len() as f64;
    let height = bottom + 26.0;
    let mut svg = format!(
        "<svg class={class} viewBox=\"0 0 {width} {height}\" role=img aria-label=\"Times of each phase, on a logarithmic scale\">"
    );
    #[expect(clippy::cast_possible_truncation, reason = "powers of ten of a time")]
    for power in low as i32..=high as i32 {
        let at = x(10_f64.powi(power));
        let _ = write!(
            svg,
            "<path class=grid d=\"M{at:.1} 8V{bottom:.1}\"/><text class=middle x={at:.1} y={:.1}>{}</text>",
            bottom + 18.0,
            milliseconds(10_f64.powi(power))
        );
    }
    for (index, (name, times)) in known.iter().enumerate() {
        let y = 14.0 + 34.0 * index as f64;
        let (from, to) = (x(quantile(times, 0.05)), x(quantile(times, 0.95)));
        let _ = write!(
            svg,
            "<text class=end x={} y={:.1}>{name}</text><rect class=range x={from:.1} y={:.1} width={:.1} height=16 rx=3 />\
             <path class=mark d=\"M{median:.1} {:.1}v22\"/><circle class=dot cx={:.1} cy={:.1} r=3.5 />",
            LEFT - 8.0,
            y + 18.0,
            y + 6.0,
            (to - from).max(1.0),
            y + 3.0,
            x(times.longest()),
            y + 14.0,
            median = x(quantile(times, 0.5)),
        );
    }
    svg + "</svg>"
}

/// The powers of ten of milliseconds that the bars of the phases are between.
fn decades(known: &[(&str, &Histogram)]) -> (f64, f64) {
    let shortest = known
        .iter()
        .map(|(_, times)| times.quantile(0.05).unwrap_or_default())
        .fold(f64::MAX, f64::min);
    let longest = known.iter().map(|(_, times)| times.longest());
    let (low, high) = (
        shortest.log10().floor(),
        longest.fold(0.0, f64::max).log10(),
    );
    (low, high.ceil().max(low + 1.0))
}

/// The next figure whose quarters are round.
fn round_up(value: f64) -> f64 {
    let unit = 10_f64.powf(value.max(0.1).log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
    let step = steps.into_iter().find(|step| step * unit >= value);
    step.unwrap_or(10.0) * unit
}

fn figure(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{:.1} M", value / 1e6),
        value if value >= 1000.0 => count(value.round() as u64),
        value if value >= 10.0 || value == 0.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}
