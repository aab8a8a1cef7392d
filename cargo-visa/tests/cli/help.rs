//! The chapters of the guide, as the tool prints them.

use crate::run;
use furiosa_visa_std::guide::CHAPTERS;

#[test]
fn the_list_of_topics() {
    let output = run(&["help"]);
    assert_eq!(output.code, 0);
    assert!(output.stdout.starts_with("visa: "), "{output:?}");
    // Each with its title, in the order of the guide.
    let mut rest = output.stdout.as_str();
    for chapter in CHAPTERS {
        let (_, after) = rest.split_once(&format!("  {}", chapter.name)).expect("the topic is listed");
        let (title, after) = after.split_once('\n').expect("a line ends");
        assert_eq!(title.trim_start(), chapter.title);
        rest = after;
    }
    assert_eq!(rest, "");
}

#[test]
fn every_chapter() {
    for chapter in CHAPTERS {
        let output = run(&["help", chapter.name]);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{}", chapter.name);
        let text = output.stdout;
        assert!(text.starts_with(chapter.title), "{}: {text}", chapter.name);
        assert!(!text.contains("<svg"), "{}", chapter.name);
        // Marks that only a browser needs are gone.
        for mark in ["](", "```", "**"] {
            let line = text.lines().find(|line| line.contains(mark));
            assert_eq!(line, None, "{}: {mark}", chapter.name);
        }
        let hidden = text.lines().find(|line| line.trim_start().starts_with("# "));
        assert_eq!(hidden, None, "{}", chapter.name);
    }
}

/// The figures that `visa help` shows are those of the documentation: no line of a picture is lost.
#[test]
fn pictures_stay() {
    for chapter in CHAPTERS {
        let text = run(&["help", chapter.name]).stdout;
        let drawn = chapter.text.lines().filter(|line| line.contains(['┌', '─', '│', '▶']));
        for line in drawn {
            assert!(text.contains(line), "{}: {line}", chapter.name);
        }
    }
}

/// Each chapter but the last one ends with the topic that comes next.
#[test]
fn next_chapters() {
    for pair in CHAPTERS.windows(2) {
        let text = run(&["help", pair[0].name]).stdout;
        assert!(
            text.ends_with(&format!("\nNext: `visa help {}`, {}\n", pair[1].name, pair[1].title)),
            "{text}"
        );
    }
    assert!(!run(&["help", "glossary"]).stdout.contains("\nNext: "));
}

#[test]
fn code_and_links() {
    let text = run(&["help", "first_kernel"]).stdout;
    assert!(text.contains("\n    fn product(\n        ctx: &mut Context,\n"), "{text}");
    assert!(text.contains("`Context::acquire` makes a simulated system."), "{text}");
    // Lines that a doctest hides are hidden here.
    assert!(CHAPTERS[1].text.contains("\n# let report = ctx.report();\n"));
    assert!(!text.contains("let report = ctx.report();"), "{text}");
}
