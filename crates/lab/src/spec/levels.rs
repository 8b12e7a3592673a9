//! Values of a factor that a sweep or a shootout measures, as they are written on the command line.

use std::str::FromStr;

use super::{Factor, Load, Usage};

/// Factors with an option of their own, which the help explains.
const OWN_OPTIONS: [&str; 4] = ["concurrency", "body", "delay", "rate"];

/// The values of one factor, as in `tls=on` or `job=plain,gzip`.
#[derive(Clone, Debug)]
pub struct Levels {
    factor: &'static Factor,
    values: Vec<String>,
}

impl FromStr for Levels {
    type Err = String;

    fn from_str(text: &str) -> Result<Levels, String> {
        let (name, values) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` has no value; write it as in tls=on"))?;
        if OWN_OPTIONS.contains(&name) {
            return Err(format!(
                "{name} has an option of its own; use --{name} instead"
            ));
        }
        let factor = Factor::named(name)?;
        let values: Vec<String> = values.split(',').map(str::to_owned).collect();
        for value in &values {
            factor.set(&mut { Load::PLAIN }, value)?;
        }
        Ok(Levels { factor, values })
    }
}

impl Levels {
    /// Refuses a factor that stands twice: the later values would replace the earlier ones.
    pub(super) fn each_once(all: &[Levels]) -> Result<(), Usage> {
        for (place, levels) in all.iter().enumerate() {
            let name = levels.factor.name;
            let earlier = all[..place].iter().find(|one| one.factor.name == name);
            if let Some(earlier) = earlier {
                let values = [&earlier.values[..], &levels.values].concat().join(",");
                return Err(Usage(format!("{name} stands twice; write {name}={values}")));
            }
        }
        Ok(())
    }

    /// Each load with each of the values.
    pub(super) fn applied_to(&self, loads: &[Load]) -> Vec<Load> {
        let mut changed = Vec::new();
        for value in &self.values {
            for load in loads {
                let mut load = *load;
                let set = self.factor.set(&mut load, value);
                set.expect("values are checked when they are read");
                changed.push(load);
            }
        }
        changed
    }

    /// The load with this value, where only one may be written.
    pub(super) fn only(&self, load: &Load) -> Result<Load, Usage> {
        match &self.applied_to(&[*load])[..] {
            [one] => Ok(*one),
            _ => Err(Usage(format!(
                "a shootout measures one load, and {} has several values; name one, or use hecaton sweep",
                self.factor.name
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Job;

    #[test]
    fn each_value_is_combined_with_each_load() {
        let levels: Levels = "job=plain,gzip".parse().unwrap();
        let tls: Levels = "tls=off,on".parse().unwrap();
        let loads = tls.applied_to(&levels.applied_to(&[Load::PLAIN]));
        let found: Vec<(Job, bool)> = loads.iter().map(|load| (load.job, load.tls)).collect();
        let expected = [
            (Job::Plain, false),
            (Job::Gzip, false),
            (Job::Plain, true),
            (Job::Gzip, true),
        ];
        assert_eq!(found, expected);
        assert!(levels.only(&Load::PLAIN).is_err());
    }

    #[test]
    fn what_cannot_be_a_level_is_refused_with_a_sentence() {
        for (text, words) in [
            ("tls", "no value"),
            ("tls=maybe", "tls is on or off"),
            ("colour=red", "`colour` cannot be set"),
            ("delay=5ms", "use --delay"),
        ] {
            let error = text.parse::<Levels>().unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
