//! The problem: a contraction of two tensors, its sizes and its types.

use furiosa_visa_clock::bound::{self, Bounds, Product, ProductAxis};
use furiosa_visa_clock::{Model, Profile};
use furiosa_visa_rules::mapping::parse::Axes;
use furiosa_visa_rules::scalar::ElementType;

/// A problem that cannot be planned, with the edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemError(pub String);

impl core::fmt::Display for ProblemError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProblemError {}

/// Part of an axis in a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// In both operands and in the result.
    Batch,
    /// In the operand with this number, and in the result.
    Of(usize),
    /// In both operands: the sum goes over it.
    Summed,
}

/// An axis of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Name in mappings, one capital letter.
    pub name: String,
    /// Number of positions.
    pub size: usize,
    /// Part in the contraction.
    pub role: Role,
}

/// A contraction of two tensors in HBM, with a result in HBM. Each tensor lies there as its letters say, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The einsum, as it was given.
    pub einsum: String,
    /// All axes, in the order in which the einsum names them.
    pub axes: Vec<Axis>,
    /// Axes of both operands and of the result, outermost first.
    pub tensors: [Vec<usize>; 3],
    /// Element type of the operands.
    pub element: ElementType,
    /// Element type of the result.
    pub output: ElementType,
}

impl Problem {
    /// Reads a problem: `mk,nk->mn` with the sizes `M=256, N=64, K=128`, operands of one type, and the type of the
    /// result. `None`: the type of the sums.
    ///
    /// # Errors
    /// Refuses text that is no contraction of two operands, letters without a size, sizes without a letter, and types
    /// that the engines do not multiply or store.
    pub fn new(
        einsum: &str,
        sizes: &str,
        element: ElementType,
        output: Option<ElementType>,
    ) -> Result<Self, ProblemError> {
        let refuse = |text: String| Err(ProblemError(text));
        let letters: Vec<char> = einsum.chars().filter(|c| !c.is_whitespace()).collect();
        let text: String = letters.iter().collect();
        let parts = text.split_once("->").and_then(|(left, right)| Some((left.split_once(',')?, right)));
        let Some(((first, second), result)) = parts else {
            return refuse(format!(
                "einsum: `{einsum}` is not two operands and a result; write for example `mk,nk->mn`"
            ));
        };
        for part in [first, second, result] {
            for (place, letter) in part.char_indices() {
                if !letter.is_ascii_lowercase() {
                    return refuse(format!(
                        "einsum: `{letter}` in `{einsum}` is no axis; an axis is a small letter, as in `mk,nk->mn`"
                    ));
                }
                if part[..place].contains(letter) {
                    return refuse(format!(
                        "einsum: `{part}` has the axis `{letter}` twice; a diagonal is no contraction, so give each \
                         axis a letter of its own"
                    ));
                }
            }
        }
        let table = Axes::parse(sizes).map_err(|error| ProblemError(format!("axes: {error}")))?;
        let mut axes: Vec<Axis> = Vec::new();
        let mut number = |letter: char| -> Result<usize, ProblemError> {
            let name = letter.to_ascii_uppercase().to_string();
            if let Some(known) = axes.iter().position(|axis| axis.name == name) {
                return Ok(known);
            }
            let Some(axis) = table.as_slice().iter().find(|axis| axis.name.as_str() == name) else {
                return Err(ProblemError(format!(
                    "axes: the axis `{letter}` of `{einsum}` has no size; add `{name}=…`"
                )));
            };
            let role = match (first.contains(letter), second.contains(letter), result.contains(letter)) {
                (true, true, true) => Role::Batch,
                (true, true, false) => Role::Summed,
                (true, false, true) => Role::Of(0),
                (false, true, true) => Role::Of(1),
                (false, false, _) => {
                    return Err(ProblemError(format!(
                        "einsum: the result has the axis `{letter}`, which no operand has; leave it out"
                    )));
                }
                _ => {
                    return Err(ProblemError(format!(
                        "einsum: only one operand has the axis `{letter}`, and the result lacks it; sum over it \
                         before the contraction, or keep it in the result"
                    )));
                }
            };
            axes.push(Axis { name, size: axis.size, role });
            Ok(axes.len() - 1)
        };
        let mut list = |part: &str| part.chars().map(&mut number).collect::<Result<Vec<usize>, _>>();
        let tensors = [list(first)?, list(second)?, list(result)?];
        if let Some(unused) =
            table.as_slice().iter().find(|axis| !axes.iter().any(|known| known.name == axis.name.as_str()))
        {
            return refuse(format!("axes: `{einsum}` has no axis `{}`; leave its size out", unused.name));
        }
        if !axes.iter().any(|axis| axis.role == Role::Summed) {
            return refuse(format!(
                "einsum: `{einsum}` sums over nothing; a contraction has an axis that both operands have and the result \
                 lacks"
            ));
        }
        let Some(sum) = element.contraction_output().filter(|_| element.is_stored()) else {
            return refuse(format!(
                "dtype: the engines do not multiply {element} from memory; take i4, i8, f8e4m3, f8e5m2 or bf16"
            ));
        };
        let output = output.unwrap_or(sum);
        let rounded = (sum, output) == (ElementType::F32, ElementType::Bf16);
        if output != sum && !rounded {
            return refuse(format!(
                "out: sums of {element} are {sum}, which are not stored as {output}; take {sum}{}",
                if sum == ElementType::F32 { " or bf16" } else { "" }
            ));
        }
        Ok(Self { einsum: text, axes, tensors, element, output })
    }

