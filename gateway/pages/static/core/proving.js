// One proof of work under way, beside the page in a worker; in the page itself where a browser has none. Whoever
// does not want it any more stops it, and then nothing works on.

import { prove } from "./proof.js";

export class Proving {
  /** @param {any} challenge as the server gave it */
  constructor(challenge) {
    this.wanted = true;
    /** @type {Worker | null} */
    this.worker = null;
    /** @type {Promise<string>} the solution as it is sent; empty where none was found, or it was stopped */
    this.solution = new Promise((found) => {
      this.found = found;
    });
    this.#begin(challenge);
  }

  stop() {
    this.#end("");
  }

  #begin(challenge) {
    try {
      this.worker = new Worker(new URL("./proofworker.js", import.meta.url), { type: "module" });
    } catch {
      return this.#here(challenge);
    }
    this.worker.onmessage = ({ data }) => this.#end(data);
    this.worker.onerror = (failed) => {
      failed.preventDefault(); // it could not be loaded, or knows no modules
      this.worker.terminate();
      this.#here(challenge);
    };
    this.worker.postMessage(challenge);
  }

  async #here(challenge) {
    this.#end(await prove(challenge, () => this.wanted).catch(() => ""));
  }

  #end(solution) {
    this.wanted = false;
    this.worker?.terminate();
    this.found(solution);
  }
}
