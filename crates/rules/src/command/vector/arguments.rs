//! Arguments of an operator: the stream or its operands.

use core::fmt;

/// The arguments of a binary operator: 0 is the stream, 1 the operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BinaryArgMode {
    /// `op(stream, stream)`. The operand is ignored.
    Mode00,
    /// `op(stream, operand)`.
    #[default]
    Mode01,
    /// `op(operand, stream)`.
    Mode10,
    /// `op(operand, operand)`. The stream is ignored.
    Mode11,
}

impl BinaryArgMode {
    /// All modes.
    pub const ALL: [BinaryArgMode; 4] = [Self::Mode00, Self::Mode01, Self::Mode10, Self::Mode11];

    /// The two arguments: 0 is the stream, 1 the operand.
    pub const fn arguments(self) -> [usize; 2] {
        match self {
            BinaryArgMode::Mode00 => [0, 0],
            BinaryArgMode::Mode01 => [0, 1],
            BinaryArgMode::Mode10 => [1, 0],
            BinaryArgMode::Mode11 => [1, 1],
        }
    }
}

impl fmt::Display for BinaryArgMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            BinaryArgMode::Mode00 => "BinaryArgMode::Mode00",
            BinaryArgMode::Mode01 => "BinaryArgMode::Mode01",
            BinaryArgMode::Mode10 => "BinaryArgMode::Mode10",
            BinaryArgMode::Mode11 => "BinaryArgMode::Mode11",
        })
    }
}

/// The arguments of a ternary operator: 0 is the stream, 1 the first operand, 2 the second one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TernaryArgMode {
    /// `op(stream, operand0, operand1)`.
    #[default]
    Mode012,
    /// `op(stream, stream, operand1)`.
    Mode002,
    /// `op(operand0, stream, operand1)`.
    Mode102,
    /// `op(operand0, operand0, operand1)`.
    Mode112,
    /// `op(stream, operand1, stream)`.
    Mode020,
    /// `op(stream, operand1, operand0)`.
    Mode021,
    /// `op(operand0, operand1, stream)`.
    Mode120,
}

impl TernaryArgMode {
    /// All modes.
    pub const ALL: [TernaryArgMode; 7] = [
        Self::Mode012,
        Self::Mode002,
        Self::Mode102,
        Self::Mode112,
        Self::Mode020,
        Self::Mode021,
        Self::Mode120,
    ];

    /// The three arguments: 0 is the stream, 1 the first operand, 2 the second one.
    pub const fn arguments(self) -> [usize; 3] {
        match self {
            TernaryArgMode::Mode012 => [0, 1, 2],
            TernaryArgMode::Mode002 => [0, 0, 2],
            TernaryArgMode::Mode102 => [1, 0, 2],
            TernaryArgMode::Mode112 => [1, 1, 2],
            TernaryArgMode::Mode020 => [0, 2, 0],
            TernaryArgMode::Mode021 => [0, 2, 1],
            TernaryArgMode::Mode120 => [1, 2, 0],
        }
    }
}

impl fmt::Display for TernaryArgMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TernaryArgMode::Mode012 => "TernaryArgMode::Mode012",
            TernaryArgMode::Mode002 => "TernaryArgMode::Mode002",
            TernaryArgMode::Mode102 => "TernaryArgMode::Mode102",
            TernaryArgMode::Mode112 => "TernaryArgMode::Mode112",
            TernaryArgMode::Mode020 => "TernaryArgMode::Mode020",
            TernaryArgMode::Mode021 => "TernaryArgMode::Mode021",
            TernaryArgMode::Mode120 => "TernaryArgMode::Mode120",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits in the name of a mode are its arguments in order.
    #[test]
    fn modes_are_called_as_their_arguments() {
        let digits = |arguments: &[usize]| arguments.iter().map(usize::to_string).collect::<String>();
        for mode in BinaryArgMode::ALL {
            assert_eq!(mode.to_string(), format!("BinaryArgMode::Mode{}", digits(&mode.arguments())));
        }
        for mode in TernaryArgMode::ALL {
            assert_eq!(mode.to_string(), format!("TernaryArgMode::Mode{}", digits(&mode.arguments())));
        }
        let defaults = (BinaryArgMode::default(), TernaryArgMode::default());
        assert_eq!(defaults, (BinaryArgMode::Mode01, TernaryArgMode::Mode012));
    }
}
