//! Selection of the host's instructions for the engines.
//!
//! All paths give the same bits: floats are added in the same order, and integers wrap. The path is chosen at run time:
//! the fastest of the machine, unless [`ChipOptions::path`](crate::ChipOptions::path) selects another.

use core::fmt;

/// The host's instructions that values are computed with. All give the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputePath {
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
    /// x86-64 with AVX2 and AVX-VNNI.
    Avx2Vnni,
    /// x86-64 with AVX2.
    Avx2,
    /// AArch64 with NEON and its products of bytes (`dotprod`).
    NeonDot,
    /// AArch64 with NEON.
    Neon,
    /// The instructions that the program was compiled for.
    Portable,
}

impl ComputePath {
    /// All paths, the fastest of each processor first.
    pub const ALL: &'static [Self] =
        &[Self::Avx512, Self::Avx2Vnni, Self::Avx2, Self::NeonDot, Self::Neon, Self::Portable];

    /// The name of the path in `VISA_PATH`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2Vnni => "avx2vnni",
            Self::Avx2 => "avx2",
            Self::NeonDot => "neondot",
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }

    /// The paths of this machine, the fastest first. The last one is [`ComputePath::Portable`].
    ///
    /// ```
    /// use furiosa_visa_std::chip::ComputePath;
    /// assert_eq!(ComputePath::available().last(), Some(ComputePath::Portable));
    /// ```
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|&path| Path::of(path).is_some())
    }

    /// The names of the paths of this machine, for messages.
    pub fn available_names() -> String {
        let names: Vec<_> = Self::available().map(|path| format!("`{path}`")).collect();
        names.join(", ")
    }
}

impl fmt::Display for ComputePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A path of this machine. The `path` module of each engine implements it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2Vnni(Avx2Vnni),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "aarch64")]
    NeonDot(NeonDot),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    Portable,
}

impl Path {
    /// A path. `None`: this machine does not have it.
    pub(crate) fn of(path: ComputePath) -> Option<Self> {
        match path {
            #[cfg(target_arch = "x86_64")]
            ComputePath::Avx512 => Avx512::detect().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            ComputePath::Avx2Vnni => Avx2Vnni::detect().map(Self::Avx2Vnni),
            #[cfg(target_arch = "x86_64")]
            ComputePath::Avx2 => Avx2::detect().map(Self::Avx2),
            #[cfg(target_arch = "aarch64")]
            ComputePath::NeonDot => NeonDot::detect().map(Self::NeonDot),
            #[cfg(target_arch = "aarch64")]
            ComputePath::Neon => Neon::detect().map(Self::Neon),
            ComputePath::Portable => Some(Self::Portable),
            _ => None,
        }
    }

    /// The paths of this machine, the fastest first.
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        ComputePath::ALL.iter().filter_map(|&path| Self::of(path))
    }

    /// The fastest path of this machine.
    pub(crate) fn best() -> Self {
        Self::available().next().unwrap_or(Self::Portable)
    }

    /// The requested path, or the fastest one.
    ///
    /// # Panics
    /// If this machine does not have the path.
    #[track_caller]
    pub(crate) fn chosen(asked: Option<ComputePath>) -> Self {
        let Some(path) = asked else { return Self::best() };
        Self::of(path).unwrap_or_else(|| {
            panic!(
                "ChipOptions: the path `{path}` was asked for, but this machine has {}; help: set `path` to one of them, or to \
                 `None` for the fastest",
                ComputePath::available_names()
            )
        })
    }
}

/// A set of instructions. A value exists only if the machine has them, so safety comments can refer to the value.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
macro_rules! instructions {
    ($name:ident, $detected:ident, [$($feature:tt),+], $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(());

        impl $name {
            /// Detects the instructions. `None`: the machine does not have all of them.
            pub(crate) fn detect() -> Option<Self> {
                let all = true $(&& std::arch::$detected!($feature))+;
                all.then_some(Self(()))
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
instructions!(
    Avx512,
    is_x86_feature_detected,
    // The compiler also uses the extensions that F implies, FMA and F16C, which a virtual machine may lack.
    ["avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"],
    "The machine has AVX2, FMA and F16C, and AVX-512 with the extensions F, BW, DQ, VL and VNNI."
);
#[cfg(target_arch = "x86_64")]
instructions!(Avx2Vnni, is_x86_feature_detected, ["avx2", "avxvnni"], "The machine has AVX2 and AVX-VNNI.");
#[cfg(target_arch = "x86_64")]
instructions!(Avx2, is_x86_feature_detected, ["avx2"], "The machine has AVX2.");
#[cfg(target_arch = "aarch64")]
instructions!(
    NeonDot,
    is_aarch64_feature_detected,
    ["neon", "dotprod"],
    "The machine has NEON and its products of bytes."
);
#[cfg(target_arch = "aarch64")]
instructions!(Neon, is_aarch64_feature_detected, ["neon"], "The machine has NEON.");

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// The instructions that it implies.
    pub(crate) fn avx2(self) -> Avx2 {
        Avx2(())
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx2Vnni {
    /// The instructions that it implies.
    pub(crate) fn avx2(self) -> Avx2 {
        Avx2(())
    }
}

#[cfg(target_arch = "aarch64")]
impl NeonDot {
    /// The instructions that it implies.
    pub(crate) fn neon(self) -> Neon {
        Neon(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChipOptions, Chips};

    #[test]
    fn each_path_is_had_or_refused() {
        let available: Vec<ComputePath> = ComputePath::available().collect();
        assert_eq!(available.last(), Some(&ComputePath::Portable));
        assert_eq!(Some(Path::best()), Path::of(available[0]));
        let mut refused = 0;
        for &path in ComputePath::ALL {
            let options = ChipOptions { path: Some(path), ..ChipOptions::default() };
            let made = std::panic::catch_unwind(|| drop(Chips::new(options)));
            let Err(message) = made else {
                assert!(available.contains(&path), "{path}");
                continue;
            };
            refused += 1;
            let expected = format!(
                "ChipOptions: the path `{path}` was asked for, but this machine has {}; help: set `path` to one of them, or \
                 to `None` for the fastest",
                ComputePath::available_names()
            );
            assert_eq!(message.downcast_ref::<String>(), Some(&expected));
            assert!(!available.contains(&path) && expected.contains("`portable`"));
        }
        // No machine has the instructions of two processors.
        assert!(refused > 0 && refused + available.len() == ComputePath::ALL.len());
    }
}
