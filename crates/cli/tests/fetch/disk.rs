//! A full disk: the command ends with one sentence, and resumes when there is space.

use std::process::Command;

use crate::support::{World, ending, hecaton};

/// A file system of so many bytes, if this process may make one.
struct Small {
    path: std::path::PathBuf,
}

impl Small {
    fn mount(path: std::path::PathBuf, bytes: u64) -> Option<Small> {
        std::fs::create_dir_all(&path).ok()?;
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(&path);
        let output = mount.output().ok()?;
        output.status.success().then_some(Small { path })
    }
}

impl Small {
    fn remount(&self, option: &str) {
        let option = format!("remount,{option}");
        let status = Command::new("mount")
            .args(["-o", &option])
            .arg(&self.path)
            .status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(&self.path)
            .status();
    }
}

#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    const INPUTS: u64 = 4000;
    let world = World::new();
    let list = world.list(0..INPUTS);
    let Some(small) = Small::mount(world.out(), 400 << 10) else {
        eprintln!("skipped: this user may not mount a small file system");
        return;
    };
    // The folder is there already, and empty.
    let filler = small.path.join("lock");
    let full = ending(&mut world.fetch(&list, &["-c", "20"]));
    assert_eq!(full.status, Some(1), "{}", full.stderr);
    assert!(full.stderr.contains("no space is left"), "{}", full.stderr);
    assert!(
        full.stderr
            .lines()
            .filter(|line| line.starts_with("hecaton:"))
            .count()
            == 1,
        "{}",
        full.stderr
    );
    drop(filler);
    small.remount("size=16m");
    world.run(&list, &["-c", "20"]);
    assert_eq!(world.records().len() as u64, INPUTS);
    assert_eq!(world.server.summary().distinct, INPUTS);
}

#[test]
fn a_disk_that_is_full_while_a_job_is_planned_leaves_a_folder_that_the_same_command_takes() {
    const INPUTS: u64 = 4000;
    let world = World::new();
    let list = world.list(0..INPUTS);
    let Some(small) = Small::mount(world.out(), 12 << 10) else {
        eprintln!("skipped: this user may not mount a small file system");
        return;
    };
    let full = ending(&mut world.fetch(&list, &[]));
    assert_eq!(full.status, Some(1), "{}", full.stderr);
    assert!(full.stderr.contains("no space is left"), "{}", full.stderr);
    assert!(!world.out().join("plan.json").exists(), "it was planned");
    assert_eq!(world.server.summary().requests, 0);
    small.remount("size=16m");
    world.run(&list, &[]);
    assert_eq!(world.records().len() as u64, INPUTS);
}

#[test]
fn a_folder_that_cannot_be_written_is_read_and_commands_that_write_name_what_they_write() {
    let world = World::new();
    let list = world.list(0..30);
    let Some(small) = Small::mount(world.out(), 16 << 20) else {
        eprintln!("skipped: this user may not mount a small file system");
        return;
    };
    world.run(&list, &["--part-size", "10"]);
    small.remount("ro");
    assert_eq!(world.records().len(), 30);
    let report = ending(hecaton(&["fetch", "report"]).arg(world.out()));
    assert_eq!(report.status, Some(1));
    assert!(report.stderr.contains("report.html"), "{}", report.stderr);
}
