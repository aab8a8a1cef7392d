//! Execution ids have four bits.

use furiosa_visa_std::prelude::*;

fn main() {
    let _ = (ExecutionId::new::<15>(), ExecutionId::new::<16>());
}
