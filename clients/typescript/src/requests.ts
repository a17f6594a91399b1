/** The arguments of each method. Names are the wire's in camel case; what is absent or undefined isn't sent. */

import type { CurationReport } from "./generated/ironclaw/memory/v1/lifecycle_service.js";
import type { CallOptions } from "./options.js";

/** What fits JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** An object that fits JSON, such as a document's metadata. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** A change of one document: append, replace, or patch. */
export interface WriteOptions extends CallOptions {
  /** The text to append, or to store when `append` is false; ignored by a patch and by `bootstrap`. */
  readonly content?: string | undefined;
  /** `memory`, `heartbeat`, `bootstrap`, `daily_log` (the default), or a relative path. */
  readonly target?: string | undefined;
  /** Add to the document (the default) or replace it. `daily_log` always appends. */
  readonly append?: boolean | undefined;
  /** The exact text to be replaced; switches to patch mode. Needs `newString`. */
  readonly oldString?: string | undefined;
  /** What stands in its place, not empty. */
  readonly newString?: string | undefined;
  /** Patch every occurrence instead of the first. */
  readonly replaceAll?: boolean | undefined;
  /** Laid over the document's metadata key by key. */
  readonly metadata?: JsonObject | undefined;
  /** The IANA zone whose date names the daily log. Default: the profile's, else UTC. */
  readonly timezone?: string | undefined;
  /** Write only if this is the document's hash. Excludes `mustNotExist`. */
  readonly expectedSha256?: string | undefined;
  /** Write only if there is no such document. Excludes `expectedSha256`. */
  readonly mustNotExist?: boolean | undefined;
}

/** How to search. */
export interface SearchOptions extends CallOptions {
  /** The most results, clamped to 1 to 20. Default 5. */
  readonly limit?: number | undefined;
  /** Keep to paths that start with it, such as `daily/`. */
  readonly pathPrefix?: string | undefined;
  /** Drop what scores below it, 0 to 1. */
  readonly minScore?: number | undefined;
}

/** How to list a folder. */
export interface TreeOptions extends CallOptions {
  /** How many levels to open, clamped to 1 to 10. Default 1. */
  readonly depth?: number | undefined;
}

/** Facts about the human user; what is absent stays as it is. */
export interface ProfileSetOptions extends CallOptions {
  /** An IANA zone such as `Asia/Shanghai`. */
  readonly timezone?: string | undefined;
  /** A BCP 47 tag such as `zh-CN`. */
  readonly locale?: string | undefined;
  /** Free text of 1 to 200 characters. */
  readonly location?: string | undefined;
}

/** How to read what memory adds to a prompt. */
export interface ContextOptions extends CallOptions {
  /** The most snippets of each lane, clamped to 0 to 50. Default 50. */
  readonly maxSnippets?: number | undefined;
  /** The host's name for how context is built; `memory_disabled` returns nothing. */
  readonly contextProfileId?: string | undefined;
}

/** One message of an exchange. */
export interface Message {
  /** Who spoke, as model APIs say it. */
  readonly role: "user" | "assistant" | "system" | "tool";
  /** What was said. */
  readonly content: string;
  /** The speaker's name, if there is one. */
  readonly name?: string | undefined;
}

/** A turn to be recorded. */
export interface RecordOptions extends CallOptions {
  /** Names the run; the same run again overwrites its record and counts once. */
  readonly turnRunId: string;
  /** Laid over the record's metadata key by key. */
  readonly metadata?: JsonObject | undefined;
  /** Record the run without counting it towards curation. */
  readonly background?: boolean | undefined;
}

/** How to claim a curation. */
export interface ClaimOptions extends CallOptions {
  /** How long the claim holds, 1 to 3,600 seconds. Default 300. */
  readonly leaseSeconds?: number | undefined;
  /** Claim even when nothing is due. */
  readonly force?: boolean | undefined;
}

/** How to end a curation. */
export interface CompleteOptions extends CallOptions {
  /** The new text; absent when nothing needed to change. */
  readonly content?: string | undefined;
  /** What became of the lines; a count that is absent is 0. */
  readonly report?: Readonly<Partial<CurationReport>> | undefined;
  /** Give the lease back without a curation having taken place. */
  readonly abandon?: boolean | undefined;
}

/** How to list versions. */
export interface ListVersionsOptions extends CallOptions {
  /** Versions a page, at most 1,000; the server's default is 100. `deadlineMs` is for each page. */
  readonly pageSize?: number | undefined;
}

/** How to restore a version. */
export interface RestoreOptions extends CallOptions {
  /** Restore only if this is the hash of the current content. */
  readonly expectedSha256?: string | undefined;
}

/** How to delete a document. */
export interface DeleteOptions extends CallOptions {
  /** Delete only if this is the hash of the current content. */
  readonly expectedSha256?: string | undefined;
  /** Remove the kept versions too, which can't be undone. */
  readonly purgeVersions?: boolean | undefined;
}
