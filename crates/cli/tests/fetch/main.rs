//! `hecaton fetch` as its users run it: real processes against the real test server, whose log says what arrived.

mod acts;
mod again;
mod body_names;
mod clock;
mod columns;
mod crash_points;
mod crash_table;
mod crashes;
mod damage;
mod disk;
mod documented;
mod ends;
mod fates;
mod file_server;
mod finish;
mod held;
mod hosts;
mod large;
mod lists;
#[cfg(feature = "nats")]
mod many;
mod metrics;
mod more;
mod names;
mod network;
#[cfg(feature = "objects")]
mod objects;
#[cfg(feature = "objects")]
mod objects_later;
#[cfg(feature = "objects")]
mod objects_rounds;
mod outages;
mod outputs;
mod own_settings;
mod pace;
mod paged_server;
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
mod proxies;
mod rate;
mod reading;
mod redirects;
mod resume;
mod robots_rules;
#[cfg(feature = "objects")]
mod s3;
mod scripted_server;
mod sites;
mod speed;
mod streams;
mod support;
mod taken;
mod threads;
mod unchanged;
mod workers;
