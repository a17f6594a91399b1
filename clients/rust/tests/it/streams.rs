//! What comes in pieces: a document's versions and the events of a watch.

use std::time::Duration;

use ironclaw_memory_client::v1::*;
use ironclaw_memory_client::{Error, MemoryClient, Reason, Scope, Token};
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tonic::Code;

use crate::scripted::{Answer, Script, hang_up, message, messages, refusal, silence, unconnected};

fn page(versions: &[u64], next_page_token: &str) -> Answer {
    let versions = versions.iter().map(|&version| DocumentVersion { version, ..Default::default() }).collect();
    message(ListVersionsResponse { versions, next_page_token: next_page_token.into() })
}

#[tokio::test(start_paused = true)]
async fn versions_are_fetched_page_by_page() {
    let script = Script::new([page(&[5, 4], "more"), refusal(Code::Unavailable, "OVERLOADED"), page(&[3], "")]);
    let versions: Result<Vec<_>, _> = script.client().list_versions("MEMORY.md").page_size(2).stream().collect().await;
    assert_eq!(versions.unwrap().iter().map(|version| version.version).collect::<Vec<_>>(), [5, 4, 3]);
    let asked = script.seen().iter().map(|seen| seen.request::<ListVersionsRequest>()).collect::<Vec<_>>();
    assert_eq!(asked.iter().map(|request| request.page_token.as_str()).collect::<Vec<_>>(), ["", "more", "more"]);
    assert!(asked.iter().all(|request| request.page_size == 2 && request.path == "MEMORY.md"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_fetched_that_isnt_asked_for() {
    let script = Script::new([page(&[5, 4], "more")]);
    let mut versions = script.client().list_versions("MEMORY.md").stream();
    assert!(script.seen().is_empty());
    assert_eq!(versions.next().await.unwrap().unwrap().version, 5);
    assert_eq!(versions.next().await.unwrap().unwrap().version, 4);
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_listing_ends_with_its_first_error() {
    let script = Script::new([page(&[5], "more"), refusal(Code::InvalidArgument, "INVALID_ARGUMENTS")]);
    let mut versions = script.client().list_versions("MEMORY.md").stream();
    assert!(versions.next().await.unwrap().is_ok());
    assert!(versions.next().await.unwrap().is_err());
    assert!(versions.next().await.is_none());
}

fn told(cursor: &str) -> WatchEventsResponse {
    WatchEventsResponse { cursor: cursor.into(), event: None }
}

fn cursors(script: &Script) -> Vec<String> {
    script.seen().iter().map(|seen| seen.request::<WatchEventsRequest>().cursor).collect()
}

async fn seen_by(mut events: ironclaw_memory_client::EventStream) -> (Vec<String>, Option<Error>) {
    let mut cursors = Vec::new();
    while let Some(message) = events.next().await {
        match message {
            Ok(message) => cursors.push(message.cursor),
            Err(error) => return (cursors, Some(error)),
        }
    }
    (cursors, None)
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_it_was_after_a_break() {
    let script = Script::new([
        messages([told("a"), told("b")]).then(hang_up()),
        unconnected(),
        messages([told("c")]).then(refusal(Code::Unavailable, "SHUTTING_DOWN")),
        messages([told("d")]),
    ]);
    let (seen, error) = seen_by(script.client().watch_events().kinds([EventKind::Written]).stream()).await;
    assert_eq!(seen, ["a", "b", "c", "d"]);
    assert!(error.is_none());
    assert_eq!(cursors(&script), ["", "b", "c"]);
    assert!(script.seen().iter().all(|seen| seen.header("grpc-timeout").is_none()));
    let request: WatchEventsRequest = script.seen()[2].request();
    assert_eq!(request.kinds, [EventKind::Written as i32]);
}

#[tokio::test(start_paused = true)]
async fn tries_are_counted_anew_with_each_message() {
    let breaks = (0..10).map(|number| messages([told(&number.to_string())]).then(hang_up()));
    let script = Script::new(breaks.chain((0..4).map(|_| unconnected())));
    let (seen, error) = seen_by(script.client().watch_events().cursor("begin").stream()).await;
    assert_eq!(seen.len(), 10);
    // The break that followed the last message was the first of the four failed tries.
    assert!(matches!(error, Some(Error::Unreachable(_))), "{error:?}");
    assert_eq!(cursors(&script)[..2], ["begin", "0"]);
}

#[tokio::test(start_paused = true)]
async fn what_waiting_doesnt_mend_ends_a_watch() {
    let refused = refusal(Code::PermissionDenied, "PERMISSION_FORBIDDEN");
    let script = Script::new([messages([told("a")]).then(refused)]);
    let (seen, error) = seen_by(script.client().watch_events().whole_tenant(true).stream()).await;
    assert_eq!(seen, ["a"]);
    assert_eq!(error.unwrap().reason(), Some(&Reason::PermissionForbidden));
    assert!(script.seen()[0].request::<WatchEventsRequest>().whole_tenant);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_at_the_deadline_that_it_was_given() {
    let script = Script::new([messages([told("a")]).then(silence())]);
    let begun = Instant::now();
    let (seen, error) = seen_by(script.client().watch_events().deadline(Duration::from_secs(90)).stream()).await;
    assert_eq!(seen, ["a"]);
    assert!(matches!(error, Some(Error::DeadlineExceeded)), "{error:?}");
    assert!((Duration::from_secs(89)..Duration::from_secs(92)).contains(&begun.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn a_watch_asks_for_its_token_at_each_try() {
    let script = Script::new([messages([told("a")]).then(hang_up()), messages([told("b")])]);
    let numbers = std::sync::atomic::AtomicU32::new(1);
    let token = Token::from_fn(move || Ok(format!("t{}", numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed))));
    let client = script.client_of(MemoryClient::builder(Scope::new("acme", "ann")).token(token));
    seen_by(client.watch_events().stream()).await;
    let sent = script.seen().iter().map(|seen| seen.header("authorization").unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(sent, ["Bearer t1", "Bearer t2"]);
}
