//! Views that read a digit at overlapping positions, so that one fetch feeds a convolution without copies.
//!
//! ```text
//! input = output * stride + window * dilation             3 of 6 rows, one after the other: |H| = 6, |OH| = 4, |KH| = 3
//!
//!   tensor m![H, W]         view, read in `Time = m![OH, KH]`, `Packet = m![W]`
//!
//!   H = 0  ■■■■■■■■         OH = 0   KH = 0, 1, 2   reads H = 0, 1, 2
//!   H = 1  ■■■■■■■■         OH = 1   KH = 0, 1, 2   reads H =    1, 2, 3
//!   H = 2  ■■■■■■■■         OH = 2   KH = 0, 1, 2   reads H =       2, 3, 4
//!   H = 3  ■■■■■■■■         OH = 3   KH = 0, 1, 2   reads H =          3, 4, 5
//!   H = 4  ■■■■■■■■
//!   H = 5  ■■■■■■■■         [4 : |W|, 3 : |W|, |W| : 1]     two loops with the stride of H
//! ```
//!
//! Behind the fetch, `OH` and `KH` are ordinary axes: a contraction with weights of `m![…, KH, …]` adds over `KH`. The
//! chip needs nothing special: the strides of a sequencer may overlap, so the windows are two of its loops.
//!
//! | wanted | call |
//! |---|---|
//! | 3 x 3, every position | `.windows::<m![H], m![OH], m![KH], 1, 1>().windows::<m![W], m![OW], m![KW], 1, 1>()`, `OH = H - 2` |
//! | every second position | `.windows::<m![H], m![OH], m![KH], 2, 1>()`, `OH = (H - 3) / 2 + 1` |
//! | windows with gaps (dilated) | `.windows::<m![H], m![OH], m![KH], 1, 2>()`, `OH = H - 4` |
//! | patches side by side | `.windows::<m![H], m![OH], m![KH], 4, 1>()`, `KH = 4`; `m![H / 4, H % 4]` reads the same |
//! | zeros around the tensor | an axis `HB = H + 2` whose border is written as zeros, and windows of `HB` |
//! | `H` over several slices | a tile per slice with the neighbours' rows, as an axis of its own, and windows of that axis |
//! | part of the outputs per slice | `Slice = m![OH / 4 # 256]`, `Element = m![T]`, `.windows::<m![T], m![OH % 4], m![KH], 1, 1>()` |
//!
//! Only `begin` reads a window view. No DMA goes through it, and no commit: two of its positions are one element in
//! memory. A copy with a place for each position (im2col) is a pass: fetch the view, collect, and commit to a tensor
//! with the output and the window axis.

use super::{DmTensorView, DmTensorViewMut, HbmTensorView, HbmTensorViewMut};
use crate::engine::copies::SubContext;
use crate::engine::dma::OnChip;
use crate::list::List;
use crate::mapping::M;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::Scalar;
use crate::sequencer::{WINDOWS, Window, check_windows};
use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// The windows of a view, as a type: [`NoWindows`], or [`Windowed`] over those that were there before.
pub trait WindowList: sealed::Sealed {
    /// The windows, in the order of the calls. More than [`WINDOWS`] overflow it.
    const LIST: List<Window, { WINDOWS + 1 }>;
    /// The same list, as a slice.
    const WINDOWS: &'static [Window] = {
        const fn slice(list: &'static List<Window, { WINDOWS + 1 }>) -> &'static [Window] {
            list.as_slice()
        }
        slice(&Self::LIST)
    };
}

/// A view without windows: each position is read where it lies.
#[derive(Debug)]
pub enum NoWindows {}

/// A view that reads `Input` as `Output * STRIDE + Window * DILATION`, and has the windows of `Before`.
pub struct Windowed<Before, Input, Output, Window, const STRIDE: usize, const DILATION: usize>(
    PhantomData<(Before, Input, Output, Window)>,
);

impl sealed::Sealed for NoWindows {}

impl WindowList for NoWindows {
    const LIST: List<Window, { WINDOWS + 1 }> = List::new(Window::BLANK);
}

