//! The one form between findings and media: a view is sections, a section is blocks, and each medium draws every block.

use serde_json::Value;

use crate::findings::{Fact, Tone};

/// Where a part of a view is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Media(u8);

impl Media {
    pub(crate) const TERMINAL: Media = Media(1);
    pub(crate) const MARKDOWN: Media = Media(2);
    pub(crate) const PAGE: Media = Media(4);
    /// The terminal and Markdown.
    pub(crate) const TEXT: Media = Media(3);
    /// Markdown and the page, which begin with what was found; a terminal ends with it.
    pub(crate) const PAPER: Media = Media(6);
    pub(crate) const ALL: Media = Media(7);

    pub(crate) fn has(self, medium: Media) -> bool {
        self.0 & medium.0 != 0
    }
}

/// Everything that is shown of a run, of a benchmark, or of runs side by side.
#[derive(Debug, Default)]
pub struct View {
    /// The finding, as the page's title; empty if the question is the title.
    pub(crate) finding: String,
    /// The question that the page answers.
    pub(crate) question: &'static str,
    /// The project's version and the machine; empty where there are several.
    pub(crate) machine: String,
    /// Where the project's name links to; none for a page on its own.
    pub(crate) home: Option<String>,
    /// The work of the run, in a line.
    pub(crate) job: String,
    /// The command that was given; none where there are several.
    pub(crate) command: Option<String>,
    pub(crate) date: String,
    /// Reasons to trust or to doubt the figures.
    pub(crate) facts: Vec<Fact>,
    pub(crate) sections: Vec<Section>,
    /// A line of CSV each.
    pub(crate) records: Vec<Value>,
    /// Written instead of the records where a kind of run has CSV of its own.
    pub(crate) csv: Option<String>,
    /// The JSON of a view that has no document of a run.
    pub(crate) json: Value,
}

#[derive(Debug)]
pub(crate) struct Section {
    /// None when empty.
    pub(crate) title: String,
    pub(crate) media: Media,
    /// Whether the page shows it only when a reader opens it.
    pub(crate) folded: bool,
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    pub(crate) fn new(title: impl Into<String>, media: Media, blocks: Vec<Block>) -> Section {
        Section {
            title: title.into(),
            media,
            folded: false,
            blocks,
        }
    }

    pub(crate) fn folded(self) -> Section {
        Section {
            folded: true,
            ..self
        }
    }
}

#[derive(Debug)]
pub(crate) enum Block {
    Verdicts(Vec<Verdict>),
    Table(Table),
    Charts(Vec<Chart>),
    /// Items with a subject and a sentence each; the tone decides how they look.
    List(Tone, Vec<[String; 2]>),
    Note(String),
    Code(String),
    /// Other pages; a page alone shows them.
    Links(Vec<Link>),
}

/// Another page.
#[derive(Debug)]
pub(crate) struct Link {
    /// Its path, relative to this page.
    pub(crate) to: String,
    pub(crate) title: String,
    /// Its subject, in a line.
    pub(crate) words: String,
}

/// A sentence of what was found.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// Its owner; the sentence continues behind the name. Empty when it is nobody's.
    pub(crate) subject: String,
    pub(crate) words: String,
    pub(crate) colour: Colour,
}

impl Verdict {
    pub(crate) fn list(sentences: &[String]) -> Block {
        let colours = std::iter::once(Colour::Of(0)).chain(std::iter::repeat(Colour::None));
        let verdict = |(words, colour): (&String, Colour)| Verdict {
            subject: String::new(),
            words: words.clone(),
            colour,
        };
        Block::Verdicts(sentences.iter().zip(colours).map(verdict).collect())
    }
}

/// One of the distinct colours, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Colour {
    Of(usize),
    /// That of the baseline loader and of what neither gained nor lost.
    Grey,
    #[default]
    None,
}

impl Colour {
    /// How many there are before they begin again.
    pub(crate) const ALL: usize = 6;

    /// That of a series: the bound's is the same everywhere.
    pub(crate) fn of(place: usize, bound: bool) -> Colour {
        match bound {
            true => Colour::Grey,
            false => Colour::Of(place),
        }
    }

