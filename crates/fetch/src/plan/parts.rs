//! Groups of hosts → parts: small groups together, a giant one divided into host shards. Pure decisions.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Most parts that a host is divided into. A process has at least as many open at once, and each has its share of the
/// host's limits.
pub const MOST_SHARDS: usize = 16;

/// A part: what one worker does, and one `COMMIT` decides about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// From 0.
    pub number: u32,
    /// How many inputs it has.
    pub inputs: u64,
    /// Which share of its hosts' limits it has, if it is one shard of several.
    #[serde(
        default,
        rename = "host_shard",
        skip_serializing_if = "Option::is_none"
    )]
    pub shard: Option<HostShard>,
    /// Which addition it came with; 0 for the list that the job began with.
    #[serde(default, skip_serializing_if = "is_first")]
    pub added: u32,
}

fn is_first(added: &u32) -> bool {
    *added == 0
}

/// One of several parts that share their hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostShard {
    /// From 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

impl HostShard {
    /// Its share of a limit: all shares add up to it, and each is at least 1 if there are as many as that.
    pub fn share(self, limit: usize) -> usize {
        let (index, of) = (self.index as usize, self.of as usize);
        limit / of + usize::from(index < limit % of)
    }
}

/// The inputs of a part: groups, each with a range of its frames.
pub type Frames = Vec<(usize, Range<usize>)>;

/// Puts groups into parts, those that take longest first.
///
/// `groups` has the inputs of each frame by group, and `heaviest` the inputs of the largest host by group. A host is
/// divided into at most `max_shards` parts, and a part has about `size` inputs.
pub fn assign(
    groups: &[Vec<u32>],
    heaviest: &[u64],
    max_shards: usize,
    size: u64,
) -> Vec<(Part, Frames)> {
    // A group that is a little larger is not worth being taken apart.
    let (small_enough, giant) = (size.saturating_mul(5) / 4, size.saturating_mul(3) / 2);
    let mut filled: Vec<usize> = (0..groups.len())
        .filter(|group| !groups[*group].is_empty())
        .collect();
    // A host of many inputs delays the end, and many small hosts do not.
    filled.sort_by_key(|group| std::cmp::Reverse(heaviest.get(*group)));
    let mut parts: Vec<(u64, Option<HostShard>, Frames)> = Vec::new();
    let mut small: Vec<usize> = Vec::new();
    for group in filled {
        let inputs = total(&groups[group]);
        let shards = shard_count(inputs, max_shards, size);
        if inputs > giant && shards > 1 {
            parts.extend(take_apart(group, &groups[group], shards));
        } else {
            small.push(group);
        }
    }
    fill_up(&mut parts, groups, &small, small_enough);
    let numbered = (0..).zip(parts);
    let numbered = numbered.map(|(number, (inputs, shard, frames))| {
        let added = 0;
        let part = Part {
            number,
            inputs,
            shard,
            added,
        };
        (part, frames)
    });
    numbered.collect()
}

/// Fills parts up with small groups, as far as these are not `enough` yet.
fn fill_up(
    parts: &mut Vec<(u64, Option<HostShard>, Frames)>,
    groups: &[Vec<u32>],
    small: &[usize],
    enough: u64,
) {
    for &group in small {
        let more = total(&groups[group]);
        let all = (group, 0..groups[group].len());
        match parts.last_mut() {
            Some((inputs, None, frames)) if *inputs + more <= enough => {
                *inputs += more;
                frames.push(all);
            }
            _ => parts.push((more, None, vec![all])),
        }
    }
}

fn total(frames: &[u32]) -> u64 {
    frames.iter().map(|inputs| u64::from(*inputs)).sum()
}

fn shard_count(inputs: u64, most: usize, size: u64) -> usize {
    let needed = inputs.div_ceil(size);
    usize::try_from(needed)
        .unwrap_or(MOST_SHARDS)
        .min(most)
        .min(MOST_SHARDS)
}

