//! w
mod address; mod nest; mod run;
pub use address::*; pub use nest::*; pub use run::*;
