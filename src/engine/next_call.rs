//! Messages of the compiler for a call at the wrong stage of a stream.
//!
//! A stage has the methods of the calls that may follow. It also has the others, each with a bound that nothing meets:
//! the compiler shows the text of the bound at the user's call, in `cargo check` too. Without it the compiler would
//! only say that there is no such method. Such a method has the result of the right call, so that the rest of the chain
//! causes no more errors; `to_vrf`, whose result depends on a type that is not known to fit, ends it.

use crate::command::{AccumulationKind, Address, TrfAddress};
use crate::engine::commit_stages::{Ending, Plain};
use crate::engine::dma::OnChip;
use crate::engine::layout::StreamLayout;
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{
    PositionAlign, PositionBegin, PositionCast, PositionCollect, PositionCommitCast, PositionCommitTrim,
    PositionContract, PositionContraction, PositionFetch, PositionSwitch, PositionTranspose,
};
use crate::engine::switch::SwitchConfig;
use crate::mapping::{Identity, M};
use crate::runtime::Tu;
use crate::scalar::{ChipType, ContractsTo, Scalar, StreamScalar};
use crate::tensor::{DmTensor, DmTensorViewMut, HbmTensor, TrfTensor, WindowList};

/// Declares bounds that no stream meets. Each has the message for the stage that lacks it.
macro_rules! never_met {
    ($($(#[$doc:meta])* $bound:ident: $message:literal, $label:literal;)*) => { $(
        $(#[$doc])*
        #[diagnostic::on_unimplemented(message = $message, label = $label)]
        pub trait $bound<Parameters> {}
    )* };
}

pub(crate) use never_met;

never_met! {
    /// Bound on a tensor that `.fetch()` has read.
    WasFetched: "the tensor has not been read yet",
        "`.fetch::<D, Time, Packet>()` comes before this call";
    /// Bound on a tensor that no `.fetch()` has read.
    IsUnread: "the tensor was read already",
        "a stream is fetched once: remove this call, or begin another stream";
    /// Bound on packets that no `.switch()` has exchanged.
    IsUnswitched: "the packets were exchanged already",
        "remove this call: `.collect::<Time, Packet>()` comes next, and a second exchange begins with a commit";
    /// Bound on packets as `.fetch()` has read them: only these are exchanged.
    IsAsFetched: "packets are exchanged as they were read",
        "`.switch::<Slice, Time>(config)` comes right after `.fetch()`, and before `.collect()`";
    /// Bound on packets that `.collect()` has cut into flits.
    WasCollected: "the packets have not been cut into flits yet",
        "`.collect::<Time, Packet>()` comes before this call";
    /// Bound on packets that no `.collect()` has cut into flits.
    IsUncollected: "the stream was collected already",
        "remove this call: only `.fetch()` is followed by `.collect()`";
    /// Bound on a stream that `.align()` has brought together with weights.
    MetWeights: "the stream has not met its weights yet",
        "`.align::<OutTime, OutPacket, _, _>(&weights)` comes before this call";
    /// Bound on products that `.contract()` has added.
    WasContracted: "the data lies beside its weights, and nothing is multiplied yet",
        "`.contract::<OutPacket>()` comes before this call";
    /// Bound on sums that `.accumulate()` has added over time.
    WasAccumulated: "the columns have not been added over time yet",
        "`.accumulate::<OutTime, OutPacket>(kind)` comes before this call";
    /// Bound on a stream that no `.align()` has brought together with weights.
    HasNoWeights: "the stream has met its weights already",
        "remove this call: `.contract()` and `.accumulate()` come next";
    /// Bound on products that no `.contract()` has added.
    HasNoColumns: "the products were added to columns already",
        "remove this call: `.accumulate()` comes next";
    /// Bound on sums that no `.accumulate()` has added over time.
    IsUnsummed: "the columns were added over time already",
        "remove this call: a stream is accumulated once";
    /// Bound on a stream that was not contracted.
    IsUncontracted: "a stream meets its weights once",
        "`.commit::<Element>(address)` the stream, and begin another one with the result";
    /// Bound on elements that were not cast.
    IsUncast: "the stream was cast already",
        "remove this call, or cast to the last type at once";
    /// Bound on streams that were not transposed.
    IsUntransposed: "the stream was transposed already",
        "remove this call: after `.transpose()` comes `.commit::<Element>(address)`";
    /// Bound on collected streams: only these load register files.
    IsAsCollected: "only a stream that was just collected loads a register file",
        "`.commit::<Element>(address)` the stream, then begin, `.fetch()` and `.collect()` the result";
    /// Bound on streams before the Commit Engine.
    IsBeforeCommit: "the stream has come to the Commit Engine",
        "this call comes before `.commit_trim()` and `.commit_cast()`: `.commit::<Element>(address)` comes next";
    /// Bound on packets that no `.commit_trim()` has cut.
    IsUntrimmed: "the packets were trimmed already",
        "remove this call, or trim to the last packet at once";
    /// Bound on elements that no `.commit_cast()` has narrowed.
    IsUnnarrowed: "the Commit Engine narrows the elements already",
        "remove this call: `.commit_trim()` comes before `.commit_cast()`, and `.commit::<Element>(address)` behind it";
    /// Bound on streams whose valid elements are packed.
    PacksValidCounts: "commit_valid_count_pack: how the engine packs the elements that are left is not documented, and not offered",
        "remove this call: all elements are committed, and a later fetch reads those that are wanted";
    /// Bound on streams that `.commit()` has written to a tensor in DM.
    WasCommitted: "a stream in motion is no tensor in memory",
        "`.commit::<Element>(address)` comes before this call";
}

/// Weights of any type: at a wrong stage, the element type of the stream differs from theirs.
#[doc(hidden)]
pub trait Weights<Chip, Cluster, Slice, Row, Element> {}

impl<D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    Weights<Chip, Cluster, Slice, Row, Element> for TrfTensor<D, Chip, Cluster, Slice, Row, Element>
{
}

/// Declares one call, with the parameters and the result that it has at its right place, so that the compiler reports
/// no more errors behind it. `$element` is the element type at the right place.
macro_rules! call {
    ($bound:ident, $element:ty, fetch) => {
        call!($bound, fetch<D2: StreamScalar, Time2: M, Packet2: M>()
            -> StreamTensor<'l, T, PositionFetch, D2, L::With<Time2, Packet2>>);
    };
    ($bound:ident, $element:ty, switch) => {
        call!($bound, switch<Slice2: M, Time2: M>(config: SwitchConfig)
            -> StreamTensor<'l, T, PositionSwitch, D, L::Over<Slice2, Time2>>);
    };
    ($bound:ident, $element:ty, switch_to) => {
        call!($bound, switch_to<Slice2: M, Time2: M>()
            -> StreamTensor<'l, T, PositionSwitch, D, L::Over<Slice2, Time2>>);
    };
    ($bound:ident, $element:ty, collect) => {
        call!($bound, collect<Time2: M, Packet2: M>()
            -> StreamTensor<'l, T, PositionCollect, D, L::With<Time2, Packet2>>);
    };
    ($bound:ident, $element:ty, collect_flits) => {
        call!($bound, collect_flits<>() -> StreamTensor<'l, T, PositionCollect, D, L>);
    };
    ($bound:ident, $element:ty, align) => {
        call!($bound, align<OutTime: M, OutPacket2: M, Row2: M, TrfElement: M>(
                weights: &impl Weights<L::Chip, L::Cluster, L::Slice, Row2, TrfElement>)
            -> StreamTensor<'l, T, PositionAlign<Row2>, D, L::With<OutTime, OutPacket2>>);
    };
    ($bound:ident, $element:ty, contract) => {
        call!($bound, contract<OutPacket2: M>()
            -> StreamTensor<'l, T, PositionContract<Identity>, $element, L::With<L::Time, OutPacket2>>);
    };
    ($bound:ident, $element:ty, accumulate) => {
        call!($bound, accumulate<OutTime2: M, OutPacket2: M>(kind: AccumulationKind)
            -> StreamTensor<'l, T, PositionContraction, $element, L::With<OutTime2, OutPacket2>>);
    };
    ($bound:ident, $element:ty, cast) => {
        call!($bound, cast<D2: Scalar, OutPacket2: M>()
            -> StreamTensor<'l, T, PositionCast, D2, L::With<L::Time, OutPacket2>>);
    };
    ($bound:ident, $element:ty, transpose) => {
        call!($bound, transpose<OutTime2: M, OutPacket2: M>()
            -> StreamTensor<'l, T, PositionTranspose, $element, L::With<OutTime2, OutPacket2>>);
    };
    ($bound:ident, $element:ty, commit_trim) => {
        call!($bound, commit_trim<OutPacket2: M>()
            -> StreamTensor<'l, T, PositionCommitTrim, $element, L::With<L::Time, OutPacket2>>);
    };
    ($bound:ident, $element:ty, commit_cast) => {
        call!($bound, commit_cast<D2: Scalar>()
            -> StreamTensor<'l, T, PositionCommitCast<Plain>, D2, L>);
    };
    ($bound:ident, $element:ty, commit_cast_relu) => {
        call!($bound, commit_cast_relu<D2: Scalar>()
            -> StreamTensor<'l, T, PositionCommitCast<Plain>, D2, L>);
    };
    ($bound:ident, $element:ty, commit_valid_count_pack) => {
        call!($bound, commit_valid_count_pack<Element: M>(valid_count: usize)
            -> StreamTensor<'l, T, PositionCommitTrim, $element, L::With<L::Time, Element>>);
    };
    ($bound:ident, $element:ty, commit) => {
        call!($bound, commit<Element: M>(address: Address)
            -> DmTensor<$element, L::Chip, L::Cluster, L::Slice, Element>);
    };
    ($bound:ident, $element:ty, commit_view) => {
        call!($bound, commit_view<Element: M>(
            destination: DmTensorViewMut<'l, $element, L::Chip, L::Cluster, L::Slice, Element>) -> ());
    };
    ($bound:ident, $element:ty, to_trf) => {
        call!($bound, to_trf<Row2: M, Element: M>(address: TrfAddress)
            -> TrfTensor<D, L::Chip, L::Cluster, L::Slice, Row2, Element>);
    };
    ($bound:ident, $element:ty, to_trf_auto) => {
        call!($bound, to_trf_auto<Row2: M, Element: M>()
            -> TrfTensor<D, L::Chip, L::Cluster, L::Slice, Row2, Element>);
    };
    ($bound:ident, $element:ty, to_vrf) => {
        call!($bound, to_vrf<Element: M>(address: Address) -> ());
    };
    ($bound:ident, $element:ty, to_hbm) => {
        call!($bound, to_hbm<Element: M>(dma: &mut impl OnChip, address: Address)
            -> HbmTensor<$element, L::Chip, Element>);
    };
    ($bound:ident, $element:ty, to_dm) => {
        call!($bound, to_dm<Slice2: M, Element: M>(dma: &mut impl OnChip, address: Address)
            -> DmTensor<$element, L::Chip, L::Cluster, Slice2, Element>);
    };
    ($bound:ident, $name:ident<$($parameter:ident: $is:ident),*>($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[doc(hidden)]
        pub fn $name<$($parameter: $is),*>(self, $($argument: $type),*) -> $result
        where
            Self: $bound<($($parameter,)*)>,
        {
            let _ = ($($argument,)*);
            unreachable!("nothing meets this bound")
        }
    };
}

/// Declares the calls that stages lack, each with the bound that explains why.
macro_rules! wrong_calls {
    ($($generics:tt $element:ty; [$($stage:ty),*] $calls:tt)*) => {
        $($(wrong_calls! { @stage $generics $element; $stage $calls })*)*
    };
    (@stage [$($generics:tt)*] $element:ty; $stage:ty { $($bound:ident: $($call:ident)*;)* }) => {
        impl<'l, const T: Tu, L: StreamLayout, $($generics)*> StreamTensor<'l, T, $stage, D, L> {
            $($(call!($bound, $element, $call);)*)*
        }
    };
}

/// Sums of products of `D`.
type Sum<D> = <D as ContractsTo<Identity>>::Output;

wrong_calls! {
    [D: Scalar, Kind: ChipType, Windows: WindowList] D; [PositionBegin<Kind, Windows>] {
        WasFetched: switch switch_to collect collect_flits align cast transpose commit commit_view to_trf to_trf_auto to_vrf;
        WasFetched: commit_trim commit_cast commit_cast_relu;
        WasCommitted: to_hbm to_dm;
    }
    [D: ContractsTo<Identity>, Kind: ChipType, Windows: WindowList] Sum<D>; [PositionBegin<Kind, Windows>] {
        WasFetched: contract accumulate;
    }
    [D: StreamScalar] D; [PositionFetch, PositionSwitch] {
        IsUnread: fetch;
        WasCollected: align cast transpose to_trf to_trf_auto to_vrf;
    }
    [D: ContractsTo<Identity>] Sum<D>; [PositionFetch, PositionSwitch] {
        WasCollected: contract accumulate;
    }
    [D: StreamScalar] D; [PositionSwitch] {
        IsUnswitched: switch switch_to;
    }
    [D: StreamScalar] D; [PositionCollect, PositionContraction, PositionCast, PositionTranspose] {
        IsUnread: fetch;
        IsAsFetched: switch switch_to;
        IsUncollected: collect collect_flits;
    }
    [D: ContractsTo<Identity>] Sum<D>; [PositionCollect] {
        MetWeights: contract accumulate;
    }
    [D: StreamScalar, Row: M] D; [PositionAlign<Row>, PositionContract<Row>] {
        IsUnread: fetch;
        IsAsFetched: switch switch_to;
        IsUncollected: collect collect_flits;
        HasNoWeights: align;
        IsAsCollected: to_trf to_trf_auto to_vrf;
    }
    [D: StreamScalar, Row: M] D; [PositionAlign<Row>] {
        WasContracted: cast transpose;
    }
    [D: ContractsTo<Identity>, Row: M] Sum<D>; [PositionAlign<Row>] {
        WasContracted: accumulate commit commit_view to_hbm to_dm commit_trim commit_cast commit_cast_relu;
    }
    [D: Scalar, Row: M] D; [PositionContract<Row>] {
        HasNoColumns: contract;
        WasAccumulated: cast transpose commit commit_view to_hbm to_dm commit_trim commit_cast commit_cast_relu;
    }
    [D: Scalar] D; [PositionContraction, PositionCast, PositionTranspose] {
        IsUncontracted: align contract;
        IsUnsummed: accumulate;
        IsAsCollected: to_trf to_trf_auto to_vrf;
    }
    [D: Scalar] D; [PositionCast] {
        IsUncast: cast;
    }
    [D: Scalar] D; [PositionTranspose] {
        IsUntransposed: cast transpose;
    }
    [D: Scalar] D; [
        PositionFetch, PositionSwitch, PositionCollect, PositionContraction, PositionCast, PositionTranspose
    ] {
        WasCommitted: to_hbm to_dm;
    }
    [D: StreamScalar] D; [PositionCommitTrim] {
        IsBeforeCommit: fetch switch switch_to collect collect_flits align cast transpose to_trf to_vrf;
        IsUntrimmed: commit_trim;
    }
    [D: ContractsTo<Identity>] Sum<D>; [PositionCommitTrim] {
        IsBeforeCommit: contract accumulate;
    }
    [D: Scalar] D; [PositionCommitTrim] {
        PacksValidCounts: commit_valid_count_pack;
        WasCommitted: to_hbm to_dm;
    }
    [D: Scalar, Before: Ending] D; [PositionCommitCast<Before>] {
        IsBeforeCommit: fetch switch switch_to collect collect_flits align contract accumulate cast transpose to_trf to_vrf;
        IsUnnarrowed: commit_trim commit_cast commit_cast_relu;
        WasCommitted: to_hbm to_dm;
    }
}
