//! A scenario of the vectors, and how its steps are run and judged. Who makes the calls is the caller's matter.

use std::collections::HashMap;

use ironclaw_memory_client::Scope;
use serde_json::{Map, Value, json};

use crate::matching::{Absent, matches};

const TREE: &str = "ironclaw.memory.tree";
const STEP_KEYS: [&str; 11] =
    ["tool", "arguments", "output", "error", "rpc", "request", "response", "status", "reason", "as", "save"];

/// Makes the calls of a scenario.
pub trait Caller {
    /// Calls a tool and returns its output, parsed.
    fn invoke(&self, scope: Scope, tool: &str, arguments: &str) -> Result<Value, Refused>;
    /// Calls a method by its full name and returns its answer as protobuf JSON.
    fn call(&self, scope: Scope, rpc: &str, request: Value) -> Result<Value, Refused>;
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum Refused {
    /// The tool's error in band.
    Tool { kind: String, reason: String },
    /// The call's status.
    Status { code: String, reason: String },
}

/// A scenario as the file has it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Suite and name.
    pub id: String,
    steps: Vec<Value>,
    thread: Option<String>,
}

impl Scenario {
    /// The scenarios of a file.
    pub fn of_suite(suite: &Value) -> Vec<Self> {
        let name = text(&suite["suite"]);
        let scenarios = suite["scenarios"].as_array().expect("scenarios").iter();
        scenarios.map(|entry| Self::new(format!("{name}/{}", text(&entry["name"])), entry)).collect()
    }

    fn new(id: String, entry: &Value) -> Self {
        let thread = entry.get("thread").map(|thread| text(thread).to_owned());
        Self { id, steps: entry["steps"].as_array().expect("steps").clone(), thread }
    }

    /// Runs it in a tenant that nobody else may use.
    ///
    /// A mismatch while the date changes in a zone that it speaks of proves nothing: it is run once more.
    pub fn run(&self, caller: &impl Caller, tenant: &str, today: impl Fn(&str) -> String) -> Result<(), String> {
        let dates = || self.zones().iter().map(|zone| today(zone)).collect::<Vec<_>>();
        let before = dates();
        match self.run_once(caller, tenant, &today) {
            Err(mismatch) if dates() == before => Err(mismatch),
            Err(_) => self.run_once(caller, &format!("{tenant}-next-day"), &today),
            Ok(()) => Ok(()),
        }
    }

    fn zones(&self) -> Vec<String> {
        let steps = Value::Array(self.steps.clone()).to_string();
        let zones = steps.split("${today:").skip(1).filter_map(|rest| rest.split_once('}'));
        zones.map(|(zone, _)| zone.to_owned()).collect()
    }

