// Addresses: which page an address names, and going to one without loading anything anew.

/** @typedef {{path: string, title: string, view: () => Promise<any>, needs: "viewer" | "operator" | "owner", nav?: string}} Route */

/** @param {Route[]} routes @param {string} path @returns {{route: Route, params: Record<string, string>} | null} */
export function find(routes, path) {
  const asked = path.replace(/\/+$/, "").split("/");
  for (const route of routes) {
    const parts = route.path.split("/");
    if (parts.length !== asked.length) continue;
    const params = {};
    const fits = parts.every((part, index) => {
      if (!part.startsWith(":")) return part === asked[index];
      params[part.slice(1)] = decoded(asked[index]);
      return params[part.slice(1)] !== "";
    });
    if (fits) return { route, params };
  }
  return null;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return ""; // no such address was ever given out
  }
}

export class Router {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    addEventListener("popstate", () => this.changed());
    document.addEventListener("click", (click) => this.#followed(click));
  }

  get path() {
    return location.pathname;
  }

  get address() {
    return location.pathname + location.search;
  }

  /** @param {string} path below /console */
  go(path) {
    if (path === this.address) return;
    history.pushState(null, "", path);
    scrollTo(0, 0);
    this.changed();
  }

  /** Plain clicks on links below /console stay in the page; everything else is the browser's. */
  #followed(click) {
    const link = click.target.closest?.("a[href]");
    const plain = click.button === 0 && !(click.metaKey || click.ctrlKey || click.shiftKey || click.altKey);
    if (!link || !plain || click.defaultPrevented || link.target || link.hasAttribute("download")) return;
    const there = new URL(link.href);
    if (there.origin !== location.origin || !/^\/console(\/|$)/.test(there.pathname) || there.hash) return;
    click.preventDefault();
    this.go(there.pathname + there.search);
  }
}
