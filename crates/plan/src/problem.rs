//! The problem: a contraction of two tensors, its sizes and its types.

use crate::epilogue::{Program, Step};
use crate::hbm::InHbm;
use crate::windows::{self, Window};
use furiosa_visa_clock::bound::{self, Bounds, Product, ProductAxis};
use furiosa_visa_clock::{Model, Profile};
use furiosa_visa_rules::mapping::parse::Axes;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;

/// A problem that cannot be planned, with the edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemError(pub String);

impl core::fmt::Display for ProblemError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProblemError {}

/// Types that an epilogue can give the result.
const OUTPUTS: [ElementType; 8] = [
    ElementType::F32,
    ElementType::Bf16,
    ElementType::F16,
    ElementType::F8e4m3,
    ElementType::F8e5m2,
    ElementType::I32,
    ElementType::I16,
    ElementType::I8,
];

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

/// A contraction of two tensors in HBM, with a result in HBM.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The einsum, as it was given.
    pub einsum: String,
    /// All axes, in the order in which the einsum names them.
    pub axes: Vec<Axis>,
    /// Axes of both operands and of the result, outermost first.
    pub tensors: [Vec<usize>; 3],
    /// Axes that an operand has in windows.
    pub windows: Vec<Window>,
    /// Layouts in HBM of both operands and of the result. `None`: as the letters say, outermost first.
    pub hbm: [Option<InHbm>; 3],
    /// Number of chips over which each axis is spread. An axis has the size of its part in a chip.
    pub chips: Vec<usize>,
    /// Element type of the operands.
    pub element: ElementType,
    /// Element type of the result.
    pub output: ElementType,
    /// Steps behind the sums, in their order.
    pub epilogue: Vec<Step>,
    /// True if no pass that adds parts of sums also does what follows them: then that is a pass of its own.
    pub has_own_pass: bool,
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
        Self::with_epilogue(einsum, sizes, element, output, "")
    }

    /// Reads a problem as [`Problem::new`] does, with a list of what follows the sums: `bias,silu`.
    ///
    /// # Errors
    /// As [`Problem::new`]; refuses what is no list of steps, and steps that one pass of the Vector Engine does not do in this
    /// order.
    pub fn with_epilogue(
        einsum: &str,
        sizes: &str,
        element: ElementType,
        output: Option<ElementType>,
        epilogue: &str,
    ) -> Result<Self, ProblemError> {
        Self::with_windows(einsum, "", sizes, element, output, epilogue)
    }

    /// Reads a problem as [`Problem::with_epilogue`] does, with a list of axes that an operand has in [windows]:
    /// `H+Y, W+X` for `nhwc,fyxc->nhwf`.
    ///
    /// # Errors
    /// As [`Problem::with_epilogue`]; refuses what is no list of windows, axes that are none of an operand and its filter, and an
    /// operand with something else than a summed axis inside.
    pub fn with_windows(
        einsum: &str,
        windows: &str,
        sizes: &str,
        element: ElementType,
        output: Option<ElementType>,
        epilogue: &str,
    ) -> Result<Self, ProblemError> {
        let given = windows::given(windows)?;
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
                (true, false, false) | (false, true, false)
                    if given.iter().any(|own| name.starts_with(own.tap)) =>
                {
                    Role::Summed
                }
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
        let mut tensors = [list(first)?, list(second)?, list(result)?];
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
        windows::taps_first(&given, &mut axes, &mut tensors);
        let windows = windows::windows(&text, &given, &axes, &tensors)?;
        let Some(sum) = element.contraction_output().filter(|_| element.is_stored()) else {
            return refuse(format!(
                "dtype: the engines do not multiply {element} from memory; take i4, i8, f8e4m3, f8e5m2 or bf16"
            ));
        };
        let epilogue = Step::list(epilogue, &axes, &tensors[2])?;
        let is_float = sum == ElementType::F32 || !epilogue.iter().all(Step::takes_integers);
        let output = output.unwrap_or(if is_float { ElementType::F32 } else { sum });
        let outputs: &[ElementType] = match (epilogue.is_empty(), sum) {
            (true, ElementType::F32) => ElementType::F32.cast_outputs(),
            (true, _) => &[ElementType::I32],
            (false, _) => &OUTPUTS,
        };
        if !outputs.contains(&output) {
            let names: Vec<&str> = outputs.iter().map(|output| output.name()).collect();
            let names = match names.split_last() {
                Some((last, [])) => (*last).to_string(),
                Some((last, others)) => format!("{} or {last}", others.join(", ")),
                None => String::new(),
            };
            return refuse(format!(
                "out: sums of {element} are {sum}, which are not stored as {output}; take {}{}",
                names,
                if epilogue.is_empty() { ", or an epilogue, which converts them" } else { "" }
            ));
        }
        let chips = vec![1; axes.len()];
        let most = spec::HBM_BYTES * spec::MAX_CHIPS as u64;
        let mut problem = Self {
            einsum: text,
            axes,
            tensors,
            windows,
            hbm: [None, None, None],
            chips,
            element,
            output,
            epilogue,
            has_own_pass: false,
        };
        for tensor in 0..3 {
            let bits = problem.element_of(tensor).bits() as u128;
            let sizes = problem.tensors[tensor].iter().map(|&axis| problem.positions(tensor, axis).1 as u128);
            let bytes = sizes.fold(bits, u128::saturating_mul) / 8;
            if bytes > most.into() {
                return refuse(format!(
                    "axes: `{}` has {bytes} bytes, but the HBM of {} chips has {most}; take smaller axes",
                    problem.einsum_of(tensor),
                    spec::MAX_CHIPS
                ));
            }
        }
        problem.has_own_pass = Program::new(&problem, true).is_err();
        match Program::new(&problem, false) {
            Ok(_) => Ok(problem),
            Err(error) => refuse(format!(
                "epilogue: `{}` to {output} is no pass of the Vector Engine: {}",
                problem.epilogue_text(),
                error.message()
            )),
        }
    }

    /// The axis of the bias, if there is one.
    pub fn bias_axis(&self) -> Option<usize> {
        self.epilogue.iter().find_map(|step| match step {
            Step::Bias(axis) => Some(*axis),
            _ => None,
        })
    }

    /// Element type of the bias, if there is one: that of the sums, or of what floats become before it.
    pub fn bias_element(&self) -> Option<ElementType> {
        let place = self.epilogue.iter().position(|step| matches!(step, Step::Bias(_)))?;
        let is_integer = self.epilogue[..place].iter().all(Step::takes_integers);
        Some(if is_integer { self.sum() } else { ElementType::F32 })
    }

    /// Bytes of the bias in HBM. 0: there is none.
    pub fn bias_bytes(&self) -> u64 {
        let (axis, element) = (self.bias_axis(), self.bias_element());
        axis.zip(element).map_or(0, |(axis, element)| (self.axes[axis].size * element.bits() / 8) as u64)
    }

    /// The type from which the result is cast.
    pub fn before_cast(&self) -> ElementType {
        if self.output.is_float() { ElementType::F32 } else { ElementType::I32 }
    }

    /// Tells if hosts and chips may round the result in other ways.
    pub fn is_rounded(&self) -> bool {
        self.epilogue.iter().any(Step::is_rounded)
    }

    /// The steps behind the sums as they are given: `bias:N,silu`.
    pub fn epilogue_text(&self) -> String {
        let steps: Vec<String> = self.epilogue.iter().map(|step| step.text(&self.axes)).collect();
        steps.join(",")
    }

    /// The type of the sums.
    pub fn sum(&self) -> ElementType {
        self.element.contraction_output().unwrap_or(self.output)
    }

    /// Number of elements of an operand (0, 1) or of the result (2).
    pub fn elements(&self, tensor: usize) -> usize {
        self.tensors[tensor].iter().map(|&axis| self.positions(tensor, axis).1).product()
    }

    /// Element type of an operand (0, 1) or of the result (2).
    pub fn element_of(&self, tensor: usize) -> ElementType {
        if tensor == 2 { self.output } else { self.element }
    }

    /// The innermost axis of a tensor in HBM that has several positions.
    pub fn innermost(&self, tensor: usize) -> Option<usize> {
        match &self.hbm[tensor] {
            None => self.tensors[tensor].iter().copied().rfind(|&axis| self.axes[axis].size > 1),
            Some(_) => self.run(tensor).filter(|(_, positions)| *positions > 1).map(|(axis, _)| axis),
        }
    }

    /// The axis of an operand alone that is innermost in HBM, and may be in the columns of products. `None`: that is another
    /// axis.
    pub fn axis_of_columns(&self, operand: usize) -> Option<usize> {
        let innermost = match self.windowed() == Some(operand) {
            true => {
                let is_several = |axis: &usize| {
                    self.axes[*axis].size > 1 || self.windows.iter().any(|window| window.output == *axis)
                };
                self.tensors[operand].iter().copied().rfind(is_several)
            }
            false => self.innermost(operand),
        };
        innermost.filter(|&axis| self.axes[axis].role == Role::Of(operand))
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
        match self.windows.is_empty() {
            true => bound::problem(&self.product(), Model::new(profile)),
            false => self.bounds_in_windows(&self.product(), profile),
        }
    }

    /// The axes with their sizes, of all chips: `M = 256, N = 64, K = 128`.
    pub fn axes_text(&self) -> String {
        let axes = self.axes.iter().zip(&self.chips);
        let axes: Vec<String> =
            axes.map(|(axis, chips)| format!("{} = {}", axis.name, axis.size * chips)).collect();
        axes.join(", ")
    }
}
