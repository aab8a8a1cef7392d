//! Which element types have which traits: no more than the tables of the engines list.

use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::Cast;
use static_assertions::{assert_impl_all, assert_not_impl_any};

#[test]
fn i5_and_i9_are_no_types_of_tensors() {
    assert_impl_all!(i5: StreamScalar, Send, Sync, Default);
    assert_impl_all!(i9: StreamScalar, Send, Sync, Default);
    assert_not_impl_any!(i5: Scalar);
    assert_not_impl_any!(i9: Scalar);
}

#[test]
fn types_of_four_bits_have_no_bytes() {
    assert_not_impl_any!(i4: ScalarBytes);
    assert_not_impl_any!(f4e2m1: ScalarBytes);
    assert_impl_all!(f8e5m2: ScalarBytes, Send, Sync, Default);
}

#[test]
fn what_is_not_in_the_tables_is_no_trait_either() {
    assert_not_impl_any!(u8: Cast<i32>, Cast<i8>, FetchCast<i32>, ContractionCast, VeScalar);
    assert_not_impl_any!(i8: Cast<f32>, Cast<i4>, FetchCast<f32>, VeScalar);
    assert_not_impl_any!(i32: FetchCast<i8>, FetchCast<f32>, Cast<f32>, ContractionCast);
    assert_not_impl_any!(f32: FetchCast<f16>, FetchCast<f8e4m3>, Cast<i32>, ContractionCast);
    assert_not_impl_any!(i16: ContractionCast, VeScalar);
    assert_not_impl_any!(f16: ContractionCast, VeScalar, Cast<bf16>);
    assert_not_impl_any!(f8e4m3: FetchCast<bf16>, FetchCast<f8e5m2>);
    assert_not_impl_any!(f8e5m2: FetchCast<bf16>, FetchCast<f16, RngdS>);
    assert_not_impl_any!(i4: FetchCast<i9>, FetchCast<i8>, FetchCast<i8, RngdS>, Cast<i8>);
    assert_not_impl_any!(f4e2m1: FetchCast<f32>, FetchCast<f8e4m3, RngdS>, Cast<f32>, ContractionCast, VeScalar);
    assert_not_impl_any!(f4e2m1: TableLookup<bf16>, TableLookup<f32>);
    assert_impl_all!(f4e2m1: Scalar, FetchCast<f4e2m1>, TableLookup<f8e4m3>, TableLookup<f8e5m2>, Send, Sync);
    assert_impl_all!(f8e4m3: TableLookup<bf16>);
    assert_not_impl_any!(f8e4m3: TableLookup<f8e5m2>, TableLookup<f32>);
    assert_impl_all!(f32: CommitCast<bf16>);
    assert_not_impl_any!(f32: CommitCast<f8e4m3>, CommitCast<f32>);
    assert_not_impl_any!(i32: CommitCast<bf16>, CommitCast<i8>);
    assert_not_impl_any!(i8: FetchCast<i5>, FetchCast<i5, RngdS>, FetchCast<i16, RngdS>);
    assert_not_impl_any!(i16: FetchCast<i9>, FetchCast<i5, RngdS>);
    assert_impl_all!(i4: FetchCast<i5>, FetchCast<i32>, FetchCast<i9, RngdS>, FetchCast<i32, RngdS>);
    assert_impl_all!(i8: FetchCast<i9>, FetchCast<i32>, FetchCast<i9, RngdS>);
    assert_impl_all!(i16: FetchCast<i32>, FetchCast<i9, RngdS>, FetchCast<i16, RngdS>);
    assert_impl_all!(f8e4m3: FetchCast<f32>, FetchCast<bf16, RngdS>);
    assert_impl_all!(f8e5m2: FetchCast<f32>, FetchCast<bf16, RngdS>);
    assert_impl_all!(f32: VeScalar, FetchCast<bf16>, FetchCast<f32>, Cast<f8e5m2>);
    assert_impl_all!(i32: VeScalar, FetchCast<i32>, Cast<i16>);
}
