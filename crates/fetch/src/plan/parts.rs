//! Groups of hosts → parts: small groups together, a giant one divided into host shards. Pure decisions.

use serde::{Deserialize, Serialize};

use super::spool::SHARDS;

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
        alias = "lane",
        skip_serializing_if = "Option::is_none"
    )]
    pub shard: Option<HostShard>,
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

/// The buckets of a part: groups, each with some of its shards.
pub type Buckets = Vec<(usize, Vec<usize>)>;

/// Puts groups into parts, those that take longest first.
///
/// `counts` has the inputs by bucket, and `heaviest` the inputs of the largest host by group. A host is divided into
/// at most `max_shards` parts, and a part has about `size` inputs.
pub fn assign(
    counts: &[u64],
    heaviest: &[u64],
    max_shards: usize,
    size: u64,
) -> Vec<(Part, Buckets)> {
    // A group that is a little larger is not worth being taken apart.
    let (small_enough, giant) = (size.saturating_mul(5) / 4, size.saturating_mul(3) / 2);
    let groups: Vec<&[u64]> = counts.chunks(SHARDS).collect();
    let total = |group: usize| groups[group].iter().sum::<u64>();
    let mut filled: Vec<usize> = (0..groups.len())
        .filter(|group| total(*group) > 0)
        .collect();
    // A host of many inputs delays the end, and many small hosts do not.
    filled.sort_by_key(|group| std::cmp::Reverse(heaviest[*group]));
    let mut parts: Vec<(u64, Option<HostShard>, Buckets)> = Vec::new();
    let mut small: Vec<usize> = Vec::new();
    for group in filled {
        let shards = shard_count(total(group), max_shards, size);
        if total(group) > giant && shards > 1 {
            parts.extend(take_apart(group, groups[group], shards));
        } else {
            small.push(group);
        }
    }
    for group in small {
        let all = (group, (0..SHARDS).collect());
        match parts.last_mut() {
            Some((inputs, None, buckets)) if *inputs + total(group) <= small_enough => {
                *inputs += total(group);
                buckets.push(all);
            }
            _ => parts.push((total(group), None, vec![all])),
        }
    }
    let numbered = parts.into_iter().enumerate();
    let numbered = numbered.map(|(number, (inputs, shard, buckets))| {
        let number = number as u32;
        (
            Part {
                number,
                inputs,
                shard,
            },
            buckets,
        )
    });
    numbered.collect()
}

fn shard_count(inputs: u64, most: usize, size: u64) -> usize {
    let needed = inputs.div_ceil(size);
    usize::try_from(needed)
        .unwrap_or(SHARDS)
        .min(most)
        .min(SHARDS)
}

fn take_apart(
    group: usize,
    counts: &[u64],
    shards: usize,
) -> impl Iterator<Item = (u64, Option<HostShard>, Buckets)> {
    let of = shards as u32;
    (0..shards).map(move |index| {
        let mine: Vec<usize> = (index..SHARDS).step_by(shards).collect();
        let inputs = mine.iter().map(|shard| counts[*shard]).sum();
        let shard = HostShard {
            index: index as u32,
            of,
        };
        (inputs, Some(shard), vec![(group, mine)])
    })
}

#[cfg(test)]
mod tests {
    use super::super::spool::{GROUPS, bucket};
    use super::*;

    fn counts(groups: &[(usize, u64)]) -> (Vec<u64>, Vec<u64>) {
        let mut counts = vec![0; GROUPS * SHARDS];
        let mut heaviest = vec![0; GROUPS];
        for (group, each) in groups {
            (0..SHARDS).for_each(|shard| counts[bucket(*group, shard)] = *each);
            heaviest[*group] = each * SHARDS as u64;
        }
        (counts, heaviest)
    }

    fn check(counts: &[u64], parts: &[(Part, Buckets)]) {
        let mut seen = vec![0; counts.len()];
        for (part, buckets) in parts {
            let mut inputs = 0;
            for (group, shards) in buckets {
                for shard in shards {
                    seen[bucket(*group, *shard)] += 1;
                    inputs += counts[bucket(*group, *shard)];
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
            assert_eq!(parts.len(), expected, "at most {most} shards");
        }
    }

    #[test]
    fn a_part_of_an_older_version_is_read() {
        let old = r#"{"number":1,"inputs":5,"lane":{"index":1,"of":2}}"#;
        let part: Part = serde_json::from_str(old).unwrap();
        assert_eq!(part.shard, Some(HostShard { index: 1, of: 2 }));
        assert!(serde_json::to_string(&part).unwrap().contains("host_shard"));
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
