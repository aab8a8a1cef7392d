//! Programs as modules of one crate: refused ones, and accepted ones of a release build.
//!
//! A compiler that is started for each of them takes most of its time to read the library. It says of a module what it says of the
//! program alone, but for the name of the module. Where it does not, the program is compiled alone: what its message names of
//! other types differs, for example.

use crate::library::{Library, Profile};
use crate::message::{self, MOST_PER_ERROR, Said};
use crate::program::{Folder, Program};
use std::path::Path;
use std::process::{Command, Output};

/// The programs of which the compiler does not say what is expected where they are modules of a crate.
pub fn without_their_message(
    programs: &[Program],
    library: &Library,
    expected: impl Fn(&Program) -> Option<String> + Sync,
) -> Vec<Program> {
    let (modules, mut alone): (Vec<Program>, Vec<Program>) =
        programs.iter().cloned().partition(Program::is_named);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let crates = modules.chunks(modules.len().div_ceil(workers).max(1)).enumerate();
    std::thread::scope(|scope| {
        let workers: Vec<_> = crates
            .map(|(number, modules)| {
                let (name, expected) = (format!("together{number}"), &expected);
                scope.spawn(move || of_one_crate(modules.to_vec(), library, expected, &name))
            })
            .collect();
        for worker in workers {
            alone.extend(worker.join().expect("the compiler starts"));
        }
    });
    alone
}

/// Gives the compiler a crate of programs, which calls the one that its argument names.
fn compiled(modules: &[Program], library: &Library, emit: &str, name: &str) -> Output {
    let folder = library.output.join(name);
    let write = |path: &Path, text: String| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("it is in a folder"))
            .expect("the target folder can be written");
        std::fs::write(path, text).expect("the target folder can be written");
    };
    let (mut declared, mut called) = (String::new(), String::new());
    for module in modules {
        let (name, path) = (&module.name, module.path());
        declared += &format!("#[path = \"{}\"]\nmod {name};\n", path.display());
        called += &format!("        \"{name}\" => {name}::called::main(),\n");
        // Lines and columns are those of the program.
        write(
            &path,
            format!("{}\npub mod called {{ pub fn main() {{ super::main() }} }}\n", module.source()),
        );
    }
    let argument = "std::env::args().nth(1).unwrap_or_default()";
    let main = format!(
        "fn main() {{\n    match {argument}.as_str() {{\n{called}        _ => panic!(),\n    }}\n}}\n"
    );
    write(Path::new("all.rs"), declared + &main);
    let mut compiler = library.compiler();
    compiler.current_dir(&folder).arg(format!("--emit={emit}")).args(["--crate-name", name, "all.rs"]);
    compiler.output().expect("rustc starts")
}

/// The crate of accepted programs.
const ACCEPTED: &str = "accepted_together";

/// True if the compiler accepts programs as modules of a crate, and says nothing. Those of a debug build run then, each in a
/// process of its own.
pub fn are_accepted(programs: &[Program], library: &Library) -> bool {
    let runs = library.profile == Profile::Dev;
    let emit = format!("{}={ACCEPTED}", if runs { "link" } else { "llvm-bc" });
    let output = compiled(programs, library, &emit, ACCEPTED);
    if !output.status.success() || !message::user_facing(&String::from_utf8_lossy(&output.stderr)).is_empty()
    {
        return false;
    }
    !runs || programs.iter().all(|program| ends_well(library, &program.name))
}

/// Runs one program of the crate of accepted ones.
fn ends_well(library: &Library, name: &str) -> bool {
    let program = library.output.join(ACCEPTED).join(ACCEPTED);
    Command::new(program).arg(name).output().expect("the program starts").status.success()
}

/// The same for modules of one crate. The compiler stops behind errors of macros, and behind those of types: the other modules are
/// then compiled without these.
fn of_one_crate(
    mut modules: Vec<Program>,
    library: &Library,
    expected: impl Fn(&Program) -> Option<String>,
    name: &str,
) -> Vec<Program> {
    let mut alone = Vec::new();
    while !modules.is_empty() {
        let output = compiled(&modules, library, "obj", name);
        let said = message::by_program(&String::from_utf8_lossy(&output.stderr));
        let before = modules.len();
        modules.retain(|module| match said.get(&module.name) {
            None => true,
            Some(Said { message, errors: (errors, read) }) => {
                if expected(module).as_ref() != Some(message) || *errors > read * MOST_PER_ERROR {
                    alone.push(module.clone());
                }
                false
            }
        });
        if modules.len() == before {
            break;
        }
    }
    alone.extend(modules);
    alone
}

/// Programs that say something else than what is expected of them are found, whatever stops the compiler: a macro, a type, a
/// constant of the library, or one at the line of the user. So is one of which nothing is expected.
#[test]
fn another_message_is_found() {
    if !crate::recorded_compiler() {
        return;
    }
    let names = ["axes_size_zero", "stage_align_twice", "accumulate_129_columns", "m_constant_zero"];
    let mut programs = Program::all(Folder::Refused);
    programs.retain(|program| names.contains(&program.name.as_str()));
    assert_eq!(programs.len(), names.len());
    let library = Library::dev("control");
    assert!(!are_accepted(&programs[..1], &library));
    let mut accepted = Program::all(Folder::Accepted);
    accepted.truncate(1);
    assert!(are_accepted(&accepted, &library));
    assert!(!ends_well(&library, "another"), "a program that is not in the crate panics");
    let found = without_their_message(&programs, &library, Program::expected);
    assert!(found.is_empty(), "{} are as expected", names.len() - found.len());
    for name in names {
        let other = |program: &Program| {
            program
                .expected()
                .map(|text| if program.name == name { text.replacen("error", "errors", 1) } else { text })
        };
        let found = without_their_message(&programs, &library, other);
        assert_eq!(found.iter().map(|program| program.name.as_str()).collect::<Vec<_>>(), [name]);
    }
    let nothing = |program: &Program| program.expected().filter(|_| program.name != names[0]);
    assert_eq!(without_their_message(&programs, &library, nothing).len(), 1);
}
