package memory

import "errors"

// Reason says why a call failed. It is itself an error for [errors.Is]: errors.Is(err, memory.ReasonNotFound).
//
// A reason that a newer server sends and this list doesn't have stays readable as it came.
type Reason string

// Error returns the reason's name.
func (r Reason) Error() string { return string(r) }

// The service's reasons. Each text is the name of a value of the protos' ErrorReason without its prefix.
const (
	// ReasonInvalidPath: a target or path breaks the grammar of paths.
	ReasonInvalidPath Reason = "INVALID_PATH"
	// ReasonInvalidArguments: a field is missing, blank, of the wrong type or out of range.
	ReasonInvalidArguments Reason = "INVALID_ARGUMENTS"
	// ReasonPatchNoMatch: the text to be replaced doesn't occur in the document; nothing was changed.
	ReasonPatchNoMatch Reason = "PATCH_NO_MATCH"
	// ReasonSchemaViolation: the content doesn't satisfy the JSON Schema of its metadata; nothing was changed.
	ReasonSchemaViolation Reason = "SCHEMA_VIOLATION"
	// ReasonScopeMissing: the call names no tenant or no user.
	ReasonScopeMissing Reason = "SCOPE_MISSING"
	// ReasonScopeInvalid: a value of the scope breaks its rule.
	ReasonScopeInvalid Reason = "SCOPE_INVALID"
	// ReasonRequestIDReused: the request id belongs to an earlier change with other arguments.
	ReasonRequestIDReused Reason = "REQUEST_ID_REUSED"
	// ReasonDocumentTooLarge: the resulting document would exceed the limit; the old one stays.
	ReasonDocumentTooLarge Reason = "DOCUMENT_TOO_LARGE"
	// ReasonRequestMalformed: the request isn't the message that the method takes.
	ReasonRequestMalformed Reason = "REQUEST_MALFORMED"
	// ReasonHighRiskPromptInjection: a prompt file would take text that tries to instruct.
	ReasonHighRiskPromptInjection Reason = "HIGH_RISK_PROMPT_INJECTION"
	// ReasonCriticalPromptInjection: a prompt file would take text that seizes control.
	ReasonCriticalPromptInjection Reason = "CRITICAL_PROMPT_INJECTION"
	// ReasonPromptWriteBypassNotAllowed: only the target bootstrap may empty a prompt file.
	ReasonPromptWriteBypassNotAllowed Reason = "PROMPT_WRITE_BYPASS_NOT_ALLOWED"
	// ReasonSecretDetected: a prompt file would take a credential.
	ReasonSecretDetected Reason = "SECRET_DETECTED"
	// ReasonNotFound: there is no such document or version in this scope.
	ReasonNotFound Reason = "NOT_FOUND"
	// ReasonPathConflict: a folder is where the document should be, or the reverse.
	ReasonPathConflict Reason = "PATH_CONFLICT"
	// ReasonProfileCorrupt: the stored profile isn't an object with text fields.
	ReasonProfileCorrupt Reason = "PROFILE_CORRUPT"
	// ReasonDocumentNotText: the stored file isn't UTF-8.
	ReasonDocumentNotText Reason = "DOCUMENT_NOT_TEXT"
	// ReasonDocumentReadOnly: the document's metadata forbid changes.
	ReasonDocumentReadOnly Reason = "DOCUMENT_READ_ONLY"
	// ReasonContentChanged: a precondition doesn't hold; nothing was changed. [Error.CurrentSHA256] has the hash of what is
	// there now.
	ReasonContentChanged Reason = "CONTENT_CHANGED"
	// ReasonCASExhausted: the document changed under each of the service's tries; nothing was changed.
	ReasonCASExhausted Reason = "CAS_EXHAUSTED"
	// ReasonReservedNamespace: the path belongs to the service, such as threads/.
	ReasonReservedNamespace Reason = "RESERVED_NAMESPACE"
	// ReasonScopeQuota: the scope or its tenant has reached its limit of documents or bytes.
	ReasonScopeQuota Reason = "SCOPE_QUOTA"
	// ReasonStorageFull: the disk is full; nothing was changed.
	ReasonStorageFull Reason = "STORAGE_FULL"
	// ReasonOverloaded: too many calls are in flight; this one was not started.
	ReasonOverloaded Reason = "OVERLOADED"
	// ReasonStorageUnavailable: the file system refused; nothing was changed.
	ReasonStorageUnavailable Reason = "STORAGE_UNAVAILABLE"
	// ReasonShuttingDown: the server drains; this call was not started.
	ReasonShuttingDown Reason = "SHUTTING_DOWN"
	// ReasonPromptWritePolicyUnavailable: the safety check itself failed; nothing was changed.
	ReasonPromptWritePolicyUnavailable Reason = "PROMPT_WRITE_POLICY_UNAVAILABLE"
	// ReasonPromptWriteSafetyEventUnavailable: the event that must precede the write couldn't be recorded; nothing was
	// changed.
	ReasonPromptWriteSafetyEventUnavailable Reason = "PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE"
	// ReasonOutcomeUnknown: the change was made but may not survive a power cut; read the document again.
	ReasonOutcomeUnknown Reason = "OUTCOME_UNKNOWN"
	// ReasonDocumentCorrupt: what is kept of the document fails its checksum. Waiting doesn't mend it.
	ReasonDocumentCorrupt Reason = "DOCUMENT_CORRUPT"
	// ReasonDeadlineExceeded: the time was over before anything was changed.
	ReasonDeadlineExceeded Reason = "DEADLINE_EXCEEDED"
	// ReasonCancelled: the caller went away before anything was changed.
	ReasonCancelled Reason = "CANCELLED"
	// ReasonInternal: a fault of the service. [Error.IncidentID] names it for its operator.
	ReasonInternal Reason = "INTERNAL"
	// ReasonLeaseInvalid: the curation's lease is over, or was never given in this scope. Claim again.
	ReasonLeaseInvalid Reason = "LEASE_INVALID"
	// ReasonCredentialsMissing: the server asks for credentials and the call carries none.
	ReasonCredentialsMissing Reason = "CREDENTIALS_MISSING"
	// ReasonCredentialsInvalid: the credential is malformed, unknown, expired or revoked.
	ReasonCredentialsInvalid Reason = "CREDENTIALS_INVALID"
	// ReasonScopeForbidden: the credential doesn't reach this scope.
	ReasonScopeForbidden Reason = "SCOPE_FORBIDDEN"
	// ReasonPermissionForbidden: the credential lacks the permission that [Error.Permission] names.
	ReasonPermissionForbidden Reason = "PERMISSION_FORBIDDEN"
	// ReasonRateLimited: the tenant calls or writes faster than it may; nothing was started.
	ReasonRateLimited Reason = "RATE_LIMITED"
)

