//! Sitemaps, whole and hostile.

use std::io::Write;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::input::{Entry, InputError};

fn listed(bytes: &[u8]) -> (Vec<Listed>, Result<(), String>) {
    let mut found = Vec::new();
    let read = read(bytes, |it| found.push(it));
    (found, read)
}

const PAGES: &str = "<?xml version='1.0'?>\n<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:image='i'>\
    <url><loc> http://a/1?x=1&amp;y=&#50;&#x33; </loc><image:image><image:loc>http://a/i.png</image:loc></image:image></url>\
    <!-- <url><loc>http://a/no</loc></url> --><url><image:loc>http://a/no</image:loc><loc><![CDATA[http://a/2]]></loc></url><url/></urlset>";

fn page(url: &str) -> Listed {
    Listed::Page(url.to_owned())
}

#[test]
fn pages_are_read_from_xml_and_lines() {
    let expected = [page("http://a/1?x=1&y=23"), page("http://a/2")];
    assert_eq!(listed(PAGES.as_bytes()), (expected.to_vec(), Ok(())));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(PAGES.as_bytes()).unwrap();
    assert_eq!(listed(&gzip.finish().unwrap()).0, expected);
    assert_eq!(
        listed(b"\xef\xbb\xbfhttp://a/1\r\n\nhttp://a/2"),
        (vec![page("http://a/1"), page("http://a/2")], Ok(()))
    );
    let (found, read) = listed(&PAGES.as_bytes()[..PAGES.len() - 20]);
    assert_eq!(found.len(), 2);
    assert!(read.is_err());
}

#[test]
fn feeds_are_sitemaps_and_other_documents_are_none() {
    let expected = vec![page("http://a/1?x=1&y=2"), page("http://a/2")];
    let rss = "<?xml version='1.0'?><rss version='2.0' xmlns:atom='a'><channel><link>http://a/</link>\
        <atom:link href='http://a/feed' rel='self'/><item><title>1</title><link>http://a/1?x=1&amp;y=2</link></item>\
        <item><atom:link>http://a/no</atom:link><link>\nhttp://a/2\n</link></item></channel></rss>";
    let rdf = "<rdf:RDF xmlns:rdf='r' xmlns='p'><channel><link>http://a/</link></channel>\
        <item><link>http://a/1?x=1&amp;y=2</link></item><item><link>http://a/2</link></item></rdf:RDF>";
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://a/'/>\
        <entry><link rel='alternate' href='http://a/1?x=1&amp;y=2'/><link rel='edit' href='http://a/no'/></entry>\
        <entry><link href='http://a/2'></link></entry></feed>";
    for feed in [rss, rdf, atom] {
        assert_eq!(
            listed(feed.as_bytes()),
            (expected.clone(), Ok(())),
            "{feed}"
        );
    }
    assert_eq!(listed(b"<urlset></urlset>"), (Vec::new(), Ok(())));
    for (document, word) in [
        (
            "<!DOCTYPE html><html><body><a href='http://a/1'>1</a></body></html>",
            "<html>",
        ),
        ("<!-- nothing -->", "no root"),
        (
            "{\"urls\": [\n\"http://a/1\"\n]}",
            "none of its lines is a URL",
        ),
        ("Not here", "none of its lines is a URL"),
        ("\u{0}\u{1}\n\u{2}", "none of its lines is a URL"),
        ("h\0t\0t\0p\0:\0/\0/\0a\0/\0", "none of its lines is a URL"),
        ("/a\nmailto:b@a.example", "none of its lines is a URL"),
        ("  ", "empty"),
        ("", "empty"),
    ] {
        let (found, read) = listed(document.as_bytes());
        assert!(
            found.is_empty() && read.unwrap_err().contains(word),
            "{document}"
        );
    }
}

