//! The check value of an id, which only a client that read the response can know.

use siphasher::sip::SipHasher24;

/// Length of a check value's text.
pub(crate) const LENGTH: usize = 8;

/// The key of one test server's check values, chosen at random when it starts.
pub(crate) struct Key(SipHasher24);

/// A check value: the lower 32 bits of SipHash-2-4 over nonce and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckValue(pub(crate) u32);

impl Key {
    pub(crate) fn random() -> Key {
        Key(SipHasher24::new_with_keys(rand::random(), rand::random()))
    }

    /// The whole hash, whose lower half is the check value.
    pub(crate) fn hash(&self, nonce: u64, id: u64) -> u64 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&nonce.to_le_bytes());
        bytes[8..].copy_from_slice(&id.to_le_bytes());
        self.0.hash(&bytes)
    }

    pub(crate) fn check_value(&self, nonce: u64, id: u64) -> CheckValue {
        CheckValue(self.hash(nonce, id) as u32)
    }
}

impl CheckValue {
    /// Eight lower-case hexadecimal digits.
    pub(crate) fn text(self) -> [u8; LENGTH] {
        let mut text = [0; LENGTH];
        for (index, digit) in text.iter_mut().enumerate() {
            let nibble = self.0 >> (28 - 4 * index) & 15;
            *digit = b"0123456789abcdef"[nibble as usize];
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_number_in_hexadecimal() {
        for number in [0, 1, 0x0123_4567, 0x89ab_cdef, u32::MAX] {
            assert_eq!(
                CheckValue(number).text(),
                format!("{number:08x}").as_bytes()
            );
        }
    }

    #[test]
    fn check_values_depend_on_key_nonce_and_id() {
        let (key, other) = (Key::random(), Key::random());
        assert_eq!(key.check_value(1, 2), key.check_value(1, 2));
        let hashes = [
            key.hash(1, 2),
            key.hash(2, 1),
            key.hash(1, 3),
            other.hash(1, 2),
        ];
        for (at, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..at].contains(hash));
        }
    }
}
