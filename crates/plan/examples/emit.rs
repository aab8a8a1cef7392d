//! emit: random choices of small problems
use furiosa_visa_clock::Profile;
use furiosa_visa_plan::*;
use furiosa_visa_rules::scalar::ElementType::*;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let seed: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let per: usize = std::env::args().nth(3).unwrap().parse().unwrap();
    let problems = [
        ("mk,nk->mn", "M=64,N=64,K=256", I8, None),
        ("mk,nk->mn", "M=48,N=24,K=192", Bf16, Some(Bf16)),
        ("bmk,bnk->bmn", "B=4,M=16,N=32,K=64", I8, None),
        ("bqhd,bkhd->bhqk", "B=2,Q=12,H=3,D=64,K=40", Bf16, None),
        ("mk,nk->nm", "M=1,N=1024,K=128", Bf16, Some(Bf16)),
        ("mk,kn->mn", "M=32,N=64,K=64", I8, None),
        ("mk,nk->mn", "M=197,N=96,K=128", I4, None),
        ("mgk,nk->mgn", "M=8,G=6,N=16,K=64", F8e4m3, None),
        ("mgk,hngk->mhn", "M=8,G=6,H=4,N=16,K=64", I8, None),
    ];
    let mut state = seed | 1;
    let mut random = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % n
    };
    let mut number = 0;
    for (einsum, axes, element, out) in problems {
        let problem = Problem::new(einsum, axes, element, out).unwrap();
        let mut all = vec![];
        space::for_each(&problem, None, &mut |c| all.push(c));
        let mut done = 0;
        let mut tries = 0;
        let mut why = std::collections::BTreeMap::<String, usize>::new();
        while done < per && tries < 20000 {
            tries += 1;
            let c = all[random(all.len())].clone();
            match Plan::of(&problem, c, Profile::Detailed) {
                Ok(p) => {
                    assert!(p.work.cycles() <= p.cycles, "{p:?}");
                    std::fs::write(format!("{dir}/plan{number}.rs"), p.source()).unwrap();
                    number += 1;
                    done += 1;
                }
                Err(e) => {
                    *why.entry(e.chars().take(60).collect()).or_default() += 1;
                }
            }
        }
        println!(
            "{einsum} {axes}: {} choices, {done} of {tries}: {}",
            all.len(),
            why.iter().map(|(k, n)| format!("\n  {n} {k}")).take(14).collect::<String>()
        );
    }
}
