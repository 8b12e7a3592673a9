//! The one form between findings and media: a view is sections, a section is blocks, and each medium draws every block.

use serde_json::Value;

use crate::findings::Fact;

/// Where a part of a view is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Media(u8);

impl Media {
    pub(super) const TERMINAL: Media = Media(1);
    pub(super) const MARKDOWN: Media = Media(2);
    pub(super) const PAGE: Media = Media(4);
    /// The terminal and Markdown.
    pub(super) const TEXT: Media = Media(3);
    /// Markdown and the page, which begin with what was found; a terminal ends with it.
    pub(super) const PAPER: Media = Media(6);
    pub(super) const ALL: Media = Media(7);

    pub(super) fn has(self, medium: Media) -> bool {
        self.0 & medium.0 != 0
    }
}

/// Everything that is shown of a run, of a benchmark, or of runs side by side.
#[derive(Debug, Default)]
pub struct View {
    /// What kind of run it is, in a word.
    pub(super) kind: &'static str,
    /// What the page answers.
    pub(super) question: &'static str,
    /// What was done, in a line.
    pub(super) job: String,
    /// The command that was given; none where there are several.
    pub(super) command: Option<String>,
    pub(super) date: String,
    /// What speaks for the figures and what against.
    pub(super) facts: Vec<Fact>,
    pub(super) sections: Vec<Section>,
    /// A line of CSV each.
    pub(super) records: Vec<Value>,
    /// Written in place of the records where a kind of run has CSV of its own.
    pub(super) csv: Option<String>,
    /// What the page embeds: the richest that fits, each with words that say what it leaves out.
    pub(super) data: Vec<(Value, &'static str)>,
}

#[derive(Debug)]
pub(super) struct Section {
    /// None when empty.
    pub(super) title: String,
    pub(super) media: Media,
    /// Whether the page shows it only when it is asked for.
    pub(super) folded: bool,
    pub(super) blocks: Vec<Block>,
}

impl Section {
    pub(super) fn new(title: impl Into<String>, media: Media, blocks: Vec<Block>) -> Section {
        Section {
            title: title.into(),
            media,
            folded: false,
            blocks,
        }
    }

    pub(super) fn folded(self) -> Section {
        Section {
            folded: true,
            ..self
        }
    }
}

#[derive(Debug)]
pub(super) enum Block {
    Verdicts(Vec<Verdict>),
    Table(Table),
    Charts(Vec<Chart>),
    /// What each item is about, and a sentence on it.
    List(Vec<[String; 2]>),
    Note(String),
    Code(String),
}

/// A sentence of what was found.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// Whose it is; the sentence goes on behind the name. Empty when it is nobody's.
    pub(super) subject: String,
    pub(super) words: String,
    pub(super) colour: Colour,
}

impl Verdict {
    pub(super) fn list(sentences: &[String]) -> Block {
        let verdict = |(place, words): (usize, &String)| Verdict {
            subject: String::new(),
            words: words.clone(),
            colour: if place == 0 {
                Colour::Of(0)
            } else {
                Colour::None
            },
        };
        Block::Verdicts(sentences.iter().enumerate().map(verdict).collect())
    }
}

/// One of the colours that are told apart, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Colour {
    Of(usize),
    /// That of the raw loader and of what neither gained nor lost.
    Grey,
    #[default]
    None,
}

impl Colour {
    /// How many there are before they begin again.
    pub(super) const ALL: usize = 6;

    pub(super) fn class(self) -> String {
        match self {
            Colour::Of(place) => format!("c{}", place % Colour::ALL),
            Colour::Grey => "ceil".into(),
            Colour::None => String::new(),
        }
    }

