//! Windows: a digit of the buffer that is read at overlapping positions.
//!
//! ```text
//! input = output * stride + window * dilation            H = 8, OH = 3, KH = 3, stride 2, dilation 1
//!
//!   m![H]        0  1  2  3  4  5  6  7
//!   OH = 0       0  1  2                       KH counts positions inside a window,
//!   OH = 1             0  1  2                 OH counts windows;
//!   OH = 2                   0  1  2           H = 2 is read twice, H = 7 never
//! ```
//!
//! In the buffer the digit `H` is replaced by two digits, which step over it by `stride` and `dilation`. The rest is as
//! without windows: a stream names `OH` and `KH` as it names any axis, and each is a loop.

use super::refusals::healthy;
use crate::error::{PlanError, attempt, refuse};
use crate::list::List;
use crate::mapping::{Atom, Expr, Factor, Factors, Piece, Pieces, Pool, Term, factorize, overlap};
use crate::spec;
use crate::text::Text;

/// The most windows of one view: each takes two entries of the sequencer.
pub const WINDOWS: usize = spec::SEQUENCER_ENTRIES / 2;

/// The name of the call.
const OPERATION: &str = "windows";

/// A digit that is read at overlapping positions: `input = output * stride + window * dilation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The digit of the buffer.
    pub input: &'static Expr,
    /// The digit that counts windows.
    pub output: &'static Expr,
    /// The digit that counts positions inside a window.
    pub window: &'static Expr,
    /// Positions of `input` per step of `output`.
    pub stride: usize,
    /// Positions of `input` per step of `window`.
    pub dilation: usize,
}

impl Window {
    /// Filler of lists, never used as a window.
    pub const BLANK: Self = Self {
        input: &Expr::Identity,
        output: &Expr::Identity,
        window: &Expr::Identity,
        stride: 1,
        dilation: 1,
    };
}

impl core::fmt::Display for Window {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "m![{}] = m![{}]", self.input, self.output)?;
        if self.stride != 1 {
            write!(f, " * {}", self.stride)?;
        }
        write!(f, " + m![{}]", self.window)?;
        if self.dilation != 1 { write!(f, " * {}", self.dilation) } else { Ok(()) }
    }
}

/// A digit and the number of its values. `None` for a mapping of one position, which is no digit.
type Digit = Option<(Term, usize)>;

/// A window in normal form.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    input: Digit,
    /// The output and the window, with the positions of `input` per step.
    parts: [(Digit, usize); 2],
}

/// The windows of a request in normal form.
pub(super) type Windows = List<Digits, WINDOWS>;

pub(super) const NO_WINDOWS: Windows = List::new(Digits { input: None, parts: [(None, 1); 2] });

/// The normal form of windows. Refuses windows that the buffer does not have, or that reach beyond the digit.
pub(super) const fn windows_of(
    pool: &mut Pool,
    element: &Factors,
    windows: &[Window],
) -> Result<Windows, PlanError> {
    let mut list = NO_WINDOWS;
    if windows.len() > WINDOWS {
        refuse!(
            "windows",
            "{}: a view has at most {} windows, because each takes two of the {} entries of a sequencer; \
             help: commit the stream of some of them, and begin another one with the result",
            (OPERATION, WINDOWS, spec::SEQUENCER_ENTRIES),
        );
    }
    each!(k < windows.len(), {
        let digits = attempt!(digits(pool, &windows[k]));
        attempt!(is_whole_digit(pool, element, &windows[k], &digits));
        attempt!(fits(&windows[k]));
        if let Some((term, _)) = digits.input
            && let Some(other) = reads(pool, &list, &term)
        {
            refuse!(
                "window axis",
                "{}: the input axis {} is read in windows already, of {} and {}; help: call `.windows::<…>()` once for each axis",
                (OPERATION, windows[k].input, windows[other].output, windows[other].window),
            );
        }
        if let Some((term, _)) = twice(pool, element, &list, &digits) {
            return Err(named_twice(pool, &windows[k], &term));
        }
        list.push(digits);
    });
    Ok(list)
}

