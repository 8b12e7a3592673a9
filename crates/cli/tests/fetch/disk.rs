//! A full disk: the command ends with one sentence, and resumes when there is space.

use std::process::Command;

use crate::support::{World, ending};

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
    let grown = Command::new("mount")
        .args(["-o", "remount,size=16m"])
        .arg(&small.path)
        .status();
    assert!(grown.unwrap().success());
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
    let grown = Command::new("mount")
        .args(["-o", "remount,size=16m"])
        .arg(&small.path)
        .status();
    assert!(grown.unwrap().success());
    world.run(&list, &[]);
    assert_eq!(world.records().len() as u64, INPUTS);
}
