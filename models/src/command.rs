//! The command: from arguments to text.

use crate::chat;
use crate::config::{CONTEXT, VOCABULARY};
use crate::generate::{Part, Sampler, Text, log_probability, report};
use crate::gguf::Gguf;
use crate::model::Model;
use crate::options::{HELP, Options, Place, Settings, Task};
use crate::reference::Reference;
use crate::refusal::{Refusal, shown};
use crate::tokenizer::{Tokenizer, Vocabulary};
use crate::weights::Weights;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};

/// Loads weights onto the simulated chip, and returns its network. Refuses settings that no kernel is made for.
pub type OpenChip = for<'a> fn(&'a Weights, Settings) -> Result<Box<dyn Model + 'a>, Refusal>;

/// The streams of a process.
pub struct Streams<'a> {
    /// Messages of a chat.
    pub input: &'a mut dyn BufRead,
    /// Text of the network.
    pub output: &'a mut dyn Write,
    /// Refusals and the report.
    pub errors: &'a mut dyn Write,
}

/// The end of a command before its time.
enum Stop {
    Refused(Refusal),
    Unwritable(io::Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Unwritable(error)
    }
}

/// Runs the command, and returns its exit code. `arguments` are those after the name of the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>, streams: &mut Streams, open: OpenChip) -> u8 {
    let done = match Options::parse(arguments) {
        Ok(Some(options)) => execute(&options, streams, open),
        Ok(None) => streams.output.write_all(HELP.as_bytes()).map_err(Stop::from),
        Err(refusal) => Err(refusal.into()),
    };
    let (code, message) = match done {
        Ok(()) => return 0,
        // The reader of a pipe may close it early, as `head` does, which is no mistake of this program.
        Err(Stop::Unwritable(error)) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
        Err(Stop::Unwritable(error)) => (1, format!("the output cannot be written: {error}")),
        Err(Stop::Refused(Refusal(message))) => (2, message),
    };
    // A message that cannot be printed has no reader.
    let _ = writeln!(streams.errors, "error: {message}");
    code
}

fn execute(options: &Options, streams: &mut Streams, open: OpenChip) -> Result<(), Stop> {
    let mut file = Gguf::open(&options.model)?;
    let tokenizer = Tokenizer::new(Vocabulary::of(&file)?)?;
    let count = tokenizer.count();
    if count != VOCABULARY {
        return Err(Refusal(format!("the vocabulary has {count} tokens; it must have {VOCABULARY}")).into());
    }
    let (first, most) = first_tokens(options, &tokenizer)?;
    let weights = file.weights(options.layers.unwrap_or(file.layers()))?;
    let mut model: Box<dyn Model + '_> = match options.place {
        Place::Reference => Box::new(Reference::new(&weights)),
        Place::Chip { weights: kind, chips, shapes_only } => {
            open(&weights, Settings { weights: kind, chips, shapes_only, capacity: most })?
        }
    };
    let report = match &options.task {
        Task::Score { .. } => score(model.as_mut(), &first, streams.output)?,
        task => {
            let sampler = Sampler::new(options.temperature, options.seed);
            let mut text = Text::new(model.as_mut(), &tokenizer, sampler);
            if matches!(task, Task::Chat { prompt: None }) {
                converse(&mut text, &tokenizer, options.tokens, most, streams)?;
            } else {
                text.extend(&first, options.tokens, streams.output)?;
            }
            text.report()
        }
    };
    streams.errors.write_all(report.as_bytes())?;
    Ok(())
}

/// Tokens that are known at the start, and the most that the text will have.
fn first_tokens(options: &Options, tokenizer: &Tokenizer) -> Result<(Vec<u32>, usize), Refusal> {
    let (tokens, more) = match &options.task {
        Task::Continue { prompt } => (tokenizer.encode(prompt)?, options.tokens),
        Task::Chat { prompt: Some(prompt) } => {
            (tokenizer.encode(&chat::message(prompt, true))?, options.tokens)
        }
        Task::Chat { prompt: None } => return Ok((Vec::new(), CONTEXT)),
        Task::Score { path } => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                let path = shown(&path.display().to_string());
                Refusal(format!("--score: `{path}` cannot be read as text: {error}"))
            })?;
            (tokenizer.encode(&text)?, 0)
        }
    };
    let count = tokens.len();
    if count == 0 {
        return Err("--prompt: there is no token to continue; write a word".into());
    }
    if more == 0 && count < 2 {
        return Err(format!("--score: the text has {count} tokens; a score takes 2 at least").into());
    }
    if count + more > CONTEXT {
        let message = format!(
            "the text has {count} tokens, and {more} more are asked for; there is room for {CONTEXT}"
        );
        return Err(Refusal(
            message + if more == 0 { "; cut it" } else { "; give fewer by --tokens, or a shorter text" },
        ));
    }
    Ok((tokens, count + more))
}

/// Answers each line of the input.
fn converse(
    text: &mut Text,
    tokenizer: &Tokenizer,
    limit: usize,
    most: usize,
    streams: &mut Streams,
) -> Result<(), Stop> {
    let mut line = String::new();
    loop {
        line.clear();
        let read = streams.input.read_line(&mut line);
        if read.map_err(|error| Refusal(format!("the standard input cannot be read: {error}")))? == 0 {
            return Ok(());
        }
        let message = chat::message(line.trim_end_matches(['\n', '\r']), text.tokens() == 0);
        let tokens = tokenizer.encode(&message)?;
        let full = text.tokens() + tokens.len() + limit;
        if full > most {
            let message = format!(
                "the conversation would have {full} tokens; there is room for {most}: begin another one"
            );
            return Err(Refusal(message).into());
        }
        text.extend(&tokens, limit, streams.output)?;
        streams.output.write_all(b"\n")?;
        streams.output.flush()?;
    }
}

/// Writes a line for each token but the first, and returns the report.
fn score(model: &mut dyn Model, tokens: &[u32], output: &mut dyn Write) -> io::Result<String> {
    let mut part = Part::default();
    let mut written = Ok(());
    let mut nexts = tokens[1..].iter();
    let given = &tokens[..tokens.len() - 1];
    part.run(model, given.len(), |model| {
        model.score(given, &mut |logits| {
            let next = nexts.next().filter(|_| written.is_ok());
            if let Some(&next) = next {
                written = writeln!(output, "{next} {:.6}", log_probability(logits, next))
                    .and_then(|()| output.flush());
            }
        });
    });
    written?;
    Ok(report(&format!("{} scored", given.len()), &[("score", part)]))
}
