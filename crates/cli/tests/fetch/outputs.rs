//! Where tables and reports are written: into FIFOs, through links, and never over what is the job's own.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::spawn;

use crate::support::{World, ending, fifo, files, hecaton, in_time};

fn export(world: &World, table: &Path) -> Command {
    let mut export = hecaton(&["fetch", "export", "--csv"]);
    export.arg(table).arg(world.out());
    export
}

#[test]
fn a_table_goes_into_a_fifo() {
    let world = World::new();
    world.run(&world.list(0..20), &[]);
    let path = fifo(&world, "table.csv");
    let exporting = export(&world, &path).spawn().unwrap();
    let read = path.clone();
    let reader = spawn(move || fs::read_to_string(read).unwrap());
    let exported = in_time(exporting);
    assert_eq!(exported.status, Some(0), "{}", exported.stderr);
    let kind = fs::symlink_metadata(&path).unwrap().file_type();
    assert!(kind.is_fifo(), "{kind:?}");
    assert_eq!(reader.join().unwrap().lines().count(), 21);
}

#[test]
fn an_output_goes_where_links_lead_to_and_they_stay() {
    let world = World::new();
    world.run(&world.list(0..20), &[]);
    let folder = world.path("tables");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("old.csv"), "old").unwrap();
    for (link, target) in [
        ("first", "tables/old.csv"),
        ("second", "first"),
        ("dangling", "tables/new.csv"),
    ] {
        symlink(target, world.path(link)).unwrap();
        let exported = ending(&mut export(&world, &world.path(link)));
        assert_eq!(exported.status, Some(0), "{}", exported.stderr);
        assert!(world.path(link).is_symlink(), "{link}");
        let table = fs::read_to_string(world.path(link)).unwrap();
        assert_eq!(table.lines().count(), 21, "{link}");
    }
    assert_eq!(files(&folder).len(), 2);
    let page = world.out().join("report.html");
    fs::rename(&page, folder.join("report.html")).unwrap();
    symlink(folder.join("report.html"), &page).unwrap();
    fs::write(&page, "").unwrap();
    let reported = ending(hecaton(&["fetch", "report"]).arg(world.out()));
    assert_eq!(reported.status, Some(0), "{}", reported.stderr);
    assert!(page.is_symlink());
    assert!(fs::read_to_string(&page).unwrap().contains("<html"));
}

/// All files below a folder.
fn all(folder: &Path) -> Vec<PathBuf> {
    let (folders, mut found): (Vec<_>, Vec<_>) =
        files(folder).into_iter().partition(|path| path.is_dir());
    found.extend(folders.iter().flat_map(|folder| all(folder)));
    found
}

fn refuses(world: &World, path: &Path) {
    let had = fs::read(path).ok();
    let refused = ending(&mut export(world, path));
    assert_eq!(refused.status, Some(2), "{path:?}: {}", refused.stderr);
    let why = "belongs to the job itself: name another file\n";
    assert!(refused.stderr.ends_with(why), "{}", refused.stderr);
    assert_eq!(fs::read(path).ok(), had, "{path:?}");
}

#[test]
fn no_table_is_written_over_what_is_the_jobs_own() {
    let world = World::new();
    world.run(
        &world.list(0..20),
        &["--keep-body", "files", "--final-tables", "csv"],
    );
    let out = world.out();
    let own = all(&out);
    let has = |name: &str| own.iter().any(|path| path.ends_with(name));
    assert!(has("plan.json") && has("table.csv") && has("part-000000.jsonl.zst"));
    own.iter().for_each(|path| refuses(&world, path));
    symlink("out/plan.json", world.path("link.csv")).unwrap();
    symlink("out/results/new.csv", world.path("new.csv")).unwrap();
    symlink("out", world.path("alias")).unwrap();
    for path in [
        "link.csv",
        "new.csv",
        "alias/job.toml",
        "out/../out/results/x.csv",
        "out/bodies/x.csv",
        "out/plan.json.draft",
    ] {
        refuses(&world, &world.path(path));
    }
    // Other files may be in the folder, and may be written again.
    for name in ["mine.csv", "mine.csv", "planned.csv"] {
        let exported = ending(&mut export(&world, &out.join(name)));
        assert_eq!(exported.status, Some(0), "{}", exported.stderr);
    }
    let verified = ending(hecaton(&["fetch", "verify"]).arg(&out));
    assert_eq!(verified.status, Some(0), "{}", verified.stderr);
}
