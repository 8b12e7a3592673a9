//! Hostile bodies that all threads of a job search at once: what is allocated beside the bodies has a limit. Bytes are
//! counted and not the process's pages, so the load of the machine changes nothing.

use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;

use hecaton_fetch::expression::pointer;
use hecaton_fetch::take::{Alone, LARGE, Take, take_all};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const THREADS: usize = 4;

/// Until it is dropped, no other test allocates: each test waits for it before anything else, since the bytes of the
/// whole process are counted. A test that failed does not fail the others.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most bytes that are allocated while each thread takes a value from a body of its own.
fn most(takes: &[&str], body: &[u8], content_type: &str) -> usize {
    let takes: Vec<Take> = takes
        .iter()
        .map(|take| Take::parse(take).expect("a take"))
        .collect();
    let bodies = vec![body.to_vec(); THREADS];
    let together = Barrier::new(THREADS);
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    thread::scope(|scope| {
        for body in &bodies {
            scope.spawn(|| {
                together.wait();
                let _alone = (body.len() > LARGE).then(Alone::wait);
                drop(take_all(&takes, body, Some(content_type)));
            });
        }
    });
    let peak = ALLOCATED.peak_usage() - before;
    println!(
        "{takes:?}: {peak} bytes",
        takes = takes.iter().map(Take::name).collect::<Vec<_>>()
    );
    peak
}

/// So many bytes of the same text.
fn repeated(text: &str, length: usize) -> String {
    text.repeat(length / text.len())
}

#[test]
fn trees_of_many_elements_have_a_limit() {
    let _alone = alone();
    // By its length it is a small body, of which each thread may search one at once.
    let page = repeated("<p><p>", LARGE - 1000);
    let peak = most(&["next=css:a.next@href"], page.as_bytes(), "text/html");
    assert!(peak < 200_000_000, "{peak} bytes");
}

#[test]
fn elements_that_a_parser_repeats_with_their_attributes_have_a_limit() {
    let _alone = alone();
    let attributes: String = (0..200).map(|n| format!(" a{n}")).collect();
    let classes: String = (0..500).map(|n| format!("c{n} ")).collect();
    for start in [format!("<b{attributes}>"), format!("<b class='{classes}'>")] {
        // An element that its paragraph leaves open begins again in each later one (WHATWG HTML, 13.2.4.3).
        let page = format!("<p>{start}{}", "<p>x".repeat(25_000));
        let peak = most(&["next=css:.next"], page.as_bytes(), "text/html");
        assert!(peak < 200_000_000, "{peak} bytes");
    }
}

#[test]
fn texts_of_elements_within_elements_have_a_limit() {
    let _alone = alone();
    let page = format!("{}{}", "<div>".repeat(500), repeated("x ", LARGE / 4));
    let peak = most(&["all[]=css:div"], page.as_bytes(), "text/html");
    assert!(peak < 200_000_000, "{peak} bytes");
}

#[test]
fn texts_that_are_not_in_utf_8_have_a_limit() {
    let _alone = alone();
    let body = vec![0x80; 40 << 20];
    let peak = most(
        &["id=re:sku-(\\d+)"],
        &body,
        "text/html; charset=windows-1252",
    );
    assert!(peak < 100_000_000, "{peak} bytes");
}

#[test]
fn names_in_json_are_not_copied() {
    let _alone = alone();
    let body = format!("{{\"{}\":1,\"a\":2}}", "x".repeat(4 << 20));
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    assert_eq!(pointer::at(body.as_bytes(), "/a"), Some(2.into()));
    let peak = ALLOCATED.peak_usage() - before;
    assert!(peak < 1_000_000, "{peak} bytes");
}
