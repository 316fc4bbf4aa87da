// What is filled in, kept in the browser until the event is made: a reload, or a lost network, loses nothing.
// It is in IndexedDB, for a plan's file may be larger than other places take.

const NAME = "onsale-create";
const STORE = "draft";
const SAVE_MS = 300;

/** A plan's file is at most so large; the server says the same. */
export const FILE_BYTES_MAX = 8 * 1024 * 1024;

export const emptyDraft = () => ({
  name: "",
  slug: "",
  source: { kind: "file", text: "", file_name: "", venue: "", made: { kind: "theatre", seats: "500", standing: "" } },
  reading: { currency: "EUR", default_price: "", standing: {} },
  prices: { categories: {}, fee: "", fee_percent: "", tax_percent: "", tax_included: true },
  times: { lobby_opens_at: "", opens_at: "", starts_at: "" },
  rules: {
    hold_minutes: "8", offer_minutes: "10", seats_per_buyer_max: "8", limits: {}, fast_gate: true, payment: "required",
    late_payment: "refund", extensions_max: "1", extension_seconds: "120", returns_allowed: false, transfers_allowed: false,
    figures_on_page: false,
  },
  room: { wanted: true, policy: "draw", ballot: false, pace: "", shopping_max: "", begin_minutes: "3", shopping_minutes: "15", label: "", count: "", uses: "1" },
  texts: { name: "", accent: "", title: "", message: "" },
});

/** @returns {Promise<IDBDatabase>} */
function opened() {
  return new Promise((done, refused) => {
    const asked = indexedDB.open(NAME, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE);
    asked.onsuccess = () => done(asked.result);
    asked.onerror = () => refused(asked.error);
  });
}

/** Begun and committed before this returns, so that a page that is going away loses nothing by it. */
function inStore(database, mode, work) {
  return new Promise((done, refused) => {
    const transaction = database.transaction(STORE, mode);
    const asked = work(transaction.objectStore(STORE));
    transaction.oncomplete = () => done(asked.result);
    transaction.onabort = transaction.onerror = () => refused(transaction.error);
    transaction.commit();
  });
}

/** The draft in this browser. Where it keeps nothing (a private window), filling in goes on without. */
export class Kept {
  #timer = 0;
  #last = null;
  #database = null;
  #opening;

  constructor() {
    this.#opening = opened().then((database) => (this.#database = database)).catch(() => null);
    this.now = () => this.#write();
    addEventListener("pagehide", this.now);
  }

  async read() {
    const found = await this.#do("readonly", (store) => store.get(STORE));
    return found ? { ...emptyDraft(), ...found } : null;
  }

  write(draft) {
    this.#last = draft;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.now, SAVE_MS);
  }

  async #write() {
    clearTimeout(this.#timer);
    if (this.#last) await this.#do("readwrite", (store) => store.put(this.#last, STORE));
  }

  async forget() {
    clearTimeout(this.#timer);
    this.#last = null;
    await this.#do("readwrite", (store) => store.delete(STORE));
  }

  async #do(mode, work) {
    const database = this.#database ?? (await this.#opening);
    return database ? inStore(database, mode, work).catch(() => undefined) : undefined;
  }

  leave() {
    removeEventListener("pagehide", this.now);
    this.#write().then(() => this.#database?.close());
  }
}
