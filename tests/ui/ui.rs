//! What the library refuses, with the whole message, and what it accepts.
//!
//! `refused/` has one program per rule: the file is named after the rule, its first line says the rule in words, and the
//! `.stderr` beside it is what a user reads. `accepted/` has the neighbours at each limit; these run.
//!
//! Each program is given to `rustc` with the library already built, once as in a debug build and once as in a release
//! build, and both must say the same. Refused programs are modules of one crate first: what has its message there is not
//! compiled alone. `message.rs` leaves out of a message what changes when the library is edited:
//! its paths, its lines, and how it gets from the user's call to the constant that is refused.
//! The macros' refusals are looked at once more, as `cargo check` shows them: without code.
//!
//! * `cargo test -p furiosa-visa-ui-tests -- ui trybuild=fetch` runs the programs with `fetch` in their names.
//! * `TRYBUILD=overwrite cargo test -p furiosa-visa-ui-tests` renews the expected messages: read the difference.

mod late;
mod library;
mod message;
mod program;
mod together;

use library::{Library, Profile};
use program::{Folder, Program};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The compiler whose words are in the expected messages. Another one must refuse the same programs, and say what the
/// library itself says.
const RECORDED: &str = "rustc 1.95.";

/// The folder of the programs. The compiler is started there, so that messages name `refused/….rs`.
fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn recorded_compiler() -> bool {
    let version = library::compiler_version();
    let same = version.starts_with(RECORDED);
    if !same {
        eprintln!(
            "notice: the expected messages are those of {RECORDED}x, this is {version}: only the library's words are compared"
        );
    }
    same
}

/// The programs of a folder that the command line asks for, as `trybuild=part-of-the-name`.
fn programs(folder: Folder) -> Vec<Program> {
    let wanted: Vec<String> = std::env::args()
        .filter_map(|argument| argument.strip_prefix("trybuild=").map(String::from))
        .collect();
    let mut programs = Program::all(folder);
    programs.retain(|program| wanted.is_empty() || wanted.iter().any(|part| program.name.contains(part)));
    programs
}

/// Calls a function for every program, on all processors, and returns what it found wrong.
fn for_all(programs: &[Program], judge: impl Fn(&Program) -> Result<(), String> + Sync) -> Vec<String> {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(text) = judge(program) {
                        wrong.lock().expect("no judge panics").push(text);
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("no judge panics");
    wrong.sort();
    wrong
}

#[test]
fn ui() {
    let exact = recorded_compiler();
    let overwrite = std::env::var_os("TRYBUILD").is_some_and(|value| value == "overwrite");
    let (refused, accepted) = (programs(Folder::Refused), programs(Folder::Accepted));
    let mut wrong = Vec::new();
    for library in Library::both() {
        let profile = library.profile;
        // What the compiler finds before it generates code does not depend on the profile.
        let asked: Vec<Program> = refused
            .iter()
            .filter(|program| profile == Profile::Dev || program.needs_code())
            .cloned()
            .collect();
        let overwrite = overwrite && exact && profile == Profile::Dev;
        let asked = if exact && !overwrite {
            together::without_their_message(&asked, &library, Program::expected)
        } else {
            asked
        };
        wrong.extend(for_all(&asked, |program| program.is_refused(&library, exact, overwrite)));
        // Those that are not accepted together say alone what is wrong.
        if !together::are_accepted(&accepted, &library) {
            wrong.extend(for_all(&accepted, |program| program.is_accepted(&library)));
        }
    }
    assert!(wrong.is_empty(), "{} programs differ:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// What the macros refuse in their own words is shown by `cargo check`, and with it by editors.
#[test]
fn ui_of_the_macros_in_cargo_check() {
    if !recorded_compiler() {
        return;
    }
    let mut of_macros = Program::all(Folder::Refused);
    of_macros.retain(|program| {
        let of_a_macro = ["axes_", "device_", "i_", "m_"].iter().any(|start| program.name.starts_with(start));
        of_a_macro && program.expected().is_some_and(|message| message.starts_with("error: "))
    });
    assert!(of_macros.len() >= 20, "{} programs", of_macros.len());
    let library = Library::dev("macros");
    let wrong = for_all(&of_macros, |program| program.is_refused_in_cargo_check(&library));
    assert!(wrong.is_empty(), "{} programs differ:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Every program says its rule, and every refused one has its message.
#[test]
fn every_program_says_its_rule() {
    let counts = [Folder::Refused, Folder::Accepted].map(|folder| {
        let programs = Program::all(folder);
        for program in &programs {
            assert!(program.source().starts_with("//! "), "{} does not say its rule", program.name);
            assert_eq!(program.expected().is_some(), folder == Folder::Refused, "{}", program.name);
        }
        programs.len()
    });
    assert!(counts[0] >= 200 && counts[1] >= 28, "{counts:?}");
}

/// Every message belongs to a program.
#[test]
fn no_message_is_left_over() {
    for entry in here().join("refused").read_dir().expect("the folder can be read") {
        let path: PathBuf = entry.expect("the folder can be read").path();
        assert!(path.with_extension("rs").exists(), "{} has no program", path.display());
    }
}
