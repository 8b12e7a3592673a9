//! `--where`: a condition on the records of a folder, refused if it names a field that they do not have.

use crate::error::{Error, Result};
use crate::expression::{Expression, KnownFields};
use crate::job::{BodyStorage, Job};
use crate::plan::{Folder, Plan};
use crate::take::Take;

/// Reads an expression about the records of a folder.
///
/// # Errors
/// When the folder holds no job, the expression cannot be read, or it names a field that no record of the job has.
pub fn matching(folder: &Folder, text: &str) -> Result<Expression> {
    let refused = |error: &dyn std::fmt::Display| Error::usage(error.to_string());
    let expression = Expression::parse(text).map_err(|error| refused(&error))?;
    let plan = Plan::planned(folder)?;
    let settings = Job::read(&folder.job())?.results;
    let takes = settings
        .take
        .iter()
        .filter_map(|take| Take::parse(take).ok());
    let headers = settings
        .headers
        .iter()
        .map(|name| name.to_ascii_lowercase());
    let known = KnownFields {
        columns: &plan.columns,
        taken: takes.map(|take| take.name().to_owned()).collect(),
        headers: Some(headers.collect()),
        bodies: matches!(settings.body, BodyStorage::Inline),
    };
    expression.check(&known).map_err(|why| refused(&why))?;
    Ok(expression)
}
