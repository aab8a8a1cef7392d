//! Digests, which tell damaged and foreign files: FNV-1a with 64 bits.

use furiosa_visa_clock::Profile;
use furiosa_visa_rules::spec;

/// The digest of some bytes, in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    let step = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The digest of all numbers of the hardware, with the profile of the clock that reads them.
pub fn numbers(profile: Profile) -> String {
    let lines = spec::SOURCE.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let code: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    digest(format!("{profile}\n{}", code.join("\n")).as_bytes())
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
