//! Refused programs as modules of one crate.
//!
//! A compiler that is started for each of them takes most of its time to read the library. It says of a module what it says of the
//! program alone, but for the name of the module. Where it does not, the program is compiled alone: what its message names of
//! other types differs, for example.

use crate::library::Library;
use crate::message::{self, MOST_PER_ERROR, Said};
use crate::program::Program;

/// The programs of which the compiler does not say their message where they are modules of a crate.
pub fn without_their_message(programs: &[Program], library: &Library) -> Vec<Program> {
    let (modules, mut alone): (Vec<Program>, Vec<Program>) =
        programs.iter().cloned().partition(Program::is_named);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let crates = modules.chunks(modules.len().div_ceil(workers).max(1)).enumerate();
    std::thread::scope(|scope| {
        let workers: Vec<_> = crates
            .map(|(number, modules)| {
                let name = format!("together{number}");
                scope.spawn(move || of_one_crate(modules.to_vec(), library, &name))
            })
            .collect();
        for worker in workers {
            alone.extend(worker.join().expect("the compiler starts"));
        }
    });
    alone
}

/// The same for modules of one crate. The compiler stops behind errors of macros, and behind those of types: the other modules are
/// then compiled without these.
fn of_one_crate(mut modules: Vec<Program>, library: &Library, name: &str) -> Vec<Program> {
    let folder = library.output.join(name);
    std::fs::create_dir_all(folder.join("refused")).expect("the target folder can be written");
    for module in &modules {
        let text = format!("{}\npub mod called {{ pub fn main() {{ super::main() }} }}\n", module.source());
        std::fs::write(folder.join(module.path()), text).expect("the target folder can be written");
    }
    let mut alone = Vec::new();
    while !modules.is_empty() {
        let of_each =
            |text: fn(&str) -> String| modules.iter().map(|module| text(&module.name)).collect::<String>();
        let declared = of_each(|name| format!("#[path = \"refused/{name}.rs\"]\nmod {name};\n"));
        let called = of_each(|name| format!("    {name}::called::main();\n"));
        std::fs::write(folder.join("all.rs"), format!("{declared}fn main() {{\n{called}}}\n"))
            .expect("the target folder can be written");
        let mut compiler = library.compiler();
        compiler.current_dir(&folder).args(["--emit=obj", "--crate-name", name, "all.rs"]);
        let output = compiler.output().expect("rustc starts");
        let said = message::by_program(&String::from_utf8_lossy(&output.stderr));
        let before = modules.len();
        modules.retain(|module| match said.get(&module.name) {
            None => true,
            Some(Said { message, errors: (errors, read) }) => {
                if module.expected().as_ref() != Some(message) || *errors > read * MOST_PER_ERROR {
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
