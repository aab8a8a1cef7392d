//! Commit Engine: writes a stream of flits to DM.

use crate::command::{Address, CommitNarrowing, Footprint, Region, Sink};
use crate::engine::collect::whole_bytes;
use crate::engine::commit_stages::{CommitStages, is_commit_size};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::guard::rows::{LiveRows, Liveness, differs_by_unit};
use crate::mapping::{
    Expr, Factor, Factors, Guard, Pool, UNKNOWN, divide, factors_of, modulo, normal, product, resize, stride,
    strip,
};
use crate::scalar::ElementType;
use crate::sequencer::walk::Walk;
use crate::sequencer::{Config, Entry, Request, StreamPart, contiguous_run, derive, limited};
use crate::spec;
use crate::text::Text;

/// The input of [`derive_commit`].
#[derive(Clone, Copy, Debug)]
pub struct CommitRequest {
    /// True if the sub context commits.
    pub sub_context: bool,
    /// The element type in the stream, before the engine narrows it.
    pub element: ElementType,
    /// Time of the stream.
    pub time: &'static Expr,
    /// Packet of the stream.
    pub packet: &'static Expr,
    /// The tensor in each slice.
    pub destination: &'static Expr,
    /// The stages of the engine that the stream has passed.
    pub stages: CommitStages,
}

impl CommitRequest {
    /// The element type that is written.
    pub const fn stored(&self) -> ElementType {
        if self.stages.narrowed { CommitNarrowing::OUTPUT } else { self.element }
    }
}

/// The derived configuration of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitConfig {
    /// The sequencer as derived: entries over time, then the packet entry. Strides in elements.
    pub derived: Config,
    /// The sequencer within the hardware's limits.
    pub config: Config,
    /// Elements of each flit that are written.
    pub window: usize,
    /// Bytes of each flit that are kept: `commit_in_size`.
    pub commit_in_size: usize,
    /// Bytes of each flit that are written: the same, or half of them if the engine narrows f32 to bf16.
    pub written: usize,
    /// Contiguous bytes of memory: `contiguous_sram_access_size`.
    pub contiguous_bytes: usize,
    /// Bytes of one write: `commit_size`.
    pub commit_size: usize,
    /// Cycles: one write per cycle.
    pub cycles: usize,
}

impl CommitConfig {
    const fn new(
        request: &CommitRequest,
        (derived, config): (Config, Config),
        (window, commit_in_size, contiguous_bytes): (usize, usize, usize),
        steps: usize,
    ) -> Self {
        let written = window * request.stored().bits() / 8;
        let commit_size = match request.sub_context {
            true => spec::SUB_COMMIT_BYTES,
            false => crate::mapping::gcd(contiguous_bytes, written),
        };
        // The engine narrows at the rate of its writes, which take what the packet has in memory. This is assumed:
        // no page tells its time.
        let cycles = steps * (written / commit_size);
        Self { derived, config, window, commit_in_size, written, contiguous_bytes, commit_size, cycles }
    }
}

/// The call, for messages.
pub const OPERATION: &str = "commit";

/// Checks the mappings of a commit and derives its sequencer.
pub const fn derive_commit(request: &CommitRequest) -> Result<CommitConfig, PlanError> {
    commit(request, [UNKNOWN; 3])
}

