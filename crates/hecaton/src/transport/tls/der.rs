//! Reads DER, value by value (X.690 §8): as much of it as certificates need.

/// Tags.
pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT: u8 = 0x06;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
/// In a certificate.
pub(super) const VERSION: u8 = 0xa0;
pub(super) const ISSUER_ID: u8 = 0x81;
pub(super) const SUBJECT_ID: u8 = 0x82;
pub(super) const EXTENSIONS: u8 = 0xa3;

/// The unread rest.
pub(super) struct Der<'a>(pub &'a [u8]);

/// A value that was read.
pub(super) struct Value<'a> {
    /// With tag and length.
    pub whole: &'a [u8],
    pub content: &'a [u8],
}

impl<'a> Der<'a> {
    /// Whether the next value is of this kind.
    pub fn is_next(&self, tag: u8) -> bool {
        self.0.first() == Some(&tag)
    }

    /// The next value, which must be of this kind.
    pub fn next(&mut self, tag: u8) -> Option<Value<'a>> {
        let (&[found, first], rest) = self.0.split_first_chunk()?;
        if found != tag {
            return None;
        }
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let digits = digits.iter();
                (
                    digits.fold(0, |sum, digit| sum << 8 | usize::from(*digit)),
                    rest,
                )
            }
            _ => return None,
        };
        let (content, behind) = rest.split_at_checked(length)?;
        let (whole, _) = self.0.split_at(self.0.len() - behind.len());
        self.0 = behind;
        Some(Value { whole, content })
    }

    /// The next value, which must be a number above zero, without its leading zeros.
    pub fn number(&mut self) -> Option<&'a [u8]> {
        let bytes = self.next(INTEGER)?.content;
        let from = bytes.iter().position(|byte| *byte != 0)?;
        Some(&bytes[from..])
    }

    /// The content of the next value; none if anything follows that value.
    pub fn only(mut self, tag: u8) -> Option<&'a [u8]> {
        let value = self.next(tag)?;
        self.0.is_empty().then_some(value.content)
    }
}
