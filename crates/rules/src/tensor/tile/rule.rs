//! The rule of tiles: the mapping of a tile, and its start.

use crate::command::Part;
use crate::error::{PlanError, attempt, refuse};
use crate::list::List;
use crate::mapping::{
    Atom, CutRule, Expr, Factor, Factors, Matched, Pieces, Pool, divide, factors_of, matched,
};
use crate::scalar::ElementType;
use crate::text::Text;

/// The most digits of an index.
const DIGITS: usize = 12;

/// A dimension of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// The dimension over chips.
    Chip,
    /// The dimension over the clusters of a chip.
    Cluster,
    /// The dimension over the slices of a cluster.
    Slice,
    /// The dimension inside a unit.
    Element,
    /// The only dimension of a tensor on the host.
    Host,
}

impl Dimension {
    /// The dimensions of a tensor of the chip, outermost first.
    pub const ALL: [Dimension; 4] = [Self::Chip, Self::Cluster, Self::Slice, Self::Element];

    /// The name of the dimension in types.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::Chip => "Chip",
            Dimension::Cluster => "Cluster",
            Dimension::Slice => "Slice",
            Dimension::Element => "Element",
            Dimension::Host => "Mapping",
        }
    }

    /// The call that takes a tile of the dimension.
    pub const fn call(self) -> &'static str {
        match self {
            Dimension::Chip => "chip_tile",
            Dimension::Cluster => "cluster_tile",
            Dimension::Slice => "slice_tile",
            Dimension::Element | Dimension::Host => "tile",
        }
    }
}