/// As [`derive_commit`], with the normal forms of the mappings, in the order of the request.
pub const fn commit(request: &CommitRequest, forms: [&Factors; 3]) -> Result<CommitConfig, PlanError> {
    let mut pool = Pool::new();
    let time = normal!(forms[0], OPERATION, &mut pool, request.time);
    let packet = normal!(forms[1], OPERATION, &mut pool, request.packet);
    let destination = normal!(forms[2], OPERATION, &mut pool, request.destination);
    attempt!(check_input(request, packet.size()));
    let (size, steps) = (destination.size(), time.size());
    if !size.is_multiple_of(steps) {
        refuse!(
            "commit time",
            "commit: Element {} has {} positions, which the {} time steps {} do not divide; \
             help: give each time step a place in Element",
            (request.destination, size, steps, request.time),
        );
    }
    let window = size / steps;
    let outer = stride(&mut pool, &destination, window);
    let inner = modulo(&mut pool, &destination, window);
    let expected = resize(&mut pool, &packet, window);
    // Both parts may be halves of one composite, which Element knows only as a whole.
    let in_order = product(&pool, &time, &expected).is(&destination);
    if !in_order {
        attempt!(check_permutation(&pool, request, (&time, &destination), (&outer, &inner)));
    }
    attempt!(check_stages(request, packet.size(), window));
    let commit_in_size = attempt!(whole_bytes(OPERATION, request.element, request.destination, window));
    attempt!(check_window(request, commit_in_size, window));
    if !in_order && !expected.is(&inner) {
        refuse!(
            "commit packet",
            "commit: the innermost {} positions of Element {} are {}, but the leading {} lanes of the packet {} are {}; \
             help: keep the packet, or a prefix of it, innermost",
            window,
            request.destination,
            factors(&pool, &inner),
            window,
            request.packet,
            factors(&pool, &expected),
        );
    }
    let loops = Request {
        buf_expr: Some(request.destination),
        ..Request::new(
            OPERATION,
            &destination,
            StreamPart::Known(request.time, &time),
            StreamPart::Factors(&expected),
        )
    };
    let derived = attempt!(derive(&mut pool, &loops)).config;
    let config = attempt!(limited(OPERATION, derived));
    let run =
        attempt!(whole_bytes(OPERATION, request.stored(), request.destination, contiguous_run(&derived)));
    Ok(CommitConfig::new(request, (derived, config), (window, commit_in_size, run), steps))
}

/// Checks that a time step carries one flit, or what a trim leaves of one.
const fn check_input(request: &CommitRequest, lanes: usize) -> Result<(), PlanError> {
    if request.stages.trimmed { Ok(()) } else { check_flit(request, lanes) }
}

/// Checks that Element has a place for what the engine writes of a packet.
const fn check_stages(request: &CommitRequest, lanes: usize, window: usize) -> Result<(), PlanError> {
    if request.stages.trimmed && window != lanes {
        refuse!(
            "commit trimmed packet",
            "commit: each time step has {} of Element {}, but the packet was trimmed to {}, {}; \
             help: let the trim keep what Element holds",
            (count(window, "position"), request.destination, request.packet, count(lanes, "element")),
        );
    }
    let bytes = window * request.element.bits() / 8;
    if !request.stages.narrowed || bytes == spec::COMMIT_CAST_BYTES || bytes == spec::FLIT_BYTES {
        return Ok(());
    }
    let help = if bytes > spec::FLIT_BYTES {
        text!(
            "give each time step at most {} elements of Element",
            spec::FLIT_BYTES * 8 / request.element.bits()
        )
    } else {
        let next = bytes.div_ceil(spec::COMMIT_CAST_BYTES) * spec::COMMIT_CAST_BYTES;
        text!("pad the innermost part with `# {}`", next * 8 / request.element.bits())
    };
    refuse!(
        "commit cast width",
        "commit: each time step writes {} {} of Element {}, narrowed from {} bytes of {}, but the engine narrows 16 or \
         32 bytes of a packet; help: {}",
        (window, request.stored().name(), request.destination, bytes, request.element.name(), &help),
    )
}

/// Checks that a time step carries one flit.
pub const fn check_flit(request: &CommitRequest, lanes: usize) -> Result<(), PlanError> {
    let bytes = attempt!(whole_bytes(OPERATION, request.element, request.packet, lanes));
    if bytes == spec::FLIT_BYTES {
        return Ok(());
    }
    refuse!(
        "commit input flit",
        "commit: the packet {} of {} holds {} bytes, but must be one flit of {} bytes; \
         help: `.collect()` the stream first",
        (request.packet, request.element.name(), bytes, spec::FLIT_BYTES),
    )
}

