//! The command line.

use crate::config::{CONTEXT, LAYERS};
use crate::refusal::{Refusal, shown};
use std::ffi::OsString;
use std::path::PathBuf;

/// The most chips that can be asked for.
const MAX_CHIPS: usize = 8;

/// The text of `--help`.
pub const HELP: &str = "\
furiosa-visa-models: text of SmolLM2-135M, computed by the simulated chip

  furiosa-visa-models --model FILE.gguf --prompt TEXT [OPTIONS]
  furiosa-visa-models --model FILE.gguf --chat [--prompt TEXT] [OPTIONS]
  furiosa-visa-models --model FILE.gguf --score FILE [OPTIONS]

  --model FILE     the network: the file that `models/fetch.sh` fetches, whose path it prints
  --prompt TEXT    the text that is continued. The continuation goes to the standard output as it comes, and nothing else
  --chat           the prompt is a message to an assistant, and the continuation its answer. Without --prompt, each line of
                   the standard input is a message, and its answer ends with a line
  --score FILE     the natural log-probability of each token of a text but the first, a line each: `TOKEN LOG-PROBABILITY`
  --tokens N       the most tokens of a continuation (default 64); it ends before them where the network ends its text
  --temperature T  above 0: draws each token by its probability, with logits over T (default 0: the most probable token)
  --seed N         of the draws (default 0)
  --weights TYPE   of the weights of layers on the chip: `int4` (default), as the file has them; `bf16`, rounded, in three times
                   the memory: some prompts get another text. The embedding is as the file has it, in 8 bits
  --layers N       only the first N of the network's layers, for a quick look
  --chips N        chips in a row that share the layers, two by two (default 1). Tokens of a prompt and of --score follow each
                   other through them; a token that is chosen waits for the one before, and comes no sooner
  --parts          on the standard error, at the end: cycles by layer, and by what layers do
  --shapes-only    computes no values and only the time: no text; tokens are as many as asked for
  --reference      computes in f32 on the host in the place of the chip

A text on the chip has 2048 tokens at most, with its prompt; by --reference, 8192. A prompt goes in blocks of up to 256 tokens,
which round weights of both types; fewer than 16 go one by one, as do those of --score.
On the standard error, at the end: tokens, cycles per token, tokens per second of the chip at 1 GHz, the share that the lower
bound has of its cycles, and simulated seconds per second.
Exit codes: 0 done, 1 the output cannot be written, 2 refused: a message on the standard error.
";

/// Storage of the weights of layers on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightType {
    /// Values, rounded to bf16 before they are uploaded.
    Bf16,
    /// Codes of 4 bits with their scales and minima, decoded on the chip.
    Int4,
}

/// Settings of the chip's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Storage of weights.
    pub weights: WeightType,
    /// Number of chips.
    pub chips: usize,
    /// Computes no values.
    pub shapes_only: bool,
    /// Tokens of the text, and the most that are asked for behind it. Of a conversation, whose length nobody knows, 0.
    pub capacity: usize,
}

/// The work of the command.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Continues a text.
    Continue {
        /// The text.
        prompt: String,
    },
    /// Answers messages: this one, or those of the standard input.
    Chat {
        /// The message.
        prompt: Option<String>,
    },
    /// Scores the text of a file.
    Score {
        /// The file.
        path: PathBuf,
    },
}

/// The computer of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The host, in f32.
    Reference,
    /// The simulated chip.
    Chip {
        /// Storage of weights.
        weights: WeightType,
        /// Number of chips.
        chips: usize,
        /// Computes no values.
        shapes_only: bool,
    },
}

/// A command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The network's file.
    pub model: PathBuf,
    /// The work.
    pub task: Task,
    /// The most tokens of a continuation.
    pub tokens: usize,
    /// Divisor of the logits, or 0 for the most probable token.
    pub temperature: f32,
    /// Seed of the draws.
    pub seed: u64,
    /// Number of layers, or all that the file has.
    pub layers: Option<usize>,
    /// Prints cycles by layer and by part.
    pub parts: bool,
    /// The computer of the network.
    pub place: Place,
}

