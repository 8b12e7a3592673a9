//! The pages of an input: which comes next, and why one is not fetched.
//!
//! Each page has a record, and one more if the next page is left to another part. All but the last say that more
//! follows, and where: a worker that resumes the part after a crash begins there, with the pages that the records name.

use hecaton::Response;

use super::part::Pending;
use crate::error::{Error, Result};
use crate::job::{BodyStorage, Job, Reach};
use crate::record::Way;
use crate::request::{Rendered, Unfetched, digest_of, next_page};
use crate::segment::Pages;
use crate::take::{Found, Next};

/// How a job follows pages.
pub struct Paging {
    next: Next,
    most: u32,
    reach: Reach,
}

/// The step after a page.
pub enum Following {
    /// Nothing: it is the last.
    Nothing,
    /// This page.
    Page(Way),
    /// A page that is not fetched.
    Refused(Unfetched),
}

impl Paging {
    /// How a job follows pages; none if it follows no pages.
    ///
    /// # Errors
    /// When the job cannot follow pages.
    pub fn new(job: &Job) -> Result<Option<Paging>> {
        let Some(next) = &job.request.next else {
            return Ok(None);
        };
        let refused = |why: &str| Err(Error::usage(format!("next {why}")));
        if job.request.method != "GET" || job.request.body.is_some() {
            return refused("follows pages of GET requests without a body alone");
        }
        if matches!(job.results.body, BodyStorage::Files | BodyStorage::Tar) {
            return refused(
                "makes several bodies of an input: use --keep-body inline, warc or none",
            );
        }
        if job.request.max_pages == 0 {
            return refused("has max_pages 0: use at least 1");
        }
        Ok(Some(Paging {
            next: Next::parse(next).map_err(Error::usage)?,
            most: job.request.max_pages,
            reach: job.network.redirects_to,
        }))
    }

    /// The step after the page that came, and the pages that the input has had by then.
    pub fn following(
        &self,
        response: &Response,
        rendered: &Rendered<'_>,
        pending: &Pending,
    ) -> (Following, Pages) {
        let mut pages = pending.pages.as_deref().cloned().unwrap_or_default();
        let here = pending.onward.as_ref().map_or(&*rendered.url, |it| &it.url);
        pages
            .seen
            .extend([digest_of(&rendered.url), digest_of(here)]);
        pages.number += 1;
        let followed = self.find(response, rendered, pending, &mut pages);
        let following = match followed {
            Ok(None) => Following::Nothing,
            Ok(Some(onward)) => Following::Page(onward),
            Err(unfetched) => Following::Refused(unfetched),
        };
        (following, pages)
    }

    fn find(
        &self,
        response: &Response,
        rendered: &Rendered<'_>,
        pending: &Pending,
        pages: &mut Pages,
    ) -> std::result::Result<Option<Way>, Unfetched> {
        let content_type = response.header("content-type");
        let content_type = content_type.and_then(|value| std::str::from_utf8(value).ok());
        let links = response.header_values("link");
        let Some(found) = self.next.find(response.body(), content_type, links)? else {
            return Ok(None);
        };
        let here = pending.onward.as_ref().map_or(&*rendered.url, |it| &it.url);
        let url = match found {
            Found::Url(url, base) => based(here, &url, base.as_deref()),
            Found::Parameter(name, value) => with_parameter(here, &name, &value),
        };
        let onward = next_page(&url, rendered, pending.onward.as_deref(), self.reach);
        let onward = onward.map_err(|why| Unfetched {
            why: format!("the next page is not fetched: {why}"),
            url: hecaton::join(here, &url).ok(),
        })?;
        let unfetched = |why| {
            let url = Some(onward.url.clone());
            Err(Unfetched { why, url })
        };
        if !pages.seen.insert(digest_of(&onward.url)) {
            return unfetched(format!("the next page was fetched before: {}", onward.url));
        }
        if pages.number >= self.most {
            return unfetched(format!(
                "there are more pages than the allowed {}: the next is {}",
                self.most, onward.url
            ));
        }
        Ok(Some(onward))
    }
}

/// A URL of a page that may say where its relative URLs begin. One that says nothing useful is as good as silent, as in
/// browsers.
fn based(here: &str, url: &str, base: Option<&str>) -> String {
    let base = base.and_then(|base| hecaton::join(here, base).ok());
    let base = base.filter(|base| base.starts_with("http"));
    let joined = base.and_then(|base| hecaton::join(&base, url).ok());
    joined.unwrap_or_else(|| url.to_owned())
}

/// A URL with another value of a parameter of its query. The other parameters stay as they are.
fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let is_other = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some(name);
    let value: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let changed = format!("{name}={value}");
    let pairs: Vec<&str> = query
        .split('&')
        .filter(is_other)
        .chain([&*changed])
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_url_begins_where_its_page_says() {
        let here = "http://h/cat/1";
        for (url, base, expected) in [
            ("2", None, "2"),
            ("2", Some("/shop/"), "http://h/shop/2"),
            ("2", Some("list/x"), "http://h/cat/list/2"),
            ("/2", Some("http://b/shop/"), "http://b/2"),
            ("http://c/2", Some("/shop/"), "http://c/2"),
            ("?p=2", Some(""), "http://h/cat/1?p=2"),
            ("2", Some("data:,x"), "2"),
            ("2", Some("http://["), "2"),
        ] {
            assert_eq!(based(here, url, base), expected, "{url} {base:?}");
        }
    }

    #[test]
    fn a_parameter_is_changed_and_the_others_stay() {
        for (url, expected) in [
            ("http://h/x", "http://h/x?c=a%2Fb%3D"),
            ("http://h/x?", "http://h/x?c=a%2Fb%3D"),
            (
                "http://h/x?l=5&c=0&m=%20#y",
                "http://h/x?l=5&m=%20&c=a%2Fb%3D",
            ),
            ("http://h/x?cc=1", "http://h/x?cc=1&c=a%2Fb%3D"),
        ] {
            assert_eq!(with_parameter(url, "c", "a/b="), expected, "{url}");
        }
    }
}
