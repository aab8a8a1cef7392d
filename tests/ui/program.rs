//! A program, and what becomes of it.

use crate::library::{Library, Profile};
use crate::message::{self, MOST_PER_ERROR};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// Where a program lies says what becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Folder {
    /// The compiler refuses it.
    Refused,
    /// It is compiled without a warning, and runs.
    Accepted,
}

/// A program.
#[derive(Clone)]
pub struct Program {
    /// The name of the file, without its extension.
    pub name: String,
    folder: Folder,
}

/// What the compiler says.
struct Answer {
    accepted: bool,
    message: String,
    /// All errors, and those that a user reads.
    errors: (usize, usize),
}

impl Program {
    /// All programs of a folder, by name.
    pub fn all(folder: Folder) -> Vec<Self> {
        let entries = crate::here().join(folder.name()).read_dir().expect("the folder is there");
        let paths = entries.map(|entry| entry.expect("the folder can be read").path());
        let programs = paths.filter(|path| path.extension() == Some(OsStr::new("rs")));
        let name = |path: PathBuf| path.file_stem().and_then(OsStr::to_str).expect("a name").to_string();
        let mut programs: Vec<Self> = programs.map(|path| Self { name: name(path), folder }).collect();
        programs.sort_by(|one, other| one.name.cmp(&other.name));
        programs
    }

    /// Below the folder of the tests.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(self.folder.name()).join(format!("{}.rs", self.name))
    }

    /// Its text.
    pub fn source(&self) -> String {
        std::fs::read_to_string(crate::here().join(self.path())).expect("the program can be read")
    }

    fn message_path(&self) -> PathBuf {
        crate::here().join(self.path()).with_extension("stderr")
    }

    /// The message beside it.
    pub fn expected(&self) -> Option<String> {
        std::fs::read_to_string(self.message_path()).ok()
    }

    /// Whether it is refused for what the compiler computes only for code that it generates. A program without a
    /// message may be.
    pub fn needs_code(&self) -> bool {
        self.expected().is_none_or(|message| message.contains("error[E0080]"))
    }

    /// True if its message names it, so that it can be told from those of other programs.
    pub fn is_named(&self) -> bool {
        let named = format!("refused/{}.rs", self.name);
        self.expected().is_some_and(|message| message.contains(&named))
    }

    fn compile(&self, library: &Library, emit: &str) -> Answer {
        let mut compiler = library.compiler();
        let output = compiler.arg(format!("--emit={emit}")).arg(self.path()).output().expect("rustc starts");
        let text = String::from_utf8_lossy(&output.stderr);
        Answer {
            accepted: output.status.success(),
            message: message::user_facing(&text),
            errors: message::errors(&text),
        }
    }

    /// Checks that it is refused with the message beside it, or writes that message.
    pub fn is_refused(&self, library: &Library, exact: bool, overwrite: bool) -> Result<(), String> {
        let title = format!("{} ({:?})", self.path().display(), library.profile);
        let answer = self.compile(library, "obj");
        if answer.accepted {
            return Err(format!("{title}: the compiler accepts it"));
        }
        let (errors, read) = answer.errors;
        if errors > read * MOST_PER_ERROR {
            return Err(format!("{title}: the compiler gives {errors} errors, of which a user reads {read}"));
        }
        let found = answer.message;
        if overwrite && self.expected().as_ref() != Some(&found) {
            std::fs::write(self.message_path(), &found).expect("the message can be written");
        }
        match self.expected() {
            None => Err(format!("{title}: `TRYBUILD=overwrite` writes this message beside it:\n{found}")),
            Some(expected) if exact && expected != found => {
                Err(format!("{title}\n--- expected\n{expected}--- found\n{found}---"))
            }
            Some(expected) => match message::words_of_the_library(&expected) {
                Some(words) if !found.contains(words) => {
                    Err(format!("{title}: nobody says `{words}` in\n{found}"))
                }
                _ => Ok(()),
            },
        }
    }

    /// Checks that it is refused with the message beside it before there is any code.
    pub fn is_refused_in_cargo_check(&self, library: &Library) -> Result<(), String> {
        let answer = self.compile(library, "metadata");
        match self.expected() {
            Some(expected) if !answer.accepted && expected == answer.message => Ok(()),
            expected => {
                let expected = expected.unwrap_or_default();
                Err(format!("{}\n--- expected\n{expected}--- found\n{}---", self.name, answer.message))
            }
        }
    }

    /// Checks that it is compiled without a word, and that it runs. What runs is the debug build.
    pub fn is_accepted(&self, library: &Library) -> Result<(), String> {
        let title = format!("{} ({:?})", self.path().display(), library.profile);
        // All its code is generated, and machine code of it where it runs.
        let emit = if library.profile == Profile::Dev { "link" } else { "llvm-bc" };
        let answer = self.compile(library, emit);
        if !answer.accepted || !answer.message.is_empty() {
            return Err(format!("{title}: the compiler says\n{}", answer.message));
        }
        if library.profile == Profile::Dev {
            let run = Command::new(library.output.join(&self.name)).output().expect("the program starts");
            if !run.status.success() {
                return Err(format!("{title}: {}\n{}", run.status, String::from_utf8_lossy(&run.stderr)));
            }
        }
        Ok(())
    }
}

impl Folder {
    fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Accepted => "accepted",
        }
    }
}
