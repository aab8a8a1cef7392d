//! With the feature `late-refusals`, what the compiler refuses by default is a fault of the call, with the same words.
//!
//! Every fourth program of `refused/` that the compiler refuses for a constant, or with `VISA_CASES` all of them, are modules of
//! one program here, beside those that are accepted. It is compiled with the library as the feature makes it, and runs each of them.

use crate::library::Library;
use crate::message::words_of_the_library;
use crate::program::{Folder, Program};
use std::fmt::Write as _;
use std::process::Command;

/// Refused whatever the features are: no mapping has these sizes, and sizes are constants of types.
const NO_MAPPING: &str = "mapping `m![";

/// Programs whose constant is a number of a call and no mapping: the compiler refuses it with the feature, too.
const NO_PLAN: &[&str] = &["vector_execution_id_of_five_bits"];

/// Programs of a stream that nothing makes: its packets are not collected.
const NO_STREAM: &[&str] =
    &["vector_branch_four_lanes", "vector_branch_sixteen_lanes", "vector_unzip_four_lanes"];

/// What the arguments of a kernel are made of.
const ARGUMENTS: &str = r#"
use furiosa_visa_std::prelude::*;

/// An argument of a kernel. Nothing is read.
trait Made {
    fn made() -> Self;
}

fn kept<T>(own: T) -> &'static mut T {
    Box::leak(Box::new(own))
}

impl Made for &'static mut Context {
    fn made() -> Self {
        &mut *kept(Context::acquire())
    }
}

impl<D: Scalar, Chip: M, Element: M> Made for HbmTensor<D, Chip, Element> {
    fn made() -> Self {
        unsafe { Self::from_addr(0) }
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> Made for DmTensor<D, Chip, Cluster, Slice, Element> {
    fn made() -> Self {
        unsafe { Self::from_addr(0) }
    }
}

impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> Made for VrfTensor<D, Chip, Cluster, Slice, Element> {
    fn made() -> Self {
        unsafe { Self::from_addr(0) }
    }
}

impl<T: Made> Made for &'static T {
    fn made() -> Self {
        kept(T::made())
    }
}

impl<T: Made> Made for [T; 2] {
    fn made() -> Self {
        [T::made(), T::made()]
    }
}

impl<D: Scalar, Chip: M, Element: M> Made for &'static mut HbmTensor<D, Chip, Element> {
    fn made() -> Self {
        kept(Made::made())
    }
}

