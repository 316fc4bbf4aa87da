// The console starts here.

import { html, render } from "../html.js";
import { Api } from "./api.js";
import { Live } from "./live.js";
import { Session } from "./session.js";
import { Shell } from "./shell.js";

const api = new Api();
const session = new Session(api);
const live = new Live(() => session.look());
render(html`<${Shell} api=${api} session=${session} live=${live} />`, document.getElementById("app"));
session.look();
