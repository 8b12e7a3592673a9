//! Bodies stored and read back, by this crate's libraries and by those of Python.

use std::fs;
use std::io::Read;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::python::python;

mod by_python;

const HEADERS: [(&str, &[u8]); 5] = [
    ("Content-Type", b"text/html; charset=utf-8"),
    ("Content-Encoding", b"gzip"),
    ("content-length", b"3"),
    ("X-Two", b"a"),
    ("x-two", b"b"),
];

fn response(number: u64, body: &[u8]) -> StoredResponse<'_> {
    StoredResponse {
        number,
        name: None,
        url: "http://a.example/p?q=1",
        status: 200,
        reason: "OK",
        headers: &HEADERS,
        decoded: true,
        ip: Some([192, 0, 2, 7].into()),
        at: "2026-11-22T08:00:00.123Z",
        body,
    }
}

fn bodies() -> Vec<Vec<u8>> {
    vec![
        b"<p>one".to_vec(),
        Vec::new(),
        b"HTTP/1.1 200 OK\r\n\r\nWARC/1.1\r\n\r\n\0\x1f\x8b".to_vec(),
        (0..200_000_u32)
            .map(|index| ((index * 7919) >> 5) as u8)
            .collect(),
        b"last".to_vec(),
    ]
}

#[test]
fn bodies_in_records_are_text_or_base64_and_cut() {
    let store = |body: &[u8], most| {
        Sink::Inline(most)
            .store(&response(0, body))
            .unwrap()
            .unwrap()
    };
    let text = |text: &str, cut| Body::Text {
        text: text.to_owned(),
        cut,
    };
    let base64 = |text: &str, cut| Body::Base64 {
        base64: text.to_owned(),
        cut,
    };
    assert_eq!(
        store("\u{e9}t\u{e9}".as_bytes(), 99),
        text("\u{e9}t\u{e9}", false)
    );
    assert_eq!(store("\u{e9}t\u{e9}".as_bytes(), 4), text("\u{e9}t", true));
    assert_eq!(store(b"a\xff", 99), base64("Yf8=", false));
    assert_eq!(store(b"a\xc3", 99), base64("YcM=", false));
    assert_eq!(store(b"a\xffbc", 2), base64("Yf8=", true));
    assert_eq!(store(b"", 0), text("", false));
    assert_eq!(Sink::Nowhere.store(&response(0, b"a")).unwrap(), None);
}

#[test]
fn files_are_in_folders_of_a_thousand() {
    let root = tempfile::tempdir().unwrap();
    let mut sink = Sink::Files(Files::new(root.path(), "bodies").unwrap());
    for (number, expected) in [
        (0, "bodies/000/000/000000000.html"),
        (12_345_678, "bodies/012/345/012345678.html"),
        (12_345_679, "bodies/012/345/012345679.html"),
        (9_999_999_999, "bodies/9999/999/9999999999.html"),
    ] {
        let body = format!("body {number}");
        let stored = sink.store(&response(number, body.as_bytes())).unwrap();
        let file = expected.to_owned();
        assert_eq!(stored, Some(Body::File { file }));
        assert_eq!(
            fs::read_to_string(root.path().join(expected)).unwrap(),
            body
        );
    }
    sink.finish().unwrap();
}

fn warcs(root: &Path) -> Vec<(String, u64)> {
    let warc = Warc::new(root, "warc", "part-00001").unwrap();
    let large = Large::new(root, "warc", "part-00001");
    let mut sink = Sink::Warc(Box::new(warc.longest(2_500)), large);
    let stored = bodies()
        .iter()
        .enumerate()
        .map(
            |(number, body)| match sink.store(&response(number as u64, body)).unwrap() {
                Some(Body::Warc { warc, offset }) => (warc, offset),
                other => panic!("{other:?}"),
            },
        )
        .collect();
    sink.finish().unwrap();
    stored
}

