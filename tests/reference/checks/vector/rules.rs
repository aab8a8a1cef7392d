use reference::vector::rules::*;

/// The documented order, with the four clusters that repeat.
#[test]
fn transitions() {
    for (i, from) in Stage::ALL.into_iter().enumerate() {
        for (j, to) in Stage::ALL.into_iter().enumerate() {
            let repeats = i == j && [1, 2, 5, 10].contains(&i);
            assert_eq!(from.leads_to(to), i < j || repeats, "{from:?} {to:?}");
        }
    }
    let inter: Vec<usize> = (0..11).filter(|k| Stage::ALL[*k].leads_to_inter()).collect();
    assert_eq!(inter, [0, 1, 2, 3, 8, 9, 10]);
    let stashable: Vec<usize> = (0..11).filter(|k| Stage::ALL[*k].is_stashable()).collect();
    assert_eq!(stashable, [0, 1, 2, 4, 5, 7, 10]);
}
