//! Tokens of a text, and the text of tokens.
//!
//! Tokens are sequences of bytes, merged pair by pair in the order of a list. Text is first cut at digits, which are tokens of
//! their own, and then into words. Special tokens are found in a text by their names, for example `<|im_end|>`.

use crate::gguf::Gguf;
use crate::refusal::{Refusal, shown};
use gguf_rs_lib::format::{MetadataArray, MetadataValue};
use std::io::{Read, Seek};
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{AddedToken, Tokenizer as Encoder};

/// Closing words of refusals.
const EDIT: &str = "give the file that `models/fetch.sh` fetches";

/// A vocabulary as a file lists it.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// The tokens: a character for each byte, or the name of a special token.
    pub tokens: Vec<String>,
    /// True for special tokens.
    pub special: Vec<bool>,
    /// Pairs of tokens that are merged, the first ones first: both, with a space between them.
    pub merges: Vec<String>,
}

/// Both directions between text and tokens.
#[derive(Debug)]
pub struct Tokenizer {
    encoder: Encoder,
    /// Bytes of each token; none of a special one.
    bytes: Vec<Vec<u8>>,
}

impl Vocabulary {
    /// The vocabulary of an open file.
    ///
    /// # Errors
    ///
    /// If it is of another kind, or if its tables do not fit each other.
    pub fn of<R: Read + Seek>(file: &Gguf<R>) -> Result<Self, Refusal> {
        for (key, must) in [("tokenizer.ggml.model", "gpt2"), ("tokenizer.ggml.pre", "smollm")] {
            let text = file.value(key).and_then(MetadataValue::as_str);
            if text != Some(must) {
                let found = text.map_or("missing, or no text".into(), |text| format!("`{}`", shown(text)));
                return Err(format!("`{key}` is {found}; it must be `{must}`; {EDIT}").into());
            }
        }
        let tokens =
            array(file, "tokenizer.ggml.tokens", "texts", |value| value.as_str().map(str::to_string))?;
        let types = array(file, "tokenizer.ggml.token_type", "numbers of 32 bits", |value| match value {
            MetadataValue::I32(value) => Some(*value),
            _ => None,
        })?;
        let merges =
            array(file, "tokenizer.ggml.merges", "texts", |value| value.as_str().map(str::to_string))?;
        // Type 1 is a token of bytes, and 3 one of control.
        if let Some((token, kind)) = types.iter().enumerate().find(|(_, kind)| !matches!(kind, 1 | 3)) {
            return Err(format!(
                "`tokenizer.ggml.token_type` of token {token} is {kind}; it must be 1 or 3; {EDIT}"
            )
            .into());
        }
        Ok(Self { tokens, special: types.iter().map(|kind| *kind == 3).collect(), merges })
    }
}

fn array<R: Read + Seek, T>(
    file: &Gguf<R>,
    key: &str,
    what: &str,
    value: impl Fn(&MetadataValue) -> Option<T>,
) -> Result<Vec<T>, Refusal> {
    let values = match file.value(key) {
        Some(MetadataValue::Array(array)) => MetadataArray::iter(array).map(value).collect(),
        _ => None,
    };
    values.ok_or_else(|| format!("`{key}` is missing, or is no array of {what}; {EDIT}").into())
}

