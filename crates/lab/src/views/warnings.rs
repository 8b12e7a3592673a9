//! Warnings about ranked rows: those of the rules, processes that were still warming up, and noise.

use super::common::in_flight_words;
use super::form::{Block, Media, Section};
use crate::findings::words::{listed, percent, plural};
use crate::findings::{NOISY_RUN, Row, Tone, load, noisy_row};
use crate::ledger::Document;

/// The most warnings, and the most rows of one warning, that a terminal shows; the page has all.
const SHORT: usize = 6;

/// A list of warnings, each with the rows that it is about; nothing where there is nothing to say.
pub(super) fn warnings<'a>(run: &Document, rows: impl Iterator<Item = &'a Row>) -> Vec<Section> {
    let ranked: Vec<&Row> = rows
        .filter(|row| row.rejected.is_none() && !row.is_baseline_loader())
        .collect();
    let mut about = together(&ranked);
    about.extend(noise(run, &ranked));
    if about.is_empty() {
        return Vec::new();
    }
    let items = |most: usize| {
        let item = |(words, rows): &(String, Vec<&Row>)| {
            [named(rows, ranked.len(), most), format!("{words}.")]
        };
        let shown = about.iter().take(most).map(item);
        shown.chain(rest(about.len(), most)).collect()
    };
    let title = "Ranked, with a warning";
    vec![
        Section::new(
            title,
            Media::TEXT,
            vec![Block::List(Tone::Plain, items(SHORT))],
        ),
        Section::new(
            title,
            Media::PAGE,
            vec![Block::List(Tone::Plain, items(usize::MAX))],
        )
        .folded(),
    ]
}

/// The warnings with their rows. Warnings that differ in figures alone are one warning, with the range of each figure.
fn together<'a>(ranked: &[&'a Row]) -> Vec<(String, Vec<&'a Row>)> {
    let mut about: Vec<(Vec<String>, Vec<&Row>)> = Vec::new();
    for row in ranked {
        for words in of_row(row) {
            let alike = |(known, _): &&mut (Vec<String>, _)| shape(&known[0]) == shape(&words);
            match about.iter_mut().find(alike) {
                Some((known, rows)) => {
                    known.push(words);
                    rows.push(*row);
                }
                None => about.push((vec![words], vec![*row])),
            }
        }
    }
    let one = |(words, rows): (Vec<String>, _)| (with_ranges(&words), rows);
    about.into_iter().map(one).collect()
}

/// The figures in a sentence and the words around them: one more of the words.
fn parts(sentence: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut words, mut figures) = (Vec::new(), Vec::new());
    let mut rest = sentence;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let behind = &rest[start..];
        let end = behind.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
        let figure = behind[..end.unwrap_or(behind.len())].trim_end_matches(['.', ',']);
        words.push(&rest[..start]);
        figures.push(figure);
        rest = &behind[figure.len()..];
    }
    words.push(rest);
    (words, figures)
}

/// The words of a sentence without its figures.
fn shape(sentence: &str) -> Vec<&str> {
    parts(sentence).0
}

/// Sentences of the same shape as one, in which a figure that differs is a range.
fn with_ranges(sentences: &[String]) -> String {
    let all: Vec<Vec<&str>> = sentences.iter().map(|it| parts(it).1).collect();
    let value = |figure: &&str| figure.replace(',', "").parse::<f64>().unwrap_or_default();
    let range = |place: usize| {
        let mut figures: Vec<&str> = all.iter().map(|figures| figures[place]).collect();
        figures.sort_by(|a, b| value(a).total_cmp(&value(b)));
        match (figures[0], figures[figures.len() - 1]) {
            (least, most) if least == most => least.to_owned(),
            (least, most) => format!("{least} to {most}"),
        }
    };
    let words = shape(&sentences[0]);
    let mut sentence = words[0].to_owned();
    for (place, words) in words[1..].iter().enumerate() {
        sentence += &range(place);
        sentence += words;
    }
    sentence
}

