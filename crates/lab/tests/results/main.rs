//! From rounds to findings, and from findings to what people and machines read.

mod budget;
mod changed;
mod compare;
mod controls;
mod findings;
mod goals;
mod letters;
mod ranking;
mod rates;
mod report;
mod rules;
mod shootout;
mod synthetic;
mod trust;
mod views;
mod warnings;
