//! What the README shows is what runs, prints and exists.

use std::env;
use std::process::Command;

use ironclaw_memory_client::v1::ErrorReason;

use crate::server::Server;

const README: &str = include_str!("../../README.md");
const FIVE_MINUTES: &str = include_str!("../../examples/five_minutes.rs");
const MODEL_TOOLS: &str = include_str!("../../examples/model_tools.rs");
const CLIENT: &str = include_str!("../../src/client.rs");

/// What an example prints against a server.
fn printed(example: &str, target: &str) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--example", example, "--", target]).current_dir(env!("CARGO_MANIFEST_DIR"));
    // Build scripts look at these: what cargo tells a test would make it build their crates anew.
    for (name, _) in env::vars_os().filter(|(name, _)| is_about_the_package(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    let run = cargo.output().unwrap();
    assert!(run.status.success(), "{example}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

fn is_about_the_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_"].iter().any(|start| variable.starts_with(start))
}

/// The example without the line that says what it is, as the README has it.
fn shown(example: &str) -> &str {
    example.split_once("\n\n").unwrap().1
}

#[test]
fn examples_are_in_the_readme_and_print_what_it_says() {
    let server = Server::start(&[]);
    for (name, source) in [("five_minutes", FIVE_MINUTES), ("model_tools", MODEL_TOOLS)] {
        let told =
            format!("```rust,no_run\n{}```\n\nprints\n\n```text\n{}```", shown(source), printed(name, &server.address));
        assert!(README.contains(&told), "the README should have\n{told}");
    }
    let turn = [
        "context: 0 snippets",
        "model: 2 messages, 5 tools",
        "tool: ironclaw_memory_write done",
        "tool: ironclaw_memory_search done",
        "model: 5 messages, 5 tools",
        "tool: ironclaw_memory_read INVALID_PATH",
        "model: 7 messages, 5 tools",
        "recorded: threads/chat-1/run-1.md",
        "assistant: Noted.",
    ];
    assert_eq!(printed("agent_loop", &server.address).lines().collect::<Vec<_>>(), turn);
    server.stop();
}

#[test]
fn every_method_is_in_the_readme() {
    let calls = CLIENT.split("pub fn ").filter(|method| method.split('{').next().unwrap().contains("-> Call<"));
    let names = calls.map(|method| method.split(['(', '<']).next().unwrap()).collect::<Vec<_>>();
    assert!(names.len() >= 21, "{names:?}");
    for name in names {
        assert!(README.contains(&format!("`{name}`")), "{name} is missing");
    }
}

#[test]
fn every_reason_is_in_the_readme() {
    for reason in (1..).map_while(|number| ErrorReason::try_from(number).ok()) {
        let text = reason.as_str_name().strip_prefix("ERROR_REASON_").unwrap();
        assert!(README.contains(&format!("`{text}`")), "{text} is missing");
    }
}
