//! Records that match → a plan of their inputs, part by part.

use roaring::RoaringTreemap;
use uuid::Uuid;

use crate::error::{Error, Result, at};
use crate::expression::Expression;
use crate::plan::{
    Extent, Folder, Index, InputFile, Part, Plan, SHARDS, Spool, bucket, read_entry, write_entry,
    write_whole,
};
use crate::record::Record;
use crate::segment::{Piece, scan};

/// Writes the inputs of a round and their index. Returns the plan, which the caller writes.
pub fn choose(
    folder: &Folder,
    base: &Plan,
    round: &Folder,
    expression: &Expression,
) -> Result<Plan> {
    let path = round.inputs();
    let mut spool = Spool::create(&path)?;
    let mut file = InputFile::open(folder)?;
    let mut parts = Vec::new();
    for part in &base.parts {
        let selected = matching(folder, part.number, expression)?;
        let index = match selected.is_empty() {
            true => Index::default(),
            false => copy(
                &mut file,
                &mut spool,
                &Plan::index(folder, part.number)?,
                &selected,
                &path,
            )?,
        };
        let text = serde_json::to_vec(&index).expect("an index becomes JSON");
        write_whole(&round.index(part.number), &text)?;
        parts.push(Part {
            inputs: selected.len(),
            ..part.clone()
        });
    }
    spool.finish().map_err(at("write", &path))?;
    Ok(Plan {
        round: Some(Uuid::new_v4().simple().to_string()[..8].to_owned()),
        inputs: parts.iter().map(|part| part.inputs).sum(),
        sources: Vec::new(),
        parts,
        ..base.clone()
    })
}

/// The inputs of a part whose records match.
fn matching(folder: &Folder, part: u32, expression: &Expression) -> Result<RoaringTreemap> {
    let path = folder.result(part);
    let mut selected = RoaringTreemap::new();
    let mut damaged = None;
    let scanned = scan(&path, u64::MAX, &mut |piece, _| {
        let Piece::Lines(lines) = piece else {
            return Ok(());
        };
        for line in lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            match serde_json::from_slice::<Record>(line) {
                Ok(record) if expression.holds(&record) => drop(selected.insert(record.n)),
                Ok(_) => {}
                Err(error) => damaged = Some(error),
            }
        }
        Ok(())
    });
    scanned.map_err(at("read", &path))?;
    match damaged {
        Some(error) => Err(Error::failed(format!(
            "{} holds a line that is not a record: {error}",
            path.display()
        ))),
        None => Ok(selected),
    }
}

/// Copies the inputs that are selected, each into its group and shard.
fn copy(
    file: &mut InputFile,
    spool: &mut Spool,
    index: &Index,
    selected: &RoaringTreemap,
    path: &std::path::Path,
) -> Result<Index> {
    let mut frame = Vec::new();
    for (group, shards) in index.groups.iter().enumerate() {
        for (shard, extents) in shards.iter().enumerate() {
            for extent in extents {
                file.read(*extent, &mut frame)?;
                let mut rest = &frame[..];
                while !rest.is_empty() {
                    let entry = read_entry(&mut rest).ok_or_else(|| file.damaged())?;
                    if selected.contains(entry.number) {
                        let add = spool.add(bucket(group, shard), |out| {
                            write_entry(entry.number, entry.line, &entry.held, out);
                        });
                        add.map_err(at("write", path))?;
                    }
                }
            }
        }
    }
    let spooled = spool.take().map_err(at("write", path))?;
    let mut groups: Vec<Vec<Vec<Extent>>> = vec![vec![Vec::new(); SHARDS]; index.groups.len()];
    for (bucket, extent) in spooled.extents {
        groups[usize::from(bucket) / SHARDS][usize::from(bucket) % SHARDS].push(extent);
    }
    for shards in &mut groups {
        shards.retain(|extents| !extents.is_empty());
    }
    groups.retain(|shards| !shards.is_empty());
    Ok(Index {
        groups,
        numbers: index.numbers.clone(),
        by_site: index.by_site,
    })
}
