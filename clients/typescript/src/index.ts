/**
 * TypeScript client for ironclaw-memory: `MemoryClient`, with the service's five tools as methods.
 *
 * A host sets the scope once and calls the tools, or hands `listTools` to a model API and routes what the model calls
 * through `invoke`. Errors are classes to catch by name; calls are repeated only where that is safe.
 *
 * @packageDocumentation
 */

export type { Tls } from "./channel.js";
export { type ClientOptions, MemoryClient } from "./client.js";
export type { Token } from "./credentials.js";
export * from "./errors.js";
export {
  type DeleteDocumentResponse,
  type DocumentProblem,
  type DocumentVersion,
  type GetScopeStatsResponse,
  type ReadVersionResponse,
  type RestoreVersionResponse,
  SourceClass,
  VersionReason,
} from "./generated/ironclaw/memory/v1/admin_service.js";
export { type Advisory, AdvisoryCode } from "./generated/ironclaw/memory/v1/advisory.js";
export {
  type CurationFacts,
  EventKind,
  type EventScope,
  type MemoryEvent,
  type SafetyFacts,
  type WatchEventsResponse,
} from "./generated/ironclaw/memory/v1/event_service.js";
export {
  type ClaimCurationResponse,
  type CompleteCurationResponse,
  ContextLane,
  type ContextSnippet,
  CurationOutcome,
  type CurationReport,
  type LaneStatus,
  type MemorySnippet,
  type ProfileReadResponse,
  type ReadLongTermResponse,
  type ReadShortTermResponse,
  type RecordInteractionResponse,
  type RetrieveContextResponse,
  type SnippetScope,
} from "./generated/ironclaw/memory/v1/lifecycle_service.js";
export {
  type ListToolsResponse,
  type ProfileSetResponse,
  ProfileSetStatus,
  type ReadResponse,
  type SearchResponse,
  type SearchResult,
  type Tool,
  type ToolError,
  type TreeEntry,
  TreeEntryKind,
  type TreeResponse,
  type WriteResponse,
  WriteStatus,
} from "./generated/ironclaw/memory/v1/memory_service.js";
export type { CallOptions } from "./options.js";
export type * from "./requests.js";
export type { RetryPolicy } from "./retry.js";
export type { Scope, ScopeChanges } from "./scope.js";
export * from "./tools.js";
export type { WatchOptions } from "./watch.js";
