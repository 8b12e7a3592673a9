//! Tables in, checked and taken values out.

use crate::scripted_server::{Scripted, Sent, response};
use crate::support::{World, ending, hecaton};

#[test]
fn a_body_that_differs_from_its_checksum_is_requested_once_more_and_then_an_error() {
    // The digest of the body "good", and of a large one.
    const GOOD: &str = "770e607624d689265ca6c44884d0807d9b054d23c473c106c72be9de08b7376c";
    const MD5: &str = "755f85c2723bb39381c7379a604160d8";
    let large = "x".repeat(3 << 20);
    let wrong = "y".repeat(3 << 20);
    let of_large = "3bea8a9a07c1e8dcaa4c1b816815c35a29b4fb585ba6ecc70ea44840a794cfb3";
    let server = Scripted::start(move |path, before| match (path, before % 2) {
        ("/late", 0) => response(200, "", "bad!"),
        ("/large", 0) => response(200, "ETag: \"1\"\r\n", &wrong),
        ("/large", _) => response(200, "ETag: \"1\"\r\n", &large),
        ("/missing", _) => response(404, "", "missing"),
        _ => response(200, "", "good"),
    });
    let (mut late, mut other) = (0, 0);
    for way in [&["--keep-body", "files"][..], &["--keep-body", "warc"], &[]] {
        let world = World::new();
        let row = |path: &str, digest: &str| format!("{},{digest}", server.url(path));
        let upper = format!("sha256:{}", GOOD.to_uppercase());
        let rows = [
            "url,digest".to_owned(),
            row("/good", GOOD),
            row("/upper", &upper),
            row("/none", ""),
            row("/other", &GOOD.replace('7', "8")),
            row("/large", of_large),
            row("/late", GOOD),
            row("/missing", GOOD),
        ];
        let list = world.write("files.csv", rows.into_iter());
        let verify = ["--verify", "sha256:digest", "--md5"];
        world.run_to(4, &list, &[way, &verify].concat());
        let records = world.records();
        let ok: Vec<bool> = (0..7).map(|n| records[&n]["ok"] == true).collect();
        let expected = [true, true, true, false, true, true, false];
        assert_eq!(ok, expected, "{way:?}: {records:?}");
        let attempts: Vec<u64> = (0..7)
            .map(|n| records[&n]["attempts"].as_u64().unwrap())
            .collect();
        assert_eq!(attempts, [1, 1, 1, 2, 2, 2, 1], "{way:?}");
        let differs = &records[&3];
        assert_eq!(differs["outcome"], "error");
        assert_eq!(differs["error"]["kind"], "checksum");
        assert_eq!(
            (&differs["body"], &differs["status"]),
            (&().into(), &200.into())
        );
        assert_eq!(records[&6]["outcome"], "response");
        assert_eq!(
            (&records[&0]["sha256"], &records[&0]["md5"]),
            (&GOOD.into(), &MD5.into())
        );
        (late, other) = (late + 2, other + 2);
        assert_eq!(
            (server.count("/late"), server.count("/other")),
            (late, other)
        );
    }
}

#[test]
fn every_good_response_is_compared_whatever_its_status() {
    const OTHER: &str = "770e607624d689265ca6c44884d0807d9b054d23c473c106c72be9de08b7376c";
    let server = Scripted::start(|path, _| match path {
        "/204" => Sent::Kept(b"HTTP/1.1 204 X\r\n\r\n".to_vec()),
        "/404" => response(404, "", "another"),
        _ => response(404, "", "good"),
    });
    let world = World::new();
    let rows = ["/204", "/404", "/same"].map(|path| format!("{},{OTHER}", server.url(path)));
    let rows = std::iter::once("url,digest".to_owned()).chain(rows);
    let list = world.write("files.csv", rows);
    let check = ["--check", "status != 500", "--keep-body", "files"];
    world.run_to(
        4,
        &list,
        &[&["--verify", "sha256:digest"][..], &check].concat(),
    );
    let records = world.records();
    let ok: Vec<bool> = records
        .values()
        .map(|record| record["ok"] == true)
        .collect();
    assert_eq!(ok, [false, false, true], "{records:?}");
    assert_eq!(records[&0]["error"]["kind"], "checksum");
    let why = records[&1]["why"].as_str().unwrap();
    assert!(
        why.starts_with("the body has the checksum sha256:"),
        "{why}"
    );
}

