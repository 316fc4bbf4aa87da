// Proof of work, by ALTCHA's protocol (version 2): this computer looks for the counter whose derived key begins
// as the challenge says. It takes a browser part of a second, and whoever wants thousands of places much longer.

const AT_ONCE = 64;
/** A server asks for fewer; beyond it there is nothing to find. */
const TRIES_MAX = 1_000_000;

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (two) => parseInt(two, 16));
const hexed = (some) => Array.from(some, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Whether this browser can find one: pages that came over plain HTTP have no such functions. */
export const canProve = () => globalThis.crypto?.subtle !== undefined;

/**
 * The solution as it is sent; empty where there is none, or nobody wants it any more.
 * @param {any} challenge as the server gave it @param {() => boolean} [wanted] @returns {Promise<string>}
 */
export async function prove(challenge, wanted = () => true) {
  const { keyPrefix } = challenge.parameters;
  for (let first = 0; first < TRIES_MAX && wanted(); first += AT_ONCE) {
    const tries = Array.from({ length: AT_ONCE }, (_, index) => first + index);
    const keys = await Promise.all(tries.map((counter) => keyOf(challenge.parameters, counter)));
    const found = keys.findIndex((key) => key.startsWith(keyPrefix.toLowerCase()));
    if (found >= 0) return btoa(JSON.stringify({ challenge, solution: { counter: first + found, derivedKey: keys[found] } }));
  }
  return "";
}

async function keyOf({ algorithm, nonce, salt, cost, keyLength }, counter) {
  const last = new Uint8Array(4);
  new DataView(last.buffer).setUint32(0, counter);
  const password = new Uint8Array([...bytes(nonce), ...last]);
  const key = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
  const hash = algorithm.split("/")[1] ?? "SHA-256";
  const derived = await crypto.subtle.deriveBits({ name: "PBKDF2", hash, salt: bytes(salt), iterations: cost }, key, keyLength * 8);
  return hexed(new Uint8Array(derived));
}
