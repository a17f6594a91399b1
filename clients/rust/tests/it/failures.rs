//! How a failed call is read.

use std::collections::HashMap;
use std::time::Duration;

use ironclaw_memory_client::{Error, Kind, MemoryClient, Reason, RetryPolicy, Scope};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::scripted::{Answer, Script, hang_up, refusal, refusal_with, status, unconnected};

async fn error_of(answer: Answer) -> Error {
    let builder = MemoryClient::builder(Scope::new("acme", "ann")).retry(RetryPolicy::never());
    Script::new([answer]).client_of(builder).read("MEMORY.md").await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn every_detail_of_the_service_is_kept() {
    let answer = refusal_with(Code::InvalidArgument, "INVALID_PATH", |details| {
        details.add_bad_request_violation("path", "It starts with a slash.");
        details.set_retry_info(Some(Duration::from_millis(1500)));
    });
    let error = error_of(answer).await;
    assert_eq!(error.to_string(), "INVALID_PATH: No.");
    assert_eq!((error.code(), error.reason()), (Code::InvalidArgument, Some(&Reason::InvalidPath)));
    assert_eq!(error.retry_after(), Some(Duration::from_millis(1500)));
    let told = error.service().unwrap();
    assert_eq!((&told.kind, told.message.as_str()), (&Kind::Input, "No."));
    assert_eq!(told.field_violations[0].field, "path");
    assert_eq!(told.field_violations[0].description, "It starts with a slash.");
    assert!(told.metadata.is_empty(), "kind is told apart: {:?}", told.metadata);
}

#[tokio::test(start_paused = true)]
async fn facts_have_names() {
    let facts = [
        ("current_sha256", "abc"),
        ("permission", "write"),
        ("incident_id", "f00"),
        ("rule_ids", "hijack-1,hijack-2"),
        ("kind", "cosmic"),
    ];
    let facts: HashMap<_, _> = facts.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let details = ErrorDetails::with_error_info("CONTENT_CHANGED", "memory.ironclaw", facts);
    let error = error_of(status(Status::with_error_details(Code::Aborted, "No.", details))).await;
    let told = error.service().unwrap();
    assert_eq!(told.current_sha256(), Some("abc"));
    assert_eq!(told.permission(), Some("write"));
    assert_eq!(told.incident_id(), Some("f00"));
    assert_eq!(told.rule_ids().collect::<Vec<_>>(), ["hijack-1", "hijack-2"]);
    assert_eq!(told.kind, Kind::Other("cosmic".into()));
}

#[tokio::test(start_paused = true)]
async fn a_fact_that_wasnt_told_is_none() {
    let error = error_of(refusal(Code::Internal, "INTERNAL")).await;
    let told = error.service().unwrap();
    assert_eq!((told.current_sha256(), told.permission(), told.incident_id()), (None, None, None));
    assert_eq!(told.rule_ids().count(), 0);
    assert_eq!(told.retry_after, None);
}

#[tokio::test(start_paused = true)]
async fn a_newer_reason_is_kept_as_text() {
    let error = error_of(refusal(Code::FailedPrecondition, "MOON_PHASE")).await;
    assert_eq!(error.reason(), Some(&Reason::Other("MOON_PHASE".into())));
    assert_eq!(error.code(), Code::FailedPrecondition);
}

#[tokio::test(start_paused = true)]
async fn anothers_details_are_not_read() {
    let details = ErrorDetails::with_error_info("NOT_FOUND", "proxy.example", HashMap::new());
    let error = error_of(status(Status::with_error_details(Code::NotFound, "no route", details))).await;
    assert!(matches!(&error, Error::Status(status) if status.code() == Code::NotFound), "{error:?}");
    assert_eq!((error.reason(), error.to_string()), (None, "NotFound: no route".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn details_that_cant_be_read_leave_the_status() {
    let broken = Status::with_details(Code::NotFound, "no", b"\xff\xff\xff".as_slice().into());
    assert!(matches!(error_of(status(broken)).await, Error::Status(_)));
}

#[tokio::test(start_paused = true)]
async fn no_answer_of_the_service_is_unreachable() {
    for answer in [unconnected(), hang_up(), status(Status::unavailable("no upstream"))] {
        let error = error_of(answer.clone()).await;
        assert!(matches!(error, Error::Unreachable(_)), "{answer:?}: {error:?}");
        assert_eq!(error.code(), Code::Unavailable);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_without_a_reason_is_not_the_services_word() {
    let error = error_of(status(Status::deadline_exceeded("a proxy's"))).await;
    assert!(matches!(error, Error::DeadlineExceeded));
    let error = error_of(refusal(Code::DeadlineExceeded, "DEADLINE_EXCEEDED")).await;
    assert_eq!(error.reason(), Some(&Reason::DeadlineExceeded));
}
