//! trial
use furiosa_visa_plan::*;
use furiosa_visa_rules::scalar::ElementType;
use std::time::{Duration, Instant};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let el = match a[3].as_str() {
        "i8" => ElementType::I8,
        _ => ElementType::Bf16,
    };
    let problem = Problem::new(&a[1], &a[2], el, None).unwrap();
    let t = Instant::now();
    let o = search(
        &problem,
        &Search {
            top: 3,
            limit: Some(Duration::from_secs(a.get(4).map_or(20, |n| n.parse().unwrap()))),
            ..Search::default()
        },
    );
    println!(
        "{:?}, bound {} gap {:.3} problem {}\n{:#?}",
        t.elapsed(),
        o.bound,
        o.gap(),
        o.of_problem,
        o.space
    );
    for p in o.plans {
        println!("{} {:?} {:?}\n{:?}", p.cycles, p.work, p.schedule, p.choice);
    }
}
