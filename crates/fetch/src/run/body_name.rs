//! `--name`: which name the file of a body is to have.

use hecaton::Response;

use crate::error::{Error, Result};
use crate::job::{BodyStorage, ResultSettings};
use crate::plan::{Content, Planned};
use crate::take::parameters;
use crate::template::{Escaping, Template};

/// Where names come from.
pub enum BodyName {
    /// Columns in a text.
    Columns(Template),
    /// The path of the URL that was requested.
    UrlPath,
    /// The header `Content-Disposition`, or else the end of the URL's path.
    Disposition,
}

impl BodyName {
    /// That of a job; none if bodies have the numbers of their inputs. Columns are checked if they are known.
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
        let template = |columns: &[String]| {
            let read = Template::parse(name, Escaping::Text, columns);
            let refused = |error: crate::template::TemplateError| Error::usage(error.to_string());
            read.map(BodyName::Columns).map_err(refused)
        };
        match (name, columns) {
            ("url-path", _) => Ok(Some(BodyName::UrlPath)),
            ("content-disposition", _) => Ok(Some(BodyName::Disposition)),
            (text, _) if !text.contains('{') => refused(&format!(
                "is {text:?}: write url-path, content-disposition, or columns in braces as in '{{id}}.jpg'"
            )),
            (_, Some(columns)) => template(columns).map(Some),
            (_, None) => Ok(None),
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
