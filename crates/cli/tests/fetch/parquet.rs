//! Tables in Parquet: what they hold, and that they are lists of inputs.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::support::{World, ending, hecaton};

#[test]
fn a_table_in_parquet_is_a_list_with_the_same_inputs() {
    let world = World::new();
    let list = world.list(0..50);
    world.run(&list, &[]);
    let table = export(&world, "table.parquet", "--parquet");
    let out = world.path("again");
    let again = ending(hecaton(&["fetch"]).arg(&table).arg("-o").arg(&out));
    assert_eq!(again.status, Some(0), "{}", again.stderr);
    assert_eq!(world.server.summary().requests, 100);
    let urls = |folder| -> BTreeSet<String> {
        let shown = ending(hecaton(&["fetch", "show"]).arg(folder));
        assert_eq!(shown.status, Some(0), "{}", shown.stderr);
        let records = shown
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        records
            .map(|record: Value| record["url"].to_string())
            .collect()
    };
    assert_eq!(urls(world.out()).len(), 50);
    assert_eq!(urls(world.out()), urls(out));
}

/// Arrow reads what we wrote. It is where `benches/fetch/install` has put it; `bin/test fetch` says where.
#[test]
fn arrow_reads_the_rows_of_the_csv() {
    let Some(python) = std::env::var_os("HECATON_PYTHON") else {
        return eprintln!("not tried: HECATON_PYTHON names no Python with pyarrow");
    };
    let world = World::new();
    let list = world.list(0..50);
    world.run(&list, &[]);
    let [table, rows] = [("table.parquet", "--parquet"), ("table.csv", "--csv")]
        .map(|(name, form)| export(&world, name, form));
    let program = "import csv, sys, pyarrow.parquet as parquet\n\
                   rows = list(csv.DictReader(open(sys.argv[2])))\n\
                   table = parquet.read_table(sys.argv[1]).to_pylist()\n\
                   assert len(table) == 50 and len(rows) == 50, (len(table), len(rows))\n\
                   keys = [key for key in ('url', 'status', 'outcome') if key in rows[0]]\n\
                   assert keys, rows[0]\n\
                   pick = lambda all: sorted([str(row[key]) for key in keys] for row in all)\n\
                   assert pick(table) == pick(rows)\n";
    let read = ending(
        Command::new(python)
            .args(["-c", program])
            .arg(table)
            .arg(rows),
    );
    assert_eq!(read.status, Some(0), "{}", read.stderr);
}

fn export(world: &World, name: &str, form: &str) -> std::path::PathBuf {
    let table = world.path(name);
    let ended = ending(
        hecaton(&["fetch", "export", form])
            .arg(&table)
            .arg(world.out()),
    );
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    table
}
