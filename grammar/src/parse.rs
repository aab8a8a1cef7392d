//! Tokens to tree.

mod number;

use std::fmt;
use std::ops::Range;

use crate::{Error, MAX_DEPTH, MAX_TERMS, Mapping, Number, Operator, Token, TokenKind, tokenize};
use number::{amount, number, number_after, pass_kind};

const OPERATORS: &str = "the operators are `/` (stride), `%` (modulo), `=` (resize) and `#` (padding)";
const OPERANDS: &str = "an operand is an axis, `1`, a type in braces `{ T }`, or a group `(…)` or `[…]`";

/// Parses the tokens of a mapping.
///
/// `whole` is the place reported when there are no tokens at all.
///
/// # Errors
///
/// Anything outside the grammar, a zero or a number beyond `usize` after an operator, more than [`MAX_TERMS`]
/// operands, nesting deeper than [`MAX_DEPTH`].
pub fn parse<S: Clone, E: Clone + fmt::Display>(
    tokens: &[Token<S, E>],
    whole: S,
) -> Result<Mapping<S, E>, Error<S>> {
    let mut parser = Parser { terms: 0 };
    parser.list(tokens, whole, 1).map(|node| node.mapping)
}

/// Parses the text of a mapping, without the `m![` and `]` around it.
///
/// # Errors
///
/// Those of [`tokenize`] and of [`parse`]. Spans are byte ranges into `text`.
pub fn parse_str(text: &str) -> Result<Mapping<Range<usize>, String>, Error<Range<usize>>> {
    parse(&tokenize(text)?, 0..text.len())
}

/// A finished part of the tree.
struct Node<S, E> {
    mapping: Mapping<S, E>,
    /// Levels from here to the deepest leaf.
    height: usize,
}

impl<S, E> Node<S, E> {
    fn leaf(mapping: Mapping<S, E>) -> Self {
        Self { mapping, height: 0 }
    }

    /// One level above a node of height `below`.
    fn above(below: usize, mapping: Mapping<S, E>, span: &S) -> Result<Self, Error<S>>
    where
        S: Clone,
    {
        if below >= MAX_DEPTH {
            return Err(Error::too_deep(span.clone()));
        }
        Ok(Self { mapping, height: below + 1 })
    }
}

struct Parser {
    /// Operands read so far.
    terms: usize,
}

impl Parser {
    /// `mapping`: everything up to the end of `tokens`. `depth` counts the groups around it, plus one.
    fn list<S: Clone, E: Clone + fmt::Display>(
        &mut self,
        tokens: &[Token<S, E>],
        whole: S,
        depth: usize,
    ) -> Result<Node<S, E>, Error<S>> {
        let Some(first) = tokens.first() else {
            return Err(Error::new(
                format!("the mapping is empty; {OPERANDS}; write `1` for one position"),
                whole,
            ));
        };
        let mut items = Vec::new();
        let mut height = 0;
        let mut rest = tokens;
        while !rest.is_empty() {
            let node = self.member(&mut rest, depth)?;
            height = height.max(node.height);
            items.push(node.mapping);
        }
        if items.len() == 1 {
            let mapping = items.remove(0);
            return Ok(Node { mapping, height });
        }
        Node::above(height, Mapping::Pair { items }, &first.span)
    }

    /// `member`. Leaves the not empty `rest` behind the comma after it, if there is one.
    fn member<S: Clone, E: Clone + fmt::Display>(
        &mut self,
        rest: &mut &[Token<S, E>],
        depth: usize,
    ) -> Result<Node<S, E>, Error<S>> {
        let first = &rest[0];
        let lead = leading(rest)?;
        let (node, plus) = self.postfix(rest, depth)?;
        let trail = match plus {
            Some(plus) => trailing(rest, plus)?,
            None => Number::Plain(0),
        };
        let node = match plus {
            None if lead.is_none() => node,
            _ => {
                let span = if lead.is_none() { &plus.unwrap_or(first).span } else { &first.span };
                let inner = Box::new(node.mapping);
                Node::above(node.height, Mapping::Margin { lead, inner, trail, span: span.clone() }, span)?
            }
        };
        match rest.split_first() {
            Some((comma, after)) if matches!(comma.kind, TokenKind::Punct(',')) => {
                *rest = after;
                Ok(node)
            }
            Some((token, _)) => Err(after_a_margin(token)),
            None => Ok(node),
        }
    }

