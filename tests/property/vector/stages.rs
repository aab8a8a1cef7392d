//! Which stages may follow each other: what the types of the library allow, against the reference.

use crate::reference::vector::rules::Stage;
use furiosa_visa_std::engine::vector::stage::{self, CanTransitionTo, Stashable};
use std::marker::PhantomData;

/// Answers for a type by the method that is found: that of the bound if it holds, else the one behind a reference.
struct Probe<T>(PhantomData<T>);

trait Refused {
    fn leads(&self) -> bool {
        false
    }
    fn stashes(&self) -> bool {
        false
    }
}

impl<T> Refused for &Probe<T> {}

impl<From: CanTransitionTo<To>, To: stage::Stage> Probe<(From, To)> {
    fn leads(&self) -> bool {
        true
    }
}

impl<From: Stashable> Probe<(From,)> {
    fn stashes(&self) -> bool {
        true
    }
}

/// Whether stage A may be followed by each of the stages after it.
macro_rules! row {
    ($from:ident => $($to:ident)*) => {
        [$((&Probe::<(stage::$from, stage::$to)>(PhantomData)).leads()),*]
    };
}

macro_rules! table {
    ($($from:ident)*) => {
        [$((
            row!($from => Branch Logic Fxp FxpToFp Narrow Fp IntraSliceReduce FpDiv Widen FpToFxp Clip),
            row!($from => InterSliceReduce Output),
            (&Probe::<(stage::$from,)>(PhantomData)).stashes(),
        )),*]
    };
}

#[test]
fn stages_follow_each_other_as_the_reference_says() {
    let found = table!(Branch Logic Fxp FxpToFp Narrow Fp IntraSliceReduce FpDiv Widen FpToFxp Clip);
    for (from, (next, [inter, leaves], stashes)) in Stage::ALL.into_iter().zip(found) {
        assert_eq!(next, Stage::ALL.map(|to| from.leads_to(to)), "{from:?}");
        assert_eq!((inter, leaves), (from.leads_to_inter(), true), "{from:?}");
        assert_eq!(stashes, from.is_stashable(), "{from:?}");
    }
    let [inter] = [row!(InterSliceReduce => Branch Output Logic InterSliceReduce)];
    assert_eq!(inter, [true, true, false, false]);
}
