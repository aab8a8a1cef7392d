//! Where there is no terminal, launches show nothing: [`progress`](super) without its line.

use crate::clock::KernelCall;
use core::panic::Location;
use std::sync::Arc;

/// Nothing is counted.
#[derive(Debug, Default)]
pub(super) struct Counters;

impl Counters {
    pub(super) fn command(&self, _cycles: impl FnOnce() -> u64) {}
}

pub(super) type Alike = (&'static str, &'static Location<'static>);

/// Nobody looks.
pub(super) enum Progress {}

impl Progress {
    pub(super) fn begin(_call: KernelCall, _alike: Alike, _counters: &Arc<Counters>) -> Option<Self> {
        None
    }

    pub(super) fn complete(&self) {
        match *self {}
    }
}

pub(super) fn close() {}

pub(super) fn above(print: impl FnOnce()) {
    print();
}