#[test]
fn a_column_of_md5_is_compared_and_another_algorithm_or_column_is_refused() {
    let server = Scripted::start(|_, _| response(200, "", "good"));
    let world = World::new();
    let rows = [
        "755f85c2723bb39381c7379a604160d8",
        "755f85c2723bb39381c7379a604160d9",
    ];
    let rows = rows.iter().enumerate();
    let rows = rows.map(|(n, digest)| format!("{},{digest}", server.url(&format!("/{n}"))));
    let list = world.write(
        "files.csv",
        std::iter::once("url,digest".to_owned()).chain(rows),
    );
    world.run_to(4, &list, &["--verify", "md5:digest", "--retries", "0"]);
    let records = world.records();
    assert_eq!(records[&0]["ok"], true);
    assert_eq!(records[&0]["md5"], "755f85c2723bb39381c7379a604160d8");
    assert_eq!(records[&1]["error"]["kind"], "checksum");
    // `again` sends what was an error.
    let again = ending(hecaton(&["fetch", "again"]).arg(world.out()));
    assert_eq!(again.status, Some(4), "{}", again.stderr);
    assert_eq!((server.count("/0"), server.count("/1")), (1, 2));
    for (wrong, named) in [("md5:none", "url, digest"), ("crc32:digest", "md5:COLUMN")] {
        let refused = ending(&mut World::new().fetch(&list, &["--verify", wrong]));
        assert_eq!(refused.status, Some(2));
        assert!(refused.stderr.contains(named), "{}", refused.stderr);
    }
}

#[test]
fn a_table_becomes_requests_and_what_was_taken_is_in_the_table_that_comes_out() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let rows = (0..20).map(|n| format!("{n},\"a, b\""));
    let list = world.write(
        "skus.csv",
        std::iter::once("sku,note".to_owned()).chain(rows),
    );
    let template = format!("{base}/echo?sku={{sku}}");
    let arguments = [
        "--template",
        template.as_str(),
        "-X",
        "PUT",
        "-H",
        "X-Note: {note}",
        "--body",
        "{\"sku\": \"{sku}\"}",
        "--check",
        "status == 200 and json:/method == 'PUT'",
        "--take",
        "path=/path",
        "--keep-body",
        "inline",
        "--keep-header",
        "Content-Type",
    ];
    world.run(&list, &arguments);
    let records = world.records();
    assert_eq!(records.len(), 20);
    let record = &records[&7];
    assert_eq!(record["columns"]["note"], "a, b");
    assert_eq!(record["ok"], true, "{record}");
    assert_eq!(record["taken"]["path"], "/echo?sku=7", "{record}");
    assert!(
        record["headers"]["content-type"]
            .as_str()
            .unwrap()
            .contains("json")
    );
    let table = ending(
        hecaton(&["fetch", "export"])
            .arg(world.out())
            .args(["--csv", "-"]),
    );
    assert_eq!(table.status, Some(0), "{}", table.stderr);
    assert_eq!(table.stdout.lines().count(), 21);
    assert!(table.stdout.contains("/echo?sku=7"));
    let shown = ending(
        hecaton(&["fetch", "show"])
            .arg(world.out())
            .args(["--where", "column.sku == '7'"]),
    );
    assert_eq!(shown.stdout.lines().count(), 1, "{}", shown.stdout);
}

