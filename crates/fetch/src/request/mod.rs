//! An input → its request: the URL and the rest, a digest that finds duplicates, and the engine's own form.

mod expected;
mod headers;
mod hosts;
mod onward;
mod parts;
mod rendered;
mod robots;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use hecaton::Request;
use uuid::Uuid;

pub use self::expected::{Algorithm, Expected};
use self::headers::{Templates, headers};
use self::hosts::{HostHeaders, Own};
pub use self::onward::{RedirectLimits, Step, Unfetched, next_page, step};
use self::parts::Text;
pub use self::rendered::{Rendered, digest_of};
pub use self::robots::Naming;
use crate::error::{Error, Result};
use crate::job::{Hosts, RequestSettings, ResultSettings, split_header};
use crate::plan::Content;
use crate::record::{Columns, URL, Way, listed};
use crate::template::{Escaping, Template};

/// The header that makes a repeated request count once, where the server implements it.
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Makes the requests of a job.
pub struct Maker {
    /// The headers that all requests have.
    templates: Templates,
    /// None: the column `url` as it is.
    url: Option<Text>,
    method: Text,
    /// The headers that differ.
    headers: Vec<(String, Text)>,
    body: Option<Text>,
    keys_of: Option<Uuid>,
    /// Settings of single hosts.
    hosts: HostHeaders,
    columns: Vec<String>,
    /// The columns that say what name the file of a response gets.
    named: Vec<String>,
    /// The column that says which checksum a response is to have.
    expected: Option<Expected>,
}

/// The body of requests, whose columns are escaped as its type needs.
fn body(settings: &RequestSettings, columns: &[String]) -> Result<Option<Text>> {
    let mut fields = settings.headers.iter();
    let content_type = fields.find_map(|header| {
        let (name, value) = split_header(header).ok()?;
        name.eq_ignore_ascii_case("content-type").then_some(value)
    });
    let body = settings.body.as_ref();
    let body = body.map(|body| Text::parse(body, Escaping::of_body(content_type, body), columns));
    body.transpose()
}

/// Refuses an input whose URLs are in none of its columns.
fn refuse_without_url(columns: &[String]) -> Result<()> {
    match columns.first() {
        Some(first) if !columns.iter().any(|column| column == URL) => Err(Error::usage(format!(
            "the input has no column url, but {}: say with --template what the URL is, as in 'https://example.com/{{{first}}}'",
            listed(columns)
        ))),
        _ => Ok(()),
    }
}

impl Maker {
    /// A maker for inputs with these columns. Idempotency keys are made of the job's name.
    ///
    /// # Errors
    /// When a template names another column, a header cannot be sent, or a secret is not there.
    pub fn new(settings: &RequestSettings, columns: &[String], job: Uuid) -> Result<Maker> {
        let (constant, headers) = headers(settings, columns)?;
        let templates = Templates::of(&constant)?;
        let url = settings
            .url
            .as_ref()
            .map(|url| Text::parse(url, Escaping::Url, columns));
        if url.is_none() {
            refuse_without_url(columns)?;
        }
        let method = Text::parse(&settings.method, Escaping::Header, columns)?;
        if let Text::Constant(method) = &method {
            // Says now what would be said of each request.
            Request::new(method, "http://localhost/").map_err(Error::usage)?;
        }
        Ok(Maker {
            templates,
            url: url.transpose()?,
            method,
            headers,
            body: body(settings, columns)?,
            keys_of: settings.idempotency_key.then_some(job),
            hosts: HostHeaders::default(),
            columns: columns.to_vec(),
            named: Vec::new(),
            expected: None,
        })
    }

    /// Tells inputs apart by what the job wants of their responses, too.
    #[must_use]
    pub fn for_results(self, settings: &ResultSettings) -> Maker {
        let named = settings.name.as_deref().map(Template::columns_in);
        let verify = settings.verify.as_deref();
        Maker {
            named: named.into_iter().flatten().collect(),
            // A setting that names no column is refused where the job begins.
            expected: verify.and_then(|verify| Expected::new(verify).ok()),
            ..self
        }
    }

