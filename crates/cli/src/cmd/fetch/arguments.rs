//! The command line → a job. All that is not given is the job file's, or the default.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use hecaton_fetch::error::Error;
use hecaton_fetch::job::{InputSettings, Job, RequestSettings, ResultSettings, TableFormat};
use hecaton_fetch::plan::{is_standard_input, remote};
use hecaton_fetch::start::{Started, refuse_differing};

use super::given::Given;
use super::tuning::Tuning;

/// The inputs of a job, and what is recorded of the responses.
#[derive(Args, Clone)]
pub struct JobArguments {
    /// Lists of URLs (files, https:// or s3://, gs://, az://), or - for standard input, or one job file (.toml)
    /// [default: resume the job in DIR].
    #[arg(value_name = "INPUT")]
    pub input: Vec<PathBuf>,
    #[command(flatten)]
    settings: Given<InputSettings>,
    #[command(flatten)]
    request: Given<RequestSettings>,
    #[command(flatten)]
    results: Given<ResultSettings>,
    /// Tables to write into the folder when the job is done: csv, parquet or csv,parquet.
    #[arg(long, value_name = "FORM,…", value_delimiter = ',')]
    final_tables: Vec<TableFormat>,
    #[command(flatten)]
    tuning: Tuning,
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
        !self.input.is_empty() || self.settings.has("sitemap")
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
        self.settings.change(&mut job.input);
        if !self.final_tables.is_empty() {
            job.final_tables.clone_from(&self.final_tables);
        }
        let (request, results) = (&mut job.request, &mut job.results);
        let lists = [
            &mut request.headers,
            &mut results.headers,
            &mut results.take,
        ];
        let [sent, kept, taken] = lists.map(std::mem::take);
        self.request.change(request);
        self.results.change(results);
        // These add to what the job has.
        request.headers.splice(0..0, sent);
        results.headers.splice(0..0, kept);
        results.take.splice(0..0, taken);
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
