//! A move between tensors as the commands of all engines that work on it.

use super::sequencer::{PairedSequencer, Side};
use core::fmt;

/// A DMA engine: one per PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Engine {
    /// The chip.
    pub chip: usize,
    /// The cluster of the chip.
    pub cluster: usize,
    /// The PE of the cluster: slices `64 * pe` to `64 * pe + 63`.
    pub pe: usize,
}

/// `chip.cluster.pe`.
impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.chip, self.cluster, self.pe)
    }
}

/// The engines that work on a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineSplit {
    /// All engines of a chip that take part: those of the PEs whose slices are written, or read if DM is only read.
    /// Between HBM and HBM the outermost loop is cut into up to 8 parts.
    #[default]
    All,
    /// One engine per chip that holds a part of the destination.
    Single {
        /// The cluster of the engine.
        cluster: usize,
        /// Its PE.
        pe: usize,
    },
}

/// Match between the commands of an operation and the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Coverage {
    /// They move the live elements and nothing else.
    Exact,
    /// They also move padding that shares 8 bytes (towards DM) or a byte (of 4-bit elements) with live elements. It
    /// comes from padding, or from the bytes behind the source, and goes to padding. A read may run past the end of its
    /// tensor.
    Rounded,
    /// The padding is too ragged for a reasonable number of commands: these move all elements up to the last live value
    /// of every loop, with the padding among them. They give an upper bound of the time, and must not be executed.
    Hull,
}

/// The commands of one engine, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EngineQueue {
    /// The engine.
    pub engine: Engine,
    /// Its commands.
    pub commands: Vec<PairedSequencer>,
    /// Lengths of the lists of rows that an index names, in the order of `commands`. The rows of a list are a single
    /// command, whose outermost loop has a list of offsets in place of a stride. Empty without an index.
    pub lists: Vec<usize>,
}

impl EngineQueue {
    /// Groups of commands that start together, in order: a single command, or the rows of one.
    pub fn starts(&self) -> impl Iterator<Item = &[PairedSequencer]> {
        let alone = if self.lists.is_empty() { self.commands.len() } else { 0 };
        let lengths = self.lists.iter().copied().chain(core::iter::repeat_n(1, alone));
        lengths.scan(&self.commands[..], |rest, length| {
            let (rows, behind) = rest.split_at(length);
            *rest = behind;
            Some(rows)
        })
    }
}

/// A move as the commands of all engines that work on it. One set per chip and cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DmaOperation {
    /// The engines, in order. Engines without a share are left out.
    pub engines: Vec<EngineQueue>,
    /// Match between the commands and the move.
    pub coverage: Coverage,
    /// True if slices of a cluster get copies of the same elements: the detailed clock serves them one after another.
    pub copies: bool,
}

impl DmaOperation {
    /// An operation of commands that are made by hand.
    pub fn of(engines: Vec<EngineQueue>) -> Self {
        Self { engines, coverage: Coverage::Exact, copies: false }
    }

    /// Tells if an index names rows.
    pub fn has_lists(&self) -> bool {
        self.engines.iter().any(|queue| !queue.lists.is_empty())
    }

    /// All commands.
    pub fn commands(&self) -> impl Iterator<Item = &PairedSequencer> {
        self.engines.iter().flat_map(|queue| &queue.commands)
    }

    /// Number of bytes that move.
    pub fn bytes(&self) -> u64 {
        self.commands().map(PairedSequencer::bytes).sum()
    }

    /// Number of requests of all engines.
    pub fn requests(&self) -> u64 {
        self.commands().map(PairedSequencer::requests).sum()
    }

    /// Tells if all engines execute the same loops, so that only bases and media differ.
    pub fn is_homogeneous(&self) -> bool {
        self.engines.windows(2).all(|pair| {
            let (a, b) = (&pair[0].commands, &pair[1].commands);
            let same = |(a, b): (&PairedSequencer, &PairedSequencer)| {
                (a.stride0, &a.entries) == (b.stride0, &b.entries)
            };
            a.len() == b.len() && a.iter().zip(b).all(same)
        })
    }
}

/// The rows of one command: `[16 : index] of [64 : 1] : 64 @ HBM(0) 0x0 -> …`.
struct Rows<'a>(&'a [PairedSequencer]);

impl fmt::Display for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else { return Ok(()) };
        write!(f, "[{} : index] of {first}", self.0.len())
    }
}

/// One line per command: `engine 0.1.3: […] -> […]`. If all engines execute the same loops, these are printed once,
/// followed by the bases of every engine.
impl fmt::Display for DmaOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let shared = !self.has_lists() && self.engines.len() > 1 && self.is_homogeneous();
        if shared {
            for command in &self.engines[0].commands {
                write!(f, "{separator}all engines: {}", command.loops())?;
                separator = "\n";
            }
        }
        for queue in &self.engines {
            for rows in queue.starts() {
                let Some(command) = rows.first() else { continue };
                write!(f, "{separator}engine {}: ", queue.engine)?;
                if !queue.lists.is_empty() {
                    write!(f, "{}", Rows(rows))?;
                } else if shared {
                    let base = |side| (command.medium(side), command.base(side));
                    let ((from, a), (to, b)) = (base(Side::Source), base(Side::Destination));
                    write!(f, "{from} {a:#x} -> {to} {b:#x}")?;
                } else {
                    write!(f, "{command}")?;
                }
                separator = "\n";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sequencer::Medium;
    use super::*;

    #[test]
    fn shared_loops_are_printed_once() {
        let queue = |pe, base, limit| EngineQueue {
            engine: Engine { chip: 0, cluster: 1, pe },
            lists: Vec::new(),
            commands: vec![
                PairedSequencer::new(
                    (Medium::Hbm { chip: 0 }, base),
                    (Medium::Dm { chip: 0, cluster: 1 }, 64),
                    8,
                )
                .with_entries(&[(limit, 8, 16)]),
            ],
        };
        let same = DmaOperation::of(vec![queue(0, 0, 2), queue(1, 256, 2)]);
        assert!(same.is_homogeneous());
        assert_eq!(
            same.to_string(),
            "all engines: [2 : 8, 8 : 1] : 8 -> [2 : 16, 8 : 1] : 8\n\
             engine 0.1.0: HBM(0) 0x0 -> DM(0, 1) 0x40\n\
             engine 0.1.1: HBM(0) 0x100 -> DM(0, 1) 0x40"
        );
        let ragged = DmaOperation::of(vec![queue(0, 0, 2), queue(1, 256, 1)]);
        assert!(!ragged.is_homogeneous());
        assert!(ragged.to_string().starts_with("engine 0.1.0: [2 : 8, 8 : 1] : 8 @ HBM(0) 0x0 -> "));
        assert_eq!((ragged.bytes(), ragged.requests(), ragged.commands().count()), (24, 3, 2));
    }
}
