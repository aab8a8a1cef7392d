//! The join of plans of a chain, against all of their combinations.

use furiosa_visa_plan::chain::Chain;
use furiosa_visa_plan::chain::boundary::Passages;
use furiosa_visa_plan::chain::join::{BEST, Candidate, candidates, edge, joins, left, price};
use furiosa_visa_plan::{Search, search};
use furiosa_visa_rules::scalar::ElementType::Bf16;

/// The sums of all combinations of candidates and of places of what goes between them.
fn all_sums(chain: &Chain, all: &[Vec<Candidate>], passages: &mut Passages<'_>) -> Vec<u64> {
    // The sum, the candidate before, and whether its result stays in DM.
    let mut before: Vec<(u64, Option<usize>)> = vec![(0, None)];
    for (number, own) in all.iter().enumerate() {
        let mut reached = Vec::new();
        for (sum, source) in before {
            let from = left(all, number, source);
            for (index, candidate) in own.iter().enumerate() {
                for (arrives, leaves) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let to = candidate.arriving.filter(|_| arrives == 1).map(|(_, place)| place);
                    let own = candidate.cycles[arrives][leaves];
                    if let (Some(own), Some(edge)) = (own, edge(passages, number, [from, to])) {
                        reached.push((sum + own + price(&edge), (leaves == 1).then_some(index)));
                    }
                }
            }
        }
        before = reached;
    }
    if chain.has_end() {
        let ended = before.into_iter().filter_map(|(sum, source)| {
            let edge = edge(passages, all.len(), [left(all, all.len(), source), None])?;
            Some((sum + price(&edge), None))
        });
        before = ended.collect();
    }
    let mut sums: Vec<u64> =
        before.into_iter().filter(|(_, source)| source.is_none()).map(|(sum, _)| sum).collect();
    sums.sort_unstable();
    sums
}

/// The smallest sums of the join are those of all combinations.
#[test]
fn joins_are_the_best_of_all_combinations() {
    for (text, axes) in [
        ("mk,fk->mf; mf,nf->mn", "M=4,K=32,F=32,N=16"),
        ("hqd,hkd->hqk; scale=0.5, softmax:k; hqk,hdk->hqd", "H=2,Q=4,K=32,D=16"),
        ("rmsnorm:k; mk,fk->mf; silu, layernorm:f; mf,nf->mn", "M=4,K=32,F=32,N=16"),
        ("mk,fk->mf; mf,nf->mn; add, rmsnorm", "M=4,K=32,F=32,N=16"),
    ] {
        let chain = Chain::new(text, axes, Bf16, Some(Bf16)).unwrap_or_else(|error| panic!("{error}"));
        let options = Search { top: 12, ..Search::default() };
        let own = |(number, problem)| {
            let mut own = candidates(&chain, number, &search(problem, &options), &options);
            own.truncate(5);
            own
        };
        let all: Vec<Vec<Candidate>> = chain.problems.iter().enumerate().map(own).collect();
        let mut passages = Passages::new(&chain, options.profile);
        let sums = all_sums(&chain, &all, &mut passages);
        let found: Vec<u64> = joins(&all, &mut passages).iter().map(|joined| joined.cycles).collect();
        assert!(sums.len() > 20 && !found.is_empty(), "{text}: {} combinations", sums.len());
        // As many as are kept of each candidate are the best ones in their order.
        let count = found.len().min(BEST);
        assert_eq!(found[..count], sums[..count], "{text}");
    }
}
