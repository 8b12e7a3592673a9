//! Lists of every form, whole and spoiled.

use std::io::{Cursor, Write};

use proptest::prelude::*;

use super::*;

fn stream(bytes: impl Into<Vec<u8>>) -> Source {
    Source::Stream("test".to_owned(), Box::new(Cursor::new(bytes.into())))
}

/// Each entry in a few words.
fn read(bytes: impl Into<Vec<u8>>, form: Option<Format>) -> Vec<String> {
    all(vec![stream(bytes)], form)
}

fn all(sources: Vec<Source>, form: Option<Format>) -> Vec<String> {
    let inputs = Inputs::open(sources, form).unwrap();
    inputs.map(|entry| shown(&entry.unwrap())).collect()
}

fn shown(entry: &Entry) -> String {
    match &entry.held {
        Ok(columns) => {
            let columns = columns.iter();
            let columns: Vec<String> = columns
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            format!("{}:{} {}", entry.number, entry.line, columns.join(" "))
        }
        Err(bad) => format!("{}:{} bad: {}", entry.number, entry.line, bad.reason),
    }
}

fn refusal(bytes: impl Into<Vec<u8>>, form: Option<Format>) -> String {
    Inputs::open(vec![stream(bytes)], form)
        .err()
        .unwrap()
        .to_string()
}

#[test]
fn lines_have_numbers_and_an_invalid_line_does_not_end_the_list() {
    let list = b"\xef\xbb\xbfhttp://a/\r\n\r\n  http://b/ \n\xff\xfe\nhttp://c\0/\nhttp://d/";
    assert_eq!(
        read(*list, None),
        [
            "0:1 url=http://a/",
            "1:3 url=http://b/",
            "2:4 bad: is not UTF-8 from its byte 1 on",
            "3:5 bad: contains a NUL byte",
            "4:6 url=http://d/",
        ]
    );
    assert_eq!(read("", None), [""; 0]);
}

#[test]
fn several_lists_are_numbered_through() {
    let sources = vec![
        stream("http://a/\n"),
        stream(""),
        stream("http://b/\nhttp://c/"),
    ];
    assert_eq!(
        all(sources, None),
        [
            "0:1 url=http://a/",
            "1:1 url=http://b/",
            "2:2 url=http://c/"
        ]
    );
}

#[test]
fn lists_without_a_column_of_the_first_are_refused() {
    let sources = vec![stream("sku,name\n1,a\n"), stream("sku\n2\n")];
    let last = Inputs::open(sources, Some(Format::Csv))
        .unwrap()
        .last()
        .unwrap();
    let why = last.unwrap_err().to_string();
    assert!(why.contains("has no column \"name\""), "{why}");
}

#[test]
fn compressed_lists_are_read_with_all_their_members() {
    let member = |text: &str| {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(text.as_bytes()).unwrap();
        writer.finish().unwrap()
    };
    let gzip = [member("http://a/\n"), member("http://b/\n")].concat();
    assert_eq!(
        read(gzip.clone(), None),
        ["0:1 url=http://a/", "1:2 url=http://b/"]
    );
    let frame = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    let zstd = [frame("http://a/\n"), frame("http://b/\n")].concat();
    assert_eq!(
        read(zstd.clone(), None),
        ["0:1 url=http://a/", "1:2 url=http://b/"]
    );
    for whole in [gzip, zstd] {
        let torn = whole[..whole.len() - 6].to_vec();
        let ended =
            Inputs::open(vec![stream(torn)], None).and_then(|inputs| inputs.last().unwrap());
        let why = ended.unwrap_err().to_string();
        assert!(why.contains("cut off or damaged"), "{why}");
    }
}

#[test]
fn tables_hold_quotes_and_line_ends() {
    let table = "sku;name\n1;\"a \"\"b\"\"\n;c\"\n\n2;\n3\n4;d;e\n5;\u{e9}\n";
    assert_eq!(
        read(table, Some(Format::Csv)),
        [
            "0:2 sku=1 name=a \"b\"\n;c",
            "1:5 sku=2 name=",
            "2:6 bad: has 1 fields where the first line names 2 columns",
            "3:7 bad: has 3 fields where the first line names 2 columns",
            "4:8 sku=5 name=\u{e9}",
        ]
    );
    assert_eq!(read("a\tb,c\n1\t2\n", Some(Format::Tsv)), ["0:2 a=1 b,c=2"]);
    assert_eq!(
        read(*b"a,b\n\xff,1\n2,3", Some(Format::Csv)),
        [
            "0:2 bad: column \"a\" is not UTF-8 from its byte 1 on",
            "1:3 a=2 b=3"
        ]
    );
}

