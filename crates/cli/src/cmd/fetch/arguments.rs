//! The command line → a job. All that is not given is the job file's, or the default.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::error::Error;
use hecaton_fetch::job::{BodyStorage, Job, TableFormat, bytes};
use hecaton_fetch::plan::{is_standard_input, remote};
use hecaton_fetch::show::export;
use hecaton_fetch::start::{Started, refuse_differing};
use hecaton_test_server::without_unit;

use super::tuning::Tuning;

/// The inputs of a job, and what is recorded of the responses.
#[derive(Args, Clone)]
pub struct JobArguments {
    /// Lists of URLs (files, https:// or s3://, gs://, az://), or - for standard input, or one job file (.toml)
    /// [default: resume the job in DIR].
    #[arg(value_name = "INPUT")]
    pub input: Vec<PathBuf>,
    /// A sitemap. The input is its URLs, and the URLs of the sitemaps that it lists. May be repeated.
    #[arg(long, value_name = "URL")]
    sitemap: Vec<String>,
    /// The format of the lists: lines, csv, tsv, jsonl or parquet [default: by file name and first bytes].
    #[arg(long, value_name = "FORM")]
    format: Option<String>,
    /// The URL, with columns of the input in braces, as in https://example.com/{sku} [default: the column url].
    #[arg(short = 't', long, value_name = "URL")]
    template: Option<String>,
    /// Send every request in the list, even repeated ones [default: skip duplicates].
    #[arg(long)]
    keep_duplicates: bool,
    /// Approximate number of inputs in a part; workers divide the job by parts [default: 100000]
    #[arg(long, value_name = "N")]
    part_size: Option<u64>,
    /// The method; it may have columns in braces, as headers and the body may [default: GET]
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<String>,
    /// A header of each request; the value env:NAME is read from the environment, and must be so unless the header is
    /// public. May be repeated.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The body of each request; @FILE reads it from a file, which may have columns in braces too.
    #[arg(long, value_name = "TEXT or @FILE", value_parser = body)]
    body: Option<String>,
    /// User and password for Basic authentication, as env:NAME.
    #[arg(long, value_name = "env:NAME")]
    auth: Option<String>,
    /// A token for Authorization: Bearer, as env:NAME.
    #[arg(long, value_name = "env:NAME")]
    bearer: Option<String>,
    /// Send an Idempotency-Key with each request, so that a POST may be sent again.
    #[arg(long)]
    idempotency_key: bool,
    /// Fetch the next page that each response names, and record each page: json:/POINTER, link:next (the header Link),
    /// css:SELECTOR@href or re:PATTERN.
    #[arg(long, value_name = "WHERE")]
    next: Option<String>,
    /// Maximum pages for one input [default: 1000]
    #[arg(long, value_name = "N")]
    max_pages: Option<u32>,
    /// A header of the responses to keep in the records. May be repeated.
    #[arg(long = "keep-header", value_name = "NAME")]
    keep_headers: Vec<String>,
    /// Where to store response bodies: none, inline (into the records), files, warc or tar [default: none].
    #[arg(long, value_name = "WHERE", value_parser = body_storage)]
    keep_body: Option<BodyStorage>,
    /// The names of files: columns in braces as in '{id}.jpg', url-path or content-disposition. Names are made safe and
    /// unique; the record has the path [default: the number of the input].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Maximum bytes of a body that is kept inline; a longer body is truncated [default: 1048576]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>)]
    inline_limit: Option<usize>,
    /// Do not record a digest of each body.
    #[arg(long)]
    no_hash: bool,
    /// Record the SHA-256 of each body, too.
    #[arg(long)]
    sha256: bool,
    /// Record the MD5 of each body, too.
    #[arg(long)]
    md5: bool,
    /// Compare each body with a column of the list that has its checksum, as sha256:COLUMN or md5:COLUMN. A body that
    /// differs is requested once more; if it differs again, the record has the error `checksum`.
    #[arg(long, value_name = "ALGORITHM:COLUMN")]
    verify: Option<String>,
    /// The condition for a good response, as in 'status == 200 and json:/stock > 0' [default: status < 300]
    #[arg(long, value_name = "EXPRESSION")]
    check: Option<String>,
    /// A value to take from each body: NAME=/json/pointer, NAME=css:SELECTOR or NAME=re:PATTERN. May be repeated.
    #[arg(long, value_name = "NAME=WHERE")]
    take: Vec<String>,
    /// Tables to write into the folder when the job is done: csv, parquet or csv,parquet.
    #[arg(long, value_name = "FORM,…", value_delimiter = ',', value_parser = table_format)]
    final_tables: Vec<TableFormat>,
    #[command(flatten)]
    tuning: Tuning,
}

/// A duration as a person writes it.
pub fn duration(text: &str) -> Result<Duration, String> {
    without_unit(text).map_or(Ok(()), Err)?;
    humantime::parse_duration(text)
        .map_err(|_| format!("`{text}` is not a duration; write 500ms, 10s or 2m"))
}

