//! Chains.

use furiosa_visa_plan::Search;
use furiosa_visa_plan::chain::{Chain, plan_chain};
use furiosa_visa_rules::scalar::ElementType;

#[test]
fn figures() {
    let text = std::env::var("CHAIN").unwrap_or("mk,fk->mf; mf,nf->mn".into());
    let axes = std::env::var("AXES").unwrap_or("M=128,K=1024,F=4096,N=1024".into());
    let chain = Chain::new(&text, &axes, ElementType::Bf16, Some(ElementType::Bf16)).expect("a chain");
    let begun = std::time::Instant::now();
    let outcome = plan_chain(
        &chain,
        &Search { top: 8, limit: Some(std::time::Duration::from_secs(240)), ..Search::default() },
    );
    println!(
        "{:?} apart {} bound {} plans {:?} ways {} run {:?}",
        begun.elapsed(),
        outcome.apart,
        outcome.bound.cycles(),
        outcome.plans,
        outcome.ways,
        outcome.run
    );
    println!("hbm {:?}", outcome.through_hbm.as_ref().map(|k| k.cycles));
    for kernel in &outcome.kernels {
        println!("{}", kernel.cycles);
        for part in &kernel.parts {
            println!(
                "   {} {:?} tiles {} blocks {} parts {}",
                part.plan.cycles,
                part.passage.as_ref().map(|p| (p.name.clone(), p.cycles)),
                part.plan.schedule.tiles,
                part.plan.schedule.blocks,
                part.plan.schedule.parts
            );
        }
    }
    for s in &outcome.searches {
        println!("search {} gap {}", s.plans.len(), s.gap());
        for plan in s.plans.iter().take(6) {
            println!(
                "   {} cluster {} slice {} result {} {} stream {} tiles {} blocks {} trf {}",
                plan.cycles,
                plan.layout.cluster,
                plan.layout.slice,
                plan.layout.result_slice(),
                plan.layout.result,
                plan.layout.stream.element,
                plan.schedule.tiles,
                plan.schedule.blocks,
                plan.choice.weights
            );
        }
    }
}
