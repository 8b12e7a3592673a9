//! The content of `plan.json`, and the files beside it.

use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::draft::write_whole;
use super::folder::Folder;
use super::groups::group;
use super::parts::Part;
use super::requests::Run;
use super::sources::Identity;
use super::spool::{Extent, GROUPS};
use crate::error::{Error, Result, at};
use crate::frame::{Frame, first, pack_aside};

/// The version of the folder's layout.
pub const VERSION: u32 = 4;

/// The content of `plan.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of the folder's layout.
    pub version: u32,
    /// The job's own name: idempotency keys are made of it.
    pub job: Uuid,
    /// The id of a round of `again`; none for the job itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<String>,
    /// Whether it is a round that follows redirects to hosts of other parts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows_redirects: bool,
    /// How many inputs there are, invalid ones included.
    pub inputs: u64,
    /// The columns of the inputs.
    pub columns: Vec<String>,
    /// The files that the inputs came from.
    pub sources: Vec<Identity>,
    /// Whether hosts of this machine or of a private network are among the inputs.
    pub own_hosts: bool,
    /// How many inputs have the request of an earlier input, and are not sent.
    pub repeats: u64,
    /// Where the requests of all inputs are; empty in a round, in a job that sends duplicates, and in older plans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Run>,
    /// The parts, by their numbers.
    pub parts: Vec<Part>,
}

/// The field that a plan of any version has.
#[derive(Deserialize)]
struct Written {
    version: u32,
}

/// Where the inputs of a part are: by group, by shard, the frames of `inputs.zst`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// By group and by shard.
    pub groups: Vec<Vec<Vec<Extent>>>,
    /// The numbers of these groups, and of the empty groups that this part owns: redirects may lead to their hosts.
    pub numbers: Vec<u16>,
}

impl Index {
    /// Writes it into a folder.
    pub(crate) fn write(&self, folder: &Folder, part: u32) -> Result<()> {
        let text = serde_json::to_vec(self).expect("an index becomes JSON");
        write_whole(&folder.index(part), &text)
    }

    /// Whether the limits of this host are this part's own business.
    pub fn has(&self, host: &str) -> bool {
        self.numbers.contains(&(group(host) as u16))
    }
}

