//! Uploads whose mapping a launch decides.
//!
//! ```text
//!   let a = HostTensor::<…, m![M, K]>::from_slice(…).to_hbm(&mut ctx.pdma, AUTO).await;     refused: no place for M
//!   let b = HostTensor::<…, m![N, K]>::from_slice(…).to_hbm(&mut ctx.pdma, AUTO).await;
//!   launch(product, (&mut *ctx, &b, &a)).await                                             wrong
//! ```
//!
//! The calls name no mapping, so that the compiler takes those of the kernel's arguments, and refuses the uploads. The
//! error is shown at the launch.

use super::text::Source;
use core::ops::Range;
use serde_json::Value;

/// A refused upload, and the argument of a launch that decides its mapping.
#[derive(Debug, PartialEq)]
pub struct Upload {
    /// The variable.
    name: String,
    /// The kernel.
    kernel: String,
    /// The number of the argument, from 1. The context is none.
    number: usize,
    /// The bytes of the argument.
    pub argument: Range<usize>,
    /// The first byte of the launch.
    pub launch: usize,
    /// The tensor that the kernel takes, the axis that it lacks, and the tensor of the host.
    types: [String; 3],
}

impl Upload {
    /// `None`: another refusal, or an upload that names its mapping. `chain` is the chain of calls that is refused.
    pub fn of(words: &str, chain: &Value, source: &Source) -> Option<Self> {
        if !words.starts_with("to_hbm: the destination `") || !words.contains("of the source `HostTensor<") {
            return None;
        }
        let mut quoted = words.split('`').skip(1).step_by(2).map(String::from);
        let types = [quoted.next()?, quoted.next()?, quoted.next()?];
        let [start, end] =
            ["byte_start", "byte_end"].map(|field| usize::try_from(chain[field].as_u64()?).ok());
        let (before, after) = (source.text().get(..start?)?, source.text().get(end?..)?);
        if source.text()[start?..end?].contains("to_hbm::<") {
            return None;
        }
        let name = before[before.rfind("let ")? + "let ".len()..].trim_end().strip_suffix('=')?.trim();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let (launch, rest) = is_name.then(|| launches(after).find(|(_, list)| has_word(list, name)))??;
        let is_shadowed = after[..launch].contains(&format!("let {name} "));
        let (kernel, arguments) = rest.split_once(',')?;
        let first = launch + "launch(".len() + kernel.len() + 1;
        let tuple = arguments.trim_start();
        let open = first + (arguments.len() - tuple.len()) + 1;
        let mut at = end? + open;
        for (number, argument) in top_level(tuple.strip_prefix('(')?).into_iter().enumerate() {
            let text = argument.trim();
            let start = at + (argument.len() - argument.trim_start().len());
            if number > 0 && has_word(text, name) && !is_shadowed {
                return Some(Self {
                    name: name.into(),
                    kernel: kernel.trim().into(),
                    number,
                    argument: start..start + text.len(),
                    launch: end? + launch,
                    types,
                });
            }
            at += argument.len() + 1;
        }
        None
    }

    /// The error at the launch.
    pub fn message(&self) -> String {
        let [taken, ..] = &self.types;
        format!("launch: argument {} of `{}` is `{taken}`, {}", self.number, self.kernel, self.lacks())
    }

    /// The words at the argument.
    pub fn label(&self) -> String {
        format!("argument {} is `{}`, {}", self.number, self.types[0], self.lacks())
    }

    fn lacks(&self) -> String {
        let [_, axis, given] = &self.types;
        format!("which has no place for `{axis}` of `{}`, made of `{given}`", self.name)
    }

    /// The edit, beside another upload of the launch that is refused.
    pub fn help(&self, other: Option<&Self>, source: &Source) -> String {
        let inferred = "uploads that name no mapping get that of the argument";
        match other.filter(|other| self.fits(other) && other.fits(self)) {
            Some(other) => {
                let [one, two] = [self, other].map(|upload| &source.text()[upload.argument.clone()]);
                format!("swap `{one}` and `{two}`: {inferred}")
            }
            None => format!(
                "give a tensor of this mapping here, or change the argument of `{}`: {inferred}",
                self.kernel
            ),
        }
    }

