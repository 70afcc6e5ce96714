//! Dot products of short whole numbers: the loops that meet every tool, or every pair of pieces,
//! at every search.
//!
//! Each is written twice: in plain Rust for any machine, and for x86 with AVX2, where the compiler
//! does not find the good instructions by itself. Which one runs is decided at run time, and a
//! test holds them equal. This is the only file of the crate with `unsafe` in it.

use crate::model::DIMENSIONS;

/// A vector as stored: eight bits a number.
pub(crate) type Row = [i8; DIMENSIONS];
/// A vector as asked with: sixteen bits a number.
pub(crate) type Wide = [i16; DIMENSIONS];
/// A row of the table, each number from −7 to 7 raised by 8.
pub(crate) type Raised = [u8; DIMENSIONS];

/// A vector as every tool is looked at first: four bits a number, 0 to 15 for −127 to 127. A byte
/// holds a number of the first half and, above it, one of the second.
pub(crate) type Coarse = [u8; DIMENSIONS / 2];

/// What is added to each number of a [`Raised`] row.
pub(crate) const RAISED_BY: i32 = 8;
/// How far apart the numbers of a [`Coarse`] row are.
pub(crate) const COARSE_STEP: f32 = 254.0 / 15.0;

/// A row with half its bits, so that the rows of ten thousand tools stay near the processor.
pub(crate) fn coarse(row: &Row) -> Coarse {
    let small = |x: i8| (((i32::from(x) + 127) * 15 + 127) / 254) as u8;
    let (first, second) = row.split_at(DIMENSIONS / 2);
    let mut out = [0; DIMENSIONS / 2];
    for ((out, first), second) in out.iter_mut().zip(first).zip(second) {
        *out = small(*first) | small(*second) << 4;
    }
    out
}

/// Tell the processor that this will be read soon, so that the wait begins now.
pub(crate) fn soon<T>(thing: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(thing).cast::<i8>();
        // SAFETY: a hint; nothing is read, and the address lies within the thing.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(start.add(line));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = thing;
}

/// Every coarse row with a query, the numbers of the rows as they are: 0 to 15.
pub(crate) fn all_coarse(rows: &[Coarse], query: &Row, out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if avx2::is_here() {
        // SAFETY: the function needs nothing but AVX2, which was found on this machine.
        #[allow(unsafe_code)]
        return unsafe { avx2::all_coarse(rows, query, out) };
    }
    plain_all_coarse(rows, query, out);
}

/// Every row with every query: `out[row * queries + query]`.
pub(crate) fn all(rows: &[Row], queries: &[Wide], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if avx2::is_here() {
        // SAFETY: the function needs nothing but AVX2, which was found on this machine.
        #[allow(unsafe_code)]
        return unsafe { avx2::all(rows, queries, out) };
    }
    plain_all(rows, queries, out);
}

/// Every raised row with every row of small numbers (−7 to 7), the raise not taken off:
/// `out[row * queries + query]`.
pub(crate) fn all_raised(rows: &[Raised], queries: &[Row], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if avx2::is_here() {
        // SAFETY: the function needs nothing but AVX2, which was found on this machine.
        #[allow(unsafe_code)]
        return unsafe { avx2::all_raised(rows, queries, out) };
    }
    plain_all_raised(rows, queries, out);
}

/// The squared length of each raised row, the raise taken off.
pub(crate) fn squares(rows: &[Raised], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if avx2::is_here() {
        // SAFETY: the function needs nothing but AVX2, which was found on this machine.
        #[allow(unsafe_code)]
        return unsafe { avx2::squares(rows, out) };
    }
    plain_squares(rows, out);
}

fn plain_all_coarse(rows: &[Coarse], query: &Row, out: &mut [i32]) {
    let (first, second) = query.split_at(DIMENSIONS / 2);
    for (row, out) in rows.iter().zip(out) {
        let products = row.iter().zip(first).zip(second).map(|((byte, a), b)| {
            i32::from(byte & 15) * i32::from(*a) + i32::from(byte >> 4) * i32::from(*b)
        });
        *out = products.sum();
    }
}

fn plain_squares(rows: &[Raised], out: &mut [i32]) {
    for (row, out) in rows.iter().zip(out) {
        *out = row.iter().map(|x| (i32::from(*x) - RAISED_BY).pow(2)).sum();
    }
}