    fn run_once(&self, caller: &impl Caller, tenant: &str, today: &impl Fn(&str) -> String) -> Result<(), String> {
        let mut saved = HashMap::new();
        for (index, step) in self.steps.iter().enumerate() {
            let scope = scope_of(step, tenant, self.thread.as_deref());
            let values = Values { saved: &saved, today };
            let kept = run_step(step, caller, scope, &values)
                .map_err(|told| format!("step {} ({}): {told}", index + 1, step.get("tool").unwrap_or(&step["rpc"])))?;
            saved.extend(kept);
        }
        Ok(())
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text in the vectors")
}

/// Alice in the scenario's tenant and thread, less or more what `as` says.
fn scope_of(step: &Value, tenant: &str, thread: Option<&str>) -> Scope {
    let mut axes = Map::from_iter([("user".to_owned(), json!("alice")), ("thread".to_owned(), json!(thread))]);
    axes.insert("tenant".to_owned(), json!(tenant));
    if let Some(changes) = step.get("as").and_then(Value::as_object) {
        axes.extend(changes.clone());
        if let Some(other) = changes.get("tenant").and_then(Value::as_str) {
            axes.insert("tenant".to_owned(), json!(format!("{tenant}-{other}")));
        }
    }
    let axis = |name: &str| axes.get(name).and_then(Value::as_str).map(str::to_owned);
    Scope {
        tenant: axis("tenant"),
        user: axis("user"),
        agent: axis("agent"),
        project: axis("project"),
        thread: axis("thread"),
    }
}

type Saved = HashMap<String, String>;

fn run_step(step: &Value, caller: &impl Caller, scope: Scope, values: &Values) -> Result<Saved, String> {
    let keys = step.as_object().expect("a step").keys();
    // A misspelt key would make a step that checks nothing.
    if let Some(unknown) = keys.into_iter().find(|key| !STEP_KEYS.contains(&key.as_str())) {
        return Err(format!("the step has a key that nobody knows: {unknown}"));
    }
    match step.get("tool") {
        Some(tool) => run_tool(step, text(tool), caller, scope, values).map(|()| Saved::new()),
        None => run_rpc(step, text(&step["rpc"]), caller, scope, values),
    }
}

fn run_tool(step: &Value, tool: &str, caller: &impl Caller, scope: Scope, values: &Values) -> Result<(), String> {
    let arguments = values.resolve(&step["arguments"])?.to_string();
    match (caller.invoke(scope, tool, &arguments), step.get("error")) {
        (Err(Refused::Tool { kind, reason }), Some(expected)) => {
            matches(expected, Some(&json!({"kind": kind, "reason": reason})), "error", Absent::IsNothing)
        }
        (Err(refused), _) => Err(format!("not expected: {refused:?}")),
        (Ok(output), Some(expected)) => Err(format!("expected the error {expected}, got the output {output}")),
        (Ok(output), None) => match step.get("output") {
            Some(expected) => match_output(tool, &values.resolve(expected)?, &output),
            None => Ok(()),
        },
    }
}

fn match_output(tool: &str, expected: &Value, output: &Value) -> Result<(), String> {
    if tool == TREE && expected != output {
        return Err(format!("expected exactly {expected}, got {output}"));
    }
    matches(expected, Some(output), "output", Absent::IsNothing)
}

fn run_rpc(step: &Value, rpc: &str, caller: &impl Caller, scope: Scope, values: &Values) -> Result<Saved, String> {
    let response = match caller.call(scope, rpc, values.resolve(&step["request"])?) {
        Ok(response) => response,
        Err(refused) => return match_status(step, &refused).map(|()| Saved::new()),
    };
    if let Some(status) = step.get("status") {
        return Err(format!("expected {status} {}, got the response {response}", step["reason"]));
    }
    let expected = step.get("response").cloned().unwrap_or_else(|| json!({}));
    matches(&values.resolve(&expected)?, Some(&response), "response", Absent::IsDefault)?;
    let fields = step.get("save").and_then(Value::as_object).into_iter().flatten();
    Ok(fields.map(|(name, field)| (name.clone(), text(&response[text(field)]).to_owned())).collect())
}

fn match_status(step: &Value, refused: &Refused) -> Result<(), String> {
    let Refused::Status { code, reason } = refused else { return Err(format!("not expected: {refused:?}")) };
    let status = step.get("status").cloned().unwrap_or_else(|| json!("OK"));
    let expected = json!({"status": status, "reason": step.get("reason").unwrap_or(&json!(""))});
    matches(&expected, Some(&json!({"status": code, "reason": reason})), "status", Absent::IsNothing)
}

/// What placeholders stand for while a scenario runs.
pub struct Values<'a> {
    /// By the name under which an earlier step saved it.
    pub saved: &'a Saved,
    /// The date in a zone.
    pub today: &'a dyn Fn(&str) -> String,
}

impl Values<'_> {
    /// The value with placeholders and long texts written out; an error where nothing was saved under a name.
    pub fn resolve(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::String(text) => self.write_out(text).map(Value::String),
            Value::Array(list) => list.iter().map(|inner| self.resolve(inner)).collect(),
            Value::Object(object) => match (object.len(), object.get("$repeat"), object.get("$join")) {
                (1, Some(parts), _) => self.repeat(parts).map(Value::String),
                (1, _, Some(parts)) => self.join(parts).map(Value::String),
                _ => object.iter().map(|(key, inner)| Ok((key.clone(), self.resolve(inner)?))).collect(),
            },
            _ => Ok(value.clone()),
        }
    }

    fn repeat(&self, parts: &Value) -> Result<String, String> {
        let times = parts[1].as_u64().and_then(|times| times.try_into().ok()).expect("a count");
        Ok(text(&self.resolve(&parts[0])?).repeat(times))
    }

    fn join(&self, parts: &Value) -> Result<String, String> {
        let parts = self.resolve(parts)?;
        Ok(parts.as_array().expect("parts").iter().map(text).collect())
    }

    fn write_out(&self, text: &str) -> Result<String, String> {
        let mut pieces = text.split("${");
        let mut written = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (name, rest) = piece.split_once('}').ok_or_else(|| format!("a placeholder without end: {text}"))?;
            written.push_str(&self.stands_for(name)?);
            written.push_str(rest);
        }
        Ok(written)
    }

    fn stands_for(&self, name: &str) -> Result<String, String> {
        match name.strip_prefix("today:") {
            Some(zone) => Ok((self.today)(zone)),
            None => self.saved.get(name).cloned().ok_or_else(|| format!("no earlier step saved '{name}'")),
        }
    }
}
