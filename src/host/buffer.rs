//! A linear buffer and a stream, to show the work of a sequencer: see [sequencers](crate::guide::sequencers).
//!
//! ```text
//!   BufTensor<D, Buf>  ──read──▶  StreamTensor<D, Time, Packet>  ──write──▶  BufTensor<D, Buf2>
//! ```
//!
//! These are plain types on the host. The [`StreamTensor`](crate::engine::stream::StreamTensor) of the Tensor Unit is
//! another type.
//!
//! ```
//! use furiosa_visa_std::prelude::*;
//! use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};
//! axes![A = 2, B = 3];
//!
//! let buf = BufTensor::<i32, m![A, B]>::from_fn(|position| position as i32);
//! let stream: StreamTensor<i32, m![B, A], m![1]> = buf.read();
//! let elements: Vec<i32> = stream.packets().map(|packet| packet[0].unwrap()).collect();
//! assert_eq!(elements, [0, 3, 1, 4, 2, 5]);
//! assert_eq!(stream.config().to_string(), "[3 : 1, 2 : 3] : 1");
//! ```

use crate::error::PlanError;
use crate::mapping::{Expr, M};
use crate::scalar::{Opt, Scalar};
use crate::sequencer::{BufferConfig, BufferRequest, Config, Entry, derive_buffer};
use crate::text::Text;
use core::fmt;
use core::marker::PhantomData;

/// The plan of a read or write, as types.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// use furiosa_visa_std::sequencer::BufferPlan;
/// axes![N = 4, C = 3, H = 8, W = 8];
/// type Plan = BufferPlan<bf16, m![N, C, H, W], m![W, H, C, N], m![1]>;
/// assert_eq!(Plan::READ.derived.to_string(), "[8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1");
/// ```
pub struct BufferPlan<D, Buf, Time, Packet>(PhantomData<(D, Buf, Time, Packet)>);

impl<D: Scalar, Buf: M, Time: M, Packet: M> BufferPlan<D, Buf, Time, Packet> {
    const fn plan(operation: &'static str, indirect: bool) -> BufferConfig {
        match Self::derived(operation, indirect) {
            Ok(config) => config,
            Err(error) => error.refuse(),
        }
    }

    /// The same, refused by the call instead of the compiler.
    #[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
    #[track_caller]
    fn late(operation: &'static str, indirect: bool) -> BufferConfig {
        match Self::derived(operation, indirect) {
            Ok(config) => config,
            Err(error) => error.refuse(),
        }
    }

    const fn derived(operation: &'static str, indirect: bool) -> Result<BufferConfig, PlanError> {
        let request = BufferRequest {
            operation,
            element: D::ELEMENT_TYPE,
            buf: Buf::EXPR,
            time: Time::EXPR,
            packet: Packet::EXPR,
            indirect,
        };
        derive_buffer(&request)
    }

    /// The sequencer of `read`. Its use refuses a stream that no sequencer reads.
    pub const READ: BufferConfig = Self::plan("read", false);
    /// The sequencer of `write`. Its use refuses a stream that no sequencer writes.
    pub const WRITE: BufferConfig = Self::plan("write", false);
    /// The sequencer of `read_indirect`.
    pub const READ_INDIRECT: BufferConfig = Self::plan("read_indirect", true);
    /// The sequencer of `write_indirect`.
    pub const WRITE_INDIRECT: BufferConfig = Self::plan("write_indirect", true);
}

/// A loop whose offsets are known at run time: `(limit, [offset0, offset1, …])` in place of `(limit, stride)`.
///
/// Offsets are in elements from the start of the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndirectLoop {
    /// The entry that it replaces.
    pub entry: usize,
    /// One offset per iteration.
    pub offsets: Vec<usize>,
}

