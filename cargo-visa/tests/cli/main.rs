//! The tool `visa`: what it prints and what it refuses.

mod calibrate;
mod commands;
mod corpus;
mod help;
#[cfg(unix)]
mod interrupted;
mod plan;
mod playground;
mod port;
mod refusals;
mod route;
mod run;
mod traces;

#[path = "../../../tests/browser/mod.rs"]
mod browser;

use run::{check, explain, run, tool};
