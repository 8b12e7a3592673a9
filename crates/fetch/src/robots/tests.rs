//! The examples of RFC 9309, and what sites really write.

use proptest::prelude::*;

use super::*;

fn allows(file: &str, path: &str) -> bool {
    Robots::parse(file.as_bytes(), "hecaton/1.0").allows(path)
}

#[test]
fn the_longest_rule_decides() {
    let file = "User-Agent: *\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\nDisallow: /private\nAllow: /private/open$\nDisallow: *.gif$\nDisallow: /a/*/c\nDisallow:\n";
    for (path, expected) in [
        ("/example/page/", true),
        ("/example/page/disallowed.gif", false),
        ("/other", true),
        ("", true),
        ("/private", false),
        ("/privately", false),
        ("/private/open", true),
        ("/private/open?x", false),
        ("/x.gif", false),
        ("/x.gif?y", true),
        ("/a/b/c/d", false),
        ("/a/c", true),
        ("/robots.txt", true),
    ] {
        assert_eq!(allows(file, path), expected, "{path}");
    }
    assert!(
        allows("user-agent: *\ndisallow: /a\nallow: /a", "/a"),
        "of two of one length, the one that allows"
    );
    assert!(!allows("user-agent: *\ndisallow: /", "/a"));
}

#[test]
fn groups_are_for_those_they_name() {
    let file = "disallow: /nobody\nUser-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /all\n\n\
                user-agent: x\nUSER-AGENT: Hecaton/2 # us\nDisallow: /x\nCrawl-delay: 2.5\n\nUser-agent: hecaton\nDisallow: /y\n";
    for (path, expected) in [
        ("/x", false),
        ("/y", false),
        ("/all", true),
        ("/nobody", true),
    ] {
        assert_eq!(allows(file, path), expected, "{path}");
    }
    let robots = |robot: &str| Robots::parse(file.as_bytes(), robot);
    assert!(!robots("hecatonic").allows("/all"));
    assert!(robots("hecatonic").allows("/x"));
    assert!(!robots("Other").allows("/"));
    assert_eq!(robots("hecaton").delay(), Some(Duration::from_millis(2500)));
    assert_eq!(robots("other").delay(), None);
    let empty = "User-agent: hecaton\n\nUser-agent: *\nDisallow: /";
    // Both names head one group: an empty line ends none.
    assert!(!allows(empty, "/a"));
}

#[test]
fn paths_are_compared_by_what_they_mean() {
    let file =
        "user-agent: *\ndisallow: /\u{e9}\ndisallow: /%7Ejoe/\ndisallow: /a%2fb\ndisallow: /100%";
    for (path, expected) in [
        ("/%C3%A9", false),
        ("/%c3%a9x", false),
        ("/\u{e9}", false),
        ("/~joe/", false),
        ("/%7ejoe/", false),
        ("/a%2Fb", false),
        ("/a/b", true),
        ("/100%", false),
    ] {
        assert_eq!(allows(file, path), expected, "{path}");
    }
}

#[test]
fn what_a_reply_means() {
    let of = |status| Robots::of_response(status, b"user-agent: *\ndisallow: /a", "hecaton");
    for (status, a, b) in [
        (Some(200), false, true),
        (Some(404), true, true),
        (Some(403), true, true),
        (Some(429), false, false),
        (Some(503), false, false),
        (None, false, false),
    ] {
        assert_eq!(
            (of(status).allows("/a"), of(status).allows("/b")),
            (a, b),
            "{status:?}"
        );
    }
    assert!(of(None).allows(PATH));
}

#[test]
fn delays_are_read_as_they_are() {
    let file = b"\xef\xbb\xbfSitemap: https://a/x.xml#1\r\nuser-agent:*\rsitemap: y\ncrawl-delay: 1e300\nfoo\n\xff: x\nsitemap:\n";
    let robots = Robots::parse(file, "hecaton");
    assert_eq!(robots.delay(), Some(LONGEST_DELAY));
    for (delay, millis) in [
        ("10", Some(10_000)),
        ("2.5", Some(2_500)),
        ("0,5", Some(500)),
        (".5", Some(500)),
        (",5s", Some(500)),
        ("1s", Some(1_000)),
        ("1.5 seconds", Some(1_500)),
        ("3.", Some(3_000)),
        ("1 2", Some(1_000)),
        ("1e0", Some(1_000)),
        ("2,5,7", Some(2_500)),
        ("0", Some(0)),
        ("-1", None),
        ("-1s", None),
        ("NaN", None),
        ("inf", None),
        (".", None),
        (",s", None),
        ("x", None),
        ("x1", None),
        ("", None),
    ] {
        let file = format!("user-agent: *\ncrawl-delay: {delay}");
        let read = Robots::parse(file.as_bytes(), "hecaton").delay();
        assert_eq!(
            read,
            millis.map(std::time::Duration::from_millis),
            "{delay}"
        );
    }
}

