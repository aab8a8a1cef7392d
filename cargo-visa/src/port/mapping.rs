//! Mappings as texts: members, trailing padding, what a commit keeps, what a contraction keeps of its time.
//!
//! Texts are compared without spaces. Sizes are computed where all axes of a mapping are numbers of the same file.

use super::names::Names;
use super::source::{Kind, Source, Tokens};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::parse::{Axes, index_at, parse_mapping};
use std::collections::BTreeSet;

/// The most positions of which two mappings are compared.
const MOST_COMPARED: usize = 1 << 20;

/// The elements that leave a contraction at once.
const BEAT: usize = 8;

/// Depth to which aliases are followed.
const MOST_ALIASES: usize = 16;

/// The text between the brackets of `m![…]`, behind an alias or not. `None` if it is not in this text.
pub fn inside(source: &Source<'_>, names: &Names, text: &str) -> Option<String> {
    let mut text = text.trim().to_string();
    for _ in 0..MOST_ALIASES {
        let rest = text.strip_prefix("m!").map(str::trim_start);
        let inner = rest.and_then(|rest| rest.strip_prefix('[')).and_then(|rest| rest.strip_suffix(']'));
        if let Some(inner) = inner {
            return Some(inner.trim().trim_end_matches(',').trim().to_string());
        }
        let alias = names.alias_of(&text).filter(|alias| alias.parameters.is_empty())?;
        text = source.of(&alias.target).trim().to_string();
    }
    None
}

/// The text without spaces.
pub fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The members of a mapping: what stands between its outermost commas.
pub fn members(inside: &str) -> Vec<String> {
    let (mut members, mut own, mut depth) = (Vec::new(), String::new(), 0usize);
    for c in inside.chars() {
        match c {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                members.push(std::mem::take(&mut own).trim().to_string());
                continue;
            }
            _ => {}
        }
        own.push(c);
    }
    if !own.trim().is_empty() {
        members.push(own.trim().to_string());
    }
    members
}

/// `X # n` as `X` and `n`, if the whole mapping is that. Brackets around `X` are dropped.
pub fn padded(inside: &str) -> Option<(String, usize)> {
    let [one] = <[String; 1]>::try_from(members(inside)).ok()?;
    let (kept, size) = one.rsplit_once('#')?;
    let digits: String = size.trim().chars().filter(|&c| c != '_').collect();
    let size = digits.parse().ok()?;
    let kept = kept.trim();
    // Dead positions before and behind, `# n + X` and `X + # n`, and a `#` inside of a group.
    if kept.is_empty() || kept.ends_with('+') || depth(kept) != 0 {
        return None;
    }
    let unwrapped = kept.strip_prefix('[').and_then(|kept| kept.strip_suffix(']'));
    let kept = unwrapped.filter(|kept| depth(kept) == 0 && !kept.contains(']')).unwrap_or(kept);
    Some((kept.trim().to_string(), size))
}

fn depth(text: &str) -> i32 {
    text.chars().fold(0, |depth, c| match c {
        '[' | '(' | '{' => depth + 1,
        ']' | ')' | '}' => depth - 1,
        _ => depth,
    })
}

/// The mapping with the aliases in its braces written out. `None` if one is not in this text.
fn expanded(source: &Source<'_>, names: &Names, text: &str, left: usize) -> Option<String> {
    let left = left.checked_sub(1)?;
    let Some(open) = text.find('{') else { return Some(text.to_string()) };
    let close = open + text[open..].find('}')?;
    let name = text[open + 1..close].trim();
    let own = expanded(source, names, &inside(source, names, name)?, left)?;
    let rest = expanded(source, names, &text[close + 1..], left)?;
    Some(format!("{}[{own}]{rest}", &text[..open]))
}

/// The axes that a mapping names. `None` if a part of it is not in this text.
pub fn axes(source: &Source<'_>, names: &Names, inside: &str) -> Option<BTreeSet<String>> {
    let text = expanded(source, names, inside, MOST_ALIASES)?;
    if text.contains(['$', '{']) {
        return None;
    }
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    Some(words.filter(|word| word.starts_with(char::is_alphabetic)).map(str::to_string).collect())
}

/// The size of a mapping, if this text has it.
pub fn size(source: &Source<'_>, names: &Names, inside: &str) -> Option<usize> {
    Some(expression(source, names, inside)?.size())
}

/// True if two mappings have the same coordinates at each position, as far as this text tells.
fn is_same(source: &Source<'_>, names: &Names, [left, right]: [&str; 2]) -> bool {
    let [Some(left), Some(right)] = [left, right].map(|text| expression(source, names, text)) else {
        return false;
    };
    let size = left.size();
    size == right.size()
        && size <= MOST_COMPARED
        && (0..size).all(|position| index_at(left, position) == index_at(right, position))
}

