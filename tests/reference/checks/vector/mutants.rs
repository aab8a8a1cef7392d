use reference::cases::for_cases;
use reference::vector::generate::random_chain;
use reference::vector::mutants::*;
use reference::vector::run::judge;
use std::collections::BTreeMap;

/// Every mutant is refused for a rule that it was to break, and every change happens often.
#[test]
fn mutants_are_refused() {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rules: BTreeMap<String, usize> = BTreeMap::new();
    let count = for_cases(600, |random| {
        let legal = Legal::of(random_chain(random));
        for (mutation, _) in MUTATIONS {
            let Some((chain, expected)) = mutant(random, mutation, &legal) else { continue };
            *found.entry(mutation).or_default() += 1;
            match judge(&chain) {
                Ok(_) => return Err(format!("{mutation}: {chain}\nis legal")),
                Err(refusal) if !expected.contains(&refusal.rule) => {
                    return Err(format!("{mutation}: {chain}\n{refusal}, not for {expected:?}"));
                }
                Err(refusal) => *rules.entry(format!("{:?}", refusal.rule)).or_default() += 1,
            }
        }
        Ok(())
    });
    if count == 600 {
        for (mutation, _) in MUTATIONS {
            let times = found.get(mutation).copied().unwrap_or(0);
            assert!(times >= 8, "{mutation}: {times} of {count}\n{found:#?}");
        }
        assert!(rules.len() > 50, "{rules:#?}");
    }
}
