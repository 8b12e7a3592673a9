//! Groups of hosts → parts: small groups together, a giant one apart in lanes with shares that add up. Pure decisions.

use serde::{Deserialize, Serialize};

use super::spool::LANES;

/// A part: what one worker does, and one `COMMIT` decides about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// From 0.
    pub number: u32,
    /// How many inputs it has.
    pub inputs: u64,
    /// Which share of its hosts' limits it has, if it is one lane of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Lane>,
}

/// One of several parts that share their hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// From 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

impl Lane {
    /// Its share of a limit: all shares add up to it, and each is at least 1 if there are as many as that.
    pub fn share(self, limit: usize) -> usize {
        let (index, of) = (self.index as usize, self.of as usize);
        limit / of + usize::from(index < limit % of)
    }
}

/// The buckets of a part: groups, each with some of its lanes.
pub type Buckets = Vec<(usize, Vec<usize>)>;

/// Puts groups into parts, those that take longest first.
///
/// `counts` has the inputs by bucket, `heaviest` those of the largest host by group; `most_lanes` is into how many a host may be taken apart,
/// and about `size` inputs are a part.
pub fn assign(
    counts: &[u64],
    heaviest: &[u64],
    most_lanes: usize,
    size: u64,
) -> Vec<(Part, Buckets)> {
    // A group that is a little larger is not worth being taken apart.
    let (small_enough, giant) = (size.saturating_mul(5) / 4, size.saturating_mul(3) / 2);
    let groups: Vec<&[u64]> = counts.chunks(LANES).collect();
    let total = |group: usize| groups[group].iter().sum::<u64>();
    let mut filled: Vec<usize> = (0..groups.len())
        .filter(|group| total(*group) > 0)
        .collect();
    // What holds up the end is a host of many inputs, not many hosts.
    filled.sort_by_key(|group| std::cmp::Reverse(heaviest[*group]));
    let mut parts: Vec<(u64, Option<Lane>, Buckets)> = Vec::new();
    let mut small: Vec<usize> = Vec::new();
    for group in filled {
        let lanes = lanes_for(total(group), most_lanes, size);
        if total(group) > giant && lanes > 1 {
            parts.extend(take_apart(group, groups[group], lanes));
        } else {
            small.push(group);
        }
    }
    for group in small {
        let all = (group, (0..LANES).collect());
        match parts.last_mut() {
            Some((inputs, None, buckets)) if *inputs + total(group) <= small_enough => {
                *inputs += total(group);
                buckets.push(all);
            }
            _ => parts.push((total(group), None, vec![all])),
        }
    }
    let numbered = parts.into_iter().enumerate();
    let numbered = numbered.map(|(number, (inputs, lane, buckets))| {
        let number = number as u32;
        (
            Part {
                number,
                inputs,
                lane,
            },
            buckets,
        )
    });
    numbered.collect()
}

fn lanes_for(inputs: u64, most: usize, size: u64) -> usize {
    let wanted = inputs.div_ceil(size);
    usize::try_from(wanted)
        .unwrap_or(LANES)
        .min(most)
        .min(LANES)
}

fn take_apart(
    group: usize,
    counts: &[u64],
    lanes: usize,
) -> impl Iterator<Item = (u64, Option<Lane>, Buckets)> {
    let of = lanes as u32;
    (0..lanes).map(move |index| {
        let mine: Vec<usize> = (index..LANES).step_by(lanes).collect();
        let inputs = mine.iter().map(|lane| counts[*lane]).sum();
        let lane = Lane {
            index: index as u32,
            of,
        };
        (inputs, Some(lane), vec![(group, mine)])
    })
}

#[cfg(test)]
mod tests {
    use super::super::spool::{GROUPS, bucket};
    use super::*;

    fn counts(groups: &[(usize, u64)]) -> (Vec<u64>, Vec<u64>) {
        let mut counts = vec![0; GROUPS * LANES];
        let mut heaviest = vec![0; GROUPS];
        for (group, each) in groups {
            (0..LANES).for_each(|lane| counts[bucket(*group, lane)] = *each);
            heaviest[*group] = each * LANES as u64;
        }
        (counts, heaviest)
    }

    fn check(counts: &[u64], parts: &[(Part, Buckets)]) {
        let mut seen = vec![0; counts.len()];
        for (part, buckets) in parts {
            let mut inputs = 0;
            for (group, lanes) in buckets {
                for lane in lanes {
                    seen[bucket(*group, *lane)] += 1;
                    inputs += counts[bucket(*group, *lane)];
                }
            }
            assert_eq!(part.inputs, inputs);
        }
        let filled = counts.iter().zip(&seen).filter(|(count, _)| **count > 0);
        assert!(filled.into_iter().all(|(_, seen)| *seen == 1));
        assert!(seen.iter().all(|seen| *seen <= 1));
    }

    #[test]
    fn small_groups_share_a_part_and_every_bucket_is_in_one() {
        let (counts, heaviest) = counts(&(0..100).map(|group| (group, 200)).collect::<Vec<_>>());
        let parts = assign(&counts, &heaviest, 8, 100_000);
        check(&counts, &parts);
        assert_eq!(parts.len(), 3);
    }

    #[test]
    fn a_giant_is_taken_apart_as_far_as_its_limits_allow() {
        let (counts, heaviest) = counts(&[(3, 50_000), (7, 10)]);
        for (most, expected) in [(1, 2), (3, 4), (100, 9)] {
            let parts = assign(&counts, &heaviest, most, 100_000);
            check(&counts, &parts);
            assert_eq!(parts.len(), expected, "at most {most} lanes");
        }
    }

    #[test]
    fn shares_add_up() {
        for limit in 1..20 {
            for of in 1..=limit as u32 {
                let shares: Vec<usize> = (0..of)
                    .map(|index| Lane { index, of }.share(limit))
                    .collect();
                assert_eq!(shares.iter().sum::<usize>(), limit);
                assert!(shares.iter().all(|share| *share > 0));
            }
        }
    }
}