/// A mapping as a value.
pub fn expression(source: &Source<'_>, names: &Names, inside: &str) -> Option<&'static Expr> {
    let text = expanded(source, names, inside, MOST_ALIASES)?;
    let declared: Option<Vec<String>> = axes(source, names, inside)?
        .into_iter()
        .map(|axis| names.size_of(&axis).map(|size| format!("{axis}={size}")))
        .collect();
    let declared = declared?;
    let table = if declared.is_empty() { Axes::default() } else { Axes::parse(&declared.join(",")).ok()? };
    parse_mapping(&text, &table).ok()
}

/// The packet that a commit into `element` keeps of `packet`, as a type. `Err` says why it is not known.
pub fn kept_packet(
    source: &Source<'_>,
    names: &Names,
    [time, packet, element]: [Option<&str>; 3],
    is_view: bool,
) -> Result<String, String> {
    let spelled = packet.ok_or("no call of this chain spells the packet")?;
    let inner =
        inside(source, names, spelled).ok_or_else(|| format!("`{spelled}` is not declared in this file"))?;
    let element =
        element.ok_or("the Element of the destination is not spelled, in the call or in an annotation")?;
    let destination =
        inside(source, names, element).ok_or_else(|| format!("`{element}` is not declared in this file"))?;
    let time = time.and_then(|time| inside(source, names, time));
    let sizes = [Some(inner.as_str()), Some(destination.as_str()), time.as_deref()]
        .map(|mapping| mapping.and_then(|mapping| size(source, names, mapping)));
    // A view has holes, which its size counts: there, the text alone decides.
    if let [Some(lanes), Some(positions), Some(steps)] = sizes
        && !is_view
        && positions.is_multiple_of(steps)
        && positions / steps <= lanes
    {
        let window = positions / steps;
        let kept = cut(source, names, spelled, &inner, (lanes, window));
        let place = format!("[{destination}] % {window}");
        if inside(source, names, &kept).is_some_and(|kept| is_same(source, names, [&kept, &place])) {
            return Ok(kept);
        }
    }
    let destination = members(&destination);
    let ends_in = |tail: &[String]| {
        destination.len() >= tail.len()
            && destination[destination.len() - tail.len()..]
                .iter()
                .zip(tail)
                .all(|(left, right)| bare(left) == bare(right))
    };
    let ends = |text: &str| {
        ends_in(&members(text)) || destination.last().is_some_and(|last| is_low_digit(text, last))
    };
    if ends(&inner) {
        return Ok(spelled.to_string());
    }
    if let Some((kept, _)) = padded(&inner) {
        if ends(&kept) {
            return Ok(format!("m![{kept}]"));
        }
        // Less padding, as in `m![X # 32]` to `m![X # 8]`.
        if let Some(last) = destination.last()
            && padded(last).is_some_and(|(other, _)| bare(&other) == bare(&kept))
        {
            return Ok(format!("m![{last}]"));
        }
    }
    Err(format!("it is not known how much of `{spelled}` has a place in `{element}`"))
}

/// True if a packet is `X % n`, and the last member of a destination is `X`, or `X % m` for a multiple `m` of `n`.
fn is_low_digit(packet: &str, last: &str) -> bool {
    let (packet, last) = (bare(packet), bare(last));
    let Some((whole, digit)) = packet.rsplit_once('%') else { return false };
    let Some(digit) = digit.parse::<usize>().ok().filter(|&digit| digit > 0) else { return false };
    let rest = last.strip_prefix(whole);
    !whole.contains(',')
        && rest.is_some_and(|rest| match rest.strip_prefix('%') {
            Some(size) => size.parse::<usize>().is_ok_and(|size| size.is_multiple_of(digit)),
            None => rest.is_empty(),
        })
}

/// The leading `window` of the `lanes` elements of a packet.
fn cut(
    source: &Source<'_>,
    names: &Names,
    spelled: &str,
    inner: &str,
    (lanes, window): (usize, usize),
) -> String {
    if lanes == window {
        return spelled.to_string();
    }
    let list = |text: &str| if members(text).len() > 1 { format!("[{text}]") } else { text.to_string() };
    if let Some((kept, _)) = padded(inner)
        && let Some(size) = size(source, names, &kept)
    {
        if size == window {
            return format!("m![{kept}]");
        }
        if size < window {
            return format!("m![{} # {window}]", list(&kept));
        }
        return format!("m![{} = {window}]", list(&kept));
    }
    format!("m![{} = {window}]", list(inner))
}

/// The stages of a contraction, as they are spelled.
#[derive(Debug)]
pub struct Contraction<'t> {
    pub is_interleaved: bool,
    /// Time of the two operands, if it is spelled.
    pub time: Option<&'t str>,
    /// The columns that leave the tree.
    pub columns: &'t str,
    pub out_time: &'t str,
    pub out_packet: &'t str,
}