    /// The type of the sums.
    pub fn sum(&self) -> ElementType {
        self.element.contraction_output().unwrap_or(self.output)
    }

    /// Number of elements of an operand (0, 1) or of the result (2).
    pub fn elements(&self, tensor: usize) -> usize {
        self.tensors[tensor].iter().map(|&axis| self.axes[axis].size).product()
    }

    /// Element type of an operand (0, 1) or of the result (2).
    pub fn element_of(&self, tensor: usize) -> ElementType {
        if tensor == 2 { self.output } else { self.element }
    }

    /// The innermost axis of a tensor in HBM that has several positions.
    pub fn innermost(&self, tensor: usize) -> Option<usize> {
        self.tensors[tensor].iter().copied().rfind(|&axis| self.axes[axis].size > 1)
    }

    /// Bytes of an operand (0, 1) or of the result (2).
    pub fn bytes(&self, tensor: usize) -> u64 {
        (self.elements(tensor) * self.element_of(tensor).bits()).div_ceil(8) as u64
    }

    /// Tells if no sum leaves the range of its type, so that it may be added with saturation.
    pub fn sums_fit(&self) -> bool {
        let summed = self.axes.iter().filter(|axis| axis.role == Role::Summed);
        let terms = summed.fold(1u64, |terms, axis| terms.saturating_mul(axis.size as u64));
        let greatest = 1u64 << (2 * (self.element.bits() - 1));
        self.sum() != ElementType::I32 || terms.saturating_mul(greatest) <= i32::MAX as u64
    }

    /// The product as bounds know it.
    fn product(&self) -> Product {
        let axis = |axis: &Axis| {
            let size = axis.size as u64;
            match axis.role {
                Role::Batch => ProductAxis::batch(size),
                Role::Of(0) => ProductAxis::of_first(size),
                Role::Of(_) => ProductAxis::of_second(size),
                Role::Summed => ProductAxis::summed(size),
            }
        };
        let axes = self.axes.iter().map(axis).collect();
        Product { axes, first: self.element, second: self.element, result: self.output, chips: 1 }
    }

    /// Cycles that no kernel for the problem goes below, by limit.
    pub fn bounds(&self, profile: Profile) -> Bounds {
        bound::problem(&self.product(), Model::new(profile))
    }

    /// The axes as `axes!` has them: `M = 256, N = 64, K = 128`.
    pub fn axes_text(&self) -> String {
        let axes: Vec<String> =
            self.axes.iter().map(|axis| format!("{} = {}", axis.name, axis.size)).collect();
        axes.join(", ")
    }
}