    /// `postfix`, and the `+` after it if there is one. Leaves `rest` before a comma, or behind the `+`.
    #[expect(clippy::type_complexity, reason = "a private pair of a node and an optional token")]
    fn postfix<'t, S: Clone, E: Clone + fmt::Display>(
        &mut self,
        rest: &mut &'t [Token<S, E>],
        depth: usize,
    ) -> Result<(Node<S, E>, Option<&'t Token<S, E>>), Error<S>> {
        let (first, after) = rest.split_first().expect("a margin and a list look for an operand first");
        *rest = after;
        let mut node = self.atom(first, rest, depth)?;
        let mut previous = first;
        while let Some((token, after)) = rest.split_first() {
            let TokenKind::Punct(character) = token.kind else {
                return Err(missing_operator(previous, token));
            };
            if character == ',' {
                break;
            }
            *rest = after;
            if character == '+' {
                return Ok((node, Some(token)));
            }
            let Some(operator) = Operator::from_symbol(character) else {
                return Err(not_an_operator(character, token, rest.first()));
            };
            pass_kind(operator, rest)?;
            let Some((operand, after)) = rest.split_first() else {
                let message = format!(
                    "nothing follows `{character}`; write a number after it, for example `{character} 4`"
                );
                return Err(Error::new(message, token.span.clone()));
            };
            *rest = after;
            let n = number_after(operator, operand)?;
            let mapping = Mapping::Operation {
                operator,
                inner: Box::new(node.mapping),
                n,
                span: token.span.clone(),
                n_span: operand.span.clone(),
            };
            node = Node::above(node.height, mapping, &token.span)?;
            previous = operand;
        }
        Ok((node, None))
    }

    /// `atom`. `rest` only serves the messages.
    fn atom<S: Clone, E: Clone + fmt::Display>(
        &mut self,
        token: &Token<S, E>,
        rest: &[Token<S, E>],
        depth: usize,
    ) -> Result<Node<S, E>, Error<S>> {
        let span = token.span.clone();
        if let TokenKind::Group { tokens, .. } = &token.kind {
            if depth > MAX_DEPTH {
                return Err(Error::too_deep(span));
            }
            let node = self.list(tokens, span, depth + 1)?;
            return Node::above(node.height, node.mapping, &token.span);
        }
        self.terms += 1;
        if self.terms > MAX_TERMS {
            let message = format!(
                "the mapping has more than {MAX_TERMS} operands; a tensor needs a handful, write fewer"
            );
            return Err(Error::new(message, span));
        }
        match &token.kind {
            TokenKind::Ident(name) if name == "_" => {
                Err(Error::new(format!("`_` is not an axis; {OPERANDS}"), span))
            }
            TokenKind::Ident(name)
                if rest.first().is_some_and(|next| matches!(next.kind, TokenKind::Punct('!'))) =>
            {
                let message =
                    format!("`{name}!` is a macro, not an axis; put it in braces: `{{ {name}![…] }}`");
                Err(Error::new(message, span))
            }
            TokenKind::Ident(name) => Ok(Node::leaf(Mapping::Axis { name: name.clone(), span })),
            TokenKind::Escape(content) => Ok(Node::leaf(Mapping::Escape { content: content.clone(), span })),
            TokenKind::Number(text) => match number(text) {
                Ok(1) => Ok(Node::leaf(Mapping::One { span })),
                Ok(n) => Err(Error::new(
                    format!(
                        "Broadcast not supported: `{text}` is a number without an axis; declare an axis with \
                         `axes![X = {n}]` and name it, or write `1 # {n}` for {n} slots of which one is used",
                        n = n.max(2),
                    ),
                    span,
                )),
                Err(problem) => Err(Error::new(problem, span)),
            },
            TokenKind::Punct(',') => {
                Err(Error::new(format!("an operand is missing before `,`; {OPERANDS}"), span))
            }
            TokenKind::Punct('+') => Err(Error::new(format!("`+` has nothing on its left; {MARGIN}"), span)),
            TokenKind::Punct(character) if Operator::from_symbol(*character).is_some() => Err(Error::new(
                format!("`{character}` has nothing on its left; write an operand before it; {OPERANDS}"),
                span,
            )),
            TokenKind::Punct(_) | TokenKind::Other(_) | TokenKind::Group { .. } => {
                Err(Error::new(format!("{token} cannot start a mapping; {OPERANDS}"), span))
            }
        }
    }
}

const MARGIN: &str = "dead positions are written `# 2 + A + # 4`, before or after an operand";

