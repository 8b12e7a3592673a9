//! Field sections of HTTP/3 (QPACK, RFC 9204) without a dynamic table: decodes what a client sends, and encodes without
//! compression. The tables are written out again here, so that the audit does not share an error of our own client.

use super::hpack::{Field, integer, put, string};

/// The static table (RFC 9204 appendix A): names and values.
#[rustfmt::skip]
const STATIC: [(&str, &str); 99] = [
    (":authority", ""), (":path", "/"), ("age", "0"), ("content-disposition", ""), ("content-length", "0"),
    ("cookie", ""), ("date", ""), ("etag", ""), ("if-modified-since", ""), ("if-none-match", ""),
    ("last-modified", ""), ("link", ""), ("location", ""), ("referer", ""), ("set-cookie", ""), (":method", "CONNECT"),
    (":method", "DELETE"), (":method", "GET"), (":method", "HEAD"), (":method", "OPTIONS"), (":method", "POST"),
    (":method", "PUT"), (":scheme", "http"), (":scheme", "https"), (":status", "103"), (":status", "200"),
    (":status", "304"), (":status", "404"), (":status", "503"), ("accept", "*/*"),
    ("accept", "application/dns-message"), ("accept-encoding", "gzip, deflate, br"), ("accept-ranges", "bytes"),
    ("access-control-allow-headers", "cache-control"), ("access-control-allow-headers", "content-type"),
    ("access-control-allow-origin", "*"), ("cache-control", "max-age=0"), ("cache-control", "max-age=2592000"),
    ("cache-control", "max-age=604800"), ("cache-control", "no-cache"), ("cache-control", "no-store"),
    ("cache-control", "public, max-age=31536000"), ("content-encoding", "br"), ("content-encoding", "gzip"),
    ("content-type", "application/dns-message"), ("content-type", "application/javascript"),
    ("content-type", "application/json"), ("content-type", "application/x-www-form-urlencoded"),
    ("content-type", "image/gif"), ("content-type", "image/jpeg"), ("content-type", "image/png"),
    ("content-type", "text/css"), ("content-type", "text/html; charset=utf-8"), ("content-type", "text/plain"),
    ("content-type", "text/plain;charset=utf-8"), ("range", "bytes=0-"),
    ("strict-transport-security", "max-age=31536000"),
    ("strict-transport-security", "max-age=31536000; includesubdomains"),
    ("strict-transport-security", "max-age=31536000; includesubdomains; preload"), ("vary", "accept-encoding"),
    ("vary", "origin"), ("x-content-type-options", "nosniff"), ("x-xss-protection", "1; mode=block"),
    (":status", "100"), (":status", "204"), (":status", "206"), (":status", "302"), (":status", "400"),
    (":status", "403"), (":status", "421"), (":status", "425"), (":status", "500"), ("accept-language", ""),
    ("access-control-allow-credentials", "FALSE"), ("access-control-allow-credentials", "TRUE"),
    ("access-control-allow-headers", "*"), ("access-control-allow-methods", "get"),
    ("access-control-allow-methods", "get, post, options"), ("access-control-allow-methods", "options"),
    ("access-control-expose-headers", "content-length"), ("access-control-request-headers", "content-type"),
    ("access-control-request-method", "get"), ("access-control-request-method", "post"), ("alt-svc", "clear"),
    ("authorization", ""), ("content-security-policy", "script-src 'none'; object-src 'none'; base-uri 'none'"),
    ("early-data", "1"), ("expect-ct", ""), ("forwarded", ""), ("if-range", ""), ("origin", ""),
    ("purpose", "prefetch"), ("server", ""), ("timing-allow-origin", "*"), ("upgrade-insecure-requests", "1"),
    ("user-agent", ""), ("x-forwarded-for", ""), ("x-frame-options", "deny"), ("x-frame-options", "sameorigin"),
];

/// The fields of a section; none if it is invalid.
pub(crate) fn decode(mut section: &[u8]) -> Option<Vec<Field>> {
    let section = &mut section;
    // A section that needs no dynamic table has no inserts. Its base means nothing.
    if integer(section, 8)? != 0 {
        return None;
    }
    integer(section, 7)?;
    let mut fields = Vec::new();
    while let Some(first) = section.first().copied() {
        let field = match first {
            0xc0.. => entry(integer(section, 6)?)?,
            _ if first & 0xd0 == 0x50 => {
                let name = entry(integer(section, 4)?)?.0;
                (name, string(section, 7)?)
            }
            _ if first & 0xe0 == 0x20 => (string(section, 3)?, string(section, 7)?),
            _ => return None,
        };
        fields.push(field);
    }
    Some(fields)
}

fn entry(index: usize) -> Option<Field> {
    let (name, value) = STATIC.get(index)?;
    Some(((*name).to_owned(), (*value).to_owned()))
}

/// A section with these fields, uncompressed.
pub(crate) fn encode(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0];
    for (name, value) in fields {
        put(&mut section, 0x20, 3, name);
        put(&mut section, 0, 7, value);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &str) -> Field {
        (name.into(), value.into())
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let long = "x".repeat(1000);
        let section = encode(&[(":status", "200"), ("x-long-name", &long)]);
        let fields = [field(":status", "200"), field("x-long-name", &long)];
        assert_eq!(decode(&section).unwrap(), fields);
    }

    /// The example of RFC 9204 appendix B.1, behind which a value of the table follows.
    #[test]
    fn entries_of_the_table_are_decoded() {
        let section = [&[0, 0, 0x51, 0x0b][..], b"/index.html", &[0xd1]].concat();
        let fields = [field(":path", "/index.html"), field(":method", "GET")];
        assert_eq!(decode(&section).unwrap(), fields);
    }

    #[test]
    fn sections_that_end_early_or_need_more_are_refused() {
        for section in [
            &[][..],
            &[0],
            &[2, 0, 0x80],
            &[0, 0, 0xff, 40],
            &[0, 0, 0x80],
            &[0, 0, 0x51, 5, b'a'],
        ] {
            assert!(decode(section).is_none(), "{section:?}");
        }
    }
}
