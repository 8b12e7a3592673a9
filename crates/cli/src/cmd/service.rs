//! Options for a server of the user's own: what every request to it has.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use hecaton_lab::spec::{Expected, Extras, Target, Usage};

/// The parts of requests to a user's own server besides method and URL.
#[derive(Args)]
pub struct ServiceArguments {
    /// A header field of every request to a URL, as in 'Accept: text/html'; repeat it for several. Its value is in no file.
    #[arg(short = 'H', long = "header", value_name = "FIELD")]
    headers: Vec<String>,
    /// The body of every request to a URL, as text, or @FILE for a file's content; the method is POST unless you name another.
    #[arg(long, value_name = "TEXT")]
    data: Option<String>,
    /// A PEM file with the certificates to trust at an https URL, instead of the system's.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Which statuses count as success at a URL, as in 'status == 200 or status == 404'. Default: 200 to 299.
    #[arg(long, value_name = "EXPRESSION", value_parser = |text: &str| text.parse::<Expected>())]
    expect: Option<Expected>,
    /// Allow a URL on another machine, which gets as many requests as the clients can send.
    #[arg(long)]
    i_own_this_host: bool,
}

impl ServiceArguments {
    /// The target of a URL, or of a file of URLs (`@FILE`). `requests` is how many a round has; none: as many as fill its time.
    ///
    /// # Errors
    /// When the URL or an option is wrong, or a file cannot be read.
    pub fn target(&self, method: Option<&str>, url: &str, requests: Option<u64>) -> Result<Target> {
        let body = self.data.as_deref().map(content).transpose()?;
        let usual = if body.is_some() { "POST" } else { "GET" };
        let mut extras = Extras::new(&self.headers, body, self.ca.clone())?;
        extras.expect = self.expect.clone();
        let url = match url.strip_prefix('@') {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read {path}, the file of URLs"))?;
                extras.mix(&text)?
            }
            None => url.to_owned(),
        };
        let method = method.unwrap_or(usual);
        let owned = self.i_own_this_host;
        Ok(Target::foreign(method, &url, requests, extras, owned)?)
    }

    /// Fails when an option was given although there is no URL.
    ///
    /// # Errors
    /// A sentence that names the option.
    pub fn refuse_without_a_url(&self) -> Result<()> {
        let given = [
            ("--header", !self.headers.is_empty()),
            ("--data", self.data.is_some()),
            ("--ca", self.ca.is_some()),
            ("--expect", self.expect.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => bail!(Usage(format!(
                "{option} is for a server of yours, and no URL was given; name one"
            ))),
            None => Ok(()),
        }
    }
}

/// A text, or what a file holds.
fn content(data: &str) -> Result<Vec<u8>> {
    match data.strip_prefix('@') {
        Some(path) => {
            std::fs::read(path).with_context(|| format!("cannot read {path}, the body of --data"))
        }
        None => Ok(data.as_bytes().to_vec()),
    }
}