// Groups of failures that a host treats alike, for [errors.Is]. A deadline that passed is [context.DeadlineExceeded] and
// a cancelled call [context.Canceled]; every other failure is told by its [Reason] alone.
var (
	// ErrInvalidRequest: the caller can mend it by calling differently.
	ErrInvalidRequest = errors.New("the request is invalid")
	// ErrUnsafeText: a prompt file may not take this text. Repeating it as it is never helps.
	ErrUnsafeText = errors.New("the text is unsafe in a prompt file")
	// ErrDocumentState: what is stored under the path forbids the call.
	ErrDocumentState = errors.New("the document's state forbids it")
	// ErrConflict: the document changed meanwhile; read it again, then decide anew.
	ErrConflict = errors.New("the document changed meanwhile")
	// ErrUnauthenticated: the call carries no credential, or one that isn't accepted.
	ErrUnauthenticated = errors.New("no accepted credential")
	// ErrForbidden: it may not be done, whoever retries; nothing was looked up.
	ErrForbidden = errors.New("forbidden")
	// ErrStorageExhausted: a quota is used up, or the disk is full; the old bytes are intact.
	ErrStorageExhausted = errors.New("the storage is exhausted")
	// ErrUnavailable: the service can't do it now; the same call may succeed later.
	ErrUnavailable = errors.New("the service is unavailable")
	// ErrUnreachable: the connection failed before the service answered, which is a kind of ErrUnavailable. A change without
	// its answer may or may not have been made.
	ErrUnreachable = errors.New("the service is unreachable")
)

// groups has the group of each reason that belongs to one.
var groups = map[Reason]error{
	ReasonInvalidPath:      ErrInvalidRequest,
	ReasonInvalidArguments: ErrInvalidRequest,
	ReasonPatchNoMatch:     ErrInvalidRequest,
	ReasonScopeMissing:     ErrInvalidRequest,
	ReasonScopeInvalid:     ErrInvalidRequest,
	ReasonRequestIDReused:  ErrInvalidRequest,
	ReasonDocumentTooLarge: ErrInvalidRequest,
	ReasonRequestMalformed: ErrInvalidRequest,

	ReasonHighRiskPromptInjection:     ErrUnsafeText,
	ReasonCriticalPromptInjection:     ErrUnsafeText,
	ReasonPromptWriteBypassNotAllowed: ErrUnsafeText,
	ReasonSecretDetected:              ErrUnsafeText,

	ReasonPathConflict:     ErrDocumentState,
	ReasonProfileCorrupt:   ErrDocumentState,
	ReasonDocumentNotText:  ErrDocumentState,
	ReasonDocumentReadOnly: ErrDocumentState,
	ReasonLeaseInvalid:     ErrDocumentState,
	ReasonDocumentCorrupt:  ErrDocumentState,

	ReasonContentChanged: ErrConflict,
	ReasonCASExhausted:   ErrConflict,

	ReasonCredentialsMissing: ErrUnauthenticated,
	ReasonCredentialsInvalid: ErrUnauthenticated,

	ReasonScopeForbidden:      ErrForbidden,
	ReasonPermissionForbidden: ErrForbidden,
	ReasonReservedNamespace:   ErrForbidden,

	ReasonScopeQuota:  ErrStorageExhausted,
	ReasonStorageFull: ErrStorageExhausted,

	ReasonOverloaded:                        ErrUnavailable,
	ReasonStorageUnavailable:                ErrUnavailable,
	ReasonShuttingDown:                      ErrUnavailable,
	ReasonPromptWritePolicyUnavailable:      ErrUnavailable,
	ReasonPromptWriteSafetyEventUnavailable: ErrUnavailable,
	ReasonOutcomeUnknown:                    ErrUnavailable,
}
