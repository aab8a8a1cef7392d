//! Facts about a value that the text tells: the tensor that it is, its elements, its stream.

use super::calls::{Calls, Generics};
use super::names::{Binding, Names};
use super::source::{Source, Tokens};

/// Steps for which a value is followed through variables and calls.
const MOST_STEPS: usize = 256;

/// The facts about a value.
#[derive(Clone, Debug, Default)]
pub struct Value {
    /// The name of the type of a tensor, without `View` and `ViewMut`.
    pub tensor: Option<&'static str>,
    /// The type of its elements.
    pub scalar: Option<String>,
    /// The mapping `Element` of a tensor, as a type.
    pub element: Option<String>,
    /// The mappings of a tensor in DM over chips, clusters and slices, as types.
    pub units: Option<[String; 3]>,
}

/// A type with its arguments, aliases resolved.
struct Written {
    name: String,
    arguments: Vec<String>,
}

/// The text with all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Context<'s, 't> {
    pub source: &'s Source<'t>,
    pub calls: &'s Calls,
    pub names: &'s Names,
}

impl<'t> Context<'_, 't> {
    /// The name of a method.
    pub fn name(&self, call: usize) -> &'t str {
        self.source.word(self.calls.methods[call].name).unwrap_or_default()
    }

    /// The generics of a method, as texts.
    pub fn generics(&self, call: usize) -> Vec<&'t str> {
        self.texts(self.calls.methods[call].generics.as_ref())
    }

    fn texts(&self, generics: Option<&Generics>) -> Vec<&'t str> {
        generics
            .map_or(Vec::new(), |generics| generics.parts.iter().map(|part| self.source.of(part)).collect())
    }

    /// The call before, also that of the variable on which this one is called.
    pub fn before(&self, call: usize) -> Option<usize> {
        let own = &self.calls.methods[call];
        if own.before.is_some() {
            return own.before;
        }
        let value = self.variable(&own.root)?.value.clone()?;
        self.calls.last_call(self.source, &value)
    }

    /// The variable that an expression is.
    pub fn variable(&self, expression: &Tokens) -> Option<&Binding> {
        let name = self.source.word(expression.start)?;
        (expression.len() == 1).then(|| self.names.at(name, expression.start))?
    }

    /// The facts about an expression's value.
    pub fn value(&self, expression: &Tokens) -> Value {
        self.expression(expression, MOST_STEPS).unwrap_or_default()
    }

    /// The facts about the result of a method.
    pub fn result(&self, call: usize) -> Value {
        self.method(call, MOST_STEPS).unwrap_or_default()
    }

    /// The facts about the value that a method is called on.
    pub fn value_before(&self, call: usize) -> Value {
        let own = &self.calls.methods[call];
        own.before.map_or_else(|| self.value(&own.root), |before| self.result(before))
    }

    fn expression(&self, expression: &Tokens, left: usize) -> Option<Value> {
        let left = left.checked_sub(1)?;
        let source = self.source;
        let mut start = expression.start;
        while source.is(start, '&') || source.word(start) == Some("mut") {
            start += 1;
        }
        // `unsafe { … }`, if it is one expression.
        if source.word(start) == Some("unsafe") && source.tokens.get(start + 1)?.mate + 1 == expression.end {
            return self.expression(&(start + 2..expression.end - 1), left);
        }
        let own = start..expression.end;
        if let Some(call) = self.calls.last_call(source, &own) {
            return self.method(call, left);
        }
        if let Some(&call) = self.calls.associated_by_close.get(&own.end.checked_sub(1)?) {
            let call = &self.calls.associated[call];
            let name = source.word(call.of)?;
            let arguments = self.texts(call.generics.as_ref()).iter().map(ToString::to_string).collect();
            return Some(Self::of_type(&Written { name: name.to_string(), arguments }));
        }
        let binding = self.variable(&own)?;
        self.of_binding(binding, left)
    }

    /// The facts in the annotation of a variable.
    pub fn value_of_annotation(&self, binding: &Binding) -> Value {
        binding.annotation.as_ref().map_or_else(Value::default, |own| self.value_of_type(own))
    }

    /// The facts in a type.
    pub fn value_of_type(&self, tokens: &Tokens) -> Value {
        let written = self.written(tokens, MOST_STEPS);
        written.map_or_else(Value::default, |written| Self::of_type(&written))
    }

    fn of_binding(&self, binding: &Binding, left: usize) -> Option<Value> {
        let annotated = binding.annotation.as_ref().and_then(|annotation| self.written(annotation, left));
        let mut value = annotated.map_or_else(Value::default, |written| Self::of_type(&written));
        if (value.tensor.is_none() || value.scalar.is_none())
            && binding.annotation.is_none_or_inferred(self.source)
            && let Some(own) = binding.value.as_ref().and_then(|own| self.expression(own, left))
        {
            value.tensor = value.tensor.or(own.tensor);
            value.scalar = value.scalar.or(own.scalar);
            value.element = value.element.or(own.element);
            value.units = value.units.or(own.units);
        }
        Some(value)
    }

    fn of_type(written: &Written) -> Value {
        let name = written.name.as_str();
        let base = name.strip_suffix("ViewMut").or_else(|| name.strip_suffix("View")).unwrap_or(name);
        let tensors =
            [("HostTensor", 1), ("HbmTensor", 2), ("DmTensor", 4), ("TrfTensor", 5), ("VrfTensor", 4)];
        let Some((tensor, element)) = tensors.into_iter().find(|(tensor, _)| *tensor == base) else {
            return Value::default();
        };
        let own = |place: usize| written.arguments.get(place).filter(|text| *text != "_").cloned();
        let units = match tensor {
            "DmTensor" => {
                own(1).zip(own(2)).zip(own(3)).map(|((chip, cluster), slice)| [chip, cluster, slice])
            }
            _ => None,
        };
        Value { tensor: Some(tensor), scalar: own(0), element: own(element), units }
    }

    /// The type that some tokens write.
    fn written(&self, tokens: &Tokens, left: usize) -> Option<Written> {
        let left = left.checked_sub(1)?;
        let source = self.source;
        let mut start = tokens.start;
        while start < tokens.end {
            if source.is(start, '\'') {
                start += 2;
            } else if source.is(start, '&') || source.word(start) == Some("mut") {
                start += 1;
            } else {
                break;
            }
        }
        // Names of modules before the type.
        while start + 3 < tokens.end && source.is_path(start + 1) && !source.is(start + 3, '<') {
            start += 3;
        }
        let name = source.word(start)?.to_string();
        let mut arguments = Vec::new();
        if source.is(start + 1, '<') {
            let behind = source.behind_angles(start + 1)?;
            let parts = source.parts(start + 2..behind - 1, true);
            let types = parts.iter().filter(|part| !source.is(part.start, '\''));
            arguments = types.map(|part| source.of(part).to_string()).collect();
        }
        let Some(alias) = self.names.alias_of(&name) else { return Some(Written { name, arguments }) };
        let parameters: Vec<&String> = alias.parameters.iter().filter(|name| !name.is_empty()).collect();
        let target = self.written(&alias.target, left)?;
        let replaced = |text: &String| substituted(text, &parameters, &arguments);
        Some(Written { name: target.name, arguments: target.arguments.iter().map(replaced).collect() })
    }

    fn method(&self, call: usize, left: usize) -> Option<Value> {
        let left = left.checked_sub(1)?;
        let name = self.name(call);
        let generics = self.generics(call);
        let own = &self.calls.methods[call];
        let before = || match own.before {
            Some(before) => self.method(before, left),
            None => self.expression(&own.root, left),
        };
        let given = |place: usize| generics.get(place).filter(|text| **text != "_").map(ToString::to_string);
        let stream = |scalar: Option<String>| Some(Value { scalar, ..Value::default() });
        let tensor = |tensor: &'static str, element: usize| {
            Some(Value {
                tensor: Some(tensor),
                scalar: before().and_then(|before| before.scalar),
                element: given(element),
                units: None,
            })
        };
        match name {
            "begin" | "begin_interleaved" => {
                let view = self.expression(own.arguments.first()?, left)?;
                stream(view.scalar)
            }
            "fetch" if generics.len() == 3 => stream(given(0)),
            "fetch_with_table"
            | "fetch_with_zero_point"
            | "fetch_with_zero_points"
            | "fetch_table_lookup"
            | "fetch_cast"
            | "fetch_zero_point_sub"
            | "vector_reinterpret"
            | "commit_cast"
            | "commit_cast_relu"
            | "cast" => stream(given(0)),
            "contract" | "contract_packet" => stream(match before()?.scalar?.as_str() {
                "i4" | "i5" | "i8" | "i9" => Some("i32".to_string()),
                "bf16" | "f8e4m3" | "f8e5m2" => Some("f32".to_string()),
                _ => None,
            }),
            "vector_fxp_to_fp" => stream(Some("f32".to_string())),
            "vector_fp_to_fxp" => stream(Some("i32".to_string())),
            "fetch" | "fetch_mask" | "switch" | "collect" | "align" | "contract_outer" | "contract_time"
            | "contract_lane" | "accumulate" | "transpose" | "commit_trim" => stream(before()?.scalar),
            _ if name.starts_with("vector_") => stream(before()?.scalar),
            "commit" => tensor("DmTensor", 0),
            "to_vrf" => tensor("VrfTensor", 0),
            "to_trf" | "to_trf_auto" => tensor("TrfTensor", 1),
            "to_dm" if generics.len() == 2 => tensor("DmTensor", 1),
            "to_dm" => tensor("DmTensor", 2),
            "to_hbm" if generics.len() == 2 => tensor("HbmTensor", 1),
            "to_hbm" => tensor("HbmTensor", 0),
            "to_host" => tensor("HostTensor", 0),
            "dma_gather" | "dma_gather_scaled" | "dma_gather_rows" => tensor("DmTensor", 2),
            "dma_gather_unscaled" => tensor("DmTensor", 5),
            "view" | "view_mut" => before(),
            "tile" | "reshape" | "relabel" | "chip_tile" | "cluster_tile" | "slice_tile" => {
                let view = before()?;
                let element = match name {
                    "tile" => given(2),
                    "reshape" | "relabel" => given(generics.len().saturating_sub(1)),
                    _ => view.element,
                };
                // The other calls change chips, clusters or slices.
                let units = view.units.filter(|_| name == "tile");
                Some(Value { element, units, ..view })
            }
            _ => None,
        }
    }
}

/// An annotation that leaves types to the compiler.
trait Inferred {
    fn is_none_or_inferred(&self, source: &Source<'_>) -> bool;
}

impl Inferred for Option<Tokens> {
    fn is_none_or_inferred(&self, source: &Source<'_>) -> bool {
        self.as_ref().is_none_or(|own| {
            own.clone().any(|token| source.word(token) == Some("_") || source.is(token, '_'))
        })
    }
}

/// The text with arguments in the place of parameters.
fn substituted(text: &str, parameters: &[&String], arguments: &[String]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut word = String::new();
    let put = |word: &mut String, result: &mut String| {
        let place = parameters.iter().position(|parameter| *parameter == word);
        result.push_str(place.and_then(|place| arguments.get(place)).unwrap_or(word));
        word.clear();
    };
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            put(&mut word, &mut result);
            result.push(c);
        }
    }
    put(&mut word, &mut result);
    result
}
