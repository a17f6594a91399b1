//! The vectors' matcher and runner can fail: each rule has a case that holds and one that doesn't.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use ironclaw_memory_client::Scope;
use serde_json::{Value, json};

use crate::matching::{Absent, matches};
use crate::scenario::{Caller, Refused, Scenario, Values};

fn hold(expected: &Value, actual: Option<&Value>) -> Result<(), String> {
    matches(expected, actual, "answer", Absent::IsNothing)
}

#[test]
fn what_the_rules_call_a_match_is_one() {
    let config = json!("eyJhIjogMX0="); // {"a": 1}
    let cases = [
        (json!({"a": 1}), json!({"a": 1, "b": 2})),
        (json!({}), json!({"a": 1})),
        (json!([1]), json!([1, 2])),
        (json!([]), json!([])),
        (json!([{"a": 1}]), json!([{"a": 1, "b": 2}])),
        (json!(7), json!("7")),
        (json!("7"), json!(7)),
        (json!(1.0), json!(1)),
        (json!(-3), json!("-3")),
        (json!(true), json!(true)),
        (json!(null), json!(null)),
        (json!({"$any": true}), json!(false)),
        (json!({"$any": true}), json!(0)),
        (json!({"$contains": "b"}), json!("abc")),
        (json!({"$contains": ["a", "c"]}), json!("abc")),
        (json!({"$not_contains": ["x", "y"]}), json!("abc")),
        (json!({"$prefix": "a"}), json!("abc")),
        (json!({"$ends_with": "c"}), json!("abc")),
        (json!({"$max_bytes": 3}), json!("茶")),
        (json!({"$length": 2}), json!([1, 2])),
        (json!({"$length": 1}), json!("茶")),
        (json!({"$length": 2, "$each": {"a": 1}}), json!([{"a": 1}, {"a": 1}])),
        (json!({"$each": {"$prefix": "a"}}), json!(["ab", "ac"])),
        (json!({"$last": "b"}), json!(["a", "b"])),
        (json!({"$in": ["a", "b"]}), json!("b")),
        (json!({"$json": {"a": 1}}), json!("{\"a\": 1, \"b\": 2}")),
        (json!({"$json_base64": {"a": 1}}), config),
    ];
    for (expected, actual) in cases {
        assert_eq!(hold(&expected, Some(&actual)), Ok(()), "{expected} against {actual}");
    }
}

#[test]
fn what_they_dont_is_reported() {
    let config = || json!("eyJhIjogMX0=");
    let cases = [
        (json!({"a": 1}), json!({"b": 1})),
        (json!({"a": null}), json!({})),
        (json!({"a": 0}), json!({})),
        (json!({"a": 1}), json!([1])),
        (json!({}), json!(1)),
        (json!({"a": {"b": 1}}), json!({"a": {"b": 2}})),
        (json!([1, 2]), json!([1])),
        (json!([2]), json!([1, 2])),
        (json!([]), json!([1])),
        (json!([1]), json!("1")),
        (json!(7), json!(8)),
        (json!(7), json!("seven")),
        (json!(7), json!("7.0")),
        (json!(1), json!(true)),
        (json!(true), json!(1)),
        (json!(false), json!(null)),
        (json!("a"), json!("A")),
        (json!("a"), json!("ab")),
        (json!({"$any": true}), json!("")),
        (json!({"$any": true}), json!(null)),
        (json!({"$contains": ["a", "x"]}), json!("abc")),
        (json!({"$contains": "1"}), json!([1])),
        (json!({"$not_contains": ["x", "b"]}), json!("abc")),
        (json!({"$not_contains": "x"}), json!(["y"])),
        (json!({"$prefix": "b"}), json!("abc")),
        (json!({"$ends_with": "b"}), json!("abc")),
        (json!({"$max_bytes": 2}), json!("茶")),
        (json!({"$length": 1}), json!([1, 2])),
        (json!({"$length": 2, "$each": {"a": 1}}), json!([{"a": 1}])),
        (json!({"$each": {"a": 1}}), json!([{"a": 1}, {"a": 2}])),
        (json!({"$each": {"a": 1}}), json!([])),
        (json!({"$last": "a"}), json!(["a", "b"])),
        (json!({"$last": "a"}), json!([])),
        (json!({"$in": ["a", "b"]}), json!("c")),
        (json!({"$json": {"a": 2}}), json!("{\"a\": 1}")),
        (json!({"$json": {"a": 2}}), json!("{")),
        (json!({"$json_base64": {"a": 2}}), config()),
        (json!({"$json_base64": {"a": 1}}), json!("%")),
        (json!({"$contians": "a"}), json!("a")),
    ];
    for (expected, actual) in cases {
        assert!(hold(&expected, Some(&actual)).is_err(), "{expected} against {actual}");
    }
    for expected in [json!([]), json!({"$any": true}), json!({"$not_contains": "x"}), json!({"$length": 0})] {
        assert!(hold(&expected, None).is_err(), "{expected} against nothing");
    }
}

