//! The reasons that the service gives, as one enum; the texts are those of the wire.

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])+ $name:ident = $text:literal,)+) => {
        /// Why the service refused a call, or failed at it.
        ///
        /// A reason that is newer than this client is kept as [`Reason::Other`].
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[$doc])+ $name,)+
            /// A reason that this client doesn't know, as the service put it.
            Other(String),
        }

        impl Reason {
            /// The reason as it is on the wire, such as `CONTENT_CHANGED`.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for Reason {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$name,)+
                    _ => Self::Other(text.to_owned()),
                }
            }
        }
    };
}

reasons! {
    /// A target or path breaks the grammar.
    InvalidPath = "INVALID_PATH",
    /// An argument is missing, blank, of the wrong type or out of range.
    InvalidArguments = "INVALID_ARGUMENTS",
    /// `old_string` doesn't occur in the document; nothing was changed.
    PatchNoMatch = "PATCH_NO_MATCH",
    /// The resulting content doesn't satisfy the JSON Schema of its metadata; nothing was changed.
    SchemaViolation = "SCHEMA_VIOLATION",
    /// No tenant or no user came with the call.
    ScopeMissing = "SCOPE_MISSING",
    /// A scope value breaks the rule of segments.
    ScopeInvalid = "SCOPE_INVALID",
    /// The request id belongs to an earlier change with other arguments.
    RequestIdReused = "REQUEST_ID_REUSED",
    /// The resulting document would exceed the limit; the old one stays.
    DocumentTooLarge = "DOCUMENT_TOO_LARGE",
    /// The request isn't the message that the method takes.
    RequestMalformed = "REQUEST_MALFORMED",
    /// A prompt file would take text that tries to instruct.
    HighRiskPromptInjection = "HIGH_RISK_PROMPT_INJECTION",
    /// A prompt file would take text that seizes control.
    CriticalPromptInjection = "CRITICAL_PROMPT_INJECTION",
    /// Only the target `bootstrap` may empty a prompt file.
    PromptWriteBypassNotAllowed = "PROMPT_WRITE_BYPASS_NOT_ALLOWED",
    /// A prompt file would take a credential.
    SecretDetected = "SECRET_DETECTED",
    /// There is no such document, or no such version of it, in this scope.
    NotFound = "NOT_FOUND",
    /// A folder is where the document should be, or the reverse.
    PathConflict = "PATH_CONFLICT",
    /// The stored profile isn't an object with text fields; it stays untouched.
    ProfileCorrupt = "PROFILE_CORRUPT",
    /// The file isn't UTF-8.
    DocumentNotText = "DOCUMENT_NOT_TEXT",
    /// The document's effective metadata says `read_only`.
    DocumentReadOnly = "DOCUMENT_READ_ONLY",
    /// The precondition doesn't hold; nothing was changed. Read the document again, then decide anew.
    ContentChanged = "CONTENT_CHANGED",
    /// The document changed under each of the service's tries; nothing was changed.
    CasExhausted = "CAS_EXHAUSTED",
    /// The path belongs to the service, such as `threads/`.
    ReservedNamespace = "RESERVED_NAMESPACE",
    /// The scope, or its tenant, has reached its limit of documents or bytes.
    ScopeQuota = "SCOPE_QUOTA",
    /// The disk is full; the old bytes are intact.
    StorageFull = "STORAGE_FULL",
    /// Too many calls are in flight; this one was not started.
    Overloaded = "OVERLOADED",
    /// The file system refused; nothing was changed.
    StorageUnavailable = "STORAGE_UNAVAILABLE",
    /// The server drains; this call was not started.
    ShuttingDown = "SHUTTING_DOWN",
    /// The safety check itself failed; nothing was changed.
    PromptWritePolicyUnavailable = "PROMPT_WRITE_POLICY_UNAVAILABLE",
    /// The event that must precede the write couldn't be recorded; nothing was changed.
    PromptWriteSafetyEventUnavailable = "PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE",
    /// The change was made but may not survive a power cut; read the document again.
    OutcomeUnknown = "OUTCOME_UNKNOWN",
    /// What is kept of the document fails its checksum. Waiting doesn't mend it.
    DocumentCorrupt = "DOCUMENT_CORRUPT",
    /// The time was over before anything was changed.
    DeadlineExceeded = "DEADLINE_EXCEEDED",
    /// The caller went away before anything was changed.
    Cancelled = "CANCELLED",
    /// A fault of the service, under an incident id for its operator.
    Internal = "INTERNAL",
    /// The curation's lease is over, or was never given in this scope; claim again.
    LeaseInvalid = "LEASE_INVALID",
    /// The server asks for credentials and the call carries none.
    CredentialsMissing = "CREDENTIALS_MISSING",
    /// The credential is malformed, unknown, expired or revoked.
    CredentialsInvalid = "CREDENTIALS_INVALID",
    /// The credential doesn't reach this scope.
    ScopeForbidden = "SCOPE_FORBIDDEN",
    /// The credential lacks a permission.
    PermissionForbidden = "PERMISSION_FORBIDDEN",
    /// The tenant calls or writes faster than it may; nothing was started.
    RateLimited = "RATE_LIMITED",
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::ErrorReason;

    #[test]
    fn every_reason_of_the_protos_is_known_and_keeps_its_text() {
        let reasons = (1..).map_while(|number| ErrorReason::try_from(number).ok()).collect::<Vec<_>>();
        assert!(reasons.len() >= 39, "the numbers have a gap");
        for reason in reasons {
            let text = reason.as_str_name().strip_prefix("ERROR_REASON_").unwrap();
            let known = Reason::from(text);
            assert!(!matches!(known, Reason::Other(_)), "{text} is missing");
            assert_eq!(known.as_str(), text);
        }
    }

    #[test]
    fn a_newer_reason_survives_as_text() {
        assert_eq!(Reason::from("MOON_PHASE"), Reason::Other("MOON_PHASE".into()));
        assert_eq!(Reason::from("MOON_PHASE").to_string(), "MOON_PHASE");
    }
}
