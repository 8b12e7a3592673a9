//! The page of a shootout: the verdict, the bars, what the ledger saw, every figure, and how to measure it again.

use super::bars::bars;
use super::entries::{
    COLUMNS, Column, LEDGERS, TUNED_WORDS, any_letters, is_tuned, job, name, ratio_words, reason,
    reference_words, verdict,
};
use super::page::{cell, facts, head, table, whole};
use super::svg::escape;
use super::truths::{Witnessed, truths};
use crate::findings::{Entry, Findings, Ranking, SAME_ISH, trust};
use crate::ledger::Document;

/// The whole page.
pub(super) fn html(run: &Document, findings: &Findings, ranking: &Ranking) -> String {
    let job = format!("{}, closed loop, {}", job(run), run.environment.date);
    let mut page = head(run, "shootout", "Which client is the fastest?", &job);
    page += &verdicts(run, ranking);
    let mut trust = trust(run, findings);
    // One that broke on the way has rows that agree, and is not ranked.
    trust.rejected = ranking.rejected.len();
    page += &facts(run, &trust);
    page += &chart(run, ranking);
    page += &seen(run, ranking);
    page += &figures(run, ranking);
    page += &not_ranked(run, ranking);
    page += &how_to_read(run);
    whole(page, run, findings)
}

fn verdicts(run: &Document, ranking: &Ranking) -> String {
    let sentences = verdict(run, ranking);
    let items = sentences.iter().enumerate().map(|(place, sentence)| {
        let class = if place == 0 { " class=\"c0\"" } else { "" };
        format!("<li{class}>{}</li>", escape(sentence))
    });
    let items: String = items.collect();
    format!("<ul class=\"verdicts\">{items}</ul>")
}

fn chart(run: &Document, ranking: &Ranking) -> String {
    if ranking.ranked.is_empty() {
        return String::new();
    }
    let mut notes =
        vec!["Median of the rounds; the line at a bar's end is its interval.".to_owned()];
    notes.extend(ratio_words(ranking).map(|words| words + "."));
    if any_letters(ranking) {
        notes.push("Clients that share a letter cannot be told apart.".into());
    }
    if ranking.ranked.iter().any(|entry| is_tuned(run, entry)) {
        notes.push(format!(
            "Hollow bars: {}.",
            TUNED_WORDS.trim_start_matches("* ")
        ));
    }
    format!(
        "<section><h2>Requests per second</h2><figure>{}{}<figcaption>{}</figcaption></figure></section>",
        bars(run, ranking, true),
        bars(run, ranking, false),
        escape(&notes.join(" "))
    )
}

/// What the origin's ledger saw of every client, the rejected included.
fn seen(run: &Document, ranking: &Ranking) -> String {
    let all = ranking
        .ranked
        .iter()
        .chain(&ranking.rejected)
        .chain(&ranking.outside);
    let lines: Vec<Witnessed> = all
        .map(|entry| Witnessed::of(name(run, entry), run, [&entry.row]))
        .collect();
    truths("client", &lines)
}

fn figures(run: &Document, ranking: &Ranking) -> String {
    let columns = &COLUMNS[..COLUMNS.len() - LEDGERS];
    let mut heads = cell("th", "word", "client");
    heads += &columns.iter().map(column_head).collect::<String>();
    let all = ranking
        .ranked
        .iter()
        .chain(&ranking.outside)
        .chain(&ranking.rejected);
    let rows: String = all
        .map(|entry| {
            let mut cells = cell("td", "word", &name(run, entry));
            cells += &columns
                .iter()
                .map(|column| cell("td", "", &(column.value)(entry)))
                .collect::<String>();
            let class = if entry.row.rejected.is_some() && !entry.reference {
                "no"
            } else {
                ""
            };
            format!("<tr class=\"{class}\">{cells}</tr>")
        })
        .collect();
    format!(
        "<section><h2>All figures</h2><p>Seconds are of all rounds together: of the processor in the client and in the \
         kernel, and of the clock. First and boot are of a new process, the median of its launches. {}</p>{}</section>",
        escape(&reference_words(ranking).map_or_else(String::new, |words| words + ".")),
        table("All figures", &heads, &rows)
    )
}

fn column_head(column: &Column) -> String {
    let title = column.title();
    let lines: Vec<String> = title.split('\n').map(escape).collect();
    format!("<th scope=\"col\">{}</th>", lines.join("<br>"))
}

/// The rejected and the missing, each with its reason.
fn not_ranked(run: &Document, ranking: &Ranking) -> String {
    let mut section = String::new();
    if !ranking.rejected.is_empty() {
        let item = |entry: &Entry| {
            let (name, reason) = (escape(&entry.row.client), escape(&reason(run, entry)));
            format!("<li><b>{name}</b>: {reason}</li>")
        };
        let items: String = ranking.rejected.iter().map(item).collect();
        section += &format!(
            "<section><h2>Rejected</h2><p>Shown, never ranked.</p><ul class=\"rejected\">{items}</ul></section>"
        );
    }
    if !run.left_out.is_empty() {
        let items: String = run
            .left_out
            .iter()
            .map(|why| format!("<li>{}</li>", escape(why)))
            .collect();
        section +=
            &format!("<section><h2>Left out</h2><ul class=\"rejected\">{items}</ul></section>");
    }
    section
}

fn how_to_read(run: &Document) -> String {
    let baseline = run.plan.baseline.as_deref().unwrap_or_default();
    format!(
        "<section><h2>How to read this</h2><p>Every client does the same job, on one core, against the same server on another. \
         Rounds of all clients are interleaved in random order; ratios are to {} and compare rounds of the same block \
         (Hodges–Lehmann on log-ratios, Wilcoxon signed-rank interval of at least 95 % from 6 rounds on). Differences within \
         {:.0} % are not called. Clients that share a letter cannot be told apart; all that letters say errs in at most 5 % of runs. Latencies are of a \
         closed loop: a request waits for nobody before it is sent. The ceiling is the lab's raw loader, which parses nothing. \
         Parsing JSON is part of the job and done by the usual parser of each language, so across languages it is compared too. \
         A row is rejected when the client's claim and the origin's ledger disagree.</p></section>",
        escape(baseline),
        SAME_ISH * 100.0
    )
}
