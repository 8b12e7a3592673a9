//! Permutes the delays of a round, so that no client can know which of its requests has which delay.

/// How often the halves of a number are mixed.
const MIXES: usize = 4;

/// A random permutation of `0..count`: a Feistel network over the next power of four, walked until it is inside (Black
/// and Rogaway, *Ciphers with Arbitrary Finite Domains*, 2002).
pub(crate) struct Permutation {
    count: u64,
    /// Bits of half a number.
    half: u32,
    keys: [u64; MIXES],
}

impl Permutation {
    pub(crate) fn draw(count: u64) -> Permutation {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Permutation {
            count,
            half: bits.div_ceil(2).max(1),
            keys: rand::random(),
        }
    }

    /// The new position of `position`; a position outside of the round stays.
    pub(crate) fn of(&self, position: u64) -> u64 {
        if position >= self.count {
            return position;
        }
        let mut position = self.mixed(position);
        while position >= self.count {
            position = self.mixed(position);
        }
        position
    }

    fn mixed(&self, position: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (position >> self.half, position & mask);
        for key in self.keys {
            let mix = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (left, right) = (right, left ^ (mix ^ mix >> 32) & mask);
        }
        left << self.half | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_taken_once_and_few_stay() {
        for count in [0, 1, 2, 3, 50, 1000, 4096, 4097] {
            let order = Permutation::draw(count);
            let mut taken: Vec<u64> = (0..count).map(|position| order.of(position)).collect();
            let stays = (0..)
                .zip(&taken)
                .filter(|(position, to)| position == *to)
                .count();
            assert!(count < 50 || stays < 20, "{stays} of {count}");
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..count), "{count}");
            assert_eq!(order.of(count), count);
        }
    }
}
