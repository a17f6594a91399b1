/**
 * The Java client of ironclaw-memory: persistent memory for AI agents over gRPC.
 *
 * <p>{@link dev.ironclaw.memory.MemoryClient} makes the calls. Requests and answers are the
 * generated messages of {@code dev.ironclaw.memory.v1}; failures are the exceptions of {@code
 * dev.ironclaw.memory.errors}. Sizes are in bytes of UTF-8, hashes are SHA-256 as 64 hex digits.
 */
package dev.ironclaw.memory;
