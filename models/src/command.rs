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
    let name = shown(&options.model.display().to_string());
    let tokenizer = Vocabulary::of(&file).and_then(Tokenizer::new);
    let tokenizer = tokenizer.map_err(|refusal| Refusal(format!("`{name}`: {}", refusal.0)))?;
    let count = tokenizer.count();
    if count != VOCABULARY {
        return Err(Refusal(format!(
            "`{name}`: the vocabulary has {count} tokens; it must have {VOCABULARY}"
        ))
        .into());
    }
    let (first, most) = first_tokens(options, &tokenizer)?;
    let weights = file.weights(options.layers.unwrap_or(file.layers()))?;
    let mut model: Box<dyn Model + '_> = match options.place {
        Place::Reference => Box::new(Reference::new(&weights)),
        Place::Chip { weights: kind, chips, shapes_only } => {
            open(&weights, Settings { weights: kind, chips, shapes_only, capacity: most })?
        }
    };
    let room = model.capacity();
    let report = match &options.task {
        Task::Score { .. } => score(model.as_mut(), &first, streams.output)?,
        task => {
            let sampler = Sampler::new(options.temperature, options.seed);
            let mut text = Text::new(model.as_mut(), &tokenizer, sampler);
            if matches!(task, Task::Chat { prompt: None }) {
                converse(&mut text, &tokenizer, options.tokens, room, streams)?;
            } else {
                text.extend(&first, options.tokens, streams.output)?;
            }
            text.report()
        }
    };
    streams.errors.write_all(report.as_bytes())?;
    if options.parts {
        streams.errors.write_all(model.parts().as_bytes())?;
    }
    Ok(())
}

/// Tokens that are known at the start, and the most that the text will have: 0 for a conversation, which ends where there
/// is no room.
fn first_tokens(options: &Options, tokenizer: &Tokenizer) -> Result<(Vec<u32>, usize), Refusal> {
    let (tokens, more) = match &options.task {
        Task::Continue { prompt } => (tokenizer.encode(prompt)?, options.tokens),
        Task::Chat { prompt: Some(prompt) } => {
            (tokenizer.encode(&chat::message(prompt, true))?, options.tokens)
        }
        Task::Chat { prompt: None } => return Ok((Vec::new(), 0)),
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
        let message = if more == 0 {
            format!("the text has {count} tokens; there is room for {CONTEXT}; cut it")
        } else {
            format!(
                "the text has {count} tokens, and {more} more are asked for; there is room for {CONTEXT}; give fewer by \
                 --tokens, or a shorter text"
            )
        };
        return Err(Refusal(message));
    }
    Ok((tokens, count + more))
}

