use reference::cases::for_cases;
use reference::vector::families::*;
use reference::vector::run::judge;
use std::collections::BTreeMap;

#[test]
fn eight_accumulators_are_the_limit() {
    let mut counts = [0; 2];
    for_cases(200, |random| {
        let (chain, expected) = accumulators(random);
        let found = judge(&chain).err().map(|refusal| refusal.rule);
        counts[usize::from(found.is_some())] += 1;
        if found == expected { Ok(()) } else { Err(format!("{chain}\n{found:?}, not {expected:?}")) }
    });
    assert!(counts.iter().all(|count| *count > 50) || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// Both verdicts are frequent, and refusals are about the padding but for the accumulators.
#[test]
fn padding_anywhere() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for_cases(600, |random| {
        let chain = padded_reduce(random);
        let verdict = judge(&chain).map(|_| "legal".to_string());
        let name = verdict.unwrap_or_else(|refusal| format!("{:?}", refusal.rule));
        if name != "legal" && name != "ReduceSlots" && !name.starts_with("ValidCount") {
            return Err(format!("{chain}\n{name}"));
        }
        *counts.entry(name).or_default() += 1;
        Ok(())
    });
    let refused: usize =
        counts.iter().filter(|(name, _)| name.starts_with("ValidCount")).map(|(_, count)| count).sum();
    assert!((counts["legal"] > 150 && refused > 60) || std::env::var("VISA_CASES").is_ok(), "{counts:#?}");
}
