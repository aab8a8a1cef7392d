//! `switch_to`, whose configuration follows from mappings, as a `switch` with the configuration spelled.

use super::edits::Attempt;
use super::mapping::{expression, inside};
use super::values::Context;
use furiosa_visa_rules::engine::switch::{SwitchRequest, derive_switch_to};
use furiosa_visa_rules::mapping::Expr;

impl Context<'_, '_> {
    /// `switch_to::<S, T>()` to `switch::<S, T>(SwitchConfig::…)`: the one that `switch_to` takes.
    pub fn spelled_switch(&self, call: usize, attempt: &mut Attempt) {
        let found = self.switch_request(call).and_then(|request| {
            derive_switch_to(&request).map_err(|error| format!("its mappings are refused: {error}"))
        });
        match found {
            Ok(found) => {
                self.rename(attempt, call, "switch");
                attempt
                    .insert(self.source.tokens[self.calls.methods[call].open].end, found.config.to_string());
            }
            Err(why) => attempt.problem(
                self.call_bytes(call),
                format!("configurations of the switch are given, and {why}"),
                "write `.switch::<S, T>(SwitchConfig::…)`",
            ),
        }
    }

    /// The mappings that a switch connects. `Err` says what of them is not in this text.
    fn switch_request(&self, call: usize) -> Result<SwitchRequest, String> {
        let of = |text: &str| -> Result<&'static Expr, String> {
            let inner = inside(self.source, self.names, text);
            let known = inner.and_then(|inner| expression(self.source, self.names, &inner));
            known.ok_or_else(|| format!("`{text}` is not known from this text"))
        };
        let spelled = |call: usize, name: &str| {
            let all = self.generics(call);
            let two = all.get(all.len().saturating_sub(2)..).and_then(|two| <[&str; 2]>::try_from(two).ok());
            two.ok_or_else(|| format!("the generics of `{name}` are not spelled"))
        };
        let [out_slice, out_time] = spelled(call, "switch_to")?;
        let fetch = self.before(call).filter(|&before| self.name(before) == "fetch");
        let fetch = fetch.ok_or("the call before is no `fetch` of this text")?;
        let [in_time, packet] = spelled(fetch, "fetch")?;
        let begin = self.before(fetch).filter(|&before| self.name(before) == "begin");
        let view = begin.and_then(|begin| self.calls.methods[begin].arguments.first());
        let units = view.and_then(|view| self.value(view).units);
        let [chip, cluster, in_slice] =
            units.ok_or("the type of the tensor that is read is not spelled in this text")?;
        Ok(SwitchRequest {
            others: [of(&chip)?, of(&cluster)?, of(packet)?],
            ..SwitchRequest::new(of(&in_slice)?, of(in_time)?, of(out_slice)?, of(out_time)?)
        })
    }
}
