//! Place of an address: the 36 address bits.

use furiosa_visa_rules::spec::{
    HBM_BANK_GROUPS, HBM_BANKS, HBM_BYTES, HBM_CHANNELS, HBM_ROW_BYTES, HBM_ROWS, HBM_SLICES,
    HBM_STACK_CHANNELS, HBM_STACKS, HBM_UNIT_BYTES,
};

/// Banks of a channel.
pub(super) const CHANNEL_BANKS: usize = HBM_SLICES * HBM_BANK_GROUPS * HBM_BANKS;

/// Spread of addresses over the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HbmMap {
    /// True if the hash of the channel includes address bit 17. The documents say both; assumed: yes.
    pub hash_bit_17: bool,
}

impl Default for HbmMap {
    fn default() -> Self {
        Self { hash_bit_17: true }
    }
}

/// A byte of the HBM of a chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HbmAddress {
    /// Stack, 0 or 1.
    pub stack: u8,
    /// Channel of the stack, 0 to 15.
    pub channel: u8,
    /// Slice of the channel, 0 to 2.
    pub slice: u8,
    /// Bank group of the slice, 0 to 3.
    pub bank_group: u8,
    /// Bank of the bank group, 0 to 3.
    pub bank: u8,
    /// Row of the bank, 0 to 16383.
    pub row: u16,
    /// Byte of the row, 0 to 2047.
    pub column: u16,
}

/// Part of an address that the models of time need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Channel of the chip, 0 to 31.
    pub channel: u8,
    /// Bank of the channel, 0 to 47: `(slice * 4 + bank group) * 4 + bank`.
    pub bank: u8,
    pub row: u16,
}

const fn bits(address: u64, lowest: u32, count: u32) -> u64 {
    address >> lowest & ((1 << count) - 1)
}

/// XOR of all bits that the hash adds to the primary bits of the channel.
const fn hash(address: u64, with_bit_17: bool) -> u64 {
    let without = if with_bit_17 { 0 } else { 1 };
    let bank_bits = bits(address, 17, 4) & !without;
    bits(address, 13, 4) ^ bank_bits ^ bits(address, 21, 4) ^ bits(address, 25, 4)
}

/// The slice, and bit 13 of the row: three slices in two bits, such that addresses stay contiguous.
const fn fold(address: u64) -> (u64, u64) {
    if bits(address, 34, 1) == 1 {
        (2, bits(address, 20, 1))
    } else {
        (bits(address, 20, 1), bits(address, 35, 1))
    }
}

impl HbmMap {
    /// Address bits that can be flipped in all addresses of a load without a change of its time: all bits that choose a
    /// unit, except bits 34 and 35.
    ///
    /// A flip of one of these bits renames channels, slices 0 and 1, bank groups of a slice, banks of a bank group, and
    /// rows of a bank, each one to one and everywhere alike, because the hash is an XOR of bits. The models of time
    /// only test if two of them are equal. (Bit 20 chooses between slices 0 and 1, and between rows in slice 2.)
    pub const RENAMING_BITS: u64 = (1 << 34) - HBM_UNIT_BYTES as u64;

    /// The place of a byte.
    ///
    /// # Panics
    ///
    /// If the address is past the 48 GiB of the chip.
    #[track_caller]
    pub const fn decode(self, address: u64) -> HbmAddress {
        check(address);
        let (slice, row_13) = fold(address);
        HbmAddress {
            stack: bits(address, 8, 1) as u8,
            channel: (bits(address, 9, 4) ^ hash(address, self.hash_bit_17)) as u8,
            slice: slice as u8,
            bank_group: (bits(address, 13, 1) | bits(address, 19, 1) << 1) as u8,
            bank: bits(address, 17, 2) as u8,
            row: (row_13 << 13 | bits(address, 21, 13)) as u16,
            column: (bits(address, 14, 3) << 8 | bits(address, 0, 8)) as u16,
        }
    }