#[test]
fn a_body_that_a_warc_file_has_already_is_referred_to() {
    let root = tempfile::tempdir().unwrap();
    let warc = Warc::new(root.path(), "warc", "part-00001").unwrap();
    let large = Large::new(root.path(), "warc", "part-00001");
    let mut sink = Sink::Warc(Box::new(warc), large);
    let (long, short) = ("long ".repeat(400), "short");
    let places = [&*long, short, &*long, short].map(|body| {
        let number = body.len() as u64;
        match sink.store(&response(number, body.as_bytes())).unwrap() {
            Some(Body::Warc { warc, offset }) => (warc, offset),
            other => panic!("{other:?}"),
        }
    });
    sink.finish().unwrap();
    assert_eq!(places[0], places[2]);
    assert_ne!(places[1], places[3]);
    let bytes = fs::read(root.path().join(&places[0].0)).unwrap();
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..])
        .read_to_end(&mut text)
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.matches(&long).count(), 1);
    let kinds = ["response", "revisit"].map(|kind| {
        let line = format!("WARC-Type: {kind}\r\n");
        text.matches(&line).count()
    });
    assert_eq!(kinds, [3, 1]);
    let field = |record: &str, name: &str| {
        let line = record.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} in {record}"))
            .to_owned()
    };
    let records: Vec<&str> = text.split("WARC/1.1\r\n").collect();
    let first = records.iter().find(|it| it.contains(&long)).unwrap();
    let again = records.iter().find(|it| it.contains("revisit")).unwrap();
    let profile = field(again, "WARC-Profile: ");
    assert!(
        profile.ends_with("/revisit/identical-payload-digest"),
        "{profile}"
    );
    for (referring, referred) in [
        ("WARC-Refers-To-Target-URI: ", "WARC-Target-URI: "),
        ("WARC-Refers-To-Date: ", "WARC-Date: "),
        ("WARC-Payload-Digest: ", "WARC-Payload-Digest: "),
    ] {
        assert_eq!(field(again, referring), field(first, referred));
    }
    let (_, block) = again.split_once("\r\n\r\n").unwrap();
    let length: usize = field(again, "Content-Length: ").parse().unwrap();
    assert_eq!(block.len(), length + 4, "{again}");
}

#[test]
fn a_record_of_a_warc_file_stands_where_it_was_said() {
    let root = tempfile::tempdir().unwrap();
    let places = warcs(root.path());
    assert_eq!(places[0].0, "warc/part-00001-00000.warc.gz");
    assert_eq!(places[4].0, "warc/part-00001-00001.warc.gz");
    for ((file, offset), body) in places.iter().zip(bodies()) {
        let bytes = fs::read(root.path().join(file)).unwrap();
        let mut record = Vec::new();
        let from = usize::try_from(*offset).unwrap();
        flate2::read::GzDecoder::new(&bytes[from..])
            .read_to_end(&mut record)
            .unwrap();
        let text = String::from_utf8_lossy(&record);
        let (head, block) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:"),
            "{head}"
        );
        assert!(head.contains("\r\nWARC-Date: 2026-11-22T08:00:00.123Z\r\nWARC-Target-URI: http://a.example/p?q=1\r\nWARC-IP-Address: 192.0.2.7\r\n"), "{head}");
        let (http, _) = block.split_once("\r\n\r\n").unwrap();
        let expected = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Archive-Orig-Content-Encoding: gzip\r\nX-Archive-Orig-content-length: 3\r\n\
             X-Two: a\r\nx-two: b\r\nContent-Length: {}",
            body.len()
        );
        assert_eq!(http, expected);
        let ending = [&body[..], b"\r\n\r\n"].concat();
        assert!(record.ends_with(&ending));
        assert!(
            head.ends_with(&format!("Content-Length: {}", http.len() + 4 + body.len())),
            "{head}"
        );
    }
}

#[test]
fn headers_cannot_break_a_record() {
    let root = tempfile::tempdir().unwrap();
    let mut warc = Warc::new(root.path(), "", "x").unwrap();
    let headers: [(&str, &[u8]); 3] = [("a", b"b\r\nc: d"), ("e\n", b"f"), ("g", b"\xff")];
    let hostile = StoredResponse {
        headers: &headers,
        reason: "OK\r\nh: i",
        url: "http://a/\r\nWARC-Type: x",
        ..response(0, b"")
    };
    assert_eq!(
        http_of(&hostile),
        b"HTTP/1.1 200 OK  h: i\r\ng: \xff\r\nContent-Length: 0\r\n\r\n"
    );
    warc.store(&hostile).unwrap();
    let mut text = String::new();
    let bytes = fs::read(root.path().join("x-00000.warc.gz")).unwrap();
    let _ = flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text);
    assert!(!text.contains("\r\nWARC-Type: x"), "{text}");
}