/// The `# l +` before an operand: how many positions, or 0 where there is none. Leaves `rest` before the operand.
fn leading<S: Clone, E: Clone + fmt::Display>(rest: &mut &[Token<S, E>]) -> Result<Number<E>, Error<S>> {
    let [hash, after @ ..] = *rest else { return Ok(Number::Plain(0)) };
    if !matches!(hash.kind, TokenKind::Punct('#')) {
        return Ok(Number::Plain(0));
    }
    let mut after = after;
    pass_kind(Operator::Padding, &mut after)?;
    let [number, after @ ..] = after else {
        return Err(Error::new(format!("`#` has nothing on its right; {MARGIN}"), hash.span.clone()));
    };
    let lead = amount(number)?;
    let [plus, after @ ..] = after else {
        let message =
            format!("`# {lead}` stands alone; {MARGIN}, and slots of which one is used `1 # {lead}`");
        return Err(Error::new(message, number.span.clone()));
    };
    if !matches!(plus.kind, TokenKind::Punct('+')) {
        let message = format!("a `+` is missing between `# {lead}` and {plus}; {MARGIN}");
        let at = if let TokenKind::Punct(',') = plus.kind { number.span.clone() } else { plus.span.clone() };
        return Err(Error::new(message, at));
    }
    match after.first().map(|token| &token.kind) {
        None | Some(TokenKind::Punct(',')) => {
            let message = format!("nothing follows `# {lead} +`; {MARGIN}");
            return Err(Error::new(message, plus.span.clone()));
        }
        Some(TokenKind::Punct('#')) => {
            let message = format!(
                "`# {lead} +` is followed by more dead positions; add them up to one number; {MARGIN}"
            );
            return Err(Error::new(message, after[0].span.clone()));
        }
        _ => {}
    }
    *rest = after;
    Ok(lead)
}

/// The `# r` after the `+` behind an operand. Leaves `rest` behind it.
fn trailing<S: Clone, E: Clone + fmt::Display>(
    rest: &mut &[Token<S, E>],
    plus: &Token<S, E>,
) -> Result<Number<E>, Error<S>> {
    let [hash, after @ ..] = *rest else {
        return Err(Error::new(format!("nothing follows `+`; {MARGIN}"), plus.span.clone()));
    };
    if let TokenKind::Punct(',') = hash.kind {
        return Err(Error::new(format!("nothing follows `+`; {MARGIN}"), plus.span.clone()));
    }
    if !matches!(hash.kind, TokenKind::Punct('#')) {
        let message = format!("`+` adds dead positions, and {hash} is none; {MARGIN}");
        return Err(Error::new(message, hash.span.clone()));
    }
    let mut after = after;
    pass_kind(Operator::Padding, &mut after)?;
    let [number, after @ ..] = after else {
        return Err(Error::new(format!("`+ #` has nothing on its right; {MARGIN}"), hash.span.clone()));
    };
    *rest = after;
    amount(number)
}

/// Something other than a comma behind `e + # r`.
fn after_a_margin<S: Clone, E>(token: &Token<S, E>) -> Error<S> {
    let message = match token.kind {
        TokenKind::Punct('+') => format!("`+` follows dead positions; add them up to one number; {MARGIN}"),
        TokenKind::Punct(character) if Operator::from_symbol(character).is_some() => format!(
            "`{character}` follows dead positions, which bind looser; put brackets around them, for example \
             `[# 2 + A + # 4] {character} 8`"
        ),
        _ => format!("{token} follows dead positions with nothing between; separate operands with `,`"),
    };
    Error::new(message, token.span.clone())
}

/// Two operands with nothing between them.
fn missing_operator<S: Clone, E>(previous: &Token<S, E>, token: &Token<S, E>) -> Error<S> {
    let message = match token.kind {
        TokenKind::Number(_) => format!("an operator is missing between {previous} and {token}; {OPERATORS}"),
        TokenKind::Other(_) => format!("{token} is not part of a mapping; {OPERATORS}"),
        _ => format!("{token} follows {previous} with nothing between; separate operands with `,`"),
    };
    Error::new(message, token.span.clone())
}

/// A character in the place of an operator that is none.
fn not_an_operator<S: Clone, E>(
    character: char,
    token: &Token<S, E>,
    next: Option<&Token<S, E>>,
) -> Error<S> {
    let doubled = next.is_some_and(|next| matches!(next.kind, TokenKind::Punct(':')));
    let message = match character {
        ':' if doubled => "`::` is not part of a mapping, an operand is a single name; import the axis with `use`, or \
                           write a mapping type in braces: `{ path::Type }`"
            .to_string(),
        ':' => "`:` is not a mapping operator; a position is given in `i![axis: position]`; to truncate write `=`"
            .to_string(),
        ';' => "`;` is not a mapping operator; separate operands with `,`".to_string(),
        _ => format!("`{character}` is not a mapping operator; {OPERATORS}"),
    };
    Error::new(message, token.span.clone())
}

#[cfg(test)]
mod tests;
