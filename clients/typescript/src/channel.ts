/** How the connection is made, in the clear or with TLS, and one call over it: a promise or an async iterable. */

import { type ChannelOptions, Client, credentials, type Metadata, type ServiceError } from "@grpc/grpc-js";
import { isLocal } from "./credentials.js";

/** What TLS needs, each as PEM text or bytes. */
export interface Tls {
  /** The authorities to trust; those of Node when absent. */
  readonly rootCertificates?: string | Uint8Array | undefined;
  /** This client's key, for mTLS; needs `certificateChain`. */
  readonly privateKey?: string | Uint8Array | undefined;
  /** This client's certificate and its issuers, for mTLS; needs `privateKey`. */
  readonly certificateChain?: string | Uint8Array | undefined;
  /** The name to expect in the server's certificate when it isn't the target's host. */
  readonly serverName?: string | undefined;
}

/** A method as the generated definitions have it, as far as a client needs it. */
export interface Method<Request, Answer> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Answer;
}

/** How one try is made. */
export interface Try {
  readonly metadata: Metadata;
  /** Milliseconds until it is given up; Infinity for never. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: ChannelOptions = {
  // A channel that failed to connect refuses calls until its own back-off is over: 1 s at first, by default.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 5_000,
  // One layer of tries, by our own rules: neither from a service config found in DNS nor from gRPC's own.
  "grpc.service_config_disable_resolution": 1,
  "grpc.enable_retries": 0,
  "grpc.primary_user_agent": "ironclaw-memory-client-node",
};

/** A connection to the service, made with the first call. */
export class Connection {
  readonly #client: Client;
  readonly #running = new Set<() => void>();
  #closed = false;

  /**
   * @param more gRPC channel arguments, over the client's own.
   * @throws TypeError when `tls` has a key without its certificate, or the reverse.
   */
  constructor(target: string, tls: Tls | undefined, more: ChannelOptions = {}) {
    this.#client = new Client(target, channelCredentials(tls), channelOptions(target, tls, more));
  }

  /** Makes one try of a unary call with the request's bytes; rejects with gRPC's `ServiceError`. */
  unary<Answer>(method: Method<never, Answer>, request: Buffer, how: Try): Promise<Answer> {
    this.#requireOpen();
    return new Promise((resolve, reject) => {
      const settle = (error: ServiceError | null, answer?: Answer): void => {
        release();
        if (error) reject(error);
        else resolve(answer as Answer); // gRPC hands over an error or an answer
      };
      const options = { deadline: Date.now() + how.timeoutMs };
      const read = method.responseDeserialize;
      const call = this.#client.makeUnaryRequest(method.path, asIs, read, request, how.metadata, options, settle);
      const release = this.#hold(() => call.cancel(), how.signal);
    });
  }

  /** Iterates over the messages of one streaming call, until it ends or the loop is left. */
  async *stream<Answer>(method: Method<never, Answer>, request: Buffer, how: Try): AsyncGenerator<Answer, void, void> {
    this.#requireOpen();
    const options = { deadline: Date.now() + how.timeoutMs };
    const read = method.responseDeserialize;
    const call = this.#client.makeServerStreamRequest(method.path, asIs, read, request, how.metadata, options);
    call.on("error", () => {}); // the loop below gets it; one that comes after the loop was left is of no interest
    const release = this.#hold(() => call.cancel(), how.signal);
    try {
      for await (const message of call) yield message as Answer;
    } finally {
      release();
      call.cancel();
    }
  }

  /** Closes the connection. Calls in flight are cancelled; gRPC alone would let them go on. */
  close(): void {
    this.#closed = true;
    for (const cancel of this.#running) cancel();
    this.#client.close();
  }

  #requireOpen(): void {
    if (this.#closed) throw new Error("the client is closed");
  }

  /** Has a call cancelled when the signal is aborted or the connection closed, until the returned function is called. */
  #hold(cancel: () => void, signal: AbortSignal | undefined): () => void {
    this.#running.add(cancel);
    signal?.addEventListener("abort", cancel, { once: true });
    return () => {
      this.#running.delete(cancel);
      signal?.removeEventListener("abort", cancel);
    };
  }
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

function channelCredentials(tls: Tls | undefined) {
  if (tls === undefined) return credentials.createInsecure();
  if ((tls.privateKey === undefined) !== (tls.certificateChain === undefined)) {
    throw new TypeError("mTLS needs both privateKey and certificateChain");
  }
  return credentials.createSsl(bytesOf(tls.rootCertificates), bytesOf(tls.privateKey), bytesOf(tls.certificateChain));
}

function bytesOf(pem: string | Uint8Array | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem as Uint8Array); // the same for text, as UTF-8
}

function channelOptions(target: string, tls: Tls | undefined, more: ChannelOptions): ChannelOptions {
  return {
    ...OPTIONS,
    // A proxy from the environment would be handed what must not leave this machine, and couldn't find us anyway.
    ...(isLocal(target) ? { "grpc.enable_http_proxy": 0 } : {}),
    ...(tls?.serverName === undefined ? {} : { "grpc.ssl_target_name_override": tls.serverName }),
    ...more,
  };
}
