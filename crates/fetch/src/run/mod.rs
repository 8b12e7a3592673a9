//! Parts are worked on: requests out, outcomes in, and a record for each input, or for each of its pages.
//!
//! `driver` is the loop: who may start (`part`, `hosts`), what follows an attempt (`fate`), and what is to be written
//! (`line`). A few parts are open at once, so that one slow host at a part's end holds up nobody. Each
//! loop has a thread that writes its segments, so that it seldom waits for the disk. `threads` runs several such loops
//! side by side, each with parts of its own, and `watch` reports their progress.
//!
//! A method that must not be repeated has its intent on the disk before its first byte is sent. A worker that
//! resumes the part after a crash finds an intent without an outcome, and usually records `unknown` (`part`).

mod bandwidth;
mod batches;
mod body_name;
mod checksum;
mod cursor;
mod descriptors;
mod driver;
mod fate;
mod goal;
mod hosts;
mod instants;
mod keep;
mod limits;
mod line;
mod own;
mod pages;
mod part;
mod permits;
mod proxies;
mod proxy_health;
mod reasons;
mod recorded;
mod response_facts;
mod resume;
mod robots_cache;
mod settings;
mod shared;
mod supply;
mod threads;
mod unrequested;
mod validators;
mod view;
mod watch;

pub use self::fate::{AttemptEnd, Budget, Purpose, Then, fate, is_answer, wait};
pub use self::goal::{Shortfall, check as check_fail_if, shortfall, tally};
pub use self::hosts::HostView;
pub use self::keep::BODIES;
pub(crate) use self::limits::{Common, PartLimits};
pub use self::own::{Clients, Referrer};
pub use self::robots_cache::{Cached, RobotsCache};
pub use self::settings::{check, check_columns, clients, list_clients};
pub use self::shared::{Options, Work};
pub use self::supply::{Standing, Supply, check_plan, worker_name};
pub use self::threads::{Running, Summary, run, run_supplied};
pub use self::unrequested::unrequested;
pub use self::view::{Observer, PartView, Snapshot};
