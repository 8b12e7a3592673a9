//! Records that match → a plan of their inputs, part by part.

use roaring::RoaringTreemap;
use uuid::Uuid;

use crate::error::{Error, Result, at};
use crate::expression::Expression;
use crate::plan::{
    Extent, Folder, Index, InputFile, LANES, Part, Plan, Spool, bucket, read_entry, write_entry,
    write_whole,
};
use crate::record::Record;
use crate::segment::{Piece, scan};

/// Writes the inputs of a round and where they are; its plan, still unsealed.
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
        let wanted = matching(folder, part.number, expression)?;
        let index = match wanted.is_empty() {
            true => Index::default(),
            false => copy(
                &mut file,
                &mut spool,
                &Plan::index(folder, part.number)?,
                &wanted,
                &path,
            )?,
        };
        let text = serde_json::to_vec(&index).expect("an index becomes JSON");
        write_whole(&round.index(part.number), &text)?;
        parts.push(Part {
            inputs: wanted.len(),
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
    let mut wanted = RoaringTreemap::new();
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
                Ok(record) if expression.holds(&record) => drop(wanted.insert(record.n)),
                Ok(_) => {}
                Err(error) => damaged = Some(error),
            }
        }
        Ok(())
    });
    scanned.map_err(at("read", &path))?;
    match damaged {
        Some(error) => Err(Error::failed(format!(
            "{} holds a line that is no record: {error}",
            path.display()
        ))),
        None => Ok(wanted),
    }
}

/// Copies the inputs that are wanted, each into its group and lane.
fn copy(
    file: &mut InputFile,
    spool: &mut Spool,
    index: &Index,
    wanted: &RoaringTreemap,
    path: &std::path::Path,
) -> Result<Index> {
    let mut frame = Vec::new();
    for (group, lanes) in index.groups.iter().enumerate() {
        for (lane, extents) in lanes.iter().enumerate() {
            for extent in extents {
                file.read(*extent, &mut frame)?;
                let mut rest = &frame[..];
                while !rest.is_empty() {
                    let entry = read_entry(&mut rest).ok_or_else(|| file.damaged())?;
                    if wanted.contains(entry.number) {
                        let add = spool.add(bucket(group, lane), |out| {
                            write_entry(entry.number, entry.line, &entry.held, out);
                        });
                        add.map_err(at("write", path))?;
                    }
                }
            }
        }
    }
    let spooled = spool.take().map_err(at("write", path))?;
    let mut groups: Vec<Vec<Vec<Extent>>> = vec![vec![Vec::new(); LANES]; index.groups.len()];
    for (bucket, extent) in spooled.extents {
        groups[usize::from(bucket) / LANES][usize::from(bucket) % LANES].push(extent);
    }
    for lanes in &mut groups {
        lanes.retain(|extents| !extents.is_empty());
    }
    groups.retain(|lanes| !lanes.is_empty());
    Ok(Index {
        groups,
        numbers: index.numbers.clone(),
    })
}
