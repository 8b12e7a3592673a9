//! A chart for the terminal: requests/s over concurrency, in braille dots or in plain ASCII.

use super::scale::{Categories, Linear, tick_label, ticks};
use super::style::Style;
use super::view::{Body, Series};

const HEIGHT: usize = 12;

/// Room for the labels of the vertical axis.
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

/// Draws all clients of a body but the ceiling, whose scale would flatten them; empty without valid rows.
pub(super) fn chart(body: &Body, style: &Style) -> Vec<String> {
    let series: Vec<&Series> = body
        .clients
        .iter()
        .filter(|s| !s.is_ceiling() && s.valid().next().is_some())
        .collect();
    let most = series
        .iter()
        .flat_map(|s| s.valid())
        .map(|row| row.requests_per_second)
        .fold(0.0, f64::max);
    if series.is_empty() || most <= 0.0 {
        return Vec::new();
    }
    let axis = ticks(most, 4);
    let top = *axis.last().unwrap_or(&most);
    let mut canvas = Canvas::new(style.width - MARGIN - 2);
    for series in &series {
        canvas.line(&points(series, body, top, canvas.width), series.place);
    }
    for series in &series {
        canvas.markers(
            &points(series, body, top, canvas.width),
            series.place,
            style.unicode,
        );
    }
    let mut lines = legend(&series, style);
    lines.extend(canvas.lines(&axis, top, style));
    lines.extend(horizontal_axis(body, canvas.width, style));
    lines
}

/// Points in braille dots: two columns and four rows to a character.
fn points(series: &Series, body: &Body, top: f64, width: usize) -> Vec<(f64, f64)> {
    let across = Categories {
        count: body.grid.len(),
        from: 0.0,
        to: (width * 2) as f64,
    };
    let up = Linear {
        most: top,
        from: (HEIGHT * 4 - 2) as f64,
        to: 1.0,
    };
    let place = |concurrency| {
        body.grid
            .iter()
            .position(|c| *c == concurrency)
            .unwrap_or(0)
    };
    series
        .valid()
        .map(|row| {
            (
                across.at(place(row.concurrency)),
                up.at(row.requests_per_second),
            )
        })
        .collect()
}

/// What is drawn, and the marker of each client, in as many lines as it takes.
fn legend(series: &[&Series], style: &Style) -> Vec<String> {
    let mut lines = vec![format!("{:>MARGIN$}  requests/s over concurrency", "")];
    let mut left = style.width.saturating_sub(lines[0].len());
    for series in series {
        let entry = format!("{} {}", marker(series.place, style.unicode), series.client);
        let needed = entry.chars().count() + 3;
        if needed > left {
            lines.push(format!("{:>MARGIN$}", ""));
            left = style.width - MARGIN;
        }
        left = left.saturating_sub(needed);
        if let Some(line) = lines.last_mut() {
            *line += &format!("   {}", style.client(series.place, &entry));
        }
    }
    lines
}

fn marker(place: usize, unicode: bool) -> char {
    let markers = if unicode { MARKERS } else { ASCII_MARKERS };
    markers[place % markers.len()]
}

fn horizontal_axis(body: &Body, width: usize, style: &Style) -> [String; 2] {
    let across = Categories {
        count: body.grid.len(),
        from: 0.0,
        to: width as f64,
    };
    let mut labels = String::new();
    for (index, concurrency) in body.grid.iter().enumerate() {
        let text = concurrency.to_string();
        let start = (across.at(index) - text.len() as f64 / 2.0)
            .round()
            .max(0.0) as usize;
        if labels.is_empty() || start > labels.len() {
            labels = format!("{labels:start$}{text}");
        }
    }
    let (corner, line) = if style.unicode {
        ('└', "─")
    } else {
        ('+', "-")
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
                *spot = Spot {
                    marker: Some(marker(place, unicode)),
                    place: Some(place),
                    ..*spot
                };
            }
        }
    }

    fn lines(&self, axis: &[f64], top: f64, style: &Style) -> Vec<String> {
        let up = Linear {
            most: top,
            from: (HEIGHT * 4 - 2) as f64,
            to: 1.0,
        };
        let label = |row: usize| {
            let tick = axis
                .iter()
                .find(|tick| (up.at(**tick) / 4.0) as usize == row);
            tick.map(|tick| tick_label(*tick, top)).unwrap_or_default()
        };
        let bar = |label: &str| match (style.unicode, label.is_empty()) {
            (true, true) => '│',
            (true, false) => '┤',
            (false, _) => '|',
        };
        self.spots
            .chunks(self.width)
            .enumerate()
            .map(|(row, spots)| {
                let label = label(row);
                let drawn: String = spots.iter().map(|spot| spot.draw(style)).collect();
                format!("{label:>MARGIN$} {}{}", bar(&label), drawn.trim_end())
            })
            .collect()
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