/// As [`derive_commit`], for a view, which may be a tile: its holes belong to other tiles.
///
/// A commit of a view writes only the part of each flit that holds elements of the view, rounded up to the next size
/// that the engine has. Time steps without elements of the view are not written.
///
/// ```text
/// tensor m![Q, K] of i8, K = 8        tile m![1 # 4, K] at Q: 2        Time m![1], Packet m![K # 32]
///
///   Q: 0   Q: 1   Q: 2   Q: 3
///   ├──────┼──────┼──────┼──────┤
///                 └─ 8 ──┘             of the 32 bytes of the flit, 8 are written
/// ```
pub const fn derive_commit_view(request: &CommitRequest) -> Result<CommitConfig, PlanError> {
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let destination = attempt!(factors_of(OPERATION, &mut pool, request.destination));
    attempt!(check_input(request, packet.size()));
    each!(k < spec::COMMIT_SIZES.len(), {
        let window = spec::COMMIT_SIZES[k] * 8 / request.element.bits();
        if window > packet.size() || check_stages(request, packet.size(), window).is_err() {
            continue;
        }
        let kept = resize(&mut pool, &packet, window);
        let lanes = strip(&kept);
        let stream = product(&pool, &time, &lanes);
        let there = divide(&pool, &destination, &stream);
        if there.is_exact()
            && !there.dividend_residue.has_terms()
            && divide(&pool, &stream, &destination).is_exact()
        {
            return view_config(&mut pool, request, (&time, &destination), (&lanes, window));
        }
    });
    // A stream that fits no size is refused in the words of a whole tensor. A stream that fits only as a whole is
    // accepted.
    derive_commit(request)
}

/// The sequencer of a commit of the leading `lanes`, in packets of `window` elements.
const fn view_config(
    pool: &mut Pool,
    request: &CommitRequest,
    (time, destination): (&Factors, &Factors),
    (lanes, window): (&Factors, usize),
) -> Result<CommitConfig, PlanError> {
    let loops = Request {
        buf_expr: Some(request.destination),
        ..Request::new(OPERATION, destination, StreamPart::Expr(request.time), StreamPart::Factors(lanes))
    };
    let found = attempt!(derive(pool, &loops));
    let mut derived = Config::new(window);
    derived.base = found.config.base;
    let (mut inside, mut k) = (1, found.config.entries.len);
    while k > found.time_entries {
        k -= 1;
        let entry = found.config.entries.items[k];
        if entry.stride != inside as isize {
            refuse!(
                "commit packet",
                "commit: the leading lanes {} of a packet do not lie together, innermost in the view {}: a step of them is \
                 {} elements; help: keep the packet, or a prefix of it, innermost",
                (factors(pool, lanes), request.destination, entry.stride),
            );
        }
        inside *= entry.size;
    }
    let bits = request.stored().bits();
    while k > 0 {
        k -= 1;
        let entry = found.config.entries.items[k];
        let step = entry.stride.unsigned_abs() * bits;
        if entry.size > 1 && !step.is_multiple_of(8 * spec::COMMIT_ALIGN_BYTES) {
            refuse!(
                "commit stride",
                "commit: packets lie {} of {} apart in the view {}, but the engine writes at multiples of {} bytes; \
                 help: pad the rows of the tensor to multiples of {} bytes",
                count(entry.stride.unsigned_abs(), "element"),
                request.stored().name(),
                request.destination,
                spec::COMMIT_ALIGN_BYTES,
                spec::COMMIT_ALIGN_BYTES,
            );
        }
    }
    while k < found.time_entries {
        derived.entries.push(found.config.entries.items[k]);
        k += 1;
    }
    if window > 1 {
        derived.entries.push(Entry { size: window, stride: 1 });
    }
    let config = attempt!(limited(OPERATION, derived));
    let commit_in_size = window * request.element.bits() / 8;
    let run = contiguous_run(&derived) * bits / 8;
    Ok(CommitConfig::new(request, (derived, config), (window, commit_in_size, run), time.size()))
}

const fn check_window(request: &CommitRequest, bytes: usize, window: usize) -> Result<(), PlanError> {
    if is_commit_size(bytes) {
        return Ok(());
    }
    let help = if bytes < spec::FLIT_BYTES {
        let next = bytes.div_ceil(8) * 8;
        text!("pad the innermost part with `# {}`", next * 8 / request.element.bits())
    } else {
        text!(
            "name in Element what the stream holds, {} in Time and {} in the packet, one flit per time step",
            (request.time, request.packet)
        )
    };
    refuse!(
        "commit width",
        "commit: each time step writes {} {}, {} bytes, of Element {}, but the output packet must be one of 8, 16, 24 or \
         32 bytes; help: {}",
        (window, request.element.name(), bytes, request.destination, &help),
    )
}

