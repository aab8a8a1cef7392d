//! The configuration that a kernel writes.

use crate::command::SwitchVariant;
use crate::text::Text;
use core::fmt;

/// A redistribution of packets by the Switch Engine: a generator of router settings, with its sizes.
///
/// Slices are numbered `(s2 * slice1 + s1) * slice0 + s0`, so each cluster is cut into `s2` sub-rings of
/// `slice1 * slice0` slices. `x` and `y` are new axes, or padding `1 # n`. See the [module](super) for pictures.
///
/// | variant | `Slice2` | `Time2` | every slice gets of its sub-ring |
/// |---|---|---|---|
/// | `Broadcast01` | `s2, x, y` | `time1, s1, time0, s0` | everything |
/// | `Broadcast1` | `s2, x, s0` | `time, s1` | one of `slice0` packets |
/// | `Transpose` | `s2, s0, s1` | `time` | one of `slice1 * slice0` |
/// | `InterTranspose` | `s2, t1, s0` | `time2, time0, s1` | one of `slice1 * slice0` |
/// | `TransposedBroadcast1` | `s2, x, s1` | `time, s0` | one of `slice1` |
/// | `CustomBroadcast` | any digits, in any order | `time`, and moved digits innermost | those that it needs |
/// | `Forwarding` | `s2, s1, s0` | `time` | its own |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchConfig {
    /// All slices of a sub-ring get all of its packets.
    Broadcast01 {
        /// Values of the outer slice digit that becomes time.
        slice1: usize,
        /// Values of the inner slice digit that becomes time, innermost.
        slice0: usize,
        /// Number of time steps in which the slices of an `s0` take turns before those of the next `s1`.
        time0: usize,
    },
    /// The outer slice digit becomes time, innermost.
    Broadcast1 {
        /// Values of the slice digit that becomes time.
        slice1: usize,
        /// Values of the slice digit that stays.
        slice0: usize,
    },
    /// Two slice digits trade places.
    Transpose {
        /// Values of the outer digit.
        slice1: usize,
        /// Values of the inner digit.
        slice0: usize,
    },
    /// A slice digit and a time digit of the same size trade places. The slice digit becomes innermost in time.
    InterTranspose {
        /// Values of both digits.
        slice1: usize,
        /// Slices inside the slice digit.
        slice0: usize,
        /// Time steps inside the time digit.
        time0: usize,
    },
    /// Slice digits become time, stay or move, as the mappings define. In use, it makes the DMA engines and the sub
    /// context wait while the sets of the routers are written.
    CustomBroadcast {
        /// Slices of a sub-ring: exactly the number that the mappings need.
        ring_size: usize,
    },
    /// The inner slice digit becomes time, innermost, and the outer one takes its place.
    TransposedBroadcast1 {
        /// Values of the slice digit that moves inwards.
        slice1: usize,
        /// Values of the slice digit that becomes time.
        slice0: usize,
    },
    /// Slices and time stay as they are: the same as a `collect` without a switch.
    Forwarding,
}

impl SwitchConfig {
    /// The generator.
    pub const fn variant(&self) -> SwitchVariant {
        match self {
            SwitchConfig::Broadcast01 { .. } => SwitchVariant::Broadcast01,
            SwitchConfig::Broadcast1 { .. } => SwitchVariant::Broadcast1,
            SwitchConfig::Transpose { .. } => SwitchVariant::Transpose,
            SwitchConfig::InterTranspose { .. } => SwitchVariant::InterTranspose,
            SwitchConfig::CustomBroadcast { .. } => SwitchVariant::CustomBroadcast,
            SwitchConfig::TransposedBroadcast1 { .. } => SwitchVariant::TransposedBroadcast1,
            SwitchConfig::Forwarding => SwitchVariant::Forwarding,
        }
    }

    /// Appends the configuration to a text, as a kernel writes it.
    pub const fn notation(&self, text: Text) -> Text {
        self.sizes(text.str("SwitchConfig::"))
    }

    /// Appends the configuration without the name of its type.
    pub const fn sizes(&self, text: Text) -> Text {
        let text = text.str(self.variant().name());
        if let SwitchConfig::Forwarding = self {
            return text;
        }
        let text = text.str(" { ");
        let text = match self {
            SwitchConfig::Forwarding => text,
            SwitchConfig::CustomBroadcast { ring_size } => text.str("ring_size: ").number(*ring_size),
            SwitchConfig::Broadcast01 { slice1, slice0, .. }
            | SwitchConfig::Broadcast1 { slice1, slice0 }
            | SwitchConfig::Transpose { slice1, slice0 }
            | SwitchConfig::InterTranspose { slice1, slice0, .. }
            | SwitchConfig::TransposedBroadcast1 { slice1, slice0 } => {
                text.str("slice1: ").number(*slice1).str(", slice0: ").number(*slice0)
            }
        };
        let text = match self {
            SwitchConfig::Broadcast01 { time0, .. } | SwitchConfig::InterTranspose { time0, .. } => {
                text.str(", time0: ").number(*time0)
            }
            _ => text,
        };
        text.str(" }")
    }
}

impl fmt::Display for SwitchConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.notation(Text::new()).as_str())
    }
}
