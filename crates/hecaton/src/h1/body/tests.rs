//! Bodies as servers send them, and as they should not.

use bytes::Bytes;

use super::*;

fn config() -> Config {
    let mut config = Config::new(std::time::Duration::from_secs(1));
    config.max_header_bytes = 16 << 10;
    config.max_header_fields = 100;
    config
}

/// Takes what is ready of a body; true when it is whole.
fn take(
    reader: &mut BodyFraming,
    input: &mut BytesMut,
    body: &mut Vec<u8>,
) -> Result<bool, BodyError> {
    loop {
        match reader.ready(input, &config())? {
            Ready::Data(count) => {
                assert!(count > 0);
                body.extend_from_slice(&input.split_to(count));
                reader.taken(count);
            }
            ready => return Ok(ready == Ready::End),
        }
    }
}

/// Reads a body that comes in these pieces and then ends; also what is left over.
fn read(framing: Framing, pieces: &[&[u8]]) -> Result<(Bytes, Bytes), BodyError> {
    let mut reader = BodyFraming::new(framing);
    let (mut input, mut body) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        take(&mut reader, &mut input, &mut body)?;
    }
    if !take(&mut reader, &mut input, &mut body)? {
        reader.end()?;
    }
    Ok((body.into(), input.freeze()))
}

fn chunked(text: &str) -> Result<(Bytes, Bytes), BodyError> {
    read(Framing::Chunked, &[text.as_bytes()])
}

#[test]
fn by_length() {
    let (body, rest) = read(Framing::Length(5), &[b"he", b"llo!"]).unwrap();
    assert_eq!((&body[..], &rest[..]), (&b"hello"[..], &b"!"[..]));
    assert_eq!(
        read(Framing::Length(5), &[b"hell"]),
        Err(BodyError::CutShort)
    );
    assert!(read(Framing::Length(0), &[]).unwrap().0.is_empty());
}

#[test]
fn until_the_end() {
    assert_eq!(read(Framing::Close, &[b"he", b"llo"]).unwrap().0, "hello");
    assert_eq!(read(Framing::Close, &[b"hello", b"!"]).unwrap().0, "hello!");
}

#[test]
fn in_chunks() {
    let (body, rest) =
        chunked("5;x=\"y\"\r\nhello\r\n00A \r\n, world...\r\n0\r\nT: 1\r\n\r\nnext").unwrap();
    assert_eq!(
        (&body[..], &rest[..]),
        (&b"hello, world..."[..], &b"next"[..])
    );
    for text in [
        "5\r\nhell",
        "5\r\nhello",
        "5\r\nhello\r\n",
        "0\r\n",
        "0\r\nT: 1\r\n",
        "",
    ] {
        assert_eq!(chunked(text), Err(BodyError::CutShort), "{text:?}");
    }
    for text in [
        "x\r\n",
        "-1\r\n",
        "+5\r\nhello",
        "\r\n",
        "5 5\r\n",
        "5\n\r\nhello\r\n0\r\n\r\n",
        "5\r\r\nhello\r\n0\r\n\r\n",
        "5\nhello\n0\n\n",
        "0\r\nT: 1\n",
        "\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "1\r\nhello",
        "11111111111111111\r\n",
        " 5\r\nhello",
        "5\u{c}\r\nhello\r\n0\r\n\r\n",
    ] {
        assert!(
            matches!(chunked(text), Err(BodyError::Malformed(_))),
            "{text:?}"
        );
    }
    assert_eq!(
        chunked("ffffffffffffffff\r\nhello"),
        Err(BodyError::CutShort)
    );
    let long = "x".repeat(MOST_OVERHEAD);
    assert!(chunked(&format!("5;{long}\r\nhello\r\n0\r\n\r\n")).is_err());
    assert!(chunked(&format!("0\r\n{}\r\n", format!("a: {long}\r\n").repeat(2))).is_err());
}

#[test]
fn the_longest_line_reads_alike_when_its_end_is_cut() {
    let line = format!("0;{}\r", "x".repeat(MOST_OVERHEAD - 2));
    let pieces: [&[u8]; 2] = [line.as_bytes(), b"\n\r\n"];
    assert!(
        read(Framing::Chunked, &[&pieces.concat()])
            .unwrap()
            .0
            .is_empty()
    );
    assert!(read(Framing::Chunked, &pieces).unwrap().0.is_empty());
}