impl Tokenizer {
    /// The tokenizer of a vocabulary.
    ///
    /// # Errors
    ///
    /// If tables have different lengths, if a token occurs twice, if a merge names no tokens, or if a token has a character that is
    /// no byte.
    pub fn new(vocabulary: Vocabulary) -> Result<Self, Refusal> {
        let Vocabulary { tokens, special, merges } = vocabulary;
        let (count, kinds) = (tokens.len(), special.len());
        if count != kinds {
            return Err(
                format!("the vocabulary has {count} tokens and {kinds} types of tokens; {EDIT}").into()
            );
        }
        let mut bytes = Vec::with_capacity(count);
        for (id, (token, special)) in tokens.iter().zip(&special).enumerate() {
            let own: Option<Vec<u8>> =
                if *special { Some(Vec::new()) } else { token.chars().map(byte).collect() };
            let Some(own) = own else {
                let token = shown(token);
                return Err(format!(
                    "token {id}, `{token}`, has a character that stands for no byte; {EDIT}"
                )
                .into());
            };
            bytes.push(own);
        }
        let mut ids = Vocab::default();
        for (id, token) in (0..).zip(&tokens) {
            if let Some(first) = ids.insert(token.clone(), id) {
                let token = shown(token);
                return Err(format!("`{token}` is both token {first} and token {id}; {EDIT}").into());
            }
        }
        let pairs = pairs(&merges, &ids)?;
        let model = BPE::builder().vocab_and_merges(ids, pairs).build();
        let model =
            model.map_err(|error| Refusal(format!("the merges do not fit the tokens: {error}; {EDIT}")))?;
        let mut encoder = Encoder::new(model);
        let digits = PreTokenizerWrapper::Digits(Digits::new(true));
        let words = PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, false, true));
        encoder.with_pre_tokenizer(Some(Sequence::new(vec![digits, words])));
        let names = tokens.into_iter().zip(special).filter(|(_, special)| *special);
        encoder.add_special_tokens(names.map(|(name, _)| AddedToken::from(name, true)))?;
        Ok(Self { encoder, bytes })
    }

    /// Tokens of a text. Names of special tokens are those tokens.
    ///
    /// # Errors
    ///
    /// If a character has bytes that are no token. Such characters are rare; the vocabulary of the network lacks some.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, Refusal> {
        let encoding = self.encoder.encode_fast(text, false)?;
        let tokens = encoding.get_ids().to_vec();
        let mut rest = text.as_bytes();
        for &token in &tokens {
            let name;
            let bytes = match self.bytes(token) {
                [] => {
                    name = self.encoder.id_to_token(token).unwrap_or_default();
                    name.as_bytes()
                }
                bytes => bytes,
            };
            let Some(behind) = rest.strip_prefix(bytes) else { break };
            rest = behind;
        }
        if let [byte, ..] = rest {
            let at = text.len() - rest.len();
            return Err(format!(
                "the text has byte {byte:#04x} at position {at}, for which the vocabulary has no token; leave its character out"
            )
            .into());
        }
        Ok(tokens)
    }

    /// Bytes of a token. A special token has none.
    ///
    /// # Panics
    ///
    /// If the vocabulary has no such token.
    pub fn bytes(&self, token: u32) -> &[u8] {
        &self.bytes[token as usize]
    }

    /// Number of tokens.
    pub fn count(&self) -> usize {
        self.bytes.len()
    }
}

/// Both tokens of each merge.
fn pairs(merges: &[String], ids: &Vocab) -> Result<Vec<(String, String)>, Refusal> {
    let mut pairs = Vec::with_capacity(merges.len());
    for (at, merge) in merges.iter().enumerate() {
        let pair = merge.split_once(' ').filter(|(first, second)| {
            [*first, *second, &format!("{first}{second}")].iter().all(|token| ids.contains_key(*token))
        });
        let Some((first, second)) = pair else {
            let merge = shown(merge);
            return Err(format!(
                "merge {at} is `{merge}`; it must be two tokens with a space between them, which together are a token; {EDIT}"
            )
            .into());
        };
        pairs.push((first.to_string(), second.to_string()));
    }
    Ok(pairs)
}

/// The byte that a character of a token stands for. Bytes that are visible in Latin-1 are their own characters; the others are
/// the characters from 256 on, in their order.
fn byte(character: char) -> Option<u8> {
    let is_visible = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    match u8::try_from(character) {
        Ok(byte) => Some(byte).filter(|byte| is_visible(*byte)),
        Err(_) => {
            (0..=255).filter(|byte| !is_visible(*byte)).nth(usize::try_from(character as u32 - 256).ok()?)
        }
    }
}

/// Text of tokens as they come. Bytes of a character that is not complete are kept back.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    kept: Vec<u8>,
}

