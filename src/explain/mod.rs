//! `explain()` on plans: the origin of a configuration.
//!
//! Plans with a sequencer (fetch, align, commit) show the tables of [sequencers](crate::guide::sequencers) and the
//! numbers derived from them. Plans that only change the mapping (switch, collect, loads of the register files,
//! contract, accumulate, cast, transpose) show it before and after, the rule, and their numbers: a
//! [`StageExplanation`].

use crate::engine::commit::CommitPlan;
use crate::engine::commit_stages::{CommitTrimPlan, Ending};
use crate::engine::dma::{AtRest, DmaPlan};
use crate::engine::fetch::FetchPlan;
use crate::engine::fetch::stages::Stages;
use crate::error::PlanError;
use crate::host::BufferPlan;
use crate::mapping::M;
use crate::runtime::Tu;
use crate::scalar::{Scalar, StreamScalar};
use crate::sequencer::Explanation;
use crate::tensor::WindowList;

mod cast;
mod collect;
mod contraction;
mod copies;
mod indexed;
mod memset;
mod register_files;
#[cfg(test)]
mod sequencer_tests;
mod switch;
mod transpose;
mod vector;

pub use furiosa_visa_rules::explain::*;

/// Unwraps an explanation: every plan that exists has one.
fn explained(explanation: Result<Explanation, PlanError>) -> Explanation {
    explanation.expect("what derives can be explained")
}

impl<
    D: Scalar,
    D2: StreamScalar,
    Element: M,
    Time2: M,
    Packet2: M,
    const T: Tu,
    Begin: M,
    Adapter: Stages,
    Windows: WindowList,
> FetchPlan<D, D2, Element, Time2, Packet2, T, Begin, Adapter, Windows>
{
    /// Explains the derivation of the sequencer from the mappings.
    ///
    /// ```
    /// use furiosa_visa_std::engine::fetch::FetchPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 8, B = 8, C = 8];
    /// let explanation = FetchPlan::<i8, i8, m![A, B, C # 32], m![B, A], m![C # 16]>::explain();
    /// assert_eq!(explanation.rows[1].after, "m![1 # 64, C # 32]");
    /// println!("{explanation}");
    /// ```
    pub fn explain() -> Explanation {
        explained(explain_fetch("fetch", &Self::REQUEST))
    }
}

impl<D: Scalar, Buf: M, Time: M, Packet: M> BufferPlan<D, Buf, Time, Packet> {
    /// Explains the derivation of the sequencer from the mappings.
    pub fn explain() -> Explanation {
        explained(explain_read(Buf::EXPR, Time::EXPR, Packet::EXPR, D::ELEMENT_TYPE))
    }
}

impl<D: Scalar, Time: M, Packet: M, Element: M, const T: Tu, Stages: Ending>
    CommitPlan<D, Time, Packet, Element, T, Stages>
{
    /// Explains the derivation of the sequencer from the mappings.
    pub fn explain() -> Explanation {
        explained(explain_commit(&Self::REQUEST, &Self::CONFIG))
    }

    /// The same for a view, which may be a tile.
    ///
    /// ```
    /// use furiosa_visa_std::engine::commit::CommitPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![Q = 4, K = 8];
    /// let text = CommitPlan::<i8, m![1], m![K # 32], m![1 # 4, K]>::explain_view().to_string();
    /// assert!(text.contains("commit_in_size") && text.contains("8 bytes"));
    /// ```
    pub fn explain_view() -> Explanation {
        let explanation = explain_commit_view(&Self::REQUEST, &Self::VIEW);
        explained(explanation.or_else(|_| explain_commit(&Self::REQUEST, &Self::VIEW)))
    }
}

impl<D: StreamScalar, Packet: M, OutPacket: M> CommitTrimPlan<D, Packet, OutPacket> {
    /// Explains what is kept of each flit.
    ///
    /// ```
    /// use furiosa_visa_std::engine::commit_stages::CommitTrimPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![W = 12];
    /// let explanation = CommitTrimPlan::<i8, m![W # 32], m![W = 8]>::explain();
    /// assert_eq!(explanation.value("kept"), Some("8 bytes, 8 i8"));
    /// assert_eq!(explanation.value("cut elements"), Some("4"));
    /// ```
    pub fn explain() -> StageExplanation {
        explain_commit_trim(&Self::REQUEST).unwrap_or_else(|error| error.refuse())
    }
}

impl<Source: AtRest, Destination: AtRest> DmaPlan<Source, Destination> {
    /// The loops of the transfer, as text.
    pub fn explain() -> String {
        let (source, destination) = (Source::SHAPE, Destination::SHAPE);
        let (from, to) = (source.to_text(), destination.to_text());
        format!("{from} to {to}\n{}", Self::TRANSFER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    axes![A = 8, B = 16];

    #[test]
    fn a_commit_is_explained() {
        // The loops: M 4:16, K 2:8, W 8:1, with 8 bytes per write.
        axes![M = 4, K = 2, W = 8];
        type Plan = CommitPlan<i8, m![M, K], m![W # 32], m![M, K, W]>;
        let text = Plan::explain().to_string();
        assert!(text.contains("[4 : 16, 2 : 8, 8 : 1] : 8"), "{text}");
        assert!(
            text.lines().any(|line| line.starts_with("commit_size ") && line.ends_with(" 8 bytes")),
            "{text}"
        );
        assert_eq!(
            Plan::CONFIG.to_string(),
            "[4 : 16, 2 : 8, 8 : 1] : 8, commit_in_size 8 B, commit_size 8 B, 8 cycles"
        );
    }

    #[test]
    fn a_commit_that_narrows_is_explained() {
        use crate::engine::commit_stages::{Narrowed, Trimmed};
        // Of 8 f32 the leading 4 are kept: 16 bytes, which are 8 as bf16.
        type Plan = CommitPlan<bf16, m![B], m![A = 4], m![B, A = 4], false, Narrowed<Trimmed>>;
        let text = Plan::explain().to_string();
        let has = |name: &str, value: &str| {
            text.lines()
                .any(|line| line.starts_with(&format!("{name} ")) && line.ends_with(&format!(" {value}")))
        };
        assert!(has("commit_in_size", "16 bytes") && has("narrowed", "f32 to bf16, 8 bytes"), "{text}");
        assert!(has("contiguous run", "128 bytes") && has("commit_size", "8 bytes"), "{text}");
        let config = Plan::CONFIG;
        assert_eq!((config.window, config.written, config.cycles), (4, 8, 16));
        assert_eq!(
            config.to_string(),
            "[16 : 4, 4 : 1] : 4, commit_in_size 16 B, commit_size 8 B, 16 cycles"
        );
    }

    #[test]
    fn a_move_prints_its_loops() {
        type Move =
            DmaPlan<HbmTensor<i8, m![1], m![A, B]>, DmTensor<i8, m![1], m![1 # 2], m![A # 256], m![B]>>;
        let text = Move::explain();
        assert!(text.starts_with("`HbmTensor<m![1], m![A, B]>` to `DmTensor<m![1], m![1 # 2], "), "{text}");
        assert!(text.contains("         8       16 elements            1 unit"), "{text}");
        assert!(text.contains("        16         1 element         1 element"), "{text}");
    }
}
