//! The catalogue as function definitions, and a model's calls.

use ironclaw_memory_client::tools::{self, Names};
use ironclaw_memory_client::{MemoryClient, Scope};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".into());
    let client = MemoryClient::new(&target, Scope::new("acme", "eve"))?;

    let catalogue = client.list_tools().await?;
    let tools = tools::for_openai_chat(&catalogue.tools)?;
    let system = tools::system_prompt(&catalogue, true, Names::Mapped);
    let name = tools[0]["function"]["name"].as_str().unwrap_or_default();
    println!("{} tools; {name} is in the system prompt: {}", tools.len(), system.contains(name));

    // What the model answers: a function's name and its arguments as text.
    let result =
        client.invoke("ironclaw_memory_write", r#"{"target": "memory", "content": "User has a dog."}"#).await?;
    println!("{}", result.for_model());

    let result = client.invoke("ironclaw_memory_read", r#"{"path": "/etc/passwd"}"#).await?;
    println!("{:?}", result.error.map(|error| (error.kind, error.reason)));
    Ok(())
}
