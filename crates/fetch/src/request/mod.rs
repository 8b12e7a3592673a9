//! An input → the request that is sent for it: where it goes, what it is told apart by, and the engine's own form of it.

use std::borrow::Cow;
use std::hash::Hasher;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hecaton::{Defaults, Request, Template};
use siphasher::sip128::{Hasher128, SipHasher13};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::job::{Asked, reveal, split_header};
use crate::plan::Held;
use crate::record::{Columns, URL};

/// The header that makes a repeated request count once, where the server implements it.
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Makes the requests of a job.
pub struct Maker {
    defaults: Arc<Template>,
    method: Box<str>,
    body: Option<Box<str>>,
    keys_of: Option<Uuid>,
}

/// A request in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered<'a> {
    /// The method.
    pub method: Cow<'a, str>,
    /// The URL.
    pub url: Cow<'a, str>,
    /// The body.
    pub body: Option<Cow<'a, str>>,
}

impl Maker {
    /// One for what is asked; idempotency keys are made of the job's name.
    ///
    /// # Errors
    /// When a header cannot be sent, or a secret is not there.
    pub fn new(asked: &Asked, job: Uuid) -> Result<Maker> {
        let mut headers = Vec::new();
        for header in &asked.headers {
            let (name, value) = split_header(header)?;
            headers.push((name.to_owned(), reveal(value)?.into_bytes()));
        }
        if let Some(auth) = &asked.auth {
            let login = STANDARD.encode(reveal(auth)?);
            headers.push((
                "Authorization".into(),
                format!("Basic {login}").into_bytes(),
            ));
        }
        if let Some(bearer) = &asked.bearer {
            let token = reveal(bearer)?;
            headers.push((
                "Authorization".into(),
                format!("Bearer {token}").into_bytes(),
            ));
        }
        let defaults = Defaults {
            headers,
            ..Defaults::default()
        };
        let defaults = Template::new(&defaults).map_err(|error| Error::usage(error.to_string()))?;
        // Says now what would be said of each request.
        let trial = Request::new(&asked.method, "http://localhost/");
        trial.map_err(|error| Error::usage(error.to_string()))?;
        Ok(Maker {
            defaults: Arc::new(defaults),
            method: asked.method.as_str().into(),
            body: asked.body.as_deref().map(Into::into),
            keys_of: asked.idempotency_key.then_some(job),
        })
    }

    /// The request of an input in words, or why there is none.
    ///
    /// # Errors
    /// What is wrong with the input, to follow its name.
    pub fn render<'a>(&'a self, held: &'a Held) -> std::result::Result<Rendered<'a>, String> {
        match held {
            Held::Url(url) => Ok(self.rendered(Cow::Borrowed(url))),
            Held::Columns(columns) => self.render_columns(columns),
            Held::Invalid(what) => Err(what.1.clone()),
        }
    }

    /// The same of columns.
    ///
    /// # Errors
    /// As [`Maker::render`].
    pub fn render_columns<'a>(
        &'a self,
        columns: &'a Columns,
    ) -> std::result::Result<Rendered<'a>, String> {
        let url = columns.get(URL).ok_or("has no column url")?;
        Ok(self.rendered(Cow::Borrowed(url)))
    }

    fn rendered<'a>(&'a self, url: Cow<'a, str>) -> Rendered<'a> {
        Rendered {
            method: Cow::Borrowed(&self.method),
            url,
            body: self.body.as_deref().map(Cow::Borrowed),
        }
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
        let url = Bytes::copy_from_slice(rendered.url.as_bytes());
        let mut request = self.defaults.get(url).map_err(|error| error.to_string())?;
        if rendered.method != "GET" {
            request = request
                .method(&rendered.method)
                .map_err(|error| error.to_string())?;
        }
        if let Some(job) = self.keys_of {
            let key = idempotency_key(job, number).to_string();
            request = request
                .header(IDEMPOTENCY_KEY, key.as_bytes())
                .map_err(|error| error.to_string())?;
        }
        if let Some(body) = &rendered.body {
            request = request.body(body.clone().into_owned());
        }
        Ok(request)
    }

    /// Whether a request may be sent a second time when nobody knows what became of the first (RFC 9110 §9.2.2).
    pub fn may_repeat(&self, method: &str) -> bool {
        const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];
        self.keys_of.is_some() || IDEMPOTENT.contains(&method)
    }
}

/// The same for an input of a job whenever it is sent, by whomever.
fn idempotency_key(job: Uuid, number: u64) -> Uuid {
    Uuid::new_v5(&job, number.to_string().as_bytes())
}

impl Rendered<'_> {
    /// What it is told apart by: equal requests have equal ones.
    pub fn digest(&self) -> u128 {
        let mut hasher = SipHasher13::new();
        for part in [&self.method, &self.url] {
            hasher.write(part.as_bytes());
            hasher.write_u8(0xff);
        }
        if let Some(body) = &self.body {
            hasher.write(body.as_bytes());
        }
        hasher.finish128().as_u128()
    }
}