#[test]
fn a_prefix_says_nothing_and_a_namespace_does() {
    let own = "xmlns:ns0='http://www.sitemaps.org/schemas/sitemap/0.9'";
    let pages =
        format!("<ns0:urlset {own}><ns0:url><ns0:loc>http://a/1</ns0:loc></ns0:url></ns0:urlset>");
    let index = format!(
        "<ns0:sitemapindex {own}><ns0:sitemap><ns0:loc>http://a/1</ns0:loc></ns0:sitemap></ns0:sitemapindex>"
    );
    let one = [page("http://a/1")];
    for (document, expected) in [
        (&*pages, &one[..]),
        (&index, &[Listed::Sitemap("http://a/1".to_owned())]),
        // Undeclared, of an older protocol, and with two prefixes for one namespace.
        (
            "<sm:urlset><sm:url><sm:loc>http://a/1</sm:loc></sm:url></sm:urlset>",
            &one,
        ),
        (
            "<g:urlset xmlns:g='http://www.google.com/schemas/sitemap/0.84'><g:url><g:loc>http://a/1</g:loc></g:url></g:urlset>",
            &one,
        ),
        (
            "<urlset xmlns='s' xmlns:x='s'><url><x:loc>http://a/1</x:loc></url></urlset>",
            &one,
        ),
        (
            "<x:urlset xmlns:x='s' xmlns='i'><x:url><loc>http://a/no</loc><x:loc>http://a/1</x:loc></x:url></x:urlset>",
            &one,
        ),
        (
            "<urlset xmlns='s'><url><loc xmlns='i'>http://a/no</loc><loc>http://a/1</loc></url></urlset>",
            &one,
        ),
        (
            "<r:RDF xmlns:r='r' xmlns:p='p'><p:item><r:link>http://a/no</r:link><p:link>http://a/1</p:link></p:item></r:RDF>",
            &one,
        ),
        (
            "<a:feed xmlns:a='a' xmlns:o='o'><a:entry><o:link href='http://a/no'/><a:link href='http://a/1'/></a:entry></a:feed>",
            &one,
        ),
    ] {
        assert_eq!(
            listed(document.as_bytes()),
            (expected.to_vec(), Ok(())),
            "{document}"
        );
    }
}

#[test]
fn a_bomb_is_not_read_to_its_end() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"<urlset><url><loc>http://a/1</loc></url><url><loc>")
        .unwrap();
    gzip.write_all(&vec![b' '; 4 << 20]).unwrap();
    let mut found = Vec::new();
    let read = read_up_to(1 << 20, &gzip.finish().unwrap(), &mut |it| found.push(it));
    assert_eq!(found, [page("http://a/1")]);
    assert!(read.is_err());
    let laughs =
        b"<!DOCTYPE x [<!ENTITY a 'http://a/'>]><urlset><url><loc>&a;&a;</loc></url></urlset>";
    assert!(matches!(&listed(laughs).0[..], [Listed::Bad(text, _)] if text.is_empty()));
}

#[test]
fn a_location_that_cannot_be_read_becomes_no_other_url() {
    let long = format!("http://a/{}", "x".repeat(LONGEST_URL));
    for (loc, shown) in [
        ("http://a/&unknown;x", "http://a/x"),
        ("http://a/&#xffffffff;x", "http://a/x"),
        ("http://a/<b>x</b>y", "http://a/xy"),
        (&format!("http://a/&amp;{long}"), "http://a/&"),
    ] {
        let xml = format!("<urlset><url><loc>{loc}</loc></url></urlset>");
        let (found, read) = listed(xml.as_bytes());
        assert_eq!(read, Ok(()));
        assert!(
            matches!(&found[..], [Listed::Bad(text, _)] if text == shown),
            "{shown}"
        );
    }
    let beyond_any_line = format!("http://a/{}", "x".repeat(2 << 20));
    let lines = format!("http://a/1\n{long}\n{beyond_any_line}\nhttp://a/2\n");
    let (found, _) = listed(lines.as_bytes());
    let bad = |listed: &Listed| matches!(listed, Listed::Bad(_, TOO_LONG));
    assert_eq!(
        [&found[0], &found[3]],
        [&page("http://a/1"), &page("http://a/2")]
    );
    assert!(found.len() == 4 && bad(&found[1]) && bad(&found[2]));
}

