//! Other orders in which a chip may do the commands of a program.
//!
//! ```text
//!   program          tdma: a → 0      main: b → 512     tdma: c → 1024      sub: reads 1024
//!   early DMA        tdma: a → 0      tdma: c → 1024    main: b → 512       sub: reads 1024
//!   late DMA         main: b → 512    tdma: a → 0       tdma: c → 1024      sub: reads 1024
//! ```
//!
//! A command waits for the one before it in its context, and for those before it whose tensors share bytes with its own,
//! one of them written, where the handles tell the scheduler so: the order that [`crate::order`] asks for. Any order that
//! keeps to this is legal. A program without unordered accesses gives the same values in all of them.

use super::{Touch, Use};
use crate::memory::fresh::mixed;
use furiosa_visa_rules::command::ContextKind;

/// The order in which the commands of a kernel take effect. A correct kernel gives the same values in every order.
///
/// Commands of a context stay in the order of the program, and so do those that the scheduler orders: see
/// [`CheckOptions::order`](crate::CheckOptions::order). The end of a launch, transfers with the host and looks at register
/// files wait for everything. At most 256 commands wait. Before a gather or scatter, all commands that wait take effect, in
/// whatever order: the chip reads its index when it is given, because its time depends on it.
///
/// In another order than that of the program, a command is checked when it is given, but for uses of elements that nobody
/// wrote, which are found when it takes effect. Such a fault names the line of its own command. It comes back from the
/// call that found it: a later command, a transfer with the host, or the launch. All commands that were given by then
/// have been done but for those with faults; of several faults, the one of the first command is reported.
///
/// ```
/// use furiosa_visa_std::chip::ExecutionOrder;
/// use furiosa_visa_std::prelude::*;
/// let mut ctx = Context::with(SimOptions { order: ExecutionOrder::LateDma, ..SimOptions::default() });
/// # let _ = &mut ctx;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExecutionOrder {
    /// That of the program: each command takes effect at its call.
    #[default]
    Program,
    /// Transfers of the DMA engines and the PCIe link as early as they may.
    EarlyDma,
    /// Transfers of the DMA engines and the PCIe link as late as they may.
    LateDma,
    /// Any, selected by the seed of the system.
    Random,
}

impl ExecutionOrder {
    /// All orders.
    pub const ALL: [ExecutionOrder; 4] = [Self::Program, Self::EarlyDma, Self::LateDma, Self::Random];
}

/// The most commands that wait.
const WINDOW: usize = 256;

/// A command that has not been done.
#[derive(Debug)]
struct Pending<T> {
    number: u64,
    context: ContextKind,
    touches: Vec<Touch>,
    /// The numbers of the commands that it waits for, in order. Some may have been done.
    after: Vec<u64>,
    item: T,
}

/// Commands that wait, and the choice of the next one.
#[derive(Debug)]
pub(crate) struct Explorer<T> {
    order: ExecutionOrder,
    state: u64,
    given: u64,
    /// In the order of the program.
    pending: Vec<Pending<T>>,
}

impl<T> Explorer<T> {
    /// Nothing waits. `seed` selects a random order.
    pub(crate) fn new(order: ExecutionOrder, seed: u64) -> Self {
        Self { order, state: mixed(seed), given: 0, pending: Vec::new() }
    }

    /// True if commands wait. Otherwise they are done at once.
    pub(crate) fn defers(&self) -> bool {
        self.order != ExecutionOrder::Program
    }