/// Answers each line of the input.
fn converse(
    text: &mut Text,
    tokenizer: &Tokenizer,
    limit: usize,
    room: usize,
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
        if full > room {
            let message = format!(
                "the conversation would have {full} tokens; there is room for {room}: begin another one"
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::network::served;
    use crate::generate::tests::Script;
    use crate::gguf::tests::{Draft, Value, text, with};
    use crate::model::{Next, Want};
    use crate::options::WeightType;
    use crate::tokenizer::Decoder;
    use std::path::PathBuf;

    /// Exit code and both outputs of a command.
    fn output(arguments: &[&str], open: OpenChip) -> (u8, String, String) {
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let mut streams = Streams { input: &mut io::empty(), output: &mut output, errors: &mut errors };
        let code = run(arguments.iter().map(OsString::from), &mut streams, open);
        (code, String::from_utf8(output).unwrap(), String::from_utf8(errors).unwrap())
    }

    /// An entry for a chip that says its settings.
    fn settings<'a>(_: &'a Weights, settings: Settings) -> Result<Box<dyn Model + 'a>, Refusal> {
        Err(format!("{settings:?}").into())
    }

    /// A text array of a header.
    fn texts(values: &[String]) -> Value {
        let mut bytes = [8_u32.to_le_bytes().as_slice(), &(values.len() as u64).to_le_bytes()].concat();
        values.iter().for_each(|value| bytes.extend(text(value)));
        Value(9, bytes)
    }

    fn numbers(values: &[i32]) -> Value {
        let mut bytes = [5_u32.to_le_bytes().as_slice(), &(values.len() as u64).to_le_bytes()].concat();
        values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        Value(9, bytes)
    }

    /// A header with a vocabulary of 3 special tokens, all visible bytes and spaces, and pairs of letters of other alphabets.
    fn draft() -> Draft {
        let special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
        let mut tokens: Vec<String> = special.map(str::to_string).to_vec();
        tokens.extend(('!'..='~').chain(['Ġ', 'Ċ']).map(String::from));
        let letters: Vec<char> = ('¡'..='¬').chain('®'..='ÿ').chain('Ā'..='Ń').collect();
        let pairs =
            letters.iter().flat_map(|first| letters.iter().map(move |second| format!("{first}{second}")));
        tokens.extend(pairs);
        tokens.truncate(VOCABULARY);
        while tokens.len() < VOCABULARY {
            tokens.push(format!("¡¡{}", tokens.len()));
        }
        let kinds: Vec<i32> =
            (0..tokens.len()).map(|token| if token < special.len() { 3 } else { 1 }).collect();
        let mut draft = Draft::new();
        draft.keys.extend([
            ("tokenizer.ggml.model", Value::text("gpt2")),
            ("tokenizer.ggml.pre", Value::text("smollm")),
            ("tokenizer.ggml.tokens", texts(&tokens)),
            ("tokenizer.ggml.token_type", numbers(&kinds)),
            ("tokenizer.ggml.merges", texts(&[])),
        ]);
        draft
    }

    /// A file of the test's own that is removed with it.
    struct File(PathBuf);

    impl File {
        fn new(name: &str, content: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("visa-models-{}-{name}", std::process::id()));
            std::fs::write(&path, content).unwrap();
            Self(path)
        }

        fn path(&self) -> &str {
            self.0.to_str().unwrap()
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_file_becomes_text() {
        let (weights, draft) = (Weights::synthetic(1, 5), draft());
        let file = File::new("whole.gguf", &with(&draft, &weights));
        let tokenizer = Tokenizer::new(Vocabulary::of(&Gguf::open(&file.0).unwrap()).unwrap()).unwrap();

        // What the formulas say, with the tokens of the letters.
        let tokens = tokenizer.encode("abc").unwrap();
        assert_eq!(tokens.len(), 3);
        let mut model = Reference::new(&weights);
        let (mut expected, mut decoder) = (String::new(), Decoder::default());
        let mut next = model.prefill(&tokens, Want::Token);
        for _ in 0..3 {
            let Next::Token(token) = next else { panic!("a token was asked for") };
            expected += &decoder.push(tokenizer.bytes(token));
            next = model.decode(token, Want::Token);
        }
        expected += &decoder.end();
        assert!(!expected.is_empty());
        let base = ["--model", file.path(), "--prompt", "abc", "--tokens", "3"];
        let (code, text, report) = output(&[&base[..], &["--reference"]].concat(), settings);
        assert_eq!((code, text.as_str()), (0, expected.as_str()), "{report}");
        assert!(report.starts_with("tokens: 3 of the prompt, 3 chosen\nhost: "), "{report}");

        // The chip gets the settings.
        let given = ["--chips", "2", "--weights", "int4", "--shapes-only", "--layers", "1"];
        let refused = output(&[&base[..], &given].concat(), settings);
        let expected = Settings { weights: WeightType::Int4, chips: 2, shapes_only: true, capacity: 6 };
        assert_eq!(refused, (2, String::new(), format!("error: {expected:?}\n")));

        // Settings that the chip does not have. The chip itself is in `tests/chip.rs`: with it, the kernels would be compiled here.
        let open: OpenChip = |_, settings| {
            served(settings)?;
            Ok(Box::new(Script::new(&[5])))
        };
        let long = ["--model", file.path(), "--prompt", "abc", "--tokens", "2046"];
        let expected = "error: the text would have 2049 tokens; the chip has room for 2048; give fewer by --tokens, a \
                        shorter text, or `--reference`\n";
        assert_eq!(output(&long, open), (2, String::new(), expected.into()));

        // Cycles by layer and by part come last, if they are asked for.
        for (given, ending) in
            [(&["--parts"][..], "simulated seconds per second\nthe parts\n"), (&[], "per second\n")]
        {
            let (code, _, errors) = output(&[&base[..4], &["--tokens", "1"], given].concat(), open);
            assert!(code == 0 && errors.ends_with(ending), "{errors}");
        }

        // Scores.
        let scored = File::new("scored.txt", b"abca");
        let (code, lines, report) =
            output(&["--model", file.path(), "--score", scored.path(), "--reference"], settings);
        assert_eq!((code, report.starts_with("tokens: 3 scored\n")), (0, true), "{report}");
        model.clear();
        let tokens = tokenizer.encode("abca").unwrap();
        let mut expected = Vec::new();
        model.score(&tokens[..3], &mut |logits| expected.push(logits.to_vec()));
        assert_eq!(lines.lines().count(), 3);
        for ((line, logits), token) in lines.lines().zip(expected).zip(&tokens[1..]) {
            let (id, score) = line.split_once(' ').unwrap();
            let score: f64 = score.parse().unwrap();
            assert_eq!(id, token.to_string());
            assert!((score - log_probability(&logits, *token)).abs() < 1e-6, "{line}");
        }
    }

    /// A tokenizer of letters, digits and what messages have.
    fn letters() -> Tokenizer {
        let special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
        let mut tokens: Vec<String> = special.map(str::to_string).to_vec();
        tokens.extend(('!'..='~').chain(['Ġ', 'Ċ']).map(String::from));
        let special = (0..tokens.len()).map(|token| token < special.len()).collect();
        Tokenizer::new(Vocabulary { tokens, special, merges: Vec::new() }).unwrap()
    }

    fn first(arguments: &[&str]) -> Result<(Vec<u32>, usize), String> {
        let line = [&["--model", "m"], arguments].concat();
        let options = Options::parse(line.iter().map(OsString::from)).unwrap().unwrap();
        first_tokens(&options, &letters()).map_err(|refusal| refusal.0)
    }

    #[test]
    fn texts_that_do_not_fit_are_refused() {
        let (one, two) = (File::new("one.txt", b"a"), File::new("two.txt", b"ab"));
        let wrong = File::new("wrong.txt", &[0xff]);
        let full = "a".repeat(CONTEXT);
        assert_eq!(first(&["--prompt", "abc", "--tokens", "8189"]).unwrap().1, CONTEXT);
        assert_eq!(first(&["--score", two.path()]).unwrap().1, 2);
        assert_eq!(first(&["--chat"]).unwrap(), (Vec::new(), 0));
        let long = File::new("long.txt", full.as_bytes());
        assert_eq!(first(&["--score", long.path()]).unwrap().1, CONTEXT);
        let longer = File::new("longer.txt", (full + "a").as_bytes());
        for (arguments, expected) in [
            (&["--prompt", ""][..], "--prompt: there is no token to continue; write a word"),
            (
                &["--prompt", "abc", "--tokens", "8190"],
                "the text has 3 tokens, and 8190 more are asked for; there is room for 8192; give fewer by --tokens, or a \
                 shorter text",
            ),
            (&["--score", one.path()], "--score: the text has 1 tokens; a score takes 2 at least"),
            (&["--score", longer.path()], "the text has 8193 tokens; there is room for 8192; cut it"),
            (
                &["--prompt", "a\u{e9}"],
                "the text has byte 0xc3 at position 1, for which the vocabulary has no token; ",
            ),
        ] {
            let message = first(arguments).unwrap_err();
            assert!(message.starts_with(expected), "{message}");
        }
        for path in [wrong.path(), "/no/such/file"] {
            let message = first(&["--score", path]).unwrap_err();
            assert!(message.starts_with(&format!("--score: `{path}` cannot be read as text: ")), "{message}");
        }
    }

    #[test]
    fn each_line_of_the_input_has_an_answer() {
        let tokenizer = letters();
        let [a, b] = ["a", "b"].map(|text| tokenizer.encode(text).unwrap()[0]);
        // The first answer ends by itself, the second one at the limit.
        let mut model = Script::new(&[a, b, 2, b, b, b]);
        let mut text = Text::new(&mut model, &tokenizer, Sampler::new(0.0, 0));
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let mut input = "Hi\r\nBye\nMore".as_bytes();
        let mut streams = Streams { input: &mut input, output: &mut output, errors: &mut errors };
        let (one, more) = (chat::message("Hi", true) + "ab", chat::message("Bye", false) + "bbb");
        let room = tokenizer.encode(&(one.clone() + &more)).unwrap().len() + 10;
        let Err(Stop::Refused(refusal)) = converse(&mut text, &tokenizer, 3, room, &mut streams) else {
            panic!("the third message has no room");
        };
        assert!(
            refusal.0.ends_with(&format!("; there is room for {room}: begin another one")),
            "{}",
            refusal.0
        );
        assert_eq!(String::from_utf8(output).unwrap(), "ab\nbbb\n");
        // The last token of an answer that the limit ended was not given yet.
        let mut given = model.given.concat();
        given.push(b);
        assert_eq!(given, tokenizer.encode(&(one + &more)).unwrap());
    }

    #[test]
    fn vocabularies_of_another_kind_are_refused() {
        let message = |key: &str, value: Option<Value>| {
            let mut draft = draft();
            match value {
                Some(value) => *draft.key(key) = value,
                None => draft.keys.retain(|(name, _)| *name != key),
            }
            Vocabulary::of(&draft.open()).err().unwrap().0
        };
        for (key, value, expected) in [
            ("tokenizer.ggml.model", Some(Value::text("llama")), "is `llama`; it must be `gpt2`"),
            ("tokenizer.ggml.model", None, "is missing, or no text; it must be `gpt2`"),
            ("tokenizer.ggml.pre", Some(Value::text("qwen2")), "is `qwen2`; it must be `smollm`"),
            ("tokenizer.ggml.tokens", None, "is missing, or is no array of texts"),
            ("tokenizer.ggml.merges", Some(numbers(&[1])), "is missing, or is no array of texts"),
            (
                "tokenizer.ggml.token_type",
                Some(texts(&["1".into()])),
                "is missing, or is no array of numbers of 32 bits",
            ),
            ("tokenizer.ggml.token_type", Some(numbers(&[1, 6])), "of token 1 is 6; it must be 1 or 3"),
        ] {
            let message = message(key, value);
            assert!(message.starts_with(&format!("`{key}` {expected}; ")), "{message}");
        }
    }

    #[test]
    fn codes_tell_who_must_act() {
        let (code, help, errors) = output(&["--help"], settings);
        assert_eq!((code, help.as_str(), errors.as_str()), (0, HELP, ""));
        let (code, text, message) = output(&["--model", "/no/file", "--prompt", "a"], settings);
        assert_eq!((code, text.as_str()), (2, ""));
        assert!(message.starts_with("error: `/no/file` cannot be read: "), "{message}");
        let (code, _, message) = output(&[], settings);
        assert_eq!((code, message.starts_with("error: `--model` is missing; ")), (2, true));

        /// A stream that fails.
        struct Closed(io::ErrorKind);

        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        for (kind, code, expected) in [
            (io::ErrorKind::BrokenPipe, 0, ""),
            (io::ErrorKind::StorageFull, 1, "error: the output cannot be written: "),
        ] {
            let (mut output, mut errors) = (Closed(kind), Vec::new());
            let mut streams = Streams { input: &mut io::empty(), output: &mut output, errors: &mut errors };
            let given = run(["--help".into()], &mut streams, settings);
            let errors = String::from_utf8(errors).unwrap();
            assert!(
                given == code && errors.starts_with(expected) && errors.is_empty() == expected.is_empty(),
                "{errors}"
            );
        }
    }
}
