//! The question: a checked sweep, the defaults of its scenario, and the clients that can take part.

#[macro_use]
mod text;

mod bench;
mod budget;
mod cell;
mod compare;
mod controls;
mod duration;
mod expect;
mod experiment;
mod factor;
mod kit;
mod levels;
mod load;
mod manifest;
mod near;
mod pitfall;
mod project;
mod rate;
mod scenario;
mod shootout;
mod sweep;
mod target;
mod usage;
mod versions;

pub use bench::{BenchScenario, Goal, Part, Promise};
pub use budget::{Budget, ENOUGH, parse_memory, parse_share};
pub use cell::{Cell, Control};
pub use compare::{CompareScenario, Comparison, PairRequest, Setting, SyncAsyncRequest};
pub use duration::{parse_delay, parse_duration};
pub use expect::Expected;
pub use experiment::{Experiment, Kind};
pub use factor::{FACTORS, Factor, load_words, other_words, side_words, together};
pub use levels::Levels;
pub use load::{Job, Load, Mode};
pub use manifest::{Ability, Approach, Catalogue, Install, Manifest, Need, Skill};
pub use near::did_you_mean;
pub use pitfall::Pitfall;
pub use project::{Project, ProjectFile};
pub use rate::{Amount, Arrivals, Rate};
pub use scenario::SweepScenario;
pub use shootout::{ShootoutRequest, ShootoutScenario};
pub use sweep::{BASELINE_LOADER, Sweep, SweepRequest};
pub use target::{Extras, Target};
pub use usage::Usage;
pub(crate) use versions::NEWER;
pub use versions::has_version;