    pub(crate) fn class(self) -> String {
        match self {
            Colour::Of(place) => format!("c{}", place % Colour::ALL),
            Colour::Grey => "ceil".into(),
            Colour::None => String::new(),
        }
    }

    /// How many times all colours were used before this one.
    pub(crate) fn round(self) -> usize {
        self.place() / Colour::ALL
    }

    pub(crate) fn place(self) -> usize {
        match self {
            Colour::Of(place) => place,
            _ => 0,
        }
    }
}

/// A symbol, and its meaning.
pub(crate) type Mark = (&'static str, &'static str);

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) lines: Vec<Line>,
    /// Stands below the lines, however they are sorted.
    pub(crate) foot: Vec<Vec<String>>,
    /// The meaning of a symbol, shown only if the table has that symbol.
    pub(crate) marks: Vec<Mark>,
    pub(crate) notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// In up to two lines; the first ends in a hyphen when both are one word.
    pub(crate) title: String,
    /// Whether it holds words; else it holds figures.
    pub(crate) words: bool,
    /// Those with a higher number are left out first where there is no space; 0 stays.
    pub(crate) rank: u8,
    /// When intervals behind its figures are left out, in the same order; 0 is never.
    pub(crate) interval_rank: u8,
    pub(crate) media: Media,
    /// Stands below the table, behind the title; empty if the title says enough.
    pub(crate) meaning: String,
}

impl Column {
    /// The title with this between its lines, or as one word.
    pub(crate) fn title(&self, between: &str) -> String {
        match self.title.split_once('\n') {
            Some((first, second)) => match first.strip_suffix('-') {
                Some(start) => format!("{start}{second}"),
                None => format!("{first}{between}{second}"),
            },
            None => self.title.clone(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) cells: Vec<String>,
    pub(crate) look: Look,
    /// The language that readers can filter by.
    pub(crate) language: Option<String>,
    /// Whether it begins something new.
    pub(crate) apart: bool,
    /// Whether its first cell is that of the line before; a terminal does not repeat it.
    pub(crate) continues: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Look {
    #[default]
    Plain,
    Recommended,
    Rejected,
}

impl Look {
    pub(crate) fn rejected(is_rejected: bool) -> Look {
        match is_rejected {
            true => Look::Rejected,
            false => Look::Plain,
        }
    }
}

/// A column, and how an item fills it.
pub(crate) struct Shown<'a, T> {
    column: Column,
    value: Box<dyn Fn(&T) -> String + 'a>,
}

/// A column of figures.
pub(crate) fn col<'a, T>(title: &str, rank: u8, value: impl Fn(&T) -> String + 'a) -> Shown<'a, T> {
    Shown {
        column: Column {
            title: title.into(),
            words: false,
            rank,
            interval_rank: 0,
            media: Media::ALL,
            meaning: String::new(),
        },
        value: Box::new(value),
    }
}

impl<T> Shown<'_, T> {
    pub(crate) fn words(mut self) -> Self {
        self.column.words = true;
        self
    }

    pub(crate) fn on(mut self, media: Media) -> Self {
        self.column.media = media;
        self
    }

    pub(crate) fn rank(mut self, rank: u8) -> Self {
        self.column.rank = rank;
        self
    }

    pub(crate) fn means(mut self, words: impl Into<String>) -> Self {
        self.column.meaning = words.into();
        self
    }

    pub(crate) fn title(&self) -> &str {
        &self.column.title
    }

    pub(crate) fn intervals(mut self, rank: u8) -> Self {
        self.column.interval_rank = rank;
        self
    }
}

impl Table {
    /// A line for each item.
    pub(crate) fn of<T>(name: &str, items: &[T], columns: Vec<Shown<T>>) -> Table {
        let line = |item: &T| Line {
            cells: columns.iter().map(|shown| (shown.value)(item)).collect(),
            ..Line::default()
        };
        Table {
            name: name.into(),
            lines: items.iter().map(line).collect(),
            columns: columns.into_iter().map(|shown| shown.column).collect(),
            ..Table::default()
        }
    }

