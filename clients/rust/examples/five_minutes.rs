//! Documents of one scope: write, search, patch, and a race that is noticed.

use ironclaw_memory_client::{Error, MemoryClient, Reason, Scope};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let target = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".into());
    let client = MemoryClient::new(&target, Scope::new("acme", "ann"))?;

    client.write("User drinks green tea.").target("memory").await?;
    client.write("- Ship the release notes").target("projects/apollo/todo.md").await?;

    for hit in client.search("what does the user drink?").await?.results {
        println!("{} {}", hit.path, hit.content.trim());
    }

    client.patch("memory", "green tea", "oolong").await?;
    let document = client.read("MEMORY.md").await?;
    println!("{}", document.content.trim());

    client.write("User lives in Shanghai.").target("memory").await?;
    let stale = client.write("Empty.").target("memory").append(false).expected_sha256(document.content_sha256);
    match stale.await {
        Err(error) if error.reason() == Some(&Reason::ContentChanged) => println!("somebody else wrote meanwhile"),
        other => println!("{other:?}"),
    }

    let coder = client.with_scope(client.scope().clone().agent("coder"));
    println!("{} {}", client.tree().await?.entries.len(), coder.tree().await?.entries.len());
    Ok(())
}
