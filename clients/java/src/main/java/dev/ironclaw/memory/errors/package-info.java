/**
 * Every way in which a call fails, as classes to catch by name.
 *
 * <pre>
 * MemoryServiceException
 * ├── InvalidRequestException             the caller can mend it by calling differently
 * │   ├── InvalidPathException
 * │   ├── InvalidArgumentsException
 * │   ├── PatchNoMatchException
 * │   ├── ScopeException
 * │   ├── RequestIdReusedException
 * │   └── DocumentTooLargeException
 * ├── UnsafeTextException                 a prompt file would take what it must not
 * ├── SchemaViolationException
 * ├── DocumentNotFoundException
 * ├── DocumentStateException              what is stored forbids it
 * │   ├── PathConflictException
 * │   ├── DocumentReadOnlyException
 * │   ├── LeaseInvalidException
 * │   └── DocumentCorruptException
 * ├── ConflictException                   somebody else changed the document; read it again
 * │   └── ContentChangedException
 * ├── UnauthenticatedException            no credential, or one that is not accepted
 * ├── ForbiddenException                  the credential does not allow it
 * │   ├── ScopeForbiddenException
 * │   ├── PermissionForbiddenException
 * │   └── ReservedNamespaceException
 * ├── RateLimitedException
 * ├── StorageExhaustedException           the scope's quota or the disk
 * ├── UnavailableException                time may mend it
 * │   ├── UnreachableException            no answer of the service at all
 * │   ├── OverloadedException
 * │   ├── ShuttingDownException
 * │   └── OutcomeUnknownException
 * ├── DeadlineExceededException
 * ├── CallCancelledException
 * └── InternalServiceException
 * </pre>
 */
package dev.ironclaw.memory.errors;
