//! Proven answers, kept in `target/visa-plan` of a project.
//!
//! A file has the numbers of the best choices in the order of the space, and their cycles. When it is read, the choices are
//! derived and priced again: a file that is damaged, or of another program, is a search more and never a wrong answer.

use super::digest::{digest, numbers, program};
use super::problems::read;
use core::cell::Cell;
use furiosa_visa_plan::choice::Choice;
use furiosa_visa_plan::search::Space;
use furiosa_visa_plan::space::{Look, for_each_of};
use furiosa_visa_plan::{Fixed, Outcome, Plan, Problem, Search};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of a project's answers. `None`: nothing is kept.
#[derive(Debug)]
pub struct Cache(Option<PathBuf>);

impl Cache {
    /// The cache next to the nearest `Cargo.toml` above the working directory.
    pub fn of_project(is_asked: bool) -> Self {
        let here = std::env::current_dir().ok().filter(|_| is_asked);
        let project = here.as_deref().and_then(|here| {
            here.ancestors().find(|folder| folder.join("Cargo.toml").is_file()).map(Path::to_path_buf)
        });
        Self(project.map(|folder| folder.join("target/visa-plan")))
    }

    /// The answer that is kept.
    pub fn read(&self, problem: &Problem, search: &Search<'_>) -> Option<Outcome> {
        self.0.as_ref()?;
        let key = key(problem, search);
        let text = read(self.file(&key)?.as_os_str()).ok()?;
        let (own, check) = text.trim_end().rsplit_once('\n')?;
        let kept: Value = serde_json::from_str(own).ok()?;
        if check != digest(own.as_bytes()) || kept.get("key")? != key.as_str() {
            return None;
        }
        let extents: Vec<u64> = list(&kept, "extents")?;
        let numbers: Vec<u64> = list(&kept, "choices")?;
        let places: Vec<Place> = extents.into_iter().zip(numbers).collect();
        let mut choices = BTreeMap::new();
        let is_kept = |place: Place, _: &Choice| places.iter().any(|own| own.0 == place.0);
        over_places(problem, search, is_kept, |place, choice| {
            if places.contains(&place) {
                choices.insert(place, choice.clone());
            }
        });
        let plan = |place: &Place| Plan::of(problem, choices.get(place)?.clone(), search.profile).ok();
        let plans: Vec<Plan> = places.iter().map(plan).collect::<Option<_>>()?;
        let cycles: Vec<u64> = plans.iter().map(|plan| plan.cycles).collect();
        if plans.is_empty() || plans.len() > search.top || cycles != list(&kept, "cycles")? {
            return None;
        }
        let counts: [u64; 7] = list(&kept, "space")?.try_into().ok()?;
        let [extents, skipped, choices, fitting, bounded, derived, priced] = counts;
        let refused = kept.get("refused")?.as_object()?.iter().map(|(rule, own)| {
            Some((rule.clone(), (own.get(0)?.as_u64()?, own.get(1)?.as_str()?.to_string())))
        });
        let refused = refused.collect::<Option<_>>()?;
        Some(Outcome {
            bound: cycles[0],
            of_problem: problem.bounds(search.profile),
            plans,
            space: Space { extents, skipped, choices, fitting, bounded, derived, priced, refused },
            is_stopped: false,
            is_whole: true,
        })
    }

    /// Keeps an answer, if all of it is proven. What cannot be written is not kept.
    pub fn write(&self, problem: &Problem, search: &Search<'_>, outcome: &Outcome) {
        if self.0.is_none() || !outcome.is_whole || outcome.plans.is_empty() {
            return;
        }
        let key = key(problem, search);
        let Some(file) = self.file(&key) else { return };
        let mut places: Vec<Place> = vec![(0, 0); outcome.plans.len()];
        let chosen = || outcome.plans.iter().map(|plan| &plan.choice);
        let is_kept = |_: Place, extents: &Choice| {
            chosen().any(|own| (own.weights, &own.splits) == (extents.weights, &extents.splits))
        };
        over_places(problem, search, is_kept, |place, choice| {
            if let Some(number) = chosen().position(|own| own == choice) {
                places[number] = place;
            }
        });
        let (extents, numbers): (Vec<u64>, Vec<u64>) = places.into_iter().unzip();
        let space = &outcome.space;
        let refused: serde_json::Map<String, Value> =
            space.refused.iter().map(|(rule, own)| (rule.clone(), json!([own.0, own.1]))).collect();
        let cycles: Vec<u64> = outcome.plans.iter().map(|plan| plan.cycles).collect();
        let kept = json!({
            "key": key,
            "extents": extents,
            "choices": numbers,
            "cycles": cycles,
            "space": [space.extents, space.skipped, space.choices, space.fitting, space.bounded, space.derived, space.priced],
            "refused": refused,
        });
        let own = kept.to_string();
        let text = format!("{own}\n{}\n", digest(own.as_bytes()));
        // Two programs write the same bytes, each to a file of its own first.
        let part = file.with_extension(format!("{}.part", std::process::id()));
        let folder = file.parent().unwrap_or(Path::new("."));
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&part, text))
            .and_then(|()| std::fs::rename(&part, &file));
        drop(written);
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(format!("{}.json", digest(key.as_bytes()))))
    }
}

