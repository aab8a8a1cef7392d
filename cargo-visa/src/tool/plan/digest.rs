//! Digests, which tell damaged and foreign files: FNV-1a with 64 bits.

use furiosa_visa_clock::Profile;
use furiosa_visa_rules::SPEC_SOURCE;

/// The digest of bytes that come one after another.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Takes more bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        let step = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, step);
    }
}

impl core::fmt::Display for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The digest of some bytes, in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    let mut digest = Digest::default();
    digest.add(bytes);
    digest.to_string()
}

/// The digest of all numbers of the hardware, with the profile of the clock that reads them.
pub fn numbers(profile: Profile) -> String {
    let lines = SPEC_SOURCE.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let code: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    digest(format!("{profile}\n{}", code.join("\n")).as_bytes())
}

/// The digest of this program: what another one has proven, by other rules or over another space, is proven no more.
pub fn program() -> String {
    let bytes = std::env::current_exe().and_then(std::fs::read);
    bytes.map_or("unknown".to_string(), |bytes| digest(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        // Of the authors of the function.
        assert_eq!(digest(b""), "cbf29ce484222325");
        assert_eq!(digest(b"a"), "af63dc4c8601ec8c");
        assert_eq!(digest(b"foobar"), "85944171f73967e8");
    }

    #[test]
    fn numbers_are_those_of_a_profile() {
        assert_ne!(numbers(Profile::Book), numbers(Profile::Detailed));
    }
}
