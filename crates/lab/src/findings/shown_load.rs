//! A load as documents and tables show it: under the names and in the order of [`Load`], without the factors that are
//! as usual in the run. A new factor needs nothing here.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::plan::Load;

/// Factors that are always shown.
const ALWAYS: [&str; 2] = ["body_bytes", "concurrency"];

/// The mean delay, which is no factor of its own.
const MEAN_DELAY: &str = "delay_ms";

/// The part of a load that is shown; factors that are as in the load of the plan are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShownLoad {
    load: Load,
    usual: Load,
    /// Whether the mean delay is shown.
    with_delay: bool,
}

impl ShownLoad {
    /// The factors of a load that differ from `usual`, the load of the plan.
    pub(super) fn new(load: &Load, usual: &Load) -> ShownLoad {
        ShownLoad {
            load: *load,
            usual: *usual,
            with_delay: false,
        }
    }

    /// The load of a row, with the mean delay.
    pub(super) fn of_row(load: &Load, usual: &Load) -> ShownLoad {
        ShownLoad {
            with_delay: true,
            ..ShownLoad::new(load, usual)
        }
    }

    /// The same without the mean delay.
    #[must_use]
    pub fn without_mean_delay(self) -> ShownLoad {
        ShownLoad {
            with_delay: false,
            ..self
        }
    }
}

impl Serialize for ShownLoad {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut own, usual) = (factors(&self.load), factors(&self.usual));
        let mut shown = serializer.serialize_map(None)?;
        for (at, name) in ALWAYS.into_iter().enumerate() {
            shown.serialize_entry(name, &own.shift_remove(name))?;
            if at == 0 && self.with_delay {
                let mean = self.load.delay.mean().as_secs_f64() * 1e3;
                shown.serialize_entry(MEAN_DELAY, &mean)?;
            }
        }
        for (name, value) in &own {
            if usual.get(name) != Some(value) {
                shown.serialize_entry(name, value)?;
            }
        }
        shown.end()
    }
}

/// A load as its own document has it, where factors with the value that most loads have are absent.
fn factors(load: &Load) -> Map<String, Value> {
    match serde_json::to_value(load) {
        Ok(Value::Object(factors)) => factors,
        _ => unreachable!("a load is plain data with names"),
    }
}

/// The schema of a load, in which only the factors that are always shown are required.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for ShownLoad {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ShownLoad".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = Load::json_schema(generator);
        let mean = serde_json::json!({
            "description": "Mean delay of the test server before each response, in milliseconds; 0 when it responds at once. Only rows have it.",
            "type": ["number", "null"],
            "format": "double",
        });
        if let Some(Value::Object(factors)) = schema.get_mut("properties") {
            for (name, factor) in factors.iter_mut() {
                // An absent one is as usual, and not as in most loads.
                if let Some(words) = factor.as_object_mut() {
                    words.remove("default");
                }
                if let Some(Value::String(words)) = factor.get_mut("description")
                    && !ALWAYS.contains(&name.as_str())
                {
                    words.push_str(" Here, absent means: as in the plan.");
                }
            }
            factors.insert(MEAN_DELAY.into(), mean);
        }
        schema.insert("required".into(), serde_json::json!(ALWAYS));
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{FACTORS, Job, Mode};

    fn shown(load: &Load, usual: &Load) -> Value {
        serde_json::to_value(ShownLoad::new(load, usual)).unwrap()
    }

    #[test]
    fn what_is_as_usual_is_left_out() {
        let usual = Load {
            body_bytes: 133,
            delay: "10ms".parse().unwrap(),
            tls: true,
            requests: Some(50),
            job: Job::Json,
            ..Load::PLAIN
        };
        let least = serde_json::json!({ "body_bytes": 133, "concurrency": 1 });
        assert_eq!(shown(&usual, &usual), least);
        let other = Load {
            keepalive: false,
            mode: Some(Mode::Sync),
            requests: Some(7),
            job: Job::Gzip,
            ..usual
        };
        let expected = serde_json::json!({
            "body_bytes": 133, "concurrency": 1, "keepalive": false, "mode": "sync", "requests": 7, "job": "gzip"
        });
        assert_eq!(shown(&other, &usual), expected);
        let row = serde_json::to_value(ShownLoad::of_row(&usual, &usual)).unwrap();
        assert_eq!(row["delay_ms"], usual.delay.mean().as_secs_f64() * 1e3);
    }

    /// Each factor that can be set is shown, whoever added it.
    #[test]
    fn every_factor_is_shown_where_it_is_not_as_usual() {
        let values = ["7", "off", "on", "2", "gzip", "10ms", "500", "poisson:50%"];
        for factor in FACTORS.iter().filter(|factor| !factor.name.is_empty()) {
            let changed = values.iter().find_map(|value| {
                let mut load = Load::PLAIN;
                factor.set(&mut load, value).ok()?;
                (load != Load::PLAIN).then_some(load)
            });
            let changed = changed.unwrap_or_else(|| panic!("no value changes {}", factor.name));
            assert_ne!(
                shown(&changed, &Load::PLAIN),
                shown(&Load::PLAIN, &Load::PLAIN),
                "{}",
                factor.name
            );
        }
    }
}
