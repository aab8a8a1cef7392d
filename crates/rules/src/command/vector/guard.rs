//! Guards: conditions on the four bits of an execution id.

use super::branch::{GROUP_BIT, GroupId};
use crate::text::Text;
use core::fmt;

/// The number of execution ids.
const IDS: u8 = 16;

/// The demand of a guard on one bit of an execution id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BitReq {
    /// The bit is 1.
    One,
    /// The bit is 0.
    Zero,
    /// The bit does not matter.
    #[default]
    Ignore,
}

impl BitReq {
    const fn agrees(self, bit: bool) -> bool {
        match self {
            BitReq::One => bit,
            BitReq::Zero => !bit,
            BitReq::Ignore => true,
        }
    }

    const fn is_ignore(self) -> bool {
        matches!(self, BitReq::Ignore)
    }

    const fn name(self) -> &'static str {
        match self {
            BitReq::One => "One",
            BitReq::Zero => "Zero",
            BitReq::Ignore => "Ignore",
        }
    }
}

/// The execution id of an element: bit `i` says whether comparison `i` holds. Bit 3 is the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionId(u8);

impl ExecutionId {
    /// The id of this number. Refused while compiling: 16 and more.
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub const fn new<const RAW: u8>() -> Self {
        const {
            assert!(RAW < IDS, "execution id: ids have four bits, 0 to 15; help: use a smaller number");
        }
        Self(RAW)
    }

    /// The id of a number. `None`: the number has more than four bits.
    pub const fn try_new(raw: u8) -> Option<Self> {
        if raw < IDS { Some(Self(raw)) } else { None }
    }

    /// All ids, in ascending order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..IDS).map(Self)
    }

    /// The number of the id.
    pub const fn raw(self) -> u8 {
        self.0
    }

    /// The group of elements with this id.
    pub const fn group(self) -> GroupId {
        if self.0 & GROUP_BIT == 0 { GroupId::Zero } else { GroupId::One }
    }
}

/// A condition on execution ids: the elements that an operand is for. Guards that admit the same ids are equal.
///
/// ```
/// use furiosa_visa_rules::command::{BitReq::*, ExecutionId, GroupId, TagGuard};
/// // Comparison 0 holds, and comparison 2 does not.
/// let between = TagGuard::matches([One, Ignore, Zero, Ignore]);
/// assert!(between.admits(ExecutionId::new::<0b1011>()) && !between.admits(ExecutionId::new::<0b0101>()));
/// assert_eq!(TagGuard::not_matches([Ignore, Ignore, Ignore, One]), TagGuard::group(GroupId::Zero));
/// assert_eq!(TagGuard::matches([Ignore; 4]), TagGuard::all());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TagGuard {
    /// The demand on each bit: `bits[i]` on bit `i`.
    bits: [BitReq; 4],
    /// True if ids are admitted that do not fulfil all demands. A single demand is turned round instead.
    negated: bool,
}

impl TagGuard {
    /// Admits all ids.
    pub const fn all() -> Self {
        Self { bits: [BitReq::Ignore; 4], negated: false }
    }

    /// Admits ids that fulfil the demands on all four bits.
    pub const fn matches(bits: [BitReq; 4]) -> Self {
        Self { bits, negated: false }
    }

    /// Admits ids that do not fulfil all demands. With no demand it admits nothing.
    pub const fn not_matches(bits: [BitReq; 4]) -> Self {
        let (mut demands, mut turned) = (0, bits);
        let mut k = 0;
        while k < 4 {
            turned[k] = match bits[k] {
                BitReq::One => BitReq::Zero,
                BitReq::Zero => BitReq::One,
                BitReq::Ignore => BitReq::Ignore,
            };
            demands += !bits[k].is_ignore() as usize;
            k += 1;
        }
        if demands == 1 { Self { bits: turned, negated: false } } else { Self { bits, negated: true } }
    }

    /// Admits the ids of a group.
    pub const fn group(id: GroupId) -> Self {
        let group = match id {
            GroupId::Zero => BitReq::Zero,
            GroupId::One => BitReq::One,
        };
        Self::matches([BitReq::Ignore, BitReq::Ignore, BitReq::Ignore, group])
    }

    /// True if the guard admits an id.
    pub const fn admits(&self, id: ExecutionId) -> bool {
        self.admits_raw(id.0)
    }

    /// [`Self::admits`] of a number, of which the lower four bits count.
    pub const fn admits_raw(&self, id: u8) -> bool {
        let (mut fulfilled, mut k) = (true, 0);
        while k < 4 {
            fulfilled &= self.bits[k].agrees(id >> k & 1 == 1);
            k += 1;
        }
        fulfilled != self.negated
    }

    /// True if the guard admits all ids.
    pub const fn admits_all(&self) -> bool {
        !self.negated && self.has_no_demand()
    }

    /// True if the guard admits no id.
    pub const fn admits_nothing(&self) -> bool {
        self.negated && self.has_no_demand()
    }

