// The page of one event starts here.

import { Memory } from "./core/memory.js";
import { Sale } from "./core/sale.js";
import { html, render } from "./html.js";
import { App } from "./views/app.js";

const boot = JSON.parse(document.getElementById("bootstrap").textContent);
const sale = new Sale(boot, new Memory(boot.event, boot.demo));
render(html`<${App} sale=${sale} />`, document.getElementById("app"));
sale.start();