    /// The address of a byte: the inverse of [`HbmMap::decode`].
    ///
    /// # Panics
    ///
    /// If HBM has no such place.
    #[track_caller]
    pub const fn encode(self, place: HbmAddress) -> u64 {
        let HbmAddress { stack, channel, slice, bank_group, bank, row, column } = place;
        within("stack", stack as usize, HBM_STACKS);
        within("channel", channel as usize, HBM_STACK_CHANNELS);
        within("slice", slice as usize, HBM_SLICES);
        within("bank group", bank_group as usize, HBM_BANK_GROUPS);
        within("bank", bank as usize, HBM_BANKS);
        within("row", row as usize, HBM_ROWS);
        within("column", column as usize, HBM_ROW_BYTES);
        let row_13 = row as u64 >> 13;
        let fold = match slice {
            2 => 1 << 34 | row_13 << 20,
            _ => (slice as u64) << 20 | row_13 << 35,
        };
        let column = column as u64;
        let address = bits(column, 0, 8)
            | (stack as u64) << 8
            | (bank_group as u64 & 1) << 13
            | bits(column, 8, 3) << 14
            | (bank as u64) << 17
            | (bank_group as u64 >> 1) << 19
            | bits(row as u64, 0, 13) << 21
            | fold;
        address | (channel as u64 ^ hash(address, self.hash_bit_17)) << 9
    }

    /// The place of a unit, for the models of time.
    #[inline]
    #[track_caller]
    pub(super) const fn place(self, address: u64) -> Place {
        check(address);
        let (slice, row_13) = fold(address);
        let channel = bits(address, 9, 4) ^ hash(address, self.hash_bit_17);
        let group = slice << 2 | bits(address, 19, 1) << 1 | bits(address, 13, 1);
        Place {
            channel: (bits(address, 8, 1) << 4 | channel) as u8,
            bank: (group << 2 | bits(address, 17, 2)) as u8,
            row: (row_13 << 13 | bits(address, 21, 13)) as u16,
        }
    }
}

impl HbmAddress {
    /// The channel of the chip: 0 to 31. Stack 0 comes first.
    pub const fn chip_channel(self) -> usize {
        self.stack as usize * HBM_STACK_CHANNELS + self.channel as usize
    }
}

/// Banks of a chip.
pub(super) const CHIP_BANKS: usize = HBM_CHANNELS * CHANNEL_BANKS;

#[track_caller]
const fn check(address: u64) {
    if address >= HBM_BYTES {
        past_the_end(address);
    }
}

#[cold]
#[track_caller]
const fn past_the_end(address: u64) -> ! {
    let text = furiosa_visa_rules::text::Text::new().str("HBM: address ").number(address as usize);
    let text = text.str(" is past the ").number(HBM_BYTES as usize).str(" bytes of a chip");
    panic!("{}", text.str("; help: use a smaller base or smaller strides").as_str())
}