fn plain_all(rows: &[Row], queries: &[Wide], out: &mut [i32]) {
    for (row, out) in rows.iter().zip(out.chunks_exact_mut(queries.len().max(1))) {
        for (query, out) in queries.iter().zip(out) {
            *out = row
                .iter()
                .zip(query)
                .map(|(a, b)| i32::from(*a) * i32::from(*b))
                .sum();
        }
    }
}

fn plain_all_raised(rows: &[Raised], queries: &[Row], out: &mut [i32]) {
    for (row, out) in rows.iter().zip(out.chunks_exact_mut(queries.len().max(1))) {
        for (query, out) in queries.iter().zip(out) {
            *out = row
                .iter()
                .zip(query)
                .map(|(a, b)| i32::from(*a) * i32::from(*b))
                .sum();
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Coarse, RAISED_BY, Raised, Row, Wide};

    pub(super) fn is_here() -> bool {
        std::arch::is_x86_feature_detected!("avx2")
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn all(rows: &[Row], queries: &[Wide], out: &mut [i32]) {
        for (row, out) in rows.iter().zip(out.chunks_exact_mut(queries.len().max(1))) {
            for (query, out) in queries.iter().zip(out) {
                *out = dot(row, query);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn all_coarse(rows: &[Coarse], query: &Row, out: &mut [i32]) {
        let ones = _mm256_set1_epi16(1);
        let low = _mm256_set1_epi8(15);
        let mut parts = [_mm256_setzero_si256(); 8];
        for (part, query) in parts.iter_mut().zip(query.as_chunks::<32>().0) {
            // SAFETY: the chunk has 32 numbers, and the load asks for no alignment.
            *part = unsafe { _mm256_loadu_si256(query.as_ptr().cast()) };
        }
        let (first, second) = parts.split_at(4);
        for (row, out) in rows.iter().zip(out) {
            // Sixteen bits do: 8 steps of two products of at most 15 × 127.
            let mut sums = _mm256_setzero_si256();
            let halves = first.iter().zip(second);
            for (bytes, (first, second)) in row.as_chunks::<32>().0.iter().zip(halves) {
                // SAFETY: as above.
                let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
                let lower = _mm256_and_si256(bytes, low);
                let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
                sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(lower, *first));
                sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(upper, *second));
            }
            *out = sum(_mm256_madd_epi16(sums, ones));
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn all_raised(rows: &[Raised], queries: &[Row], out: &mut [i32]) {
        for (row, out) in rows.iter().zip(out.chunks_exact_mut(queries.len().max(1))) {
            dot_raised(row, queries, out);
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn squares(rows: &[Raised], out: &mut [i32]) {
        let raise = _mm256_set1_epi8(RAISED_BY as i8);
        let ones = _mm256_set1_epi16(1);
        for (row, out) in rows.iter().zip(out) {
            // Sixteen bits do: 8 steps of two products of at most 7 × 7.
            let mut sums = _mm256_setzero_si256();
            for part in row.as_chunks::<32>().0 {
                // SAFETY: the chunk has 32 numbers, and the load asks for no alignment.
                let part = unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
                let size = _mm256_abs_epi8(_mm256_sub_epi8(part, raise));
                sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(size, size));
            }
            *out = sum(_mm256_madd_epi16(sums, ones));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn dot(row: &Row, query: &Wide) -> i32 {
        let mut sums = [_mm256_setzero_si256(); 2];
        for (at, (row, query)) in row
            .as_chunks::<16>()
            .0
            .iter()
            .zip(query.as_chunks::<16>().0)
            .enumerate()
        {
            // SAFETY: both chunks have sixteen numbers, and the loads ask for no alignment.
            let (row, query) = unsafe {
                (
                    _mm_loadu_si128(row.as_ptr().cast()),
                    _mm256_loadu_si256(query.as_ptr().cast()),
                )
            };
            let products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(row), query);
            sums[at % 2] = _mm256_add_epi32(sums[at % 2], products);
        }
        sum(_mm256_add_epi32(sums[0], sums[1]))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn dot_raised(row: &Raised, queries: &[Row], out: &mut [i32]) {
        let ones = _mm256_set1_epi16(1);
        let mut parts = [_mm256_setzero_si256(); 8];
        for (part, row) in parts.iter_mut().zip(row.as_chunks::<32>().0) {
            // SAFETY: the chunk has 32 numbers, and the load asks for no alignment.
            *part = unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
        }
        for (query, out) in queries.iter().zip(out) {
            // Sixteen bits do: 8 steps of two products of at most 15 × 7.
            let mut sums = _mm256_setzero_si256();
            for (part, query) in parts.iter().zip(query.as_chunks::<32>().0) {
                // SAFETY: as above.
                let query = unsafe { _mm256_loadu_si256(query.as_ptr().cast()) };
                sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(*part, query));
            }
            *out = sum(_mm256_madd_epi16(sums, ones));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum(numbers: __m256i) -> i32 {
        let four = _mm_add_epi32(
            _mm256_castsi256_si128(numbers),
            _mm256_extracti128_si256::<1>(numbers),
        );
        let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b00_00_11_10>(four));
        let one = _mm_add_epi32(two, _mm_shuffle_epi32::<0b00_00_00_01>(two));
        _mm_cvtsi128_si32(one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers<T: Copy + std::fmt::Debug + TryFrom<i32>>(
        range: std::ops::RangeInclusive<i32>,
    ) -> impl Strategy<Value = [T; DIMENSIONS]>
    where
        T::Error: std::fmt::Debug,
    {
        prop::collection::vec(range, DIMENSIONS).prop_map(|numbers| {
            let numbers: Vec<T> = numbers
                .into_iter()
                .map(|n| T::try_from(n).unwrap())
                .collect();
            numbers.try_into().unwrap()
        })
    }

    proptest! {
        #[test]
        fn both_ways_give_the_same_numbers(
            a in numbers::<i8>(-127..=127), b in numbers::<i8>(-127..=127),
            q in numbers::<i16>(-8191..=8191), r in numbers::<i16>(-8191..=8191),
        ) {
            let (mut plain, mut fast) = ([0; 4], [1; 4]);
            plain_all(&[a, b], &[q, r], &mut plain);
            all(&[a, b], &[q, r], &mut fast);
            prop_assert_eq!(plain, fast);
        }

        #[test]
        fn both_ways_give_the_same_numbers_for_coarse_rows(
            a in numbers::<i8>(-127..=127), b in numbers::<i8>(-127..=127),
            q in numbers::<i8>(-127..=127),
        ) {
            let rows = [coarse(&a), coarse(&b)];
            let (mut plain, mut fast) = ([0; 2], [1; 2]);
            plain_all_coarse(&rows, &q, &mut plain);
            all_coarse(&rows, &q, &mut fast);
            prop_assert_eq!(plain, fast);
        }

        #[test]
        fn a_coarse_row_is_near_its_own(a in numbers::<i8>(-127..=127)) {
            let (first, second) = a.split_at(DIMENSIONS / 2);
            for ((byte, first), second) in coarse(&a).iter().zip(first).zip(second) {
                for (small, x) in [(byte & 15, first), (byte >> 4, second)] {
                    let off = f32::from(small) * COARSE_STEP - 127.0 - f32::from(*x);
                    prop_assert!(off.abs() <= COARSE_STEP / 2.0 + 0.01, "{x}: {off}");
                }
            }
        }

        #[test]
        fn both_ways_give_the_same_numbers_for_raised_rows(
            a in numbers::<u8>(1..=15), b in numbers::<u8>(1..=15),
            q in numbers::<i8>(-7..=7), r in numbers::<i8>(-7..=7),
        ) {
            let (mut plain, mut fast) = ([0; 4], [1; 4]);
            plain_all_raised(&[a, b], &[q, r], &mut plain);
            all_raised(&[a, b], &[q, r], &mut fast);
            prop_assert_eq!(plain, fast);
            plain_squares(&[a, b], &mut plain);
            squares(&[a, b], &mut fast);
            prop_assert_eq!(plain, fast);
        }
    }

    #[test]
    fn the_largest_numbers_fit() {
        let check = |raised: u8, small: i8| {
            let mut out = [0];
            all_raised(&[[raised; DIMENSIONS]], &[[small; DIMENSIONS]], &mut out);
            assert_eq!(
                out[0],
                i32::from(raised) * i32::from(small) * DIMENSIONS as i32
            );
        };
        check(15, 7);
        check(15, -7);
        let mut out = [0];
        all(&[[-127; DIMENSIONS]], &[[8191; DIMENSIONS]], &mut out);
        assert_eq!(out[0], -127 * 8191 * DIMENSIONS as i32);
        let most = coarse(&[127; DIMENSIONS]);
        for small in [127, -127] {
            all_coarse(&[most], &[small; DIMENSIONS], &mut out);
            assert_eq!(out[0], 15 * i32::from(small) * DIMENSIONS as i32);
        }
    }
}