/// The input of [`derive_tile`].
#[derive(Clone, Copy, Debug)]
pub struct TileRequest {
    /// The call, for messages.
    pub operation: &'static str,
    /// The dimension that is tiled.
    pub dimension: Dimension,
    /// The index whose values count tiles.
    pub index: &'static Expr,
    /// Number of consecutive values of the index that the tile keeps.
    pub len: usize,
    /// The mapping of the dimension.
    pub from: &'static Expr,
    /// The mapping of the dimension in the tile, as it was written.
    pub to: &'static Expr,
    /// The other dimensions, for the help text if the index lies in one of them.
    pub others: [Option<(Dimension, &'static Expr)>; 3],
}

/// A digit of the index in the dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileDigit {
    /// Values of the index per value of the digit.
    pub index_stride: usize,
    /// Positions of the dimension per value of the digit.
    pub stride: usize,
    /// Number of values of the digit.
    pub size: usize,
}

/// The starts of the tiles of a dimension.
#[derive(Clone, Copy, Debug)]
pub struct TileConfig {
    /// The call, for messages.
    pub operation: &'static str,
    /// The index whose values count tiles.
    pub index: &'static Expr,
    /// Values of the index that a tile keeps.
    pub len: usize,
    /// The digits of the index, outermost first.
    pub digits: List<TileDigit, DIGITS>,
    /// Positions of the tile's dimension from the first one to the last one that can hold an element.
    pub span: usize,
}

/// Checks the mapping of a tile and derives its start.
pub const fn derive_tile(request: &TileRequest) -> Result<TileConfig, PlanError> {
    let TileRequest { operation, dimension, index, len, from, to, .. } = *request;
    let mut pool = Pool::new();
    let factors = attempt!(factors_of(operation, &mut pool, from));
    let wanted = attempt!(factors_of(operation, &mut pool, index));
    let given = attempt!(factors_of(operation, &mut pool, to));
    let Some(found) = attempt!(locate(operation, &pool, &factors, &wanted)) else {
        return Err(not_there(&mut pool, request, &wanted));
    };
    attempt!(no_lead(operation, index, &found));
    let config = TileConfig { operation, index, len, digits: digits(&found), span: span_of(&given) };
    let most = config.size();
    if len == 0 || len > most {
        refuse!(
            "tile length",
            "{}: a tile of {} of {} is asked for, which has {}; help: keep 1 to {}",
            (operation, count(len, "value"), index, count(most, "value"), most),
        );
    }
    if len > 1 && !config.is_even() {
        refuse!(
            "tile of several digits",
            "{}: {} values of {} are to be kept, but in {} {} they are not evenly apart: the index is made of {}, or has padding \
             inside; help: name one digit, the outermost one that changes, or keep one value at a time",
            (operation, len, index, dimension.name(), from, count(found.pairs.len(), "digit")),
        );
    }
    let expected = rest(&pool, &found, len);
    if !expected.is(&given) {
        refuse!(
            "tile mapping",
            "{}: {} of {} from {} {} leaves {}, but {} is given; help: write {}: a tile keeps the size of its tensor, and what \
             it leaves out is padding",
            operation,
            len,
            index,
            dimension.name(),
            from,
            factors(&pool, &expected),
            to,
            factors(&pool, &expected),
        );
    }
    Ok(config)
}

/// Finds an index in a dimension. `None` if the dimension does not hold it.
pub const fn locate(
    operation: &'static str,
    pool: &Pool,
    dimension: &Factors,
    index: &Factors,
) -> Result<Option<Matched>, PlanError> {
    let (sides, cuts) = ([Pieces::new(&[dimension]), Pieces::new(&[index])], [CutRule::Even, CutRule::Exact]);
    let found = matched(pool, sides[0], sides[1], cuts);
    if found.overflowed() || pool.factors.overflowed() {
        return Err(PlanError::mapping(operation, crate::mapping::Problem::TooManyFactors));
    }
    Ok(if found.missing().is_some() { None } else { Some(found) })
}

/// The refusal of an index that lies in another dimension, or nowhere.
const fn not_there(pool: &mut Pool, request: &TileRequest, wanted: &Factors) -> PlanError {
    let TileRequest { operation, dimension, index, from, others, .. } = *request;
    let mut help = text!("name an axis, or a part of one, that {} holds", dimension.name());
    each!(k < others.len(), {
        if let Some((other, mapping)) = others[k]
            && let Ok(factors) = factors_of(operation, pool, mapping)
            && divide(pool, &factors, wanted).is_exact()
        {
            help = text!("{} {} holds it: use `.{}()`", (other.name(), mapping, other.call()));
        }
    });
    PlanError::new(
        "tile index",
        text!("{}: {} is not a part of {} {}; help: {}", (operation, index, dimension.name(), from, &help)),
    )
}

/// Refuses an index that is a composite with a lead: the first tile would hold no element.
pub const fn no_lead(
    operation: &'static str,
    index: &'static Expr,
    found: &Matched,
) -> Result<(), PlanError> {
    each!(k < found.divisor.list.len(), {
        if let Some((term, _)) = found.divisor.digit(k)
            && let Atom::Composite(composite) = term.atom
            && composite.lead > 0
        {
            refuse!(
                "tile of dead positions",
                "{}: {} has {} before its first element, which tiles would count; help: move the tensor to a mapping without \
                 them first",
                (operation, index, count(composite.lead, "dead position")),
            );
        }
    });
    Ok(())
}

/// The rest of a dimension when `len` values of an index are kept. With a `len` of 1 the digits of the index are gone.
pub const fn rest(pool: &Pool, found: &Matched, len: usize) -> Factors {
    let mut factors = Factors::ONE;
    let pieces = &found.dividend.list;
    each!(k < pieces.len(), {
        let piece = pieces.at(k);
        match piece.factor {
            Factor::Padding { size } => factors.push_padding(size),
            Factor::Term { term, resize } if piece.matched => {
                factors.push_term(pool, term, len);
                factors.push_padding(piece.base * resize);
            }
            Factor::Term { term, resize } => factors.push_term(pool, term, resize),
        }
    });
    factors
}

/// The digits of the index, outermost in the index first.
pub const fn digits(found: &Matched) -> List<TileDigit, DIGITS> {
    let mut digits = List::new(TileDigit { index_stride: 1, stride: 1, size: 1 });
    each!(k < found.pairs.len(), {
        let (a, b) = found.pairs.at(k);
        let (there, piece) = (found.dividend.list.at(a), found.divisor.list.at(b));
        digits.push(TileDigit { index_stride: piece.base, stride: there.base, size: piece.factor.values() });
    });
    digits
}

/// Positions from the first one to the last one that can hold an element.
pub const fn span_of(factors: &Factors) -> usize {
    let (mut last, mut base, mut k) = (0, 1, 0);
    while k < factors.len() {
        if let Factor::Term { resize, .. } = factors.item(k) {
            last += (*resize - 1) * base;
        }
        base = factors.item(k).size_over(base);
        k += 1;
    }
    last + 1
}

impl TileConfig {
    /// True if the values of the index are evenly spaced: one digit, without padding between its values.
    const fn is_even(&self) -> bool {
        self.digits.len() == 1 && self.digits.at(0).index_stride == 1
    }

