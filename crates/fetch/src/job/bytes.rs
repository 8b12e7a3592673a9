//! Numbers of bytes as people write them: `10GB`, and `20M` where nothing else can be meant.

/// Units of bytes, the largest first.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("KB", 1000),
    ("B", 1),
];

/// A number of bytes with its unit: `10GB`.
pub(super) fn with_unit(text: &str) -> Option<u64> {
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(*unit)
}

/// The same, and also without a B, as in `20M`, or without any unit.
///
/// # Errors
/// What to write.
pub fn bytes(text: &str) -> Result<u64, String> {
    let read = with_unit(text).or_else(|| with_unit(&format!("{text}B")));
    read.filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("{text:?} is not a number of bytes above 0: write 500k or 20M"))
}

/// A number of bytes, in the largest unit that leaves no fraction.
pub(super) fn shown(bytes: u64) -> String {
    let fits = |(_, unit): &&(&str, u64)| bytes.is_multiple_of(*unit);
    let (name, unit) = UNITS.iter().find(fits).unwrap_or(&("B", 1));
    format!("{}{name}", bytes / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_may_lack_their_b() {
        for (text, expected) in [
            ("20M", 20_000_000),
            ("1k", 1000),
            ("1K", 1000),
            ("3Mi", 3 << 20),
            ("2GB", 2_000_000_000),
            ("17", 17),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for wrong in ["", "0", "0M", "-1k", "1.5M", "M", "20m", "99999999T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(shown(1000), "1kB");
        assert_eq!(shown(1001), "1001B");
    }
}
