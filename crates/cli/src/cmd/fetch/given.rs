//! Options that change settings of a job. The settings declare the options themselves (`job`).

use std::marker::PhantomData;

use clap::error::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The options for settings, as far as they were given.
#[derive(Clone)]
pub struct Given<T> {
    options: ArgMatches,
    settings: PhantomData<T>,
}

impl<T: Args> Given<T> {
    /// Changes the settings whose options were given.
    pub fn change(&self, settings: &mut T) {
        let changed = settings.update_from_arg_matches(&self.options);
        changed.expect("the options were read before");
    }

    /// Whether an option was given.
    pub fn has(&self, option: &str) -> bool {
        self.options.contains_id(option)
    }
}

impl<T: Args> FromArgMatches for Given<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given<T>> {
        let mut options = matches.clone();
        // A flag that was not given has a value, too.
        for id in matches.ids().map(clap::Id::as_str) {
            if matches.value_source(id) == Some(ValueSource::DefaultValue) {
                let _ = options.try_clear_id(id);
            }
        }
        Ok(Given {
            options,
            settings: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<()> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<T: Args> Args for Given<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args_for_update(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}
