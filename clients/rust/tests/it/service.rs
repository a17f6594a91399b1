//! The client against a real server: every method, every kind of connection.
//!
//! Each test has a second thread, on which its connection can close while the test waits for the server to end.

use std::fs;
use std::path::Path;
use std::process::Command;

use ironclaw_memory_client::v1::*;
use ironclaw_memory_client::{Error, MemoryClient, Reason, RetryPolicy, Scope, Tls, tools};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_stream::StreamExt;
use tonic::Code;

use crate::server::{Server, command, data_dir};

fn ann() -> Scope {
    Scope::new("acme", "ann").thread("chat-1")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_method_reaches_the_service() {
    let server = Server::start(&[]);
    let client = MemoryClient::new(&server.address, ann()).unwrap();
    documents(&client).await;
    history(&client).await;
    turns(&client).await;
    curation(&client).await;
    model_tools(&client).await;
    let stats = client.get_scope_stats().await.unwrap();
    assert!(stats.documents >= 2 && stats.problems.is_empty());
    drop(client);
    server.stop();
}

async fn documents(client: &MemoryClient) {
    let written = client.write("User drinks green tea.").target("memory").request_id("one").await.unwrap();
    assert_eq!((written.status(), written.path.as_str()), (WriteStatus::Written, "MEMORY.md"));
    assert!(client.write("User drinks green tea.").target("memory").request_id("one").await.unwrap().replayed);
    let patched = client.patch("memory", "green tea", "oolong").await.unwrap();
    assert_eq!((patched.status(), patched.replacements), (WriteStatus::Patched, Some(1)));
    let document = client.read("MEMORY.md").await.unwrap();
    assert_eq!(document.content, "User drinks oolong.\n");
    let raced = client.write("x").target("memory").append(false).expected_sha256("0".repeat(64)).await.unwrap_err();
    assert_eq!(raced.reason(), Some(&Reason::ContentChanged));
    assert_eq!(raced.service().unwrap().current_sha256(), Some(document.content_sha256.as_str()));
    let there = client.write("x").target("memory").must_not_exist().await.unwrap_err();
    assert_eq!(there.reason(), Some(&Reason::ContentChanged));
    let found = client.search("what does the user drink?").limit(1).await.unwrap();
    assert_eq!(found.results[0].path, "MEMORY.md");
    let metadata = json!({"skip_indexing": true}).as_object().unwrap().clone();
    client.write("tea tea").target("notes/tea.md").metadata(metadata).await.unwrap();
    let stays_out = client.search("tea").path_prefix("notes/").await.unwrap();
    assert!(stays_out.results.is_empty());
    let tree = client.tree().path("notes").depth(2).await.unwrap();
    assert_eq!(tree.entries[0].name, "tea.md");
    let refused = client.read("/etc/passwd").await.unwrap_err();
    assert_eq!((refused.code(), refused.reason()), (Code::InvalidArgument, Some(&Reason::InvalidPath)));
    assert_eq!(refused.service().unwrap().field_violations[0].field, "path");
}

async fn history(client: &MemoryClient) {
    for text in ["one", "two", "three"] {
        client.write(text).target("draft.md").append(false).await.unwrap();
    }
    let versions: Vec<_> =
        client.list_versions("draft.md").page_size(1).stream().collect::<Result<_, _>>().await.unwrap();
    assert_eq!(versions.iter().map(|version| version.version).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(client.read_version("draft.md", 1).await.unwrap().content, "one");
    let missing = client.read_version("draft.md", 9).await.unwrap_err();
    assert_eq!(missing.reason(), Some(&Reason::NotFound));
    client.restore_version("draft.md", 1).await.unwrap();
    assert_eq!(client.read("draft.md").await.unwrap().content, "one");
    assert!(client.delete_document("draft.md").await.unwrap().kept_version > 0);
    client.restore_version("draft.md", 2).await.unwrap();
    client.delete_document("draft.md").purge_versions(true).await.unwrap();
    assert!(client.list_versions("draft.md").await.unwrap().versions.is_empty());
}

async fn turns(client: &MemoryClient) {
    let messages = [InteractionMessage::user("Which tea?").named("Ann"), InteractionMessage::assistant("Oolong.")];
    assert!(client.record_interaction("run-1", messages).await.unwrap().recorded);
    let context = client.retrieve_context("oolong").await.unwrap();
    assert!(context.block.contains("oolong") && context.lanes.iter().all(|lane| !lane.failed));
    assert_eq!(client.retrieve_context("oolong").max_snippets(0).await.unwrap().block, "");
    let long = client.read_long_term("oolong", 5).await.unwrap();
    assert_eq!(long.snippets[0].relative_path, "MEMORY.md");
    let off = client.read_long_term("oolong", 5).context_profile_id("memory_disabled").await.unwrap();
    assert!(off.snippets.is_empty());
    let short = client.read_short_term("oolong", 5).await.unwrap();
    assert_eq!(short.snippets[0].relative_path, "threads/chat-1/run-1.md");
    client.profile_set().timezone("Asia/Shanghai").locale("zh-CN").await.unwrap();
    let profile: Value = serde_json::from_slice(&client.profile_read().await.unwrap().document.unwrap()).unwrap();
    assert_eq!(profile, json!({"timezone": "Asia/Shanghai", "locale": "zh-CN"}));
}

async fn curation(client: &MemoryClient) {
    assert!(!client.claim_curation().await.unwrap().claimed);
    let claim = client.claim_curation().force(true).lease_seconds(60).await.unwrap();
    assert!(claim.claimed && claim.document.contains("oolong"));
    let report = CurationReport { rewritten: 1, ..CurationReport::default() };
    let done =
        client.complete_curation(&claim.lease_id).content("User drinks oolong tea.\n").report(report).await.unwrap();
    assert_eq!(done.outcome(), CurationOutcome::Rewritten);
    let foreign = client.complete_curation("nobody's").await.unwrap_err();
    assert_eq!(foreign.reason(), Some(&Reason::LeaseInvalid));
}

async fn model_tools(client: &MemoryClient) {
    let catalogue = client.list_tools().await.unwrap();
    let offered = tools::for_openai_chat(&catalogue.tools).unwrap();
    for definition in &offered {
        let name = definition["function"]["name"].as_str().unwrap();
        let answer = client.invoke(name, r#"{"path": "", "query": "", "q": "tea"}"#).await.unwrap();
        let told: Value = serde_json::from_str(&answer.for_model()).unwrap();
        assert_ne!(told["error"]["message"], json!(format!("{name} is no tool")));
        assert!(answer.error.as_ref().is_none_or(|error| error.kind == "input"), "{name}: {told}");
    }
    assert_eq!(offered.len(), 5);
    for definitions in [tools::for_anthropic(&catalogue.tools), tools::for_mcp(&catalogue.tools, tools::Names::Mapped)]
    {
        assert!(!Value::Array(definitions.unwrap()).to_string().contains("ironclaw.memory"));
    }
    assert!(tools::system_prompt(&catalogue, true, tools::Names::Mapped).contains("ironclaw_memory_"));
    let unknown = client.invoke("weather", "{}").await.unwrap();
    assert!(unknown.error.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_watch_tells_what_happens_and_goes_on_at_its_cursor() {
    let server = Server::start(&[]);
    let client = MemoryClient::new(&server.address, ann()).unwrap();
    let mut events = client.watch_events().kinds([EventKind::Written]).stream();
    let begun = events.next().await.unwrap().unwrap();
    assert_eq!(begun.event, None);
    client.write("tea").target("memory").correlation_id("turn-9").await.unwrap();
    let told = next_event(&mut events).await;
    assert_eq!((told.kind(), told.correlation_id.as_str()), (EventKind::Written, "turn-9"));
    drop(events);
    let mut again = client.watch_events().kinds([EventKind::Written]).cursor(begun.cursor).stream();
    assert_eq!(next_event(&mut again).await.sequence, told.sequence);
    let refused = client.watch_events().cursor("no cursor").stream().next().await.unwrap().unwrap_err();
    assert_eq!(refused.reason(), Some(&Reason::InvalidArguments));
    drop(again);
    server.stop();
}

async fn next_event(events: &mut ironclaw_memory_client::EventStream) -> MemoryEvent {
    loop {
        if let Some(event) = events.next().await.expect("the watch goes on").unwrap().event {
            return event;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_unix_socket_and_an_api_key() {
    let folder = tempfile::tempdir().unwrap();
    let key = create_key(&folder, &[]);
    let socket = format!("unix:{}", folder.path().join("memory.sock").display());
    let server = Server::start_on(folder, &["--listen", &socket]);
    let nobody = MemoryClient::new(&socket, Scope::default()).unwrap();
    assert_eq!(nobody.read("MEMORY.md").await.unwrap_err().reason(), Some(&Reason::CredentialsMissing));
    let wrong = MemoryClient::builder(ann()).token("icm_x").build(&socket).unwrap();
    assert_eq!(wrong.read("MEMORY.md").await.unwrap_err().reason(), Some(&Reason::CredentialsInvalid));
    // The key pins tenant and user, so they may be left out.
    let client = MemoryClient::builder(Scope::default()).token(key).build(&socket).unwrap();
    client.write("tea").target("memory").await.unwrap();
    let forbidden = client.read("MEMORY.md").scope(Scope::new("other", "ann")).await.unwrap_err();
    assert_eq!(forbidden.reason(), Some(&Reason::ScopeForbidden));
    let lacking = client.get_scope_stats().await.unwrap_err();
    assert_eq!(lacking.service().unwrap().permission(), Some("admin"));
    server.stop();
}

fn create_key(folder: &TempDir, more: &[&str]) -> String {
    let data = data_dir(folder);
    let mut create = command(&["keys", "create", "--tenant", "acme", "--user", "ann", "--name", "test", "--data-dir"]);
    told_by(create.arg(data).args(more)).lines().next().expect("a key").to_owned()
}

fn told_by(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// An authority that nobody trusts but these tests.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "Test authority"); // not what certificates are called by default
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for a name, and its key, as PEM.
fn issued(authority: &CertifiedIssuer<'static, KeyPair>, name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    (params.signed_by(&key, authority).unwrap().pem(), key.serialize_pem())
}

/// Writes a private file and returns its path.
fn private(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    rustix::fs::chmod(&path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn tls_with_an_authority_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let key = create_key(&folder, &[]);
    let authority = authority();
    let (certificate, private_key) = issued(&authority, "memory.example");
    let certificate = private(folder.path(), "server.pem", &certificate);
    let private_key = private(folder.path(), "server-key.pem", &private_key);
    let server = Server::start_on(folder, &["--tls-certificate", &certificate, "--tls-key", &private_key]);
    let builder = |tls: Tls| MemoryClient::builder(ann()).token(key.clone()).retry(RetryPolicy::never()).tls(tls);
    let trusting = Tls::new().authority(authority.pem());
    let client = builder(trusting.clone().server_name("memory.example")).build(&server.address).unwrap();
    client.write("tea").target("memory").await.unwrap();
    let another = Tls::new().authority(self::authority().pem()).server_name("memory.example");
    for wrong in [trusting.server_name("other.example"), another] {
        let error = builder(wrong).build(&server.address).unwrap().read("MEMORY.md").await.unwrap_err();
        assert!(matches!(error, Error::Unreachable(_)), "{error:?}");
    }
    let in_the_clear = MemoryClient::builder(ann()).retry(RetryPolicy::never()).build(&server.address).unwrap();
    assert!(matches!(in_the_clear.read("MEMORY.md").await, Err(Error::Unreachable(_))));
    drop(client);
    server.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_client_certificate_is_a_credential() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority();
    let (certificate, private_key) = issued(&authority, "memory.example");
    let grants = "[\"host.example\"]\ntenant = \"acme\"\nusers = \"any\"\npermissions = [\"read\", \"write\"]\n";
    let certificate = private(folder.path(), "server.pem", &certificate);
    let private_key = private(folder.path(), "server-key.pem", &private_key);
    let clients = private(folder.path(), "clients.pem", &authority.pem());
    let grants = private(folder.path(), "grants.toml", grants);
    let tls = ["--tls-certificate", &certificate, "--tls-key", &private_key];
    let server =
        Server::start_on(folder, &[tls.as_slice(), &["--tls-client-ca", &clients, "--mtls-grants", &grants]].concat());
    let (certificate, private_key) = issued(&authority, "host.example");
    let tls = Tls::new().authority(authority.pem()).server_name("memory.example");
    let builder = |tls: Tls| MemoryClient::builder(ann()).retry(RetryPolicy::never()).tls(tls);
    let client = builder(tls.clone().identity(certificate, private_key)).build(&server.address).unwrap();
    client.write("tea").target("memory").await.unwrap();
    assert_eq!(client.get_scope_stats().await.unwrap_err().reason(), Some(&Reason::PermissionForbidden));
    let nobody = builder(tls).build(&server.address).unwrap();
    assert!(matches!(nobody.read("MEMORY.md").await, Err(Error::Unreachable(_))));
    drop(client);
    server.stop();
}
