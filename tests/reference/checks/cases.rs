use reference::cases::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn every_case_is_checked_and_failures_are_found() {
    let mut seen = Vec::new();
    let count = for_cases(5, |random| {
        seen.push(random.seed);
        Ok(())
    });
    assert_eq!(seen.len() as u64, count);
    assert!(seen.windows(2).all(|pair| pair[0] + 1 == pair[1]));
    for panics in [false, true] {
        let mut given = 0;
        let failed = catch_unwind(AssertUnwindSafe(|| {
            for_cases(50, |_| {
                given += 1;
                assert!(!panics, "a panic of the library");
                Err("wrong".to_string())
            })
        }));
        assert!(failed.is_err());
        assert!((1..=MOST_FAILURES).contains(&given), "{given}");
    }
}
