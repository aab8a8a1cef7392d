//! The user's place of a diagnostic: the span in the user's file, and in it the call that is meant.

use super::sources::Sources;
use serde_json::{Value, json};

/// The span itself or, where a macro made it, the first step of its expansion that is in the user's file.
pub fn users_span(sources: &Sources, span: &Value) -> Option<Value> {
    let mut at = span;
    while !sources.is_users(at["file_name"].as_str().unwrap_or_default()) {
        at = at["expansion"].get("span")?;
    }
    let mut found = at.clone();
    found["is_primary"] = span["is_primary"].clone();
    found["label"] = span["label"].clone();
    Some(found)
}

/// The name of the function that a text such as ``fn Tensor::<'_, A>::fetch::<i8>`` ends in.
pub fn function_name(text: &str) -> Option<&str> {
    let (_, path) = text.split_once("`fn ")?;
    let mut path = path.strip_suffix('`')?;
    if path.ends_with('>') {
        let mut depth = 0;
        let start = path.char_indices().rev().find(|&(_, c)| {
            depth += i32::from(c == '>') - i32::from(c == '<');
            depth == 0
        });
        path = path[..start?.0].strip_suffix("::")?;
    }
    let name = path.rsplit("::").next()?;
    (!name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
}

/// The part of a chain of calls from the last call of a method on: `fetch::<…>()` of `begin(x).fetch::<…>()`. A span
/// without a call of the method stays as it is.
pub fn narrowed(span: &Value, method: &str) -> Value {
    narrow(span, method).unwrap_or_else(|| span.clone())
}

fn narrow(span: &Value, method: &str) -> Option<Value> {
    let lines = span["text"].as_array()?;
    let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let mut parts = Vec::new();
    for line in lines {
        let text: Vec<char> = line["text"].as_str()?.chars().collect();
        let (start, end) = (number(&line["highlight_start"])?, number(&line["highlight_end"])?);
        parts.push(text.get(start.checked_sub(1)?..end.checked_sub(1)?)?.to_vec());
    }
    // The compiler counts brackets around a call to it: `(ctx.main.begin(x).fetch::<…>())`.
    let is_in_brackets = parts.first()?.first() == Some(&'(');
    let plain = last_call(&parts, method, 0).map(|at| (at, 0));
    let bracketed = || last_call(&parts, method, 1).filter(|_| is_in_brackets).map(|at| (at, 1));
    let ((line, column), closing) = plain.or_else(bracketed)?;

    // Lines of the text have lost their line breaks, of one byte or two. All but the last reach the end of their line.
    let bytes = |part: &[char]| part.iter().map(|c| c.len_utf8()).sum::<usize>();
    let given = number(&span["byte_end"])?.checked_sub(number(&span["byte_start"])?)?;
    let ends = given.checked_sub(parts.iter().map(|part| bytes(part)).sum())?;
    let breaks = parts.len() - 1;
    let per_break = ends.checked_div(breaks).unwrap_or(0);
    if per_break * breaks != ends || per_break > 2 {
        return None;
    }
    let skipped: usize = parts[..line].iter().map(|part| bytes(part) + per_break).sum();
    let skipped = skipped + bytes(&parts[line][..column]);

    let mut narrow = span.clone();
    let first_column = number(&lines[line]["highlight_start"])? + column;
    narrow["byte_start"] = json!(number(&span["byte_start"])? + skipped);
    narrow["line_start"] = json!(number(&span["line_start"])? + line);
    narrow["column_start"] = json!(first_column);
    narrow["byte_end"] = json!(number(&span["byte_end"])? - closing);
    narrow["column_end"] = json!(number(&span["column_end"])? - closing);
    let mut text = lines[line..].to_vec();
    text[0]["highlight_start"] = json!(first_column);
    let last = text.last_mut()?;
    last["highlight_end"] = json!(number(&last["highlight_end"])? - closing);
    narrow["text"] = Value::Array(text);
    Some(narrow)
}

/// Tells if a call is in the receiver of another one: if the chain of the other one, as the compiler marks it, starts with
/// the chain of this one, apart from brackets around it.
pub fn is_of_chain(first: &Value, later: &Value) -> bool {
    let starts_with = || {
        let [start, end] = [&first["byte_start"], &first["byte_end"]].map(Value::as_u64);
        let [later_start, later_end] = [&later["byte_start"], &later["byte_end"]].map(Value::as_u64);
        let between = usize::try_from(start?.checked_sub(later_start?)?).ok()?;
        let line = &later["text"][0];
        let column = usize::try_from(line["highlight_start"].as_u64()?).ok()?;
        let brackets: String =
            line["text"].as_str()?.chars().skip(column.checked_sub(1)?).take(between).collect();
        let is_same_file = first["file_name"] == later["file_name"];
        Some(is_same_file && end? < later_end? && brackets == "(".repeat(between))
    };
    starts_with().unwrap_or(false)
}

/// The line and column of the name in the last `.name` inside of `brackets` brackets, and outside of strings and comments.
fn last_call(lines: &[Vec<char>], name: &str, brackets: i32) -> Option<(usize, usize)> {
    let name: Vec<char> = name.chars().collect();
    let is_identifier = |c: &char| c.is_alphanumeric() || *c == '_';
    let (mut depth, mut found) = (0, None);
    for (number, line) in lines.iter().enumerate() {
        let mut at = 0;
        while at < line.len() {
            match line[at] {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => {
                    depth -= 1;
                    let is_end = number + 1 == lines.len() && at + 1 == line.len();
                    if depth < brackets && !is_end {
                        return None;
                    }
                }
                '/' if line.get(at + 1) == Some(&'/') => break,
                '"' => {
                    at += 1;
                    while at < line.len() && line[at] != '"' {
                        at += 1 + usize::from(line[at] == '\\');
                    }
                }
                '\'' if line.get(at + 1) == Some(&'\\') => at += 3,
                '\'' if line.get(at + 2) == Some(&'\'') => at += 2,
                '.' if depth == brackets => {
                    let after = &line[at + 1..];
                    if after.starts_with(&name) && !after.get(name.len()).is_some_and(is_identifier) {
                        found = Some((number, at + 1));
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The span of a text that starts at byte 100, line 10 and the column behind the first line's blanks.
    fn span(text: &str) -> Value {
        let lines: Vec<&str> = text.split('\n').collect();
        let first = lines[0].chars().take_while(|c| *c == ' ').count();
        let highlights = lines.iter().enumerate().map(|(number, line)| {
            let line = line.trim_end_matches('\r');
            let start = if number == 0 { first + 1 } else { 1 };
            json!({ "text": line, "highlight_start": start, "highlight_end": line.chars().count() + 1 })
        });
        let last = lines[lines.len() - 1].chars().count();
        json!({
            "file_name": "src/main.rs", "byte_start": 100, "byte_end": 100 + text.len() - first,
            "line_start": 10, "line_end": 9 + lines.len(), "column_start": first + 1, "column_end": last + 1,
            "text": highlights.collect::<Vec<_>>(),
        })
    }

    /// The text of a narrowed span, by its bytes and by its columns, which must agree.
    fn narrow_text(text: &str, method: &str) -> String {
        let whole = span(text);
        let narrow = narrowed(&whole, method);
        let number = |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("small");
        let first = number(&whole["column_start"]) - 1;
        let by_bytes =
            &text[number(&narrow["byte_start"]) - 100 + first..number(&narrow["byte_end"]) - 100 + first];
        let lines = text.split('\n').skip(number(&narrow["line_start"]) - 10).collect::<Vec<_>>();
        let behind = lines[lines.len() - 1].chars().count() + 1 - number(&narrow["column_end"]);
        let lines: Vec<char> = lines.join("\n").chars().collect();
        let by_columns = &lines[number(&narrow["column_start"]) - 1..lines.len() - behind];
        assert_eq!(by_bytes, by_columns.iter().collect::<String>());
        let highlights = narrow["text"].as_array().expect("lines");
        assert_eq!(highlights[0]["highlight_start"], narrow["column_start"]);
        assert_eq!(highlights[highlights.len() - 1]["highlight_end"], narrow["column_end"]);
        by_bytes.to_string()
    }

    #[test]
    fn the_last_call_is_meant() {
        let chain =
            "    ctx.begin(x.fetch())\n        .fetch::<i8, m![A]>()\n        .collect::<m![B], m![1]>()";
        assert_eq!(narrow_text(chain, "collect"), "collect::<m![B], m![1]>()");
        assert_eq!(narrow_text(chain, "fetch"), "fetch::<i8, m![A]>()\n        .collect::<m![B], m![1]>()");
        assert_eq!(narrow_text(&chain.replace('\n', "\r\n"), "collect"), "collect::<m![B], m![1]>()");
        assert_eq!(narrow_text("é(\".a(\", '(', 'ü').a() // .a(", "a"), "a() // .a(");
    }

    #[test]
    fn a_call_in_brackets_is_meant() {
        assert_eq!(narrow_text("(ctx.begin(x.fetch()).fetch::<i8>())", "fetch"), "fetch::<i8>()");
        let lines = "(ctx.begin(x)\n    .fetch::<i8, m![A]>())";
        assert_eq!(narrow_text(lines, "fetch"), "fetch::<i8, m![A]>()");
        assert_eq!(narrow_text("(x.fetch()).collect()", "collect"), "collect()");
    }

    #[test]
    fn without_the_call_the_span_stays() {
        for text in ["softmax(ctx, x, 1.0)", "x.softmax_of(1)", "f(x.softmax())", "(a).b(x.softmax())"] {
            assert_eq!(narrow_text(text, "softmax"), text);
        }
        let mut wrong = span("a.b()");
        wrong["byte_end"] = json!(300);
        assert_eq!(narrowed(&wrong, "b"), wrong);
    }

    #[test]
    fn names_of_functions() {
        let note = "the above error was encountered while instantiating ";
        for (path, name) in [
            (
                "fn furiosa_visa_std::engine::fetch::<impl StreamTensor<'_, false, ...>>::fetch::<i8, ...>",
                "fetch",
            ),
            ("fn <impl StreamTensor<'_>>::vector_intra_slice_branch", "vector_intra_slice_branch"),
            ("fn softmax::<f32, Pair<Symbol<A>, ...>>", "softmax"),
        ] {
            assert_eq!(function_name(&format!("{note}`{path}`")), Some(name));
        }
        assert_eq!(function_name(note), None);
    }

    #[test]
    fn an_expansion_is_followed_to_the_users_file() {
        let sources = Sources::recorded("/w");
        let inner = json!({ "file_name": "/lib/src/a.rs", "is_primary": true, "label": "l", "expansion": {
            "span": { "file_name": "/lib/src/b.rs", "expansion": {
                "span": { "file_name": "src/main.rs", "line_start": 3, "is_primary": false, "label": null,
                          "expansion": null } } } } });
        let found = users_span(&sources, &inner).expect("the user's");
        assert_eq!((found["line_start"].as_u64(), found["is_primary"].as_bool()), (Some(3), Some(true)));
        assert_eq!(found["label"], "l");
        assert_eq!(users_span(&sources, &inner["expansion"]["span"]["expansion"]), None);
        assert_eq!(users_span(&sources, &json!({ "file_name": "/lib/a.rs", "expansion": null })), None);
    }
}
