//! Factors of a sweep, of a comparison and of a shootout: each reaches the test server, and its log says what the
//! clients did.

use serde_json::Value;

use crate::support::{hecaton, measured, run};

fn rows<'a>(document: &'a Value, client: &str) -> Vec<&'a Value> {
    let rows = document["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["client"] == client).collect()
}

/// The rounds of a client in which a factor has this value, as the server's log has them.
fn seen<'a>(document: &'a Value, client: &str, factor: (&str, Value)) -> Vec<&'a Value> {
    let rounds = document["rounds"].as_array().unwrap().iter();
    let own = rounds.filter(|round| round["client"] == client && round[factor.0] == factor.1);
    own.map(|round| &round["seen"]).collect()
}

#[test]
fn a_sweep_measures_each_value_of_a_factor() {
    let line = "sweep -c 2 -b 13801 -d 0 --rounds 2 --time 50ms --set job=plain,gzip";
    let (document, _) = measured(line, "decodes-gzip");
    let own = rows(&document, "decodes-gzip");
    let jobs: Vec<&Value> = own.iter().map(|row| &row["job"]).collect();
    assert_eq!(jobs, [&Value::Null, &Value::from("gzip")], "{document}");
    for row in &own {
        assert_eq!(row["verified"], true, "{row}");
    }
    // A body in gzip is shorter on the wire than decoded.
    let per_request = |job: Value| {
        let all = seen(&document, "decodes-gzip", ("job", job));
        let sum = |key: &str| {
            all.iter()
                .map(|seen| seen[key].as_u64().unwrap())
                .sum::<u64>()
        };
        sum("bytes_out") / sum("requests")
    };
    assert!(per_request("gzip".into()) < per_request(Value::Null) / 2);
    // The loader decodes nothing, so it has one cell for both.
    assert_eq!(rows(&document, "baseline-loader").len(), 1);
}

#[test]
fn a_shootout_measures_one_value_of_a_factor() {
    let line = "shootout --concurrency 2 --requests 60 --rounds 2 --set job=gzip";
    let (document, _) = measured(line, "decodes-gzip");
    assert_eq!(document["plan"]["job"], "gzip");
    assert_eq!(
        rows(&document, "decodes-gzip")[0]["verified"],
        true,
        "{document}"
    );
    let mut several = hecaton("cheats");
    let line = "shootout decodes-gzip --set job=plain,gzip";
    run(several.args(line.split(' '))).assert(2, &["job has several values"]);
}

#[test]
fn without_resumption_each_handshake_is_whole() {
    let line = "sweep -c 1 -b 133 -d 0 --rounds 2 --time 50ms --set tls=on resumption=on,off";
    let (document, _) = measured(line, "resumes-sessions");
    let sum = |off: Value, key: &str| -> u64 {
        let all = seen(&document, "resumes-sessions", ("no_resumption", off));
        assert_eq!(all.len(), 2, "{document}");
        all.iter().filter_map(|seen| seen[key].as_u64()).sum()
    };
    assert!(sum(Value::Null, "tls_resumed") > 0);
    assert!(sum(true.into(), "tls_handshakes") > 0);
    assert_eq!(sum(true.into(), "tls_resumed"), 0);
    let mut without = hecaton("cheats");
    let line = "sweep resumes-sessions --set resumption=off";
    run(without.args(line.split(' '))).assert(2, &["add tls=on"]);
}

#[test]
fn requests_over_http2_share_a_connection_and_the_servers_log_knows_who_sends_none() {
    let line = "sweep -c 4 -b 133 -d 0 --rounds 2 --time 50ms --set tls=on http=2";
    let (document, _) = measured(line, "streams,few-streams,stays-at-http1");
    let row = rows(&document, "streams")[0];
    assert_eq!(
        (&row["verified"], &row["http2"]),
        (&true.into(), &true.into()),
        "{row}"
    );
    for seen in seen(&document, "streams", ("http2", true.into())) {
        assert_eq!(seen["over_http2"], seen["requests"], "{seen}");
        assert_eq!(seen["connections_used"], 1);
    }
    for (cheat, words) in [
        ("few-streams", "only 1 of 4 requests were in flight at once"),
        ("stays-at-http1", "arrived over HTTP/1.1"),
    ] {
        let says = rows(&document, cheat)[0]["rejected"].to_string();
        assert!(says.contains(words), "{cheat}: {says}");
    }
}

/// Some clients read whom they trust once in their life, and each kind of server is another one.
#[test]
fn all_servers_of_a_run_have_authorities_in_one_file() {
    let line = "sweep -c 1 -b 133 -d 0 --rounds 2 --time 50ms --set tls=on resumption=on,off";
    let (document, _) = measured(line, "trusts-once");
    let rows = rows(&document, "trusts-once");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["rejected"], Value::Null, "{row}");
    }
}

#[test]
fn a_compared_client_may_differ_in_the_version_of_http() {
    let line =
        "compare streams resumes-sessions --set A:tls=on A:http=2 tls=on --rounds 2 --quiet --out";
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    run(command.args(line.split(' ')).arg(folder.path())).assert(0, &[]);
    let document = crate::support::document(folder.path());
    for (http2, sent) in [(Value::from(true), true), (Value::Null, false)] {
        let rounds = document["rounds"].as_array().unwrap().iter();
        let mut rounds = rounds.filter(|round| round["http2"] == http2);
        let seen = &rounds.next().expect("a round")["seen"];
        assert_eq!(seen["over_http2"].is_u64(), sent, "{seen}");
    }
    let mut refused = hecaton("cheats");
    let line = "compare trusts-anyone trusts-anyone --set A:tls=on tls=on http=2 --rounds 1";
    let ending = run(refused.args(line.split(' ')));
    assert_ne!(ending.status, Some(0));
    let says = "trusts-anyone cannot send requests over HTTP/2";
    assert!(ending.stderr.contains(says), "{}", ending.stderr);
}
