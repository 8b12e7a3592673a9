//! Draws bars, and marks on a scale of ratios, as SVG: names beside them, or above them on a telephone.

use super::geometry::{Position, Span, size, span, xy};
use super::scale::Linear;
use super::svg::Svg;
use super::terminal::{filled, shortened};
use crate::views::form::{Bar, Bars, Colour, Group, NARROW, Sign};

/// Ratios that may stand on an axis.
const TICKS: [f64; 17] = [
    0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 50.0,
];

/// Headroom that the figure of a tick takes.
const TICK: f64 = 34.0;

/// About how much of a line one character takes.
const CHARACTER: f64 = 7.6;

/// Sizes of a chart in its own units; on the screen it is about as large.
struct Layout {
    width: f64,
    /// Height of a bar's share.
    step: f64,
    /// Where bars begin and end, from the left.
    plot: Span,
    /// How far below the top of its share a bar begins, and how thick it is.
    bar: (f64, f64),
    wide: bool,
}

impl Layout {
    /// Names and labels get the space that they need, and bars the rest.
    fn new(chart: &Bars, wide: bool) -> Layout {
        if !wide {
            return Layout {
                width: NARROW,
                step: 40.0,
                plot: span(2.0, NARROW - 14.0),
                bar: (20.0, 11.0),
                wide,
            };
        }
        let room = |longest: usize| longest as f64 * CHARACTER + 16.0;
        let bars = || chart.groups.iter().flat_map(|group| &group.bars);
        let names = bars().map(|bar| bar.name.chars().count()).max();
        let names = room(names.unwrap_or(0)).min(380.0);
        let labels = bars().map(|bar| bar.label.chars().count()).max();
        let labels = room(labels.unwrap_or(0).max(chart.unit.len()));
        Layout {
            width: 940.0,
            step: 24.0,
            plot: span(names, 936.0 - labels),
            bar: (4.0, 15.0),
            wide,
        }
    }
}

/// From a value to its horizontal position.
enum Scale {
    Linear(Linear),
    /// A doubling is as far as a halving.
    Ratios {
        low: f64,
        high: f64,
        plot: Span,
    },
}

impl Scale {
    fn new(chart: &Bars, group: &Group, plot: Span) -> Scale {
        let ends = group
            .bars
            .iter()
            .flat_map(|bar| [bar.range.0, bar.range.1, bar.predicted.unwrap_or(bar.value)]);
        match chart.same {
            Some(_) => Scale::Ratios {
                low: ends.clone().fold(0.9, f64::min) * 0.97,
                high: ends.fold(1.1, f64::max) * 1.03,
                plot,
            },
            None => Scale::Linear(Linear {
                most: ends.fold(f64::MIN_POSITIVE, f64::max),
                from: plot.from,
                to: plot.to,
            }),
        }
    }

    fn at(&self, value: f64) -> f64 {
        match self {
            Scale::Linear(scale) => scale.at(value),
            Scale::Ratios { low, high, plot } => {
                let share = (value.clamp(*low, *high) / low).ln() / (high / low).ln();
                plot.from + (plot.to - plot.from) * share
            }
        }
    }
}

/// The chart; with `wide` the names stand beside the bars.
pub(super) fn bars(chart: &Bars, wide: bool, id: &str) -> String {
    let layout = Layout::new(chart, wide);
    let mut svg = Svg::default();
    let mut y = legend(&mut svg, chart, &layout) + headroom(chart);
    let (class, x) = match wide {
        true => ("axis", layout.plot.to + 10.0),
        false => ("axis end", layout.width - 4.0),
    };
    svg.text(class, xy(x, y - 8.0), &chart.unit);
    for group in &chart.groups {
        y = draw_group(&mut svg, chart, group, &layout, y);
    }
    let (class, words) = (if wide { "wide" } else { "narrow" }, description(chart));
    let size = size(layout.width, y + 4.0);
    svg.finish(size, id, class, &chart.title, &words)
}