impl<D: Scalar, Chip: M + 'static, Element: M + 'static> Made for HbmTensorView<'static, D, Chip, Element> {
    fn made() -> Self {
        <&'static HbmTensor<D, Chip, Element>>::made().view()
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> Made
    for DmTensorView<'static, D, Chip, Cluster, Slice, Element>
where
    DmTensor<D, Chip, Cluster, Slice, Element>: 'static,
{
    fn made() -> Self {
        <&'static DmTensor<D, Chip, Cluster, Slice, Element>>::made().view()
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> Made
    for DmTensorViewMut<'static, D, Chip, Cluster, Slice, Element>
where
    DmTensor<D, Chip, Cluster, Slice, Element>: 'static,
{
    fn made() -> Self {
        kept(DmTensor::<D, Chip, Cluster, Slice, Element>::made()).view_mut()
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M> Made
    for CollectTensor<'static, { Tu::Main }, D, Chip, Cluster, Slice, Time, Packet>
where
    DmTensor<D, Chip, Cluster, Slice, m![{ Time }, { Packet }]>: 'static,
{
    fn made() -> Self {
        let x = <&'static DmTensor<D, Chip, Cluster, Slice, m![{ Time }, { Packet }]>>::made();
        let ctx = <&'static mut Context>::made();
        ctx.main.begin(x.view()).fetch::<D, Time, Packet>().collect::<Time, Packet>()
    }
}

fn call_1<A: Made, R>(kernel: fn(A) -> R) {
    kernel(A::made());
}

fn call_2<A: Made, B: Made, R>(kernel: fn(A, B) -> R) {
    kernel(A::made(), B::made());
}

fn call_3<A: Made, B: Made, C: Made, R>(kernel: fn(A, B, C) -> R) {
    kernel(A::made(), B::made(), C::made());
}

fn stopped<T>(result: Result<T, furiosa_visa_std::chip::Fault>) {
    if let Err(fault) = result {
        assert_eq!(fault.kind, furiosa_visa_std::chip::FaultKind::Refused);
        panic!("{fault}");
    }
}

fn told(name: &str, run: impl FnOnce()) {
    let text = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
        Ok(()) => "nothing".to_string(),
        Err(payload) => match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => payload.downcast::<&'static str>().map_or("a panic without words".into(), |text| text.to_string()),
        },
    };
    println!("{name}\t{}", text.replace('\n', "\u{1f}"));
}
"#;

/// The text of a program without the line that says its rule.
fn module(program: &Program) -> String {
    let source = program.source();
    let lines: Vec<&str> = source.lines().filter(|line| !line.starts_with("//!")).collect();
    let text = lines.join("\n").replace("\nfn kernel", "\npub fn kernel");
    format!("mod {} {{\n{text}\npub fn run_main() {{ main() }}\n}}\n", program.name)
}

/// The number of arguments of the function that is defined behind this place of a text, and its name.
fn function(text: &str) -> Option<(&str, usize)> {
    let (_, rest) = text.split_once("fn ")?;
    let (name, mut rest) = rest.split_at(rest.find(['(', '<'])?);
    if rest.starts_with('<') {
        rest = &rest[rest.find(">(")? + 1..];
    }
    let (mut depth, mut arguments, mut begun) = (0, 0, false);
    for letter in rest.chars() {
        match letter {
            ')' if depth == 1 => return Some((name, arguments + usize::from(begun))),
            ',' if depth == 1 => (arguments, begun) = (arguments + 1, false),
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            _ if !letter.is_whitespace() => begun = true,
            _ => {}
        }
    }
    None
}

/// How a program is run: its kernel is launched or called with arguments that are made for it, or its `main` is.
fn call(program: &Program) -> String {
    let (name, source) = (&program.name, program.source());
    let main = source.split_once("fn main() {").map_or("", |(_, main)| main);
    let kernel = source.split_once("#[device(").and_then(|(_, rest)| function(rest));
    if let Some((kernel, arguments)) = kernel.filter(|_| !main.contains("launch")) {
        let made = vec!["Made::made()"; arguments].join(", ");
        return format!(
            "told(\"{name}\", || {{ stopped(pollster::block_on(try_launch({name}::{kernel}, ({made},)))); }});\n"
        );
    }
    let called = main.contains("= kernel;") || main.contains("kernel as fn(");
    if let Some((kernel, arguments)) =
        source.find("fn kernel").and_then(|place| function(&source[place..])).filter(|_| called)
    {
        return format!("told(\"{name}\", || call_{arguments}({name}::{kernel}));\n");
    }
    format!("told(\"{name}\", {name}::run_main);\n")
}

#[test]
fn refusals_of_constants_are_faults_of_calls() {
    let mut programs = Program::all(Folder::Refused);
    programs.retain(|program| {
        let is_plan = !NO_PLAN.contains(&program.name.as_str());
        let named = || program.expected().is_some_and(|text| !text.contains(NO_MAPPING));
        is_plan && program.needs_code() && named()
    });
    assert!(programs.len() >= 200, "{} programs", programs.len());
    // All of them are in one program, which the compiler needs a minute for.
    if std::env::var("VISA_CASES").is_err() {
        programs = programs.into_iter().step_by(4).collect();
    }
    let accepted = Program::all(Folder::Accepted);
    let (mut source, mut calls) = (ARGUMENTS.to_string(), String::new());
    for program in programs.iter().chain(&accepted) {
        source += &module(program);
    }
    for program in &programs {
        calls += &call(program);
    }
    for Program { name, .. } in &accepted {
        let _ = writeln!(calls, "told(\"{name}\", {name}::run_main);");
    }
    let _ = write!(source, "fn main() {{\nstd::panic::set_hook(Box::new(|_| {{}}));\n{calls}}}\n");
    let library = Library::late();
    let path = library.output.join("late.rs");
    std::fs::write(&path, source).expect("the target folder can be written");
    let mut compiler = library.compiler();
    let built = compiler.args(["--emit=link", "-Aunused"]).arg(&path).output().expect("rustc starts");
    assert!(
        built.status.success(),
        "{}",
        crate::message::user_facing(&String::from_utf8_lossy(&built.stderr))
    );
    let run = Command::new(library.output.join("late")).output().expect("the program starts");
    let told = String::from_utf8_lossy(&run.stdout).into_owned();
    let line_of = |program: &Program| {
        let line = told.lines().find_map(|line| line.strip_prefix(&format!("{}\t", program.name)));
        line.unwrap_or("it did not run").replace('\u{1f}', "\n")
    };
    let mut wrong = Vec::new();
    for program in &accepted {
        let line = line_of(program);
        if line != "nothing" {
            wrong.push(format!("{}, which is accepted: it says\n{line}", program.name));
        }
    }
    for program in programs.iter().filter(|program| !NO_STREAM.contains(&program.name.as_str())) {
        let (expected, line) = (program.expected().unwrap_or_default(), line_of(program));
        let words = words_of_the_library(&expected).unwrap_or_default();
        let (words, help) = words.split_once("; help: ").unwrap_or((words, ""));
        let words = words.split_once(": ").map_or(words, |(_, words)| words);
        // A fault names the line of the user.
        let place = !line.starts_with("fault: ") || line.contains("late.rs:");
        if !(line.contains(words) && line.contains(help) && place) {
            wrong.push(format!("{}: it says\n{line}\nand not `{words}`, `{help}`", program.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} programs differ:\n\n{}",
        wrong.len(),
        programs.len(),
        wrong.join("\n\n")
    );
}
