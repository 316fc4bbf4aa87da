// The best available: how many, where, at what price, and what will do if that cannot be had. All of it
// goes out as one request.

import { inWords, price, titled } from "../core/money.js";
import { fallbacksFor, givenFor, halves, moved, pricesOf } from "../core/wishes.js";
import { Component, createRef, html } from "../html.js";
import { Stepper } from "./stepper.js";

/** @typedef {import("../core/sale.js").Sale} Sale */

/** @param {{sale: Sale}} props */
export function BestWish({ sale }) {
  const { choice, venue } = sale.state;
  const { best } = choice;
  const wish = (patch) => sale.choose({ best: { ...best, ...patch } });
  const { quantity } = best;
  return html`<div class="wish">
    <div class="place"><span><b>How many</b>${quantity > 1 && html` <small>side by side</small>`}</span>
      <${Stepper} label="seats" value=${quantity} least=${1} most=${Math.max(1, sale.allowance)} set=${(next) => wish({ quantity: next })} /></div>
    <div class="pair">
      ${venue.sections.length > 1 && html`<${Choose} label="Where" value=${best.section} set=${(section) => wish({ section })}
        options=${[["", "Anywhere"], ...venue.sections.map((name) => [name, name])]} />`}
      <${Price} venue=${venue} best=${best} wish=${wish} />
    </div>
    ${best.price === "range" && html`<${Range} venue=${venue} best=${best} wish=${wish} />`}
    ${venue.accessible.includes(1) && html`<div class="place"><span><b>Wheelchair places</b> <small>company sits beside</small></span>
      <${Stepper} label="wheelchair places" value=${Math.min(best.accessible, quantity)} least=${0} most=${quantity}
        set=${(accessible) => wish({ accessible })} /></div>`}
    <${Fallbacks} venue=${venue} best=${best} wish=${wish} />
  </div>`;
}

function Choose({ label, value, options, set }) {
  return html`<label>${label} <select aria-label=${label} value=${value} onChange=${(change) => set(change.target.value)}>
    ${options.map(([one, name]) => html`<option value=${one} selected=${one === value}>${name}</option>`)}</select></label>`;
}

function Price({ venue, best, wish }) {
  const prices = pricesOf(venue);
  const seated = venue.categories.filter((_category, index) => venue.category.includes(index));
  if (seated.length < 2) return null;
  const money = (minor) => price(minor, venue.currency);
  const options = [["", "Any price"], ...seated.map(({ name, total_minor }) => [`=${name}`, `${name} · ${money(total_minor)}`])];
  if (prices.length > 2) options.push(["range", "A range"]);
  const choose = (next) => wish({ price: next, ...(next === "range" && { low: prices[0], high: prices.at(-2) }) });
  return html`<${Choose} label="Price" value=${best.price} options=${options} set=${choose} />`;
}

function Range({ venue, best, wish }) {
  const total = (minor) => venue.categories.find(({ price_minor }) => price_minor === minor).total_minor;
  const options = pricesOf(venue).map((minor) => [String(minor), price(total(minor), venue.currency)]);
  const bound = (label, name) => html`<${Choose} label=${label} value=${String(best[name])} options=${options}
    set=${(minor) => wish({ [name]: Number(minor) })} />`;
  return html`<div class="pair">${bound("From", "low")}${bound("To", "high")}</div>`;
}

/** A fallback in plain words, and what it means. @param {string} which @param {number} quantity */
export function fallbackInWords(which, quantity) {
  const [first, second] = halves(quantity).map(inWords);
  return {
    elsewhere: ["Anywhere else in the house", ""],
    any_price: ["At any price", ""],
    parted: [`${titled(first)} and ${second}`, "each side by side, not always near each other"],
    apart: ["Apart, as near as possible", ""],
    fewer: ["Fewer of us", "as many side by side as there are"],
  }[which];
}

/** Ticks in the buyer's order. Moving one keeps the focus where it was. */
class Fallbacks extends Component {
  list = createRef();
  state = { told: "" };

  move(which, by) {
    const { venue, best, wish } = this.props;
    const next = moved(best, which, by, venue);
    if (next === best) return;
    this.again = `[data-move="${which} ${by}"]`;
    const rank = givenFor(next, venue).indexOf(which) + 1;
    this.setState({ told: `${fallbackInWords(which, best.quantity)[0]} is tried as number ${rank} now.` });
    wish(next);
  }

  componentDidUpdate() {
    const button = this.again && this.list.current?.querySelector(this.again);
    if (!button) return;
    this.again = "";
    (button.disabled ? button.parentNode.querySelector("button:enabled") ?? button : button).focus();
  }

  render({ venue, best, wish }, { told }) {
    const shown = fallbacksFor(best, venue);
    const given = givenFor(best, venue);
    if (!shown.length) return null;
    const tick = (which) => {
      const ticked = best.ticked.includes(which) ? best.ticked.filter((one) => one !== which) : [...best.ticked, which];
      wish({ ticked });
    };
    return html`<fieldset class="fallbacks">
      <legend>If that cannot be had</legend>
      <ul ref=${this.list}>${shown.map((which) => {
        const [name, meaning] = fallbackInWords(which, best.quantity);
        const rank = given.indexOf(which);
        return html`<li key=${which}>
          <label class="check"><input type="checkbox" checked=${rank >= 0} onChange=${() => tick(which)} />
            <span>${name}${meaning && html` <small>${meaning}</small>`}</span></label>
          ${rank >= 0 && given.length > 1 && html`<span class="moves">
            <button type="button" data-move=${`${which} -1`} disabled=${rank === 0} aria-label=${`Earlier: ${name}`} onClick=${() => this.move(which, -1)}>↑</button>
            <button type="button" data-move=${`${which} 1`} disabled=${rank === given.length - 1} aria-label=${`Later: ${name}`} onClick=${() => this.move(which, 1)}>↓</button>
          </span>`}
        </li>`;
      })}</ul>
      <p class="quiet-text">${given.length ? "Tried from the top, all in one go: nobody comes between." : "Tick what will do. It is decided in one go, you do not queue again."}</p>
      <p class="unseen" role="status">${told}</p>
    </fieldset>`;
  }
}