/// The time that is left before lanes and columns are folded into it, as a type. `Err` says why it is not known.
pub fn kept_time(source: &Source<'_>, names: &Names, own: &Contraction<'_>) -> Result<String, String> {
    let of = |text: &str| {
        inside(source, names, text).ok_or_else(|| format!("`{text}` is not spelled in this file"))
    };
    if own.out_time == "_" {
        return Err("OutTime is not spelled".to_string());
    }
    let columns = of(own.columns);
    if own.is_interleaved && columns.as_deref().is_ok_and(|columns| bare(columns) == "1") {
        return Ok(own.out_time.to_string());
    }
    let columns = columns?;
    if let Some((_, padding)) = padded(&columns)
        && !own.is_interleaved
        && padding > BEAT
    {
        let columns = own.columns;
        return Err(format!(
            "OutTime has a place for all of `{columns}`, padding too, in the later spelling alone"
        ));
    }
    let time = own.time.ok_or("the call before does not spell the time of both operands")?;
    let (steps, results) = (members(&of(time)?), members(&of(own.out_time)?));
    let mut left: BTreeSet<String> = BTreeSet::new();
    for text in [own.out_time, own.out_packet] {
        let names = axes(source, names, &of(text)?);
        left.extend(names.ok_or_else(|| format!("the axes of `{text}` are not known"))?);
    }
    // A step is kept, or its axes are summed: then no result names one of them.
    let mut kept: Vec<&str> = Vec::new();
    for step in steps.iter().filter(|step| bare(step) != "1") {
        let is_result = results.get(kept.len()).is_some_and(|result| bare(result) == bare(step));
        let own = axes(source, names, step).filter(|axes| !axes.is_empty());
        if is_result || !own.is_some_and(|axes| axes.is_disjoint(&left)) {
            kept.push(step);
        }
    }
    let is_kept = results.len() >= kept.len()
        && kept.iter().zip(&results).all(|(left, right)| bare(left) == bare(right));
    let rest: Vec<String> = results.iter().skip(kept.len()).map(|member| bare(member)).collect();
    let tail: Vec<String> = members(&columns).iter().map(|member| bare(member)).collect();
    // Read as texts, or else as values: digits of one axis may have become one.
    let reads = match own.is_interleaved {
        true => is_kept && rest == tail,
        false => is_kept && !rest.is_empty(),
    };
    if !reads {
        let outer = if kept.is_empty() { "1".to_string() } else { kept.join(", ") };
        let inner = match own.is_interleaved {
            true => columns.clone(),
            false => format!("[{columns}] / 8"),
        };
        let whole = format!("{outer}, {inner}");
        if !is_same(source, names, [&whole, &of(own.out_time)?]) {
            return Err(format!(
                "`{}` is not known to be what is left of `{time}`, with the columns `{}` behind it",
                own.out_time, own.columns
            ));
        }
    }
    Ok(match kept.as_slice() {
        [] => "m![1]".to_string(),
        kept => format!("m![{}]", kept.join(", ")),
    })
}

/// Padding of a mapping that may be the hole of a tile.
#[derive(Clone, Debug)]
pub struct Hole {
    /// The byte behind the `#`.
    pub at: usize,
    /// `1#n` of a member of its own, or `=len#n` of some values of an axis, without spaces.
    pub text: String,
}

/// The padding of a mapping that may be the hole of a tile: `1 # n`, or `X = len # n`.
pub fn holes(source: &Source<'_>, tokens: &Tokens) -> Vec<Hole> {
    let text = |token: usize| source.of(&(token..token + 1));
    let hole = |hash: usize| {
        let is_hash = source.is(hash, '#') && source.kind(hash + 1) == Some(Kind::Literal);
        if !is_hash || hash <= tokens.start + 1 {
            return None;
        }
        let (before, len, size) = (text(hash - 2), text(hash - 1), text(hash + 1));
        let text = match before {
            // A member of its own.
            "," | "[" | "(" if len == "1" => format!("1#{size}"),
            "=" if len != "1" => format!("={len}#{size}"),
            _ => return None,
        };
        Some(Hole { at: source.tokens[hash].end, text })
    };
    tokens.clone().filter_map(hole).collect()
}

impl Hole {
    /// True if a tile of `len` may have this hole.
    pub fn is_of(&self, len: &str) -> bool {
        let before = self.text.split('#').next().unwrap_or_default();
        before.strip_prefix('=').unwrap_or(before) == len
    }
}
