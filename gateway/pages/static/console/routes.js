// Every page of the console: its address, its title, who may see it. Files are loaded when they are wanted.
//
// A view is one Preact component; it is given `{api, go, session, tell, ask}` and the address' parameters
// (`event` …). `nav`: its name in the navigation.

/** @type {import("./router.js").Route[]} */
export const ROUTES = [
  { path: "/console", title: "Launches", nav: "Launches", needs: "viewer", view: () => import("./launches/page.js").then((file) => file.LaunchesPage) },
];