/// Checks that time in DM is a permutation of time in the stream: nothing added, dropped, cut or broadcast. `outer` and
/// `inner` are the two parts of the destination, cut at the size of a step.
const fn check_permutation(
    pool: &Pool,
    request: &CommitRequest,
    (time, destination): (&Factors, &Factors),
    (outer, inner): (&Factors, &Factors),
) -> Result<(), PlanError> {
    if time.is(outer) {
        return Ok(());
    }
    let there = divide(pool, outer, time);
    let there = there.is_exact() && !there.dividend_residue.has_terms();
    let back = divide(pool, time, outer).is_exact();
    if there && back {
        return Ok(());
    }
    attempt!(check_whole_digits(pool, request, time, destination));
    if ends_inside(destination, inner.size()) {
        // The part outside a step has a normal form, but it is not part of the user's code.
        refuse!(
            "commit permutation",
            "commit: Element {} has {} positions, {} for each of the {} steps of the stream's time {}, and its innermost {} \
             positions end inside of one of its digits; help: name exactly the time axes, in any order, before the packet",
            (request.destination, destination.size(), inner.size(), time.size(), request.time, inner.size()),
        );
    }
    refuse!(
        "commit permutation",
        "commit: the time part of Element {} is {}, which is no permutation of the stream's time {}; \
         help: name exactly the time axes, in any order, before the packet",
        (request.destination, factors(pool, outer), request.time),
    )
}

/// True if the innermost positions end inside a digit, at no divisor of its values.
const fn ends_inside(factors: &Factors, positions: usize) -> bool {
    let list = factors.as_slice();
    let mut inside = 1;
    each!(k < list.len(), {
        let size = list[k].size_over(inside);
        if let Factor::Term { resize, .. } = &list[k]
            && inside < positions
            && positions < size
        {
            return !positions.is_multiple_of(inside) || !resize.is_multiple_of(positions / inside);
        }
        inside = size;
    });
    false
}

/// Checks that a digit of time has as many values in the stream as in Element.
const fn check_whole_digits(
    pool: &Pool,
    request: &CommitRequest,
    time: &Factors,
    destination: &Factors,
) -> Result<(), PlanError> {
    let (steps, places) = (time.as_slice(), destination.as_slice());
    each!(k < steps.len(), {
        each!(j < places.len(), {
            if let (Factor::Term { term, resize }, Factor::Term { term: there, resize: all }) =
                (&steps[k], &places[j])
                && term.is(there)
                && *resize != *all
            {
                let (read, written) = (*resize, *all);
                let help = if read < written {
                    text!("name {} in Element, or all of it in the stream", term(pool, term, read))
                } else {
                    text!(
                        "name all of it in Element, or no more than {} in the stream",
                        term(pool, term, written),
                    )
                };
                refuse!(
                    "commit permutation",
                    "commit: the time {} of the stream has {} of the {} values of {}, and Element {} has {} of them; \
                     help: {}",
                    request.time,
                    read,
                    term.modulo,
                    term(pool, term, term.modulo),
                    request.destination,
                    written,
                    &help,
                );
            }
        });
    });
    Ok(())
}

/// Checks that a commit starts at a multiple of 8 bytes.
pub const fn check_commit_address(address: Address) -> Result<(), PlanError> {
    if (address as usize).is_multiple_of(spec::COMMIT_ALIGN_BYTES) {
        return Ok(());
    }
    refuse!(
        "commit alignment",
        "commit: address {} is no multiple of {} bytes; help: move the tensor to a multiple of {}",
        (address as usize, spec::COMMIT_ALIGN_BYTES, spec::COMMIT_ALIGN_BYTES),
    )
}

/// Checks the same for a view, which may be a tile.
pub const fn check_commit_start(view: &Region) -> Result<(), PlanError> {
    if view.part.offset == 0 || (view.address as usize).is_multiple_of(spec::COMMIT_ALIGN_BYTES) {
        return check_commit_address(view.address);
    }
    refuse!(
        "commit alignment",
        "commit: the tile starts {} behind the start of its tensor, at address {}, which is no multiple of {} bytes; \
         help: pad the rows of the tensor to multiples of {} bytes",
        count(view.part.offset as usize, "byte"),
        view.address as usize,
        spec::COMMIT_ALIGN_BYTES,
        spec::COMMIT_ALIGN_BYTES,
    )
}

