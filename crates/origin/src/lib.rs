//! A scripted HTTP server that witnesses what its clients really do.

mod page;

pub use page::Page;
