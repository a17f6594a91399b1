/** Certificates of an authority that nobody trusts but a test, made with the openssl command. */

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** A certificate and its key, as files. */
export interface Identity {
  certificate: string;
  key: string;
}

/** An authority with its files in a folder. */
export class Authority implements Identity {
  readonly certificate: string;
  readonly key: string;
  readonly #folder: string;
  readonly #name: string;

  private constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    this.certificate = path.join(folder, `${name}.pem`);
    this.key = path.join(folder, `${name}-key.pem`);
  }

  /** Makes an authority. */
  static async make(folder: string, name = "ca"): Promise<Authority> {
    const made = new Authority(folder, name);
    const files = ["-keyout", made.key, "-out", made.certificate];
    await run("openssl", ["req", "-x509", ...KEY, "-days", "2", "-subj", `/CN=${name}`, ...files]);
    return made;
  }

  /** Issues a certificate for an alternative name, such as `DNS:memory.example`. */
  async issue(name: string): Promise<Identity> {
    const file = path.join(this.#folder, `${this.#name}-${name.replace(/\W/g, "-")}`);
    const [certificate, key, request, extensions] = [`${file}.pem`, `${file}-key.pem`, `${file}.csr`, `${file}.ext`];
    await writeFile(extensions, `subjectAltName=${name}\n`);
    await run("openssl", ["req", ...KEY, "-subj", "/CN=test", "-keyout", key, "-out", request]);
    const issuer = ["-CA", this.certificate, "-CAkey", this.key, "-CAcreateserial", "-days", "2"];
    await run("openssl", ["x509", "-req", "-in", request, ...issuer, "-extfile", extensions, "-out", certificate]);
    return { certificate, key };
  }
}

/** Reads a PEM file as text. */
export function pem(file: string): Promise<string> {
  return readFile(file, "utf8");
}
