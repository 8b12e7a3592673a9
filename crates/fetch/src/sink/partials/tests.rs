//! Tests of large bodies that are not whole yet.

use super::*;

fn begin(partials: &mut Partials, number: u64) -> Partial {
    let representation = Representation {
        url: "http://h/".into(),
        validator: "\"a\"".into(),
        total: None,
        headers: Vec::new(),
    };
    let mut partial = partials.create(number, Some(representation), 0).unwrap();
    partial.append(b"abc").unwrap();
    partial
}

#[test]
fn a_later_attempt_takes_over_what_nobody_writes_and_the_end_of_the_part_removes_all() {
    let home = tempfile::tempdir().unwrap();
    let take_over = |part: &str, attempt| {
        Partials::take_over(home.path(), part, attempt, Digests::default()).unwrap()
    };
    let mut first = take_over("part-000001", 1);
    let mut other = take_over("part-000002", 1);
    drop(begin(&mut first, 7));
    let held = begin(&mut first, 8);
    drop(begin(&mut other, 9));
    let second = take_over("part-000001", 2);
    assert_eq!(second.resume(7, "http://h/").unwrap().length(), 3);
    for (number, url) in [(7, "http://h/else"), (8, "http://h/"), (9, "http://h/")] {
        assert!(second.resume(number, url).is_none(), "{number} {url}");
    }
    drop(held);
    second.clear();
    let left: Vec<_> = fs::read_dir(home.path().join(PARTIAL)).unwrap().collect();
    assert_eq!(left.len(), 1, "that of the other part");
    other.clear();
    assert!(!home.path().join(PARTIAL).exists());
}

#[test]
fn a_part_that_ends_never_keeps_another_from_beginning_a_body() {
    let home = tempfile::tempdir().unwrap();
    let work = |part: &str| {
        for _ in 0..500 {
            let mut partials =
                Partials::take_over(home.path(), part, 1, Digests::default()).unwrap();
            partials.create(7, None, 0).unwrap();
            partials.clear();
        }
    };
    std::thread::scope(|scope| {
        for part in ["part-000001", "part-000002", "part-000003"] {
            scope.spawn(move || work(part));
        }
    });
    assert!(!home.path().join(PARTIAL).exists());
}

#[test]
fn an_attempt_that_comes_late_leaves_the_bodies_of_a_later_one() {
    let home = tempfile::tempdir().unwrap();
    let take_over = |attempt| {
        let digests = Digests::default();
        Partials::take_over(home.path(), "part-000001", attempt, digests).unwrap()
    };
    let (first, mut second) = (take_over(1), take_over(2));
    drop(begin(&mut second, 7));
    first.clear();
    assert!(second.resume(7, "http://h/").is_some());
}
