//! The command as its users run it: real processes, real sockets, real files.

mod again;
mod audit;
mod bad_input;
mod broken;
mod cheats;
mod checks;
mod completions;
mod controls;
mod elsewhere;
mod factors;
mod foreign;
mod hidden_cheats;
mod limits;
mod logged;
mod measure;
mod mix;
mod own_driver;
mod places;
mod rates;
mod refusals;
mod remote;
mod serve;
mod service;
mod signals;
mod support;
mod versions;