#[test]
fn lists_of_sitemaps_are_followed_once_and_on_their_host() {
    let index = "<sitemapindex><sitemap><loc>http://a/s1</loc></sitemap><sitemap><loc>http://a/s2</loc></sitemap>\
        <sitemap><loc>http://a/index</loc></sitemap><sitemap><loc>http://b/s3</loc></sitemap>\
        <sitemap><loc>http://a/s4</loc></sitemap></sitemapindex>";
    let mut urls = Vec::new();
    let mut shown = Vec::new();
    let fetch = |url: &str| {
        urls.push(url.to_owned());
        match url {
            "http://a/index" => Ok(index.into()),
            "http://a/s1" => {
                Ok((&b"http://A:8080/1\nhttp://169.254.169.254/\n/2\nftp://a/3"[..]).into())
            }
            "http://a/s2" => {
                Ok((&b"<urlset><url><loc>http://a/&x;</loc></url></urlset>"[..]).into())
            }
            _ => Err(Unread::Missing("the status was 404".to_owned())),
        }
    };
    for entry in walk("http://a/index", fetch).unwrap() {
        let entry = entry.unwrap();
        shown.push(match &entry.held {
            Ok(columns) => format!("{}:{} {}", entry.number, entry.line, columns["url"]),
            Err(bad) => format!("{} {} {}", entry.number, bad.text, bad.reason),
        });
    }
    let fetched = [
        "http://a/index",
        "http://a/s1",
        "http://a/s2",
        "http://a/s4",
    ];
    assert_eq!(urls, fetched);
    assert_eq!(
        shown,
        [
            "0 http://b/s3 is a sitemap that is not on a, which lists it",
            "1:2 http://A:8080/1",
            "2 http://169.254.169.254/ is not on a, whose sitemap lists it",
            "3 /2 is a relative URL or none: a sitemap lists URLs that begin with https:// or http://",
            "4 ftp://a/3 has the scheme \"ftp\": use http or https",
            "5 http://a/ has an entity that XML does not define",
            "6 http://a/s4 is a sitemap that cannot be read: the status was 404",
        ]
    );
    let missing = || Unread::Missing("the status was 404".to_owned());
    let mut failing = walk("http://a/x", |_| Err(missing())).unwrap();
    let error = failing.next().unwrap().unwrap_err();
    assert!(failing.next().is_none());
    assert!(walk("no URL", |_| Ok(Bytes::new())).is_err());
    assert_eq!(
        error.to_string(),
        "the sitemap http://a/x: the status was 404"
    );
}

#[test]
fn a_sitemap_without_an_answer_ends_the_walk() {
    let index = "<sitemapindex><sitemap><loc>http://a/s1</loc></sitemap></sitemapindex>";
    let fetch = |url: &str| match url {
        "http://a/index" => Ok(index.into()),
        _ => Err(Unread::Unanswered("nobody".to_owned())),
    };
    let entries: Vec<_> = walk("http://a/index", fetch).unwrap().collect();
    let error = InputError("the sitemap http://a/s1: nobody".to_owned());
    assert_eq!(entries, [Err(error)]);
}

#[test]
fn a_sitemap_that_lists_too_much_is_cut_off() {
    let list = "http://a/\n".repeat(100_010);
    let entries: Vec<Entry> = walk("http://a/s", |_| Ok(list.clone().into()))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(entries.len(), 100_001);
    assert!(matches!(&entries[100_000].held, Err(bad) if bad.reason.contains("left out")));
}

#[test]
fn a_site_with_too_many_sitemaps_has_one_entry_for_those_that_are_left_out() {
    let of = |n: u32| format!("<sitemap><loc>http://a/s{n}</loc></sitemap>");
    // Those that are known are listed once more at the end.
    let list: String = (1..50_010).chain(1..10).map(of).collect();
    let list = format!("<sitemapindex>{list}</sitemapindex>");
    let mut fetched = 0;
    let fetch = |url: &str| {
        fetched += 1;
        let is_list = matches!(url, "http://a/s0" | "http://a/s7");
        Ok(if is_list {
            list.clone().into()
        } else {
            Bytes::from_static(b"<urlset/>")
        })
    };
    let entries: Vec<Entry> = walk("http://a/s0", fetch)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(fetched, 50_000);
    assert!(
        matches!(&entries[..], [Entry { held: Err(bad), .. }] if bad.text == "http://a/s50000" && bad.reason.contains("left out"))
    );
}

#[test]
fn long_urls_of_sitemaps_that_wait_do_not_fill_the_memory() {
    let long = "x".repeat(60_000);
    let mut fetched = 0;
    let fetch = |_: &str| {
        fetched += 1;
        let of = |n: u32| format!("<sitemap><loc>http://a/{fetched}/{n}/{long}</loc></sitemap>");
        let list: String = (0..1000).map(of).collect();
        Ok(format!("<sitemapindex>{list}</sitemapindex>").into())
    };
    let mut sitemaps = walk("http://a/s", fetch).unwrap();
    let entry = sitemaps.next().unwrap().unwrap();
    assert!(matches!(entry.held, Err(bad) if bad.reason.contains("left out")));
    drop(sitemaps);
    assert_eq!(fetched, 2);
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(bytes in "(<|>|/|loc|url|urlset|sitemapindex|&|;|#x|[a-z \n\u{e9}]|<!--|]]>|<!\\[CDATA\\[){0,20}") {
        let _ = listed(bytes.as_bytes());
        let _ = listed(format!("<urlset><url><loc>{bytes}").as_bytes());
    }
}
