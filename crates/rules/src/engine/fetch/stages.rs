//! Stages that a call adds to a fetch.

use crate::command::AdapterStage;
use crate::engine::fetch::plan::FetchRequest;
use crate::error::{PlanError, refuse};

/// Refuses stages that the context does not have.
pub const fn check_stages(request: &FetchRequest) -> Result<(), PlanError> {
    if request.sub_context && request.asks_for(AdapterStage::Table) {
        refuse!(
            "sub-context stage",
            "fetch_with_table: the sub context has no {}: its adapter has {}, {} and {}; \
             help: fetch in the main context, `ctx.main`",
            AdapterStage::Table.name(),
            AdapterStage::Cast.name(),
            AdapterStage::ZeroPoint.name(),
            AdapterStage::Batching.name(),
        );
    }
    Ok(())
}