    /// Keys and values.
    pub(crate) fn pairs(name: &str, pairs: &[(String, String)]) -> Table {
        let key = |pair: &(String, String)| pair.0.clone();
        let value = |pair: &(String, String)| pair.1.clone();
        let columns = vec![col("", 0, key).words(), col("", 0, value).words()];
        Table::of(name, pairs, columns)
    }

    /// Each line with the item that it was made of.
    pub(crate) fn each<T>(mut self, items: &[T], change: impl Fn(&mut Line, &T)) -> Table {
        let lines = self.lines.iter_mut().zip(items);
        lines.for_each(|(line, item)| change(line, item));
        self
    }

    pub(crate) fn marks(self, marks: &[Mark]) -> Table {
        Table {
            marks: marks.to_vec(),
            ..self
        }
    }

    pub(crate) fn note(self, words: impl Into<String>) -> Table {
        self.notes([words.into()])
    }

    pub(crate) fn notes(mut self, notes: impl IntoIterator<Item = String>) -> Table {
        self.notes.extend(notes);
        self
    }

    /// The table as a medium shows it: with its own columns, and without empty ones.
    pub(crate) fn shown_on(&self, medium: Media) -> Table {
        let cells = |place: usize| {
            let lines = self.lines.iter().map(|line| &line.cells);
            lines.chain(&self.foot).map(move |cells| &cells[place])
        };
        let says = |(place, column): &(usize, &Column)| {
            let always = column.rank == 0 && column.media == Media::ALL;
            let any = || cells(*place).any(|cell| !cell.is_empty() && cell != NONE);
            column.media.has(medium) && (always || any())
        };
        let columns = self.columns.iter().enumerate().filter(says);
        let (remaining, columns): (Vec<usize>, Vec<Column>) = columns
            .map(|(place, column)| (place, column.clone()))
            .unzip();
        let cut = |cells: &Vec<String>| -> Vec<String> {
            let those = remaining.iter().map(|place| cells[*place].clone());
            those.collect()
        };
        let line = |line: &Line| Line {
            cells: cut(&line.cells),
            ..line.clone()
        };
        Table {
            columns,
            lines: self.lines.iter().map(line).collect(),
            foot: self.foot.iter().map(cut).collect(),
            ..self.clone()
        }
    }

    /// The meanings of its columns and of the symbols in it, then its notes.
    pub(crate) fn explained(&self) -> Vec<String> {
        let columns = self.columns.iter();
        let columns = columns.filter(|column| !column.meaning.is_empty());
        let columns = columns.map(|column| format!("{}: {}", column.title(" "), column.meaning));
        let lines = self.lines.iter().map(|line| &line.cells);
        let cells: Vec<&String> = lines.chain(&self.foot).flatten().collect();
        let marks = self.marks.iter();
        let used = marks.filter(|(mark, _)| cells.iter().any(|cell| has(cell, mark)));
        let used = used.map(|(mark, words)| format!("{mark} {words}"));
        columns.chain(used).chain(self.notes.clone()).collect()
    }
}

/// Whether a cell has a symbol. A symbol with a space in it is a pair of brackets around figures, not around words.
fn has(cell: &str, mark: &str) -> bool {
    let first = mark.chars().next().unwrap_or_default();
    let mut behind = cell.split(first).skip(1);
    behind.any(|rest| !mark.contains(' ') || rest.starts_with(|it: char| it.is_ascii_digit()))
}

/// Stands where there is no figure.
pub(crate) const NONE: &str = "–";

#[derive(Debug)]
pub(crate) enum Chart {
    Lines(Lines),
    Bars(Bars),
}

/// Width of a chart that fits a telephone, in its own units.
pub(crate) const NARROW: f64 = 390.0;

