/**
 * Whose memory a call is about, and how that travels: as call metadata, beside the request and never in it.
 *
 * The service checks scope values; this module only carries them faithfully. A value that HTTP/2 headers can't carry as
 * it is goes as UTF-8 bytes under the key with `-bin`, and each key is sent once, in one form.
 */

import { Metadata } from "@grpc/grpc-js";
import { requireSendable } from "./sendable.js";

/**
 * Whose memory: set by the host, never by a model.
 *
 * Documents of scopes that differ in tenant, user, agent or project never meet. An absent agent or project is a scope of
 * its own, not a wildcard. The thread is the active conversation and keeps nothing apart.
 *
 * Each value is 1 to 256 bytes without `/`, `\`, `:` and control characters; others are refused as `ScopeError`.
 */
export interface Scope {
  readonly tenant: string;
  readonly user: string;
  readonly agent?: string | undefined;
  readonly project?: string | undefined;
  readonly thread?: string | undefined;
}

/** The parts of a scope that `withScope` sets; `undefined` takes one away. */
export type ScopeChanges = { readonly [Axis in keyof Scope]?: string | undefined };

/** The ids of one call, apart from its scope. */
export interface CallIds {
  readonly requestId?: string | undefined;
  readonly correlationId?: string | undefined;
}

/**
 * Returns the metadata of one call; what is undefined is left out.
 *
 * @throws TypeError when a value holds a lone surrogate, so that it isn't text.
 */
export function callMetadata(scope: ScopeChanges, ids: CallIds = {}): Metadata {
  const metadata = new Metadata();
  carry(metadata, "x-ironclaw-tenant-id", scope.tenant);
  carry(metadata, "x-ironclaw-user-id", scope.user);
  carry(metadata, "x-ironclaw-agent-id", scope.agent);
  carry(metadata, "x-ironclaw-project-id", scope.project);
  carry(metadata, "x-ironclaw-thread-id", scope.thread);
  carry(metadata, "x-ironclaw-request-id", ids.requestId);
  carry(metadata, "x-ironclaw-correlation-id", ids.correlationId);
  return metadata;
}

/** Sets the value in the form that arrives unchanged: proxies and peers trim spaces around a header's value. */
function carry(metadata: Metadata, key: string, value: string | undefined): void {
  if (value === undefined) return;
  requireSendable(value, key);
  const plain = /^[ -~]*$/.test(value) && !value.startsWith(" ") && !value.endsWith(" ");
  if (plain) metadata.set(key, value);
  else metadata.set(`${key}-bin`, Buffer.from(value, "utf8"));
}
