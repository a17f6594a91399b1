//! What is sent, when it is sent again, and after how long.

use std::time::Duration;

use ironclaw_memory_client::v1::write_request::Precondition;
use ironclaw_memory_client::v1::*;
use ironclaw_memory_client::{Error, MemoryClient, Reason, RetryPolicy, Scope, Token};
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::scripted::{Answer, Script, busy, hang_up, message, refusal, silence, status, unconnected};

const REQUEST_ID: &str = "x-ironclaw-request-id";
const SECOND: Duration = Duration::from_secs(1);

fn overloaded() -> Answer {
    refusal(Code::Unavailable, "OVERLOADED")
}

fn tea() -> Answer {
    message(ReadResponse { path: "MEMORY.md".into(), content: "tea".into(), ..Default::default() })
}

fn request_ids(script: &Script) -> Vec<Option<String>> {
    script.seen().iter().map(|seen| seen.header(REQUEST_ID).map(str::to_owned)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_read_is_repeated_until_it_succeeds() {
    let script = Script::new([overloaded(), overloaded(), tea()]);
    assert_eq!(script.client().read("MEMORY.md").await.unwrap().content, "tea");
    assert_eq!(script.seen().iter().map(|seen| seen.method.as_str()).collect::<Vec<_>>(), ["Read"; 3]);
    assert_eq!(request_ids(&script), [None, None, None]);
}

#[tokio::test(start_paused = true)]
async fn all_tries_of_a_write_carry_one_request_id() {
    let done = message(WriteResponse { replayed: true, ..Default::default() });
    let script = Script::new([overloaded(), status(Status::unavailable("gone")), done]);
    assert!(script.client().write("tea").target("memory").await.unwrap().replayed);
    let ids = request_ids(&script);
    assert_eq!(ids[0].as_ref().unwrap().len(), 36);
    assert_eq!(ids, vec![ids[0].clone(); 3]);
    for seen in script.seen() {
        assert_eq!(seen.request::<WriteRequest>().content, "tea");
    }
}

#[tokio::test(start_paused = true)]
async fn two_writes_have_two_request_ids() {
    let script = Script::new([message(WriteResponse::default()), message(WriteResponse::default())]);
    let client = script.client();
    client.write("tea").await.unwrap();
    client.write("tea").await.unwrap();
    let ids = request_ids(&script);
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test(start_paused = true)]
async fn every_other_change_carries_one_request_id_too() {
    let empty = || message(ListToolsRequest {}); // the empty message, whatever its type
    let script = Script::new((0..6).flat_map(|_| [overloaded(), empty()]));
    let client = script.client();
    client.profile_set().timezone("UTC").await.unwrap();
    client.invoke("ironclaw_memory_read", "{}").await.unwrap();
    client.restore_version("MEMORY.md", 1).await.unwrap();
    client.delete_document("MEMORY.md").await.unwrap();
    client.record_interaction("run-1", [InteractionMessage::user("tea")]).await.unwrap();
    client.claim_curation().await.unwrap();
    let ids = request_ids(&script);
    assert_eq!(ids.len(), 12);
    for tries in ids.chunks(2) {
        assert!(tries[0].is_some());
        assert_eq!(tries[0], tries[1]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_completion_is_known_by_its_lease_and_carries_no_id() {
    let script = Script::new([overloaded(), message(CompleteCurationResponse::default())]);
    script.client().complete_curation("lease").content("tea").await.unwrap();
    assert_eq!(request_ids(&script), [None, None]);
}

#[tokio::test(start_paused = true)]
async fn the_callers_request_id_is_used() {
    let script = Script::new([message(WriteResponse::default())]);
    script.client().write("tea").request_id("order-7").await.unwrap();
    assert_eq!(request_ids(&script), [Some("order-7".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn tries_are_limited_and_the_last_error_is_returned() {
    let script = Script::new([overloaded(), overloaded(), overloaded(), refusal(Code::Unavailable, "SHUTTING_DOWN")]);
    let error = script.client().read("MEMORY.md").await.unwrap_err();
    assert_eq!(error.reason(), Some(&Reason::ShuttingDown));
    assert_eq!(script.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn repeating_can_be_turned_off() {
    let script = Script::new([overloaded()]);
    let client = script.client_of(MemoryClient::builder(Scope::new("acme", "ann")).retry(RetryPolicy::never()));
    assert_eq!(client.read("MEMORY.md").await.unwrap_err().reason(), Some(&Reason::Overloaded));
}

#[tokio::test(start_paused = true)]
async fn the_servers_delay_is_waited_for_in_full() {
    for (code, reason) in [(Code::Unavailable, "OVERLOADED"), (Code::ResourceExhausted, "RATE_LIMITED")] {
        let script = Script::new([busy(code, reason, 60 * SECOND), tea()]);
        let begun = Instant::now();
        script.client().read("MEMORY.md").deadline(600 * SECOND).await.unwrap();
        let waited = begun.elapsed();
        assert!((60 * SECOND..=73 * SECOND).contains(&waited), "{reason}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_beyond_the_deadline_is_not_begun() {
    let script = Script::new([busy(Code::Unavailable, "OVERLOADED", 60 * SECOND)]);
    let begun = Instant::now();
    let error = script.client().read("MEMORY.md").await.unwrap_err();
    assert_eq!(error.retry_after(), Some(60 * SECOND));
    assert!(begun.elapsed() < SECOND);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_ten_seconds_for_all_tries_together() {
    let script = Script::new([busy(Code::Unavailable, "OVERLOADED", 4 * SECOND), silence()]);
    let begun = Instant::now();
    let error = script.client().read("MEMORY.md").await.unwrap_err();
    assert!(matches!(error, Error::DeadlineExceeded), "{error:?}");
    let taken = begun.elapsed();
    assert!((9 * SECOND..11 * SECOND).contains(&taken), "{taken:?}");
    let seen = script.seen();
    assert_eq!(seen[0].timeout(), 10 * SECOND);
    assert!(seen[1].timeout() <= 6 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_calls_deadline_overrides_the_clients() {
    let script = Script::new([tea(), tea()]);
    let client = script.client_of(MemoryClient::builder(Scope::new("acme", "ann")).deadline(30 * SECOND));
    client.read("MEMORY.md").deadline(3 * SECOND).await.unwrap();
    client.read("MEMORY.md").await.unwrap();
    let timeouts = script.seen().iter().map(|seen| seen.timeout()).collect::<Vec<_>>();
    assert_eq!(timeouts, [3 * SECOND, 30 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_without_end_is_no_mistake() {
    let script = Script::new([tea()]);
    script.client().read("MEMORY.md").deadline(Duration::MAX).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_repetition_cant_mend_is_tried_once() {
    let answers = [
        refusal(Code::Unavailable, "OUTCOME_UNKNOWN"),
        refusal(Code::Aborted, "CONTENT_CHANGED"),
        refusal(Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
        refusal(Code::Internal, "INTERNAL"),
        refusal(Code::ResourceExhausted, "SCOPE_QUOTA"),
        refusal(Code::Unauthenticated, "CREDENTIALS_INVALID"),
        status(Status::unknown("a proxy's")),
        status(Status::deadline_exceeded("a proxy's")),
    ];
    for answer in answers {
        let script = Script::new([answer.clone()]);
        script.client().write("tea").await.unwrap_err();
        assert_eq!(script.seen().len(), 1, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_is_run_again_only_without_a_precondition() {
    let lost = || refusal(Code::Aborted, "CAS_EXHAUSTED");
    let script = Script::new([lost(), message(WriteResponse::default()), lost(), lost(), lost(), lost()]);
    let client = script.client();
    client.write("tea").await.unwrap();
    assert_eq!(script.seen().len(), 2);
    let conditional = [
        client.write("tea").append(false).expected_sha256("0").await.map(drop),
        client.restore_version("MEMORY.md", 1).expected_sha256("0").await.map(drop),
        client.delete_document("MEMORY.md").expected_sha256("0").await.map(drop),
        client.read("MEMORY.md").await.map(drop),
    ];
    assert!(conditional.iter().all(Result::is_err));
    assert_eq!(script.seen().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_made_again() {
    let script = Script::new([unconnected(), hang_up(), tea()]);
    assert_eq!(script.client().read("MEMORY.md").await.unwrap().content, "tea");
    assert_eq!(script.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn each_call_can_have_its_own_scope_and_correlation_id() {
    let script = Script::new([tea(), tea(), tea()]);
    let client = script.client();
    client.read("MEMORY.md").scope(Scope::new("acme", "王芳")).correlation_id("turn-9").await.unwrap();
    client.read("MEMORY.md").await.unwrap();
    client.with_scope(client.scope().clone().agent("coder")).read("MEMORY.md").await.unwrap();
    let seen = script.seen();
    assert!(seen[0].header("x-ironclaw-user-id-bin").is_some());
    assert_eq!(seen[0].header("x-ironclaw-user-id"), None);
    assert_eq!(seen[0].header("x-ironclaw-correlation-id"), Some("turn-9"));
    assert_eq!(seen[1].header("x-ironclaw-user-id"), Some("ann"));
    assert_eq!(seen[1].header("x-ironclaw-correlation-id"), None);
    assert_eq!(seen[2].header("x-ironclaw-user-id"), Some("ann"));
    assert_eq!(seen[2].header("x-ironclaw-agent-id"), Some("coder"));
}

#[tokio::test(start_paused = true)]
async fn what_isnt_set_isnt_sent() {
    let script = Script::new((0..3).map(|_| message(ListToolsRequest {})));
    let client = script.client();
    client.write("tea").await.unwrap();
    client.patch("memory", "tea", "oolong").append(false).replace_all(false).must_not_exist().await.unwrap();
    client.search("").limit(0).min_score(0.0).await.unwrap();
    let seen = script.seen();
    assert_eq!(seen[0].request::<WriteRequest>(), WriteRequest { content: "tea".into(), ..Default::default() });
    let patch = WriteRequest {
        target: Some("memory".into()),
        append: Some(false),
        old_string: Some("tea".into()),
        new_string: Some("oolong".into()),
        replace_all: Some(false),
        precondition: Some(Precondition::MustNotExist(true)),
        ..Default::default()
    };
    assert_eq!(seen[1].request::<WriteRequest>(), patch);
    let search = SearchRequest { limit: Some(0), min_score: Some(0.0), ..Default::default() };
    assert_eq!(seen[2].request::<SearchRequest>(), search);
}

#[tokio::test(start_paused = true)]
async fn a_token_goes_with_every_call_and_is_asked_for_once_a_call() {
    let script = Script::new([tea(), overloaded(), tea()]);
    let numbers = std::sync::atomic::AtomicU32::new(1);
    let token = Token::from_fn(move || Ok(format!("t{}", numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed))));
    let client = script.client_of(MemoryClient::builder(Scope::new("acme", "ann")).token(token));
    client.read("MEMORY.md").await.unwrap();
    client.read("MEMORY.md").await.unwrap();
    let sent = script.seen().iter().map(|seen| seen.header("authorization").unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(sent, ["Bearer t1", "Bearer t2", "Bearer t2"]);
}

#[tokio::test(start_paused = true)]
async fn without_a_token_that_can_be_sent_nothing_is() {
    let script = Script::new([]);
    let builder = || MemoryClient::builder(Scope::new("acme", "ann"));
    let failing = script.client_of(builder().token(Token::from_fn(|| Err("closed".into()))));
    assert!(matches!(failing.read("MEMORY.md").await, Err(Error::Token(_))));
    let odd = script.client_of(builder().token("two words"));
    assert!(matches!(odd.write("tea").await, Err(Error::Invalid(_))));
    assert!(script.seen().is_empty());
}

#[tokio::test]
async fn a_token_never_goes_in_the_clear_beyond_this_machine() {
    let builder = || MemoryClient::builder(Scope::new("acme", "ann")).token("icm_x");
    for target in ["memory.internal:1", "10.0.0.7:1", "http://memory:1", "dns:///memory:1"] {
        assert!(matches!(builder().build(target), Err(Error::Invalid(told)) if told.contains("in the clear")));
        MemoryClient::new(target, Scope::new("acme", "ann")).unwrap();
    }
    for target in ["127.0.0.1:1", "[::1]:1", "localhost:1", "unix:/run/memory.sock"] {
        builder().build(target).unwrap();
    }
}

#[test]
fn without_a_runtime_a_client_is_refused_instead_of_panicking() {
    assert!(matches!(MemoryClient::new("127.0.0.1:1", Scope::new("acme", "ann")), Err(Error::Invalid(_))));
}