/// The bytes that a commit writes, with the guard of those that hold elements of its stream.
pub struct Written<'a> {
    /// The configuration.
    pub plan: &'a CommitConfig,
    /// Positions of the stream that hold an element. Variables: chip, cluster, slice, time, lane.
    pub guard: &'a Guard,
}

impl Written<'_> {
    /// Checks that the bytes between the elements of a tile, which a packet overwrites, hold no element of the tensor.
    pub fn stays_in(&self, tile: &Region, tensor: &Footprint) -> Result<(), PlanError> {
        let window = self.plan.window;
        let live = LiveRows::new(self.guard, 4, window);
        let bits = tensor.element.bits();
        let before = tile.part.offset as usize * 8 / bits;
        let walk = Walk::new(&self.plan.config);
        let starts = walk.positions(0..self.plan.config.positions(), window);
        // Often one look at each time step is enough: beside the tile, a packet has padding of every unit.
        if let Some(mask) = live.mask_of_live_rows() {
            let is_padding = |position: i64| {
                usize::try_from(position).is_ok_and(|position| {
                    position < tensor.elements && !tensor.guard.may_hold_with(3, position)
                })
            };
            let dead =
                |start: i64| (0..window).filter(|&lane| !mask[lane]).map(move |lane| start + lane as i64);
            if starts.iter().all(|&start| dead(before as i64 + start).all(is_padding)) {
                return Ok(());
            }
        }
        let differs = live.differs_by_unit() || differs_by_unit(&tensor.guard);
        let units = tensor.chips * tensor.clusters * tensor.slices;
        let (mut mask, mut looked_at) = (Vec::new(), false);
        for unit in 0..units {
            let (chip, rest) =
                (unit / (tensor.clusters * tensor.slices), unit % (tensor.clusters * tensor.slices));
            let (cluster, slice) = (rest / tensor.slices, rest % tensor.slices);
            let unit = [chip, cluster, slice];
            if !self.guard.may_hold(&unit) {
                continue;
            }
            // One unit stands for all that have elements of the tensor.
            let has_elements = tensor.guard.may_hold(&unit);
            if looked_at && !differs && has_elements {
                continue;
            }
            for (time, &start) in starts.iter().enumerate() {
                match live.row(&mut [chip, cluster, slice, time, 0], &mut mask) {
                    Liveness::Nothing => continue,
                    Liveness::All => mask.clear(),
                    Liveness::Some => {}
                }
                looked_at |= has_elements;
                let padding = mask.iter().enumerate().filter(|(_, live)| !**live);
                for position in padding.map(|(lane, _)| before as i64 + start + lane as i64) {
                    let position = position.max(0) as usize;
                    let place = [chip, cluster, slice, position];
                    if position < tensor.elements && !tensor.guard.holds(&place) {
                        continue;
                    }
                    let what = match tensor.guard.element(&place) {
                        Some(element) if position < tensor.elements => element,
                        _ => format!("position {position} of {}", tensor.elements),
                    };
                    refuse!(
                        "commit beside a tile",
                        "commit: a packet writes {}, but of those of time step {} some are not of the tile: there is {} of the \
                         tensor; help: pad the rows of the tensor to multiples of {} bytes, so that tiles have bytes of their \
                         own",
                        (count(self.plan.written, "byte"), time, what.as_str(), spec::COMMIT_ALIGN_BYTES),
                    );
                }
            }
        }
        Ok(())
    }
}

/// The reason why a stream of the sub context is not committed.
pub const fn no_sub_commit(engine: &str) -> Text {
    text!(
        "commit: a commit of the sub context cannot follow the engine of `.{}()`; \
         help: use the main context, or commit before it",
        engine,
    )
}

/// The sink of a stream that is committed. It has no type parameters, so that all kernels share it.
#[inline(never)]
pub fn commit_sink(destination: Region, plan: &CommitConfig, guard: &Guard) -> Sink {
    let mut config = plan.config;
    config.packet_size = plan.window;
    Sink::Commit { destination, config, commit_size: plan.commit_size, guard: *guard }
}

#[cfg(test)]
#[path = "commit_tests.rs"]
mod tests;
