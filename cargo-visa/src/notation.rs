//! Types in the notation of a kernel: `Pair<Symbol<A>, Padding<Symbol<B>, 8>>` is `m![A, B # 8]`.

/// The types that `m!` expands to. They are in `crates/rules/src/mapping/constructors.rs` of the library.
const CONSTRUCTORS: [&str; 8] =
    ["Identity", "Symbol", "Stride", "Modulo", "Resize", "Padding", "Margin", "Pair"];

/// The library, as paths name it: the crate that kernels use, and the crate of the mappings.
pub const LIBRARY: [&str; 2] = ["furiosa_visa_std", "furiosa_visa_rules"];

/// A text of the compiler with mappings as `m![…]`, and with the library's items without their modules.
///
/// A type that is no complete mapping stays as it is. Paths to import stay, because they are to be typed.
pub fn rewritten(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if !(next.is_alphabetic() || next == '_') || result.ends_with(is_identifier) {
            result.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        }
        let mut parser = Parser { rest };
        let path = parser.path();
        let raw = &rest[..rest.len() - parser.rest.len()];
        let stands_alone = result.ends_with(['<', ',', '`', '&', '(', '[', ' ']);
        let mapping = Parser { rest }.mapping(&path).filter(|(node, after)| {
            // A word of a sentence is no type.
            let is_word = node.text == "1" && path.len() == 1;
            !is_word || stands_alone && after.starts_with(['>', ',', '`', ')'])
        });
        match mapping {
            Some((node, after)) => {
                result.push_str("m![");
                result.push_str(&node.text);
                result.push(']');
                rest = after;
            }
            None => {
                let is_import = result.ends_with("use ");
                let of_library = path.len() > 1 && LIBRARY.contains(&path[0]) && !is_import;
                let is_type = |segment: &&str| segment.starts_with(char::is_uppercase);
                let start = path.iter().position(is_type).unwrap_or(path.len() - 1);
                let shown = if of_library { path[start..].join("::") } else { raw.to_string() };
                result.push_str(&shown);
                rest = parser.rest;
            }
        }
    }
    result
}

fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A mapping in the grammar of `m!`.
struct Node {
    text: String,
    /// A list or dead positions: in brackets where an operator follows.
    is_compound: bool,
    is_pair: bool,
}

