// Stripe's part of the page: its script, its form, and how that looks. Nothing that is typed there comes here.

/** Stripe wants it from its own address, always; the name is the release it keeps compatible. */
const SCRIPT = "https://js.stripe.com/clover/stripe.js";
const LOADS_WITHIN_MS = 20_000;
const DARK = matchMedia("(prefers-color-scheme: dark)");

/** @returns {Promise<any>} Stripe's function; raises where it cannot be loaded */
function load() {
  if ("Stripe" in window) return Promise.resolve(window.Stripe);
  return new Promise((loaded, failed) => {
    const script = Object.assign(document.createElement("script"), { src: SCRIPT, async: true });
    const give_up = () => {
      script.remove();
      failed(new Error("Stripe's script did not come"));
    };
    const timer = setTimeout(give_up, LOADS_WITHIN_MS);
    script.addEventListener("error", () => (clearTimeout(timer), give_up()));
    script.addEventListener("load", () => (clearTimeout(timer), "Stripe" in window ? loaded(window.Stripe) : give_up()));
    document.head.append(script);
  });
}

/** Colours as they are now: Stripe's frames know nothing of ours. */
function appearance() {
  const probe = document.body.appendChild(document.createElement("i"));
  const colour = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const variables = {
    colorPrimary: colour("--accent"), colorBackground: colour("--surface"), colorText: colour("--text"),
    colorTextSecondary: colour("--muted"), colorDanger: colour("--alarm"), borderRadius: "8px",
    fontFamily: getComputedStyle(document.body).fontFamily, fontSizeBase: "16px",
  };
  probe.remove();
  return { theme: DARK.matches ? "night" : "stripe", variables };
}

/** Stripe's form for one intent. */
export class StripeForm {
  /** @param {{key: string, secret: string, email: string, returns: string}} what @param {() => void} ready @param {() => void} broken */
  constructor({ key, secret, email, returns }, ready, broken) {
    this.what = { key, secret, email, returns };
    this.ready = ready;
    this.broken = broken;
    this.gone = new AbortController();
  }

  /** Puts it into an element of the page. @param {HTMLElement} place */
  async mount(place) {
    const { key, secret, email } = this.what;
    try {
      const Stripe = await load();
      this.stripe = Stripe(key, { locale: "en" });
      this.elements = this.stripe.elements({ clientSecret: secret, appearance: appearance() });
      const form = this.elements.create("payment", email ? { defaultValues: { billingDetails: { email } } } : {});
      form.on("ready", this.ready);
      form.on("loaderror", this.broken);
      form.mount(place);
      DARK.addEventListener("change", () => this.elements.update({ appearance: appearance() }), { signal: this.gone.signal });
    } catch {
      this.broken();
    }
  }

  /** Another one takes its place. @param {HTMLElement} place */
  leave(place) {
    this.gone.abort();
    place.replaceChildren();
  }

  /** Pays with what was typed: the page is left when it went well. @returns {Promise<{type: string, code?: string, message?: string}>} why it did not */
  async pay() {
    try {
      const { error } = await this.stripe.confirmPayment({ elements: this.elements, confirmParams: { return_url: this.what.returns } });
      return error;
    } catch {
      return { type: "api_connection_error" };
    }
  }
}
