//! Archives read by libraries of Python.

use super::*;

#[test]
fn python_reads_the_shards() {
    let root = tempfile::tempdir().unwrap();
    shards(root.path());
    let program = "import tarfile, glob\n\
                   for shard in sorted(glob.glob('*.tar')):\n\
                   \x20with tarfile.open(shard) as tar:\n\
                   \x20 for member in tar: print(member.name, len(tar.extractfile(member).read()) if 'html' in member.name else '')";
    let Some(found) = python("tarfile", program, root.path()) else {
        return;
    };
    let expected: Vec<String> = bodies()
        .iter()
        .enumerate()
        .flat_map(|(index, body)| {
            [
                format!("00000000{index}.json "),
                format!("00000000{index}.html {}", body.len()),
            ]
        })
        .collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn warcio_reads_the_warc_files_and_finds_no_fault() {
    let root = tempfile::tempdir().unwrap();
    warcs(root.path());
    let program = "import glob, hashlib\n\
                   from warcio.archiveiterator import ArchiveIterator\n\
                   for path in sorted(glob.glob('warc/*.warc.gz')):\n\
                   \x20for record in ArchiveIterator(open(path, 'rb'), check_digests='raise'):\n\
                   \x20 if record.rec_type == 'response':\n\
                   \x20  body = record.content_stream().read()\n\
                   \x20  assert record.digest_checker.passed, record.digest_checker.problems\n\
                   \x20  print(record.rec_headers['WARC-Target-URI'], record.http_headers.get_statuscode(), len(body), hashlib.sha256(body).hexdigest())";
    let Some(found) = python("warcio", program, root.path()) else {
        return;
    };
    let expected: Vec<String> = bodies()
        .iter()
        .map(|body| {
            let digest = ring::digest::digest(&ring::digest::SHA256, body);
            let digest: String = digest
                .as_ref()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            format!("http://a.example/p?q=1 200 {} {digest}", body.len())
        })
        .collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}
