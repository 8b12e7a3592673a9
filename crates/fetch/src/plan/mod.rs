//! The plan of a job, made before anything is sent: inputs → parts by the hash of their host.
//!
//! A host's inputs are in one part, so that one worker keeps its limits. `spool` writes the inputs in frames, by 256 groups of
//! hosts. `parts` puts small groups together, up to about 100,000 inputs, and divides a giant group into host shards. Each
//! has its share of every limit, and the shares add up. `repeats` finds duplicates, and `requests` keeps what that takes for later additions. `sources` notices changed inputs. `plan.json` is written last: without it there is no plan, and
//! nothing has been sent. `extend` adds inputs later, as parts of their own, and `only_new` leaves out those that are there.

mod draft;
mod entry;
mod extend;
mod folder;
mod groups;
mod holder;
mod inputs;
mod make;
mod only_new;
mod parts;
mod plan_file;
mod regroup;
mod repeats;
mod requests;
mod sources;
mod spool;

pub use self::draft::{Draft, end_of_links, replace, sync_folder_of, try_lock, write_whole};
pub use self::entry::{Content, Earlier, PagesHad, Planned, Version, read_entry, write_planned};
pub use self::extend::{MoreFeed, extend, has_changed};
pub use self::folder::{Folder, Mirror};
pub use self::groups::Routed;
pub use self::holder::{Holder, machine};
pub use self::inputs::InputFile;
pub use self::make::{Fed, PlanLimits, make};
pub use self::parts::{HostShard, Part};
pub use self::plan_file::{Index, Plan, VERSION, write_repeats};
pub use self::regroup::{Take, regroup};
pub use self::repeats::Repeats;
pub use self::requests::Run;
pub use self::sources::{
    Identity, Listed, changed, is_local_stream, is_standard_input, is_stream, remote,
};
pub use self::spool::{Extent, Spool};
pub use crate::record::Way;
