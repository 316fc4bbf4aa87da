// Back to the shop that sent its buyer here: its address is kept on the whole way, and gone to with an admission
// token when the buyer's turn has come and they say so. Which shops may be gone back to the server says alone:
// of the page's own address when the page is loaded, and of what was kept when it gives a token.

/** Where the token stands in the shop's address. */
const QUERY = "onsale_admission";
/** Refusals after which there is no way back to that shop. */
const NO_SHOP = new Set(["unknown_shop", "admission_tokens_off"]);

export class Returning {
  /** @param {import("./room.js").Room} room @param {{address?: string, refused?: boolean} | null | undefined} told what the server says of this page's address */
  constructor(room, told) {
    this.room = room;
    this.address = told?.address ?? "";
    /** Whether this page was to go back to somebody who is no shop of ours. */
    this.refused = Boolean(told?.refused);
    this.wanted = false;
    this.going = false;
    /** Why it could not be gone to, as a sentence. */
    this.trouble = "";
  }

  /** @param {string | undefined} address of before a refresh; what this page was opened with goes first */
  restore(address) {
    if (!this.address && address && originOf(address)) this.address = address;
  }

  /** The shop as people read it. */
  get shop() {
    return this.address && new URL(this.address).host;
  }

  /** What this page's address ends with, so that it can be opened elsewhere. */
  get query() {
    return this.address && `?return=${encodeURIComponent(this.address)}`;
  }

  /** The buyer begins: once they have, they go. */
  begin() {
    this.wanted = this.address !== "";
  }

  /** The place became another. @param {import("./roomline.js").Place | null} place */
  follow(place) {
    if (place?.state !== "admitted") this.wanted = false;
    if (this.wanted && place.begun_at !== null) this.go();
  }

  /** Asks for a token, and goes with it. */
  async go() {
    if (this.going) return;
    const { room, address } = this;
    const { sale } = room;
    const shop = originOf(address);
    Object.assign(this, { wanted: false, going: true, trouble: "" });
    sale.set({});
    const answer = await sale.documents.admission(sale.token, shop);
    this.going = false;
    if (answer.token && answer.shop === shop) return location.replace(withAdmission(address, answer.token));
    if (NO_SHOP.has(answer.code) || answer.token) this.#forget();
    else this.#couldNot(answer.detail);
    sale.set({});
  }

  #couldNot(message) {
    this.trouble = this.room.words("join.failed", { message });
    this.room.sale.say(this.trouble);
    this.room.look(); // it is not as this page thinks
  }

  /** Seats are chosen here then. */
  #forget() {
    const { words, sale } = this.room;
    Object.assign(this, { address: "", refused: true });
    sale.remember();
    sale.tell({ tone: "warn", title: words("back.refused_title"), text: words("back.refused") });
    sale.followRoom();
  }
}

/** @param {string} address @returns {string} empty for what is no page's address */
function originOf(address) {
  try {
    const { protocol, origin } = new URL(address);
    return protocol === "https:" || protocol === "http:" ? origin : "";
  } catch {
    return "";
  }
}

/** The address with the token in its query, in place of any that was there. @param {string} address @param {string} token */
export function withAdmission(address, token) {
  const url = new URL(address);
  const kept = url.search.slice(1).split("&").filter((part) => part && !new URLSearchParams(part).has(QUERY));
  url.search = [...kept, `${QUERY}=${token}`].join("&");
  return url.href;
}
