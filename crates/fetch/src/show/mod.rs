//! A folder of results → what others read: tables (`export`) and a page (`page`).

pub mod export;
pub mod page;