/// The largest body that a file may hold.
const MAX_BODY: u64 = 16 << 20;

/// The body itself, or that of the file behind an `@`.
fn body(text: &str) -> Result<String, String> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(text.to_owned());
    };
    if path == "-" {
        return Err("standard input is for the list: name a file".into());
    }
    let refused = |error: std::io::Error| format!("cannot read {path}: {}", error.kind());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(refused)?;
    let read = file.take(MAX_BODY + 1).read_to_end(&mut bytes);
    if read.map_err(refused)? as u64 > MAX_BODY {
        return Err(format!(
            "{path} has more than {MAX_BODY} bytes, and the job keeps the body"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8, and a body is text"))
}

fn body_storage(text: &str) -> Result<BodyStorage, String> {
    Ok(match text {
        "none" => BodyStorage::None,
        "inline" => BodyStorage::Inline,
        "files" => BodyStorage::Files,
        "warc" => BodyStorage::Warc,
        "tar" => BodyStorage::Tar,
        _ => return Err("use none, inline, files, warc or tar".into()),
    })
}

fn table_format(text: &str) -> Result<TableFormat, String> {
    let forms = [TableFormat::Csv, TableFormat::Parquet];
    let form = forms.into_iter().find(|form| form.name() == text);
    let form = form.ok_or("use csv or parquet")?;
    export::check(form).map_err(|error| error.to_string())?;
    Ok(form)
}

/// Changes a setting if an option was given.
pub fn set<T: Clone>(setting: &mut T, given: &Option<T>) {
    if let Some(given) = given {
        *setting = given.clone();
    }
}

/// Overrides an optional setting with the argument, if there is one.
pub fn set_some<T: Clone>(setting: &mut Option<T>, given: &Option<T>) {
    if given.is_some() {
        setting.clone_from(given);
    }
}

impl JobArguments {
    /// The job.
    ///
    /// # Errors
    /// When the job file cannot be read, or more than it is named.
    pub fn job(&self) -> Result<Job> {
        let is_job = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        };
        let mut job = match self.input.as_slice() {
            [file] if is_job(file) => from_file(file)?,
            files if files.iter().any(is_job) => {
                let what = "a job file names its inputs itself: give it alone";
                return Err(Error::usage(what).into());
            }
            files => {
                let mut job = Job::default();
                job.input.files = files.to_vec();
                job
            }
        };
        self.change(&mut job);
        self.tuning.change(&mut job);
        Ok(job)
    }

    /// Whether it says where the inputs are.
    pub fn names_input(&self) -> bool {
        !self.input.is_empty() || !self.sitemap.is_empty()
    }

    /// A job that was planned before, at another pace if one is given.
    ///
    /// # Errors
    /// When something is given that is settled since it was planned.
    pub fn resume(&self, mut started: Started) -> Result<Started> {
        let mut job = started.job.clone();
        self.change(&mut job);
        self.tuning.change(&mut job);
        refuse_differing(&started.folder.shown(), &started.job, &job)?;
        job.check()?;
        started.job = job;
        Ok(started)
    }

    fn change(&self, job: &mut Job) {
        job.input.keep_duplicates |= self.keep_duplicates;
        set_some(&mut job.input.format, &self.format);
        if !self.sitemap.is_empty() {
            job.input.sitemap.clone_from(&self.sitemap);
        }
        set(&mut job.input.part_size, &self.part_size);
        if !self.final_tables.is_empty() {
            job.final_tables.clone_from(&self.final_tables);
        }
        let request = &mut job.request;
        set_some(&mut request.url, &self.template);
        set(&mut request.method, &self.method);
        request.headers.extend(self.headers.iter().cloned());
        set_some(&mut request.body, &self.body);
        set_some(&mut request.auth, &self.auth);
        set_some(&mut request.bearer, &self.bearer);
        request.idempotency_key |= self.idempotency_key;
        set_some(&mut request.next, &self.next);
        set(&mut request.max_pages, &self.max_pages);
        let results = &mut job.results;
        results.headers.extend(self.keep_headers.iter().cloned());
        set(&mut results.body, &self.keep_body);
        set_some(&mut results.name, &self.name);
        set(&mut results.inline_limit, &self.inline_limit);
        results.hash &= !self.no_hash;
        results.sha256 |= self.sha256;
        results.md5 |= self.md5;
        set_some(&mut results.verify, &self.verify);
        set_some(&mut results.check, &self.check);
        results.take.extend(self.take.iter().cloned());
    }
}

/// A job file; what it names is found from its own folder.
fn from_file(file: &Path) -> Result<Job> {
    if !file.exists() {
        return Err(Error::usage(format!("{}: there is no such file", file.display())).into());
    }
    let mut job = Job::read(file)?;
    let home = file.parent().unwrap_or(Path::new(""));
    for input in &mut job.input.files {
        if !is_standard_input(input) && remote(input).is_none() {
            *input = home.join(&*input);
        }
    }
    Ok(job)
}