/// Everything that an answer depends on: the program, the numbers of the hardware, the problem and its options.
fn key(problem: &Problem, search: &Search<'_>) -> String {
    let weights = search.weights.map_or("any".to_string(), |operand| operand.to_string());
    let fixed = search.fixed.map_or(String::new(), Fixed::text);
    format!(
        "{}, {}, {} in {} of {} to {} then {}, {}, in {}, role {weights}, {fixed}, chips {:?}, top {}",
        program(),
        numbers(search.profile),
        problem.einsum,
        problem.windows_text(),
        problem.element,
        problem.output,
        problem.epilogue_text(),
        problem.axes_text(),
        problem.layouts_text(),
        problem.chips,
        search.top
    )
}

/// The place of a choice in the space: the number of its extents, and its number among those that have them.
type Place = (u64, u64);

/// Gives the choices of the extents that `is_kept` says, each with its place. Those of other extents are not made.
fn over_places(
    problem: &Problem,
    search: &Search<'_>,
    is_kept: impl Fn(Place, &Choice) -> bool,
    mut take: impl FnMut(Place, &Choice),
) {
    let next = Cell::new((0, 0));
    let mut keep = |extents: &Choice| {
        next.set((next.get().0 + 1, 0));
        if is_kept(next.get(), extents) { Look::At } else { Look::Past }
    };
    for_each_of(problem, (search.weights, search.fixed), &mut keep, &mut |choice| {
        take(next.get(), choice);
        next.set((next.get().0, next.get().1 + 1));
    });
}

fn list(kept: &Value, key: &str) -> Option<Vec<u64>> {
    kept.get(key)?.as_array()?.iter().map(Value::as_u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_plan::search;
    use furiosa_visa_rules::scalar::ElementType;

    #[test]
    fn answers_are_kept_whole() {
        let folder = std::env::temp_dir().join(format!("visa-plan-{}", std::process::id()));
        let cache = Cache(Some(folder.clone()));
        let problem = |sizes| Problem::new("mk,nk->mn", sizes, ElementType::I8, None).expect("is one");
        let (first, other) = (problem("M=16,N=16,K=64"), problem("M=16,N=16,K=96"));
        let options = Search { top: 3, ..Search::default() };
        assert!(cache.read(&first, &options).is_none());
        let outcome = search(&first, &options);
        cache.write(&first, &options, &outcome);
        let known = cache.read(&first, &options).expect("is kept");
        let told = |outcome: &Outcome| {
            let plans: Vec<_> = outcome.plans.iter().map(|plan| (plan.cycles, plan.source())).collect();
            (plans, outcome.bound, outcome.space.clone())
        };
        assert_eq!(told(&known), told(&outcome));

        // Nothing is known of another problem, or with other options.
        assert!(cache.read(&other, &options).is_none());
        assert!(cache.read(&first, &Search { top: 2, ..options }).is_none());
        assert!(cache.read(&first, &Search { weights: Some(1), ..options }).is_none());
        let fixed = Fixed::new(&first, Some("M / 4"), None, None).expect("is possible");
        assert!(cache.read(&first, &Search { fixed: Some(&fixed), ..options }).is_none());
        let turned = first.clone().with_layouts("w: K, N").expect("is a layout");
        assert!(cache.read(&turned, &options).is_none());
        // A search that was cut proves nothing.
        let cut = Outcome { is_whole: false, ..outcome.clone() };
        cache.write(&other, &options, &cut);
        assert!(cache.read(&other, &options).is_none());

        // Damaged bytes, and cycles that the clock does not find, are not read.
        let file = cache.file(&key(&first, &options)).expect("there is a folder");
        let text = std::fs::read_to_string(&file).expect("it is written");
        let cycles = outcome.plans[0].cycles.to_string();
        let wrong = text.replace(&cycles, "1");
        assert_ne!(wrong, text);
        std::fs::write(&file, &wrong).expect("it is written");
        assert!(cache.read(&first, &options).is_none());
        let (own, _) = wrong.trim_end().rsplit_once('\n').expect("two lines");
        std::fs::write(&file, format!("{own}\n{}\n", digest(own.as_bytes()))).expect("it is written");
        assert!(cache.read(&first, &options).is_none());
        std::fs::remove_dir_all(folder).expect("it can be removed");
    }
}