fn http_of(response: &StoredResponse<'_>) -> Vec<u8> {
    super::warc::http_head(response, response.body.len() as u64)
}

fn shards(root: &Path) -> Vec<Option<Body>> {
    let shards = TarShards::new(root, "", "part-00001").unwrap().most(3);
    let mut sink = Sink::Tar(shards, Large::new(root, "", "part-00001"));
    let stored = bodies()
        .iter()
        .enumerate()
        .map(|(number, body)| sink.store(&response(number as u64, body)).unwrap())
        .collect();
    sink.finish().unwrap();
    stored
}

#[test]
fn a_shard_holds_each_body_and_what_is_known_of_it() {
    let root = tempfile::tempdir().unwrap();
    let stored = shards(root.path());
    assert_eq!(
        stored[3],
        Some(Body::Tar {
            tar: "part-00001-00001.tar".to_owned(),
            name: "000000003.html".to_owned()
        })
    );
    let mut found = Vec::new();
    for shard in ["part-00001-00000.tar", "part-00001-00001.tar"] {
        let mut archive = tar::Archive::new(fs::File::open(root.path().join(shard)).unwrap());
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            found.push((name, bytes));
        }
    }
    assert_eq!(found.len(), 10);
    for (index, body) in bodies().into_iter().enumerate() {
        assert_eq!(found[2 * index].0, format!("00000000{index}.json"));
        let about: serde_json::Value = serde_json::from_slice(&found[2 * index].1).unwrap();
        assert_eq!(about["headers"]["x-two"], "a, b");
        assert_eq!(about["n"], index);
        assert_eq!(
            found[2 * index + 1],
            (format!("00000000{index}.html"), body)
        );
    }
}

/// The bodies of the entries of a tar file that are whole, and whether it ends as it should.
fn entries(bytes: &[u8]) -> usize {
    let mut archive = tar::Archive::new(bytes);
    let mut count = 0;
    for entry in archive.entries().unwrap() {
        io::copy(&mut entry.unwrap(), &mut io::sink()).unwrap();
        count += 1;
    }
    count
}

#[test]
fn an_archive_is_cut_behind_its_last_record_wherever_it_was_torn() {
    let root = tempfile::tempdir().unwrap();
    for ending in ["tar", "warc.gz"] {
        let mut sink = match ending {
            "tar" => {
                let shards = TarShards::new(root.path(), "", "torn").unwrap();
                Sink::Tar(shards, Large::new(root.path(), "", "torn"))
            }
            _ => {
                let warc = Warc::new(root.path(), "", "torn").unwrap();
                Sink::Warc(Box::new(warc), Large::new(root.path(), "", "torn"))
            }
        };
        for (number, body) in bodies().iter().take(3).enumerate() {
            sink.store(&response(number as u64, body)).unwrap();
        }
        sink.sync().unwrap();
        let (name, recorded) = sink.archive().unwrap();
        sink.store(&response(9, b"nobody recorded this")).unwrap();
        sink.finish().unwrap();
        let path = root.path().join(name);
        let whole = fs::read(&path).unwrap();
        let recorded = recorded as usize;
        assert!(whole.len() > recorded + 100);
        for end in (recorded..=whole.len()).step_by(7).chain([whole.len()]) {
            fs::write(&path, &whole[..end]).unwrap();
            for _ in 0..2 {
                cut(&path, recorded as u64).unwrap();
                let after = fs::read(&path).unwrap();
                assert_eq!(after[..recorded], whole[..recorded]);
                match ending {
                    "tar" => assert_eq!(entries(&after), 6),
                    _ => assert_eq!(after.len(), recorded),
                }
            }
        }
        fs::write(&path, &whole[..recorded - 1]).unwrap();
        let error = cut(&path, recorded as u64).unwrap_err().to_string();
        assert!(error.contains("records name bodies"), "{error}");
    }
}

