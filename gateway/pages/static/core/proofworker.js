// Proves beside the page: one challenge comes, one solution goes back, and the page ends the worker.

import { prove } from "./proof.js";

onmessage = async ({ data }) => postMessage(await prove(data));