proptest::proptest! {
    /// However the bytes are cut into pieces, the body is the same, and so is what is left.
    #[test]
    fn every_split_reads_alike(chunks in proptest::collection::vec("[a-z]{1,40}", 0..6), cuts in proptest::collection::vec(0usize..400, 0..8)) {
        let mut wire: String = chunks.iter().map(|c| format!("{:x}\r\n{c}\r\n", c.len())).collect();
        wire.push_str("0\r\n\r\nrest");
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % wire.len()).chain([0, wire.len()]).collect();
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &wire.as_bytes()[cut[0]..cut[1]]).collect();
        let (body, rest) = read(Framing::Chunked, &pieces).unwrap();
        proptest::prop_assert_eq!(body, chunks.concat());
        proptest::prop_assert_eq!(&rest[..], b"rest");
    }

    /// Any bytes end in a body or an error, never in more than came.
    #[test]
    fn nothing_panics_and_nothing_grows(bytes in "([0-9a-f]{1,3}[;\r \n]{0,3}[a-z\r\n]{0,20}){0,9}") {
        for framing in [Framing::Chunked, Framing::Close, Framing::Length(20)] {
            if let Ok((body, _)) = read(framing, &[bytes.as_bytes()]) {
                proptest::prop_assert!(body.len() <= bytes.len());
            }
        }
    }
}

fn with_setting(text: &str, lenient: bool) -> Result<(Vec<u8>, bool), BodyError> {
    let mut config = config();
    config.lenient = lenient;
    let mut reader = BodyFraming::new(Framing::Chunked);
    let (mut input, mut body) = (BytesMut::from(text), Vec::new());
    loop {
        match reader.ready(&mut input, &config)? {
            Ready::Data(count) => {
                body.extend_from_slice(&input.split_to(count));
                reader.taken(count);
            }
            Ready::Wanting => return Err(BodyError::CutShort),
            Ready::End => return Ok((body, reader.is_strict())),
        }
    }
}

#[test]
fn a_connection_is_not_reused_after_lenient_chunks() {
    for text in [
        "5\nhello\n0\n\n",
        "5\r\nhello\n0\r\n\r\n",
        "5 \nhello\r\n0\r\n\r\n",
        "5 bytes\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nT: 1\r\r\n\r\r\n",
        "5\r\nhello\r\n0\r\n\r\r\n",
        "5\r\nhello\r\n0\r\nT: 1\n\n",
    ] {
        assert!(
            matches!(with_setting(text, false), Err(BodyError::Malformed(_))),
            "{text:?}"
        );
        assert_eq!(
            with_setting(text, true),
            Ok((b"hello".to_vec(), false)),
            "{text:?}"
        );
    }
    // A trailer frames nothing: it is left out, or cleaned.
    let named = "5\r\nhello\r\n0\r\nT 1: 1\r\nT: a\u{1}\r\n\r\n";
    assert!(with_setting(named, false).is_err());
    assert_eq!(with_setting(named, true), Ok((b"hello".to_vec(), true)));
    for text in [
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "5;a\nhello\r\n0\r\n\r\n",
        "5\r\r\nhello\r\n0\r\n\r\n",
        "5\n\nhello\r\n0\r\n\r\n",
        "5\r\nhello\n\r\n0\r\n\r\n",
        "5\r\nhello\r\r\n0\r\n\r\n",
        "\n5\nhello\n0\n\n",
        "0\r\nno field\r\n\r\n",
    ] {
        for lenient in [false, true] {
            let read = with_setting(text, lenient);
            assert!(
                matches!(read, Err(BodyError::Malformed(_))),
                "{text:?}: {read:?}"
            );
        }
    }
}

proptest::proptest! {
    /// A body that is accepted without the setting is the same with it.
    #[test]
    fn the_setting_changes_no_body(text in "(([0-9a-f]{1,2}|5)(;a)?(\r\n|\n|\r\r\n)[a-z\r\n]{0,6}(\r\n|\n)){0,4}0(\r\n|\n)(T: 1(\r\n|\r\r\n|\n))?(\r\n|\n)") {
        if let Ok(read) = with_setting(&text, false) {
            proptest::prop_assert_eq!(with_setting(&text, true), Ok(read));
        }
    }
}