    /// Number of values of the index up to the last one that holds an element.
    pub const fn size(&self) -> usize {
        let (mut last, mut k) = (0, 0);
        while k < self.digits.len() {
            let digit = self.digits.at(k);
            last += (digit.size - 1) * digit.index_stride;
            k += 1;
        }
        last + 1
    }

    /// Number of positions of the dimension before the tile that starts at the value `start` of the index.
    ///
    /// # Errors
    /// If the tile ends behind the index, or starts in its padding.
    pub const fn offset(&self, start: usize) -> Result<usize, PlanError> {
        let size = self.size();
        if start >= size || self.len > size - start {
            refuse!(
                "tile start",
                "{}: a tile of {} of {} starts at {}, but ends behind its {}; help: the highest start is {}",
                (self.operation, self.len, self.index, start, count(size, "position"), size - self.len),
            );
        }
        let (mut rest, mut offset, mut k) = (start, 0, 0);
        while k < self.digits.len() {
            let TileDigit { index_stride, stride, size } = self.digits.at(k);
            let value = rest / index_stride;
            let value = if value < size { value } else { size - 1 };
            offset += value * stride;
            rest -= value * index_stride;
            k += 1;
        }
        if rest > 0 {
            refuse!(
                "tile of padding",
                "{}: position {} of {} holds no element; help: start at one that does, for example {}",
                (self.operation, start, self.index, start - rest),
            );
        }
        Ok(offset)
    }

    /// The part of a tensor that a tile of elements covers. `of` is the part that is tiled.
    ///
    /// # Errors
    /// As [`Self::offset`]; also if the tile starts inside a byte.
    pub const fn elements(&self, of: Part, element: ElementType, start: usize) -> Result<Part, PlanError> {
        let offset = attempt!(self.offset(start));
        let bits = offset * element.bits();
        if !bits.is_multiple_of(8) {
            refuse!(
                "tile inside of a byte",
                "{}: the tile of {} at {} starts at element {} of {}, in the middle of a byte; \
                 help: start tiles at an even number of elements",
                (self.operation, self.index, start, offset, element.name()),
            );
        }
        Ok(Part { offset: of.offset + (bits / 8) as u64, elements: Some(self.span), ..of })
    }

    /// The part of a tensor that a tile of units covers: of chips, clusters or slices. `span` is the number of elements
    /// up to the last one.
    ///
    /// # Errors
    /// As [`Self::offset`].
    pub const fn units(
        &self,
        of: Part,
        dimension: Dimension,
        span: usize,
        start: usize,
    ) -> Result<Part, PlanError> {
        let mut part = of;
        part.units[dimension as usize] += attempt!(self.offset(start));
        part.elements = Some(span);
        Ok(part)
    }

    /// Number of tiles that cover the index without a gap, or the reason why none do.
    pub const fn count(&self) -> Result<usize, PlanError> {
        let size = self.size();
        if size > 1 && !self.is_even() {
            refuse!(
                "tiles of several digits",
                "tiles: the values of {} are not evenly apart: it is made of {}, or has padding inside; \
                 help: take the tiles of one digit after the other",
                (self.index, count(self.digits.len(), "digit")),
            );
        }
        if size.is_multiple_of(self.len) {
            return Ok(size / self.len);
        }
        let divisors = divisors_of(size);
        refuse!(
            "tiles",
            "tiles: {} has {}, which tiles of {} do not divide; help: take tiles of {}, or the last one by itself with `.tile()`",
            (self.index, count(size, "position"), self.len, &divisors),
        )
    }
}

/// The divisors of a number, as `1, 2, 4 or 8`: only the least ones if there are many.
const fn divisors_of(size: usize) -> Text {
    const MOST: usize = 12;
    let (mut text, mut found, mut k) = (text!("1"), 1, 2);
    while k <= size && found < MOST && k <= 1 << 12 {
        if size.is_multiple_of(k) {
            let last = k == size;
            text = text!("{}{}{}", (&text, if last { " or " } else { ", " }, k));
            found += 1;
        }
        k += 1;
    }
    text
}