#[track_caller]
const fn within(what: &'static str, given: usize, count: usize) {
    if given >= count {
        let text = furiosa_visa_rules::text::Text::new().str("HBM: ").str(what).str(" ").number(given);
        let text = text.str(" does not exist, there are ").number(count);
        panic!("{}", text.str("; help: count from 0").as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    /// An address and its stack, channel, slice, bank group, bank, row and column.
    type Vector = (u64, [u16; 7]);

    /// Addresses and their fields, worked out by hand.
    const VECTORS: [Vector; 14] = [
        (0x100, [1, 0, 0, 0, 0, 0, 0]),
        (0x200, [0, 1, 0, 0, 0, 0, 0]),
        (0x2000, [0, 1, 0, 1, 0, 0, 0]),
        (0x4000, [0, 2, 0, 0, 0, 0, 256]),
        (0x2_0000, [0, 1, 0, 0, 1, 0, 0]),
        (0x4_0000, [0, 2, 0, 0, 2, 0, 0]),
        (0x8_0000, [0, 4, 0, 2, 0, 0, 0]),
        (0x10_0000, [0, 8, 1, 0, 0, 0, 0]),
        (0x20_0000, [0, 1, 0, 0, 0, 1, 0]),
        (0x400_0000, [0, 2, 0, 0, 0, 32, 0]),
        (0x4_0000_0000, [0, 0, 2, 0, 0, 0, 0]),
        (0x4_0010_0000, [0, 8, 2, 0, 0, 8192, 0]),
        (0x8_0000_0000, [0, 0, 0, 0, 0, 8192, 0]),
        (0xb_ffff_ffff, [1, 15, 1, 3, 3, 16383, 2047]),
    ];

    fn list(place: HbmAddress) -> [u16; 7] {
        let HbmAddress { stack, channel, slice, bank_group, bank, row, column } = place;
        [stack.into(), channel.into(), slice.into(), bank_group.into(), bank.into(), row, column]
    }

    #[test]
    fn the_vectors_of_the_page_decode() {
        for (address, expected) in VECTORS {
            let place = HbmMap::default().decode(address);
            assert_eq!(list(place), expected, "{address:#x}");
            assert_eq!(HbmMap::default().encode(place), address);
        }
        // Bit 17 is the only difference of the other hash.
        let other = HbmMap { hash_bit_17: false };
        assert_eq!(list(other.decode(0x2_0000)), [0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(list(other.decode(0x4_0000)), [0, 2, 0, 0, 2, 0, 0]);
    }

    #[test]
    fn addresses_and_places_are_a_bijection() {
        let mut state = 0x1234_5678_9abc_def1u64;
        for map in [HbmMap { hash_bit_17: true }, HbmMap { hash_bit_17: false }] {
            for _ in 0..200_000 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let address = state % HBM_BYTES;
                let place = map.decode(address);
                assert_eq!(map.encode(place), address, "{place:?}");
                let short = map.place(address);
                assert_eq!(usize::from(short.channel), place.chip_channel());
                assert_eq!(short.bank, (place.slice * 4 + place.bank_group) * 4 + place.bank);
                assert_eq!(short.row, place.row);
            }
            // Every slice and row code, at both ends of the other fields.
            for (slice, row, high) in (0..3).flat_map(|s| (0..16_384).map(move |r| (s, r, r % 2 == 1))) {
                let place = match high {
                    true => {
                        HbmAddress { stack: 1, channel: 15, bank_group: 3, bank: 3, column: 2047, slice, row }
                    }
                    false => HbmAddress { slice, row, ..HbmAddress::default() },
                };
                let address = map.encode(place);
                assert!(address < HBM_BYTES);
                assert_eq!(map.decode(address), place);
            }
        }
    }

    /// Compares two units as the models of time do: by channel, slice, bank group, bank and row.
    #[test]
    fn flips_of_renaming_bits_keep_what_is_the_same() {
        let mut rng = SmallRng::seed_from_u64(34);
        for round in 0..100_000 {
            let map = HbmMap { hash_bit_17: rng.random() };
            // Close to each other in some bits, so that all answers occur.
            let bits: u64 = (0..4).fold(u64::MAX, |bits, _| bits & rng.random::<u64>());
            let one = rng.random_range(0..HBM_BYTES);
            let other = Some(one ^ (bits % (1 << 36))).filter(|other| *other < HBM_BYTES).unwrap_or(one);
            let flips = rng.random::<u64>() & HbmMap::RENAMING_BITS;
            let same = |flips: u64| {
                let (one, other) = (map.place(one ^ flips), map.place(other ^ flips));
                let channel = one.channel == other.channel;
                let bank = [16, 4, 1].map(|banks| channel && one.bank / banks == other.bank / banks);
                (channel, bank, bank[2] && one.row == other.row)
            };
            assert_eq!(same(flips), same(0), "round {round}: {one:#x}, {other:#x}, {flips:#x}");
        }
    }

    #[test]
    fn contiguous_bytes_visit_every_channel_before_one_again() {
        for map in [HbmMap { hash_bit_17: true }, HbmMap { hash_bit_17: false }] {
            for start in (0..1u64 << 23).step_by(8192).chain([0x4_0000_0000, 0xb_ffff_e000]) {
                let places: Vec<_> = (0..32).map(|unit| map.decode(start + unit * 256)).collect();
                let channels = places.iter().fold(0u32, |seen, place| seen | 1 << place.chip_channel());
                assert_eq!(channels, u32::MAX, "from {start:#x}");
                let group = places[0].bank_group;
                assert!(places.iter().all(|place| place.bank_group == group));
            }
            // The next 8 KiB are in the other bank group, 2 MiB further only row and channel differ.
            let (here, next, far) = (map.decode(0), map.decode(8192), map.decode(2 << 20));
            assert_eq!((here.bank_group, next.bank_group), (0, 1));
            assert_eq!(HbmAddress { channel: 0, row: 0, ..far }, here);
        }
    }

    #[test]
    #[should_panic(
        expected = "HBM: address 51539607552 is past the 51539607552 bytes of a chip; help: use a smaller base"
    )]
    fn an_address_past_the_end() {
        HbmMap::default().decode(HBM_BYTES);
    }

    #[test]
    #[should_panic(expected = "HBM: slice 3 does not exist, there are 3; help: count from 0")]
    fn a_slice_that_does_not_exist() {
        HbmMap::default().encode(HbmAddress { slice: 3, ..HbmAddress::default() });
    }
}