#[test]
fn an_unknown_column_or_a_bad_expression_is_refused_and_nothing_is_sent() {
    let world = World::new();
    let list = world.write("skus.csv", ["sku", "1"].map(str::to_owned).into_iter());
    let template = ["--template", "http://localhost/{sku}"];
    let with = |more: &[&'static str]| [&template, more].concat();
    for (arguments, word) in [
        (vec!["--template", "http://localhost/{skew}"], "skew"),
        (
            vec!["--template", "http://localhost/{sku"],
            "names no column, so that all inputs are one request: write {sku}",
        ),
        (vec!["--check", "status = 200"], "column"),
        (with(&["--rate", "-1"]), "rate is -1: use a number above 0"),
        (vec!["--take", "price"], "price"),
        (vec!["--keep-header", "x"], "no column url"),
        (
            with(&["--take", "a=/b", "--take", "a=/c"]),
            "two takes have the name \"a\"",
        ),
        (with(&["--proxy", "nonsense"]), "proxy is not a URL"),
        (
            with(&["--check", "column.skew == '1'"]),
            "the column \"skew\", which the input does not have: it has sku",
        ),
        (
            with(&["--take", "a=/b", "--check", "taken.c > 1"]),
            "the job takes a",
        ),
    ] {
        let refused = ending(&mut world.fetch(&list, &arguments));
        assert_eq!(refused.status, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
        assert!(!world.out().exists(), "nothing is left behind");
    }
    assert_eq!(world.server.summary().requests, 0);
}

#[test]
fn bodies_go_where_the_options_say() {
    let world = World::new();
    let list = world.list(0..30);
    for store in ["files", "warc", "tar"] {
        let out = world.path(store);
        let done = ending(
            hecaton(&["fetch"])
                .arg(&list)
                .arg("-o")
                .arg(&out)
                .args(["--keep-body", store]),
        );
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let shown = ending(hecaton(&["fetch", "show"]).arg(&out));
        for line in shown.stdout.lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let body = &record["body"];
            let path = ["file", "warc", "tar"]
                .iter()
                .find_map(|kind| body[kind].as_str());
            assert!(out.join(path.expect("a path")).is_file(), "{record}");
        }
        assert_eq!(shown.stdout.lines().count(), 30);
    }
}

#[test]
fn a_condition_on_records_that_no_record_can_have_is_refused_with_what_there_is() {
    let world = World::new();
    let base = world.server.base_url();
    let lines = [
        format!(r#"{{"id": 1, "url": "{base}/r/1"}}"#),
        format!(r#"{{"id": 2, "url": "{base}/r/2", "late": "x"}}"#),
    ];
    let list = world.write("urls.jsonl", lines.into_iter());
    let more = ["--take", "a=re:no such text", "--keep-header", "ETag"];
    world.run(
        &list,
        &[&more[..], &["--check", "column.late != 'x'"]].concat(),
    );
    let requested = |verb: &str, condition: &str| {
        ending(
            hecaton(&["fetch", verb])
                .arg(world.out())
                .args(["--where", condition]),
        )
    };
    for (condition, word) in [
        ("column.ids == 1", "it has id, url, late"),
        ("taken.b", "the job takes a"),
        ("header.server", "they have etag"),
        ("body contains 'x'", "--keep-body inline"),
    ] {
        for verb in ["show", "again"] {
            let refused = requested(verb, condition);
            assert_eq!(refused.status, Some(2), "{}", refused.stderr);
            assert!(refused.stderr.contains(word), "{}", refused.stderr);
        }
    }
    assert_eq!(world.server.summary().requests, 2);
    let late = requested("show", "column.late == 'x' and not ok and not taken.a");
    assert_eq!(
        (late.status, late.stdout.lines().count()),
        (Some(0), 1),
        "{}",
        late.stderr
    );
    let unknown = ending(&mut world.fetch(&list, &["--check", "column.never"]));
    assert_eq!(unknown.status, Some(2), "{}", unknown.stderr);
    std::fs::remove_dir_all(world.out()).unwrap();
    let unknown = ending(&mut world.fetch(&list, &["--check", "column.never"]));
    assert!(
        unknown.stderr.contains("it has id, url, late"),
        "{}",
        unknown.stderr
    );
    // The folder holds no job then, so a new one can be planned there.
    world.run(&list, &[]);
    assert_eq!(world.records().len(), 2);
}

#[test]
fn a_check_may_name_what_was_taken() {
    let world = World::new();
    let list = world.list(0..3);
    let takes = ["--take", "id=re:^(.)", "--check", "taken.id != 'T'"];
    world.run_to(3, &list, &takes);
    let records = world.records();
    assert!(
        records
            .values()
            .all(|record| record["taken"]["id"] == "T" && record["ok"] == false),
        "{records:?}"
    );
}

#[test]
fn a_body_in_a_file_is_sent_as_it_is_with_its_columns_filled() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write("skus.csv", ["sku", "a-1"].map(str::to_owned).into_iter());
    let template = format!("{base}/echo?sku={{sku}}");
    let send = |body: &str| {
        let request = ["-X", "PUT", "--template", &template, "--body", body];
        let remaining = ["--keep-body", "inline", "-q"];
        ending(&mut world.fetch(&list, &[&request[..], &remaining].concat()))
    };
    for (body, word) in [
        ("@none.json", "cannot read none.json"),
        ("@-", "name a file"),
    ] {
        let refused = send(body);
        assert_eq!(refused.status, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    let file = world.write(
        "body.txt",
        ["{sku}", "@second\tline"].map(str::to_owned).into_iter(),
    );
    let ended = send(&format!("@{}", file.display()));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let echo: serde_json::Value =
        serde_json::from_str(world.records()[&0]["body"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(echo["body"], "a-1\n@second\tline\n", "{echo}");
    assert_eq!(world.server.summary().requests, 1);
}

#[test]
fn each_item_of_a_list_is_a_row_with_the_number_of_its_input() {
    let server = Scripted::start(|path, _| match path {
        "/0" => response(
            200,
            "",
            r#"{"data":[{"id":1,"url":"a,b"},{"id":2,"tag":["x"]}]}"#,
        ),
        "/1" => response(200, "", r#"{"data":[]}"#),
        _ => response(200, "", r#"{"data":[{"id":"c"},7]}"#),
    });
    let world = World::new();
    let list = world.write("urls.txt", (0..3).map(|n| server.url(&format!("/{n}"))));
    world.run(&list, &["--take", "items[]=/data", "-c", "1"]);
    let export = |items: &str| {
        let mut export = hecaton(&["fetch", "export", "--csv", "-", "--items", items]);
        ending(export.arg(world.out()))
    };
    let rows = export("items");
    assert_eq!(rows.status, Some(0), "{}", rows.stderr);
    let expected = "n,id,url,tag,items\n0,1,\"a,b\",,\n0,2,,\"[\"\"x\"\"]\",\n2,c,,,\n2,,,,7\n";
    assert_eq!(rows.stdout, expected);
    let refused = export("data");
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.stderr.contains("data[]=/data"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_document_that_cannot_be_read_is_not_one_without_the_field() {
    let server = Scripted::start(|path, _| match path {
        "/page" => response(200, "", "<html>Sign in</html>"),
        "/cut" => response(200, "", "{\"items\": [1"),
        "/empty" => response(204, "", ""),
        "/gone" => response(404, "", "gone"),
        "/error" => response(200, "", "{\"error\": \"quota\"}"),
        _ => response(200, "", "{\"items\": []}"),
    });
    let world = World::new();
    let paths = ["/page", "/cut", "/empty", "/gone", "/error", "/good"];
    let list = world.write("urls.txt", paths.iter().map(|path| server.url(path)));
    // Without the field, all but one would be good.
    let check = "status < 300 and not json:/error";
    world.run_to(4, &list, &["--check", check]);
    let records = world.records();
    let ok: Vec<bool> = (0..6).map(|n| records[&n]["ok"] == true).collect();
    assert_eq!(ok, [false, false, true, false, false, true], "{records:?}");
    let why = |number: u64| records[&number]["why"].as_str().unwrap_or_default();
    for number in 0..2 {
        let why = why(number);
        assert!(
            why.starts_with("--check cannot tell: the body is not JSON"),
            "{why}"
        );
    }
    // The status decides, or the field does.
    assert_eq!(why(3), "");
    assert!(why(4).starts_with("--check is false: status < 300 and not json:"));
}