    /// True if the tensor of the host is of the mapping that the argument of another upload has.
    fn fits(&self, other: &Self) -> bool {
        let of_host = self.types[2].trim_start_matches("HostTensor<");
        other.types[0].ends_with(of_host)
    }
}

/// The launches of a text: their places, and the text between their brackets.
fn launches(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("launch(").filter_map(|(at, call)| {
        let rest = &text[at + call.len()..];
        let end = closing(rest)?;
        Some((at, &rest[..end]))
    })
}

/// The place of the bracket that closes a list.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        (depth < 0).then_some(at)
    })
}

/// The items of a list, up to its end.
fn top_level(text: &str) -> Vec<&str> {
    let text = &text[..closing(text).unwrap_or(text.len())];
    let mut depth = 0;
    text.split(|c: char| {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        c == ',' && depth == 0
    })
    .collect()
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const WORDS: &str = "to_hbm: the destination `HbmTensor<m![1], m![N, K]>` has no place for `m![M]` of the source \
                         `HostTensor<m![M, K]>`: a move cannot drop or cut an axis";
    const OTHER: &str = "to_hbm: the destination `HbmTensor<m![1], m![M, K]>` has no place for `m![N]` of the source \
                         `HostTensor<m![N, K]>`: a move cannot drop or cut an axis";

    /// The upload of a variable in a text, in which the chain of the upload is `host.to_hbm(…)`.
    fn upload(text: &str, words: &str, name: &str) -> Option<Upload> {
        let start =
            text.find(&format!("let {name} = ")).expect("it is there") + format!("let {name} = ").len();
        let end = start + text[start..].find(')').expect("a call") + 1;
        let chain = json!({ "byte_start": start, "byte_end": end });
        Upload::of(words, &chain, &Source::new("src/main.rs", text.into()))
    }

    #[test]
    fn the_launch_decides() {
        let text = "let a = x.to_hbm(p, AUTO).await;\nlet b = y.to_hbm(p, AUTO).await;\nlaunch(product, (&mut *ctx, &b, &a)).await";
        let source = Source::new("src/main.rs", text.into());
        let (a, b) = (upload(text, WORDS, "a").expect("a"), upload(text, OTHER, "b").expect("b"));
        assert_eq!((&text[a.argument.clone()], a.number), ("&a", 2));
        assert_eq!((&text[b.argument.clone()], b.number), ("&b", 1));
        assert_eq!(a.launch, b.launch);
        assert_eq!(
            a.message(),
            "launch: argument 2 of `product` is `HbmTensor<m![1], m![N, K]>`, which has no place for `m![M]` of `a`, made of \
             `HostTensor<m![M, K]>`"
        );
        assert!(b.help(Some(&a), &source).starts_with("swap `&b` and `&a`: "));
        assert!(
            b.help(None, &source)
                .starts_with("give a tensor of this mapping here, or change the argument of `product`: ")
        );
        // Another launch of other tensors is passed over.
        let more = text.replace("launch(", "launch(f, (c, &d)); try_launch(");
        assert_eq!(&more[upload(&more, WORDS, "a").expect("a").argument], "&a");
    }

    #[test]
    fn the_upload_decides() {
        for text in [
            "let a = x.to_hbm::<m![1], m![N, K]>(p, AUTO).await; launch(f, (c, &a))",
            "let a = x.to_hbm(p, AUTO).await; g(&a)",
            "let a = x.to_hbm(p, AUTO).await; let a = b; launch(f, (c, &a))",
            "let a = x.to_hbm(p, AUTO).await; launch(f, (c, &ab))",
            "let a = x.to_hbm(p, AUTO).await; launch(f, a)",
        ] {
            assert_eq!(upload(text, WORDS, "a"), None, "{text}");
        }
        let text = "let a = x.to_hbm(p, AUTO).await; launch(f, (c, &a))";
        assert_eq!(upload(text, "to_hbm: the address 3 is misaligned", "a"), None);
    }
}