impl Node {
    fn atom(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_compound: false, is_pair: false }
    }

    /// As an operand of an operator.
    fn operand(&self) -> String {
        if self.is_compound { format!("[{}]", self.text) } else { self.text.clone() }
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn identifier(&mut self) -> Option<&'t str> {
        let end = self.rest.find(|c| !is_identifier(c)).unwrap_or(self.rest.len());
        let (name, after) = self.rest.split_at(end);
        self.rest = if end > 0 { after } else { self.rest };
        (end > 0).then_some(name)
    }

    /// `furiosa_visa_std::mapping::Pair`, without its parameters.
    fn path(&mut self) -> Vec<&'t str> {
        let mut path: Vec<&str> = self.identifier().into_iter().collect();
        while let Some(after) = self.rest.strip_prefix("::") {
            let mut next = Self { rest: after };
            let Some(name) = next.identifier() else { break };
            path.push(name);
            self.rest = next.rest;
        }
        path
    }

    fn takes(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(token)?;
        Some(())
    }

    /// The mapping whose path is at the start, and the text behind it.
    fn mapping(mut self, path: &[&str]) -> Option<(Node, &'t str)> {
        let (name, modules) = path.split_last()?;
        let is_library = modules
            .first()
            .is_none_or(|first| LIBRARY.contains(first) || ["mapping", "crate"].contains(first));
        if !is_library || !CONSTRUCTORS.contains(name) {
            return None;
        }
        let node = self.node()?;
        Some((node, self.rest))
    }

    fn node(&mut self) -> Option<Node> {
        self.rest = self.rest.trim_start();
        // The compiler leaves out parts of a long type.
        if self.takes("...").is_some() {
            return Some(Node::atom("…"));
        }
        let path = self.path();
        let name = *path.last()?;
        if !CONSTRUCTORS.contains(&name) {
            // A type that the user's code names. A type with parameters is no mapping.
            let is_plain = !self.rest.starts_with(['<', ':']);
            let text = if name == "_" { name.to_string() } else { format!("{{ {name} }}") };
            return is_plain.then(|| Node::atom(text));
        }
        if name == "Identity" {
            return Some(Node::atom("1"));
        }
        let _ = self.takes("::");
        self.takes("<")?;
        let node = match name {
            "Symbol" => match self.takes("...") {
                Some(()) => Node::atom("…"),
                None => {
                    self.rest = self.rest.trim_start();
                    Node::atom(*self.path().last()?)
                }
            },
            "Pair" => {
                let left = self.node()?;
                self.takes(",")?;
                let right = self.node()?;
                let left = if left.is_pair { left.operand() } else { left.text };
                Node { text: format!("{left}, {}", right.text), is_compound: true, is_pair: true }
            }
            "Margin" => {
                let inner = self.node()?;
                let (lead, trail) = (self.number()?, self.number()?);
                let lead = if lead == "0" { String::new() } else { format!("# {lead} + ") };
                let trail = if trail == "0" { String::new() } else { format!(" + # {trail}") };
                Node { text: format!("{lead}{}{trail}", inner.operand()), is_compound: true, is_pair: false }
            }
            _ => {
                let inner = self.node()?;
                let operator = match name {
                    "Stride" => '/',
                    "Modulo" => '%',
                    "Resize" => '=',
                    _ => '#',
                };
                Node::atom(format!("{} {operator} {}", inner.operand(), self.number()?))
            }
        };
        self.takes(">")?;
        Some(node)
    }

    /// `, 8`, with a suffix, in braces, or with a name.
    fn number(&mut self) -> Option<String> {
        self.takes(",")?;
        if self.takes("...").is_some() {
            return Some("…".to_string());
        }
        let in_braces = self.takes("{").is_some();
        self.rest = self.rest.trim_start();
        let number = self.identifier()?;
        if in_braces {
            self.takes("}")?;
        }
        let digits = number.strip_suffix("usize").unwrap_or(number);
        let number = if digits.is_empty() { number } else { digits };
        // `m!` takes constants in braces.
        let is_name = number != "_" && !number.starts_with(|c: char| c.is_ascii_digit());
        Some(if is_name { format!("{{ {number} }}") } else { number.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(rewritten(given), expected, "{given}");
    }

    #[test]
    fn every_constructor() {
        check("Identity<", "Identity<");
        check("`Identity`", "`m![1]`");
        check("`Symbol<A>`", "`m![A]`");
        check("Stride<Symbol<A>, 4>", "m![A / 4]");
        check("Modulo<Symbol<A>, 4>", "m![A % 4]");
        check("Resize<Symbol<A>, 4usize>", "m![A = 4]");
        check("Padding<Identity, 256>", "m![1 # 256]");
        check("Margin<Symbol<A>, 2, 3>", "m![# 2 + A + # 3]");
        check("Margin<Symbol<A>, 0, 3>", "m![A + # 3]");
        check("Margin<Pair<Symbol<A>, Symbol<B>>, 2, 0>", "m![# 2 + [A, B]]");
        check("Pair<Symbol<A>, Symbol<B>>", "m![A, B]");
    }

    /// Brackets are where `m!` needs them: `Expr::notation` of the library puts them at the same places.
    #[test]
    fn nested() {
        check("Pair<Pair<Symbol<A>, Symbol<B>>, Pair<Symbol<C>, Identity>>", "m![[A, B], C, 1]");
        check("Stride<Pair<Symbol<A>, Symbol<B>>, 3>", "m![[A, B] / 3]");
        check("Modulo<Stride<Padding<Symbol<A>, 16>, 4>, 2>", "m![A # 16 / 4 % 2]");
        check("Stride<Margin<Symbol<A>, 2, 4>, 6>", "m![[# 2 + A + # 4] / 6]");
        check("Pair<Margin<Symbol<A>, 2, 4>, Symbol<B>>", "m![# 2 + A + # 4, B]");
    }

    #[test]
    fn paths() {
        check("furiosa_visa_std::mapping::Symbol<crate::axes::A>", "m![A]");
        check("furiosa_visa_std::mapping::Pair::<mapping::Symbol<A>, Symbol<B>>", "m![A, B]");
        check(
            "`TransposePlan::<furiosa_visa_std::prelude::i4, furiosa_visa_std::mapping::Symbol<A>>::CONFIG`",
            "`TransposePlan::<i4, m![A]>::CONFIG`",
        );
        check(
            "evaluation of `furiosa_visa_std::kernels::softmax::<f32, furiosa_visa_std::mapping::Identity>::{constant#0}`",
            "evaluation of `softmax::<f32, m![1]>::{constant#0}`",
        );
        check(
            "<furiosa_visa_std::mapping::Stride<Symbol<X>, 5> as furiosa_visa_std::mapping::M>::SIZE",
            "<m![X / 5] as M>::SIZE",
        );
    }

    #[test]
    fn arguments_of_tensors() {
        check(
            "expected `&HbmTensor<i8, Identity, Symbol<A>>`, found `&DmTensor<i8, Identity, Padding<Identity, 2>, _, Symbol<B>>`",
            "expected `&HbmTensor<i8, m![1], m![A]>`, found `&DmTensor<i8, m![1], m![1 # 2], _, m![B]>`",
        );
    }

    #[test]
    fn what_the_compiler_leaves_out() {
        check("Pair<..., Symbol<A>>", "m![…, A]");
        check("Stride<_, _>", "m![_ / _]");
        check("Padding<Symbol<N>, {N}>", "m![N # { N }]");
        check("Modulo<Symbol<A>, ROWS>", "m![A % { ROWS }]");
        check("Pair<Time, Symbol<A>>", "m![{ Time }, A]");
    }

    #[test]
    fn what_is_no_mapping_stays() {
        for text in [
            "Pair<u8",
            "my::Pair<Symbol",
            "Pair<Vec<u8>, u8>",
            "Identity is a word, and Symbol too",
            "use furiosa_visa_std::runtime::launch;",
            "MyPair<A, B>",
            "`m![A, B # 8]` holds 5 × 8 bytes …",
        ] {
            check(text, text);
        }
    }
}