/// Options as they are given, each at most once.
#[derive(Debug, Default)]
struct Given {
    values: Vec<(&'static str, OsString)>,
    flags: Vec<&'static str>,
}

/// Options with a value.
const VALUES: [&str; 9] = [
    "--model",
    "--prompt",
    "--score",
    "--tokens",
    "--temperature",
    "--seed",
    "--weights",
    "--layers",
    "--chips",
];

/// Options without a value.
const FLAGS: [&str; 4] = ["--chat", "--parts", "--shapes-only", "--reference"];

impl Options {
    /// Reads the arguments after the name of the program. `None` if help is asked for.
    ///
    /// # Errors
    ///
    /// If an option is unknown, missing, given twice, of another value, or does not go with another one.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Self>, Refusal> {
        use lexopt::Arg::{Long, Short};
        let mut parser = lexopt::Parser::from_args(arguments);
        let mut given = Given::default();
        while let Some(argument) = parser.next()? {
            let name = match argument {
                Short('h') | Long("help") => return Ok(None),
                Long(name) => format!("--{name}"),
                other => return Err(other.unexpected().into()),
            };
            if given.has(&name) {
                return Err(format!("`{name}` is given twice; give it once").into());
            }
            if let Some(name) = VALUES.into_iter().find(|known| *known == name) {
                given.values.push((name, parser.value()?));
            } else if let Some(name) = FLAGS.into_iter().find(|known| *known == name) {
                given.flags.push(name);
            } else {
                let all: Vec<_> = VALUES.into_iter().chain(FLAGS).map(|name| format!("`{name}`")).collect();
                let (name, all) = (shown(&name), all.join(", "));
                return Err(format!("`{name}` is not an option; the options are {all} and `--help`").into());
            }
        }
        given.options().map(Some)
    }
}

impl Given {
    fn has(&self, name: &str) -> bool {
        self.flags.contains(&name) || self.values.iter().any(|(given, _)| *given == name)
    }

    fn raw(&mut self, name: &str) -> Option<OsString> {
        let at = self.values.iter().position(|(given, _)| *given == name)?;
        Some(self.values.swap_remove(at).1)
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        let Some(value) = self.raw(name) else { return Ok(None) };
        value.into_string().map(Some).map_err(|_| format!("`{name}` is not UTF-8 text").into())
    }

    /// A value that `read` accepts. `allowed` completes the message otherwise.
    fn value<T>(
        &mut self,
        name: &str,
        allowed: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match read(text.trim()) {
            Some(value) => Ok(Some(value)),
            None => Err(format!("{name}: `{}` is not {allowed}", shown(&text)).into()),
        }
    }

    fn number(&mut self, name: &str, most: usize) -> Result<Option<usize>, Refusal> {
        let read = |text: &str| text.parse().ok().filter(|number| (1..=most).contains(number));
        self.value(name, &format!("a number from 1 to {most}"), read)
    }

    /// Refuses the first of `names` that is given beside `other`.
    fn excludes(&self, other: &str, names: &[&str], reason: &str) -> Result<(), Refusal> {
        match names.iter().find(|name| self.has(other) && self.has(name)) {
            Some(name) => Err(format!("`{name}` does not go with `{other}`: {reason}; leave one out").into()),
            None => Ok(()),
        }
    }

