//! Lookup tables of the fetch adapter.
//!
//! ```text
//!   stored element ──code──▶ table[code] ──▶ element in the stream
//! ```
//!
//! With table indexing the adapter takes each stored element as an index, and replaces it by the entry: a function of
//! one variable (GeLU, sigmoid), or an encoding that no engine knows (see [fetch](crate::guide::fetch), "Tables").
//!
//! # Order of the entries
//!
//! The index is the **bit pattern** of the stored element, as an unsigned number: its *code*. A signed `-1` is code 255
//! in `i8` and code 15 in `i4`, so the entries of a signed type are those for `0, 1, …, MAX, MIN, …, -1`.
//! [`LookupTable::from_fn`] takes a function of the value, so the order does not matter there.
//!
//! # A function: GeLU over `i8`
//!
//! Activations are stored as `i8` with a scale; the result has the same scale.
//!
//! ```
//! use furiosa_visa_std::prelude::*;
//!
//! const SCALE: f32 = 1.0 / 32.0;
//! fn gelu(x: f32) -> f32 {
//!     0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh())
//! }
//!
//! let table = LookupTable::from_fn(|x: i8| (gelu(f32::from(x) * SCALE) / SCALE).round() as i8);
//! assert_eq!(table.get(0), 0);
//! assert_eq!(table.get(127), 127); // far right: the identity
//! assert_eq!(table.get(-128), 0); // far left: nothing passes
//! assert_eq!(table.get(-24), -5); // gelu(-0.75) = -0.17
//! assert_eq!(table[232], table.get(-24)); // the code of -24
//! ```
//!
//! # An encoding: MXFP4 and NVFP4
//!
//! Elements of these formats are [`f4e2m1`]: one sign, two exponent and one mantissa bit, in four bits; the scale of each
//! block is kept elsewhere. They are decoded to `f8e4m3`: every value is exact there, the entries are no wider than a byte,
//! and the contraction engine takes them at the rate of 8-bit types. The table follows from the types.
//!
//! ```
//! use furiosa_visa_std::prelude::*;
//!
//! let table: LookupTable<f4e2m1, f8e4m3> = LookupTable::of_types();
//! assert_eq!(table[0b0101].to_f32(), 3.0); // + 2^(2 - 1) * 1.5
//! assert_eq!(table[0b1111].to_f32(), -6.0);
//! assert_eq!(table.get(f4e2m1::from_f32(-6.0)), table[0b1111]);
//! ```
//!
//! Any other encoding of four bits is stored as `i4`, and its entries are given by code:
//!
//! ```
//! use furiosa_visa_std::prelude::*;
//!
//! let powers: [bf16; 16] = std::array::from_fn(|code| bf16::from_f32(2f32.powi(code as i32 - 8)));
//! let table = LookupTable::<i4, bf16>::new(powers);
//! assert_eq!(table[0b1001].to_f32(), 2.0);
//! assert_eq!(table.get(i4::from_i32(-1)), table[0b1111]); // all bits set
//! ```

use crate::command::Table;
use crate::error::{PlanError, attempt, refuse};
use crate::scalar::{ElementType, Scalar, bf16, f4e2m1, f8e4m3, f8e5m2, i4, table_codes};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Index;

mod sealed {
    pub trait Sealed {}
}

/// Stored types that can be the index of a [`LookupTable`]: those of 4 and 8 bits.
///
/// 256 entries for 8-bit types, 16 for 4-bit types.
#[diagnostic::on_unimplemented(
    message = "lookup table: elements of `{Self}` cannot be the index of a table",
    label = "`{Self}` has no table",
    note = "a table has one entry per code of the stored type: 16 for i4, f4e2m1; 256 for i8, u8, f8e4m3, f8e5m2",
    note = "help: store the index in one of these types"
)]
pub trait TableIndex: Scalar + sealed::Sealed {
    /// Number of entries of a table: one per code of this type.
    const CODES: usize = 1 << Self::BITS;
}

macro_rules! table_index {
    ($($type:ident),*) => { $(
        impl sealed::Sealed for $type {}
        impl TableIndex for $type {}
    )* };
}

table_index!(i4, i8, u8, f4e2m1, f8e4m3, f8e5m2);