    /// True if a command must be done before another one is given.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() > WINDOW
    }

    /// Adds a command.
    pub(crate) fn push(&mut self, context: ContextKind, uses: impl IntoIterator<Item = Use>, item: T) {
        self.given += 1;
        let touches: Vec<Touch> = uses.into_iter().map(Touch::new).collect();
        let waits_for = |old: &&Pending<T>| {
            let shares = |new: &Touch| old.touches.iter().any(|old| new.is_ordered_after(old));
            old.context == context || touches.iter().any(shares)
        };
        let after = self.pending.iter().filter(waits_for).map(|old| old.number).collect();
        self.pending.push(Pending { number: self.given, context, touches, after, item });
    }

    /// Takes the command that is to be done next, with its place in the program: 1, 2, …
    pub(crate) fn next(&mut self) -> Option<(u64, T)> {
        let at = match self.order {
            ExecutionOrder::Program => (!self.pending.is_empty()).then_some(0),
            ExecutionOrder::EarlyDma => self.towards(ContextKind::is_dma),
            ExecutionOrder::LateDma => self.towards(|context| !context.is_dma()),
            ExecutionOrder::Random => {
                let ready: Vec<usize> = (0..self.pending.len()).filter(|&at| self.is_ready(at)).collect();
                self.state = mixed(self.state);
                (!ready.is_empty()).then(|| ready[(self.state % ready.len() as u64) as usize])
            }
        }?;
        let Pending { number, item, .. } = self.pending.remove(at);
        Some((number, item))
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.pending.binary_search_by_key(&number, |pending| pending.number).ok()
    }

    fn is_ready(&self, at: usize) -> bool {
        self.pending[at].after.iter().all(|&number| self.position(number).is_none())
    }

    /// The first command of the preferred contexts that is ready; if there is none, the first one that one of them waits
    /// for; if there is none, the first one.
    fn towards(&self, preferred: impl Fn(ContextKind) -> bool) -> Option<usize> {
        let is_preferred = |&at: &usize| preferred(self.pending[at].context);
        let all = 0..self.pending.len();
        if let Some(at) = all.clone().filter(is_preferred).find(|&at| self.is_ready(at)) {
            return Some(at);
        }
        let Some(mut at) = all.clone().find(is_preferred) else {
            return all.clone().next();
        };
        // What a command waits for was given before it: this ends.
        while let Some(before) = self.pending[at].after.iter().find_map(|&number| self.position(number)) {
            at = before;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::command::{FillId, Footprint, Memory, Place, Region};
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::scalar::ElementType;
    use std::collections::BTreeSet;

    /// An access of a command of a test: its bytes, true if the scheduler knows the handle, true if it writes.
    #[derive(Clone, Copy, Debug)]
    struct Bytes {
        start: u64,
        len: usize,
        known: bool,
        writes: bool,
    }

    #[derive(Clone, Debug)]
    struct Given {
        context: ContextKind,
        bytes: Vec<Bytes>,
    }

    fn used(bytes: &Bytes) -> Use {
        let &Bytes { start, len, known, writes } = bytes;
        let guard = Guard::always(4);
        let element = ElementType::I8;
        let footprint = Footprint { element, chips: 1, clusters: 1, slices: 1, elements: len, guard };
        let fill = if known { FillId(1 + start) } else { FillId::ANY };
        let region = Region::whole(Memory::Dm, start, fill, footprint);
        Use { place: Place::Region(region), writes, operation: "test" }
    }

    fn explorer(commands: &[Given], order: ExecutionOrder, seed: u64) -> Explorer<usize> {
        let mut explorer = Explorer::new(order, seed);
        for (k, Given { context, bytes }) in commands.iter().enumerate() {
            explorer.push(*context, bytes.iter().map(used), k);
        }
        explorer
    }

    fn drained(mut explorer: Explorer<usize>) -> Vec<usize> {
        core::iter::from_fn(|| explorer.next().map(|(_, k)| k)).collect()
    }

    /// True if `b`, given later, must wait for `a`: by the definition, byte for byte.
    fn must_wait(a: &Given, b: &Given) -> bool {
        let share = |a: &Bytes, b: &Bytes| {
            let end = |bytes: &Bytes| bytes.start + bytes.len as u64;
            let common = (a.start..end(a)).any(|byte| (b.start..end(b)).contains(&byte));
            common && (a.writes || b.writes) && a.known && b.known
        };
        a.context == b.context || a.bytes.iter().any(|a| b.bytes.iter().any(|b| share(a, b)))
    }

    /// All permutations that keep to the definition, one command after the other.
    fn legal_orders(commands: &[Given]) -> BTreeSet<Vec<usize>> {
        let mut orders = BTreeSet::from([Vec::new()]);
        for _ in commands {
            let longer = orders.iter().flat_map(|order| {
                let free = |&next: &usize| {
                    let done = |k: usize| order.contains(&k);
                    !done(next) && (0..next).all(|k| done(k) || !must_wait(&commands[k], &commands[next]))
                };
                (0..commands.len()).filter(free).map(|next| [&order[..], &[next]].concat())
            });
            orders = longer.collect();
        }
        orders
    }

    fn random_commands(state: &mut u64) -> Vec<Given> {
        let mut below = |limit: u64| {
            *state = mixed(*state);
            *state % limit
        };
        let count = 1 + below(6);
        let mut given = || {
            let context = ContextKind::ALL[below(4) as usize];
            let uses = 1 + below(2);
            let mut bytes = || {
                let (start, len) = (below(8) * 4, 1 + below(8) as usize);
                Bytes { start, len, known: below(4) > 0, writes: below(2) == 0 }
            };
            Given { context, bytes: (0..uses).map(|_| bytes()).collect() }
        };
        (0..count).map(|_| given()).collect()
    }

    #[test]
    fn orders_are_legal_and_extreme() {
        let mut state = 1;
        let (mut moved, mut several) = (0, 0);
        for case in 0..400 {
            let commands = random_commands(&mut state);
            let legal = legal_orders(&commands);
            several += usize::from(legal.len() > 1);
            let program: Vec<usize> = (0..commands.len()).collect();
            let of = |order| drained(explorer(&commands, order, case));
            assert_eq!(of(ExecutionOrder::Program), program);
            let [early, late] = [ExecutionOrder::EarlyDma, ExecutionOrder::LateDma].map(of);
            for order in [&early, &late, &of(ExecutionOrder::Random)] {
                assert!(legal.contains(order), "case {case}: {order:?} of {commands:?}");
                moved += usize::from(*order != program);
            }
            // What is not preferred is done only where nothing that is preferred could be.
            for (order, prefers_dma) in [(&early, true), (&late, false)] {
                for (at, &done) in order.iter().enumerate() {
                    let preferred = |k: usize| commands[k].context.is_dma() == prefers_dma;
                    let open = legal.iter().any(|other| other[..at] == order[..at] && preferred(other[at]));
                    assert!(preferred(done) || !open, "case {case}: {order:?} of {commands:?}");
                }
            }
        }
        assert!(moved > 200 && several > 200, "{moved} moved, {several} with a choice");
    }

    /// Enough seeds give every legal order.
    #[test]
    fn random_orders_are_all_orders() {
        let mut state = 7;
        for _ in 0..20 {
            let commands = random_commands(&mut state);
            let legal = legal_orders(&commands);
            if legal.len() > 12 {
                continue;
            }
            let found: BTreeSet<_> =
                (0..600).map(|seed| drained(explorer(&commands, ExecutionOrder::Random, seed))).collect();
            assert_eq!(found, legal, "{commands:?}");
        }
    }

    #[test]
    fn the_window_is_bounded() {
        let mut explorer = Explorer::new(ExecutionOrder::LateDma, 0);
        for k in 0..=WINDOW {
            assert!(!explorer.is_full(), "{k} wait");
            explorer.push(ContextKind::TensorDma, [], k);
        }
        assert!(explorer.is_full());
        assert_eq!(explorer.next(), Some((1, 0)));
        assert!(!explorer.is_full());
    }
}
