//! All sitemaps of a site, one after the other.

use std::collections::{HashSet, VecDeque};

use super::{Listed, read};
use crate::host::Host;
use crate::input::plain::only_url;
use crate::input::{EXCERPT, Entry, InputError};
use crate::record::{Input, Invalid};

/// Most sitemaps of one site.
const MOST: usize = 50_000;

/// Reads a sitemap and those that it lists, one after the other, and hands over an entry for each page. `fetch` gets a sitemap.
///
/// The first must be read; one of the others that cannot is an [`Entry::Invalid`].
pub fn walk(
    first: &str,
    mut fetch: impl FnMut(&str) -> Result<Vec<u8>, String>,
    mut give: impl FnMut(Entry),
) -> Result<(), InputError> {
    let host = Host::of(first).map_err(|why| InputError(format!("the sitemap {first:?} {why}")))?;
    let mut waiting = VecDeque::from([first.to_owned()]);
    let mut known = HashSet::from([first.to_owned()]);
    let mut number = 0;
    let mut numbered = |held: Result<String, (String, String)>| {
        let entry = entry(number, held);
        number += 1;
        give(entry);
    };
    while let Some(url) = waiting.pop_front() {
        let is_first = url == first;
        let read = fetch(&url).and_then(|bytes| {
            read(&bytes, |listed| match listed {
                Listed::Page(page) if is_on(&page, &host) => numbered(Ok(page)),
                Listed::Page(page) => numbered(Err((
                    page,
                    format!("is not on {host}, whose sitemap lists it"),
                ))),
                Listed::Sitemap(next) if !is_on(&next, &host) => {
                    numbered(Err((
                        next,
                        format!("is a sitemap that is not on {host}, which lists it"),
                    )));
                }
                Listed::Sitemap(next) if known.len() < MOST => {
                    if known.insert(next.clone()) {
                        waiting.push_back(next);
                    }
                }
                Listed::Sitemap(next) => {
                    numbered(Err((next, format!("is one sitemap more than {MOST}"))))
                }
            })
        });
        match read {
            Err(why) if is_first => return Err(InputError(format!("the sitemap {url}: {why}"))),
            Err(why) => numbered(Err((
                url,
                format!("is a sitemap that cannot be read: {why}"),
            ))),
            Ok(()) => {}
        }
    }
    Ok(())
}

fn is_on(url: &str, host: &Host<'_>) -> bool {
    Host::of(url).is_ok_and(|its| its.name() == host.name())
}

fn entry(number: u64, held: Result<String, (String, String)>) -> Entry {
    // A sitemap has no lines: the place in what all of them list.
    let line = number + 1;
    match held {
        Ok(url) => Entry::Input(Input {
            number,
            line,
            columns: only_url(&url),
        }),
        Err((text, reason)) => Entry::Invalid(Invalid {
            number,
            line,
            text: text.chars().take(EXCERPT).collect(),
            reason,
        }),
    }
}
