//! Rules that a command must keep before it is executed, and the faults for broken rules.

pub(crate) mod access;
pub(crate) mod bounds;
pub(crate) mod dma_overwrite;
pub(crate) mod fetch;
pub(crate) mod form;
pub(crate) mod indexed;
pub(crate) mod other_context;
pub(crate) mod overwrite;
pub(crate) mod sdk;
pub(crate) mod size;
