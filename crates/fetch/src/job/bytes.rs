//! Numbers of bytes as people write them, for all options and settings: `10GB`, `20M`, `64Ki` or `512`.

use serde::{Deserialize, Deserializer, de::Error};

/// Units of bytes, the largest first. A unit may lack its B.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1000),
    ("B", 1),
];

/// A number of bytes with its unit: `10GB` or `10G`.
pub(super) fn with_unit(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    // People write K and k, whether a kilobyte has 1000 or 1024 bytes.
    let unit = match unit.trim_start() {
        "K" | "KB" => "kB".to_owned(),
        "ki" | "kiB" => "KiB".to_owned(),
        unit if unit.ends_with('B') => unit.to_owned(),
        unit => format!("{unit}B"),
    };
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*size)
}

/// A number of bytes above 0, with a unit or without one.
///
/// # Errors
/// What to write.
pub fn bytes<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let text = text.trim();
    let read = with_unit(text).or_else(|| with_unit(&format!("{text}B")));
    let read = read.filter(|bytes| *bytes > 0);
    read.and_then(|bytes| T::try_from(bytes).ok())
        .ok_or_else(|| {
            format!(
                "{text:?} cannot be a size: write a whole number above 0 and below 16 EiB, such as 500k, 20M or 64KiB"
            )
        })
}

/// The same in a job file, where it may also be a number.
pub(super) fn in_file<'de, T: TryFrom<u64>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Number(u64),
        Text(String),
    }
    let text = match Given::deserialize(from)? {
        Given::Number(number) => number.to_string(),
        Given::Text(text) => text,
    };
    bytes(&text).map_err(D::Error::custom)
}

/// The same where it is optional.
pub(super) fn in_file_some<'de, T: TryFrom<u64>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    in_file(from).map(Some)
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
    fn each_unit_is_read_with_and_without_its_b() {
        for (unit, size) in [
            ("k", 1000),
            ("K", 1000),
            ("M", 1_000_000),
            ("G", 1_000_000_000),
            ("T", 1_000_000_000_000),
            ("ki", 1 << 10),
            ("Ki", 1 << 10),
            ("Mi", 1 << 20),
            ("Gi", 1 << 30),
            ("Ti", 1 << 40),
        ] {
            for text in [
                format!("3{unit}"),
                format!("3{unit}B"),
                format!("3 {unit}B"),
            ] {
                assert_eq!(bytes(&text), Ok(3 * size), "{text}");
                assert_eq!(with_unit(&text), Some(3 * size), "{text}");
                let back = shown(3 * size);
                assert_eq!(bytes(&back), Ok(3 * size), "{text} {back}");
            }
        }
        assert_eq!((bytes("17"), bytes("17B")), (Ok(17_u64), Ok(17_u64)));
        assert_eq!(with_unit("17"), None);
        for wrong in [
            "",
            "0",
            "0M",
            "-1k",
            "1.5M",
            "M",
            "20m",
            "99999999T",
            "1kiBB",
            "1BB",
            "1KIB",
            "1 0k",
            "18446744073709551616",
        ] {
            assert!(bytes::<u64>(wrong).is_err(), "{wrong}");
        }
        assert!(bytes::<u8>("256").is_err());
        for (bytes, text) in [
            (1000, "1kB"),
            (1001, "1001B"),
            (1024, "1KiB"),
            (5 << 30, "5GiB"),
        ] {
            assert_eq!(shown(bytes), text);
        }
    }
}
