//! `--name`: which name the file of a body is to have.

use hecaton::Response;

use crate::error::{Error, Result};
use crate::job::{BodyStorage, ResultSettings};
use crate::plan::{Content, Planned};
use crate::record::{Columns, URL};
use crate::sink::safe_name;
use crate::take::parameters;
use crate::template::{Escaping, Template};

/// Where names come from.
pub enum BodyName {
    /// Columns in a text.
    Columns(Template),
    /// The path of the input's URL.
    UrlPath,
    /// The header `Content-Disposition`, or else the end of the URL's path.
    Disposition,
}

impl BodyName {
    /// That of a job; none if bodies have the numbers of their inputs, or if it needs columns that are not known yet.
    ///
    /// # Errors
    /// When it is no name, or bodies are no files.
    pub fn new(settings: &ResultSettings, columns: Option<&[String]>) -> Result<Option<BodyName>> {
        let Some(name) = settings.name.as_deref() else {
            return Ok(None);
        };
        let refused = |what: &str| Err(Error::usage(format!("name {what}")));
        if settings.body != BodyStorage::Files {
            return refused("is for files: give --keep-body files");
        }
        match name {
            "url-path" => return Ok(Some(BodyName::UrlPath)),
            "content-disposition" => return Ok(Some(BodyName::Disposition)),
            _ => {}
        }
        if !can_name(name) {
            return refused(&format!(
                "is {name:?}, which gives no file a name of its own: write url-path, content-disposition, or columns in braces as in '{{id}}.jpg'"
            ));
        }
        let Some(columns) = columns else {
            return Ok(None);
        };
        let template = Template::parse(name, Escaping::Text, columns);
        let template = template.map_err(Error::usage)?;
        match columns {
            [only] if only == URL => refused(&format!(
                "is {name:?}, and the list has only URLs, which are no names: write url-path or content-disposition"
            )),
            _ => Ok(Some(BodyName::Columns(template))),
        }
    }

    /// The name that a body is to have, as it comes: it may be no name at all.
    pub fn wanted(&self, planned: &Planned, url: &str, response: &Response) -> String {
        match self {
            BodyName::Columns(template) => match &planned.held {
                Content::Columns(columns) => template.fill(columns).unwrap_or_default(),
                _ => String::new(),
            },
            BodyName::UrlPath => of_url(url),
            BodyName::Disposition => {
                let header = response.header("content-disposition");
                let named = header.and_then(of_disposition);
                named.unwrap_or_else(|| of_url(url).rsplit('/').next().unwrap_or_default().into())
            }
        }
    }
}

/// Whether a text with columns can name files: it has columns, and does not end as a folder does.
fn can_name(text: &str) -> bool {
    let columns = Template::columns_in(text);
    let row: Columns = columns
        .iter()
        .map(|name| (name.clone(), "x".to_owned()))
        .collect();
    let filled = Template::parse(text, Escaping::Text, &columns).map(|it| it.fill(&row));
    let is_name = matches!(filled, Ok(Ok(name)) if safe_name::path(&name).is_some());
    !columns.is_empty() && is_name
}

/// The decoded path of a URL; `index.html` stands for a name that is missing.
fn of_url(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    // A slash that is encoded is none between folders.
    let names = path.split('/').map(|name| decoded(name).replace('/', "_"));
    let path = names.collect::<Vec<_>>().join("/");
    match path.is_empty() || path.ends_with('/') {
        true => format!("{path}index.html"),
        false => path,
    }
}

/// The name in a `Content-Disposition` (RFC 6266), without folders: `filename*` if it has that, or `filename`.
fn of_disposition(value: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(value);
    let mut plain = None;
    let (_, behind) = text.split_at(text.find(';')?);
    for (name, value) in parameters(behind, &[';']).0 {
        match &*name {
            "filename*" => {
                let mut pieces = value.splitn(3, '\'');
                let coding = pieces.next()?;
                if let (true, Some(encoded)) = (coding.eq_ignore_ascii_case("utf-8"), pieces.nth(1))
                {
                    return Some(last(&decoded(encoded)));
                }
            }
            "filename" => plain = plain.or(Some(last(&value))),
            _ => {}
        }
    }
    plain
}

/// Only the last name of a path counts (RFC 6266 §4.3).
fn last(path: &str) -> String {
    path.rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// A text without percent-encoding, or as it is if that is not UTF-8.
fn decoded(text: &str) -> String {
    let bytes = percent_encoding::percent_decode_str(text);
    bytes
        .decode_utf8()
        .map_or_else(|_| text.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_never_give_a_name_is_refused() {
        let settings = |name: &str| ResultSettings {
            body: BodyStorage::Files,
            name: Some(name.to_owned()),
            ..ResultSettings::default()
        };
        let columns = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let (lines, table) = (columns(&["url"]), columns(&["url", "id"]));
        for name in ["{", "{}", "{{id}}", "x", "", "{id}/", "{id}/..", "{id}/."] {
            assert!(BodyName::new(&settings(name), None).is_err(), "{name}");
            assert!(
                BodyName::new(&settings(name), Some(&table)).is_err(),
                "{name}"
            );
        }
        for name in ["{url}", "a/{url}.html"] {
            assert!(
                BodyName::new(&settings(name), Some(&lines)).is_err(),
                "{name}"
            );
            assert!(
                BodyName::new(&settings(name), Some(&table)).is_ok(),
                "{name}"
            );
        }
        for name in [
            "{id}",
            "{id}.jpg",
            "{id}/{{",
            "url-path",
            "content-disposition",
        ] {
            assert!(BodyName::new(&settings(name), None).is_ok(), "{name}");
            assert!(
                BodyName::new(&settings(name), Some(&table)).is_ok(),
                "{name}"
            );
        }
    }

    #[test]
    fn the_path_of_a_url_is_decoded_by_its_segments() {
        for (url, expected) in [
            ("https://h/a/b.html?x=1#y", "a/b.html"),
            ("https://h", "index.html"),
            ("https://h/a/", "a/index.html"),
            ("https://h/a%20b/%2e%2e%2Fc", "a b/.._c"),
            ("https://h/%ff", "%ff"),
        ] {
            assert_eq!(of_url(url), expected, "{url}");
        }
    }

    #[test]
    fn the_name_in_a_content_disposition_has_no_folders() {
        for (header, expected) in [
            ("attachment; x; filename=a,b.txt", Some("a,b.txt")),
            ("attachment; filename=a.txt", Some("a.txt")),
            (
                "attachment; FILENAME = \"a;\\\"b.txt\" ; x=1",
                Some("a;\"b.txt"),
            ),
            ("inline; filename=\"../../etc/passwd\"", Some("passwd")),
            ("inline; filename=\"C:\\\\x\\\\y.txt\"", Some("y.txt")),
            (
                "attachment; filename=e.txt; filename*=UTF-8''%e2%82%ac%20x.txt",
                Some("\u{20ac} x.txt"),
            ),
            (
                "attachment; filename*=iso-8859-1''%a3; filename=p",
                Some("p"),
            ),
            ("attachment", None),
            ("", None),
        ] {
            let found = of_disposition(header.as_bytes());
            assert_eq!(found.as_deref(), expected, "{header}");
        }
    }
}
