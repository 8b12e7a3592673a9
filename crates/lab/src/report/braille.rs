//! A chart of lines for a terminal, in braille dots or in plain ASCII.

use super::scale::{Linear, Spread, tick_label, ticks};
use super::style::Style;
use super::terminal::clean;
use crate::views::form::{Across, Lines, Point, Series, Stroke};

const HEIGHT: usize = 12;

/// Headroom for the labels of the vertical axis.
const MARGIN: usize = 8;

const MARKERS: [char; 6] = ['●', '■', '▲', '◆', '○', '□'];
const ASCII_MARKERS: [char; 6] = ['o', '#', '^', '*', '+', '@'];

/// One cell of the grid of characters.
#[derive(Clone, Copy, Default)]
struct Spot {
    /// Braille dots, as the low byte of U+2800…U+28FF.
    dots: u8,
    marker: Option<char>,
    place: Option<usize>,
}

struct Canvas {
    width: usize,
    spots: Vec<Spot>,
}

/// Draws the first plot without its bounds, whose scale would flatten the others; empty without points.
pub(super) fn braille(chart: &Lines, style: &Style) -> Vec<String> {
    let Some(plot) = chart.plots.first() else {
        return Vec::new();
    };
    let is_drawn = |it: &&Series| it.stroke != Stroke::Bound && !it.points.is_empty();
    let series: Vec<&Series> = plot.series.iter().filter(is_drawn).collect();
    let points = series.iter().flat_map(|series| &series.points);
    let most = points.map(|point| point.y).fold(0.0, f64::max);
    if most <= 0.0 {
        return Vec::new();
    }
    let axis = ticks(most, 4);
    let top = axis.last().copied().unwrap_or(most);
    let canvas = Canvas::drawn(&series, &chart.across, up(top), style);
    let title = format!("{} over {}", plot.title, chart.across.title);
    let mut lines = legend(&title, &series, style);
    lines.extend(canvas.lines(&axis, top, style));
    lines.extend(horizontal_axis(&chart.across, canvas.width, style));
    lines
}

/// Positions across `width` dots, with room for a marker at both ends.
fn spread(across: &Across, width: usize) -> Spread {
    let edge = width as f64 / 40.0;
    Spread::new(across, edge, width as f64 - edge)
}

/// Positions in braille dots, of which a character has four rows.
fn up(most: f64) -> Linear {
    Linear {
        most,
        from: (HEIGHT * 4 - 2) as f64,
        to: 1.0,
    }
}

/// The legend: each series with its marker, in as few lines as possible.
fn legend(title: &str, series: &[&Series], style: &Style) -> Vec<String> {
    let mut lines = vec![format!("{:>MARGIN$}  {title}", "")];
    let mut left = style.width.saturating_sub(lines[0].len());
    for series in series {
        let place = series.colour.place();
        let entry = format!("{} {}", marker(place, style.unicode), clean(&series.name));
        let needed = entry.chars().count() + 3;
        if needed > left {
            lines.push(format!("{:>MARGIN$}", ""));
            left = style.width - MARGIN;
        }
        left = left.saturating_sub(needed);
        if let Some(line) = lines.last_mut() {
            *line += &format!("   {}", style.client(place, &entry));
        }
    }
    lines
}

fn marker(place: usize, unicode: bool) -> char {
    let markers = if unicode { MARKERS } else { ASCII_MARKERS };
    markers[place % markers.len()]
}

fn horizontal_axis(across: &Across, width: usize, style: &Style) -> [String; 2] {
    let places = spread(across, width);
    let mut labels = String::new();
    for at in &across.grid {
        let text = across.label(*at);
        let start = (places.at(*at) - text.len() as f64 / 2.0).round().max(0.0) as usize;
        if labels.is_empty() || start > labels.len() {
            labels = format!("{labels:start$}{text}");
        }
    }
    let (corner, line) = match style.unicode {
        true => ('└', "─"),
        false => ('+', "-"),
    };
    [
        format!("{:>MARGIN$} {corner}{}", "", line.repeat(width)),
        format!("{:>MARGIN$}  {labels}", ""),
    ]
}

impl Canvas {
    fn new(width: usize) -> Canvas {
        Canvas {
            width,
            spots: vec![Spot::default(); width * HEIGHT],
        }
    }

    /// All lines, and above them the markers.
    fn drawn(series: &[&Series], across: &Across, up: Linear, style: &Style) -> Canvas {
        let mut canvas = Canvas::new(style.width - MARGIN - 2);
        let across = spread(across, canvas.width * 2);
        let at = |point: &Point| (across.at(point.x), up.at(point.y));
        let points = |it: &&Series| it.points.iter().map(at).collect::<Vec<_>>();
        for it in series {
            canvas.line(&points(it), it.colour.place());
        }
        for it in series {
            canvas.markers(&points(it), it.colour.place(), style.unicode);
        }
        canvas
    }

    fn spot(&mut self, x: f64, y: f64) -> Option<&mut Spot> {
        let (column, row) = ((x / 2.0) as usize, (y / 4.0) as usize);
        (column < self.width && row < HEIGHT).then(|| &mut self.spots[row * self.width + column])
    }

    fn line(&mut self, points: &[(f64, f64)], place: usize) {
        for pair in points.windows(2) {
            let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
            let steps = dx.abs().max(dy.abs()).ceil().max(1.0) as usize;
            for step in 0..=steps {
                let share = step as f64 / steps as f64;
                self.dot(pair[0].0 + dx * share, pair[0].1 + dy * share, place);
            }
        }
    }

    fn dot(&mut self, x: f64, y: f64, place: usize) {
        // Bits of a braille character: the left column top down, then the right one, then the bottom row.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let bit = BITS[y as usize % 4][x as usize % 2];
        if let Some(spot) = self.spot(x, y) {
            spot.dots |= bit;
            spot.place.get_or_insert(place);
        }
    }

    fn markers(&mut self, points: &[(f64, f64)], place: usize, unicode: bool) {
        for (x, y) in points {
            if let Some(spot) = self.spot(*x, *y) {
                spot.marker = Some(marker(place, unicode));
                spot.place = Some(place);
            }
        }
    }

    fn lines(&self, axis: &[f64], top: f64, style: &Style) -> Vec<String> {
        let label = |row: usize| {
            let mut ticks = axis.iter();
            let tick = ticks.find(|tick| (up(top).at(**tick) / 4.0) as usize == row);
            tick.map(|tick| tick_label(*tick, top)).unwrap_or_default()
        };
        let bar = |label: &str| match (style.unicode, label.is_empty()) {
            (true, true) => '│',
            (true, false) => '┤',
            (false, _) => '|',
        };
        let line = |(row, spots): (usize, &[Spot])| {
            let label = label(row);
            let drawn: String = spots.iter().map(|spot| spot.draw(style)).collect();
            format!("{label:>MARGIN$} {}{}", bar(&label), drawn.trim_end())
        };
        let rows = self.spots.chunks(self.width);
        rows.enumerate().map(line).collect()
    }
}

impl Spot {
    fn draw(&self, style: &Style) -> String {
        let Some(place) = self.place else {
            return " ".into();
        };
        let character = match self.marker {
            Some(marker) => marker,
            None if style.unicode => char::from_u32(0x2800 + u32::from(self.dots)).unwrap_or(' '),
            None => '.',
        };
        style.client(place, &character.to_string())
    }
}