impl IndirectLoop {
    /// The loop over `Index` of a derived sequencer.
    fn new<Index: M, Time: M>(
        operation: &'static str,
        plan: &BufferConfig,
        offsets: &[usize],
    ) -> Result<Self, PlanError> {
        let text = Text::new().str(operation).str(": ");
        // The entry that walks over the positions of the member.
        let all = members(Time::EXPR);
        let entry = all.iter().position(|member| **member == *Index::EXPR).and_then(|member| {
            let inside: usize = all[member + 1..].iter().map(|member| member.size()).product();
            let entries = &plan.derived.entries.as_slice()[..plan.time_entries];
            let starts_there =
                |k: &usize| entries[k + 1..].iter().map(|entry| entry.size).product::<usize>() == inside;
            let entry = (0..entries.len()).find(starts_there)?;
            (entries[entry].stride == 0 && entries[entry].size == Index::SIZE).then_some(entry)
        });
        let Some(entry) = entry else {
            let text =
                text.str("the loop over offsets ").mapping(Index::EXPR).str(" is not a member of `Time` ");
            let text = text.mapping(Time::EXPR).str(" that the buffer lacks");
            let help =
                "; help: name it in `Time` by itself, and leave the axis that it selects from to the offsets";
            return Err(PlanError::new("indirect loop", text.str(help)));
        };
        if offsets.len() != Index::SIZE {
            let text = text.str("the loop ").mapping(Index::EXPR).str(" has ").number(Index::SIZE);
            let text = text.str(" iterations, but there are ").number(offsets.len());
            return Err(PlanError::new(
                "indirect offsets",
                text.str(" offsets; help: give one per iteration"),
            ));
        }
        Ok(Self { entry, offsets: offsets.to_vec() })
    }
}