    /// The group of which the guard admits all ids and no others.
    pub const fn as_group(&self) -> Option<GroupId> {
        match (self.negated, self.bits) {
            (false, [BitReq::Ignore, BitReq::Ignore, BitReq::Ignore, BitReq::Zero]) => Some(GroupId::Zero),
            (false, [BitReq::Ignore, BitReq::Ignore, BitReq::Ignore, BitReq::One]) => Some(GroupId::One),
            _ => None,
        }
    }

    /// The demands on the bits, and true if ids are admitted that do not fulfil them. `None` for [`Self::all`].
    pub const fn pattern(&self) -> Option<(&[BitReq; 4], bool)> {
        if self.admits_all() { None } else { Some((&self.bits, self.negated)) }
    }

    const fn has_no_demand(&self) -> bool {
        let [a, b, c, d] = self.bits;
        a.is_ignore() && b.is_ignore() && c.is_ignore() && d.is_ignore()
    }

    /// Appends the guard to a text, as a kernel writes it.
    pub const fn notation(&self, text: Text) -> Text {
        if self.admits_all() {
            return text.str("TagGuard::all()");
        }
        let call = if self.negated { "TagGuard::not_matches([" } else { "TagGuard::matches([" };
        let (mut text, mut k) = (text.str(call), 0);
        while k < 4 {
            text = text.str(if k == 0 { "" } else { ", " }).str(self.bits[k].name());
            k += 1;
        }
        text.str("])")
    }
}

impl From<GroupId> for TagGuard {
    fn from(id: GroupId) -> Self {
        TagGuard::group(id)
    }
}

impl fmt::Display for TagGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.notation(Text::new()).as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::BitReq::{Ignore, One, Zero};
    use super::*;
    use std::collections::HashMap;

    fn every_pattern() -> impl Iterator<Item = [BitReq; 4]> {
        let pick = |k: usize| [One, Zero, Ignore][k % 3];
        (0..81).map(move |k| [k, k / 3, k / 9, k / 27].map(pick))
    }

    fn admitted(guard: TagGuard) -> Vec<u8> {
        ExecutionId::all().filter(|id| guard.admits(*id)).map(ExecutionId::raw).collect()
    }

    /// Guards are equal exactly if they admit the same ids, and `not_matches` admits what `matches` does not.
    #[test]
    fn guards_are_the_ids_that_they_admit() {
        let mut known: HashMap<Vec<u8>, TagGuard> = HashMap::new();
        for bits in every_pattern() {
            let (plain, negated) = (TagGuard::matches(bits), TagGuard::not_matches(bits));
            let demanded = |id: &u8| {
                (0..4).all(|k| match bits[k] {
                    One => id >> k & 1 == 1,
                    Zero => id >> k & 1 == 0,
                    Ignore => true,
                })
            };
            let (inside, outside): (Vec<u8>, Vec<u8>) = (0..16).partition(demanded);
            assert_eq!((admitted(plain), admitted(negated)), (inside, outside), "{bits:?}");
            for guard in [plain, negated] {
                let ids = admitted(guard);
                assert_eq!((guard.admits_all(), guard.admits_nothing()), (ids.len() == 16, ids.is_empty()));
                let group = match &ids[..] {
                    [0, 1, 2, 3, 4, 5, 6, 7] => Some(GroupId::Zero),
                    [8, 9, 10, 11, 12, 13, 14, 15] => Some(GroupId::One),
                    _ => None,
                };
                assert_eq!(guard.as_group(), group);
                assert_eq!(*known.entry(ids).or_insert(guard), guard, "{bits:?}");
            }
        }
    }

    #[test]
    fn patterns_and_words() {
        assert_eq!(TagGuard::all().pattern(), None);
        assert_eq!(TagGuard::matches([Ignore; 4]), TagGuard::all());
        assert_eq!(
            TagGuard::matches([One, Ignore, Zero, Ignore]).pattern(),
            Some((&[One, Ignore, Zero, Ignore], false))
        );
        assert_eq!(TagGuard::not_matches([Ignore; 4]).pattern(), Some((&[Ignore; 4], true)));
        assert_eq!(
            TagGuard::not_matches([One, One, Ignore, Ignore]).pattern(),
            Some((&[One, One, Ignore, Ignore], true))
        );
        assert_eq!(TagGuard::from(GroupId::One), TagGuard::not_matches([Ignore, Ignore, Ignore, Zero]));
        assert_eq!(TagGuard::all().to_string(), "TagGuard::all()");
        let guard = TagGuard::not_matches([One, Zero, Ignore, Ignore]);
        assert_eq!(guard.to_string(), "TagGuard::not_matches([One, Zero, Ignore, Ignore])");
        assert_eq!(
            TagGuard::group(GroupId::Zero).to_string(),
            "TagGuard::matches([Ignore, Ignore, Ignore, Zero])"
        );
    }

    #[test]
    fn ids_have_four_bits() {
        assert_eq!(ExecutionId::all().count(), 16);
        assert_eq!(
            (ExecutionId::try_new(15), ExecutionId::try_new(16)),
            (Some(ExecutionId::new::<15>()), None)
        );
        assert_eq!(
            (ExecutionId::new::<7>().group(), ExecutionId::new::<8>().group()),
            (GroupId::Zero, GroupId::One)
        );
    }
}
