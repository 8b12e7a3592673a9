//! The ending of a file by its type.

const ENDINGS: [(&str, &str); 30] = [
    ("application/gzip", "gz"),
    ("application/javascript", "js"),
    ("application/json", "json"),
    ("application/ld+json", "json"),
    ("application/msword", "doc"),
    ("application/pdf", "pdf"),
    ("application/rss+xml", "xml"),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xlsx",
    ),
    ("application/xhtml+xml", "html"),
    ("application/xml", "xml"),
    ("application/zip", "zip"),
    ("audio/mpeg", "mp3"),
    ("audio/wav", "wav"),
    ("font/woff2", "woff2"),
    ("image/avif", "avif"),
    ("image/bmp", "bmp"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/tiff", "tiff"),
    ("image/webp", "webp"),
    ("text/css", "css"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/javascript", "js"),
    ("text/plain", "txt"),
    ("text/xml", "xml"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
];

/// The ending for this type; `bin` for one that is not known.
pub(super) fn ending(content_type: Option<&str>) -> &'static str {
    let essence = content_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    let known = ENDINGS.binary_search_by(|(name, _)| (*name).cmp(&essence));
    known.map_or("bin", |index| ENDINGS[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_endings() {
        assert!(ENDINGS.is_sorted());
        assert_eq!(ending(Some("Text/HTML; charset=utf-8")), "html");
        assert_eq!(ending(Some("../../etc/passwd")), "bin");
        assert_eq!(ending(None), "bin");
    }
}
