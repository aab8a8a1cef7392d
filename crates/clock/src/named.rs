//! Enums whose values have names.

/// Defines an enum with a name for each value: `ALL`, `name`, and `Display` by the name, which reports print.
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $Enum:ident {
            $($(#[$of_value:meta])* $Value:ident = $name:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $Enum {
            $($(#[$of_value])* $Value,)+
        }

        impl $Enum {
            /// All values, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Value),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Value => $name,)+
                }
            }
        }

        impl core::fmt::Display for $Enum {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use named;
