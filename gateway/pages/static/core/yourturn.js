// "It is your turn", told by the browser where the buyer asked for it: without a sound, and only while another
// tab or window is looked at.

const there = () => "Notification" in globalThis && isSecureContext;

/** Whether it can be asked for, is on, or was refused. @returns {"ask" | "on" | "refused" | "missing"} */
export function notifying() {
  if (!there()) return "missing";
  return { default: "ask", granted: "on", denied: "refused" }[Notification.permission];
}

/** The browser asks the buyer; only on a press of a button. */
export async function askToNotify() {
  if (there()) await Notification.requestPermission();
}

/** @param {string} title @param {string} body @param {boolean} was_there whether this page saw it happen */
export function notifyOfTurn(title, body, was_there) {
  if (!was_there || !document.hidden || notifying() !== "on") return;
  try {
    const told = new Notification(title, { body, tag: "onsale-turn", silent: true });
    told.onclick = () => {
      globalThis.focus();
      told.close();
    };
  } catch {
    // some phones show notifications only for installed pages: the title of the tab says it
  }
}
