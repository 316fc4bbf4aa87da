// What survives a refresh: who the buyer is, and what is asked for or held. In a demo each tab is a
// buyer of its own (sessionStorage), so two tabs can compete; otherwise the browser is (localStorage).

/**
 * @typedef {{token: string, requests: any[], holds: any[], paused_at: number | null, waiting: any[], clock: any, paying: any, room: any}} Remembered
 */

export class Memory {
  /** @param {string} event @param {boolean} demo */
  constructor(event, demo) {
    this.key = `onsale:${event}`;
    /** Only then is it young enough to trust what it says about clocks. */
    this.isOfThisTab = demo;
    this.storage = storageOf(demo);
    /** Whether what is saved is there after the page was left. */
    this.keeps = true;
  }

  /** @returns {Remembered} */
  load() {
    const empty = { token: "", requests: [], holds: [], paused_at: null, waiting: [], clock: null, paying: undefined, room: undefined };
    try {
      const found = JSON.parse(this.storage.getItem(this.key) ?? "null");
      return found ? { ...empty, ...found } : empty;
    } catch {
      return empty; // not readable, or storage is refused: start as a new visitor
    }
  }

  clear() {
    this.storage.removeItem(this.key);
  }

  /** @param {Remembered} remembered */
  save(remembered) {
    try {
      this.storage.setItem(this.key, JSON.stringify(remembered));
      this.keeps = this.storage !== FORGETS;
    } catch {
      this.keeps = false; // storage is full or refused: the page works, it only forgets on a refresh
    }
  }
}

/** Where site data is blocked, only asking for the storage throws: the page then forgets on a refresh. @param {boolean} demo */
function storageOf(demo) {
  try {
    return demo ? sessionStorage : localStorage;
  } catch {
    return FORGETS;
  }
}

const FORGETS = { getItem: () => null, setItem() {}, removeItem() {} };

/** The shop that sends a buyer here puts the token behind `#token=`; it is taken out of the address. */
export const tokenFromAddress = () => fromAddress("token");

/** Who goes on with a place on another device comes with its token behind `#place=`; so is that. */
export const placeFromAddress = () => fromAddress("place");

function fromAddress(name) {
  const found = new URLSearchParams(location.hash.slice(1)).get(name);
  if (found) history.replaceState(null, "", location.pathname + location.search);
  return found ?? "";
}

/** The `sub` of a token, unverified: only to tell whether the buyer changed. @param {string} token */
export function subjectOf(token) {
  try {
    const body = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(atob(body)).sub ?? "";
  } catch {
    return "";
  }
}
