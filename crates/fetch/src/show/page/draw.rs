//! The charts, as SVG whose text stays text.

use maud::{Markup, html};

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
pub(super) fn timeline(tally: &ReportData) -> Markup {
    let slots = tally.timeline.slots();
    let is_there = |part: &Part| slots.iter().any(|slot| slot[*part as usize] > 0);
    html! {
        @if tally.span().is_some() {
            figure {
                ul.legend {
                    @for part in Part::ALL.into_iter().filter(is_there) {
                        li { span.key.(part.class()) {} (part.words()) }
                    }
                }
                (bars(tally, "broad", WIDTH)) (bars(tally, "narrow", NARROW))
                figcaption { "Requests a second, by when they began; each bar is " (tally.timeline.seconds()) " s." }
            }
        }
    }
}

/// The bars of the timeline, as wide as a screen or a telephone.
fn bars(tally: &ReportData, class: &str, width: f64) -> Markup {
    let (slots, seconds) = (tally.timeline.slots(), tally.timeline.seconds());
    let sums = slots.iter().map(|slot| slot.iter().sum::<u64>());
    let scale = round_up(sums.max().unwrap_or(1) as f64 / seconds);
    let right = width - RIGHT;
    let step = (right - LEFT) / slots.len() as f64;
    let thick = (step - if step > 4.0 { 1.0 } else { 0.0 }).clamp(0.5, 40.0);
    html! {
        svg class=(class) viewBox=(format_args!("0 0 {width} 216")) role="img"
            aria-label="Requests a second over time, by what became of them" {
            @for rate in (0..=4).map(|line| scale * f64::from(line) / 4.0) {
                path.grid d=(format_args!("M{LEFT} {:.1}H{right}", y(rate, scale))) {}
                text.end x=(LEFT - 8.0) y=(tenth(y(rate, scale) + 4.0)) { (figure(rate)) }
            }
            @for (index, slot) in slots.iter().enumerate() {
                (bar(slot, seconds, scale, LEFT + step * index as f64 + (step - thick) / 2.0, thick))
            }
            @if let Some((from, to)) = tally.span() {
                text x=(LEFT) y=(BOTTOM + 20.0) { (from.shown()) }
                text.end x=(right) y=(BOTTOM + 20.0) { (to.shown()) }
            }
        }
    }
}

/// Where a rate is in the timeline.
fn y(rate: f64, scale: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * rate / scale
}

/// A bar of the timeline, so many seconds of it, with its parts above one another.
fn bar(slot: &[u64], seconds: f64, scale: f64, x: f64, thick: f64) -> Markup {
    let mut sum = 0.0;
    let parts = Part::ALL.into_iter().zip(slot).map(|(part, number)| {
        let low = y(sum, scale);
        sum += *number as f64 / seconds;
        let high = y(sum, scale);
        (part.class(), high, (low - high).max(0.5), *number > 0)
    });
    html! {
        @for (class, high, tall, _) in parts.filter(|(.., is_there)| *is_there) {
            rect class=(class) x=(tenth(x)) y=(format_args!("{high:.2}")) width=(tenth(thick))
                height=(format_args!("{tall:.2}")) {}
        }
    }
}

/// For each phase a bar over its middle nine tenths, with marks at the median and the longest, and a table.
pub(super) fn phases(tally: &ReportData) -> Markup {
    let known: Vec<_> = PHASES
        .iter()
        .zip(&tally.phases)
        .filter(|(_, times)| times.count() > 0)
        .map(|((name, _), times)| (*name, times))
        .collect();
    html! {
        @if !known.is_empty() {
            figure {
                (ranges(&known, "broad", WIDTH)) (ranges(&known, "narrow", NARROW))
                figcaption {
                    "From the 5th to the 95th percentile; the line is the median, the dot the longest. Requests on a "
                    "connection that was open already have no time to resolve and connect."
                }
            }
            div.scroll tabindex="0" { table {
                thead { tr {
                    th.word { "phase" } th { "requests" } th { "median" } th { "90 %" } th { "99 %" } th { "longest" }
                } }
                tbody { @for (name, times) in &known { tr {
                    td.word { (name) } td { (count(times.count())) }
                    @for share in [0.5, 0.9, 0.99] { td { (milliseconds(quantile(times, share))) } }
                    td { (milliseconds(times.longest())) }
                } } }
            } }
        }
    }
}

/// The bars of the phases, as wide as a screen or a telephone.
fn ranges(known: &[(&str, &Histogram)], class: &str, width: f64) -> Markup {
    let (low, high) = decades(known);
    let x = |ms: f64| {
        LEFT + (width - LEFT - RIGHT - 30.0) * ((ms.log10() - low) / (high - low)).clamp(0.0, 1.0)
    };
    let bottom = 14.0 + 34.0 * known.len() as f64;
    #[expect(clippy::cast_possible_truncation, reason = "powers of ten of a time")]
    let powers = (low as i32..=high as i32).map(|power| 10_f64.powi(power));
    html! {
        svg class=(class) viewBox=(format_args!("0 0 {width} {}", bottom + 26.0)) role="img"
            aria-label="Times of each phase, on a logarithmic scale" {
            @for ms in powers {
                path.grid d=(format_args!("M{:.1} 8V{bottom:.1}", x(ms))) {}
                text.middle x=(tenth(x(ms))) y=(tenth(bottom + 18.0)) { (milliseconds(ms)) }
            }
            @for (index, (name, times)) in known.iter().enumerate() {
                @let y = 14.0 + 34.0 * index as f64;
                @let [from, median, to] = [0.05, 0.5, 0.95].map(|share| x(quantile(times, share)));
                text.end x=(LEFT - 8.0) y=(tenth(y + 18.0)) { (name) }
                rect.range x=(tenth(from)) y=(tenth(y + 6.0)) width=(tenth((to - from).max(1.0))) height="16" rx="3" {}
                path.mark d=(format_args!("M{median:.1} {:.1}v22", y + 3.0)) {}
                circle.dot cx=(tenth(x(times.longest()))) cy=(tenth(y + 14.0)) r="3.5" {}
            }
        }
    }
}

fn quantile(times: &Histogram, share: f64) -> f64 {
    times.quantile(share).unwrap_or_default()
}

/// A place in a drawing. More digits cannot be seen.
fn tenth(place: f64) -> String {
    format!("{place:.1}")
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