/// Refuses windows that a tensor does not have: as [`derive`](super::derive()) does for the mapping inside a unit, and
/// also windows whose digits are in the mappings of `units`.
///
/// `units` are the other mappings with their names, for example `Slice`.
///
/// # Errors
/// Returns the rule that the last window breaks.
pub const fn check_windows(
    element: &Expr,
    units: &[(&'static str, &'static Expr)],
    windows: &[Window],
) -> Result<(), PlanError> {
    let Some(last) = windows.last() else { return Ok(()) };
    let mut pool = Pool::new();
    let factors = factorize(&mut pool, element);
    attempt!(healthy(OPERATION, &factors));
    let last_digits = attempt!(digits(&mut pool, last));
    each!(k < units.len(), {
        let (name, expr) = units[k];
        let unit = factorize(&mut pool, expr);
        attempt!(healthy(OPERATION, &unit));
        if let Some((term, _)) = last_digits.input
            && holds(&pool, &unit, &term)
        {
            refuse!(
                "window axis",
                "{}: the input axis {} is spread over `{}` {}, but a slice reads its own memory alone; \
                 help: copy the tensor so that each slice has its part and the neighbours' values that its windows reach, \
                 as one axis: a tile of the tensor per slice; then name that axis",
                (OPERATION, last.input, name, expr),
            );
        }
        if let Some((term, _)) = twice(&pool, &unit, &NO_WINDOWS, &last_digits) {
            return Err(named_twice(&pool, last, &term));
        }
    });
    match windows_of(&mut pool, &factors, windows) {
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The digits of one window.
const fn digits(pool: &mut Pool, window: &Window) -> Result<Digits, PlanError> {
    let input = attempt!(digit(pool, window.input, "input"));
    let output = attempt!(digit(pool, window.output, "output"));
    let inside = attempt!(digit(pool, window.window, "window"));
    attempt!(is_step(window.stride, "STRIDE", window.output));
    attempt!(is_step(window.dilation, "DILATION", window.window));
    Ok(Digits { input, parts: [(output, window.stride), (inside, window.dilation)] })
}

/// The only digit of a mapping without padding.
const fn digit(pool: &mut Pool, expr: &'static Expr, name: &'static str) -> Result<Digit, PlanError> {
    if let Err(problem) = expr.checked_size() {
        return Err(PlanError::new("mapping", problem));
    }
    let factors = factorize(pool, expr);
    attempt!(healthy(OPERATION, &factors));
    each!(k < factors.len(), {
        let padded = match factors.item(k) {
            Factor::Padding { .. } => true,
            Factor::Term { term: Term { atom: Atom::Composite(composite), .. }, .. } => composite.lead > 0,
            Factor::Term { .. } => false,
        };
        if padded {
            refuse!(
                "window axis",
                "{}: the {} axis {} has padding, but windows reach elements alone; \
                 help: name the axis without it; for zeros around a tensor, copy it into an axis that is longer by the \
                 border, whose border was written",
                (OPERATION, name, expr),
            );
        }
    });
    match factors.as_slice() {
        [] => Ok(None),
        [Factor::Term { term: Term { atom: Atom::Symbol(_), .. }, .. }] => match *factors.item(0) {
            Factor::Term { term, resize } => Ok(Some((term, resize))),
            Factor::Padding { .. } => Ok(None),
        },
        _ => refuse!(
            "window axis",
            "{}: the {} axis {} is not one digit of an axis; \
             help: call `.windows::<…>()` once for each axis",
            (OPERATION, name, expr),
        ),
    }
}

const fn is_step(step: usize, name: &'static str, axis: &'static Expr) -> Result<(), PlanError> {
    if step > 0 {
        return Ok(());
    }
    refuse!(
        "window step",
        "{}: {} is 0, so that all positions of {} would read the same; \
         help: give 1 or more, or leave the axis out: what the tensor does not have is a broadcast",
        (OPERATION, name, axis),
    )
}

/// Requires that a digit is one whole digit of the buffer, and that all its positions are elements.
const fn is_whole_digit(
    pool: &Pool,
    element: &Factors,
    window: &Window,
    digits: &Digits,
) -> Result<(), PlanError> {
    let Some((term, size)) = digits.input else { return Ok(()) };
    let mut input = Factors::ONE;
    input.append(Factor::Term { term, resize: size });
    let mut buffer = Pieces::new(&[element]).movable();
    if buffer.whole_digit(pool, &Pieces::new(&[&input]), &term, size).is_none() {
        refuse!(
            "window axis",
            "{}: the input axis {} must be one whole digit of the tensor in a slice, in one place, but it holds {}; \
             help: name a digit as it stands there, or move the tensor first, to where the axis is in one place",
            (OPERATION, window.input, factors(pool, element)),
        );
    }
    let axis = pool.atom_size(&term.atom);
    if !axis.is_multiple_of(term.stride * term.modulo) {
        refuse!(
            "window axis",
            "{}: not all positions of the input axis {} are elements: the {} of its axis end inside of it; \
             help: name the whole axis, or cut it where all parts are whole",
            (OPERATION, window.input, count(axis, "coordinate")),
        );
    }
    Ok(())
}

/// The last position that windows read, if it fits a `usize`.
const fn reach(window: &Window, output: usize, inside: usize) -> Option<usize> {
    match ((output - 1).checked_mul(window.stride), (inside - 1).checked_mul(window.dilation)) {
        (Some(first), Some(last)) => first.checked_add(last),
        _ => None,
    }
}

/// Refuses windows that end after the digit.
const fn fits(window: &Window) -> Result<(), PlanError> {
    let [input, output, inside] = [window.input.size(), window.output.size(), window.window.size()];
    let reach = reach(window, output, inside);
    if let Some(last) = reach
        && last < input
    {
        return Ok(());
    }
    let sum = match reach {
        Some(last) => text!("= {}", last + 1),
        None => text!("= more than {}", usize::MAX),
    };
    refuse!(
        "window size",
        "{}: ({} - 1) * {} + ({} - 1) * {} + 1 {} positions do not fit into the {} of the input axis {}; help: {}",
        OPERATION,
        output,
        window.stride,
        inside,
        window.dilation,
        &sum,
        input,
        window.input,
        &sizes_that_fit(window, [input, output, inside]),
    )
}

/// The greatest output axis for the windows, and the longest windows for the outputs.
const fn sizes_that_fit(window: &Window, [input, output, inside]: [usize; 3]) -> Text {
    const fn most(room: usize, other: usize, other_step: usize, step: usize) -> Option<usize> {
        match (other - 1).checked_mul(other_step) {
            Some(taken) if taken < room => Some((room - 1 - taken) / step + 1),
            _ => None,
        }
    }
    let outputs = most(input, inside, window.dilation, window.stride);
    let insides = most(input, output, window.stride, window.dilation);
    match (outputs, insides) {
        (Some(outputs), Some(insides)) => {
            text!("an output axis of {} fits, or a window axis of {}", (outputs, insides))
        }
        (Some(outputs), None) => text!("an output axis of {} fits", outputs),
        (None, Some(insides)) => text!("a window axis of {} fits", insides),
        (None, None) => text!("shorten both axes, or take smaller steps"),
    }
}

/// True if a mapping has a part of a digit.
const fn holds(pool: &Pool, factors: &Factors, term: &Term) -> bool {
    each!(k < factors.len(), {
        if let Factor::Term { term: held, .. } = factors.item(k)
            && overlap(pool, held, term)
        {
            return true;
        }
    });
    false
}

/// A digit of the output or the window that is also in a mapping, or in other windows.
const fn twice(pool: &Pool, factors: &Factors, others: &Windows, digits: &Digits) -> Digit {
    each!(part < 2, {
        if let (Some((term, size)), _) = digits.parts[part] {
            let mut found = holds(pool, factors, &term);
            if part == 1
                && let (Some((output, _)), _) = digits.parts[0]
            {
                found = overlap(pool, &output, &term) || found;
            }
            each!(k < 2 * others.len(), {
                if let (Some((other, _)), _) = others.get(k / 2).parts[k % 2] {
                    found = overlap(pool, &other, &term) || found;
                }
            });
            if found {
                return Some((term, size));
            }
        }
    });
    None
}

const fn named_twice(pool: &Pool, window: &Window, digit: &Term) -> PlanError {
    let text = text!(
        "{}: {} of the output axis {} and the window axis {} is in the view already; \
         help: declare an axis of its own for each",
        (OPERATION, term(pool, digit, digit.modulo), window.output, window.window),
    );
    PlanError::new("window axis", text)
}

/// First origin number of the digits of windows, two per window: all other pieces have lower numbers.
const ORIGINS: usize = usize::MAX / 2;

/// Puts the digits of windows in the places of their input digits.
pub(super) const fn place(pool: &Pool, windows: &Windows, buffer: &mut Pieces, stream: &Pieces) {
    each!(k < windows.len, {
        let Digits { input, parts } = windows.get(k);
        if let Some((term, size)) = input
            && let Some(at) = buffer.whole_digit(pool, stream, term, *size)
        {
            let piece = buffer.list.remove(at);
            // Order by possible runs: an output of step 1 continues the positions inside it, so it comes first.
            let outer = if parts[0].1 == 1 { 1 } else { 0 };
            each!(j < 2, {
                let part = if j == 0 { outer } else { 1 - outer };
                if let (Some((term, values)), step) = parts[part] {
                    let factor = Factor::Term { term, resize: values };
                    let (base, origin) = (piece.base * step, ORIGINS + 2 * k + part);
                    buffer.list.insert(at, Piece { factor, base, origin, total: values, ..piece });
                }
            });
        }
    });
}

/// Origin of a piece in a window: the window, the factor of its input, and the positions inside the input's digit.
pub(super) fn window_of(windows: &Windows, piece: &Piece) -> Option<(usize, Factor, usize)> {
    let number = piece.origin.checked_sub(ORIGINS).filter(|number| *number < 2 * windows.len())?;
    let Digits { input, parts } = windows.get(number / 2);
    let (term, resize) = (*input)?;
    Some((number / 2, Factor::Term { term, resize }, piece.base / piece.weight / parts[number % 2].1))
}

/// Finds a digit of a stream that windows have replaced.
pub(super) const fn is_replaced(
    pool: &Pool,
    windows: &Windows,
    stream: &[&Factors],
) -> Option<(usize, Term, usize)> {
    each!(k < windows.len, {
        if let Some((term, size)) = windows.get(k).input {
            each!(level < stream.len(), {
                if holds(pool, stream[level], &term) {
                    return Some((k, term, size));
                }
            });
        }
    });
    None
}

/// The window whose input shares values with a digit.
const fn reads(pool: &Pool, windows: &Windows, digit: &Term) -> Option<usize> {
    each!(k < windows.len, {
        if let Some((term, _)) = &windows.get(k).input
            && overlap(pool, term, digit)
        {
            return Some(k);
        }
    });
    None
}

/// True if a window reads a part of this axis.
pub(super) const fn read_axis(windows: &Windows, atom: &Atom) -> bool {
    each!(k < windows.len, {
        if let Some((term, _)) = &windows.get(k).input
            && term.atom.is(atom)
        {
            return true;
        }
    });
    false
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
