//! Answers as JSON.

use super::OPERANDS;
use furiosa_visa_plan::Outcome;
use serde_json::{Map, Value, json};

/// The keys of an answer: `plans`, the best one first, `gap` and `space`.
pub fn answer(outcome: &Outcome) -> Map<String, Value> {
    let bound = outcome.of_problem.cycles();
    let plans: Vec<_> = (outcome.plans.iter())
        .map(|plan| {
            json!({
                "cycles": plan.cycles,
                "bound": bound,
                "share": bound as f64 / plan.cycles.max(1) as f64,
                "dm_bytes": plan.schedule.dm_bytes(),
                "hbm_bytes": plan.hbm_bytes(),
                "least_cycles": plan.work.cycles(),
                "held_by": plan.work.resource(),
                "trf": OPERANDS[plan.choice.weights],
                "pieces": plan.choice.pieces.map_or_else(Vec::new, |pieces| pieces.sizes.to_vec()),
                "slice": plan.layout.slice.to_string(),
                "cluster": plan.layout.cluster.to_string(),
                "chip": plan.layout.chip.to_string(),
            })
        })
        .collect();
    let space = &outcome.space;
    let refused: Map<String, Value> =
        space.refused.iter().map(|(rule, (count, _))| (rule.clone(), json!(count))).collect();
    let space = json!({
        "choices": space.choices, "fitting": space.fitting, "bounded": space.bounded,
        "derived": space.derived, "priced": space.priced, "refused": refused,
    });
    [("plans", Value::from(plans)), ("gap", outcome.gap().into()), ("space", space)]
        .into_iter()
        .map(|(key, value)| (key.to_string(), value))
        .collect()
}