#[test]
fn a_quote_that_is_not_closed_costs_one_record_and_no_memory() {
    let mut table = b"a,b\n1,\"open\n".to_vec();
    for _ in 0..300_000 {
        table.extend(b"2,xxxxx\n");
    }
    let inputs = Inputs::open(vec![stream(table)], Some(Format::Csv)).unwrap();
    let (mut good, mut bad) = (0, Vec::new());
    for entry in inputs {
        let entry = entry.unwrap();
        match entry.held {
            Ok(columns) => {
                assert_eq!(columns["b"], "xxxxx");
                good += 1;
            }
            Err(held) => bad.push((entry.line, held)),
        }
    }
    assert_eq!(bad.len(), 1);
    let (line, bad) = &bad[0];
    assert_eq!(*line, 2);
    assert!(
        bad.reason.contains("a quote that is not closed"),
        "{}",
        bad.reason
    );
    assert!(bad.text.len() <= EXCERPT);
    assert_eq!(good, 300_000);
}

#[test]
fn a_quote_that_is_not_closed_takes_no_other_line_with_it() {
    let bad = "bad: has a quote that is not closed";
    // A quote that stays open to the end of the list, to the next quote, and on the last line.
    assert_eq!(
        read("a,b\n1,\"x\n2,y\n3,z\n", Some(Format::Csv)),
        [&format!("0:2 {bad}")[..], "1:3 a=2 b=y", "2:4 a=3 b=z"]
    );
    assert_eq!(
        read("a,b\r\n1,\"x\r\n2,\"y\"\r\n3,\"z\r\n4,v", Some(Format::Csv)),
        [
            &format!("0:2 {bad}")[..],
            "1:3 a=2 b=y",
            &format!("2:4 {bad}"),
            "3:5 a=4 b=v"
        ]
    );
    assert_eq!(
        read("a,b\n1,\"x\n2,y,\"z\n3,v\n4,\"w", Some(Format::Csv)),
        [
            &format!("0:2 {bad}")[..],
            &format!("1:3 {bad}"),
            "2:4 a=3 b=v",
            &format!("3:5 {bad}")
        ]
    );
    // Line ends and quotes inside a closed field belong to the field.
    assert_eq!(
        read("a,b\n1,\"x\n\"\"2\"\",y\"\n3,z\n", Some(Format::Csv)),
        ["0:2 a=1 b=x\n\"2\",y", "1:4 a=3 b=z"]
    );
    assert!(refusal("a,\"b\n1,2\n", Some(Format::Csv)).contains("a quote that is not closed"));
}

proptest! {
    #[test]
    fn every_line_of_a_table_with_stray_quotes_is_in_a_record(lines in proptest::collection::vec("[0-9],[xy\"]{0,4}", 1..40)) {
        let table = format!("a,b\n{}\n", lines.join("\n"));
        let found = Inputs::open(vec![stream(table)], Some(Format::Csv)).unwrap();
        let mut next = 2;
        for entry in found {
            let Entry { line, held, .. } = entry.unwrap();
            let within = held.iter().flat_map(|columns| columns.values());
            let lines = 1 + within.map(|value| value.matches('\n').count() as u64).sum::<u64>();
            prop_assert_eq!(line, next);
            next += lines;
        }
        prop_assert_eq!(next, lines.len() as u64 + 2);
    }
}

#[test]
fn bytes_behind_the_last_member_of_gzip_are_passed_over() {
    let member = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let two = [member("http://a/\n"), member("http://b/\n")].concat();
    for behind in [&b""[..], &[0; 3], &[0; 600], b"more"] {
        let found = read([&two[..], behind].concat(), None);
        assert_eq!(
            found,
            ["0:1 url=http://a/", "1:2 url=http://b/"],
            "{behind:?}"
        );
    }
    let cut = Inputs::open(vec![stream(&two[..two.len() - 9])], None);
    let is_error = cut.map_or(true, |mut inputs| inputs.any(|entry| entry.is_err()));
    assert!(is_error, "a file that was cut is an error");
}

#[test]
fn a_table_needs_names() {
    for (table, why) in [
        ("", "and there is none"),
        ("http://a/\nhttp://b/\n", "it holds the URL"),
        ("a,a\n1,2\n", "stands there twice"),
    ] {
        let refusal = refusal(table, Some(Format::Csv));
        assert!(refusal.contains(why), "{refusal}");
    }
    assert_eq!(read(",b\n1,2\n", Some(Format::Csv)), ["0:2 column1=1 b=2"]);
}

#[test]
fn objects_keep_numbers_as_they_are_written() {
    let lines = "{\"id\": 12345678901234567890123, \"ok\": true, \"name\": \"\\u00e9\", \"none\": null, \"tags\": [1, 2]}\n\n\"http://a/\"\n[1]\n{\"a\":\nnull\n{\"a\":\"\\u0000\"}\n{}";
    let found = read(lines, None);
    assert_eq!(
        found[0],
        "0:1 id=12345678901234567890123 ok=true name=\u{e9} tags=[1, 2]"
    );
    assert_eq!(found[1], "1:3 url=http://a/");
    for (index, line) in [(2, 4), (3, 5), (4, 6)] {
        assert!(
            found[index].starts_with(&format!("{index}:{line} bad: is not a JSON object")),
            "{}",
            found[index]
        );
    }
    assert_eq!(found[5], "5:7 bad: contains a NUL character");
    assert_eq!(found.len(), 7);
    let inputs = Inputs::open(
        vec![stream("rubbish\n{\"sku\":1,\"b\":2}\n")],
        Some(Format::JsonLines),
    )
    .unwrap();
    assert_eq!(inputs.columns(), ["sku", "b"]);
    assert_eq!(inputs.count(), 2);
}

