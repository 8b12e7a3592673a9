//! Options for a server of the user's own: what every request to it has.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use hecaton_lab::spec::{Expected, Extras, Target, Usage};

/// The parts of requests to a user's own server besides method and URL.
#[derive(Args)]
#[command(next_help_heading = "Your own service")]
pub struct ServiceArguments {
    /// A header field of every request to a URL, as in 'Accept: text/html'; repeat it for several. Its value is never
    /// written to a file.
    #[arg(short = 'H', long = "header", value_name = "FIELD")]
    headers: Vec<String>,
    /// The body of every request to a URL, as text, or @FILE for a file's content; the method is POST unless you name
    /// another.
    #[arg(long, value_name = "TEXT")]
    data: Option<String>,
    /// A PEM file with the certificates to trust at an https URL, instead of the system's.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Which statuses count as success at a URL, such as 'status == 200 or status == 404' [default: 200 to 299].
    #[arg(long, value_name = "EXPRESSION", value_parser = |text: &str| text.parse::<Expected>())]
    expect: Option<Expected>,
    /// The access log of the service at a URL, in the common, combined or JSON format. It shows which requests the
    /// service received, how often and how late.
    ///
    /// Each request has a header field with an id, which the service must log. Clients whose numbers disagree with the
    /// log are rejected.
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// The header field with the id [default: X-Request-Id].
    #[arg(long, value_name = "NAME", requires = "access_log")]
    id_header: Option<String>,
    /// The ID of a process of the service at a URL. Each row then has the CPU time of that process and of all its
    /// descendants.
    #[arg(long, value_name = "PID")]
    server_pid: Option<i32>,
    /// Allow a URL on another machine. It receives as many requests as the clients can send.
    #[arg(long)]
    i_own_this_host: bool,
}

impl ServiceArguments {
    /// The target of the words of `--url`: a URL or `@FILE`, and perhaps a method before it; none without words.
    ///
    /// # Errors
    /// When a word or an option is wrong, an option was given without a URL, or a file cannot be read.
    pub fn named(&self, words: &[String]) -> Result<Option<Target>> {
        match words {
            [] => {
                self.refuse_without_a_url()?;
                Ok(None)
            }
            [url] => Ok(Some(self.target(None, url, None)?)),
            [method, url, ..] => Ok(Some(self.target(Some(method), url, None)?)),
        }
    }

    /// The target of a URL, or of a file of URLs (`@FILE`). `requests` is the number in a round; without
    /// it, a round has as many as fill its time.
    ///
    /// # Errors
    /// When the URL or an option is wrong, or a file cannot be read.
    pub fn target(&self, method: Option<&str>, url: &str, requests: Option<u64>) -> Result<Target> {
        let body = self.data.as_deref().map(content).transpose()?;
        let usual = if body.is_some() { "POST" } else { "GET" };
        let mut extras = Extras::new(&self.headers, body, self.ca.clone())?;
        extras.expect = self.expect.clone();
        extras.id_field = self.id_field()?;
        (extras.access_log, extras.server_pid) = (self.access_log.clone(), self.server_pid);
        let mut url = url.to_owned();
        if let Some(path) = url.clone().strip_prefix('@') {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {path}, the file of URLs"))?;
            url = extras.mix(&text)?;
        }
        let owned = self.i_own_this_host;
        let method = method.unwrap_or(usual);
        Ok(Target::foreign(method, &url, requests, extras, owned)?)
    }

    /// The header field with the id of each request; none without an access log.
    fn id_field(&self) -> Result<Option<String>, Usage> {
        let name = self.id_header.as_deref().unwrap_or("X-Request-Id");
        Extras::new(&[format!("{name}: x")], None, None)?;
        Ok(self.access_log.as_ref().map(|_| name.to_owned()))
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
            ("--access-log", self.access_log.is_some()),
            ("--server-pid", self.server_pid.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => bail!(Usage(format!(
                "{option} is for your own server, and no URL was given; name one"
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
