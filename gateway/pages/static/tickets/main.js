// The page of an order's tickets starts here: also the list of orders, and taking a ticket somebody gave.

import { Memory } from "../core/memory.js";
import { html, render } from "../html.js";
import { Desk } from "./desk.js";
import { Page } from "./page.js";

const boot = JSON.parse(document.getElementById("bootstrap").textContent);
const desk = new Desk(boot, new Memory(boot.event, boot.demo));
render(html`<${Page} desk=${desk} />`, document.getElementById("app"));
desk.start();
