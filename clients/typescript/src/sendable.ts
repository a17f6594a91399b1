/**
 * What may go into a request. Encoders put U+FFFD in place of half a character and don't mind a number that isn't one, so
 * a text would be stored changed; here it is refused before anything is sent.
 */

/**
 * Returns when every text in the value is Unicode and every number finite.
 *
 * @param value a request message, or a part of one.
 * @param place names the value in the error.
 * @throws TypeError when something in it can't be sent as it is.
 */
export function requireSendable(value: unknown, place: string): void {
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw new TypeError(`${place} has a lone surrogate: it isn't text`);
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError(`${place} is ${value}, which JSON and protobuf counts don't have`);
  } else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    for (const [key, inner] of Object.entries(value)) {
      requireSendable(key, `a key of ${place}`);
      requireSendable(inner, `${place}.${key}`);
    }
  }
}

/**
 * Returns an object as JSON has it: keys whose value is undefined left out, dates and the like by their `toJSON`.
 *
 * @throws TypeError when something in it doesn't fit JSON, such as NaN, a bigint, or the object itself.
 */
export function structOf(value: object | undefined): Record<string, unknown> | undefined {
  return value && JSON.parse(JSON.stringify(value, finite));
}

function finite(key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${key} is ${value}: JSON has no such`);
  return value;
}