    /// The digest of an input. Inputs with the same request and the same wishes have the same.
    pub fn digest(&self, rendered: &Rendered<'_>, columns: Option<&Columns>) -> u128 {
        let value = |name| Some(columns?.get(name)?.as_str());
        let named = self.named.iter().filter_map(value);
        let checksum = columns.and_then(|columns| self.checksum(columns).ok()?);
        rendered.digest(named.chain(checksum.as_deref()))
    }

    /// The checksum that an input's response is to have, if its columns name one.
    ///
    /// # Errors
    /// Why a cell is no checksum.
    pub fn checksum(&self, columns: &Columns) -> std::result::Result<Option<String>, String> {
        let expected = self.expected.as_ref();
        expected.map_or(Ok(None), |expected| expected.of(columns))
    }

    /// Adds the headers and credentials of single hosts.
    ///
    /// # Errors
    /// When a host is named wrongly, a header cannot be sent, or a secret is not there.
    pub fn for_hosts(self, settings: &RequestSettings, hosts: &Hosts) -> Result<Maker> {
        if hosts.is_empty() {
            return Ok(self);
        }
        let (constant, _) = headers(settings, &self.columns)?;
        let hosts = HostHeaders::new(hosts, &constant)?;
        Ok(Maker { hosts, ..self })
    }

    /// The position of the settings of a URL's host, if it has its own.
    pub fn host_of(&self, url: &str) -> Option<usize> {
        self.hosts.of(url)
    }

    /// The request of an input in words.
    ///
    /// # Errors
    /// What is wrong with the input.
    pub fn render<'a>(&'a self, held: &'a Content) -> std::result::Result<Rendered<'a>, String> {
        match held {
            Content::Url(url) => match self.is_plain() {
                true => Ok(Rendered {
                    method: self.method.constant(),
                    url: Cow::Borrowed(url),
                    headers: Vec::new(),
                    body: self.body.as_ref().map(Text::constant),
                }),
                false => {
                    let columns = Columns::from([(URL.to_owned(), url.to_string())]);
                    self.render_columns(&columns).map(Rendered::into_owned)
                }
            },
            Content::Columns(columns) => self.render_columns(columns),
            Content::Invalid(what) => Err(what.1.clone()),
        }
    }

    /// Whether nothing but the URL differs, and that is the input's own.
    fn is_plain(&self) -> bool {
        let is_constant = |text: &Text| matches!(text, Text::Constant(_));
        let same = is_constant(&self.method) && self.body.as_ref().is_none_or(is_constant);
        self.url.is_none() && same && self.headers.is_empty()
    }