/// Which rows a warning is about.
fn named(rows: &[&Row], all: usize, most: usize) -> String {
    if let [row] = rows {
        return format!("{}, {}", row.client, load(row, true));
    }
    if rows.len() == all {
        return format!("all {all} rows");
    }
    let mut names = names(rows);
    let more = names.len().saturating_sub(most);
    names.truncate(most);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    format!("{} of {all} rows ({})", rows.len(), names.join("; "))
}

/// Rows by name: the clients that differ in nothing else, with all their concurrencies.
fn names(rows: &[&Row]) -> Vec<String> {
    let mut clients: Vec<(&str, String, Vec<usize>)> = Vec::new();
    for row in rows {
        let others = without_concurrency(row);
        let concurrency = row.load.concurrency;
        let own = |it: &&mut (&str, String, _)| it.0 == row.client && it.1 == others;
        match clients.iter_mut().find(own) {
            Some((.., known)) if known.contains(&concurrency) => {}
            Some((.., known)) => known.push(concurrency),
            None => clients.push((&row.client, others, vec![concurrency])),
        }
    }
    let mut loads: Vec<(String, Vec<&str>)> = Vec::new();
    for (client, others, mut concurrencies) in clients {
        concurrencies.sort_unstable();
        let load = format!("{}, {others}", in_flight_words(&concurrencies));
        match loads.iter_mut().find(|(known, _)| *known == load) {
            Some((_, clients)) => clients.push(client),
            None => loads.push((load, vec![client])),
        }
    }
    let said = |(load, clients): (String, Vec<&str>)| format!("{} with {load}", listed(&clients));
    loads.into_iter().map(said).collect()
}

/// The load of a row in words, but for how many requests are in flight.
fn without_concurrency(row: &Row) -> String {
    let concurrency = format!("concurrency {}", row.load.concurrency);
    let words = load(row, true);
    let others = words.split(", ").filter(|words| *words != concurrency);
    others.collect::<Vec<_>>().join(", ")
}

/// How many more warnings there are than are shown.
fn rest(all: usize, shown: usize) -> Option<[String; 2]> {
    let more = all.checked_sub(shown).filter(|more| *more > 0)? as u64;
    let verb = if more == 1 { "is" } else { "are" };
    let words = format!("{} {verb} in report.html.", plural(more, "more warning"));
    Some([String::new(), words])
}

/// The warnings about one row, except noise.
fn of_row(row: &Row) -> Vec<String> {
    let mut words = row.warnings.clone();
    if row.warming.is_some() {
        words.push("processes were still warming up".into());
    }
    if let Some(server) = &row.server {
        words.extend(server.lateness());
    }
    words
}

/// One warning for all rows whose rounds others disturbed: most of them are so together.
fn noise<'a>(run: &Document, ranked: &[&'a Row]) -> Option<(String, Vec<&'a Row>)> {
    let noisy = ranked.iter().filter_map(|row| {
        let share = noisy_row(&run.rounds, &row.cell(), run.environment.cores)?;
        (share > NOISY_RUN).then_some((*row, share))
    });
    let (rows, shares): (Vec<&Row>, Vec<f64>) = noisy.unzip();
    let least = shares.iter().copied().fold(1.0, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    let share = match percent(least) == percent(most) {
        true => percent(most),
        false => format!("{:.0} to {}", least * 100.0, percent(most)),
    };
    let whose = if rows.len() == 1 { "its" } else { "their" };
    let words = format!("other programs, or the machine's host, ran in {share} of {whose} rounds");
    (!rows.is_empty()).then_some((words, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_differ_in_figures_alone_are_one() {
        let all = [
            "1 % of its 1,903 responses were 1.05 ms late.",
            "1 % of its 20 responses were 2.50 ms late.",
        ]
        .map(str::to_owned);
        assert_eq!(shape(&all[0]), shape(&all[1]));
        assert_ne!(
            shape(&all[0]),
            shape("1 % of its responses were 1.05 ms late.")
        );
        assert_eq!(
            with_ranges(&all),
            "1 % of its 20 to 1,903 responses were 1.05 to 2.50 ms late."
        );
        assert_eq!(with_ranges(&all[..1]), all[0]);
    }
}