/// Divides a group into runs of frames with about equally many inputs. The inputs of a part follow one another in the
/// list, so a set of their numbers is small.
fn take_apart(
    group: usize,
    frames: &[u32],
    shards: usize,
) -> impl Iterator<Item = (u64, Option<HostShard>, Frames)> {
    let all = total(frames).max(1);
    let mut runs: Vec<(u64, Range<usize>)> = Vec::new();
    let (mut before, mut last) = (0, None);
    for (index, inputs) in frames.iter().enumerate() {
        let inputs = u64::from(*inputs);
        // The middle of a frame decides where it belongs.
        let run = (2 * before + inputs) * shards as u64 / (2 * all);
        before += inputs;
        match runs.last_mut() {
            Some((of_run, range)) if last == Some(run) => {
                *of_run += inputs;
                range.end = index + 1;
            }
            _ => runs.push((inputs, index..index + 1)),
        }
        last = Some(run);
    }
    let of = runs.len() as u32;
    let numbered = runs.into_iter().enumerate();
    numbered.map(move |(index, (inputs, range))| {
        let index = index as u32;
        (inputs, Some(HostShard { index, of }), vec![(group, range)])
    })
}

#[cfg(test)]
mod tests {
    use super::super::spool::GROUPS;
    use super::*;

    /// Groups of this many inputs, in frames of 500.
    fn groups(of: &[(usize, u64)]) -> (Vec<Vec<u32>>, Vec<u64>) {
        let (mut groups, mut heaviest) = (vec![Vec::new(); GROUPS], vec![0; GROUPS]);
        for (group, inputs) in of {
            groups[*group] = vec![500; (inputs / 500) as usize];
            groups[*group].extend((inputs % 500 > 0).then_some((inputs % 500) as u32));
            heaviest[*group] = *inputs;
        }
        (groups, heaviest)
    }

    fn check(groups: &[Vec<u32>], parts: &[(Part, Frames)]) {
        let mut seen: Vec<Vec<u32>> = groups.iter().map(|frames| vec![0; frames.len()]).collect();
        for (part, frames) in parts {
            let mut inputs = 0;
            for (group, range) in frames {
                for frame in range.clone() {
                    seen[*group][frame] += 1;
                    inputs += u64::from(groups[*group][frame]);
                }
            }
            assert_eq!(part.inputs, inputs);
            assert!(inputs > 0);
        }
        assert!(seen.iter().flatten().all(|seen| *seen == 1));
    }

    #[test]
    fn small_groups_share_a_part_and_every_frame_is_in_one() {
        let (groups, heaviest) = groups(&(0..100).map(|group| (group, 3200)).collect::<Vec<_>>());
        let parts = assign(&groups, &heaviest, 8, 100_000);
        check(&groups, &parts);
        assert_eq!(parts.len(), 3);
    }

    #[test]
    fn a_giant_is_taken_apart_as_far_as_its_limits_allow() {
        let (groups, heaviest) = groups(&[(3, 800_000), (7, 160)]);
        for (most, expected) in [(1, 2), (3, 4), (100, 9)] {
            let parts = assign(&groups, &heaviest, most, 100_000);
            check(&groups, &parts);
            assert_eq!(parts.len(), expected, "at most {most} shards");
            let sizes = parts.iter().filter(|(part, _)| part.shard.is_some());
            let sizes: Vec<u64> = sizes.map(|(part, _)| part.inputs).collect();
            let (least, largest) = (sizes.iter().min(), sizes.iter().max());
            let spread = largest
                .zip(least)
                .map_or(0, |(largest, least)| largest - least);
            assert!(spread <= 500, "{sizes:?}");
        }
    }

    #[test]
    fn a_giant_of_few_frames_has_as_many_shards_as_it_fills() {
        let mut groups = vec![Vec::new(); GROUPS];
        groups[5] = vec![90_000, 10, 90_000];
        let parts = assign(&groups, &[0; GROUPS], 16, 20_000);
        check(&groups, &parts);
        let shards: Vec<u32> = parts
            .iter()
            .filter_map(|(part, _)| Some(part.shard?.of))
            .collect();
        assert_eq!(shards, vec![parts.len() as u32; parts.len()]);
    }

    #[test]
    fn shares_add_up() {
        for limit in 1..20 {
            for of in 1..=limit as u32 {
                let shares: Vec<usize> = (0..of)
                    .map(|index| HostShard { index, of }.share(limit))
                    .collect();
                assert_eq!(shares.iter().sum::<usize>(), limit);
                assert!(shares.iter().all(|share| *share > 0));
            }
        }
    }
}