impl<Before, Input, Output, Inside, const STRIDE: usize, const DILATION: usize> sealed::Sealed
    for Windowed<Before, Input, Output, Inside, STRIDE, DILATION>
{
}

impl<Before: WindowList, Input: M, Output: M, Inside: M, const STRIDE: usize, const DILATION: usize>
    WindowList for Windowed<Before, Input, Output, Inside, STRIDE, DILATION>
{
    const LIST: List<Window, { WINDOWS + 1 }> = {
        let mut list = Before::LIST;
        list.push(Window {
            input: Input::EXPR,
            output: Output::EXPR,
            window: Inside::EXPR,
            stride: STRIDE,
            dilation: DILATION,
        });
        list
    };
}

/// The rules of the last window. Violations of the windows before it were reported when they were made.
struct WindowPlan<Chip, Cluster, Slice, Element, Windows>(
    PhantomData<(Chip, Cluster, Slice, Element, Windows)>,
);

impl<Chip: M, Cluster: M, Slice: M, Element: M, Windows: WindowList>
    WindowPlan<Chip, Cluster, Slice, Element, Windows>
{
    const CHECK: () = {
        let all = Windows::WINDOWS;
        let units = [("Chip", Chip::EXPR), ("Cluster", Cluster::EXPR), ("Slice", Slice::EXPR)];
        if check_windows(Element::EXPR, &[], all.split_at(all.len() - 1).0).is_ok()
            && let Err(error) = check_windows(Element::EXPR, &units, all)
        {
            error.refuse()
        }
    };
}

impl<Chip: M, Cluster: M, Slice: M, Element: M, Windows: WindowList>
    Late<WindowPlan<Chip, Cluster, Slice, Element, Windows>>
{
    #[doc(hidden)]
    pub const CHECK: Refusable<()> = {
        let units = [("Chip", Chip::EXPR), ("Cluster", Cluster::EXPR), ("Slice", Slice::EXPR)];
        check_windows(Element::EXPR, &units, Windows::WINDOWS)
    };
}

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, Before: WindowList>
    DmTensorView<'l, D, Chip, Cluster, Slice, Element, Before>
{
    /// Reads a digit of the tensor at overlapping positions: for `Output: o` and `Window: k` in the stream, the digit
    /// `Input` is `o * STRIDE + k * DILATION`. The stream then names `Output` and `Window`, in any order and place, and
    /// no longer `Input`. A second call gives windows to another digit.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![S = 256, H = 8, W = 10, OH = 6, OW = 8, KH = 3, KW = 3];
    /// /// The pixels under a filter of 3 x 3, for every place of it: eight places side by side are a packet.
    /// fn patches<'l, const T: Tu>(
    ///     ctx: &'l mut TuContext<T>,
    ///     image: &'l DmTensor<bf16, m![1], m![1 # 2], m![S], m![H, W]>,
    /// ) -> FetchTensor<'l, T, bf16, m![1], m![1 # 2], m![S], m![OH, KH, KW], m![OW]> {
    ///     let view = image.view();
    ///     let view = view.windows::<m![H], m![OH], m![KH], 1, 1>().windows::<m![W], m![OW], m![KW], 1, 1>();
    ///     ctx.begin(view).fetch()
    /// }
    /// ```
    ///
    /// Refused while compiling: windows that end after `Input`, where
    /// `(Output::SIZE - 1) * STRIDE + (Window::SIZE - 1) * DILATION + 1` is more than its size; an `Input` that is not one whole
    /// digit of `Element` in one place; padding, lists of axes; axes that the tensor has already; more than four
    /// windows.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn windows<Input: M, Output: M, Window: M, const STRIDE: usize, const DILATION: usize>(
        self,
    ) -> DmTensorView<
        'l,
        D,
        Chip,
        Cluster,
        Slice,
        Element,
        Windowed<Before, Input, Output, Window, STRIDE, DILATION>,
    > {
        let () = *planned!(const CHECK of WindowPlan<
            Chip,
            Cluster,
            Slice,
            Element,
            Windowed<Before, Input, Output, Window, STRIDE, DILATION>,
        >);
        self.with_windows()
    }
}

