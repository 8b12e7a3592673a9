//! Ten thousand hosts in one job: each gets what is its own, and the process stays small.

use std::process::Child;

use crate::support::{World, count, end_of};

const HOSTS: u64 = 10_000;

/// The most that a process had, looked at until it ended: open descriptors, and KiB of memory.
fn most(child: &mut Child) -> (usize, u64) {
    let mut most = (0, 0);
    let process = format!("/proc/{}", child.id());
    while child.try_wait().expect("it is our child").is_none() {
        let open = std::fs::read_dir(format!("{process}/fd")).map_or(0, Iterator::count);
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let memory = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        most = (most.0.max(open), most.1.max(memory.unwrap_or(0)));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    most
}

#[test]
fn ten_thousand_hosts_have_each_record_once_in_little_room() {
    let world = World::new();
    let port = world.port();
    let url = |n: u64| format!("http://h{}.localhost:{port}/r/{n}", n % HOSTS);
    let list = world.write("urls.txt", (0..2 * HOSTS).map(url));
    let mut child = world.fetch(&list, &["-c", "100"]).spawn().unwrap();
    let (descriptors, memory) = most(&mut child);
    let ending = end_of(child);
    assert_eq!(ending.status, Some(0), "{}", ending.stderr);
    println!("{HOSTS} hosts: {descriptors} descriptors, {memory} KiB at most");
    let records = world.records();
    assert_eq!(records.len() as u64, 2 * HOSTS);
    assert_eq!(count(&records, "response") as u64, 2 * HOSTS);
    assert_eq!(world.server.summary().requests, 2 * HOSTS);
    // A hundred in flight, 4,096 idle ones, and what the process itself has.
    assert!(descriptors < 4400, "{descriptors}");
    assert!(memory < 128 << 10, "{memory} KiB");
}
