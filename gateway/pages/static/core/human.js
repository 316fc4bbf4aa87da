// The human check before joining: the provider's own script is loaded when somebody is about to join, and shows
// its check in a box of the page. What it gives is good for one join; after a refusal it is done once more.

/** Nobody waits longer for the script. */
const LOADED_WITHIN_MS = 15_000;
/** What providers' checks need; in less they show their small one. */
const WIDE_PX = 304;

/** Turnstile's, hCaptcha's, or the organiser's own, which all have `render` and `reset`. */
const api = () => globalThis.turnstile ?? globalThis.hcaptcha ?? globalThis.humanCheck;

export class Human {
  /** @param {import("./room.js").Room} room @param {{script: string, site_key: string} | null | undefined} told where there is a check */
  constructor(room, told) {
    this.room = room;
    this.told = told;
    this.answer = "";
    /** As a sentence, for the buyer. */
    this.trouble = "";
    /** Whether it cannot be shown, and may be tried again. */
    this.away = false;
    this.shown = null;
    this.box = null;
  }

  /** Whether a join needs an answer. */
  get on() {
    return Boolean(this.told);
  }

  /** Whether one is missing, which is said then and shown. */
  misses() {
    if (!this.on || this.answer) return false;
    const { box, away, trouble, room } = this;
    this.#become(away ? trouble : room.words("human.first"), away);
    room.sale.say(this.trouble);
    box?.parentElement.scrollIntoView({ block: "center" });
    return true;
  }

  /** Shows it in a box of the page. @param {HTMLElement} box */
  async show(box) {
    this.box = box;
    this.#become("", false);
    try {
      await load(this.told.script);
      if (this.box === box && this.shown === null) this.#render(box);
    } catch {
      if (this.box === box) this.#become(this.room.words("human.away"), true);
    }
  }

  /** The box goes away with its view. */
  hide() {
    if (this.shown !== null) api()?.remove?.(this.shown);
    Object.assign(this, { answer: "", shown: null, box: null });
  }

  /** What a join brings along, once. */
  take() {
    const { answer } = this;
    this.answer = "";
    return answer;
  }

  /** A join was refused: what it brought is used up. */
  again() {
    this.answer = "";
    if (this.shown !== null) api().reset(this.shown);
  }

  #render(box) {
    this.shown = api().render(box, {
      sitekey: this.told.site_key,
      theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
      size: box.clientWidth < WIDE_PX ? "compact" : "normal",
      callback: (answer) => this.#became(box, answer),
      "expired-callback": () => this.#became(box, ""),
      "error-callback": () => this.#failed(box),
    });
  }

  #became(box, answer) {
    if (this.box !== box) return;
    this.answer = answer;
    this.#become("", false);
  }

  #failed(box) {
    if (this.box === box) this.#become(this.room.words("human.away"), false);
    return true; // Turnstile would write it down as nobody's
  }

  #become(trouble, away) {
    Object.assign(this, { trouble, away });
    this.room.sale.set({});
  }
}

/** Loads a script once; one that did not come may be asked for again. @param {string} address @returns {Promise<void>} */
function load(address) {
  if (api()) return Promise.resolve();
  return new Promise((done, fail) => {
    const script = document.createElement("script");
    const end = (act) => () => {
      clearTimeout(timer);
      if (!api()) script.remove();
      act();
    };
    const timer = setTimeout(end(fail), LOADED_WITHIN_MS);
    script.onload = end(() => (api() ? done() : fail()));
    script.onerror = end(fail);
    script.src = address;
    document.head.append(script);
  });
}
