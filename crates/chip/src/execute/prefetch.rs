//! Prefetches of memory that is about to be read or written. They change no value, and do nothing on processors without
//! them.
//!
//! A pass visits the memories of all slices. They are larger than the caches, and have more pages than the processor's
//! page table cache holds. Visited one by one, each page costs a wait. Prefetched all at once, the pages are looked up
//! side by side.

#![allow(unsafe_code)]

use core::ops::Range;

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// Prefetches the cache line of a byte, into all caches.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn near(bytes: &[u8], start: usize) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is part of SSE, which every x86-64 machine has, and no address makes it fail.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(start).cast()) };
}

/// Prefetches the cache line of a byte, into all caches but the first. More of these prefetches may be pending at once.
#[inline(always)]
pub(super) fn far(bytes: &[u8], start: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the instruction is part of SSE, which every x86-64 machine has, and no address makes it fail.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(bytes.as_ptr().wrapping_add(start).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, start);
}

/// Prefetches all pages of a range, by one line of each.
pub(super) fn pages(bytes: &[u8], range: Range<usize>) {
    range.step_by(PAGE_BYTES).for_each(|start| far(bytes, start));
}
