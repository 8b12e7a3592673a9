//! Two runs of the same question next to each other: what was, what is, and how sure the difference is.

use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::style::Style;
use super::terminal::{ascii_lines, unicode_lines};
use crate::findings::stats::Estimate;
use crate::findings::words::{figure, interval, times};
use crate::findings::{Change, SAME_ISH};

/// A table of all changes, as text with a line break at the end. `names` are those of the older and the newer run.
pub fn side_by_side(changes: &[Change], names: [&str; 2], style: &Style) -> String {
    if changes.is_empty() {
        return style.plain(format!(
            "{} and {} have no client, body and concurrency in common.\n",
            names[0], names[1]
        ));
    }
    let mut table = Table::new();
    table.load_style(if style.unicode {
        unicode_lines()
    } else {
        ascii_lines()
    });
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "client",
        "body",
        "concur-\nrency",
        "requests/s\nbefore",
        "requests/s\nafter",
        "change",
        "",
    ]);
    for change in changes {
        table.add_row(cells(change));
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let head = format!("before: {}\nafter:  {}\n\n", names[0], names[1]);
    let foot = match changes.iter().all(|change| change.against_ceiling) {
        true => {
            "Changes are those of the share of each run's own ceiling: what the machine itself changed is left out."
        }
        false => "Without a ceiling in both runs, a change may also be the machine's.",
    };
    style.plain(format!("{head}{table}\n{foot}\n"))
}

fn cells(change: &Change) -> [String; 7] {
    let Change {
        old, new, ratio, ..
    } = change;
    let (ratio, word) = match ratio {
        Some(ratio) => (
            format!("{} {}", times(ratio.value), interval(ratio)),
            word(ratio),
        ),
        None => ("–".to_owned(), "rejected"),
    };
    [
        new.client.clone(),
        new.body_bytes.to_string(),
        new.concurrency.to_string(),
        figure(old.requests_per_second),
        figure(new.requests_per_second),
        ratio,
        word.to_owned(),
    ]
}

fn word(ratio: &Estimate) -> &'static str {
    if ratio.low > 1.0 + SAME_ISH {
        "faster"
    } else if ratio.high < 1.0 - SAME_ISH {
        "slower"
    } else if (ratio.value - 1.0).abs() <= SAME_ISH {
        "same-ish"
    } else {
        "not clear"
    }
}
