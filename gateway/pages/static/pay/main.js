// The page where a hold is paid by Stripe starts here.

import { Memory } from "../core/memory.js";
import { html, render } from "../html.js";
import { Page } from "./page.js";
import { Till } from "./till.js";

const boot = JSON.parse(document.getElementById("bootstrap").textContent);
const till = new Till(boot, new Memory(boot.event, boot.demo));
render(html`<${Page} till=${till} />`, document.getElementById("app"));
till.start();
