//! Arguments of an operator: the stream or its operands.

/// Defines the modes of an operator with their arguments: 0 is the stream, 1 the first operand, 2 the second one.
macro_rules! modes {
    ($(#[$doc:meta])* $name:ident: [usize; $count:literal] x $modes:literal {
        $($(#[$mode_doc:meta])* $mode:ident = $arguments:expr,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$mode_doc])* $mode,)* }

        impl $name {
            /// All modes.
            pub const ALL: [$name; $modes] = [$(Self::$mode),*];

            /// The arguments: 0 is the stream, 1 the first operand, 2 the second one.
            pub const fn arguments(self) -> [usize; $count] {
                match self { $(Self::$mode => $arguments,)* }
            }

            /// The name, after that of the enumeration.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$mode => concat!(stringify!($name), "::", stringify!($mode)),)* }
            }
        }

        display_name!($name);
    };
}

modes! {
    /// The arguments of a binary operator: 0 is the stream, 1 the operand.
    BinaryArgMode: [usize; 2] x 4 {
        /// `op(stream, stream)`. The operand is ignored.
        Mode00 = [0, 0],
        /// `op(stream, operand)`.
        #[default]
        Mode01 = [0, 1],
        /// `op(operand, stream)`.
        Mode10 = [1, 0],
        /// `op(operand, operand)`. The stream is ignored.
        Mode11 = [1, 1],
    }
}

modes! {
    /// The arguments of a ternary operator: 0 is the stream, 1 the first operand, 2 the second one.
    TernaryArgMode: [usize; 3] x 7 {
        /// `op(stream, operand0, operand1)`.
        #[default]
        Mode012 = [0, 1, 2],
        /// `op(stream, stream, operand1)`.
        Mode002 = [0, 0, 2],
        /// `op(operand0, stream, operand1)`.
        Mode102 = [1, 0, 2],
        /// `op(operand0, operand0, operand1)`.
        Mode112 = [1, 1, 2],
        /// `op(stream, operand1, stream)`.
        Mode020 = [0, 2, 0],
        /// `op(stream, operand1, operand0)`.
        Mode021 = [0, 2, 1],
        /// `op(operand0, operand1, stream)`.
        Mode120 = [1, 2, 0],
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
