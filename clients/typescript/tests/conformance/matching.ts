/**
 * How an answer is held against an expectation of the vectors; the rules stand in the vectors' README.
 *
 * Pure: it knows neither the wire nor the service. A key that an answer doesn't have is `undefined`, which JSON hasn't.
 */

/** The answer isn't what the vectors expect; the message says where. */
export class Mismatch extends Error {}

type Values = Record<string, unknown>;

/**
 * Returns when `actual` is what `expected` asks for.
 *
 * @param expected a value of the vectors, operators included.
 * @param actual what came back, as parsed JSON.
 * @param where the place in the answer, for the message.
 * @param absentIsDefault whether a missing key counts as its type's default, as in protobuf JSON.
 * @throws Mismatch when it isn't.
 */
export function match(expected: unknown, actual: unknown, where = "answer", absentIsDefault = false): void {
  if (isOperators(expected)) matchOperators(expected, actual, where, absentIsDefault);
  else if (actual === undefined) need(absentIsDefault && isDefault(expected), where, expected, actual);
  else if (Array.isArray(expected)) matchList(expected, actual, where, absentIsDefault);
  else if (isObject(expected)) matchObject(expected, actual, where, absentIsDefault);
  else need(sameScalar(expected, actual), where, expected, actual);
}

function need(holds: boolean, where: string, expected: unknown, actual: unknown): asserts holds {
  if (!holds) throw new Mismatch(`${where}: expected ${short(expected)}, got ${short(actual)}`);
}

function short(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= 300 ? text : `${text.slice(0, 300)}… (${text.length} characters)`;
}

function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isOperators(value: unknown): value is Values {
  return isObject(value) && Object.keys(value).length > 0 && Object.keys(value).every((key) => key.startsWith("$"));
}

function isDefault(expected: unknown): boolean {
  if (typeof expected === "object" && expected !== null) return Object.keys(expected).length === 0;
  return expected === null || expected === "" || expected === 0 || expected === false;
}

function sameScalar(expected: unknown, actual: unknown): boolean {
  if (expected === actual) return true;
  const number = numberOf(expected);
  return number !== undefined && number === numberOf(actual);
}

/** Protobuf JSON prints 64-bit integers as text; nothing else that is text counts as a number. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d+$/.test(value) ? Number(value) : undefined;
}

function matchObject(expected: Values, actual: unknown, where: string, absentIsDefault: boolean): void {
  need(isObject(actual), where, expected, actual);
  for (const [key, value] of Object.entries(expected)) {
    match(value, Object.hasOwn(actual, key) ? actual[key] : undefined, `${where}.${key}`, absentIsDefault);
  }
}

function matchList(expected: unknown[], actual: unknown, where: string, absentIsDefault: boolean): void {
  need(Array.isArray(actual), where, expected, actual);
  need(expected.length > 0 ? actual.length >= expected.length : actual.length === 0, where, expected, actual);
  for (const [index, value] of expected.entries()) match(value, actual[index], `${where}[${index}]`, absentIsDefault);
}

function matchOperators(operators: Values, actual: unknown, where: string, absentIsDefault: boolean): void {
  for (const [name, argument] of Object.entries(operators)) {
    const [nested, simple] = [NESTED[name], SIMPLE[name]];
    if (nested) {
      for (const [place, inner] of nested(actual, where)) match(argument, inner, place, absentIsDefault);
    } else if (simple) {
      need(simple(argument, actual), `${where} ${name}`, argument, actual);
    } else {
      throw new Mismatch(`${where}: the vectors use an operator that nobody knows: ${name}`);
    }
  }
}

/** The operators that look at one value. */
const SIMPLE: Record<string, (argument: unknown, actual: unknown) => boolean> = {
  $any: (_argument, actual) => actual !== undefined && actual !== null && actual !== "",
  $contains: (argument, actual) => typeof actual === "string" && texts(argument).every((text) => actual.includes(text)),
  $not_contains: (argument, actual) =>
    typeof actual === "string" && !texts(argument).some((text) => actual.includes(text)),
  $prefix: (argument, actual) => typeof actual === "string" && actual.startsWith(argument as string),
  $ends_with: (argument, actual) => typeof actual === "string" && actual.endsWith(argument as string),
  $max_bytes: (argument, actual) => typeof actual === "string" && Buffer.byteLength(actual) <= (argument as number),
  $length: (argument, actual) => sizeOf(actual) === argument,
  $in: (argument, actual) => (argument as unknown[]).some((choice) => sameScalar(choice, actual)),
};

/** The operators that lead to further values, each with its place. */
const NESTED: Record<string, (actual: unknown, where: string) => [string, unknown][]> = {
  $each: elements,
  $last: (actual, where) => elements(actual, where).slice(-1),
  $json: parsed,
  $json_base64: (actual, where) => {
    need(typeof actual === "string" && /^[A-Za-z0-9+/]*={0,2}$/.test(actual), where, "base64 text", actual);
    return parsed(Buffer.from(actual, "base64").toString("utf8"), where);
  },
};

function texts(argument: unknown): string[] {
  return Array.isArray(argument) ? argument : [argument as string];
}

/** A text's length is in characters, not in UTF-16 units. */
function sizeOf(actual: unknown): number | undefined {
  return typeof actual === "string" || Array.isArray(actual) ? [...actual].length : undefined;
}

function elements(actual: unknown, where: string): [string, unknown][] {
  need(Array.isArray(actual) && actual.length > 0, where, "a list with elements", actual);
  return actual.map((value, index) => [`${where}[${index}]`, value]);
}

function parsed(actual: unknown, where: string): [string, unknown][] {
  need(typeof actual === "string", where, "JSON text", actual);
  try {
    return [[`${where} parsed`, JSON.parse(actual)]];
  } catch {
    throw new Mismatch(`${where}: expected JSON text, got ${short(actual)}`);
  }
}
