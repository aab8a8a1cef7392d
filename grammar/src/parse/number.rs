//! Numbers of positions: digits or a constant in braces, and the kinds of padding before them.

use std::fmt;

use super::MARGIN;
use crate::{Error, Number, Operator, Token, TokenKind};

const KINDS: &str = "the kinds are `#{*}` (the same as `#`: any value), `#{!}` (no access, here the same as `#`) and \
                     `#{0}` (known to be 0)";

/// Passes the kind of a padding: `{*}`, `{!}` or `{0}` between `#` and the number, which stays in `rest`.
///
/// Braces before a number or before other braces are a kind; all others are the number.
pub fn pass_kind<S: Clone, E: fmt::Display>(
    operator: Operator,
    rest: &mut &[Token<S, E>],
) -> Result<(), Error<S>> {
    let [Token { kind: TokenKind::Escape(content), span }, after @ ..] = *rest else { return Ok(()) };
    if operator != Operator::Padding {
        return Ok(());
    }
    let kind: String = content.to_string().split_whitespace().collect();
    let number_follows =
        matches!(after.first(), Some(Token { kind: TokenKind::Number(_) | TokenKind::Escape(_), .. }));
    let message = match kind.as_str() {
        "*" | "!" if number_follows => {
            *rest = after;
            return Ok(());
        }
        "*" | "!" => {
            format!("no number follows `#{{{kind}}}`; write the size after padding, for example `#{{{kind}}} 8`")
        }
        _ if !number_follows => return Ok(()),
        "0" => "`#{0}` promises zeros, and no mapping here carries such a promise; write `#`: a fetch replaces the \
                padding of the innermost axis of its packets by 0, and `pad_value` gives another value"
            .to_string(),
        _ => format!("`#{{{kind}}}` is no kind of padding; {KINDS}"),
    };
    Err(Error::new(message, span.clone()))
}

/// The content of braces in the place of a number. Digits are the number that they are without the braces.
fn braced<E: Clone + fmt::Display>(content: &E) -> Result<Number<E>, String> {
    let text = content.to_string();
    let text = text.trim();
    match text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    {
        true => number(text).map(Number::Plain),
        false => Ok(Number::Braced(content.clone())),
    }
}

/// A number of dead positions.
pub fn amount<S: Clone, E: Clone + fmt::Display>(token: &Token<S, E>) -> Result<Number<E>, Error<S>> {
    const ZERO: &str = "`# 0` adds no position; leave it out";
    let message = match &token.kind {
        TokenKind::Number(text) => match number(text) {
            Ok(0) => ZERO.to_string(),
            Ok(n) => return Ok(Number::Plain(n)),
            Err(problem) => problem,
        },
        TokenKind::Escape(content) => match braced(content) {
            Ok(Number::Plain(0)) => ZERO.to_string(),
            Ok(n) => return Ok(n),
            Err(problem) => problem,
        },
        _ => format!("the number of dead positions must be a plain number, found {token}; {MARGIN}"),
    };
    Err(Error::new(message, token.span.clone()))
}

/// The number on the right side of an operator.
pub fn number_after<S: Clone, E: Clone + fmt::Display>(
    operator: Operator,
    token: &Token<S, E>,
) -> Result<Number<E>, Error<S>> {
    let symbol = operator.symbol();
    let message = match &token.kind {
        TokenKind::Number(text) => match number(text) {
            Ok(0) => zero(operator).to_string(),
            Ok(n) => return Ok(Number::Plain(n)),
            Err(problem) => problem,
        },
        TokenKind::Escape(content) => match braced(content) {
            Ok(Number::Plain(0)) => zero(operator).to_string(),
            Ok(n) => return Ok(n),
            Err(problem) => problem,
        },
        TokenKind::Punct('=') if operator == Operator::Resize => {
            "`==` is not a mapping operator; to truncate write one `=`, for example `A = 4`".to_string()
        }
        TokenKind::Punct('-') => format!(
            "the right side of `{symbol}` must be a plain number, and `-` makes it negative; write a number of at \
             least 1"
        ),
        TokenKind::Ident(name) => format!(
            "the right side of `{symbol}` must be a plain number, found `{name}`; a macro cannot read constants or \
             sizes of axes, write the number itself, for example `{symbol} 4`"
        ),
        _ => format!(
            "the right side of `{symbol}` must be a plain number, found {token}; write for example `{symbol} 4`"
        ),
    };
    Err(Error::new(message, token.span.clone()))
}

fn zero(operator: Operator) -> &'static str {
    match operator {
        Operator::Stride => {
            "stride: `/ 0` would take every 0th position; the stride is at least 1, and `/ 1` keeps all"
        }
        Operator::Modulo => {
            "modulo: `% 0` would keep no position; the period is at least 1, and `% 1` keeps the first"
        }
        Operator::Resize => {
            "resize: `= 0` would leave no position; the size is at least 1, and `= 1` keeps the first"
        }
        Operator::Padding => {
            "padding: `# 0` is smaller than any mapping; pad to at least the size of the left side"
        }
    }
}

/// The value of a plain decimal number, or what is wrong with it.
pub fn number(text: &str) -> Result<usize, String> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits
            .parse()
            .map_err(|_| format!("`{text}` is too large; a size is at most {}", usize::MAX));
    }
    let after_digits = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let plain = &digits[..digits.len() - after_digits.len()];
    let lower = after_digits.to_ascii_lowercase();
    if plain == "0" && lower.starts_with(['x', 'o', 'b']) {
        return Err(format!("`{text}` is not a plain decimal number; write it without a radix prefix"));
    }
    let exponent = lower.strip_prefix('e').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if lower.starts_with('.') || exponent || lower == "f32" || lower == "f64" {
        return Err(format!(
            "`{text}` is not an integer; sizes are plain decimal integers, for example `{plain}`"
        ));
    }
    Err(format!("`{text}` has the suffix `{after_digits}`; write the number without it: `{plain}`"))
}