/// The members of a list.
fn members(expr: &'static Expr) -> Vec<&'static Expr> {
    match expr {
        Expr::Pair(left, right) => [members(left), members(right)].concat(),
        member => vec![member],
    }
}

/// Calls `visit` with (stream position, address) for every live position, in stream order.
fn walk(
    operation: &'static str,
    plan: &BufferConfig,
    indirect: Option<&IndirectLoop>,
    mut visit: impl FnMut(usize, usize),
) -> Result<(), PlanError> {
    let entries: &[Entry] = plan.derived.entries.as_slice();
    let packet = plan.derived.packet_size;
    let mut index = vec![0usize; entries.len()];
    for position in 0..plan.derived.positions() {
        let mut address = plan.derived.base;
        for (k, (entry, &i)) in entries.iter().zip(&index).enumerate() {
            address += match indirect {
                Some(loop_) if loop_.entry == k => loop_.offsets[i] as isize,
                _ => i as isize * entry.stride,
            };
        }
        if plan.guard.holds(&[position / packet, position % packet]) {
            let inside = usize::try_from(address).ok().filter(|&address| address < plan.buffer);
            match (inside, indirect) {
                (Some(address), _) => visit(position, address),
                (None, Some(loop_)) => {
                    let at = index[loop_.entry];
                    let text = Text::new().str(operation).str(": offset ").number(loop_.offsets[at]);
                    let text = text.str(" at position ").number(at).str(" of the list leaves the buffer of ");
                    let text = text.number(plan.buffer).str(" elements");
                    let help =
                        "; help: offsets are in elements; the last one that fits is the size less one row";
                    return Err(PlanError::new("indirect offset", text.str(help)));
                }
                (None, None) => unreachable!("a live element of a derived read lies in the buffer"),
            }
        }
        for (i, entry) in index.iter_mut().zip(entries).rev() {
            *i += 1;
            if *i < entry.size {
                break;
            }
            *i = 0;
        }
    }
    Ok(())
}

/// A tensor in a linear buffer with mapping `Buf`.
#[derive(Clone)]
pub struct BufTensor<D: Scalar, Buf: M> {
    elements: Vec<Opt<D>>,
    mapping: PhantomData<Buf>,
}

impl<D: Scalar, Buf: M> BufTensor<D, Buf> {
    /// A buffer whose position `p` holds `f(p)`. Padding holds nothing.
    pub fn from_fn(f: impl Fn(usize) -> D) -> Self {
        let live = |position| Buf::map(position).is_some();
        let at = |position| if live(position) { Opt::Init(f(position)) } else { Opt::Uninit };
        Self { elements: (0..Buf::SIZE).map(at).collect(), mapping: PhantomData }
    }

    /// A buffer with these elements, one per position, padding included.
    ///
    /// # Panics
    /// Panics if their number is not the size of the mapping.
    #[track_caller]
    pub fn from_vec(elements: Vec<Opt<D>>) -> Self {
        assert!(
            elements.len() == Buf::SIZE,
            "BufTensor::from_vec: `m![{}]` has {} positions, got {} elements; help: padding takes positions too",
            Buf::EXPR,
            Buf::SIZE,
            elements.len()
        );
        Self { elements, mapping: PhantomData }
    }

    /// A buffer of zeros. Padding holds nothing.
    pub fn zeroed() -> Self {
        Self::from_fn(|_| D::zero())
    }

    /// The elements, one per position.
    pub fn as_slice(&self) -> &[Opt<D>] {
        &self.elements
    }

    /// Reads the buffer as a stream of packets. Padding of the stream holds nothing.
    ///
    /// Refused while compiling: mappings that no sequencer reads.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn read<'l, Time: M, Packet: M>(&'l self) -> StreamTensor<'l, D, Time, Packet> {
        #[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
        let plan = const { BufferPlan::<D, Buf, Time, Packet>::READ };
        #[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
        let plan = BufferPlan::<D, Buf, Time, Packet>::late("read", false);
        self.gather("read", plan, None).expect("a derived read lies in the buffer")
    }

    /// Reads the buffer with one loop over offsets: at position `i` of `Index`, addresses start at `offsets[i]` (in
    /// elements). `Index` is a member of `Time`; the axis of the buffer that it selects from is not in the stream.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// use furiosa_visa_std::sequencer::BufTensor;
    /// axes![V = 10, E = 4, K = 3];
    /// let table = BufTensor::<i32, m![V, E]>::from_fn(|position| position as i32);
    /// let rows = table.read_indirect::<m![K], m![K], m![E]>(&[8, 0, 36]);
    /// let first: Vec<i32> = rows.packets().map(|packet| packet[0].unwrap()).collect();
    /// assert_eq!(first, [8, 0, 36]);
    /// ```
    ///
    /// # Panics
    /// Panics if the number of offsets is not the size of `Index`, or if an offset leaves the buffer.
    #[track_caller]
    #[inline(never)]
    pub fn read_indirect<'l, Index: M, Time: M, Packet: M>(
        &'l self,
        offsets: &[usize],
    ) -> StreamTensor<'l, D, Time, Packet> {
        match self.try_read_indirect::<Index, Time, Packet>(offsets) {
            Ok(stream) => stream,
            Err(error) => error.refuse(),
        }
    }

    /// [`Self::read_indirect`] that returns the problem of the offsets.
    #[track_caller]
    #[inline(never)]
    pub fn try_read_indirect<'l, Index: M, Time: M, Packet: M>(
        &'l self,
        offsets: &[usize],
    ) -> Result<StreamTensor<'l, D, Time, Packet>, PlanError> {
        #[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
        let plan = const { BufferPlan::<D, Buf, Time, Packet>::READ_INDIRECT };
        #[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
        let plan = BufferPlan::<D, Buf, Time, Packet>::late("read_indirect", true);
        let list = IndirectLoop::new::<Index, Time>("read_indirect", &plan, offsets)?;
        self.gather("read_indirect", plan, Some(list))
    }

    fn gather<'l, Time: M, Packet: M>(
        &'l self,
        operation: &'static str,
        plan: BufferConfig,
        indirect: Option<IndirectLoop>,
    ) -> Result<StreamTensor<'l, D, Time, Packet>, PlanError> {
        let mut elements = vec![Opt::Uninit; Time::SIZE * Packet::SIZE];
        walk(operation, &plan, indirect.as_ref(), |position, address| {
            elements[position] = self.elements[address];
        })?;
        Ok(StreamTensor { elements, config: plan.config, indirect, types: PhantomData })
    }

    /// Writes a stream of packets to the buffer. If several positions go to one address (a broadcast), the last one
    /// wins; padding of the stream is not written.
    ///
    /// Refused while compiling: mappings that no sequencer writes.
    #[track_caller]
    #[inline(never)]
    pub fn write<'l, Time: M, Packet: M>(&mut self, stream: StreamTensor<'l, D, Time, Packet>) {
        #[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
        let plan = const { BufferPlan::<D, Buf, Time, Packet>::WRITE };
        #[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
        let plan = BufferPlan::<D, Buf, Time, Packet>::late("write", false);
        self.scatter("write", &plan, None, &stream).expect("a derived write lies in the buffer");
    }

    /// Writes a stream with one loop over offsets: see [`Self::read_indirect`]. The last of equal offsets wins.
    ///
    /// # Panics
    /// Panics if the number of offsets is not the size of `Index`, or if an offset leaves the buffer. Then nothing is
    /// written.
    #[track_caller]
    #[inline(never)]
    pub fn write_indirect<'l, Index: M, Time: M, Packet: M>(
        &mut self,
        stream: StreamTensor<'l, D, Time, Packet>,
        offsets: &[usize],
    ) {
        if let Err(error) = self.try_write_indirect::<Index, Time, Packet>(stream, offsets) {
            error.refuse()
        }
    }

    /// [`Self::write_indirect`] that returns the problem of the offsets.
    #[track_caller]
    #[inline(never)]
    pub fn try_write_indirect<'l, Index: M, Time: M, Packet: M>(
        &mut self,
        stream: StreamTensor<'l, D, Time, Packet>,
        offsets: &[usize],
    ) -> Result<(), PlanError> {
        #[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
        let plan = const { BufferPlan::<D, Buf, Time, Packet>::WRITE_INDIRECT };
        #[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
        let plan = BufferPlan::<D, Buf, Time, Packet>::late("write_indirect", true);
        let list = IndirectLoop::new::<Index, Time>("write_indirect", &plan, offsets)?;
        self.scatter("write_indirect", &plan, Some(&list), &stream)
    }

    fn scatter<Time: M, Packet: M>(
        &mut self,
        operation: &'static str,
        plan: &BufferConfig,
        indirect: Option<&IndirectLoop>,
        stream: &StreamTensor<'_, D, Time, Packet>,
    ) -> Result<(), PlanError> {
        // Every address is checked before the first write.
        walk(operation, plan, indirect, |_, _| ())?;
        walk(operation, plan, indirect, |position, address| {
            self.elements[address] = stream.elements[position];
        })
    }
}