impl Decoder {
    /// The characters that are complete with the bytes of another token. Bytes that can be of no character are `\u{fffd}`.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.kept.extend_from_slice(bytes);
        let mut text = String::new();
        let mut rest = self.kept.as_slice();
        while let Err(error) = std::str::from_utf8(rest) {
            let (valid, behind) = rest.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            rest = behind;
            let Some(wrong) = error.error_len() else { break };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = &rest[wrong..];
        }
        if let Ok(valid) = std::str::from_utf8(rest) {
            text.push_str(valid);
            rest = &[];
        }
        self.kept = rest.to_vec();
        text
    }

    /// The bytes that were kept back, which are no character.
    pub fn end(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.kept)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vocabulary of all bytes, two special tokens, and the words of some merges.
    fn vocabulary() -> Vocabulary {
        let mut tokens: Vec<String> = ["<|end|>", "<|start|>"].map(str::to_string).to_vec();
        tokens.extend((0..512).filter_map(char::from_u32).filter(|c| byte(*c).is_some()).map(String::from));
        let merges =
            ["h e", "l l", "he ll", "hell o", "Ġ h", "Ġ 1", "1 9", "Ġ Ġ", "Ã ¤"].map(str::to_string).to_vec();
        tokens.extend(merges.iter().map(|merge| merge.replace(' ', "")));
        let special = (0..tokens.len()).map(|token| token < 2).collect();
        Vocabulary { tokens, special, merges }
    }

    fn words(text: &str) -> Vec<String> {
        let (vocabulary, tokenizer) = (vocabulary(), Tokenizer::new(vocabulary()).unwrap());
        let tokens = tokenizer.encode(text).unwrap();
        tokens.iter().map(|token| vocabulary.tokens[*token as usize].clone()).collect()
    }

    #[test]
    fn each_byte_has_one_character() {
        let mut seen = [false; 256];
        for character in (0..0x400).filter_map(char::from_u32) {
            if let Some(byte) = byte(character) {
                assert!(!std::mem::replace(&mut seen[usize::from(byte)], true), "{character}");
            }
        }
        assert_eq!(seen, [true; 256]);
        assert_eq!(
            [byte('A'), byte('Ġ'), byte('Ċ'), byte('Ń')],
            [Some(b'A'), Some(b' '), Some(b'\n'), Some(0xad)]
        );
    }

    #[test]
    fn text_is_cut_at_digits_and_words_and_merged_in_order() {
        assert_eq!(words("hello"), ["hello"]);
        // `he` comes before `Ġ h`.
        assert_eq!(words(" hello"), ["Ġ", "hello"]);
        assert_eq!(words(" h"), ["Ġh"]);
        // A digit is a token whatever the merges say.
        assert_eq!(words("he 19"), ["he", "Ġ", "1", "9"]);
        // The last space belongs to the next word.
        assert_eq!(words("he   hll"), ["he", "ĠĠ", "Ġh", "ll"]);
        assert_eq!(words("ä\n"), ["Ã¤", "Ċ"]);
        assert_eq!(words("<|start|>he<|end|>"), ["<|start|>", "he", "<|end|>"]);
        assert!(words("").is_empty());
    }

    #[test]
    fn text_comes_back() {
        let tokenizer = Tokenizer::new(vocabulary()).unwrap();
        let text = "hello wörld, 1969: 日本 🙂\r\n\t  \u{0}end";
        let mut decoder = Decoder::default();
        let tokens = tokenizer.encode(text).unwrap();
        let back: String = tokens.iter().map(|token| decoder.push(tokenizer.bytes(*token))).collect();
        assert_eq!(back + &decoder.end(), text);
    }

    #[test]
    fn characters_are_printed_when_they_are_complete() {
        let mut decoder = Decoder::default();
        let [a, b, c, d] = *"🙂".as_bytes() else { panic!("the character has four bytes") };
        assert_eq!(
            [decoder.push(&[b'x', a]), decoder.push(&[b, c]), decoder.push(&[d, b'y'])],
            ["x", "", "🙂y"]
        );
        assert_eq!(decoder.end(), "");
        // A byte that begins no character, a character that another one cuts, and the end of the text in one.
        assert_eq!(decoder.push(&[0xff, b'a', a, b, b'b', a]), "\u{fffd}a\u{fffd}b");
        assert_eq!(decoder.end(), "\u{fffd}");
    }

    fn refused(change: impl Fn(&mut Vocabulary)) -> String {
        let mut vocabulary = vocabulary();
        change(&mut vocabulary);
        Tokenizer::new(vocabulary).unwrap_err().0
    }

    #[test]
    fn vocabularies_that_do_not_fit_are_refused() {
        for (message, expected) in [
            (refused(|all| all.special.truncate(9)), "the vocabulary has 267 tokens and 9 types of tokens"),
            (
                refused(|all| all.tokens[3] = "a b".into()),
                "token 3, `a b`, has a character that stands for no byte",
            ),
            (refused(|all| all.tokens[9] = all.tokens[8].clone()), "is both token 8 and token 9"),
            (
                refused(|all| all.merges[1] = "he".into()),
                "merge 1 is `he`; it must be two tokens with a space between",
            ),
            (refused(|all| all.merges[1] = "x hello".into()), "merge 1 is `x hello`; it must be two tokens"),
            (
                refused(|all| all.merges[1] = "hello hello".into()),
                "merge 1 is `hello hello`; it must be two tokens",
            ),
        ] {
            assert!(message.contains(expected), "{message}");
            assert!(message.ends_with(EDIT), "{message}");
        }
    }

    #[test]
    fn bytes_without_a_token_are_refused() {
        let mut vocabulary = vocabulary();
        let at = vocabulary.tokens.iter().position(|token| token == "z").unwrap();
        vocabulary.tokens.remove(at);
        vocabulary.special.remove(at);
        let message = Tokenizer::new(vocabulary).unwrap().encode("he zoo").unwrap_err().0;
        assert_eq!(
            message,
            "the text has byte 0x7a at position 3, for which the vocabulary has no token; leave its character out"
        );
    }
}
