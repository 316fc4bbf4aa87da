// The operators' page of one event starts here: what the sale has come to, while it runs.

import { html, render } from "../html.js";
import { Desk } from "./desk.js";
import { Page } from "./page.js";

const boot = JSON.parse(document.getElementById("bootstrap").textContent);
const desk = new Desk(boot.event);
render(html`<${Page} desk=${desk} />`, document.getElementById("app"));
desk.start();