impl<D: Scalar, Buf: M> PartialEq for BufTensor<D, Buf> {
    fn eq(&self, other: &Self) -> bool {
        self.elements == other.elements
    }
}

impl<D: Scalar, Buf: M> fmt::Debug for BufTensor<D, Buf> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufTensor<{}, m![{}]> {:?}", D::ELEMENT_TYPE, Buf::EXPR, self.elements)
    }
}

/// A tensor in motion: packets over time.
#[derive(Clone)]
pub struct StreamTensor<'l, D: Scalar, Time: M, Packet: M> {
    elements: Vec<Opt<D>>,
    config: Config,
    indirect: Option<IndirectLoop>,
    types: PhantomData<(&'l (), Time, Packet)>,
}

impl<D: Scalar, Time: M, Packet: M> StreamTensor<'_, D, Time, Packet> {
    /// The packets in order. Padding holds [`Opt::Uninit`].
    pub fn packets(&self) -> impl ExactSizeIterator<Item = &[Opt<D>]> {
        self.elements.chunks_exact(Packet::SIZE)
    }

    /// The sequencer that read the stream.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The loop over offsets, if there is one.
    pub fn indirect(&self) -> Option<&IndirectLoop> {
        self.indirect.as_ref()
    }
}

impl<D: Scalar, Time: M, Packet: M> PartialEq for StreamTensor<'_, D, Time, Packet> {
    fn eq(&self, other: &Self) -> bool {
        self.elements == other.elements
    }
}

impl<D: Scalar, Time: M, Packet: M> fmt::Debug for StreamTensor<'_, D, Time, Packet> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, packet) = (Time::EXPR, Packet::EXPR);
        write!(f, "StreamTensor<{}, m![{time}], m![{packet}]> {}", D::ELEMENT_TYPE, self.config)
    }
}

#[cfg(test)]
#[path = "buffer_tests.rs"]
mod tests;