impl Plan {
    /// The plan of a folder; none if there is none yet.
    ///
    /// # Errors
    /// When it cannot be read, or is of another version.
    pub fn load(folder: &Folder) -> Result<Option<Plan>> {
        let path = folder.plan();
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(at("read", &path))?,
        };
        let other = |error| {
            let path = path.display();
            Error::failed(format!("{path} is not a plan of this program: {error}"))
        };
        // First of all: a plan of another version has other fields.
        let Written { version } = serde_json::from_slice(&text).map_err(other)?;
        if version != VERSION {
            return Err(Error::failed(format!(
                "{} is of version {version}, and this program knows version {VERSION}: use the program that made it, or begin the job in another folder",
                path.display(),
            )));
        }
        let plan: Plan = serde_json::from_slice(&text).map_err(other)?;
        match plan.flaw() {
            None => Ok(Some(plan)),
            Some(why) => Err(Error::failed(format!(
                "{} is damaged: {why}; nothing was sent",
                path.display()
            ))),
        }
    }

    /// Why no program wrote this plan, if so.
    fn flaw(&self) -> Option<String> {
        let mut inputs = 0_u64;
        for (position, part) in self.parts.iter().enumerate() {
            if part.number as usize != position {
                return Some(format!("part {position} has the number {}", part.number));
            }
            if part.shard.is_some_and(|shard| shard.index >= shard.of) {
                return Some(format!("part {position} is no shard of its hosts"));
            }
            inputs = inputs.saturating_add(part.inputs);
        }
        let all = self.inputs;
        (inputs != all).then(|| format!("its parts have {inputs} inputs, and the job {all}"))
    }

    /// The plan of a folder that must hold one.
    ///
    /// # Errors
    /// As [`Plan::load`], and when there is none: the reason, as far as the folder shows it.
    pub fn planned(folder: &Folder) -> Result<Plan> {
        let path = folder.path();
        if path.is_file() {
            let what = format!("{} is a file: name the folder of a job", path.display());
            return Err(Error::usage(what));
        }
        Plan::load(folder)?.ok_or_else(|| {
            let path = path.display();
            Error::usage(if !folder.path().exists() {
                format!("there is no folder {path}: `hecaton fetch LIST -o {path}` makes a job in it")
            } else if folder.job().exists() {
                format!("{path} holds no planned job yet: its planning is under way or was ended, and the command that began it does it anew")
            } else {
                format!("{path} holds no planned job: name the folder that a job was begun in, which `hecaton fetch LIST -o DIR` does")
            })
        })
    }

    /// The inputs whose request an earlier input has.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn repeated(&self, folder: &Folder) -> Result<RoaringTreemap> {
        if self.repeats == 0 {
            return Ok(RoaringTreemap::new());
        }
        let path = folder.repeats();
        let bytes = std::fs::read(&path).map_err(at("read", &path))?;
        let found = match first(&bytes) {
            Some(Frame::Aside(content)) => RoaringTreemap::deserialize_from(content).ok(),
            _ => None,
        };
        let damaged = || Error::failed(format!("{} is damaged", path.display()));
        found.ok_or_else(damaged)
    }

    /// The part with this number.
    ///
    /// # Errors
    /// When there is none.
    pub fn part(&self, number: u32) -> Result<&Part> {
        self.parts.get(number as usize).ok_or_else(|| {
            let last = self.parts.len().saturating_sub(1);
            Error::usage(format!(
                "there is no part {number}: the parts are 0 to {last}"
            ))
        })
    }

    /// Whether all parts of a folder are done.
    pub fn is_done(&self, folder: &Folder) -> bool {
        self.undone(folder).next().is_none()
    }

    /// Writes it into a folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, folder: &Folder) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("a plan becomes JSON");
        write_whole(&folder.plan(), &text)
    }

    /// The parts that are not done. A part without selected inputs in a round counts as done.
    pub fn undone<'a>(&'a self, folder: &'a Folder) -> impl DoubleEndedIterator<Item = &'a Part> {
        let parts = self.parts.iter();
        parts.filter(|part| part.inputs > 0 && !folder.is_done(part.number))
    }

    /// The parts that may begin now: not those of an addition while parts before it are not done, because their hosts are the same.
    pub fn startable<'a>(&'a self, folder: &'a Folder) -> impl Iterator<Item = &'a Part> {
        let first = self.undone(folder).map(|part| part.added).min();
        self.undone(folder)
            .filter(move |part| Some(part.added) == first)
    }

    /// Where the inputs of a part are.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn index(folder: &Folder, number: u32) -> Result<Index> {
        let path = folder.index(number);
        let text = std::fs::read(&path).map_err(at("read", &path))?;
        let damaged = |why: String| Error::failed(format!("{} is damaged: {why}", path.display()));
        let index: Index =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match index.groups.len() {
            ..=GROUPS => Ok(index),
            groups => Err(damaged(format!("it has {groups} groups"))),
        }
    }
}

/// Writes the inputs whose request an earlier input has; how many there are.
///
/// # Errors
/// When the system refuses.
pub fn write_repeats(folder: &Folder, repeats: &RoaringTreemap) -> Result<u64> {
    if !repeats.is_empty() {
        let mut content = Vec::with_capacity(repeats.serialized_size());
        // Into a vector nothing fails.
        let _ = repeats.serialize_into(&mut content);
        let mut bytes = Vec::new();
        pack_aside(&content, &mut bytes);
        write_whole(&folder.repeats(), &bytes)?;
    }
    Ok(repeats.len())
}