/// A view whose positions all have bytes of their own.
#[diagnostic::on_unimplemented(
    message = "two positions of windows are one element in memory: only a fetch reads through them",
    label = "for a copy, `begin` the view, `.fetch()`, `.collect()` and `.commit()` it to a tensor with the output and the \
             window axis"
)]
pub trait HasNoWindows<Parameters> {}

/// A view that tiles are taken of: one without windows.
#[diagnostic::on_unimplemented(
    message = "a tile is taken of a view without windows",
    label = "take the tile first: `.tile::<Index, LEN, Element>(start).windows::<…>()`"
)]
pub trait HasTiles<Parameters> {}

/// Declares a call that takes tiles, for a view that has none: see [`HasTiles`].
macro_rules! no_tiles {
    ($call:ident, $tile:ty $(, $start:ident)?) => {
        #[doc(hidden)]
        pub fn $call<Index: M, const LEN: usize, To: M>(&self $(, $start: usize)?) -> $tile
        where
            Self: HasTiles<(Index, To)>,
        {
            unreachable!("nothing meets this bound")
        }
    };
}

/// A view that is read by a fetch.
#[diagnostic::on_unimplemented(
    message = "windows are how a fetch reads a tensor in DM",
    label = "read `.view().windows::<…>()` of a tensor in DM; to write, `.commit()` to a tensor with the output and the window \
             axis"
)]
pub trait IsReadFromDm<Parameters> {}

impl<
    'l,
    D,
    Chip,
    Cluster,
    Slice,
    Element,
    Before,
    Input,
    Output,
    Inside,
    const STRIDE: usize,
    const DILATION: usize,
>
    DmTensorView<
        'l,
        D,
        Chip,
        Cluster,
        Slice,
        Element,
        Windowed<Before, Input, Output, Inside, STRIDE, DILATION>,
    >
where
    D: Scalar,
    Chip: M,
    Cluster: M,
    Slice: M,
    Element: M,
    Before: WindowList,
    Input: M,
    Output: M,
    Inside: M,
{
    #[doc(hidden)]
    pub fn to_hbm_view<Element2: M>(
        self,
        _dma: &mut impl OnChip,
        _destination: HbmTensorViewMut<'_, D, Chip, Element2>,
    ) where
        Self: HasNoWindows<(Element2,)>,
    {
    }

    #[doc(hidden)]
    pub fn to_dm_view<Slice2: M, Element2: M>(
        self,
        _dma: &mut impl OnChip,
        _destination: DmTensorViewMut<'_, D, Chip, Cluster, Slice2, Element2>,
    ) where
        Self: HasNoWindows<(Slice2, Element2)>,
    {
    }

    #[doc(hidden)]
    pub fn to_dm_view_pcopy<Slice2: M, Element2: M>(
        self,
        _sub: &mut impl SubContext,
        _destination: DmTensorViewMut<'_, D, Chip, Cluster, Slice2, Element2>,
    ) where
        Self: HasNoWindows<(Slice2, Element2)>,
    {
    }

    no_tiles! { tile, DmTensorView<'l, D, Chip, Cluster, Slice, To>, _start }
    no_tiles! { slice_tile, DmTensorView<'l, D, Chip, Cluster, To, Element>, _start }
    no_tiles! { cluster_tile, DmTensorView<'l, D, Chip, To, Slice, Element>, _start }
    no_tiles! { chip_tile, DmTensorView<'l, D, To, Cluster, Slice, Element>, _start }
    no_tiles! { tiles, core::iter::Empty<DmTensorView<'l, D, Chip, Cluster, Slice, To>> }
}

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorViewMut<'l, D, Chip, Cluster, Slice, Element>
{
    #[doc(hidden)]
    pub fn windows<Input: M, Output: M, Window: M, const STRIDE: usize, const DILATION: usize>(self)
    where
        Self: IsReadFromDm<(Input, Output, Window)>,
    {
    }
}

impl<'l, D: Scalar, Chip: M, Element: M> HbmTensorView<'l, D, Chip, Element> {
    #[doc(hidden)]
    pub fn windows<Input: M, Output: M, Window: M, const STRIDE: usize, const DILATION: usize>(self)
    where
        Self: IsReadFromDm<(Input, Output, Window)>,
    {
    }
}