/// Draws a group with its upper edge at `top`, and returns where the next one begins.
fn draw_group(svg: &mut Svg, chart: &Bars, group: &Group, layout: &Layout, top: f64) -> f64 {
    let mut y = top;
    if !group.heading.is_empty() {
        y += 22.0;
        svg.text("name", xy(2.0, y - 4.0), &group.heading);
    }
    let scale = Scale::new(chart, group, layout.plot);
    let (top, bottom) = (y, y + layout.step * group.bars.len() as f64);
    let lowest = if layout.wide { bottom } else { top };
    axis(svg, &scale, span(top - 4.0, lowest));
    let mean = chart.line.as_ref().map(|(value, _)| scale.at(*value));
    // The names of a narrow chart stand in the way of the line, so it lies behind them.
    if let Some(x) = mean.filter(|_| !layout.wide) {
        svg.line("mean", xy(x, top), xy(x, bottom + 2.0));
    }
    for bar in &group.bars {
        draw_row(svg, bar, chart, &scale, layout, y);
        y += layout.step;
    }
    if let (Some((_, words)), Some(x)) = (&chart.line, mean) {
        if layout.wide {
            svg.line("mean", xy(x, top), xy(x, y + 2.0));
        }
        let middle = x.clamp(60.0, layout.width - 60.0);
        svg.text("tick middle", xy(middle, y + 15.0), words);
        y += 18.0;
    }
    y
}

/// Draws a bar in an element of its own, with its upper edge at `top`.
fn draw_row(svg: &mut Svg, bar: &Bar, chart: &Bars, scale: &Scale, layout: &Layout, top: f64) {
    let names = [bar.colour.class(), "row".into()].join(" ");
    let place = format!("translate(0 {})", super::svg::n(top));
    let attributes = [
        ("class", names.as_str()),
        ("transform", &place),
        ("data-language", bar.language.as_deref().unwrap_or_default()),
        ("data-name", &bar.name),
    ];
    svg.group(&attributes, |svg| draw(svg, bar, chart, scale, layout));
}

/// The chart in words, for readers that do not see it.
fn description(chart: &Bars) -> String {
    let all = chart
        .groups
        .iter()
        .flat_map(|group| group.bars.iter().map(move |bar| (group, bar)));
    let said = all.map(|(group, bar)| match group.heading.as_str() {
        "" => format!("{}: {}", bar.name, bar.label),
        heading => format!("{heading}, {}: {}", bar.name, bar.label),
    });
    said.collect::<Vec<_>>().join("; ") + "."
}

/// Space above the first bar, for the unit of the figures or the ticks of ratios.
fn headroom(chart: &Bars) -> f64 {
    let has_none = chart.unit.is_empty() && chart.same.is_none();
    if has_none { 2.0 } else { 24.0 }
}

/// Draws the legend and returns its height.
fn legend(svg: &mut Svg, chart: &Bars, layout: &Layout) -> f64 {
    let keys = keys(chart);
    if keys.is_empty() {
        return 0.0;
    }
    let (mut x, mut y) = (2.0, 14.0);
    for key in keys {
        let needed = |words: &str| key.indent() + CHARACTER * words.chars().count() as f64 + 8.0;
        if x > 2.0 && x + needed(key.words) > layout.width {
            (x, y) = (2.0, y + 18.0);
        }
        key.draw(svg, xy(x, y));
        let most = (layout.width - key.indent() - 8.0) / CHARACTER;
        let words = key.words.split(' ').map(str::to_owned);
        for (place, line) in filled(words, most as usize).iter().enumerate() {
            if place > 0 {
                (x, y) = (2.0, y + 18.0);
            }
            svg.text(key.text, xy(x + key.indent(), y), line);
            x += needed(line);
        }
    }
    y + 4.0
}

/// An entry of the legend: a colour, a shape or a kind of name, and its meaning.
struct Key<'a> {
    colour: Colour,
    /// The class of the square before the words; none without a square.
    square: Option<&'static str>,
    /// The class of the words.
    text: &'static str,
    words: &'a str,
}

impl Key<'_> {
    fn indent(&self) -> f64 {
        if self.square.is_some() { 16.0 } else { 2.0 }
    }

    fn draw(&self, svg: &mut Svg, Position { x, y }: Position) {
        svg.group(&[("class", &self.colour.class())], |svg| {
            if let Some(class) = self.square {
                svg.rect(class, xy(x + 1.0, y - 9.0), size(10.0, 10.0));
            }
        });
    }
}

