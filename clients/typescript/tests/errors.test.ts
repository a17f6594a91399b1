/** From status and details on the wire to the error that a caller catches. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { BY_REASON } from "../src/failure.js";
import { ErrorReason } from "../src/generated/ironclaw/memory/v1/error_reason.js";
import * as api from "../src/index.js";
import { Refusal, serveScript } from "./scripted.js";

/** Returns the error of a read that is refused. */
async function refused(refusal: Refusal): Promise<api.MemoryServiceError> {
  await using script = await serveScript();
  using client = new api.MemoryClient(script.target, {
    scope: { tenant: "acme", user: "ann" },
    retry: { maxTries: 1 },
    deadlineMs: 30_000,
  });
  script.answers = [refusal];
  const error = await client.read("MEMORY.md").then(
    () => assert.fail("the call went through"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof api.MemoryServiceError, String(error));
  return error;
}

test("every reason of the protos has a class and no other has one", () => {
  const names = Object.keys(ErrorReason).filter((name) => name !== "UNSPECIFIED" && name !== "UNRECOGNIZED");
  assert.deepEqual(Object.keys(BY_REASON).sort(), names.sort());
});

test("no exported class is dead: a reason leads to it or to a child of it, or a lost connection does", () => {
  const defined = Object.values(api).filter(
    (value) => typeof value === "function" && value.prototype instanceof api.MemoryServiceError,
  ) as (new (
    ...args: never[]
  ) => Error)[];
  const reached = Object.values(BY_REASON);
  const dead = defined.filter((parent) => !reached.some((c) => c === parent || c.prototype instanceof parent));
  assert.deepEqual(dead, [api.UnreachableError]);
});

for (const [reason, expected] of Object.entries(BY_REASON)) {
  test(`${reason} is thrown as ${expected.name}`, async () => {
    const error = await refused(new Refusal("FAILED_PRECONDITION", { reason }));
    assert.equal(error.constructor, expected);
    assert.deepEqual([error.name, error.code, error.kind], [expected.name, "FAILED_PRECONDITION", "input"]);
    assert.equal(error.reason, reason);
  });
}

test("everything the service said is on the error", async () => {
  const error = await refused(
    new Refusal("INVALID_ARGUMENT", {
      reason: "DOCUMENT_TOO_LARGE",
      message: "Too large.",
      retryAfterMs: 1_500.5,
      metadata: { limit_bytes: "1048576" },
      fields: { content: "It has 2 MiB." },
    }),
  );
  assert.ok(error instanceof api.DocumentTooLargeError);
  assert.ok(error instanceof api.InvalidRequestError);
  assert.equal(error.message, "DOCUMENT_TOO_LARGE: Too large.");
  assert.deepEqual(error.metadata, { limit_bytes: "1048576" });
  assert.deepEqual(error.fieldViolations, [{ field: "content", description: "It has 2 MiB." }]);
  assert.equal(error.retryAfterMs, 1_500.5);
});

test("a failed precondition tells the current hash", async () => {
  const metadata = { current_sha256: "ab".repeat(32) };
  const error = await refused(new Refusal("ABORTED", { reason: "CONTENT_CHANGED", metadata }));
  assert.equal((error as api.ContentChangedError).currentSha256, "ab".repeat(32));
});

test("a safety refusal tells its rules, and none where no rule is involved", async () => {
  const metadata = { rule_ids: "a1,b2" };
  const error = await refused(new Refusal("INVALID_ARGUMENT", { reason: "HIGH_RISK_PROMPT_INJECTION", metadata }));
  assert.deepEqual((error as api.UnsafeTextError).ruleIds, ["a1", "b2"]);
  const other = await refused(new Refusal("INVALID_ARGUMENT", { reason: "SECRET_DETECTED" }));
  assert.deepEqual((other as api.UnsafeTextError).ruleIds, []);
});

test("a missing permission and an incident are named", async () => {
  const forbidden = { reason: "PERMISSION_FORBIDDEN", metadata: { permission: "admin" } };
  const error = await refused(new Refusal("PERMISSION_DENIED", forbidden));
  assert.equal((error as api.PermissionForbiddenError).permission, "admin");
  const fault = await refused(new Refusal("INTERNAL", { reason: "INTERNAL", metadata: { incident_id: "7f" } }));
  assert.equal((fault as api.InternalServiceError).incidentId, "7f");
});

for (const [code, expected] of [
  ["UNAVAILABLE", api.UnavailableError],
  ["PERMISSION_DENIED", api.ForbiddenError],
  ["FAILED_PRECONDITION", api.MemoryServiceError],
] as const) {
  test(`a reason from a newer server keeps its name and falls back to ${code}`, async () => {
    for (const reason of ["MOON_IN_THE_WRONG_PHASE", "toString"]) {
      const error = await refused(new Refusal(code, { reason }));
      assert.equal(error.constructor, expected);
      assert.equal(error.reason, reason);
    }
  });
}

test("details of another domain are not taken for ours", async () => {
  const error = await refused(new Refusal("UNAVAILABLE", { reason: "OVERLOADED", domain: "proxy.example" }));
  assert.equal(error.constructor, api.UnreachableError);
  assert.equal(error.reason, "");
});

test("a credential that a proxy refuses is the same class as one that the service refuses", async () => {
  assert.ok((await refused(new Refusal("UNAUTHENTICATED"))) instanceof api.UnauthenticatedError);
});

test("details that can't be read, or that contradict the status, still give an error", async () => {
  const contradicting = new Refusal("ABORTED", { reason: "CONTENT_CHANGED" }).status().metadata;
  const [other] = contradicting.get("grpc-status-details-bin") as Buffer[];
  for (const details of [Buffer.from([0xff, 0xff, 0xff]), Buffer.alloc(0), other as Buffer]) {
    const error = await refused(new Refusal("NOT_FOUND", { message: "There is none.", details }));
    assert.equal(error.constructor, api.MemoryServiceError);
    assert.deepEqual([error.code, error.reason, error.message], ["NOT_FOUND", "", "NOT_FOUND: There is none."]);
  }
});

test("a message beyond ASCII arrives as it was sent", async () => {
  const error = await refused(new Refusal("NOT_FOUND", { reason: "NOT_FOUND", message: "没有 é 100%" }));
  assert.equal(error.message, "NOT_FOUND: 没有 é 100%");
});
