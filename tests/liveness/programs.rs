//! Random programs of loads, passes, shadowed variables, loops and tensors that are filled by tiles.
//!
//! Values are those of a model, a tensor never lies over a live one (the checks of stale reads say so), and no program is
//! refused whose live bytes leave a fifth of the memory free.
//!
//! `VISA_CASES=N` runs N programs, `VISA_SEED=S` starts at seed S. A failure prints the seed that repeats it.

use crate::{Cluster, Slice, block_on, code, init};
use furiosa_visa_std::chip::{Compute, FaultKind};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::Placement;
use furiosa_visa_std::spec::{DM_BYTES, VRF_BYTES};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

axes![E0 = 512, E1 = 2048, E2 = 6144, E3 = 10240, E4 = 16384, E5 = 26624];

/// Variables of a program.
const SLOTS: usize = 14;
/// Bytes of a tensor of each class in DM.
const BYTES: [usize; 6] = [2048, 8192, 24_576, 40_960, 65_536, 106_496];
/// Bytes of an operand in the VRF.
const OPERAND: usize = 2048;

/// A step of a program. Steps that need an empty variable do nothing.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Loads the input of a class.
    Load { class: usize, to: usize },
    /// A pass: the variable plus a number.
    Plus { from: usize, to: usize, k: i32 },
    /// A new tensor that is filled by two tiles.
    Fill { from: usize, to: usize },
    /// Loads a tensor of the smallest class into the VRF.
    Operand { from: usize, to: usize },
    /// A pass: a tensor of the smallest class plus an operand.
    PlusOperand { from: usize, operand: usize, to: usize },
    /// Stores the variable.
    Store { from: usize },
    /// Has the commands so far executed.
    Settle,
}

/// Steps, with the handles that end.
#[derive(Debug)]
struct Program {
    steps: Vec<Step>,
    /// True if handles that were replaced live up to the end of the kernel.
    keeps: bool,
    /// True if each handle ends after its last use.
    drops: bool,
    /// The variables, and the operands, that are used for the last time by a step.
    ends: Vec<(Vec<usize>, Vec<usize>)>,
}

impl DeviceSend for Program {}

