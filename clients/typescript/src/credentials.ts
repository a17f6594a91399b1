/** How a client proves who it is: an API key or a signed token, sent with every call. A certificate is for `Tls`. */

import { BlockList, isIP } from "node:net";
import type { Metadata } from "@grpc/grpc-js";

/** An API key or a signed token, or what returns the one to send now; asked at each call. */
export type Token = string | (() => string | Promise<string>);

/**
 * Adds a credential to the metadata of a call.
 *
 * @throws TypeError when it isn't printable ASCII, so that it is no key and no token. The message doesn't quote it.
 */
export function addCredential(metadata: Metadata, token: string): void {
  if (!/^[!-~]+$/.test(token)) throw new TypeError("a token must be printable ASCII without spaces");
  metadata.set("authorization", `Bearer ${token}`);
}

/**
 * Returns when a credential may be sent to the target: over TLS, or without leaving this machine.
 *
 * @throws TypeError when it would travel in the clear.
 */
export function checkTarget(target: string, token: Token | undefined, encrypted: boolean): void {
  if (token !== undefined && !encrypted && !isLocal(target)) {
    throw new TypeError("a token would travel in the clear; give tls, or a target on loopback or a Unix socket");
  }
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** Tells whether a target, read as gRPC reads it, is loopback or a Unix socket. A name that isn't sure counts as no. */
export function isLocal(target: string): boolean {
  if (target.startsWith("unix:")) return true;
  const parts = /^(?:(?:dns|ipv4|ipv6):(?:\/\/[^/]*\/)?)?([^/]+)$/.exec(target);
  const host = parts?.[1] === undefined ? "" : hostOf(parts[1]);
  if (host === "localhost") return true;
  const version = isIP(host);
  return version !== 0 && LOOPBACK.check(host, version === 4 ? "ipv4" : "ipv6");
}

function hostOf(address: string): string {
  if (isIP(address)) return address;
  return /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/:\d+$/, "");
}
