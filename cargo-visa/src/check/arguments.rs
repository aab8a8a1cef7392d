//! Arguments of `cargo visa check`: a few options of the tool, and those of `cargo build`.

use std::ffi::OsString;

/// Cargo's options that name targets.
const TARGETS: [&str; 10] = [
    "--all-targets",
    "--lib",
    "--bin",
    "--bins",
    "--example",
    "--examples",
    "--test",
    "--tests",
    "--bench",
    "--benches",
];

/// Form of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As text for people, to the standard error.
    #[default]
    Human,
    /// A JSON object per line, as cargo writes them, to the standard output.
    Json,
    /// The same, with colours in the member `rendered`.
    ColouredJson,
}

/// Content of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `--message-format`
    pub format: Format,
    /// `--verbose`: spans in the library stay.
    pub verbose: bool,
    /// `--color`
    pub colour: Option<String>,
    /// True if there is a `--target-dir`.
    pub has_target_folder: bool,
    /// True if targets are named. All are checked otherwise.
    pub has_targets: bool,
    /// The arguments of `cargo build`.
    pub of_build: Vec<OsString>,
    /// Those that `cargo metadata` needs too.
    pub of_metadata: Vec<OsString>,
}

impl Options {
    /// Sorts arguments. Cargo checks the values of its options.
    pub fn parse(arguments: &[OsString]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let text = argument.to_str().unwrap_or_default();
            let (name, given) = match text.split_once('=') {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (text, None),
            };
            match name {
                "--verbose" if given.is_none() => {
                    options.verbose = true;
                    continue;
                }
                "--" => return Err("there are no arguments behind `--`: nothing is run; leave it out".into()),
                _ => {}
            }
            options.has_targets |= TARGETS.contains(&name);
            let of_interest = [
                "--message-format",
                "--color",
                "--target-dir",
                "--manifest-path",
                "--config",
                "--lockfile-path",
            ];
            if !of_interest.contains(&name) {
                if ["--offline", "--locked", "--frozen"].contains(&name) {
                    options.of_metadata.push(argument.clone());
                }
                options.of_build.push(argument.clone());
                continue;
            }
            let value = match given {
                Some(value) => value,
                None => rest.next().cloned().ok_or_else(|| format!("`{name}` has no value"))?,
            };
            match name {
                "--message-format" => options.format = format(&value)?,
                "--color" => {
                    options.colour = value.to_str().map(String::from);
                    options.of_build.extend([name.into(), value]);
                }
                "--target-dir" => {
                    options.has_target_folder = true;
                    options.of_build.extend([name.into(), value]);
                }
                _ => {
                    options.of_build.extend([name.into(), value.clone()]);
                    options.of_metadata.extend([name.into(), value]);
                }
            }
        }
        Ok(options)
    }
}

fn format(value: &OsString) -> Result<Format, String> {
    match value.to_str().unwrap_or_default() {
        "human" => Ok(Format::Human),
        "json" => Ok(Format::Json),
        "json-diagnostic-rendered-ansi" => Ok(Format::ColouredJson),
        other => Err(format!(
            "`--message-format`: `{other}` is not offered; the formats are `human`, `json` and \
             `json-diagnostic-rendered-ansi`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        Options::parse(&text.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn cargos_arguments_pass() {
        let options = parse(
            "-p a --all-targets --features=x --offline --manifest-path b/Cargo.toml --message-format=json",
        )
        .expect("is accepted");
        assert_eq!(options.format, Format::Json);
        assert_eq!(
            options.of_build,
            words("-p a --all-targets --features=x --offline --manifest-path b/Cargo.toml")
        );
        assert_eq!(options.of_metadata, words("--offline --manifest-path b/Cargo.toml"));
        assert!(options.has_targets && !options.has_target_folder && !options.verbose);
    }

    #[test]
    fn own_arguments() {
        let options =
            parse("--verbose --message-format json-diagnostic-rendered-ansi --target-dir=t --color never")
                .expect("is accepted");
        assert!(options.verbose && options.has_target_folder);
        assert_eq!((options.format, options.colour.as_deref()), (Format::ColouredJson, Some("never")));
        assert_eq!(options.of_build, words("--target-dir t --color never"));
        assert_eq!(parse("").expect("is accepted"), Options::default());
        assert!(!options.has_targets && parse("--test=a").expect("is accepted").has_targets);
    }

    #[test]
    fn refusals() {
        assert!(parse("--message-format=short").expect_err("is refused").contains("`short` is not offered"));
        assert_eq!(parse("--message-format").expect_err("is refused"), "`--message-format` has no value");
        assert!(parse("-- -D warnings").expect_err("is refused").contains("nothing is run"));
    }
}
