// Asking over HTTP until there is an answer that says something.

const WAIT_FIRST_MS = 500;
const WAIT_MAX_MS = 15_000;

export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/**
 * A server that is away or too busy is asked again, later each time and with jitter.
 * @param {string} path @param {RequestInit | undefined} options @param {() => void} away told at each wait
 * @returns {Promise<Response>}
 */
export async function patientFetch(path, options, away) {
  for (let wait_ms = WAIT_FIRST_MS; ; wait_ms = Math.min(wait_ms * 2, WAIT_MAX_MS)) {
    try {
      const answer = await fetch(path, options);
      if (answer.status < 500 && answer.status !== 429) return answer;
    } catch {
      // no connection: the same as a server that is away
    }
    away();
    await pause(wait_ms * (0.5 + Math.random()));
  }
}

/** Cuts a call off that takes too long, or that nobody wants any more. */
export class Patience {
  #cut = new AbortController();
  #end = () => this.#cut.abort();
  #timer = 0;

  /** @param {AbortSignal} unwanted @param {number} within_ms */
  constructor(unwanted, within_ms) {
    this.unwanted = unwanted;
    unwanted.addEventListener("abort", this.#end);
    if (unwanted.aborted) this.#end();
    this.renew(within_ms);
  }

  get signal() {
    return this.#cut.signal;
  }

  /** From now on, so long. @param {number} within_ms */
  renew(within_ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#end, within_ms);
  }

  /** It is over, whether it was answered or not. */
  end() {
    clearTimeout(this.#timer);
    this.unwanted.removeEventListener("abort", this.#end);
    this.#end();
  }
}