#[test]
fn a_mismatch_names_its_place() {
    let expected = json!({"results": [{}, {"path": "b"}]});
    let told = hold(&expected, Some(&json!({"results": [{}, {"path": "c"}]}))).unwrap_err();
    assert_eq!(told, r#"answer.results[1].path: expected "b", got "c""#);
}

#[test]
fn an_absent_protobuf_field_is_its_default_and_nothing_else() {
    let hold = |expected: Value, actual: Value| matches(&expected, Some(&actual), "answer", Absent::IsDefault);
    for default in [json!(0), json!(""), json!(false), json!([]), json!(0.0)] {
        assert_eq!(hold(json!({ "a": default }), json!({})), Ok(()));
        assert!(hold(json!({ "a": default }), json!({"a": 2})).is_err());
    }
    assert!(hold(json!({"a": 1}), json!({})).is_err());
}

#[test]
fn placeholders_and_long_texts_are_written_out() {
    let saved = HashMap::from([("lease".to_owned(), "L1".to_owned())]);
    let values = Values { saved: &saved, today: &|zone| format!("today in {zone}") };
    let given = json!({"a": ["${lease}/${today:UTC}"], "b": {"$join": ["x", {"$repeat": ["yz", 3]}, "${lease}"]}});
    let written = json!({"a": ["L1/today in UTC"], "b": "xyzyzyzL1"});
    assert_eq!(values.resolve(&given), Ok(written));
    assert!(values.resolve(&json!("${other}")).unwrap_err().contains("other"));
}

/// The scope, the tool or method, and the arguments of a call.
type Asked = (Scope, String, Value);

/// Answers from a list instead of over the wire, and keeps what it was asked.
#[derive(Default)]
struct Scripted {
    answers: RefCell<Vec<Result<Value, Refused>>>,
    asked: RefCell<Vec<Asked>>,
}

impl Scripted {
    fn answer(&self, scope: Scope, name: &str, request: Value) -> Result<Value, Refused> {
        self.asked.borrow_mut().push((scope, name.to_owned(), request));
        self.answers.borrow_mut().remove(0)
    }
}

impl Caller for Scripted {
    fn invoke(&self, scope: Scope, tool: &str, arguments: &str) -> Result<Value, Refused> {
        self.answer(scope, tool, serde_json::from_str(arguments).unwrap())
    }

    fn call(&self, scope: Scope, rpc: &str, request: Value) -> Result<Value, Refused> {
        self.answer(scope, rpc, request)
    }
}

fn scenario(steps: Value) -> Scenario {
    let suite = json!({"suite": "s", "scenarios": [{"name": "n", "steps": steps, "thread": "t1"}]});
    Scenario::of_suite(&suite).remove(0)
}

fn run(steps: Value, answers: Vec<Result<Value, Refused>>) -> (Result<(), String>, Vec<Asked>) {
    let caller = Scripted { answers: answers.into(), ..Scripted::default() };
    let outcome = scenario(steps).run(&caller, "t", |_| "2026-12-01".to_owned());
    (outcome, caller.asked.into_inner())
}

fn in_band(kind: &str, reason: &str) -> Result<Value, Refused> {
    Err(Refused::Tool { kind: kind.into(), reason: reason.into() })
}

fn status(code: &str, reason: &str) -> Result<Value, Refused> {
    Err(Refused::Status { code: code.into(), reason: reason.into() })
}

#[test]
fn a_step_that_fails_fails_the_scenario() {
    let read = |more: Value| with(json!({"tool": "ironclaw.memory.read", "arguments": {}}), more);
    let tree = |more: Value| with(json!({"tool": "ironclaw.memory.tree", "arguments": {}}), more);
    let rpc = |more: Value| with(json!({"rpc": "p.S/M", "request": {}}), more);
    let not_found = || status("NOT_FOUND", "NOT_FOUND");
    let cases = [
        (read(json!({"output": {"content": "x"}})), Ok(json!({"content": "y"}))),
        (read(json!({"output": {"content": "x"}})), in_band("input", "NOT_FOUND")),
        (read(json!({})), in_band("input", "NOT_FOUND")),
        (read(json!({})), not_found()),
        (read(json!({"error": {"kind": "input"}})), Ok(json!({"content": "y"}))),
        (read(json!({"error": {"kind": "input"}})), in_band("operation", "X")),
        (read(json!({"error": {"kind": "input", "reason": "A"}})), in_band("input", "B")),
        (tree(json!({"output": ["a"]})), Ok(json!(["a", "b"]))),
        (rpc(json!({"response": {"a": 1}})), Ok(json!({"a": 2}))),
        (rpc(json!({"response": {}})), not_found()),
        (rpc(json!({"status": "NOT_FOUND", "reason": "NOT_FOUND"})), Ok(json!({}))),
        (rpc(json!({"status": "ABORTED", "reason": "NOT_FOUND"})), not_found()),
        (rpc(json!({"status": "NOT_FOUND", "reason": "OTHER"})), not_found()),
        (read(json!({"ouput": {"content": "x"}})), Ok(json!({"content": "x"}))),
    ];
    for (step, answer) in cases {
        let told = run(json!([read(json!({})), step]), vec![Ok(json!({})), answer]).0;
        assert!(told.as_ref().is_err_and(|told| told.starts_with("step 2")), "{step}: {told:?}");
    }
}

fn with(mut step: Value, more: Value) -> Value {
    step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    step
}

#[test]
fn steps_that_hold_pass_and_hand_on_what_they_saved() {
    let steps = json!([
        {"tool": "ironclaw.memory.tree", "arguments": {}, "output": ["a"]},
        {"tool": "ironclaw.memory.read", "arguments": {}, "error": {"kind": "input", "reason": {"$in": ["A", "B"]}}},
        {"rpc": "p.S/M", "request": {}, "save": {"lease": "id"}, "response": {"id": "7", "gone": 0}},
        {"rpc": "p.S/N", "request": {"lease": "${lease}"}, "status": "NOT_FOUND", "reason": "NOT_FOUND"},
    ]);
    let answers =
        vec![Ok(json!(["a"])), in_band("input", "B"), Ok(json!({"id": "7"})), status("NOT_FOUND", "NOT_FOUND")];
    let (outcome, asked) = run(steps, answers);
    assert_eq!(outcome, Ok(()));
    assert_eq!(asked[3].2, json!({"lease": "7"}));
}

#[test]
fn a_step_has_the_scenarios_scope_unless_it_says_otherwise() {
    let step = json!({"rpc": "p.S/M", "request": {}});
    let other = with(step.clone(), json!({"as": {"tenant": "other", "user": null, "agent": "a"}}));
    assert_eq!(scenario(json!([])).id, "s/n");
    let asked = run(json!([other, step]), vec![Ok(json!({})), Ok(json!({}))]).1;
    let expected = Scope { user: None, ..Scope::new("t-other", "").agent("a").thread("t1") };
    assert_eq!(asked[0].0, expected);
    assert_eq!(asked[1].0, Scope::new("t", "alice").thread("t1"));
}

#[test]
fn midnight_repeats_the_scenario_and_nothing_else_does() {
    let steps = json!([{"tool": "ironclaw.memory.read", "arguments": {}, "output": {"path": "daily/${today:UTC}.md"}}]);
    let answer = || Ok(json!({"path": "daily/2026-12-02.md"}));
    let caller = Scripted { answers: vec![answer(), answer()].into(), ..Scripted::default() };
    let asked = Cell::new(0);
    let today = |_: &str| {
        asked.set(asked.get() + 1);
        if asked.get() <= 2 { "2026-12-01".to_owned() } else { "2026-12-02".to_owned() }
    };
    assert_eq!(scenario(steps.clone()).run(&caller, "t", today), Ok(()));
    let tenants = caller.asked.borrow().iter().map(|(scope, ..)| scope.tenant.clone().unwrap()).collect::<Vec<_>>();
    assert_eq!(tenants, ["t", "t-next-day"]);
    assert!(run(steps, vec![answer()]).0.is_err());
}
