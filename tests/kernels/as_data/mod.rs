//! Kernels that are written as data: the commands, cycles, values and refusals of typed kernels.

mod refusals;
mod run;

use furiosa_visa_std::PlanError;
use furiosa_visa_std::chip::System;
use furiosa_visa_std::clock::{KernelCall, Report};
use furiosa_visa_std::command::{Address, Command, FillId, HostBuffer, Operation};
use furiosa_visa_std::lower::{Call, End, Made, Stream, Tensor, Weights, download, upload};
use furiosa_visa_std::mapping::Expr;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::tensor::Shape;
use std::panic::Location;

axes![S = 256, N = 8, K = 64];

type E = &'static Expr;

const ONE: E = <m![1]>::EXPR;
const TWO: E = <m![1 # 2]>::EXPR;

/// A kernel as data: the commands so far, and the chip that will execute them.
struct Kernel {
    system: System,
    commands: Vec<Operation>,
}

impl Kernel {
    fn new() -> Self {
        Self { system: System::new(SimOptions::default()), commands: Vec::new() }
    }

    fn fill(&mut self) -> FillId {
        self.system.next_fill()
    }

    /// A tensor of the host in HBM.
    fn input(&mut self, shape: Shape, address: Address, host: E, bytes: Vec<u8>) -> Tensor {
        let tensor = Tensor::new(shape, address, self.fill()).unwrap_or_else(|error| panic!("{error}"));
        let buffer = HostBuffer { bytes, initialised: None };
        let upload = upload(host, &tensor).expect("it derives");
        self.system.upload(&upload, &buffer, Location::caller()).expect("it fits");
        tensor
    }

    /// Keeps a command, and gives what it makes.
    fn keep<T>(&mut self, made: Result<(Operation, T), PlanError>) -> T {
        let (operation, made) = made.unwrap_or_else(|error| panic!("{error}"));
        self.commands.push(operation);
        made
    }

    fn end(&mut self, stream: Result<Stream, PlanError>, end: End) -> Made {
        let fill = self.fill();
        self.keep(stream.and_then(|stream| stream.end(end, fill)))
    }

    fn tensor(&mut self, stream: Result<Stream, PlanError>, end: End) -> Tensor {
        let Made::Tensor(tensor) = self.end(stream, end) else { panic!("{end:?} makes a tensor") };
        tensor
    }

    fn weights(&mut self, stream: Result<Stream, PlanError>, end: End) -> Weights {
        let Made::Weights(weights) = self.end(stream, end) else { panic!("{end:?} loads the TRF") };
        weights
    }

    /// Executes the commands: the bytes of the result, and the cycles.
    fn run(mut self, name: &'static str, host: E, result: &Tensor) -> (Vec<u8>, Report) {
        let location = Location::caller();
        self.system.enter_kernel(KernelCall { number: 1, name });
        for operation in self.commands {
            let command = Command { operation, location };
            self.system.execute(&command).unwrap_or_else(|fault| panic!("{fault}"));
        }
        self.system.enter_kernel(KernelCall::default());
        let plan = download(host, result).expect("it derives");
        let found = self.system.download(&plan, location).expect("it is there");
        (found.bytes, self.system.report())
    }
}

/// The stream behind calls.
fn calls(tensor: &Tensor, sub_context: bool, calls: &[Call]) -> Result<Stream, PlanError> {
    Stream::begin(tensor, sub_context)?.calls(calls)
}

/// The same operations in the same cycles.
#[track_caller]
fn assert_same_cycles(found: &Report, typed: &Report) {
    let told = |report: &Report| -> Vec<_> {
        report.records.iter().map(|record| (record.operation, record.start, record.end)).collect()
    };
    assert!(!typed.records.is_empty());
    assert_eq!(told(found), told(typed));
}

/// The same values. The message names the first place that differs.
#[track_caller]
fn assert_equal<T: PartialEq + core::fmt::Debug>(found: &[T], expected: &[T]) {
    assert_eq!(found.len(), expected.len());
    if let Some(place) = (0..found.len()).find(|&place| found[place] != expected[place]) {
        panic!("place {place}: {:?}, but {:?} is expected", found[place], expected[place]);
    }
}