/// The entries of the legend, in their order.
fn keys(chart: &Bars) -> Vec<Key<'_>> {
    let colours = chart.legend.iter().enumerate().map(|(place, words)| Key {
        colour: Colour::Of(place),
        square: Some(beam(place)),
        text: "axis",
        words,
    });
    let signs = chart.signs.iter().map(|sign| {
        let (square, text, words) = match sign {
            Sign::Hollow(words) => (Some("beam hollow"), "axis", words),
            Sign::Bold(words) => (None, "name", words),
            Sign::Name(words) => (None, "axis", words),
        };
        let colour = Colour::None;
        Key {
            colour,
            square,
            text,
            words,
        }
    });
    colours.chain(signs).collect()
}

/// Colours begin again after six: those after them are drawn lighter.
fn beam(place: usize) -> &'static str {
    match place >= Colour::ALL {
        true => "beam light",
        false => "beam",
    }
}

fn draw(svg: &mut Svg, bar: &Bar, chart: &Bars, scale: &Scale, layout: &Layout) {
    let (down, thick) = layout.bar;
    let middle = down + thick / 2.0;
    let (low, high) = (scale.at(bar.range.0), scale.at(bar.range.1));
    let end = scale.at(bar.value);
    match chart.same {
        None => {
            let class = match (bar.hollow, beam(bar.colour.place())) {
                (true, "beam light") => "beam hollow light",
                (true, _) => "beam hollow",
                (false, class) => class,
            };
            let width = end - layout.plot.from;
            svg.rect(class, xy(layout.plot.from, down), size(width, thick));
            svg.limb("line whisker inner", low, end, middle);
            svg.limb("line whisker", high, end, middle);
        }
        Some(same) => {
            let (from, to) = (scale.at(1.0 - same), scale.at(1.0 + same));
            svg.rect("band", xy(from, middle - 8.0), size(to - from, 16.0));
            let one = scale.at(1.0);
            svg.line("base", xy(one, middle - 8.0), xy(one, middle + 8.0));
            svg.line("line", xy(low, middle), xy(high, middle));
            svg.marker(bar.colour, xy(end, middle), "");
        }
    }
    if let Some(predicted) = bar.predicted {
        let x = scale.at(predicted);
        svg.line("mark", xy(x, down - 3.0), xy(x, down + thick + 3.0));
    }
    label(svg, bar, layout);
}

/// Writes the name of a bar and its figures: at its ends, or above it.
fn label(svg: &mut Svg, bar: &Bar, layout: &Layout) {
    let class = if bar.ours { "name" } else { "axis" };
    let plot = layout.plot;
    if layout.wide {
        let room = ((plot.from - 16.0) / CHARACTER).round() as usize;
        let name = shortened(&bar.name, room.max(4));
        svg.text(&format!("{class} end"), xy(plot.from - 8.0, 16.0), &name);
        svg.text("tick", xy(plot.to + 10.0, 16.0), &bar.label);
    } else {
        let left = (layout.width / 6.4) as usize - bar.label.chars().count();
        svg.text(class, xy(2.0, 15.0), &shortened(&bar.name, left.max(10)));
        svg.text("tick end", xy(layout.width - 4.0, 15.0), &bar.label);
    }
}

/// Ratios at the top, with lines from there down; bars that begin at 0 say their figures themselves.
fn axis(svg: &mut Svg, scale: &Scale, heights: Span) {
    let Scale::Ratios { low, high, plot } = scale else {
        return;
    };
    let (top, bottom) = (heights.from, heights.to);
    let mut free_from = f64::MIN;
    // 1 is always shown; the others stand where space is left.
    let one = scale.at(1.0);
    let ticks = TICKS.into_iter();
    for tick in ticks.filter(|tick| (*low..=*high).contains(tick)) {
        let x = scale.at(tick);
        if tick != 1.0 && (x < free_from || (x - one).abs() < TICK) {
            continue;
        }
        let class = if tick == 1.0 { "base" } else { "grid" };
        svg.line(class, xy(x, top), xy(x, bottom));
        let middle = x.clamp(plot.from + TICK / 2.0, plot.to - TICK / 2.0);
        svg.text("tick middle", xy(middle, top - 4.0), &format!("{tick}×"));
        free_from = middle + TICK;
    }
}
