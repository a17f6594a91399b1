//! An agent's turn with memory around it, with the model's side written down instead of asked for.
//!
//! ```console
//! $ cargo run --example agent_loop -- 127.0.0.1:50051
//! ```
//!
//! Replace `ScriptedModel` by your model API: send it `messages` and `tools`, and handle what it answers as here.

use ironclaw_memory_client::tools::{self, Names};
use ironclaw_memory_client::v1::InteractionMessage;
use ironclaw_memory_client::{Error, MemoryClient, Scope};
use serde_json::{Value, json};

/// Stands for a model: it says what is written here, whatever it is asked.
struct ScriptedModel {
    replies: std::vec::IntoIter<Reply>,
}

/// What a model answers: calls of tools, or words for the user.
enum Reply {
    ToolCalls(Vec<ToolCall>),
    Text(&'static str),
}

struct ToolCall {
    id: &'static str,
    name: &'static str,
    arguments: &'static str,
}

impl ScriptedModel {
    fn new() -> Self {
        let write = ToolCall {
            id: "call_1",
            name: "ironclaw_memory_write",
            arguments: r#"{"target": "memory", "content": "User is allergic to peanuts."}"#,
        };
        let search =
            ToolCall { id: "call_2", name: "ironclaw_memory_search", arguments: r#"{"query": "allergic to peanuts"}"# };
        let mistake = ToolCall { id: "call_3", name: "ironclaw_memory_read", arguments: r#"{"path": "/notes.md"}"# };
        let replies =
            vec![Reply::ToolCalls(vec![write, search]), Reply::ToolCalls(vec![mistake]), Reply::Text("Noted.")];
        Self { replies: replies.into_iter() }
    }

    fn answer(&mut self, messages: &[Value], tools: &[Value]) -> Reply {
        println!("model: {} messages, {} tools", messages.len(), tools.len());
        self.replies.next().unwrap_or(Reply::Text("That is all."))
    }
}

/// Answers one message of the user: context first, then the model and its tools, then the record of the turn.
async fn turn(client: &MemoryClient, run_id: &str, question: &str) -> Result<String, Box<dyn std::error::Error>> {
    let catalogue = client.list_tools().await?;
    let offered = tools::for_openai_chat(&catalogue.tools)?;
    let guidance = tools::system_prompt(&catalogue, true, Names::Mapped);
    let context = client.retrieve_context(question).await?;
    println!("context: {} snippets", context.snippets.len());

    let mut messages = vec![
        json!({"role": "system", "content": format!("{guidance}\n\n{}", context.block)}),
        json!({"role": "user", "content": question}),
    ];
    let mut model = ScriptedModel::new();
    let answer = loop {
        match model.answer(&messages, &offered) {
            Reply::Text(text) => break text,
            Reply::ToolCalls(calls) => messages.extend(answer_tool_calls(client, &calls).await?),
        }
    };
    let exchange = [InteractionMessage::user(question), InteractionMessage::assistant(answer)];
    let recorded = client.record_interaction(run_id, exchange).await?;
    println!("recorded: {}", recorded.path);
    Ok(answer.to_owned())
}

/// Runs the tools that the model asked for, in order, and returns its own message and theirs.
///
/// What the model did wrong goes back to it in words; an outage is an error, for the host to handle.
async fn answer_tool_calls(client: &MemoryClient, calls: &[ToolCall]) -> Result<Vec<Value>, Error> {
    let asked = calls.iter().map(|call| {
        let function = json!({"name": call.name, "arguments": call.arguments});
        json!({"id": call.id, "type": "function", "function": function})
    });
    let mut messages = vec![json!({"role": "assistant", "tool_calls": asked.collect::<Vec<_>>()})];
    for call in calls {
        let result = client.invoke(call.name, call.arguments).await?;
        let outcome = result.error.as_ref().map_or("done", |error| &error.reason);
        println!("tool: {} {outcome}", call.name);
        messages.push(json!({"role": "tool", "tool_call_id": call.id, "content": result.for_model()}));
    }
    Ok(messages)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".into());
    let client = MemoryClient::new(&target, Scope::new("example", "ann").thread("chat-1"))?;
    println!("assistant: {}", turn(&client, "run-1", "I can't eat peanuts.").await?);
    Ok(())
}