/// Plots above one another that share what is across.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Its name as a file.
    pub(crate) name: String,
    /// Stands above it on a page.
    pub(crate) heading: String,
    pub(crate) title: String,
    pub(crate) across: Across,
    pub(crate) plots: Vec<Plot>,
    /// A marked horizontal position, with words.
    pub(crate) band: Option<(f64, String)>,
    /// Its content in words, for readers who cannot see it.
    pub(crate) words: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Across {
    pub(crate) title: &'static str,
    /// Where something was measured, ascending.
    pub(crate) grid: Vec<f64>,
    /// Whether a doubling is always as far.
    pub(crate) log: bool,
    /// The labels at the values of the grid; the numbers themselves if empty.
    pub(crate) labels: Vec<String>,
    /// Whether a page labels round numbers and not the values of the grid.
    pub(crate) round: bool,
}

impl Across {
    /// The label at a value.
    pub(crate) fn label(&self, value: f64) -> String {
        let place = self.grid.iter().position(|at| *at == value);
        let label = place.and_then(|place| self.labels.get(place));
        label.cloned().unwrap_or_else(|| value.to_string())
    }
}

#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) height: f64,
    /// The smallest end of its axis.
    pub(crate) most: f64,
    /// How many steps its axis has at least.
    pub(crate) ticks: usize,
    /// Whether its axis is logarithmic; the terminal's is linear all the same.
    pub(crate) log: bool,
    pub(crate) series: Vec<Series>,
}

impl Plot {
    /// The only plot of a chart, whose axis is logarithmic.
    pub(crate) fn alone(title: impl Into<String>, series: Vec<Series>) -> Plot {
        Plot {
            title: title.into(),
            height: 220.0,
            most: 0.0,
            ticks: 5,
            log: true,
            series,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) colour: Colour,
    pub(crate) stroke: Stroke,
    pub(crate) points: Vec<Point>,
    /// Measured points that are not believed.
    pub(crate) crosses: Vec<Point>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stroke {
    #[default]
    Line,
    Dashed,
    /// A bound: dashed, without points.
    Bound,
    /// Points alone.
    Marks,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The interval; the point itself where there is none.
    pub(crate) range: (f64, f64),
    pub(crate) hint: String,
}

impl Point {
    /// A point without an interval and without a hint.
    pub(crate) fn at(x: f64, y: f64) -> Point {
        Point {
            x,
            y,
            range: (y, y),
            hint: String::new(),
        }
    }
}

/// A bar, or a point with its interval, for each of several things.
#[derive(Debug, Default)]
pub(crate) struct Bars {
    pub(crate) name: String,
    pub(crate) heading: String,
    pub(crate) title: String,
    /// Above the figures.
    pub(crate) unit: String,
    /// Whether values are ratios around 1, with this band of what is called the same; else bars begin at 0.
    pub(crate) same: Option<f64>,
    pub(crate) groups: Vec<Group>,
    /// The meaning of the colours, in their order; empty if the names say it.
    pub(crate) legend: Vec<String>,
    /// The meaning of what else differs between bars and names; stands behind the legend.
    pub(crate) signs: Vec<Sign>,
    /// A value with a line through all bars, and its name.
    pub(crate) line: Option<(f64, String)>,
    pub(crate) caption: String,
}

/// How a bar or a name differs from others, and what that means.
#[derive(Debug)]
pub(crate) enum Sign {
    /// A hollow bar.
    Hollow(String),
    /// A name in bold.
    Bold(String),
    /// Letters of a name.
    Name(String),
}

/// Bars on a scale of their own.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) heading: String,
    pub(crate) bars: Vec<Bar>,
}

impl Group {
    /// Bars without a heading, which are all.
    pub(crate) fn all(bars: Vec<Bar>) -> Vec<Group> {
        let heading = String::new();
        vec![Group { heading, bars }]
    }
}

#[derive(Debug, Default)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) range: (f64, f64),
    /// The text behind it.
    pub(crate) label: String,
    pub(crate) colour: Colour,
    pub(crate) hollow: bool,
    /// Whether it is one of ours.
    pub(crate) ours: bool,
    /// Where it was predicted to end.
    pub(crate) predicted: Option<f64>,
    pub(crate) language: Option<String>,
}