/// Declares tensors of all classes.
macro_rules! classes {
    ($($class:ident: $axis:ident = $index:literal, halves of $half:tt;)*) => {
        enum Var { $($class(DmTensor<i32, m![1], Cluster, Slice, m![$axis]>),)* }

        enum Stored { $($class(HbmTensor<i32, m![1], m![$axis]>),)* }

        #[allow(non_snake_case)] // The names of the classes.
        struct Inputs { $($class: HbmTensor<i32, m![1], m![$axis]>,)* }

        impl DeviceSend for Stored {}
        impl DeviceSend for Inputs {}

        impl Inputs {
            /// Tensors of all classes, with elements where `has` says so.
            async fn new(ctx: &mut Context, has: impl Fn(usize) -> bool) -> Self {
                Self { $($class: if has($index) {
                    let host = HostTensor::<i32, m![$axis]>::from_buf(init(&input($index)));
                    host.to_hbm(&mut ctx.pdma, AUTO).await
                } else {
                    HbmTensor::new(ctx)
                },)* }
            }

            fn load(&self, ctx: &mut Context, class: usize) -> Var {
                match class {
                    $($index => Var::$class(self.$class.to_dm(&mut ctx.tdma, AUTO)),)*
                    _ => unreachable!("there are six classes"),
                }
            }
        }

        impl Var {
            fn plus(&self, ctx: &mut Context, k: i32) -> Var {
                match self {
                    $(Var::$class(x) => Var::$class(
                        (ctx.main.begin(x.view()).fetch::<i32, m![$axis / 8], m![$axis % 8]>())
                            .collect::<m![$axis / 8], m![$axis % 8]>()
                            .vector_init()
                            .vector_intra_slice_branch(BranchMode::Unconditional)
                            .vector_fxp(FxpBinaryOp::AddFxp, k)
                            .vector_final()
                            .commit(AUTO),
                    ),)*
                }
            }

            fn fill(&self, ctx: &mut Context) -> Var {
                match self {
                    $(Var::$class(x) => {
                        type Half = m![1 # 2, $axis % $half];
                        let mut all = DmTensor::new(ctx);
                        for half in [1, 0] {
                            let from = x.view().tile::<m![$axis / $half], 1, Half>(half);
                            let to = all.view_mut().tile::<m![$axis / $half], 1, Half>(half);
                            from.to_dm_view(&mut ctx.tdma, to);
                        }
                        Var::$class(all)
                    })*
                }
            }

            fn store(&self, ctx: &mut Context) -> Stored {
                match self {
                    $(Var::$class(x) => Stored::$class(x.to_hbm(&mut ctx.tdma, AUTO)),)*
                }
            }
        }

        impl Stored {
            async fn values(&self, ctx: &mut Context) -> (usize, Vec<i32>) {
                match self {
                    $(Stored::$class(x) => ($index, x.to_host::<m![$axis]>(&mut ctx.pdma).await.to_vec()),)*
                }
            }
        }
    };
}

classes! {
    A: E0 = 0, halves of 256;
    B: E1 = 1, halves of 1024;
    C: E2 = 2, halves of 3072;
    D: E3 = 3, halves of 5120;
    E: E4 = 4, halves of 8192;
    F: E5 = 5, halves of 13312;
}

fn input(class: usize) -> Vec<i32> {
    (0..BYTES[class] / 4).map(|k| code(class as u32, k) as i32).collect()
}

type Operand = VrfTensor<i32, m![1], Cluster, Slice, m![E0]>;

/// Runs the steps.
#[device(chip = 1)]
fn interpreted(ctx: &mut Context, program: &Program, inputs: &Inputs) -> Vec<Stored> {
    let mut vars: [Option<Var>; SLOTS] = Default::default();
    let mut operands: [Option<Operand>; SLOTS] = Default::default();
    let (mut shadowed, mut shadowed_operands, mut stored) = (Vec::new(), Vec::new(), Vec::new());
    for (step, (ended, ended_operands)) in program.steps.iter().zip(&program.ends) {
        let new = match *step {
            Step::Load { class, to } => Some((inputs.load(ctx, class), to)),
            Step::Plus { from, to, k } => vars[from].as_ref().map(|x| (x.plus(ctx, k), to)),
            Step::Fill { from, to } => vars[from].as_ref().map(|x| (x.fill(ctx), to)),
            Step::Operand { from, to } => {
                if let Some(Var::A(x)) = &vars[from] {
                    let loaded = (ctx.sub.begin(x.view()).fetch::<i32, m![E0 / 8], m![E0 % 8]>())
                        .collect::<m![E0 / 8], m![E0 % 8]>()
                        .to_vrf::<m![E0]>(AUTO);
                    let before = operands[to].replace(loaded);
                    shadowed_operands.extend(before.filter(|_| program.keeps));
                }
                None
            }
            Step::PlusOperand { from, operand, to } => match (&vars[from], &operands[operand]) {
                (Some(Var::A(x)), Some(operand)) => Some((
                    Var::A(
                        (ctx.main.begin(x.view()).fetch::<i32, m![E0 / 8], m![E0 % 8]>())
                            .collect::<m![E0 / 8], m![E0 % 8]>()
                            .vector_init()
                            .vector_intra_slice_branch(BranchMode::Unconditional)
                            .vector_fxp(FxpBinaryOp::AddFxp, operand)
                            .vector_final()
                            .commit(AUTO),
                    ),
                    to,
                )),
                _ => None,
            },
            Step::Store { from } => {
                stored.extend(vars[from].as_ref().map(|x| x.store(ctx)));
                None
            }
            Step::Settle => {
                ctx.settle();
                None
            }
        };
        if program.drops {
            ended.iter().for_each(|&slot| vars[slot] = None);
            ended_operands.iter().for_each(|&slot| operands[slot] = None);
        }
        if let Some((new, to)) = new {
            let before = vars[to].replace(new);
            shadowed.extend(before.filter(|_| program.keeps));
        }
    }
    stored
}

/// A tensor of the model: a multiple of the input of a class and a number, with the commands that use it.
#[derive(Clone, Copy, Debug)]
struct Modelled {
    class: usize,
    factor: i32,
    term: i32,
    bytes: usize,
    first: usize,
    last: usize,
    /// The step that uses it last.
    step: usize,
}

/// Values and lives of a program.
#[derive(Default)]
struct Model {
    commands: usize,
    dm: Vec<Modelled>,
    vrf: Vec<Modelled>,
    stored: Vec<(usize, i32, i32)>,
    ends: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Model {
    fn of(steps: &[Step]) -> Self {
        let mut model = Self::default();
        let mut vars: [Option<usize>; SLOTS] = [None; SLOTS];
        let mut operands: [Option<usize>; SLOTS] = [None; SLOTS];
        // Where each tensor lies, to end it.
        let (mut slots, mut operand_slots) = (Vec::new(), Vec::new());
        for (step, given) in steps.iter().enumerate() {
            let now = model.commands;
            let mut made: Option<(Modelled, usize)> = None;
            let from = |all: &mut Vec<Modelled>, slot: Option<usize>, last: usize| {
                let tensor = &mut all[slot?];
                (tensor.last, tensor.step) = (last, step);
                Some(*tensor)
            };
            let new = |like: Modelled, commands: usize| Modelled {
                first: now,
                last: now + commands - 1,
                step,
                ..like
            };
            match *given {
                Step::Load { class, to } => {
                    let like =
                        Modelled { class, factor: 1, term: 0, bytes: BYTES[class], first: 0, last: 0, step };
                    made = Some((new(like, 1), to));
                    model.commands += 1;
                }
                Step::Plus { from: slot, to, k } => {
                    if let Some(x) = from(&mut model.dm, vars[slot], now) {
                        made = Some((new(Modelled { term: x.term.wrapping_add(k), ..x }, 1), to));
                        model.commands += 1;
                    }
                }
                Step::Fill { from: slot, to } => {
                    if let Some(x) = from(&mut model.dm, vars[slot], now + 1) {
                        made = Some((new(x, 2), to));
                        model.commands += 2;
                    }
                }
                Step::Operand { from: slot, to } => {
                    if vars[slot].is_some_and(|x| model.dm[x].class == 0) {
                        let x = from(&mut model.dm, vars[slot], now).expect("it is there");
                        operands[to] = Some(model.vrf.len());
                        operand_slots.push(to);
                        model.vrf.push(Modelled { bytes: OPERAND, ..new(x, 1) });
                        model.commands += 1;
                    }
                }
                Step::PlusOperand { from: slot, operand, to } => {
                    if vars[slot].is_some_and(|x| model.dm[x].class == 0) && operands[operand].is_some() {
                        let x = from(&mut model.dm, vars[slot], now).expect("it is there");
                        let y = from(&mut model.vrf, operands[operand], now).expect("it is there");
                        let (factor, term) = (x.factor.wrapping_add(y.factor), x.term.wrapping_add(y.term));
                        made = Some((new(Modelled { factor, term, ..x }, 1), to));
                        model.commands += 1;
                    }
                }
                Step::Store { from: slot } => {
                    if let Some(x) = from(&mut model.dm, vars[slot], now) {
                        model.stored.push((x.class, x.factor, x.term));
                        model.commands += 1;
                    }
                }
                Step::Settle => {}
            }
            if let Some((tensor, to)) = made {
                vars[to] = Some(model.dm.len());
                slots.push(to);
                model.dm.push(tensor);
            }
        }
        model.ends = vec![Default::default(); steps.len()];
        // A tensor that was made and never read ends when its variable is replaced.
        let read = |tensor: &Modelled| !matches!(steps[tensor.step], Step::Load { .. });
        for (tensor, slot) in model.dm.iter().zip(slots) {
            let made_here = tensor.first == tensor.last
                || matches!(steps[tensor.step], Step::Fill { to, .. } if to == slot);
            if read(tensor) && !made_here {
                model.ends[tensor.step].0.push(slot);
            }
        }
        for (tensor, slot) in model.vrf.iter().zip(operand_slots) {
            if tensor.first < tensor.last {
                model.ends[tensor.step].1.push(slot);
            }
        }
        model
    }

    /// The most bytes that live at a command.
    fn most(&self, tensors: &[Modelled]) -> usize {
        let live = |now: usize| {
            let live = tensors.iter().filter(|tensor| tensor.first <= now && now <= tensor.last);
            live.map(|tensor| tensor.bytes).sum()
        };
        (0..self.commands).map(live).max().unwrap_or(0)
    }
}

/// Random steps, some of them in loops.
fn steps(random: &mut SmallRng) -> Vec<Step> {
    let slots = random.random_range(4..=SLOTS);
    let largest = random.random_range(4..=6);
    // Large ones are more frequent.
    let class = |random: &mut SmallRng| random.random_range(0..largest).max(random.random_range(0..largest));
    let settles = random.random_bool(0.2);
    let filled = random.random_bool(0.6);
    let mut steps: Vec<Step> =
        (0..slots).filter(|_| filled).map(|to| Step::Load { class: class(random), to }).collect();
    for _ in 0..random.random_range(6..30) {
        let (from, to) = (random.random_range(0..slots), random.random_range(0..slots));
        steps.push(match random.random_range(0..20) {
            0..5 => Step::Load { class: class(random), to },
            5..11 => Step::Plus { from, to, k: random.random_range(-9..10) },
            11..13 => Step::Fill { from, to },
            13..15 => Step::Operand { from, to },
            15..17 => Step::PlusOperand { from, operand: random.random_range(0..slots), to },
            17..19 => Step::Store { from },
            _ if settles => Step::Settle,
            _ => Step::Load { class: 0, to },
        });
        if random.random_bool(0.1) {
            let body = steps[steps.len() - random.random_range(1..=steps.len().min(6))..].to_vec();
            (0..random.random_range(1..5)).for_each(|_| steps.extend(&body));
        }
    }
    let all = random.random_bool(0.6);
    steps.extend((0..slots).filter(|slot| all || slot % 2 == 0).map(|from| Step::Store { from }));
    steps
}

/// Runs a program. `Err`: a memory is full.
fn run(placement: Placement, compute: Compute, program: &Program, model: &Model) -> Result<(), String> {
    block_on(async {
        let mut ctx = Context::with(SimOptions { placement, compute, ..SimOptions::default() });
        // Where no values are computed, nobody looks at them.
        let loads =
            |own| program.steps.iter().any(|step| matches!(step, Step::Load { class, .. } if *class == own));
        let inputs = Inputs::new(&mut ctx, |class| compute == Compute::Values && loads(class)).await;
        let stored = match try_launch(interpreted, (&mut *ctx, program, &inputs)).await {
            Ok(stored) => stored,
            Err(fault) if fault.kind == FaultKind::Capacity => return Err(fault.to_string()),
            Err(fault) => panic!("{fault}"),
        };
        assert_eq!(stored.len(), model.stored.len());
        if compute == Compute::ShapesOnly {
            return Ok(());
        }
        for (stored, &(class, factor, term)) in stored.iter().zip(&model.stored) {
            let (own_class, values) = stored.values(&mut ctx).await;
            let expected = input(class).into_iter().map(|x| x.wrapping_mul(factor).wrapping_add(term));
            assert!(
                own_class == class && values.into_iter().eq(expected),
                "class {class}, {factor} x + {term}"
            );
        }
        Ok(())
    })
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

#[test]
fn random_programs() {
    let (first, count) = (number("VISA_SEED").unwrap_or(0), number("VISA_CASES").unwrap_or(100));
    let (mut full, mut handles, mut tight, mut overflows) = (0, 0, 0, 0);
    for seed in first..first + count {
        let case = std::panic::catch_unwind(|| {
            let mut random = SmallRng::seed_from_u64(seed);
            let steps = steps(&mut random);
            let model = Model::of(&steps);
            let (dm, vrf) = (model.most(&model.dm), model.most(&model.vrf));
            let settles = steps.iter().any(|step| matches!(step, Step::Settle));
            let keeps = random.random_bool(0.8);
            // Values take most of the time.
            let compute = if seed % 3 == 0 { Compute::Values } else { Compute::ShapesOnly };
            let mut program = Program { ends: model.ends.clone(), steps, keeps, drops: false };
            let result = run(Placement::Liveness, compute, &program, &model);
            let overflow = dm > DM_BYTES || vrf > VRF_BYTES;
            match &result {
                Ok(()) => assert!(!overflow, "{dm} bytes of DM and {vrf} of the VRF live at once"),
                Err(fault) => {
                    let spare = dm * 5 / 4 <= DM_BYTES && vrf * 5 / 4 <= VRF_BYTES;
                    assert!(settles || !spare, "{dm} bytes of DM and {vrf} of the VRF live at once: {fault}");
                }
            }
            // The same with handles: as they are, and with those that end after their last use.
            let as_is = seed % 4 == 0 && run(Placement::Handles, compute, &program, &model).is_ok();
            program.drops = true;
            program.keeps = false;
            if seed % 4 == 0 && run(Placement::Handles, compute, &program, &model).is_ok() {
                assert!(settles || result.is_ok(), "it fits with handles: {result:?}");
            }
            (result.is_err(), as_is, !overflow && dm * 5 / 4 > DM_BYTES, overflow)
        });
        let (is_full, as_is, is_tight, overflow) =
            case.unwrap_or_else(|_| panic!("VISA_SEED={seed} VISA_CASES=1"));
        full += usize::from(is_full);
        handles += usize::from(as_is);
        tight += usize::from(is_tight);
        overflows += usize::from(overflow);
    }
    println!(
        "{count} programs: {full} are full, {overflows} must be, {tight} are tight, {handles} fit with handles"
    );
    assert!(
        count < 100 || (tight > 5 && overflows > 5 && full < count as usize / 2),
        "{full} {overflows} {tight}"
    );
}
