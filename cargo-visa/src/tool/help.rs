//! `visa help`: the usage of the tool, and the chapters of the guide.

use super::plain::plain;
use super::{HELP, Output, Refusal, USAGE, arguments};
use crate::guide::{CHAPTERS, Chapter};
use furiosa_visa_rules::text::distance;

/// Number of topics that a refusal names.
const NEAREST: usize = 3;

/// `visa help [TOPIC]`.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    let Some(argument) = parser.next()? else { return Ok(Output::text(format!("{USAGE}\n{}", topics()))) };
    let lexopt::Arg::Value(name) = &argument else { return Err(argument.unexpected().into()) };
    let shown = arguments::shown(name);
    let name = name.to_str();
    let chapter = || CHAPTERS.iter().find(|chapter| Some(chapter.name) == name).map(printed);
    let text = match HELP.iter().find(|(command, _)| Some(*command) == name) {
        Some((_, help)) => help.to_string(),
        None => chapter().ok_or_else(|| unknown(&shown))?,
    };
    match parser.next()? {
        None => Ok(Output::text(text)),
        Some(more) => Err(more.unexpected().into()),
    }
}

/// The chapters with their titles.
fn topics() -> String {
    let width = CHAPTERS.iter().map(|chapter| chapter.name.len()).max().unwrap_or(0);
    let mut text = String::from(
        "Topics of the guide, for `visa help TOPIC`, in the order in which they are to be read:\n",
    );
    for Chapter { name, title, .. } in CHAPTERS {
        text.push_str(&format!("  {name:width$}  {title}\n"));
    }
    text
}

fn printed(chapter: &Chapter) -> String {
    let line = "=".repeat(chapter.title.chars().count());
    let next = CHAPTERS.iter().skip_while(|other| other.name != chapter.name).nth(1);
    let next =
        next.map_or(String::new(), |next| format!("\nNext: `visa help {}`, {}\n", next.name, next.title));
    format!("{}\n{line}\n\n{}{next}", chapter.title, plain(chapter.text))
}

/// The message for an unknown topic. A word of a topic's name has distance 0.
fn unknown(name: &str) -> String {
    let mut near: Vec<(usize, &str)> = CHAPTERS
        .iter()
        .map(|chapter| {
            let has_word = chapter.name.split('_').any(|word| word == name);
            (if has_word { 0 } else { distance(name, chapter.name) }, chapter.name)
        })
        .collect();
    near.sort_by_key(|(steps, _)| *steps);
    let names: Vec<String> = near.iter().take(NEAREST).map(|(_, name)| format!("`{name}`")).collect();
    format!(
        "there is no help on `{name}`; the nearest topics are {}; `visa help` lists all, and there are `visa help \
         check`, `new`, `explain`, `map`, `playground`, `html`, `diff`, `calibrate`, `plan`, \
         `route` and `port`",
        names.join(", ")
    )
}
