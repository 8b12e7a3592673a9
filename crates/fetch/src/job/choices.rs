//! Settings that are one of a few words.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The format of a table of all records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableFormat {
    /// CSV.
    Csv,
    /// Parquet.
    Parquet,
}

impl TableFormat {
    /// Its name, which is also what its files end with.
    pub fn name(self) -> &'static str {
        match self {
            TableFormat::Csv => "csv",
            TableFormat::Parquet => "parquet",
        }
    }

    /// Refuses what this build cannot write.
    ///
    /// # Errors
    /// How to get a build that can.
    pub fn check(self) -> Result<(), Error> {
        match self {
            TableFormat::Parquet if cfg!(not(feature = "parquet")) => Err(Error::usage(
                "this build cannot write Parquet: run `bin/setup fetch`, or build with `--features parquet`; CSV needs neither",
            )),
            _ => Ok(()),
        }
    }
}

/// Where bodies go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyStorage {
    /// Nowhere.
    #[default]
    None,
    /// Into the records.
    Inline,
    /// A file each.
    Files,
    /// WARC files.
    Warc,
    /// tar files, as WebDataset has them.
    Tar,
}

/// Where redirects are followed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Hosts of the same site: the same name with and without `www.`, on the same port.
    #[default]
    Site,
    /// Any host.
    Any,
}

impl FromStr for BodyStorage {
    type Err = String;

    fn from_str(text: &str) -> Result<BodyStorage, String> {
        Ok(match text {
            "none" => BodyStorage::None,
            "inline" => BodyStorage::Inline,
            "files" => BodyStorage::Files,
            "warc" => BodyStorage::Warc,
            "tar" => BodyStorage::Tar,
            _ => return Err("use none, inline, files, warc or tar".into()),
        })
    }
}

impl FromStr for TableFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<TableFormat, String> {
        let forms = [TableFormat::Csv, TableFormat::Parquet];
        let form = forms.into_iter().find(|form| form.name() == text);
        let form = form.ok_or("use csv or parquet")?;
        form.check().map_err(|error| error.to_string())?;
        Ok(form)
    }
}

impl FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Reach, String> {
        match text {
            "site" => Ok(Reach::Site),
            "any" => Ok(Reach::Any),
            _ => Err("use site or any".into()),
        }
    }
}