    fn options(mut self) -> Result<Options, Refusal> {
        let drawn = ["--prompt", "--chat", "--tokens", "--temperature", "--seed"];
        self.excludes("--score", &drawn, "a text is scored as it is")?;
        self.excludes(
            "--shapes-only",
            &["--score", "--temperature"],
            "there are no probabilities without values",
        )?;
        let of_chips = ["--weights", "--chips", "--parts", "--shapes-only"];
        self.excludes("--reference", &of_chips, "the host has no chip")?;
        if self.has("--seed") && !self.has("--temperature") {
            return Err(
                "`--seed` is of draws, and the most probable token is taken; add `--temperature 0.8`".into(),
            );
        }
        let model = self.raw("--model").map(PathBuf::from);
        let model = model.ok_or("`--model` is missing; give the path that `models/fetch.sh` prints")?;
        let task = match (self.raw("--score"), self.has("--chat"), self.text("--prompt")?) {
            (Some(path), ..) => Task::Score { path: path.into() },
            (None, true, prompt) => Task::Chat { prompt },
            (None, false, Some(prompt)) => Task::Continue { prompt },
            (None, false, None) => {
                return Err(
                    "`--prompt` is missing; write for example --prompt 'The capital of France is'".into()
                );
            }
        };
        let weights =
            self.value("--weights", "a type of weights; the types are bf16, int4", |text| match text {
                "bf16" => Some(WeightType::Bf16),
                "int4" => Some(WeightType::Int4),
                _ => None,
            })?;
        let chips = self.number("--chips", MAX_CHIPS)?.unwrap_or(1);
        let shapes_only = self.has("--shapes-only");
        let place = if self.has("--reference") {
            Place::Reference
        } else {
            Place::Chip { weights: weights.unwrap_or(WeightType::Int4), chips, shapes_only }
        };
        let temperature = self.value("--temperature", "a number from 0 to 100", |text| {
            text.parse().ok().filter(|number| (0.0..=100.0).contains(number))
        })?;
        let seed =
            self.value("--seed", "a number from 0 to 18446744073709551615", |text| text.parse().ok())?;
        Ok(Options {
            model,
            task,
            tokens: self.number("--tokens", CONTEXT)?.unwrap_or(64),
            temperature: temperature.unwrap_or(0.0),
            seed: seed.unwrap_or(0),
            layers: self.number("--layers", LAYERS)?,
            parts: self.has("--parts"),
            place,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<Option<Options>, Refusal> {
        Options::parse(line.iter().map(OsString::from))
    }

    #[test]
    fn a_line_is_read_as_a_whole() {
        let line = [
            "--model",
            "m.gguf",
            "--prompt",
            "a b",
            "--tokens=16",
            "--temperature",
            "0.5",
            "--seed",
            "7",
            "--weights",
            "bf16",
            "--layers",
            "2",
            "--chips",
            "4",
            "--parts",
        ];
        let place = Place::Chip { weights: WeightType::Bf16, chips: 4, shapes_only: false };
        let expected = Options {
            model: "m.gguf".into(),
            task: Task::Continue { prompt: "a b".into() },
            tokens: 16,
            temperature: 0.5,
            seed: 7,
            layers: Some(2),
            parts: true,
            place,
        };
        assert_eq!(parse(&line).unwrap(), Some(expected.clone()));
        let short = parse(&["--model", "m.gguf", "--prompt", "a b"]).unwrap().unwrap();
        let place = Place::Chip { weights: WeightType::Int4, chips: 1, shapes_only: false };
        let expected = Options { tokens: 64, temperature: 0.0, seed: 0, ..expected };
        assert_eq!(short, Options { layers: None, parts: false, place, ..expected });
        assert_eq!(parse(&["--model", "m", "--help"]).unwrap(), None);
        let tasks = [
            (&["--chat"][..], Task::Chat { prompt: None }),
            (&["--chat", "--prompt", "hi"], Task::Chat { prompt: Some("hi".into()) }),
            (&["--score", "t.txt"], Task::Score { path: "t.txt".into() }),
        ];
        for (line, task) in tasks {
            let line = [&["--model", "m", "--reference"], line].concat();
            let options = parse(&line).unwrap().unwrap();
            assert_eq!((options.task, options.place), (task, Place::Reference));
        }
    }

    #[test]
    fn limits_are_tight() {
        for (name, allowed, refused) in [
            ("--tokens", &["1", "8192"][..], &["0", "8193", "-1", "many"][..]),
            ("--layers", &["1", "30"], &["0", "31", ""]),
            ("--chips", &["1", "8"], &["0", "9", "1.5"]),
            ("--temperature", &["0", "0.7", "100"], &["-0.1", "101", "nan", "inf", "warm"]),
            ("--weights", &["bf16", "int4"], &["int8", "BF16"]),
        ] {
            let line =
                |value: &&str| parse(&["--model", "m", "--prompt", "p", name, *value].map(|word| word));
            for value in allowed {
                assert!(line(value).is_ok(), "{name} {value}");
            }
            for value in refused {
                let message = line(value).unwrap_err().0;
                assert!(message.starts_with(&format!("{name}: `{value}` is not a ")), "{message}");
            }
        }
    }

    #[test]
    fn wrong_lines_are_refused_with_an_edit() {
        let base = ["--model", "m", "--prompt", "p"];
        let with = |more: &[&'static str]| [&base[..], more].concat();
        let cases = [
            (with(&["--speed"]), "`--speed` is not an option; the options are `--model`, `--prompt`,"),
            (with(&["--chat", "--chat"]), "`--chat` is given twice; give it once"),
            (with(&["--model", "n"]), "`--model` is given twice; give it once"),
            (
                with(&["--seed", "1"]),
                "`--seed` is of draws, and the most probable token is taken; add `--temperature 0.8`",
            ),
            (
                with(&["--score", "f"]),
                "`--prompt` does not go with `--score`: a text is scored as it is; leave one out",
            ),
            (
                with(&["--reference", "--chips", "2"]),
                "`--chips` does not go with `--reference`: the host has no chip",
            ),
            (
                with(&["--shapes-only", "--temperature", "1"]),
                "`--temperature` does not go with `--shapes-only`: there",
            ),
            (vec!["--prompt", "p"], "`--model` is missing; give the path that `models/fetch.sh` prints"),
            (
                vec!["--model", "m"],
                "`--prompt` is missing; write for example --prompt 'The capital of France is'",
            ),
            (vec!["words"], "unexpected argument \"words\""),
            (vec!["--model"], "missing argument for option '--model'"),
            (
                with(&["--seed", "-1", "--temperature", "1"]),
                "--seed: `-1` is not a number from 0 to 18446744073709551615",
            ),
        ];
        for (line, expected) in cases {
            let message = parse(&line).unwrap_err().0;
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn help_names_each_option() {
        for name in VALUES.into_iter().chain(FLAGS) {
            assert!(HELP.contains(&format!("\n  {name} ")), "{name}");
        }
        assert!(HELP.lines().all(|line| line.chars().count() <= 130));
    }
}