#[test]
fn messages_about_unreadable_lists_say_what_to_do() {
    for (bytes, form, why) in [
        (&b"[{\"a\":1}]"[..], Some(Format::JsonLines), "jq -c"),
        (b"BZh91AY", None, "bzcat"),
        (b"\xff\xfeh\0t\0", None, "iconv"),
        (b"PAR1", None, "Parquet"),
    ] {
        let refusal = refusal(bytes, form);
        assert!(
            refusal.starts_with("test: ") && refusal.contains(why),
            "{refusal}"
        );
    }
    let missing = Inputs::open(vec![Source::named("/nowhere/urls.txt")], None)
        .err()
        .unwrap();
    assert_eq!(
        missing.to_string(),
        "/nowhere/urls.txt: there is no such file"
    );
    assert!(Inputs::open(vec![], None).is_err());
}

#[test]
fn the_name_of_a_file_gives_its_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.CSV.zst");
    std::fs::write(&path, zstd::encode_all(&b"sku\n7\n"[..], 1).unwrap()).unwrap();
    assert_eq!(all(vec![Source::Path(path)], None), ["0:2 sku=7"]);
    let why = Inputs::open(vec![Source::Path(folder.path().into())], None)
        .err()
        .unwrap();
    assert!(why.to_string().contains("is a folder"), "{why}");
}

proptest! {
    #[test]
    fn nothing_makes_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), form in 0..4) {
        let form = [Format::Lines, Format::Csv, Format::Tsv, Format::JsonLines][form as usize];
        if let Ok(inputs) = Inputs::open(vec![stream(bytes)], Some(form)) {
            let numbers: Vec<u64> = inputs.map_while(Result::ok).map(|entry| entry.number).collect();
            prop_assert!(numbers.iter().enumerate().all(|(index, number)| *number == index as u64));
        }
    }

    #[test]
    fn a_table_is_read_as_it_was_written(rows in proptest::collection::vec(("[a-z,\"\n\r\t ;\u{e9}]{0,9}", "[^\0]{0,9}"), 0..9)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["a", "b"]).unwrap();
        for (a, b) in &rows {
            writer.write_record([a, b]).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let inputs = Inputs::open(vec![stream(bytes)], Some(Format::Csv)).unwrap();
        let read: Vec<(String, String)> = inputs.map(|entry| match entry.unwrap().held {
            Ok(columns) => (columns["a"].clone(), columns["b"].clone()),
            Err(bad) => panic!("{bad:?}"),
        }).collect();
        prop_assert_eq!(read, rows);
    }
}

#[test]
fn a_list_may_have_comments_and_be_compressed_twice() {
    let once = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let text = "# the first\nhttp://a/\n  # no URL\nhttp://b/#part\n";
    let twice = once(&once(text.as_bytes()));
    for list in [text.as_bytes().to_vec(), twice] {
        assert_eq!(
            read(list, None),
            ["0:2 url=http://a/", "1:4 url=http://b/#part"]
        );
    }
}

#[test]
fn a_table_under_another_name_is_not_taken_for_urls() {
    for (text, is_refused) in [
        ("url,shop\nhttp://a/,north\n", true),
        ("url\tshop\n", true),
        ("id;url", true),
        ("http://a/?x=1,2\nhttp://b/\n", false),
        ("# a, b\nhttp://a/\n", false),
        ("url\nhttp://a/\n", false),
    ] {
        let refused = Inputs::open(vec![stream(text)], None)
            .err()
            .map(|error| error.to_string());
        assert_eq!(refused.is_some(), is_refused, "{text}");
        assert!(refused.is_none_or(|why| why.contains("--format csv")));
        assert!(Inputs::open(vec![stream(text)], Some(Format::Lines)).is_ok());
    }
}

#[test]
fn a_list_is_open_once_its_first_line_is_here() {
    struct First(&'static [u8]);
    impl std::io::Read for First {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            assert!(!self.0.is_empty(), "a pipe would wait for more");
            std::io::Read::read(&mut self.0, out)
        }
    }
    for list in [
        "http://a/\n",
        "\nhttp://a/\n",
        "url,shop\n",
        "{\"url\": 1}\n",
    ] {
        let pipe = Box::new(First(list.as_bytes()));
        let opened = Inputs::open(vec![Source::Stream("pipe".to_owned(), pipe)], None);
        let refused = opened.err().map(|error| error.to_string());
        assert_eq!(refused.is_some(), list.starts_with("url,"), "{refused:?}");
    }
}