/// Stored types whose table follows from the type of the entries: each entry has the value of its index, exactly.
///
/// | index | entry |
/// | --- | --- |
/// | [`f4e2m1`] | [`f8e4m3`], [`f8e5m2`] |
/// | [`f8e4m3`], [`f8e5m2`] | [`bf16`] |
///
/// [`LookupTable::of_types`] has an example.
#[diagnostic::on_unimplemented(
    message = "lookup table: no table from `{Self}` to `{D2}` follows from the types",
    label = "the values of `{Self}` are not those of `{D2}`",
    note = "supported: f4e2m1 to f8e4m3, f8e5m2; f8e4m3, f8e5m2 to bf16",
    note = "help: give the entries: `LookupTable::from_fn(function)`, or `LookupTable::new(entries)`"
)]
pub trait TableLookup<D2: Scalar>: TableIndex {
    /// The table.
    fn table() -> LookupTable<Self, D2> {
        let codes =
            table_codes(Self::ELEMENT_TYPE, D2::ELEMENT_TYPE).expect("each of these pairs has a table");
        LookupTable::new(codes.into_iter().map(D2::from_bits).collect::<Vec<_>>())
    }
}

macro_rules! table_lookup {
    ($($index:ident => $($entry:ident),*;)*) => { $($( impl TableLookup<$entry> for $index {} )*)* };
}

table_lookup! {
    f4e2m1 => f8e4m3, f8e5m2;
    f8e4m3 => bf16;
    f8e5m2 => bf16;
}

/// A table for [table indexing](self) in the fetch adapter: one entry of type `D2` per code of the stored type `D`.
///
/// The specification does not limit the type of the entries; entries of any element type are accepted (assumed).
///
/// ```
/// use furiosa_visa_std::prelude::*;
///
/// let double = LookupTable::from_fn(|x: i8| x.wrapping_mul(2));
/// assert_eq!((double.get(3), double.get(-3)), (6, -6));
/// assert_eq!(double[253], -6); // -3 is stored as 253
/// ```
#[derive(Clone)]
pub struct LookupTable<D, D2> {
    entries: Box<[D2]>,
    index: PhantomData<D>,
}

impl<D: TableIndex, D2: Scalar> LookupTable<D, D2> {
    /// A table of entries by the [code](self) of the stored element.
    ///
    /// # Panics
    ///
    /// If the number of entries is not the number of codes: 16 for the 4-bit types, 256 for the 8-bit types.
    /// [`LookupTable::try_new`] returns the refusal instead.
    #[track_caller]
    pub fn new(entries: impl Into<Vec<D2>>) -> Self {
        match Self::try_new(entries) {
            Ok(table) => table,
            Err(error) => error.refuse(),
        }
    }

    /// A table of entries by the [code](self) of the stored element.
    ///
    /// # Errors
    ///
    /// If the number of entries is not the number of codes.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    ///
    /// let error = LookupTable::<i4, i8>::try_new([0; 15]).expect_err("one is missing");
    /// assert_eq!(
    ///     error.to_string(),
    ///     "lookup table: got 15 entries of i8, but the index i4 has 16 codes; \
    ///      help: give one entry per code, the one of -1 last, or use `LookupTable::from_fn`"
    /// );
    /// ```
    pub fn try_new(entries: impl Into<Vec<D2>>) -> Result<Self, PlanError> {
        let entries = entries.into();
        attempt!(Self::check(entries.len()));
        Ok(Self { entries: entries.into(), index: PhantomData })
    }

    fn check(entries: usize) -> Result<(), PlanError> {
        if entries == D::CODES {
            return Ok(());
        }
        // Only the order of signed integers is surprising.
        let order = match D::ELEMENT_TYPE {
            ElementType::I4 | ElementType::I8 => "the one of -1 last",
            _ => "in the order of the codes",
        };
        refuse!(
            "table length",
            "lookup table: got {} {} of {}, but the index {} has {} codes; \
             help: give one entry per code, {}, or use `LookupTable::from_fn`",
            entries,
            if entries == 1 { "entry" } else { "entries" },
            D2::ELEMENT_TYPE.name(),
            D::ELEMENT_TYPE.name(),
            D::CODES,
            order,
        )
    }

    /// The table that follows from the types: each entry has the value of its index.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    ///
    /// let table: LookupTable<f8e4m3, bf16> = LookupTable::of_types();
    /// assert_eq!(table.get(f8e4m3::from_f32(-448.0)).to_f32(), -448.0);
    /// ```
    pub fn of_types() -> Self
    where
        D: TableLookup<D2>,
    {
        D::table()
    }

    /// The table of a function of the stored value. It is called once per code, in the order of the codes; for floats
    /// also with infinities and NaN.
    pub fn from_fn(function: impl FnMut(D) -> D2) -> Self {
        let codes = 0..1u32 << D::BITS;
        Self { entries: codes.map(D::from_bits).map(function).collect(), index: PhantomData }
    }

    /// The entry for a stored value.
    #[inline]
    pub fn get(&self, value: D) -> D2 {
        self.entries[value.to_bits() as usize]
    }

    /// All entries, by code.
    pub fn entries(&self) -> &[D2] {
        &self.entries
    }

    /// The table in the form that the chip takes.
    pub fn data(&self) -> Table {
        Table {
            input: D::ELEMENT_TYPE,
            output: D2::ELEMENT_TYPE,
            codes: self.entries.iter().map(|entry| entry.to_bits()).collect(),
        }
    }
}

