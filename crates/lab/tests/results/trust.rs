//! A page's reasons to trust or to doubt its figures: noise, headroom, the server's load, and its view.

use hecaton_lab::findings::{Headroom, trust};
use hecaton_lab::report;
use hecaton_lab::run::Noise;
use hecaton_test_server::{Delay, Times};

use crate::shootout::shootout;
use crate::synthetic::{delayed, judge};

#[test]
fn who_disturbed_the_rounds_is_said_on_the_page() {
    let share = |taken: bool| if taken { 1 } else { 0 };
    for (programs, host, said) in [
        (false, false, "no noise from other programs"),
        (
            true,
            false,
            "NOISY: other programs ran in 33\u{a0}% of the rounds; end them",
        ),
        (
            false,
            true,
            "NOISY: the machine's host took time from 33\u{a0}% of the rounds; run it again",
        ),
        (
            true,
            true,
            "NOISY: 33\u{a0}% of the rounds were disturbed, 33\u{a0}% by other programs and 33\u{a0}% by the machine's host",
        ),
    ] {
        let mut run = shootout(&[
            ("net-http", 1000.0),
            ("client-00", 2000.0),
            ("baseline-loader", 2300.0),
        ]);
        for round in &mut run.rounds {
            let taken = if round.block % 3 == 0 {
                round.wall_ns
            } else {
                0
            };
            round.noise = Some(Noise {
                foreign_ns: taken * share(programs),
                stolen_ns: taken * share(host),
            });
        }
        let page = report::view(&run, &judge(&run.rounds, &Delay::None)).html();
        assert!(page.contains(said), "{said}: {page}");
        assert!(
            page.contains("the baseline loader is 1.15× as fast as the fastest client"),
            "the baseline loader"
        );
    }
}

#[test]
fn what_the_server_had_to_do_is_said_beside_the_baseline_loader() {
    let page = |busy: f64, late_us: u64| {
        let mut run = shootout(&[("net-http", 1000.0), ("baseline-loader", 3000.0)]);
        for round in &mut run.rounds {
            let seen = round.seen.as_mut().unwrap();
            seen.cpu_ns = (round.wall_ns as f64 * busy) as u64;
            seen.lateness_p99_us = late_us;
        }
        report::view(&run, &judge(&run.rounds, &Delay::None)).html()
    };
    let fine = page(0.41, 250);
    for words in [
        "server busy 41\u{a0}% of a core<",
        "99\u{a0}% of its responses at most 0.25 ms late<",
    ] {
        assert!(fine.contains(words), "{words}");
    }
    let tight = page(0.95, 4_000);
    assert!(tight.contains("95\u{a0}% of a core: it is the limit"));
    assert!(tight.contains("4.00 ms late: part of the latencies is the server's"));
    let alone = shootout(&[("net-http", 1000.0)]);
    let page_without = report::view(&alone, &judge(&alone.rounds, &Delay::None)).html();
    assert!(page_without.contains("the baseline loader was not measured beside the clients"));
    let unknown = page(0.0, 0);
    assert!(
        !unknown.contains("server busy"),
        "a clock that stands still knows nothing"
    );
}

#[test]
fn the_truth_table_distinguishes_time_outs_from_other_failures() {
    let mut run = shootout(&[("net-http", 1000.0), ("curb", 2000.0)]);
    for round in run
        .rounds
        .iter_mut()
        .filter(|round| round.cell.client == "curb")
    {
        let kinds = [("Curl::Err::TimeoutError", 2), ("ECONNRESET", 1)];
        round.claim.errors_by = kinds.map(|(kind, n)| (kind.to_owned(), n)).into();
        round.claim.errors = 3;
        round.claim.done -= 3;
    }
    let page = report::view(&run, &judge(&run.rounds, &Delay::None)).html();
    let (_, table) = page.split_once("What the server saw</h2>").unwrap();
    let row = table
        .split("<tr")
        .find(|row| row.contains(">curb<"))
        .unwrap();
    assert!(row.contains("<td>36</td><td>24</td>"), "{row}");
    // On telephones the style sheet shows these names before the figures, in folded tables too.
    let names = "--h6:&quot;failed, it says&quot;;--h7:&quot;timed out, it says&quot;;";
    assert_eq!(table.matches(names).count(), 2, "{table}");
    assert!(row.contains(">rejected<"), "{row}");
}

#[test]
fn the_headroom_is_that_of_the_fastest_and_none_is_claimed_where_waiting_is_the_limit() {
    let room = |speeds: &[(&str, f64)], delay: Delay| {
        let mut run = shootout(speeds);
        run.plan.delay = delay;
        run.rounds = delayed(&run.rounds, &delay);
        for round in &mut run.rounds {
            round.claim.latencies_us = Times::new(); // they would refute a speed that is made up
        }
        let findings = judge(&run.rounds, &delay);
        trust(&run, &findings).headroom
    };
    let loader = |times: f64| {
        [
            ("net-http", 1000.0),
            ("client-00", 500.0),
            ("baseline-loader", 1000.0 * times),
        ]
    };
    let Some(Headroom::Times(some)) = room(&loader(1.6), Delay::None) else {
        panic!("a faster loader leaves room")
    };
    assert!((some - 1.6).abs() < 0.05, "{some}");
    let slow = Delay::Fixed(std::time::Duration::from_millis(1));
    let Some(Headroom::Times(other)) = room(&loader(1.6), slow) else {
        panic!("the slower client does not wait for the test server")
    };
    assert!((other - 3.2).abs() < 0.1, "{other}");
    let all_wait = [("net-http", 1000.0), ("baseline-loader", 1001.0)];
    assert_eq!(room(&all_wait, slow), Some(Headroom::Waiting));
    assert_eq!(room(&[("net-http", 1000.0)], Delay::None), None);
}

#[test]
fn what_is_to_be_known_of_ranked_rows_is_said_beside_them() {
    let mut run = shootout(&[
        ("net-http", 1000.0),
        ("client-00", 2000.0),
        ("baseline-loader", 9000.0),
    ]);
    for round in &mut run.rounds {
        let own = round.cell.client == "client-00";
        let seen = round.seen.as_mut().unwrap();
        seen.stray = if own { 2 } else { 0 };
        seen.cpu_ns = round.wall_ns / 10;
        seen.lateness_p99_us = if own { 2_000 } else { 10 };
        let stolen_ns = if own { round.wall_ns / 4 } else { 0 };
        round.noise = Some(Noise {
            foreign_ns: 0,
            stolen_ns,
        });
    }
    let style = report::Style {
        width: 100,
        color: false,
        unicode: true,
    };
    let findings = judge(&run.rounds, &Delay::None);
    let view = report::view(&run, &findings);
    for text in [view.terminal(&style), view.markdown(), view.html()] {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((_, warnings)) = flat.split_once("Ranked, with a warning") else {
            panic!("no warnings in {flat}")
        };
        for words in [
            "client-00, 16,384-byte bodies, concurrency 1",
            "ran in 100",
            "were 2.00 ms late or more",
        ] {
            assert!(warnings.contains(words), "{words} is missing in {warnings}");
        }
        assert!(!warnings.contains("net-http, 16,384"), "{warnings}");
    }
    // A warning is no reason to reject, and does not look like one.
    let page = view.html();
    let (_, warnings) = page.split_once("Ranked, with a warning").unwrap();
    let list = warnings.split_once("<ul class=\"").unwrap().1;
    assert!(list.starts_with("items\""), "{}", &list[..40]);
}