    pub(super) fn place(self) -> usize {
        match self {
            Colour::Of(place) => place,
            _ => 0,
        }
    }
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    pub(super) lines: Vec<Line>,
    /// Stands below the lines, however they are sorted.
    pub(super) foot: Vec<Vec<String>>,
    /// What a mark means; said only where it stands in the table.
    pub(super) marks: Vec<(&'static str, String)>,
    pub(super) notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Column {
    /// In up to two lines; the first ends in a hyphen when both are one word.
    pub(super) title: String,
    /// Whether it holds words; else it holds figures.
    pub(super) words: bool,
    /// Those with a higher number are left out first where there is no room; 0 stays.
    pub(super) rank: u8,
    /// When intervals behind its figures are left out, in the same order; 0 is never.
    pub(super) interval_rank: u8,
    pub(super) media: Media,
}

impl Column {
    /// The title with this between its lines, or as one word.
    pub(super) fn title(&self, between: &str) -> String {
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
pub(super) struct Line {
    pub(super) cells: Vec<String>,
    pub(super) look: Look,
    /// What a reader may filter by.
    pub(super) language: Option<String>,
    /// Whether it begins something new.
    pub(super) apart: bool,
    /// Whether its first cell is that of the line before; a terminal does not repeat it.
    pub(super) goes_on: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Look {
    #[default]
    Plain,
    Recommended,
    Rejected,
}

/// A column, and how an item fills it.
pub(super) struct Shown<'a, T> {
    column: Column,
    value: Box<dyn Fn(&T) -> String + 'a>,
}

/// A column of figures.
pub(super) fn col<'a, T>(title: &str, rank: u8, value: impl Fn(&T) -> String + 'a) -> Shown<'a, T> {
    Shown {
        column: Column {
            title: title.into(),
            words: false,
            rank,
            interval_rank: 0,
            media: Media::ALL,
        },
        value: Box::new(value),
    }
}

impl<T> Shown<'_, T> {
    pub(super) fn words(mut self) -> Self {
        self.column.words = true;
        self
    }

    pub(super) fn on(mut self, media: Media) -> Self {
        self.column.media = media;
        self
    }

    pub(super) fn rank(mut self, rank: u8) -> Self {
        self.column.rank = rank;
        self
    }

    pub(super) fn title(&self) -> &str {
        &self.column.title
    }

    pub(super) fn intervals(mut self, rank: u8) -> Self {
        self.column.interval_rank = rank;
        self
    }
}

impl Table {
    /// A line for each item.
    pub(super) fn of<T>(name: &str, items: &[T], columns: Vec<Shown<T>>) -> Table {
        let line = |item: &T| Line {
            cells: columns.iter().map(|shown| (shown.value)(item)).collect(),
            ..Line::default()
        };
        Table {
            name: name.into(),
            lines: items.iter().map(line).collect(),
            columns: columns.into_iter().map(|shown| shown.column).collect(),
            foot: Vec::new(),
            marks: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Keys and values.
    pub(super) fn pairs(name: &str, pairs: &[(String, String)]) -> Table {
        let key = |pair: &(String, String)| pair.0.clone();
        let value = |pair: &(String, String)| pair.1.clone();
        let columns = vec![col("", 0, key).words(), col("", 0, value).words()];
        Table::of(name, pairs, columns)
    }

    /// Each line with the item that it was made of.
    pub(super) fn each<T>(mut self, items: &[T], change: impl Fn(&mut Line, &T)) -> Table {
        let lines = self.lines.iter_mut().zip(items);
        lines.for_each(|(line, item)| change(line, item));
        self
    }

    pub(super) fn marks(mut self, mark: &'static str, words: impl Into<String>) -> Table {
        self.marks.push((mark, words.into()));
        self
    }

    pub(super) fn note(mut self, words: impl Into<String>) -> Table {
        self.notes.push(words.into());
        self
    }

    /// What a medium shows of it: its own columns, and no column that says nothing.
    pub(super) fn shown_on(&self, medium: Media) -> Table {
        let cells = |place: usize| {
            let lines = self.lines.iter().map(|line| &line.cells);
            lines.chain(&self.foot).map(move |cells| &cells[place])
        };
        let says = |place: &usize| {
            let column = &self.columns[*place];
            column.media.has(medium)
                && (column.rank == 0 && column.media == Media::ALL
                    || cells(*place).any(|cell| !cell.is_empty() && cell != NONE))
        };
        let kept: Vec<usize> = (0..self.columns.len()).filter(says).collect();
        let cut = |cells: &[String]| kept.iter().map(|place| cells[*place].clone()).collect();
        Table {
            name: self.name.clone(),
            columns: kept
                .iter()
                .map(|place| self.columns[*place].clone())
                .collect(),
            lines: self
                .lines
                .iter()
                .map(|line| Line {
                    cells: cut(&line.cells),
                    ..line.clone()
                })
                .collect(),
            foot: self.foot.iter().map(|cells| cut(cells)).collect(),
            marks: self.marks.clone(),
            notes: self.notes.clone(),
        }
    }

    /// What the marks that stand in it mean, then its notes.
    pub(super) fn explained(&self) -> Vec<String> {
        let cells = || {
            self.lines
                .iter()
                .flat_map(|line| &line.cells)
                .chain(self.foot.iter().flatten())
        };
        let first = |mark: &str| mark.chars().next().unwrap_or_default();
        let used = self
            .marks
            .iter()
            .filter(|(mark, _)| cells().any(|cell| cell.contains(first(mark))));
        used.map(|(mark, words)| format!("{mark} {words}"))
            .chain(self.notes.clone())
            .collect()
    }
}

/// Stands where there is no figure.
pub(super) const NONE: &str = "–";

#[derive(Debug)]
pub(super) enum Chart {
    Lines(Lines),
    Bars(Bars),
}

/// Plots above one another that share what is across.
#[derive(Debug)]
pub(super) struct Lines {
    /// Its name as a file.
    pub(super) name: String,
    /// Stands above it on a page.
    pub(super) heading: String,
    pub(super) title: String,
    pub(super) width: f64,
    pub(super) across: Across,
    pub(super) plots: Vec<Plot>,
    /// A place across that is marked, with words.
    pub(super) band: Option<(f64, String)>,
    /// What it says, for those who do not see it.
    pub(super) words: String,
}

#[derive(Clone, Debug)]
pub(super) struct Across {
    pub(super) title: &'static str,
    /// Where something was measured, ascending.
    pub(super) grid: Vec<f64>,
    /// Whether a doubling is always as far.
    pub(super) log: bool,
}

#[derive(Debug)]
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) height: f64,
    /// What its axis reaches at least.
    pub(super) most: f64,
    /// How many steps its axis has at least.
    pub(super) ticks: usize,
    pub(super) series: Vec<Series>,
}

#[derive(Debug, Default)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) colour: Colour,
    pub(super) stroke: Stroke,
    pub(super) points: Vec<Point>,
    /// What was measured and is not believed.
    pub(super) crosses: Vec<Point>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stroke {
    #[default]
    Line,
    Dashed,
    /// A bound: dashed, without marks.
    Bound,
    /// Marks alone.
    Marks,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    /// The interval; the point itself where there is none.
    pub(super) range: (f64, f64),
    pub(super) hint: String,
}

/// A bar, or a mark with its interval, for each of several things.
#[derive(Debug, Default)]
pub(super) struct Bars {
    pub(super) name: String,
    pub(super) heading: String,
    pub(super) title: String,
    /// Above the figures.
    pub(super) unit: String,
    /// Whether values are ratios around 1, with this band of what is called the same; else bars begin at 0.
    pub(super) same: Option<f64>,
    pub(super) groups: Vec<Group>,
    /// What colours mean, in their order; none where the names say it.
    pub(super) legend: Vec<String>,
    /// A value with a line through all bars, and its name.
    pub(super) line: Option<(f64, String)>,
    pub(super) caption: String,
}

/// Bars on a scale of their own.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) heading: String,
    pub(super) bars: Vec<Bar>,
}

#[derive(Debug, Default)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) range: (f64, f64),
    /// What stands behind it.
    pub(super) label: String,
    pub(super) colour: Colour,
    pub(super) hollow: bool,
    /// Whether it is one of ours.
    pub(super) ours: bool,
    /// Where it was predicted to end.
    pub(super) predicted: Option<f64>,
    pub(super) language: Option<String>,
}