/// The entry by the [code](self) of the stored element.
///
/// # Panics
///
/// If there is no such code.
impl<D: TableIndex, D2: Scalar> Index<usize> for LookupTable<D, D2> {
    type Output = D2;

    #[inline]
    #[track_caller]
    fn index(&self, code: usize) -> &D2 {
        assert!(
            code < D::CODES,
            "lookup table: code {code} was asked for, but the codes of {} are 0 to {}; \
             help: `get(value)` finds the entry of a value",
            D::ELEMENT_TYPE,
            D::CODES - 1
        );
        &self.entries[code]
    }
}

impl<D: TableIndex, D2: Scalar> PartialEq for LookupTable<D, D2> {
    /// True if all entries have the same encoding: equal NaN are equal, zeros of different sign are not.
    fn eq(&self, other: &Self) -> bool {
        self.data() == other.data()
    }
}

impl<D: TableIndex, D2: Scalar> fmt::Debug for LookupTable<D, D2> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter().enumerate().map(|(code, entry)| (D::from_bits(code as u32), entry));
        f.debug_map().entries(entries).finish()
    }
}

crate::runtime::launch::device_send! { [D, D2] LookupTable<D, D2> }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::bf16;

    /// The entry of each code is the entry of the value with this code, in a table of codes and in a table of a
    /// function.
    fn check<D: TableIndex>() {
        let by_code: Vec<i32> = (0..D::CODES as i32).map(|code| 7 * code - 100).collect();
        let table = LookupTable::<D, i32>::new(by_code.clone());
        let same = LookupTable::from_fn(|value: D| 7 * value.to_bits() as i32 - 100);
        assert_eq!(table, same);
        for (code, &entry) in by_code.iter().enumerate() {
            assert_eq!(table[code], entry);
            assert_eq!(table.get(D::from_bits(code as u32)), entry, "{} {code}", D::ELEMENT_TYPE);
        }
        assert_eq!(table.entries(), by_code);
        for wrong in [0, 1, D::CODES - 1, D::CODES + 1, 16 * 17 - D::CODES] {
            let error = LookupTable::<D, i32>::try_new(vec![0; wrong]).expect_err("the length is wrong");
            assert_eq!(error.rule(), "table length");
            let start = format!("lookup table: got {wrong} entr");
            let end = format!("but the index {} has {} codes", D::ELEMENT_TYPE, D::CODES);
            assert!(error.message().starts_with(&start) && error.message().contains(&end), "{error}");
        }
    }

    #[test]
    fn one_entry_per_code() {
        check::<i4>();
        check::<f4e2m1>();
        check::<i8>();
        check::<u8>();
        check::<f8e4m3>();
        check::<f8e5m2>();
    }

    #[test]
    fn signed_values_are_ordered_by_their_bits() {
        let table = LookupTable::from_fn(|value: i4| value.to_i32());
        assert_eq!(table.entries(), [0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1]);
        let table = LookupTable::from_fn(|value: i8| value);
        assert_eq!((table[127], table[128], table[255]), (127, -128, -1));
        assert!(format!("{table:?}").ends_with("-2: -2, -1: -1}"));
    }

    #[test]
    fn data_has_the_codes_of_the_entries() {
        let table = LookupTable::from_fn(|value: i4| bf16::from_f32(-(value.to_i32() as f32)));
        let data = table.data();
        assert_eq!((data.input, data.output), (ElementType::I4, ElementType::Bf16));
        assert_eq!((data.codes.len(), data.codes[1], data.codes[15]), (16, 0xbf80, 0x3f80));
        assert_eq!(format!("{data:?}"), "Table(i4 -> bf16, 16 entries)");
        let narrow = LookupTable::from_fn(|value: u8| i4::from_i32(i32::from(value)));
        assert_eq!(narrow.data().codes[200], 8, "only the bits of the entry");
        // Entries are compared by their bits.
        let nan = LookupTable::from_fn(|_: i4| f32::NAN);
        assert_eq!(nan, nan.clone());
        assert_ne!(LookupTable::from_fn(|_: i4| 0.0f32), LookupTable::from_fn(|_: i4| -0.0f32));
    }

    #[test]
    #[should_panic(
        expected = "got 1 entry of i8, but the index u8 has 256 codes; help: give one entry per code, \
                               in the order of the codes"
    )]
    fn new_panics_with_the_refusal() {
        LookupTable::<u8, i8>::new([1]);
    }

    #[test]
    #[should_panic(expected = "code 16 was asked for, but the codes of i4 are 0 to 15")]
    fn there_are_no_other_codes() {
        let _ = LookupTable::from_fn(|value: i4| value)[16];
    }
}