#[test]
fn files_without_a_record_go_and_others_stay() {
    let root = tempfile::tempdir().unwrap();
    let mut sink = Sink::Files(Files::new(root.path(), "bodies").unwrap());
    for number in [1, 2, 2000] {
        sink.store(&response(number, b"x")).unwrap();
    }
    fs::write(root.path().join("bodies/note.txt"), "mine").unwrap();
    keep_some(&root.path().join("bodies"), &|number| number == 2).unwrap();
    let is_there = |name: &str| root.path().join("bodies").join(name).exists();
    assert!(is_there("000/000/000000002.html") && is_there("note.txt"));
    assert!(!is_there("000/000/000000001.html") && !is_there("000/002/000002000.html"));
}

/// Stores a body that came in pieces; the number is 7.
fn adopted(root: &Path, mut sink: Sink) -> Body {
    let response = StoredResponse {
        decoded: false,
        body: &[],
        ..response(7, b"")
    };
    let digests = Digests {
        blake3: false,
        sha256: true,
        md5: false,
    };
    let mut partials = Partials::take_over(root, "part-00001", 1, digests).unwrap();
    let mut partial = partials.create(7, None, sink.before(&response)).unwrap();
    bodies()
        .iter()
        .for_each(|body| partial.append(body).unwrap());
    let stored = sink.adopt(&response, partial.whole()).unwrap().unwrap();
    sink.finish().unwrap();
    stored
}

#[test]
fn a_large_body_becomes_an_archive_that_others_read() {
    let root = tempfile::tempdir().unwrap();
    let large = || Large::new(root.path(), "", "part-00001");
    let shards = TarShards::new(root.path(), "", "part-00001").unwrap();
    let stored = adopted(root.path(), Sink::Tar(shards, large()));
    let (tar, name) = ("part-00001-large-000000007.tar", "000000007.html");
    let expected = Body::Tar {
        tar: tar.into(),
        name: name.into(),
    };
    assert_eq!(stored, expected);
    let mut archive = tar::Archive::new(fs::File::open(root.path().join(tar)).unwrap());
    let mut found = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut bytes = Vec::new();
        entry.unwrap().read_to_end(&mut bytes).unwrap();
        found.push(bytes);
    }
    assert_eq!((found.len(), &found[1]), (2, &bodies().concat()));
    let about: serde_json::Value = serde_json::from_slice(&found[0]).unwrap();
    assert_eq!(about["url"], "http://a.example/p?q=1");

    let warc = Warc::new(root.path(), "", "part-00001").unwrap();
    adopted(root.path(), Sink::Warc(Box::new(warc), large()));
    let program = "import hashlib\n\
                   from warcio.archiveiterator import ArchiveIterator\n\
                   path = 'part-00001-large-000000007.warc'\n\
                   for record in ArchiveIterator(open(path, 'rb'), check_digests='raise'):\n\
                   \x20body = record.content_stream().read()\n\
                   \x20if record.rec_type == 'response': print(len(body), hashlib.sha256(body).hexdigest())";
    let Some(found) = python("warcio", program, root.path()) else {
        return;
    };
    let body = bodies().concat();
    let digest = ring::digest::digest(&ring::digest::SHA256, &body);
    let digest = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    let digest: String = digest.collect();
    assert_eq!(found.trim(), format!("{} {digest}", body.len()));
}

#[test]
fn the_first_record_of_a_warc_file_gets_any_length() {
    let shortest = (0..1000).find(|length| super::warc::info("now", *length).is_some());
    let shortest = shortest.unwrap();
    for length in shortest..shortest + 1200 {
        let made = super::warc::info("now", length).unwrap_or_else(|| panic!("{length}"));
        assert_eq!(made.len(), length);
    }
}

#[test]
fn no_archive_is_written_over() {
    let root = tempfile::tempdir().unwrap();
    shards(root.path());
    let again = TarShards::new(root.path(), "", "part-00001").unwrap();
    let large = Large::new(root.path(), "", "part-00001");
    let again = Sink::Tar(again, large).store(&response(0, b""));
    assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
}

proptest! {
    #[test]
    fn members_of_gzip_hold_what_was_given(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..2000), 0..4)) {
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let mut members = super::gzip::Members::new();
        let mut bytes = Vec::new();
        members.append(&pieces, &mut bytes).unwrap();
        members.append(&pieces, &mut bytes).unwrap();
        let mut read = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut read).unwrap();
        prop_assert_eq!(read, pieces.concat().repeat(2));
    }
}
