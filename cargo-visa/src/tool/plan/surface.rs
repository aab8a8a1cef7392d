//! Surfaces of the library in which a plan is written.

use super::super::Refusal;
use super::super::arguments::{Once, shown};
use crate::port::{Spelling, ported};
use furiosa_visa_plan::Plan;
use std::ffi::OsStr;

/// The part of the cycles, one in so many, that addresses of the library's choice may change. Of 25 plans, the most was one
/// in 24.
const PART: u64 = 8;

/// A surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// `furiosa-visa-std`.
    Seed,
    /// `furiosa-opt-std`.
    Opt,
}

impl Surface {
    /// The surface that an option names.
    pub fn of(option: &Once) -> Result<Self, Refusal> {
        match option.text()? {
            None | Some("seed") => Ok(Self::Seed),
            Some("opt") => Ok(Self::Opt),
            Some(other) => {
                let other = shown(OsStr::new(other));
                Err(format!(
                    "--surface: `{other}` is no surface; the surfaces are `seed`, furiosa-visa-std, and `opt`, furiosa-opt-std"
                )
                .into())
            }
        }
    }

    /// The file of a plan.
    pub fn source(self, plan: &Plan) -> Result<String, Refusal> {
        let seed = plan.source();
        if self == Self::Seed {
            return Ok(seed);
        }
        let later = ported(&seed, Some(Spelling::Later)).map_err(Refusal)?;
        if later.places() > 0 {
            return Err(format!(
                "--surface: {} of this plan are left to you; write it with `--surface seed`, and rewrite it with `visa port`:\n{}",
                if later.places() == 1 { "1 place".to_string() } else { format!("{} places", later.places()) },
                later.report("plan.rs", &seed).trim_end()
            )
            .into());
        }
        let cycles = plan.cycles;
        let (exact, near) = (
            format!("    assert_eq!(cycles, {cycles});\n"),
            format!(
                "    // The library chooses addresses here, so that banks meet in other places than in the plan.\n    \
                 assert!(cycles.abs_diff({cycles}) <= {cycles} / {PART}, \"{{cycles}} cycles\");\n"
            ),
        );
        Ok(later.text(&seed).replace(&exact, &near))
    }
}