#[test]
fn stars_cost_no_more_than_they_are_long() {
    let file = format!("user-agent: *\ndisallow: /{}$", "*a".repeat(10_000));
    assert!(allows(&file, &format!("/{}b", "a".repeat(20_000))));
}

#[test]
fn all_rules_of_a_long_file_hold_and_none_takes_much_room() {
    let ends = |rule: &dyn Fn(usize) -> String| {
        let mut file = String::from("user-agent: *\n");
        let mut rules = 0;
        while file.len() + 50 < MOST {
            file.push_str(&rule(rules));
            rules += 1;
        }
        (file, rules)
    };
    let (file, rules) = ends(&|n| format!("allow:/{n:x}$\n"));
    let file = format!("{file}disallow: /last\n");
    let robots = Robots::parse(file.as_bytes(), "hecaton");
    assert!(rules > 35_000 && !robots.allows("/last/one"), "{rules}");
    for rule in [
        &|n: usize| format!("allow:/{n:x}$\n"),
        &|_: usize| "allow:*\n".to_owned(),
        &|_: usize| format!("allow:{}\n", "*".repeat(40)),
        &|_: usize| "disallow:/\u{e9}\u{e9}\u{e9}\u{e9}\n".to_owned(),
    ] as [&dyn Fn(usize) -> String; 4]
    {
        let (file, _) = ends(rule);
        let weight = Robots::parse(file.as_bytes(), "hecaton").weight();
        assert!(weight <= 4 * MOST, "{weight}");
    }
    // A line that ends behind the end is none.
    let begin = "user-agent: *\n";
    for cut in 1..20 {
        let filler = "#".repeat(MOST - begin.len() - 1 - cut);
        assert!(
            allows(&format!("{begin}{filler}\ndisallow: /private\n"), "/a"),
            "{cut}"
        );
    }
    // Lines behind the limit are ignored.
    let late = format!("user-agent: *\n{}disallow: /late\n", "#\n".repeat(MOST / 2));
    assert!(allows(&late, "/late"));
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(file in proptest::collection::vec(any::<u8>(), 0..200), path in any::<String>()) {
        Robots::parse(&file, "hecaton").allows(&path);
    }

    #[test]
    fn a_pattern_matches_as_a_regular_expression_does(pattern in "/[ab*]{0,6}\\$?", path in "/[ab]{0,8}") {
        let end = pattern.ends_with('$');
        let inner = pattern.trim_end_matches('$').replace('*', ".*");
        let regex = regex::Regex::new(&format!("^{inner}{}", if end { "$" } else { "" })).unwrap();
        let mut rules = Rules::default();
        rules.add(&pattern, false);
        prop_assert_eq!(!rules.allow(&path), regex.is_match(&path), "{} {}", pattern, path);
    }

    #[test]
    fn the_normal_form_is_its_own(path in any::<String>()) {
        let once = normal(&path);
        prop_assert_eq!(normal(&once), once);
    }
}

#[test]
fn only_rules_end_the_names_of_a_group() {
    for between in ["Crawl-delay: 1", "Sitemap: /x", "Foo: bar", "#", ""] {
        let file = format!("User-agent: a\n{between}\nUser-agent: hecaton\nDisallow: /\n");
        assert!(!allows(&file, "/x"), "{between}");
        assert!(
            !Robots::parse(file.as_bytes(), "a").allows("/x"),
            "{between}"
        );
    }
    let file = "User-agent: a\nDisallow:\nUser-agent: hecaton\nDisallow: /x\n";
    assert!(Robots::parse(file.as_bytes(), "a").allows("/x") && !allows(file, "/x"));
}

#[test]
fn a_url_needs_permission_for_every_path_that_a_server_may_read() {
    let file = "user-agent: *\ndisallow: /secret\nallow: /secret/open\ndisallow: //double";
    let robots = Robots::parse(file.as_bytes(), "hecaton");
    for (path, is_allowed) in [
        ("/a", true),
        ("/secret/x", false),
        ("//secret", false),
        ("/a//../secret", false),
        ("/%2Fsecret", false),
        ("/a/..%2fsecret", false),
        ("/a?next=//secret", true),
        ("//a", true),
        ("//double", false),
        ("/double", true),
        ("/secret/open//x", true),
    ] {
        let verdict = robots.verdict(&format!("http://h{path}"), Duration::MAX);
        assert_eq!(verdict == Verdict::Allowed, is_allowed, "{path}");
    }
}