    /// Renders a request from the columns of an input.
    ///
    /// # Errors
    /// As [`Maker::render`].
    pub fn render_columns<'a>(
        &'a self,
        columns: &'a Columns,
    ) -> std::result::Result<Rendered<'a>, String> {
        let url = match &self.url {
            Some(url) => url.fill(columns)?,
            None => Cow::Borrowed(columns.get(URL).ok_or("has no column \"url\"")?.as_str()),
        };
        let mut headers = Vec::with_capacity(self.headers.len());
        for (name, value) in &self.headers {
            headers.push((Cow::Borrowed(name.as_str()), value.fill(columns)?));
        }
        Ok(Rendered {
            method: self.method.fill(columns)?,
            url,
            headers,
            body: self
                .body
                .as_ref()
                .map(|body| body.fill(columns))
                .transpose()?,
        })
    }

    /// The engine's request.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub fn request(
        &self,
        rendered: &Rendered<'_>,
        number: u64,
    ) -> std::result::Result<Request, String> {
        let own = self.own_headers(rendered);
        let template = own.map_or(self.templates.at(false, false), |own| {
            own.template(false, false)
        });
        let key = self.keys_of.map(|job| (job, number));
        self.made(template, own, rendered, key)
    }

    /// The engine's request for where a redirect led. Beyond the origin of the input, only public headers are sent. The
    /// settings of the host where the redirect leads do not count, so that nobody can have others' credentials used.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub fn request_onward(
        &self,
        rendered: &Rendered<'_>,
        onward: &Way,
        number: u64,
    ) -> std::result::Result<Request, String> {
        let own = self.own_headers(rendered);
        let rendered = onward::rendered(rendered, onward, self.templates.at(false, false));
        let key = self.keys_of.filter(|_| !onward.has_left);
        let (has_left, is_get) = (onward.has_left, onward.is_get);
        let usual = self.templates.at(has_left, is_get);
        let template = own.map_or(usual, |own| own.template(has_left, is_get));
        let key = key.map(|job| (job, number));
        self.made(template, own, &rendered, key)
    }

    fn own_headers(&self, rendered: &Rendered<'_>) -> Option<&Own> {
        Some(self.hosts.at(self.hosts.of(&rendered.url)?))
    }

    fn made(
        &self,
        template: &Arc<hecaton::Template>,
        own: Option<&Own>,
        rendered: &Rendered<'_>,
        key: Option<(Uuid, u64)>,
    ) -> std::result::Result<Request, String> {
        let url = Bytes::copy_from_slice(rendered.url.as_bytes());
        let mut request = template.get(url).map_err(|error| error.to_string())?;
        let refused = |error: hecaton::InvalidRequest| error.to_string();
        if rendered.method != "GET" {
            request = request.method(&rendered.method).map_err(refused)?;
        }
        let headers = rendered.headers.iter();
        for (name, value) in headers.filter(|(name, _)| !own.is_some_and(|own| own.replaces(name)))
        {
            request = request.header(name, value.as_bytes()).map_err(refused)?;
        }
        if let Some((job, number)) = key {
            let key = idempotency_key(job, number).to_string();
            request = request
                .header(IDEMPOTENCY_KEY, key.as_bytes())
                .map_err(refused)?;
        }
        if let Some(body) = &rendered.body {
            request = request.body(body.clone().into_owned());
        }
        Ok(request)
    }

    /// Whether a request may be sent a second time when nobody knows what became of the first (RFC 9110 §9.2.2).
    /// `onward` is where redirects led it.
    pub fn may_repeat(&self, rendered: &Rendered<'_>, onward: Option<&Way>) -> bool {
        let (is_get, has_left) =
            onward.map_or((false, false), |onward| (onward.is_get, onward.has_left));
        is_get || self.may_restart(rendered, has_left)
    }

    /// Whether a request that must not be repeated has become the GET of what came of it.
    pub fn has_acted(&self, rendered: &Rendered<'_>, onward: Option<&Way>) -> bool {
        onward.is_some_and(|way| way.is_get && !self.may_restart(rendered, way.has_left))
    }

    /// Whether the request of an input may be sent a second time. Its key stays behind when it leaves its origin.
    fn may_restart(&self, rendered: &Rendered<'_>, has_left: bool) -> bool {
        const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];
        (self.keys_of.is_some() && !has_left) || IDEMPOTENT.contains(&&*rendered.method)
    }

    /// Whether all inputs make the same request, because nothing of it names a column.
    pub fn is_constant(&self) -> bool {
        let is_constant = |text: &Text| matches!(text, Text::Constant(_));
        let texts = self.url.iter().chain([&self.method]).chain(&self.body);
        self.url.is_some() && self.headers.is_empty() && texts.into_iter().all(is_constant)
    }
}

/// The key of an input: equal in every attempt and on every machine.
fn idempotency_key(job: Uuid, number: u64) -> Uuid {
    Uuid::new_v5(&job, number.to_string().as_bytes())
}

#[cfg(test)]
mod tests;
