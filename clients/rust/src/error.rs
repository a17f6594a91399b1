//! Every way in which a call fails, and the reading of `google.rpc` details.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use tonic::{Code, Status, TimeoutExpired};
use tonic_types::StatusExt;

use crate::Reason;

const DOMAIN: &str = "memory.ironclaw";

/// A call that failed.
///
/// What can be told apart by the service's word is in [`Error::reason`]:
///
/// ```
/// use ironclaw_memory_client::{Error, Reason};
///
/// fn lost_the_race(error: &Error) -> bool {
///     matches!(error.reason(), Some(Reason::ContentChanged | Reason::CasExhausted))
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The service refused the call or failed at it, and says why.
    #[error("{0}")]
    Service(Box<ServiceError>),
    /// The connection failed before the service answered. A change may or may not have been made.
    #[error("the service can't be reached: {}", .0.message())]
    Unreachable(#[source] Box<Status>),
    /// The time was over without an answer. A change may or may not have been made.
    ///
    /// To find out, send the same change again with the same request id: it is made once, and its answer says
    /// `replayed`.
    #[error("the deadline is over")]
    DeadlineExceeded,
    /// Something else than the service answered, such as a proxy, or the answer can't be read.
    #[error("{}: {}", name_of(.0.code()), .0.message())]
    Status(#[source] Box<Status>),
    /// The target, the token or an option can't be used. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// The source of tokens failed. Nothing was sent.
    #[error("no token: {0}")]
    Token(#[source] Box<dyn StdError + Send + Sync>),
}

/// What the service said about a call that it refused or failed at.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServiceError {
    /// The status code.
    pub code: Code,
    /// Why, to tell failures apart.
    pub reason: Reason,
    /// Who can mend it.
    pub kind: Kind,
    /// What went wrong, in one sentence without document text.
    pub message: String,
    /// Further facts, such as `limit_bytes`.
    pub metadata: HashMap<String, String>,
    /// The request's fields to blame; empty but for input errors.
    pub field_violations: Vec<FieldViolation>,
    /// How long to wait before another try; `None` when the service named no delay.
    pub retry_after: Option<Duration>,
}

/// Who can mend a failure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The caller, by calling differently.
    Input,
    /// Nobody: this call is over.
    Operation,
    /// Time: the same call may succeed later.
    Unavailable,
    /// A kind that this client doesn't know, as the service put it.
    Other(String),
}

/// One field of a request to blame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FieldViolation {
    /// The field's name in the request, such as `target`.
    pub field: String,
    /// What is wrong with it, in one sentence.
    pub description: String,
}

impl Error {
    /// What the service said; `None` when it didn't answer itself.
    pub fn service(&self) -> Option<&ServiceError> {
        match self {
            Self::Service(error) => Some(error),
            _ => None,
        }
    }

    /// Why, in the service's word; `None` when it didn't answer itself.
    pub fn reason(&self) -> Option<&Reason> {
        self.service().map(|error| &error.reason)
    }

    /// The status code, or the one that comes nearest where nothing was sent.
    pub fn code(&self) -> Code {
        match self {
            Self::Service(error) => error.code,
            Self::Unreachable(_) => Code::Unavailable,
            Self::DeadlineExceeded => Code::DeadlineExceeded,
            Self::Status(status) => status.code(),
            Self::Invalid(_) => Code::InvalidArgument,
            Self::Token(_) => Code::Unauthenticated,
        }
    }

    /// How long to wait before another try; `None` when the service named no delay.
    pub fn retry_after(&self) -> Option<Duration> {
        self.service().and_then(|error| error.retry_after)
    }
}

impl ServiceError {
    /// With [`Reason::ContentChanged`]: the hash of what is there now, 64 hex digits; empty when there is no document.
    pub fn current_sha256(&self) -> Option<&str> {
        self.fact("current_sha256")
    }

    /// With [`Reason::PermissionForbidden`]: which permission the credential lacks, such as `write`.
    pub fn permission(&self) -> Option<&str> {
        self.fact("permission")
    }

    /// With [`Reason::Internal`]: under which id the service's operator finds the cause.
    pub fn incident_id(&self) -> Option<&str> {
        self.fact("incident_id")
    }

    /// Of a text that a prompt file may not take: the rules that matched, most severe first.
    pub fn rule_ids(&self) -> impl Iterator<Item = &str> {
        self.fact("rule_ids").unwrap_or_default().split(',').filter(|id| !id.is_empty())
    }

    fn fact(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).map(String::as_str)
    }

    fn read(status: &Status) -> Option<Self> {
        let info = status.get_details_error_info().filter(|info| info.domain == DOMAIN)?; // a proxy's aren't ours
        let mut metadata = info.metadata;
        Some(Self {
            code: status.code(),
            reason: Reason::from(info.reason.as_str()),
            kind: Kind::from(metadata.remove("kind").unwrap_or_default()),
            message: status.message().to_owned(),
            metadata,
            field_violations: violations_of(status),
            retry_after: status.get_details_retry_info().and_then(|info| info.retry_delay),
        })
    }
}

fn violations_of(status: &Status) -> Vec<FieldViolation> {
    let violations = status.get_details_bad_request().map(|request| request.field_violations).unwrap_or_default();
    violations.into_iter().map(|told| FieldViolation { field: told.field, description: told.description }).collect()
}

impl From<Status> for Error {
    /// Reads a failed call: the service's own word where there is one, else what the status amounts to.
    fn from(status: Status) -> Self {
        if let Some(error) = ServiceError::read(&status) {
            return Self::Service(Box::new(error));
        }
        // tonic reports a call that ran out of time on this side as cancelled, and a connection that broke under
        // whatever code its HTTP/2 layer finds; what these have, and an answer hasn't, is a cause.
        match (status.code(), StdError::source(&status)) {
            (Code::DeadlineExceeded, _) => Self::DeadlineExceeded,
            (_, Some(cause)) if is_timeout(cause) => Self::DeadlineExceeded,
            (Code::Unavailable, _) | (_, Some(_)) => Self::Unreachable(Box::new(status)),
            _ => Self::Status(Box::new(status)),
        }
    }
}

fn is_timeout(cause: &(dyn StdError + 'static)) -> bool {
    cause.is::<TimeoutExpired>() || cause.source().is_some_and(is_timeout)
}

impl From<String> for Kind {
    fn from(text: String) -> Self {
        match text.as_str() {
            "input" => Self::Input,
            "operation" => Self::Operation,
            "unavailable" => Self::Unavailable,
            _ => Self::Other(text),
        }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.reason, self.message)
    }
}

/// The code's name; its `Display` is a sentence.
fn name_of(code: Code) -> String {
    format!("{code:?}")
}
