// Every page of the console: its address, its title, who may see it. Files are loaded when they are wanted.
//
// A view is one Preact component; it is given `{api, go, session, live, tell, ask, search}` and the address'
// parameters (`event` …). `nav`: its name in the navigation.

/** @type {import("./router.js").Route[]} */
export const ROUTES = [
  { path: "/console", title: "Launches", nav: "Launches", needs: "viewer", view: () => import("./launches/page.js").then((file) => file.LaunchesPage) },
  { path: "/console/new", title: "New launch", nav: "New launch", needs: "operator", view: () => import("./create/page.js").then((file) => file.CreatePage) },
  { path: "/console/fleet", title: "Fleet", nav: "Fleet", needs: "viewer", view: () => import("./fleet/page.js").then((file) => file.FleetPage) },
  { path: "/console/audit", title: "Audit", nav: "Audit", needs: "viewer", view: () => import("./records/audit.js").then((file) => file.AuditPage) },
  { path: "/console/keys", title: "Keys", nav: "Keys", needs: "owner", view: () => import("./keys/page.js").then((file) => file.KeysPage) },
  { path: "/console/e/:event", title: "Launch", needs: "viewer", view: () => import("./launch/page.js").then((file) => file.LaunchPage) },
  { path: "/console/e/:event/buyers", title: "Find a buyer", needs: "operator", view: () => import("./buyers/find.js").then((file) => file.FindPage) },
  { path: "/console/e/:event/buyers/:buyer", title: "A buyer", needs: "operator", view: () => import("./buyers/story.js").then((file) => file.StoryPage) },
  { path: "/console/e/:event/rehearse", title: "Rehearse", needs: "operator", view: () => import("./rehearse/page.js").then((file) => file.RehearsePage) },
  { path: "/console/e/:event/figures", title: "Figures", needs: "viewer", view: () => import("./records/figures.js").then((file) => file.FiguresPage) },
  { path: "/console/e/:event/export", title: "Export", needs: "viewer", view: () => import("./records/export.js").then((file) => file.ExportPage) },
];
